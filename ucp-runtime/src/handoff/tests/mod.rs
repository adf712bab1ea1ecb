//! What the rules have in common with all JSON, and what each decision carries.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "what generated code exports stays in this test"
)]

mod properties;
mod rules;

use super::*;
use http::StatusCode;
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

#[test]
fn of_two_members_of_one_name_the_last_counts() {
    let body = br#"{"ucp": {}, "continue_url": "x", "status": "incomplete", "status": "completed",
        "messages": [{"type": "info", "severity": "a", "type": "error", "severity": "recoverable"}],
        "order": {"id": "o_1", "id": "o_2"}}"#;
    let value: Value = serde_json::from_slice(body).unwrap();
    let view = View::from_bytes(body).unwrap();
    assert_eq!(Ok(&view), View::from_value(&value).as_ref());
    let handoff = view.decide(&Host::default());
    assert_eq!(line(&handoff), "Completed Some(\"o_2\")");
    assert_eq!(handoff.blockers()[0].severity, Some(Severity::Recoverable));
}

#[test]
fn tool_results() {
    let body = checkout("ready_for_complete", json!({}));
    let mcp = json!({"structuredContent": body, "isError": false});
    let ours = json!({"status": 200, "body": body, "text": "ready"});
    for kept in [
        body.clone(),
        mcp.clone(),
        ours.clone(),
        json!({"body": body.to_string()}),
        json!({"status": 422, "body": body}),
        json!(body.to_string()),
        json!(mcp.to_string()),
        json!(ours.to_string()),
    ] {
        let view = View::from_tool_result(&kept).unwrap_or_else(|_| panic!("{kept}"));
        assert_eq!(line(&view.decide(&Host::default())), "Complete", "{kept}");
    }
    let refused = json!({"status": 422, "body": {"code": "c", "content": "t"}});
    let view = View::from_tool_result(&refused).unwrap();
    assert_eq!(
        line(&view.decide(&Host::default())),
        "Failed RequestRefused"
    );
    for nothing in [
        json!({"status": 503, "body": body}),
        json!({"status": 1000, "body": body}),
        json!({"status": 409, "body": body.to_string()}),
        json!({"body": "<html>"}),
        json!({"body": null}),
        json!("not JSON"),
        json!([]),
    ] {
        assert_eq!(View::from_tool_result(&nothing), Err(NotUcp), "{nothing}");
    }
}

/// Holds a decision's JSON against the schema, and against the schema with no other members.
fn fits(handoff: &Handoff) {
    static STRICT: std::sync::LazyLock<[jsonschema::Validator; 2]> =
        std::sync::LazyLock::new(|| {
            let schema: Value = serde_json::from_str(SCHEMA).unwrap();
            let mut closed = schema.clone();
            closed["unevaluatedProperties"] = json!(false);
            for (name, definition) in closed["$defs"].as_object_mut().unwrap() {
                if definition["properties"].is_object() {
                    assert_ne!(name, "url");
                    definition["additionalProperties"] = json!(false);
                }
            }
            [schema, closed].map(|schema| {
                jsonschema::options()
                    .should_validate_formats(true)
                    .build(&schema)
                    .unwrap()
            })
        });
    let value = serde_json::to_value(handoff).unwrap();
    for schema in STRICT.iter() {
        let problems: Vec<String> = schema
            .iter_errors(&value)
            .map(|problem| format!("{}: {problem}", problem.instance_path()))
            .collect();
        assert_eq!(problems, [""; 0], "{value}");
    }
}

