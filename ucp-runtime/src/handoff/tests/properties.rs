//! What holds for all JSON: a decision or an error, the same for typed and raw, in JSON by its schema.

use super::*;
use crate::wire::{self, Map, Members, Sink, UnknownValue};
use proptest::prelude::*;

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
            let _ = View::from_tool_result(&body).map(|view| view.decide(&host));
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
    fn nothing_but_completed_is_completed(body in any_json()) {
        prop_assume!(body.get("status") != Some(&json!("completed")));
        for host in hosts() {
            if let Ok(view) = View::from_value(&body) {
                let is_completed = matches!(view.decide(&host), Handoff::Completed { .. });
                prop_assert!(!is_completed, "{body}");
            }
        }
    }

    #[test]
    fn all_inputs_agree(body in any_checkout()) {
        let (typed, _) = wire::read_body::<Checkout>(body.clone()).unwrap();
        let text = body.to_string();
        for host in hosts() {
            let raw = View::from_value(&body).map(|view| view.decide(&host));
            let same = |view: Result<View, NotUcp>| view.map(|view| view.decide(&host));
            prop_assert_eq!(&typed.handoff(&host), &raw);
            prop_assert_eq!(&same(View::from_bytes(text.as_bytes())), &raw);
            prop_assert_eq!(&same(View::from_failure(StatusCode::NOT_FOUND, text.as_bytes())), &raw);
            prop_assert_eq!(&same(View::from_mcp_result(&json!({"structuredContent": body}))), &raw);
            prop_assert_eq!(&same(View::from_mcp_result(&json!({"content": [{"type": "text", "text": text}]}))), &raw);
            prop_assert_eq!(&same(View::from_tool_result(&json!({"body": body, "status": 200}))), &raw);
            prop_assert_eq!(&same(View::from_tool_result(&json!({"body": text}))), &raw);
        }
    }

    #[test]
    fn bytes_and_json_agree(body in any_json()) {
        prop_assert_eq!(View::from_bytes(body.to_string().as_bytes()), View::from_value(&body));
    }

    #[test]
    fn a_decision_fits_its_schema(body in prop_oneof![any_checkout(), any_json()]) {
        for host in hosts() {
            if let Ok(view) = View::from_value(&body) {
                fits(&view.decide(&host));
            }
        }
    }

    #[test]
    fn a_message_reads_back_as_it_was(value in any_json()) {
        let message = Message::of(&value);
        let written = serde_json::to_string(&message).unwrap();
        prop_assert_eq!(serde_json::from_str::<Message>(&written).unwrap(), message);
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
