//! The rules as a table, what typed and raw answers have in common, and what holds for all JSON.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "what generated code exports stays in this test"
)]

use super::*;
use crate::wire::{self, Map, Members, Sink, UnknownValue};
use http::StatusCode;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A decision in a line: what a row of the table says.
fn line(handoff: &Handoff) -> String {
    match handoff {
        Handoff::Conversational { next, until, .. } => match until {
            Some(until) => format!("{next:?} until {until}"),
            None => format!("{next:?}"),
        },
        Handoff::ContinueUrl { url, reason, .. } => {
            format!("ContinueUrl {} {reason:?}", url.as_str())
        }
        Handoff::Embedded { url, reason, .. } => format!("Embedded {} {reason:?}", url.as_str()),
        Handoff::Completed { order, .. } => {
            format!(
                "Completed {:?}",
                order.as_ref().and_then(|order| order.id.as_deref())
            )
        }
        Handoff::Canceled { .. } => "Canceled".into(),
        Handoff::Failed {
            reason,
            continue_url,
            ..
        } => match continue_url {
            Some(url) => format!("Failed {reason:?} {}", url.as_str()),
            None => format!("Failed {reason:?}"),
        },
    }
}

fn checkout(status: &str, more: Value) -> Value {
    let mut body = json!({"ucp": {"version": "2026-04-08"}, "id": "co_1", "status": status});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn error(severity: &str) -> Value {
    json!({"type": "error", "code": "c", "content": "t", "severity": severity, "path": "$.x"})
}

fn embedded(config: Value) -> Value {
    json!({"version": "2026-04-08", "services": {"dev.ucp.shopping": [
        {"version": "2026-04-08", "transport": "rest", "endpoint": "https://m.example"},
        {"version": "2026-04-08", "transport": "embedded", "config": config},
    ]}})
}

const URL: &str = "https://m.example/c/1";

#[test]
fn each_rule() {
    let plain = Host::default();
    let disclosing = Host::default().renders_disclosures();
    let embedding = Host::default().embeds();
    let developing = Host::default().development();
    let disclosure = json!({"type": "warning", "content": "nuts", "presentation": "disclosure"});
    let unknown_presentation =
        json!({"type": "warning", "content": "?", "presentation": "hologram"});
    let notice = json!({"type": "warning", "content": "n"});
    let no_severity = json!({"type": "error", "content": "Card declined"});
    let rows: Vec<(&str, Value, &Host, String)> = vec![
        (
            "1",
            checkout("completed", json!({"order": {"id": "o_1"}})),
            &plain,
            "Completed Some(\"o_1\")".into(),
        ),
        (
            "1: no order",
            checkout("completed", json!({})),
            &plain,
            "Completed None".into(),
        ),
        (
            "1: before all else",
            json!({"status": "completed", "ucp": {"status": "error"}, "continue_url": URL,
                "messages": [error("requires_buyer_input"), disclosure]}),
            &plain,
            "Completed None".into(),
        ),
        (
            "2",
            checkout(
                "canceled",
                json!({"continue_url": URL, "messages": [error("recoverable")]}),
            ),
            &plain,
            "Canceled".into(),
        ),
        (
            "3 (C14, C120): an envelope without a resource",
            json!({"ucp": {"version": "2026-04-08", "status": "error"}, "continue_url": URL,
                "messages": [error("unrecoverable")], "request_id": "r-1"}),
            &plain,
            format!("Failed NoResource {URL}"),
        ),
        (
            "3: with a resource, whatever its severities",
            json!({"ucp": {"version": "2026-04-08", "status": "error"}, "id": "co_1", "line_items": [],
                "status": "requires_escalation", "messages": [error("requires_buyer_input")]}),
            &plain,
            "Failed NoResource".into(),
        ),
        (
            "3: the URL is checked here too",
            json!({"ucp": {"status": "error"}, "continue_url": "http://m.example"}),
            &plain,
            "Failed NoResource".into(),
        ),
        (
            "4: by status",
            checkout("requires_escalation", json!({"continue_url": URL})),
            &plain,
            format!("ContinueUrl {URL} Escalation"),
        ),
        (
            "4 (C116): by severity alone, input before review",
            checkout(
                "incomplete",
                json!({"continue_url": URL, "messages": [error("requires_buyer_review"), error("requires_buyer_input")]}),
            ),
            &plain,
            format!("ContinueUrl {URL} BuyerInput"),
        ),
        (
            "4: by severity while ready",
            checkout(
                "ready_for_complete",
                json!({"continue_url": URL, "messages": [error("requires_buyer_review")]}),
            ),
            &plain,
            format!("ContinueUrl {URL} BuyerReview"),
        ),
        (
            "4: by severity in a status not known",
            checkout(
                "on_hold",
                json!({"continue_url": URL, "messages": [error("requires_buyer_review")]}),
            ),
            &plain,
            format!("ContinueUrl {URL} BuyerReview"),
        ),
        (
            "4: by severity while in progress",
            checkout(
                "complete_in_progress",
                json!({"continue_url": URL, "messages": [error("requires_buyer_input")]}),
            ),
            &plain,
            format!("ContinueUrl {URL} BuyerInput"),
        ),
        (
            "4 (C113): also with errors to fix first",
            checkout(
                "requires_escalation",
                json!({"continue_url": URL, "messages": [error("recoverable"), error("requires_buyer_input")]}),
            ),
            &plain,
            format!("ContinueUrl {URL} BuyerInput"),
        ),
        (
            "not 4: the severity of what is no error",
            checkout(
                "incomplete",
                json!({"continue_url": URL, "messages": [{"type": "info", "content": "i", "severity": "requires_buyer_input"}]}),
            ),
            &plain,
            "Update".into(),
        ),
        (
            "4: an error that forgot its type",
            checkout(
                "incomplete",
                json!({"continue_url": URL, "messages": [{"message": "m", "severity": "requires_buyer_input"}]}),
            ),
            &plain,
            format!("ContinueUrl {URL} BuyerInput"),
        ),
        (
            "4b (C117): a disclosure that the host does not render",
            checkout(
                "ready_for_complete",
                json!({"continue_url": URL, "messages": [disclosure]}),
            ),
            &plain,
            format!("ContinueUrl {URL} Disclosure"),
        ),
        (
            "9 (C117): a disclosure that it renders",
            checkout(
                "ready_for_complete",
                json!({"continue_url": URL, "messages": [disclosure]}),
            ),
            &disclosing,
            "Complete".into(),
        ),
        (
            "4b: a presentation not known",
            checkout(
                "ready_for_complete",
                json!({"continue_url": URL, "messages": [unknown_presentation]}),
            ),
            &plain,
            format!("ContinueUrl {URL} Disclosure"),
        ),
        (
            "9: a notice",
            checkout(
                "ready_for_complete",
                json!({"continue_url": URL, "messages": [notice]}),
            ),
            &plain,
            "Complete".into(),
        ),
        (
            "4b, 7: a disclosure and no URL",
            checkout("ready_for_complete", json!({"messages": [disclosure]})),
            &plain,
            "Failed MissingContinueUrl".into(),
        ),
        (
            "4b (C37): an error without a severity and a URL",
            checkout(
                "incomplete",
                json!({"continue_url": URL, "messages": [no_severity]}),
            ),
            &plain,
            format!("ContinueUrl {URL} UnknownSeverity"),
        ),
        (
            "4b: a severity not known and a URL",
            checkout(
                "ready_for_complete",
                json!({"continue_url": URL, "messages": [error("fatal")]}),
            ),
            &plain,
            format!("ContinueUrl {URL} UnknownSeverity"),
        ),
        (
            "10: an error without a severity and no URL",
            checkout("incomplete", json!({"messages": [no_severity]})),
            &plain,
            "Update".into(),
        ),
        (
            "10: an error without a severity and an unusable URL",
            checkout(
                "incomplete",
                json!({"continue_url": "http://m.example", "messages": [no_severity]}),
            ),
            &plain,
            "Update".into(),
        ),
        (
            "5",
            checkout(
                "requires_escalation",
                json!({"continue_url": URL, "ucp": embedded(json!({"delegate": []}))}),
            ),
            &embedding,
            format!("Embedded {URL}?ec_version=2026-04-08 Escalation"),
        ),
        (
            "6 (C125): the response carries no embedded binding",
            checkout("requires_escalation", json!({"continue_url": URL})),
            &embedding,
            format!("ContinueUrl {URL} Escalation"),
        ),
        (
            "6 (C125): a binding without a list of delegates",
            checkout(
                "requires_escalation",
                json!({"continue_url": URL, "ucp": embedded(json!({}))}),
            ),
            &embedding,
            format!("ContinueUrl {URL} Escalation"),
        ),
        (
            "6: a binding printed by PHP",
            checkout(
                "requires_escalation",
                json!({"continue_url": URL, "ucp": embedded(json!([]))}),
            ),
            &embedding,
            format!("ContinueUrl {URL} Escalation"),
        ),
        (
            "6: the single object of 2026-01-11 says nothing of this checkout",
            checkout(
                "requires_escalation",
                json!({"continue_url": URL, "ucp": {"version": "2026-01-11",
                "services": {"dev.ucp.shopping": {"embedded": {"schema": "https://x.example"}}}}}),
            ),
            &embedding,
            format!("ContinueUrl {URL} Escalation"),
        ),
        (
            "6: the host does not embed",
            checkout(
                "requires_escalation",
                json!({"continue_url": URL, "ucp": embedded(json!({"delegate": []}))}),
            ),
            &plain,
            format!("ContinueUrl {URL} Escalation"),
        ),
        (
            "6: no version to embed with",
            {
                let mut ucp = embedded(json!({"delegate": []}));
                ucp.as_object_mut().unwrap().remove("version");
                checkout(
                    "requires_escalation",
                    json!({"continue_url": URL, "ucp": ucp}),
                )
            },
            &embedding,
            format!("ContinueUrl {URL} Escalation"),
        ),
        (
            "6: http on loopback, in development",
            checkout(
                "requires_escalation",
                json!({"continue_url": "http://127.0.0.1:9/c"}),
            ),
            &developing,
            "ContinueUrl http://127.0.0.1:9/c Escalation".into(),
        ),
        (
            "7: http on loopback, otherwise",
            checkout(
                "requires_escalation",
                json!({"continue_url": "http://127.0.0.1:9/c"}),
            ),
            &plain,
            "Failed MissingContinueUrl".into(),
        ),
        (
            "7 (C112)",
            checkout("requires_escalation", json!({})),
            &plain,
            "Failed MissingContinueUrl".into(),
        ),
        (
            "7: not even for a binding",
            checkout(
                "requires_escalation",
                json!({"continue_url": "https://u@m.example", "ucp": embedded(json!({"delegate": []}))}),
            ),
            &embedding,
            "Failed MissingContinueUrl".into(),
        ),
        (
            "8 (C57, C123, C124)",
            checkout(
                "complete_in_progress",
                json!({"continue_url": URL, "expires_at": "2026-04-08T10:00:00.000+02:00",
                "next_action": {"redirect_url": URL}, "actions": {"dev.ucp.payment.three_ds_challenge": [{"id": "a1"}]}}),
            ),
            &plain,
            "Poll until 2026-04-08T08:00:00Z".into(),
        ),
        (
            "9",
            checkout("ready_for_complete", json!({"continue_url": URL})),
            &embedding,
            "Complete".into(),
        ),
        (
            "10",
            checkout("incomplete", json!({"continue_url": URL})),
            &plain,
            "Update".into(),
        ),
        (
            "10: all errors unrecoverable",
            checkout(
                "incomplete",
                json!({"continue_url": URL, "messages": [error("unrecoverable")]}),
            ),
            &plain,
            "Update".into(),
        ),
        (
            "10 (C114): unrecoverable and recoverable",
            checkout(
                "incomplete",
                json!({"messages": [error("unrecoverable"), error("recoverable")]}),
            ),
            &plain,
            "Update".into(),
        ),
        (
            "10: a date is no expiry (C25)",
            checkout("incomplete", json!({"expires_at": "2026-04-08"})),
            &plain,
            "Update".into(),
        ),
        (
            "11 (C27)",
            checkout("open", json!({"continue_url": URL})),
            &embedding,
            format!("ContinueUrl {URL} UnknownStatus"),
        ),
        (
            "11: no URL",
            checkout("open", json!({})),
            &plain,
            "Failed UnknownStatus".into(),
        ),
        (
            "11: a cart has no status, and a place to go on",
            json!({"ucp": {"version": "2026-04-08"}, "id": "ca_1", "continue_url": URL}),
            &plain,
            format!("ContinueUrl {URL} UnknownStatus"),
        ),
        (
            "4: a negotiation failure of January has no envelope",
            json!({"status": "requires_escalation", "continue_url": URL,
                "messages": [{"type": "error", "code": "version_unsupported", "message": "m", "severity": "requires_buyer_input"}]}),
            &plain,
            format!("ContinueUrl {URL} BuyerInput"),
        ),
    ];
    for (rule, body, host, expected) in rows {
        let handoff = View::from_value(&body)
            .unwrap_or_else(|_| panic!("{rule}"))
            .decide(host);
        assert_eq!(line(&handoff), expected, "{rule}");
    }
}

#[test]
fn bodies_that_decide_nothing() {
    for body in [
        json!(null),
        json!([]),
        json!("completed"),
        json!({}),
        json!({"status": "shipped"}),
        json!({"status": 200, "title": "OK"}),
        json!({"detail": "not found"}),
        json!({"code": "c", "content": "t"}),
        json!({"ucp": {"version": "2026-04-08"}, "products": []}),
        json!({"products": [], "pagination": {}}),
    ] {
        assert_eq!(View::from_value(&body), Err(NotUcp), "{body}");
    }
    assert_eq!(View::from_bytes(b"<html>"), Err(NotUcp));
    assert_eq!(View::from_bytes(b""), Err(NotUcp));
}

#[test]
fn failed_answers() {
    let flat = json!({"code": "version_unsupported", "content": "t", "continue_url": URL});
    let envelope = json!({"ucp": {"version": "2026-04-08", "status": "error"}, "messages": []});
    let decide = |status: u16, body: &Value| {
        View::from_failure(
            StatusCode::from_u16(status).unwrap(),
            body.to_string().as_bytes(),
        )
        .map(|view| line(&view.decide(&Host::default())))
    };
    for status in [400, 402, 404, 410, 422, 424, 451] {
        assert_eq!(
            decide(status, &flat).unwrap(),
            format!("Failed RequestRefused {URL}")
        );
        assert_eq!(decide(status, &envelope).unwrap(), "Failed NoResource");
        assert_eq!(
            decide(status, &checkout("incomplete", json!({}))).unwrap(),
            "Update"
        );
        for shapeless in [
            json!({"detail": "d", "code": "c"}),
            json!({"error": "e"}),
            json!([]),
        ] {
            assert_eq!(decide(status, &shapeless), Err(NotUcp));
        }
    }
    for status in [301, 304, 401, 403, 408, 409, 425, 429, 500, 502, 503, 504] {
        for body in [&flat, &envelope, &checkout("completed", json!({}))] {
            assert_eq!(decide(status, body), Err(NotUcp), "{status}");
        }
    }
}

#[test]
fn a_refusal_carries_its_code_and_text() {
    let body = br#"{"code": "invalid_profile_url", "content": "no such profile"}"#;
    let handoff = View::from_failure(StatusCode::BAD_REQUEST, body)
        .unwrap()
        .decide(&Host::default());
    let Handoff::Failed {
        reason,
        messages,
        blockers,
        context,
        ..
    } = handoff
    else {
        panic!()
    };
    assert!(reason.nothing_placed());
    assert_eq!(messages, blockers);
    assert_eq!(messages[0].code.as_deref(), Some("invalid_profile_url"));
    assert_eq!(messages[0].text.as_deref(), Some("no such profile"));
    assert_eq!(context, Context::default());
}

#[test]
fn every_decision_carries_what_the_answer_says() {
    let body = checkout(
        "requires_escalation",
        json!({"continue_url": "http://m.example", "expires_at": 5, "order": {"id": "o"}, "messages": [
            error("recoverable"),
            {"type": "error", "content": "no code, no severity"},
            {"type": "warning", "code": "allergens", "content": "nuts", "path": "$.line_items[0]",
                "presentation": "disclosure", "image_url": "https://m.example/i", "content_type": "markdown"},
            {"type": "warning", "content": "hm", "presentation": "hologram"},
            {"type": "warning", "content": "late"},
            {"type": "info", "content": "hi"},
            {"type": "oracle", "content": "?"},
            error("requires_buyer_review"),
        ]}),
    );
    let handoff = View::from_value(&body).unwrap().decide(&Host::default());
    assert_eq!(line(&handoff), "Failed MissingContinueUrl");
    let severities: Vec<_> = handoff
        .blockers()
        .iter()
        .map(|b| b.severity.clone())
        .collect();
    assert_eq!(
        severities,
        [
            Some(Severity::Recoverable),
            None,
            Some(Severity::RequiresBuyerReview)
        ]
    );
    assert_eq!(handoff.blockers()[0].path.as_deref(), Some("$.x"));
    let context = handoff.context();
    assert_eq!(context.fix_first, handoff.blockers()[..1]);
    assert_eq!(context.disclosures.len(), 2);
    assert_eq!(
        context.disclosures[0].image_url.as_deref(),
        Some("https://m.example/i")
    );
    assert_eq!(
        context.disclosures[0].path.as_deref(),
        Some("$.line_items[0]")
    );
    assert_eq!(context.notices.len(), 1);
    assert_eq!(
        context.anomalies,
        [
            Anomaly::UnknownSeverity(1),
            Anomaly::UnknownPresentation(3),
            Anomaly::UnknownMessage(6),
            Anomaly::UnreadableExpiry,
            Anomaly::UnusableContinueUrl("its scheme is not https"),
            Anomaly::EarlyOrder,
        ]
    );
    let Handoff::Failed { messages, .. } = handoff else {
        panic!()
    };
    assert_eq!(messages.len(), 8);
}

#[test]
fn nothing_is_to_be_fixed_where_no_update_is_allowed() {
    for status in ["complete_in_progress", "completed", "canceled"] {
        let body = checkout(status, json!({"messages": [error("recoverable")]}));
        let handoff = View::from_value(&body).unwrap().decide(&Host::default());
        assert_eq!(handoff.blockers().len(), 1);
        assert_eq!(handoff.context().fix_first, [], "{status}");
    }
}

#[test]
fn the_embedded_url() {
    let decide = |config: Value, host: &Host| {
        let url = "https://M.example:8443/c/../1?a=%2f&ec_version=old&b#frag";
        let body = checkout(
            "requires_escalation",
            json!({"continue_url": url, "ucp": embedded(config)}),
        );
        View::from_value(&body).unwrap().decide(host)
    };
    let url = |config: Value, host: &Host| match decide(config, host) {
        Handoff::Embedded { url, .. } => url.as_str().to_owned(),
        other => panic!("{other:?}"),
    };
    const KEPT: &str = "https://M.example:8443/c/../1?a=%2f&b&ec_version=2026-04-08";
    let host = Host::default().delegates([
        "payment.credential",
        "fulfillment.address_change",
        "payment.credential",
    ]);
    // C127: what the host handles and the checkout allows.
    let config = json!({"delegate": ["window.open", "payment.credential", "payment.credential"]});
    assert_eq!(
        url(config.clone(), &host),
        format!("{KEPT}&ec_delegate=payment.credential#frag")
    );
    let Handoff::Embedded {
        origin, delegates, ..
    } = decide(config, &host)
    else {
        panic!()
    };
    assert_eq!(origin, "https://m.example:8443");
    assert_eq!(delegates, ["payment.credential"]);
    assert_eq!(
        url(json!({"delegate": ["x"]}), &host),
        format!("{KEPT}#frag")
    );
    assert_eq!(
        url(
            json!({"delegate": ["fulfillment.address_change", "payment.credential"]}),
            &host
        ),
        format!("{KEPT}&ec_delegate=payment.credential,fulfillment.address_change#frag")
    );

    let host = Host::default()
        .embeds()
        .auth("a+b/c=&d")
        .color_scheme(ColorScheme::Dark);
    let with_auth = format!("{KEPT}&ec_auth=a%2Bb%2Fc%3D%26d");
    assert_eq!(
        url(json!({"delegate": []}), &host),
        format!("{with_auth}&ec_color_scheme=dark#frag")
    );
    assert_eq!(
        url(
            json!({"delegate": [], "color_scheme": ["light", "dark"]}),
            &host
        ),
        format!("{with_auth}&ec_color_scheme=dark#frag")
    );
    let refused = json!({"delegate": [], "color_scheme": ["light"]});
    assert_eq!(url(refused.clone(), &host), format!("{with_auth}#frag"));
    let handoff = decide(refused, &host);
    assert_eq!(
        handoff.context().anomalies,
        [Anomaly::ColorSchemeNotOffered]
    );
    assert!(!format!("{handoff:?} {host:?}").contains("a%2Bb"));
    assert!(!format!("{host:?}").contains("a+b"));
}

#[test]
fn mcp_results() {
    let body = checkout("ready_for_complete", json!({}));
    let other = checkout("incomplete", json!({}));
    for result in [
        json!({"structuredContent": body, "content": [{"type": "text", "text": other.to_string()}]}),
        json!({"content": [
            {"type": "image", "data": ""},
            {"type": "text", "text": "Here you are:"},
            {"type": "text", "text": body.to_string()},
            {"type": "text", "text": other.to_string()},
        ]}),
    ] {
        let view = View::from_mcp_result(&result).unwrap();
        assert_eq!(line(&view.decide(&Host::default())), "Complete");
    }
    assert_eq!(View::from_mcp_result(&json!({"content": []})), Err(NotUcp));
}

/// A checkout as generated code writes one.
#[derive(Clone, PartialEq)]
struct Checkout {
    ucp: Envelope,
    id: String,
    status: Status,
    messages: Option<Vec<Map>>,
    continue_url: Option<String>,
    expires_at: Option<String>,
    order: Option<Map>,
    rest: Map,
}

impl wire::Object for Checkout {
    const NAME: &'static str = "Checkout";
    const MEMBERS: &'static [&'static str] = &[
        "ucp",
        "id",
        "status",
        "messages",
        "continue_url",
        "expires_at",
        "order",
    ];

    fn read_members(members: &mut Members<'_>) -> Result<Self, wire::DecodeError> {
        Ok(Self {
            ucp: members.required("ucp")?,
            id: members.required("id")?,
            status: members.required("status")?,
            messages: members.optional("messages")?,
            continue_url: members.optional("continue_url")?,
            expires_at: members.optional("expires_at")?,
            order: members.optional("order")?,
            rest: members.rest(),
        })
    }

    fn write_members<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        sink.put("ucp", &self.ucp)?;
        sink.put("id", &self.id)?;
        sink.put("status", &self.status)?;
        sink.optional("messages", &self.messages)?;
        sink.optional("continue_url", &self.continue_url)?;
        sink.optional("expires_at", &self.expires_at)?;
        sink.optional("order", &self.order)?;
        sink.put_rest(&self.rest, Self::MEMBERS)
    }
}

