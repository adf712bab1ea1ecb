//! An agent for the tests: its profile and webhook receiver on loopback, and calls whose answers
//! are held against the contract.

#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use jiff::Timestamp;
use merchant::{Merchant, Operation, Running};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use uuid::Uuid;

/// 2026-04-08T12:00:00Z.
const START: i64 = 1_775_649_600;

pub(crate) struct Webhook {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Webhook {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

struct Receiver {
    arrived: mpsc::UnboundedSender<Webhook>,
    answers: Mutex<VecDeque<u16>>,
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Bytes,
    pub(crate) body: Value,
}

impl Reply {
    pub(crate) fn str(&self, pointer: &str) -> &str {
        let found = self.body.pointer(pointer).and_then(Value::as_str);
        found.unwrap_or_else(|| panic!("no string at {pointer} in {:#}", self.body))
    }
    /// `(type, amount)` of the totals.
    pub(crate) fn totals(&self) -> Vec<(&str, i64)> {
        totals(&self.body["totals"])
    }
    pub(crate) fn codes(&self) -> Vec<&str> {
        let messages = self.body["messages"].as_array();
        messages
            .into_iter()
            .flatten()
            .filter_map(|message| message["code"].as_str())
            .collect()
    }
    /// The pointers of a refused body.
    pub(crate) fn pointers(&self) -> Vec<&str> {
        assert_eq!(self.status, 400, "{:#}", self.body);
        assert_eq!(self.body["code"], "invalid_request", "{:#}", self.body);
        let errors = self.body["errors"].as_array().unwrap();
        errors
            .iter()
            .map(|e| e["pointer"].as_str().unwrap())
            .collect()
    }
}

pub(crate) fn totals(totals: &Value) -> Vec<(&str, i64)> {
    let entry = |entry: &'_ Value| entry["amount"].as_i64().unwrap();
    totals
        .as_array()
        .unwrap()
        .iter()
        .map(|total| (total["type"].as_str().unwrap(), entry(total)))
        .collect()
}

/// A merchant with an agent beside it.
pub(crate) struct Stage {
    pub(crate) merchant: Running,
    pub(crate) http: reqwest::Client,
    pub(crate) profile: String,
    pub(crate) agent_origin: String,
    webhooks: tokio::sync::Mutex<mpsc::UnboundedReceiver<Webhook>>,
    receiver: Arc<Receiver>,
    now: Arc<AtomicI64>,
}

pub(crate) fn agent_profile(origin: &str) -> Value {
    let names = [
        "checkout",
        "cart",
        "catalog.search",
        "catalog.lookup",
        "order",
        "discount",
        "fulfillment",
        "buyer_consent",
    ];
    let mut capabilities = serde_json::Map::new();
    for name in names {
        let full = format!("dev.ucp.shopping.{name}");
        capabilities.insert(full, json!([{ "version": "2026-04-08" }]));
    }
    capabilities["dev.ucp.shopping.order"][0]["config"] =
        json!({ "webhook_url": format!("{origin}/webhooks") });
    json!({
        "ucp": {
            "version": "2026-04-08",
            "services": {},
            "payment_handlers": {},
            "capabilities": capabilities,
        },
    })
}

/// Serves `router` on a free loopback port and gives its origin.
pub(crate) async fn serve(router: impl FnOnce(&str) -> Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let router = router(&origin);
    tokio::spawn(async move { axum::serve(listener, router).await });
    origin
}

impl Stage {
    pub(crate) async fn set() -> Stage {
        let (arrived, webhooks) = mpsc::unbounded_channel();
        let receiver = Arc::new(Receiver {
            arrived,
            answers: Mutex::default(),
        });
        let state = receiver.clone();
        let agent_origin = serve(move |origin| {
            let profile = agent_profile(origin);
            Router::new()
                .route("/profile", get(move || async move { Json(profile) }))
                .route("/webhooks", post(receive))
                .with_state(state)
        })
        .await;
        let now = Arc::new(AtomicI64::new(START));
        let clock = now.clone();
        let merchant = Merchant::builder()
            .seed(1)
            .clock(move || Timestamp::from_second(clock.load(Ordering::SeqCst)).unwrap())
            .webhook_backoff(Duration::from_millis(1))
            .start()
            .await
            .unwrap();
        Stage {
            merchant,
            http: merchant::outbound::client(Duration::from_secs(10)).unwrap(),
            profile: format!("{agent_origin}/profile"),
            agent_origin,
            webhooks: tokio::sync::Mutex::new(webhooks),
            receiver,
            now,
        }
    }

    pub(crate) fn pass(&self, seconds: i64) {
        self.now.fetch_add(seconds, Ordering::SeqCst);
    }

