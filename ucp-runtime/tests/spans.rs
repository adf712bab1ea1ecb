//! What `tracing` is told: a span for each attempt, and no secret in any of it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod support;

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};
use support::script::{Complete, Scripted, answer, broken, failure};
use support::{RELEASE, Shop, builder};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use ucp_runtime::serde_json::{Value, json};
use ucp_runtime::signatures::{Algorithm, SigningKey};
use ucp_runtime::{BoxError, Call, Credential, Guard, Retry};

/// Keeps what the runtime says, a line a span or event; a span's events are indented.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<(Vec<String>, usize)>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Heard {
    fn keep(&self, text: &str, record: impl FnOnce(&mut Line)) {
        let mut heard = self.0.lock().unwrap();
        let mut line = Line(format!("{}{text}", "  ".repeat(heard.1)));
        record(&mut line);
        heard.0.push(line.0);
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().0.clone()
    }
}

impl Subscriber for Heard {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("ucp_runtime")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.keep(span.metadata().name(), |line| span.record(line));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        self.keep("record", |line| values.record(line));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.keep("event", |line| event.record(line));
    }

    fn enter(&self, _: &Id) {
        self.0.lock().unwrap().1 += 1;
    }

    fn exit(&self, _: &Id) {
        self.0.lock().unwrap().1 -= 1;
    }
}

const SECRETS: [&str; 6] = [
    "bearer-secret",
    "api-secret",
    "payment-secret",
    "answer-secret",
    "refusal-secret",
    "Signature",
];

#[tokio::test]
async fn each_attempt_is_a_span_and_no_secret_is_in_it() {
    let heard = Heard::default();
    let _guard = tracing::subscriber::set_default(heard.clone());
    let checkout = |status: &str| {
        json!({"ucp": {"version": RELEASE}, "id": "co_1", "status": status,
            "access_token": "answer-secret"})
    };
    let shop = Scripted::open_with(
        RELEASE,
        [
            broken(),
            answer(checkout("ready_for_complete")),
            answer(checkout("ready_for_complete")),
            failure(503, &[], json!({"detail": "refusal-secret"})),
            answer(checkout("completed")),
        ],
        |builder| {
            let key = SigningKey::from_scalar(Algorithm::Es256, &[7; 32]).unwrap();
            let credential = Credential::bearer("bearer-secret").and_api_key("api-secret");
            builder
                .retry(Retry::default().attempts(6))
                .signing_key(key)
                .credentials(move |_| {
                    let credential = credential.clone();
                    async move { Ok::<_, BoxError>(Some(credential)) }
                })
        },
    )
    .await;
    let payment = json!({"payment": {"instruments": [
        {"handler_id": "pay", "type": "card", "credential": {"token": "payment-secret"}}]}});
    let call: Call<Complete> = Call::new(&shop.merchant).path("id", "co_1").body(&payment);
    let call = call
        .from(&checkout("ready_for_complete"))
        .allow(Guard::Totals)
        .allow(Guard::Instrument)
        .call_id(("conversation", "turn"));
    let request_id = call.keys().unwrap().request_id;
    let done: Value = call.await.unwrap().into_success().unwrap();
    assert_eq!(done["status"], "completed");

    let lines = heard.lines();
    let origin = shop.merchant.origin();
    let spans: Vec<&String> = lines
        .iter()
        .filter(|line| line.contains("ucp attempt"))
        .collect();
    assert_eq!(spans.len(), shop.heard().len(), "{lines:#?}");
    assert_eq!(
        *spans[0],
        format!(
            "ucp attempt operation=\"complete_checkout\" merchant=\"{origin}\" \
             request_id={request_id} number=1"
        )
    );
    assert!(
        spans[1].contains("operation=\"get_checkout\""),
        "{lines:#?}"
    );
    // Within its span: what came of it.
    let answers: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.strip_prefix("  event message=answered status="))
        .collect();
    assert_eq!(answers, ["200", "200", "503", "200"], "{lines:#?}");
    let sent = shop.arrived();
    let carried = |name, text| sent[0].header(name).is_some_and(|it| it.contains(text));
    assert!(
        carried("authorization", "bearer-secret"),
        "the secrets were sent"
    );
    assert!(carried("x-api-key", "api-secret") && sent[0].header("signature").is_some());
    for secret in SECRETS {
        assert!(
            !lines.iter().any(|line| line.contains(secret)),
            "{lines:#?}"
        );
    }
}

#[tokio::test]
async fn a_merchant_that_is_found_is_an_event() {
    let heard = Heard::default();
    let _guard = tracing::subscriber::set_default(heard.clone());
    let shop = Shop::open().await;
    let agent = builder().build().unwrap();
    agent.connect(&shop.origin).await.unwrap();
    assert_eq!(
        heard.lines(),
        [
            "event message=answered status=200".to_owned(),
            format!(
                "event message=found a merchant key=\"{origin}\" version=\"{RELEASE}\" \
                 endpoint=\"{origin}/ucp/v2\"",
                origin = shop.origin
            )
        ]
    );
}