#[derive(Clone, PartialEq)]
struct Envelope {
    version: String,
    status: Option<String>,
    services: Option<Map>,
    rest: Map,
}

impl wire::Object for Envelope {
    const NAME: &'static str = "Envelope";
    const MEMBERS: &'static [&'static str] = &["version", "status", "services"];

    fn read_members(members: &mut Members<'_>) -> Result<Self, wire::DecodeError> {
        Ok(Self {
            version: members.required("version")?,
            status: members.optional("status")?,
            services: members.optional("services")?,
            rest: members.rest(),
        })
    }

    fn write_members<S: Sink>(&self, sink: &mut S) -> Result<(), S::Error> {
        sink.put("version", &self.version)?;
        sink.optional("status", &self.status)?;
        sink.optional("services", &self.services)?;
        sink.put_rest(&self.rest, Self::MEMBERS)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Status {
    Completed,
    Other(UnknownValue),
}

impl wire::Vocabulary for Status {
    const NAME: &'static str = "Status";

    fn known(text: &str) -> Option<Self> {
        (text == "completed").then_some(Self::Completed)
    }

    fn unknown(value: UnknownValue) -> Self {
        Self::Other(value)
    }

    fn as_str(&self) -> &str {
        match self {
            Self::Completed => "completed",
            Self::Other(value) => value.as_str(),
        }
    }
}

crate::impl_object!(Checkout, Envelope);
crate::impl_vocabulary!(Status);

/// Any JSON, with the names and the words that matter among its own.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("error".to_owned()),
        Just("warning".to_owned()),
        Just("completed".to_owned()),
        Just("incomplete".to_owned()),
        Just("requires_escalation".to_owned()),
        Just("complete_in_progress".to_owned()),
        Just("requires_buyer_input".to_owned()),
        Just("recoverable".to_owned()),
        Just("disclosure".to_owned()),
        Just(URL.to_owned()),
        Just("embedded".to_owned()),
        Just("2026-04-08".to_owned()),
        Just("2026-04-08T10:00:00Z".to_owned()),
        ".{0,12}",
    ];
    let name = prop_oneof![
        Just("ucp"),
        Just("status"),
        Just("messages"),
        Just("continue_url"),
        Just("order"),
        Just("expires_at"),
        Just("version"),
        Just("services"),
        Just("dev.ucp.shopping"),
        Just("transport"),
        Just("config"),
        Just("delegate"),
        Just("type"),
        Just("severity"),
        Just("presentation"),
        Just("code"),
        Just("content"),
        Just("id"),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word.prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..6).prop_map(|members| {
                members
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect()
            }),
        ]
    })
}