    /// What the webhook receiver answers next, instead of 200.
    pub(crate) fn answer_webhooks(&self, statuses: &[u16]) {
        self.receiver.answers.lock().unwrap().extend(statuses);
    }

    /// The next webhook; its order is held against the contract.
    pub(crate) async fn webhook(&self) -> Webhook {
        let webhook = self.webhooks.lock().await.recv().await.unwrap();
        let contract = self.merchant.contract();
        let found = contract.response_violations(Operation::GetOrder, &webhook.json());
        assert_eq!(found, [], "{:#}", webhook.json());
        webhook
    }

    pub(crate) fn url(&self, operation: Operation, id: &str) -> (Method, String) {
        let (method, path) = operation.route();
        let path = path.replace("{id}", id);
        (method, format!("{}/ucp/v1{path}", self.merchant.origin()))
    }

    /// A call with the headers that the protocol wants, to be changed.
    pub(crate) fn prepare(&self, operation: Operation, id: &str, body: &Value) -> Request {
        let mut headers = vec![
            ("ucp-agent", format!("profile=\"{}\"", self.profile)),
            ("request-id", Uuid::new_v4().to_string()),
            ("accept", "application/json".to_owned()),
        ];
        if operation.changes_state() {
            headers.push(("idempotency-key", Uuid::new_v4().to_string()));
        }
        if operation.request_mark().is_some() {
            headers.push(("content-type", "application/json".to_owned()));
        }
        let body = if body.is_null() {
            Vec::new()
        } else {
            serde_json::to_vec(body).unwrap()
        };
        Request {
            operation,
            id: id.to_owned(),
            headers,
            body,
        }
    }

    pub(crate) async fn send(&self, request: &Request) -> Reply {
        let (method, url) = self.url(request.operation, &request.id);
        let mut builder = self.http.request(method, url);
        for (name, value) in &request.headers {
            builder = builder.header(*name, value);
        }
        let response = builder.body(request.body.clone()).send().await.unwrap();
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let bytes = response.bytes().await.unwrap();
        let body: Value = serde_json::from_slice(&bytes).unwrap();
        Reply {
            status,
            headers,
            bytes,
            body,
        }
    }

    /// A call whose answer, if it is one of the contract, must follow the contract.
    pub(crate) async fn call(&self, operation: Operation, id: &str, body: Value) -> Reply {
        let reply = self.send(&self.prepare(operation, id, &body)).await;
        if reply.status < 300 {
            let contract = self.merchant.contract();
            let found = contract.response_violations(operation, &reply.body);
            assert_eq!(found, [], "{:#}", reply.body);
            let is_error = reply.body["ucp"]["status"] == "error";
            let expected = if is_error {
                200
            } else {
                operation.success_status()
            };
            assert_eq!(reply.status, expected);
        }
        reply
    }

    /// Brings a checkout to `ready_for_complete` and gives its id.
    pub(crate) async fn ready(&self) -> String {
        let created = self.call(Operation::CreateCheckout, "", mugs_ready()).await;
        assert_eq!(
            created.body["status"], "ready_for_complete",
            "{:#}",
            created.body
        );
        created.str("/id").to_owned()
    }

    pub(crate) async fn complete(&self, id: &str) -> Reply {
        self.call(Operation::CompleteCheckout, id, payment("tok_ok"))
            .await
    }
}

#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) operation: Operation,
    pub(crate) id: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(header, _)| *header != name);
        self
    }
    pub(crate) fn with(self, name: &'static str, value: &str) -> Self {
        let mut request = self.without(name);
        request.headers.push((name, value.to_owned()));
        request
    }
}

async fn receive(
    State(receiver): State<Arc<Receiver>>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let _ = receiver.arrived.send(Webhook { headers, body });
    let status = receiver.answers.lock().unwrap().pop_front().unwrap_or(200);
    StatusCode::from_u16(status).unwrap()
}

/// Two mugs.
pub(crate) fn mugs() -> Value {
    json!({ "line_items": [{ "item": { "id": "var_mug" }, "quantity": 2 }] })
}

/// Two mugs with everything that a purchase needs.
pub(crate) fn mugs_ready() -> Value {
    let mut body = mugs();
    body["buyer"] = json!({ "email": "ada@example.com" });
    body["fulfillment"] = json!({ "methods": [{
        "type": "shipping",
        "destinations": [{ "id": "home", "street_address": "1 Main St", "address_country": "US" }],
        "selected_destination_id": "home",
        "groups": [{ "selected_option_id": "standard" }],
    }] });
    body
}

pub(crate) fn payment(token: &str) -> Value {
    json!({ "payment": { "instruments": [{
        "id": "instrument_1",
        "handler_id": "sandbox_pay",
        "type": "card",
        "selected": true,
        "credential": { "type": "token", "token": token },
    }] } })
}
