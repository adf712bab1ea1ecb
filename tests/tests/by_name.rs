//! Operations chosen while the program runs: the same requests as those of the typed methods, from
//! JSON, and an answer that stays JSON.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use axum::routing::get;
use axum::{Json, Router};
use tokio::net::TcpListener;
use ucp_runtime::operation::{Input, Place};
use ucp_runtime::serde_json::{Map, Value, json};
use ucp_runtime::untyped::{Callable, InputError};
use ucp_runtime::{
    Agent, Call, Endpoint, Error, Guard, Handoff, Host, Merchant, Outcome, RequestError,
};
use ucp_tests::golden::{shopping_2026_04_08 as april, shopping_draft as draft};
use ucp_tests::shared;

fn agent() -> Agent {
    let agent = Agent::builder("https://agent.example/.well-known/ucp").unwrap();
    agent.id_secret([7; 32]).development().build().unwrap()
}

fn shop(endpoint: &str) -> april::Client {
    let origin = "https://shop.example";
    let merchant = Merchant::at(&agent(), origin, endpoint, april::RELEASE.version());
    april::Client::new(&merchant.unwrap())
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// The inputs of every operation, as data, are those that the facts of the contract say.
#[test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
fn every_operation_has_its_own_inputs() {
    let Some(folder) = shared::folder() else {
        return;
    };
    let facts = shared::json(&folder.join("facts/operations.json"));
    for (release, operations, exposed) in [
        ("2026-04-08", april::OPERATIONS, vec!["Accept-Language"]),
        ("draft-2026-08-22", draft::OPERATIONS, vec![]),
    ] {
        let facts =
            &facts["versions"][release]["services/shopping/rest.openapi.json"]["operations"];
        let facts = facts.as_array().unwrap();
        assert_eq!(operations.len(), facts.len());
        for fact in facts {
            let id = fact["operationId"].as_str().unwrap();
            let found = operations.iter().find(|of| of.operation.id == id);
            let Callable { inputs, .. } = found.unwrap_or_else(|| panic!("{release} {id}"));
            let text = |of: &Value| {
                (
                    of["name"].as_str().unwrap().to_owned(),
                    of["required"] == true,
                )
            };
            let own = fact["own_inputs"].as_array().unwrap().iter().map(text);
            let exposed = exposed.iter().map(|name| ((*name).to_owned(), false));
            let mut expected: Vec<_> = own.chain(exposed).collect();
            let found = inputs
                .iter()
                .map(|of: &Input| (of.name.to_owned(), of.required));
            let mut found: Vec<_> = found.collect();
            expected.sort();
            found.sort();
            assert_eq!(found, expected, "{release} {id}");
        }
    }
}

async fn same<E: Endpoint>(typed: Call<E>, name: &str, inputs: Value) {
    let shop = shop("https://shop.example/ucp");
    let by_name = shop.call(name, object(inputs)).unwrap();
    let (typed, by_name) = (typed.call_id("c-1"), by_name.call_id("c-1"));
    let (typed, by_name) = (
        typed.prepare().await.unwrap(),
        by_name.prepare().await.unwrap(),
    );
    assert_eq!(by_name.operation(), typed.operation());
    assert_eq!(by_name.method(), typed.method());
    assert_eq!(by_name.url(), typed.url());
    assert_eq!(by_name.headers(), typed.headers());
    assert_eq!(by_name.body(), typed.body());
}

#[tokio::test]
async fn a_call_by_name_is_the_call_of_the_method() {
    use april::*;
    let shop = shop("https://shop.example/ucp");
    // The members of the body in another order than the type writes them.
    let create = CreateCheckout::new([CreateLineItem::new("var_mug", 2)]);
    let body = json!({"line_items": [{"quantity": 2, "item": {"id": "var_mug"}}]});
    same(
        shop.create_checkout(&create),
        "create_checkout",
        json!({ "body": body }),
    )
    .await;

    let update = UpdateCheckout::replace([UpdateLineItem::new("var_mug", 1)])
        .buyer(BuyerWithConsent::new().email("ada@example.com"));
    let body = json!({
        "line_items": [{"item": {"id": "var_mug"}, "quantity": 1}],
        "buyer": {"email": "ada@example.com"},
    });
    let inputs = json!({"body": body, "id": "gid://shop/1?x", "Accept-Language": "de"});
    let typed = shop
        .update_checkout("gid://shop/1?x", &update)
        .accept_language("de");
    same(typed, "update_checkout", inputs).await;

    same(
        shop.get_order("7"),
        "get_order",
        json!({"id": 7, "Accept-Language": null}),
    )
    .await;
    let search = SearchRequest::new().query("mug");
    same(
        shop.search_catalog(search),
        "search_catalog",
        json!({"body": {"query": "mug"}}),
    )
    .await;
}

/// Money moves by name no more easily than by method.
#[tokio::test]
async fn a_completion_by_name_is_judged() {
    let shop = shop("https://shop.example/ucp");
    let checkout = |status: &str| {
        json!({
            "ucp": {"version": "2026-04-08", "payment_handlers": {"com.example.pay": [{"id": "pay"}]}},
            "id": "co_1", "status": status, "currency": "USD", "line_items": [], "links": [],
            "totals": [{"type": "subtotal", "amount": 5}, {"type": "total", "amount": 5}],
        })
    };
    let body = json!({"ap2": {"checkout_mandate": "a.b.c"}, "payment": {"instruments": [{"id": "i", "handler_id": "pay", "type": "card"}]}});
    let inputs = json!({"id": "co_1", "body": body});
    let call = || {
        shop.call("complete_checkout", object(inputs.clone()))
            .unwrap()
    };
    let ready = call()
        .from(&checkout("ready_for_complete"))
        .prepare()
        .await
        .unwrap();
    assert_eq!(ready.url().path(), "/ucp/checkout-sessions/co_1/complete");
    let busy = || call().from(&checkout("complete_in_progress"));
    match busy().prepare().await {
        Err(Error::NotSent(refused)) => {
            assert!(
                matches!(refused.problem, RequestError::Refused { .. }),
                "{refused}"
            );
        }
        other => panic!("{other:?}"),
    }
    assert!(busy().allow(Guard::InProgress).prepare().await.is_ok());
}

#[tokio::test]
async fn an_answer_stays_json_and_says_what_happens_next() {
    let checkout = json!({
        "ucp": {"version": "2026-04-08", "status": "success", "payment_handlers": {}},
        "id": "co_1", "status": "ready_for_complete", "currency": "USD",
        "line_items": [], "totals": [], "links": [], "of_a_later_release": [1],
    });
    let envelope = json!({
        "ucp": {"version": "2026-04-08", "status": "error"},
        "messages": [{"type": "error", "code": "gone", "severity": "unrecoverable", "content": "Gone."}],
    });
    let (found, gone) = (checkout.clone(), envelope.clone());
    let router = Router::new()
        .route(
            "/checkout-sessions/co_1",
            get(move || async move { Json(found) }),
        )
        .route(
            "/checkout-sessions/co_2",
            get(move || async move { Json(gone) }),
        );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let shop = shop(&format!("http://{}", listener.local_addr().unwrap()));
    tokio::spawn(async move { axum::serve(listener, router).await });

    let read = async |id: &str| {
        let call = shop
            .call("get_checkout", object(json!({ "id": id })))
            .unwrap();
        call.await.unwrap()
    };
    let response = read("co_1").await;
    assert_eq!(*response.success().unwrap(), checkout);
    let handoff = response.handoff(&Host::default()).unwrap();
    assert!(
        matches!(handoff, Handoff::Conversational { .. }),
        "{handoff:?}"
    );

    let response = read("co_2").await;
    assert!(matches!(response.outcome(), Outcome::Failure(of) if *of == envelope));
    assert!(matches!(response.success(), Err(Error::Declined(_))));
}

#[tokio::test]
async fn wrong_inputs_are_told_by_place() {
    let shop = shop("https://shop.example/ucp");
    let refused = |name: &str, inputs: Value| shop.call(name, object(inputs)).unwrap_err();
    let InputError::UnknownOperation { known, .. } = refused("buy", json!({})) else {
        panic!();
    };
    assert_eq!(known.len(), 13);
    for (name, inputs, text) in [
        ("get_cart", json!({}), "`get_cart` needs the input `id`"),
        (
            "get_cart",
            json!({"id": null}),
            "`get_cart` needs the input `id`",
        ),
        (
            "get_cart",
            json!({"id": {}}),
            "the input `id` of `get_cart` is not a string, a number or a boolean",
        ),
        (
            "get_cart",
            json!({"id": "1", "Authorization": "x"}),
            "`get_cart` has no input `Authorization`; it takes id, Accept-Language",
        ),
        (
            "create_cart",
            json!({}),
            "`create_cart` needs the input `body`",
        ),
        (
            "create_cart",
            json!({"body": {"line_items": [{}]}}),
            "the body of `create_cart` does not fit: $.line_items[0].item: expected a required member, found nothing",
        ),
    ] {
        assert_eq!(refused(name, inputs).to_string(), text);
    }
    // Rules beyond the type are judged as they are for the method, and can be waived alike.
    let body = json!({"line_items": [{"item": {"id": "m"}, "quantity": 0}]});
    let call = || {
        shop.call("create_cart", object(json!({ "body": body })))
            .unwrap()
    };
    match call().prepare().await {
        Err(Error::NotSent(refused)) => {
            assert_eq!(refused.operation, "create_cart");
            assert!(
                matches!(refused.problem, RequestError::Rules { .. }),
                "{refused}"
            );
        }
        other => panic!("{other:?}"),
    }
    assert!(call().unvalidated().prepare().await.is_ok());
    assert_eq!(
        april::OPERATIONS[1].inputs[0],
        Input::required(Place::Path, "id")
    );
}