/// A body that has the members of a checkout, each in one of its shapes.
fn any_checkout() -> impl Strategy<Value = Value> {
    let status = prop::sample::select(vec![
        "completed",
        "canceled",
        "requires_escalation",
        "complete_in_progress",
        "ready_for_complete",
        "incomplete",
        "open",
    ]);
    let message = (
        prop::sample::select(vec![json!("error"), json!("warning"), json!("info"), json!("x"), json!(null)]),
        prop::sample::select(vec![json!("recoverable"), json!("requires_buyer_input"),
            json!("requires_buyer_review"), json!("unrecoverable"), json!("x"), json!(null)]),
        prop::sample::select(vec![json!("notice"), json!("disclosure"), json!("x"), json!(null)]),
    )
        .prop_map(|(kind, severity, presentation)| {
            json!({"type": kind, "severity": severity, "presentation": presentation, "content": "c"})
        });
    let url = prop::sample::select(vec![json!(URL), json!("http://m.example"), json!(null)]);
    let ucp = prop::sample::select(vec![
        json!({"version": "2026-04-08"}),
        json!({"version": "2026-04-08", "status": "error", "services": null}),
        json!({"version": "", "status": null, "services": []}),
        embedded(json!({"delegate": ["payment.credential"]})),
    ]);
    let expiry = prop::sample::select(vec![
        json!("2026-04-08T10:00:00Z"),
        json!("soon"),
        json!(null),
    ]);
    let order = prop::sample::select(vec![json!({"id": "o_1"}), json!(null)]);
    (
        status,
        prop::collection::vec(message, 0..4),
        url,
        ucp,
        expiry,
        order,
    )
        .prop_map(|(status, messages, url, ucp, expiry, order)| {
            json!({"id": "co_1", "status": status, "messages": messages, "continue_url": url,
                "ucp": ucp, "expires_at": expiry, "order": order, "x": 1})
        })
}

