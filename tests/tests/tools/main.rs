//! Operations as tools for a model: what their schemas say, held against an independent validator and
//! against the facts of the contract; and what becomes of a model's calls, at the sandbox merchant.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod calls;
mod purchases;
mod schemas;
mod updates;

use merchant::Running;
use tokio::net::TcpListener;
use ucp_runtime::serde_json::{Value, json};
use ucp_runtime::{Agent, Merchant, PlatformProfile};

/// What the tools are tried with.
mod april {
    ucp_runtime::include_ucp! {
        release: "2026-04-08",
        extensions: [discount, fulfillment, buyer_consent],
        tools: true,
    }
}

/// The same of the draft.
mod draft {
    ucp_runtime::include_ucp! {
        release: "draft",
        version: "2026-08-22",
        extensions: [discount, fulfillment],
        tools: true,
    }
}

/// A header as an input, and one that no model sets although the client has it.
mod exposed {
    ucp_runtime::include_ucp! {
        release: "2026-04-08",
        operations: [get_order, create_cart],
        expose: ["Accept-Language", "Idempotency-Key"],
        tools: true,
    }
}

/// A merchant, and an agent that serves its profile and is connected.
struct Stage {
    sandbox: Running,
    shop: april::Client,
}

async fn stage() -> Stage {
    let sandbox = merchant::Merchant::builder().seed(1).start().await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let profile = PlatformProfile::builder(&april::RELEASE)
        .development()
        .build()
        .unwrap();
    let router = profile.router();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let agent = Agent::builder(&format!("{origin}/.well-known/ucp"))
        .unwrap()
        .id_secret([7; 32])
        .release(april::RELEASE)
        .development()
        .build()
        .unwrap();
    let shop = april::Client::new(&agent.connect(sandbox.origin()).await.unwrap());
    Stage { sandbox, shop }
}

/// A merchant that nothing is sent to.
fn nobody(version: &str) -> Merchant {
    let agent = Agent::builder("https://agent.example/.well-known/ucp").unwrap();
    let agent = agent.id_secret([7; 32]).build().unwrap();
    let (origin, endpoint) = ("https://shop.example", "https://shop.example/ucp");
    Merchant::at(&agent, origin, endpoint, version).unwrap()
}

/// The arguments that make a checkout which lacks nothing but payment.
fn ready() -> Value {
    json!({ "body": {
        "line_items": [{"item": {"id": "var_mug"}, "quantity": 2}],
        "buyer": {"email": "ada@example.com"},
        "fulfillment": {"methods": [{
            "type": "shipping",
            "destinations": [{"id": "home", "street_address": "1 Main St", "address_country": "US"}],
            "selected_destination_id": "home",
            "groups": [{"selected_option_id": "standard"}],
        }]},
    } })
}

/// A payment that the sandbox takes.
fn payment() -> Value {
    json!({ "instruments": [{
        "id": "instrument_1", "handler_id": "sandbox_pay", "type": "card", "selected": true,
        "credential": {"type": "token", "token": "tok_ok"},
    }] })
}