#[test]
fn each_decision_in_json() {
    let host = Host::default().delegates(["payment.credential"]);
    let decide = |body: Value| View::from_value(&body).unwrap().decide(&host);
    let until = "2026-04-08T10:00:00+02:00";
    let warning = json!({"type": "warning", "content": "late", "code": "delay"});
    let poll =
        json!({"first_delay_ms": 500, "longest_delay_ms": 15000, "until": "2026-04-08T08:00:00Z"});
    let common = json!({"blockers": [], "fix_first": [], "disclosures": [], "notices": [],
        "anomalies": [], "poll": null});
    let blocked = error("recoverable");
    let rows = [
        (
            checkout(
                "incomplete",
                json!({"continue_url": URL, "expires_at": until, "messages": [blocked, warning]}),
            ),
            json!({"decision": "conversational", "next": "update", "continue_url": URL,
                "until": "2026-04-08T08:00:00Z", "blockers": [blocked], "fix_first": [blocked],
                "notices": [warning]}),
        ),
        (
            checkout("complete_in_progress", json!({"expires_at": until})),
            json!({"decision": "conversational", "next": "poll", "continue_url": null,
                "until": "2026-04-08T08:00:00Z", "poll": poll}),
        ),
        (
            checkout(
                "requires_escalation",
                json!({"continue_url": URL, "expires_at": until}),
            ),
            json!({"decision": "continue_url", "url": URL, "reason": "escalation",
                "until": "2026-04-08T08:00:00Z", "poll": poll}),
        ),
        (
            checkout(
                "requires_escalation",
                json!({"continue_url": URL, "ucp": embedded(json!({"delegate": ["payment.credential"]})),
                    "messages": [error("requires_buyer_review")], "expires_at": until}),
            ),
            json!({"decision": "embedded", "origin": "https://m.example",
                "url": format!("{URL}?ec_version=2026-04-08&ec_delegate=payment.credential"),
                "delegates": ["payment.credential"], "reason": "buyer_review",
                "blockers": [error("requires_buyer_review")],
                "until": "2026-04-08T08:00:00Z", "poll": poll}),
        ),
        (
            checkout(
                "completed",
                json!({"order": {"id": "o_1", "permalink_url": URL}}),
            ),
            json!({"decision": "completed",
                "order": {"id": "o_1", "label": null, "permalink_url": URL}}),
        ),
        (
            checkout("completed", json!({})),
            json!({"decision": "completed", "order": null, "anomalies": [
                {"code": "no_order", "text": "status is completed, and order is absent"}]}),
        ),
        (
            checkout("canceled", json!({})),
            json!({"decision": "canceled"}),
        ),
        (
            json!({"ucp": {"status": "error"}, "continue_url": URL, "messages": [error("unrecoverable")]}),
            json!({"decision": "failed", "reason": "no_resource", "continue_url": URL,
                "messages": [error("unrecoverable")], "blockers": [error("unrecoverable")]}),
        ),
        (
            checkout("on_hold", json!({"expires_at": until})),
            json!({"decision": "failed", "reason": "unknown_status", "continue_url": null,
                "messages": [], "poll": poll,
                "anomalies": [{"code": "unknown_status", "text": "status is absent or unknown"}]}),
        ),
    ];
    for (body, members) in rows {
        let mut expected = common.clone();
        for (name, value) in members.as_object().unwrap() {
            expected[name] = value.clone();
        }
        let handoff = decide(body);
        assert_eq!(serde_json::to_value(&handoff).unwrap(), expected);
        fits(&handoff);
    }
}

#[test]
fn the_schema_refuses_what_is_no_decision() {
    let schema = jsonschema::validator_for(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
    let body = checkout("requires_escalation", json!({"continue_url": URL}));
    let handoff = View::from_value(&body).unwrap().decide(&Host::default());
    let good = serde_json::to_value(&handoff).unwrap();
    assert!(schema.is_valid(&good));
    for (name, value) in [
        ("decision", json!("completed")),
        ("decision", json!("redirect")),
        ("url", json!("javascript:alert(1)")),
        ("reason", json!("whim")),
        ("blockers", json!([{"content": "no type"}])),
        ("poll", json!({"until": null})),
        ("until", json!(5)),
    ] {
        let mut bad = good.clone();
        bad[name] = value;
        assert!(!schema.is_valid(&bad), "{bad}");
    }
}