fn hosts() -> [Host; 3] {
    [
        Host::default(),
        Host::default()
            .delegates(["payment.credential"])
            .renders_disclosures(),
        Host::default()
            .embeds()
            .color_scheme(ColorScheme::Light)
            .auth("t")
            .development(),
    ]
}

proptest! {
    #[test]
    fn any_json_decides_or_says_that_it_cannot(body in any_json(), status in 100u16..600) {
        for host in hosts() {
            let _ = View::from_value(&body).map(|view| view.decide(&host));
            let _ = View::from_mcp_result(&body).map(|view| view.decide(&host));
            let status = StatusCode::from_u16(status).unwrap();
            let _ = View::from_failure(status, body.to_string().as_bytes()).map(|view| view.decide(&host));
        }
    }

    #[test]
    fn completed_is_completed(mut body in any_json()) {
        if !body.is_object() {
            body = json!({"ucp": body});
        }
        body["status"] = json!("completed");
        for host in hosts() {
            let handoff = View::from_value(&body).unwrap().decide(&host);
            let is_completed = matches!(handoff, Handoff::Completed { .. });
            prop_assert!(is_completed, "{handoff:?}");
        }
    }

    #[test]
    fn typed_and_raw_agree(body in any_checkout()) {
        let (typed, _) = wire::read_body::<Checkout>(body.clone()).unwrap();
        for host in hosts() {
            let raw = View::from_value(&body).map(|view| view.decide(&host));
            prop_assert_eq!(typed.handoff(&host), raw);
        }
    }

    #[test]
    fn a_buyer_is_sent_only_to_usable_urls(body in any_checkout()) {
        for host in hosts() {
            match View::from_value(&body).unwrap().decide(&host) {
                Handoff::ContinueUrl { url, .. } => prop_assert_eq!(url.as_str(), URL),
                Handoff::Embedded { url, origin, .. } => {
                    prop_assert!(url.as_str().starts_with(URL));
                    prop_assert_eq!(origin, "https://m.example");
                }
                _ => {}
            }
        }
    }
}
