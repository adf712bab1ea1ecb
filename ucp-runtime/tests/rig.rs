//! The tools in the hands of rig.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use axum::{Json, Router};
use rig_core::tool::{DynamicTool, ToolContext, ToolErrorKind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use ucp_runtime::handoff::{Handoff, Host, View};
use ucp_runtime::serde_json::{Value, json};
use ucp_runtime::tools::rig::{self, Returned, ToolCall};
use ucp_runtime::{Agent, CallId, Merchant};

ucp_runtime::include_ucp! {
    release: "2026-04-08",
    operations: [create_checkout],
    tools: true,
}

type Keys = Arc<Mutex<Vec<String>>>;

/// A merchant that answers everything with one checkout, and keeps the keys.
async fn shop() -> (Client, Keys) {
    let keys = Keys::default();
    let answer = async |State(keys): State<Keys>, headers: HeaderMap| {
        let key = headers["idempotency-key"].to_str().unwrap();
        keys.lock().unwrap().push(key.to_owned());
        Json(json!({
            "ucp": {"version": "2026-04-08", "payment_handlers": {}},
            "id": "co_1", "status": "ready_for_complete", "currency": "USD",
            "line_items": [], "totals": [], "links": [],
        }))
    };
    let router = Router::new()
        .route("/checkout-sessions", post(answer))
        .with_state(keys.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let agent = Agent::builder("https://agent.example/.well-known/ucp").unwrap();
    let agent = agent.id_secret([7; 32]).development().build().unwrap();
    let merchant = Merchant::at(&agent, "https://shop.example", &endpoint, "2026-04-08").unwrap();
    (Client::new(&merchant), keys)
}

fn tools(shop: &Client) -> Vec<DynamicTool> {
    let turn = AtomicU64::new(1);
    rig::tools(&shop.tools().build().unwrap(), move || {
        CallId::from(("conv", turn.fetch_add(1, Ordering::Relaxed).to_string()))
    })
}

fn line(quantity: i64) -> Value {
    json!({"body": {"line_items": [{"item": {"id": "mug"}, "quantity": quantity}]}})
}

#[tokio::test]
async fn a_tool_is_told_and_called_as_rig_does() {
    let (shop, keys) = shop().await;
    let tools = tools(&shop);
    let [create] = tools.as_slice() else {
        panic!("{tools:?}");
    };
    let definition = create.definition();
    assert_eq!(definition.name.as_str(), "create_checkout");
    assert_eq!(definition.parameters["required"], json!(["body"]));
    assert!(definition.description.starts_with("Start a checkout."));

    let mut context = ToolContext::new();
    let output = create.execute_with(&mut context, line(2)).await.unwrap();
    let text = output.as_text().unwrap();
    assert!(text.starts_with("The checkout is ready."), "{text}");
    let Returned(result) = context.result().unwrap().unwrap();
    assert_eq!(result["kind"], "answered");
    let handoff = View::from_tool_result(&result)
        .unwrap()
        .decide(&Host::default());
    assert!(
        matches!(handoff, Handoff::Conversational { .. }),
        "{handoff:?}"
    );

    let refused = create.execute(line(0)).await.unwrap_err();
    assert_eq!(refused.kind(), ToolErrorKind::InvalidArgs);
    let feedback = refused.model_feedback().unwrap();
    assert!(
        feedback.contains("$.body.line_items[0].quantity: must be at least 1"),
        "{feedback}"
    );
    assert_eq!(keys.lock().unwrap().len(), 1);
}

/// What names a call is the model's own id where the loop gives it, else the next of the names.
#[tokio::test]
async fn calls_have_names_of_their_own() {
    let (shop, keys) = shop().await;
    let tools = tools(&shop);
    tools[0].execute(line(1)).await.unwrap();
    tools[0].execute(line(1)).await.unwrap();
    let mut context = ToolContext::new();
    context.insert(ToolCall("call_7Hx".to_owned())).unwrap();
    for _ in 0..2 {
        tools[0].execute_with(&mut context, line(1)).await.unwrap();
    }
    let keys = keys.lock().unwrap();
    // The last was a repetition, which is answered from the journal.
    assert_eq!(keys.len(), 3);
    assert!(keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2]);
}
