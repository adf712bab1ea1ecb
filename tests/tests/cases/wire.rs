//! Cases about what travels, over real loopback HTTP: the sandbox merchant, and a server that answers
//! what a case wants.

use super::*;
use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use golden::*;
use merchant::{Operation, Stimulus, Target};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use ucp_runtime::error::BodyProblem;
use ucp_runtime::guard::Refusal;
use ucp_runtime::handoff::{FailedReason, Next};
use ucp_runtime::{Agent, Anomaly, Error, Guard, Handoff, Host, Merchant, Outcome, RequestError};

type Heard = Arc<Mutex<Vec<HeaderMap>>>;

/// A server that answers every request alike, and its origin.
async fn answering(status: u16, media: &'static str, body: String) -> (String, Heard) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let heard = Heard::default();
    let ears = Arc::clone(&heard);
    let router = Router::new().fallback(move |headers: HeaderMap| {
        ears.lock().unwrap().push(headers);
        let answer = (
            StatusCode::from_u16(status).unwrap(),
            [("content-type", media)],
            body.clone(),
        );
        async move { answer }
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    (origin, heard)
}

fn agent() -> Agent {
    Agent::builder("https://agent.example/.well-known/ucp")
        .unwrap()
        .id_secret([7; 32])
        .development()
        .build()
        .unwrap()
}

/// A client of a merchant that answers a call with this body.
async fn client(status: u16, media: &'static str, body: &Value) -> (Client, Heard) {
    let (origin, heard) = answering(status, media, body.to_string()).await;
    let merchant = Merchant::at(&agent(), &origin, &origin, RELEASE.version()).unwrap();
    (Client::new(&merchant), heard)
}

fn envelope(changes: Value) -> Value {
    let mut body = json!({
        "ucp": { "version": "2026-04-08", "status": "error" },
        "messages": [{ "type": "error", "code": "gone", "content": "c", "severity": "unrecoverable" }],
    });
    body.as_object_mut()
        .unwrap()
        .extend(changes.as_object().unwrap().clone());
    body
}

#[tokio::test]
async fn c14_the_status_of_the_envelope_alone_chooses_the_arm() {
    let with_status = |status: &str| {
        let mut body = checkout(json!({}));
        body["ucp"]["status"] = json!(status);
        body
    };
    let mut full_error = with_status("error");
    full_error["messages"] = envelope(json!({}))["messages"].clone();
    for (body, failed) in [
        (envelope(json!({})), true),
        (checkout(json!({})), false),
        (with_status("success"), false),
        (full_error.clone(), true),
    ] {
        let (shop, _) = client(200, "application/json", &body).await;
        let response = shop.get_checkout("chk_1").await.unwrap();
        assert_eq!(response.bytes(), body.to_string().as_bytes());
        assert_eq!(
            matches!(response.outcome(), Outcome::Failure(_)),
            failed,
            "{body}"
        );
        assert_eq!(
            matches!(response.into_success(), Err(Error::Declined(_))),
            failed
        );
    }
    // The error is the chosen arm's, at its field.
    let (shop, _) = client(200, "application/json", &checkout(json!({ "id": 7 }))).await;
    let error = shop.get_checkout("chk_1").await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("$.id: expected a string, found an integer"),
        "{error}"
    );
    assert!(error.response().is_some());
}

#[tokio::test]
async fn c15_an_added_member_does_not_cost_the_way_on() {
    let body = envelope(json!({ "continue_url": "https://shop.example/on", "request_id": "r-1" }));
    let (shop, _) = client(200, "application/json", &body).await;
    let response = shop.get_checkout("chk_1").await.unwrap();
    let Handoff::Failed {
        reason: FailedReason::NoResource,
        continue_url: Some(url),
        ..
    } = response.handoff(&Host::default()).unwrap()
    else {
        panic!("{response:?}")
    };
    assert_eq!(url.as_str(), "https://shop.example/on");
}

#[tokio::test]
async fn c29_media_types_are_compared_by_their_essence_and_accept_is_sent() {
    for media in [
        "application/json; charset=utf-8",
        "Application/JSON",
        "application/problem+json",
    ] {
        let (shop, heard) = client(200, media, &checkout(json!({}))).await;
        shop.get_checkout("chk_1")
            .await
            .unwrap()
            .into_success()
            .unwrap();
        assert_eq!(
            heard.lock().unwrap()[0]["accept"],
            "application/json",
            "{media}"
        );
    }
    let (shop, _) = client(200, "text/html", &json!({})).await;
    assert!(matches!(
        shop.get_checkout("chk_1").await,
        Err(Error::Body(_))
    ));
}

#[tokio::test]
async fn c30_identity_is_the_runtimes_work() {
    let (shop, heard) = client(201, "application/json", &checkout(json!({}))).await;
    shop.create_checkout(CreateCheckout::new([CreateLineItem::new(
        ItemInput::new("mug"),
        1,
    )]))
    .await
    .unwrap();
    let heard = heard.lock().unwrap();
    for name in [
        "ucp-agent",
        "request-id",
        "idempotency-key",
        "content-type",
        "accept",
        "user-agent",
    ] {
        assert!(heard[0].contains_key(name), "{name}");
    }
    assert_eq!(
        heard[0]["ucp-agent"],
        "profile=\"https://agent.example/.well-known/ucp\""
    );
}

#[tokio::test]
async fn c31_a_search_recognises_an_error_too() {
    let (shop, _) = client(200, "application/json", &envelope(json!({}))).await;
    let found = shop
        .search_catalog(SearchRequest::new().query("mug"))
        .await
        .unwrap();
    let Outcome::Failure(error) = found.outcome() else {
        panic!("{found:?}")
    };
    assert_eq!(error.messages.len(), 1);
    let (shop, _) = client(
        404,
        "application/json",
        &json!({ "code": "not_found", "content": "no" }),
    )
    .await;
    let Err(Error::Status(error)) = shop.lookup_catalog(LookupRequest::new(["mug"])).await else {
        panic!()
    };
    assert_eq!(
        (error.status.as_u16(), error.code.as_deref()),
        (404, Some("not_found"))
    );
}

/// The binding, the version and the whole profile; reading it as a profile's own type waits for
/// negotiation.
#[tokio::test]
async fn c33_a_profile_is_read_by_its_version() {
    let profile = |version: &str, services: Value, capabilities: Value| json!({ "ucp": { "version": version, "services": { "dev.ucp.shopping": services }, "capabilities": capabilities } });
    let old = profile(
        "2026-01-11",
        json!({ "version": "2026-01-11", "spec": "https://ucp.dev/", "rest": { "endpoint": "http://127.0.0.1:9/api" } }),
        json!([{ "name": "dev.ucp.shopping.checkout", "version": "2026-01-11" }]),
    );
    let new = profile(
        "2026-04-08",
        json!([{ "version": "2026-04-08", "transport": "rest", "endpoint": "http://127.0.0.1:9/api" }]),
        json!({ "dev.ucp.shopping.checkout": [{ "version": "2026-04-08" }] }),
    );
    for profile in [old, new] {
        let (origin, _) = answering(200, "application/json", profile.to_string()).await;
        let found = agent().connect(&origin).await.unwrap();
        assert_eq!(found.endpoint(), "http://127.0.0.1:9/api");
        assert_eq!(found.version(), profile["ucp"]["version"].as_str().unwrap());
        assert_eq!(found.profile().unwrap().document, profile);
    }
}

#[tokio::test]
async fn c36_a_merchant_without_handlers_is_still_read() {
    let merchant = merchant::Merchant::builder().seed(1).start().await.unwrap();
    let shop = connected(&merchant).await;
    merchant.script(
        Target::Next(Operation::CreateCheckout),
        [Stimulus::Patch(
            json!({ "ucp": { "payment_handlers": null } }),
        )],
    );
    let response = shop
        .create_checkout(CreateCheckout::new([CreateLineItem::new(
            ItemInput::new("var_mug"),
            1,
        )]))
        .await
        .unwrap();
    assert_eq!(response.notes().len(), 1, "{response:?}");
    assert!(matches!(
        response.handoff(&Host::default()),
        Ok(Handoff::Conversational {
            next: Next::Update,
            ..
        })
    ));
    // Without a handler nothing can be paid with.
    let checkout = response.success().unwrap();
    let error = shop
        .complete_checkout(&checkout.id, card())
        .from(checkout)
        .await
        .unwrap_err();
    assert_eq!(guards(&error), [Guard::Instrument]);
    let asked = merchant.exchanges();
    assert!(
        asked
            .iter()
            .all(|exchange| !exchange.path.ends_with("/complete"))
    );
}

fn card() -> CompleteCheckout {
    let card = SelectedPaymentInstrument::new("instrument_1", "sandbox_pay", "card")
        .selected(true)
        .credential(PaymentCredential::new("token").extra("token", "tok_ok"));
    let payment = Payment::new().instruments([card]);
    CompleteCheckout::new(
        payment,
        CompleteCheckoutAp2::new("eyJhbGciOiJFUzI1NiJ9.e30.c2ln"),
    )
}

/// The guards that refused a call.
fn guards(error: &Error) -> Vec<Guard> {
    let Error::NotSent(error) = error else {
        panic!("{error:?}")
    };
    let RequestError::Refused { refusals } = &error.problem else {
        panic!("{error:?}")
    };
    refusals
        .as_slice()
        .iter()
        .filter_map(Refusal::guard)
        .collect()
}

#[tokio::test]
async fn c39_a_bill_that_does_not_add_up_is_not_paid_unattended() {
    let body = checkout(json!({ "status": "ready_for_complete", "totals": [],
        "ucp": { "version": "2026-04-08", "payment_handlers": { "com.example.pay": [{ "id": "sandbox_pay", "version": "2026-04-08" }] } } }));
    let (shop, heard) = client(200, "application/json", &body).await;
    // Judged by a read of its own, and by what is given.
    let read = shop.complete_checkout("chk_1", card()).await.unwrap_err();
    assert_eq!(guards(&read), [Guard::Totals]);
    assert_eq!(heard.lock().unwrap().len(), 1);
    let typed: Checkout = super::read(body);
    let given = shop.complete_checkout("chk_1", card()).from(&typed);
    assert_eq!(guards(&given.await.unwrap_err()), [Guard::Totals]);
    assert_eq!(heard.lock().unwrap().len(), 1);
    // With the buyer's consent it is.
    let allowed = shop.complete_checkout("chk_1", card()).from(&typed);
    allowed.allow(Guard::Totals).await.unwrap();
    assert_eq!(heard.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn c51_a_key_belongs_to_a_call_and_not_to_what_it_is_about() {
    let (shop, heard) = client(200, "application/json", &checkout(json!({}))).await;
    let call = || shop.cancel_checkout("chk_1");
    let keys = call().keys().unwrap();
    assert_ne!(keys, call().keys().unwrap(), "two calls are two");
    let prepared = call().prepare().await.unwrap();
    let first = prepared.send().await.unwrap();
    let again = prepared.send().await.unwrap();
    assert_eq!(first.keys(), again.keys(), "sent again it is one");
    let heard = heard.lock().unwrap();
    assert_eq!(heard[0]["idempotency-key"], heard[1]["idempotency-key"]);
}

#[tokio::test]
async fn c57_what_is_in_progress_is_neither_completed_again_nor_forgotten() {
    let merchant = merchant::Merchant::builder().seed(1).start().await.unwrap();
    let shop = connected(&merchant).await;
    let created = ready(&shop).await;
    merchant.script(
        Target::Session(created.id.clone()),
        [Stimulus::CompleteInProgress { reads: 2 }],
    );
    shop.get_checkout(&created.id).await.unwrap();
    let accepted = shop.complete_checkout(&created.id, card()).await.unwrap();
    let Handoff::Conversational {
        next: Next::Poll,
        until,
        ..
    } = accepted.handoff(&Host::default()).unwrap()
    else {
        panic!("{accepted:?}")
    };
    let again = shop
        .complete_checkout(&created.id, card())
        .await
        .unwrap_err();
    assert_eq!(guards(&again), [Guard::InProgress]);
    let accepted = accepted.into_success().unwrap();
    let update = || UpdateCheckout::update_from(&accepted).unwrap();
    let sent = merchant.exchanges().len();
    let refused = shop.update_checkout(&created.id, update()).from(&accepted);
    assert_eq!(guards(&refused.await.unwrap_err()), [Guard::InProgress]);
    assert_eq!(merchant.exchanges().len(), sent, "nothing is sent");
    let settled = shop
        .get_checkout(&created.id)
        .wait_until_settled(until)
        .await
        .unwrap();
    assert!(matches!(
        settled.handoff(&Host::default()),
        Ok(Handoff::Completed { .. })
    ));
    assert_eq!(merchant.orders().len(), 1);
}

#[test]
fn c60_an_agent_is_named_by_an_https_url() {
    for name in ["tool/0.1", "http://agent.example/profile", "agent.example"] {
        assert!(
            matches!(Agent::builder(name), Err(Error::Config(_))),
            "{name}"
        );
    }
}

#[tokio::test]
async fn c61_each_request_has_an_id_that_is_no_key() {
    let (shop, heard) = client(200, "application/json", &checkout(json!({}))).await;
    shop.get_checkout("chk_1").await.unwrap();
    shop.cancel_checkout("chk_1").await.unwrap();
    let heard = heard.lock().unwrap();
    assert_ne!(heard[0]["request-id"], heard[1]["request-id"]);
    assert_ne!(heard[1]["request-id"], heard[1]["idempotency-key"]);
    assert!(!heard[0].contains_key("idempotency-key"));
}

#[tokio::test]
async fn c132_the_body_says_what_became_of_it_whatever_the_2xx() {
    let create = || CreateCheckout::new([CreateLineItem::new(ItemInput::new("mug"), 1)]);
    for status in [200, 201, 202] {
        let (shop, _) = client(status, "application/json", &checkout(json!({}))).await;
        let created = shop.create_checkout(create()).await.unwrap();
        assert_eq!(created.success().unwrap().id, "chk_1");
        let (shop, _) = client(status, "application/json", &envelope(json!({}))).await;
        let refused = shop.create_checkout(create()).await.unwrap();
        assert!(matches!(refused.success(), Err(Error::Declined(_))));
    }
}

/// A checkout that can be completed.
async fn ready(shop: &Client) -> Checkout {
    let home = ShippingDestinationInput::new()
        .id("home")
        .street_address("1 Main St")
        .address_country("US");
    let method = CreateFulfillmentMethod::new(FulfillmentMethodType::Shipping)
        .destinations([home.into()])
        .selected_destination_id("home")
        .groups([CreateFulfillmentGroup::new().selected_option_id("standard")]);
    let create = CreateCheckout::new([CreateLineItem::new(ItemInput::new("var_mug"), 1)])
        .buyer(BuyerWithConsent::new().email("ada@example.com"))
        .fulfillment(CreateFulfillment::new().methods([method]));
    let created = shop.create_checkout(create).await.unwrap();
    created.into_success().unwrap()
}

/// Reading forgives the envelope that an answer lacks, with a note, and strictness does not.
#[tokio::test]
async fn an_absent_envelope_is_noted_and_strictness_refuses_it() {
    let body = checkout(json!({ "ucp": null, "expires_at": "2026-04-08T10:00:00Z" }));
    let (shop, _) = client(200, "application/json", &body).await;
    let response = shop.get_checkout("chk_1").await.unwrap();
    let checkout = response.success().unwrap();
    assert_eq!(checkout.ucp.version, RELEASE.version());
    let notes: Vec<String> = response.notes().iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "$.ucp.payment_handlers: absent though required, read as empty",
            "$.ucp: absent though required, read as an envelope of 2026-04-08",
        ]
    );
    assert_eq!(response.bytes(), body.to_string().as_bytes());
    let error = response.strict().unwrap_err();
    let Error::Body(inner) = &error else {
        panic!("{error:?}")
    };
    let BodyProblem::Lenient { notes, .. } = &inner.problem else {
        panic!("{error:?}")
    };
    assert_eq!(notes.len(), 2);
    assert!(error.handoff(&Host::default()).is_ok(), "nothing is lost");
    // For all calls of an agent.
    let strict = Agent::builder("https://agent.example/.well-known/ucp")
        .unwrap()
        .development()
        .strict()
        .build()
        .unwrap();
    for (body, good) in [(body, false), (super::checkout(json!({})), true)] {
        let (origin, _) = answering(200, "application/json", body.to_string()).await;
        let shop =
            Client::new(&Merchant::at(&strict, &origin, &origin, RELEASE.version()).unwrap());
        assert_eq!(shop.get_checkout("chk_1").await.is_ok(), good);
    }
}

/// A client of the sandbox merchant, of an agent with a profile that the merchant can read.
async fn connected(merchant: &merchant::Running) -> Client {
    let capabilities: serde_json::Map<String, Value> = (RELEASE.capabilities())
        .map(|(name, version)| (name.to_owned(), json!([{ "version": version }])))
        .collect();
    let profile = json!({ "ucp": { "version": RELEASE.version(), "services": {}, "payment_handlers": {}, "capabilities": capabilities } });
    let (origin, _) = answering(200, "application/json", profile.to_string()).await;
    let agent = Agent::builder(&format!("{origin}/.well-known/ucp"))
        .unwrap()
        .id_secret([7; 32])
        .development()
        .build()
        .unwrap();
    Client::new(&agent.connect(merchant.origin()).await.unwrap())
}

/// The first half of the case, what is refused before it is sent, is in `road.rs`
/// (`a_body_that_breaks_a_rule_is_not_sent`); here, that nothing reaches the wire.
#[tokio::test]
async fn c40_a_quantity_of_nothing_is_not_sent() {
    let (shop, heard) = client(201, "application/json", &checkout(json!({}))).await;
    for quantity in [0, -1] {
        let refused = shop
            .create_checkout(CreateCheckout::new([CreateLineItem::new(
                ItemInput::new("mug"),
                quantity,
            )]))
            .await
            .unwrap_err();
        assert!(
            refused
                .to_string()
                .ends_with("$.line_items[0].quantity: must be at least 1"),
            "{refused}"
        );
    }
    assert!(heard.lock().unwrap().is_empty());
}

/// Over the sandbox merchant the round of C41 and C43 is `an_update_starts_from_what_was_received` in
/// `road.rs`; here, that a plain body is a full replacement.
#[tokio::test]
async fn c43_a_body_that_leaves_something_out_takes_it_away() {
    let merchant = merchant::Merchant::builder().seed(1).start().await.unwrap();
    let shop = connected(&merchant).await;
    let two = [
        CreateLineItem::new(ItemInput::new("var_mug"), 2),
        CreateLineItem::new(ItemInput::new("var_jeans_30"), 1),
    ];
    let create = CreateCheckout::new(two).buyer(BuyerWithConsent::new().email("ada@example.com"));
    let created = shop
        .create_checkout(create)
        .await
        .unwrap()
        .into_success()
        .unwrap();
    let items = |checkout: &Checkout| -> Vec<String> {
        checkout
            .line_items
            .iter()
            .map(|line| line.item.id.clone())
            .collect()
    };
    assert_eq!(items(&created), ["var_mug", "var_jeans_30"]);
    let all = UpdateCheckout::update_from(&created).unwrap();
    assert_eq!(all.line_items.len(), 2);
    assert_eq!(all.buyer, created.buyer);
    // What does not start from it says by its name what it does: buyer and second line are erased.
    let one = UpdateCheckout::replace(all.line_items.iter().take(1).cloned());
    let updated = shop
        .update_checkout(&created.id, one)
        .await
        .unwrap()
        .into_success()
        .unwrap();
    assert_eq!(items(&updated), ["var_mug"]);
    assert_eq!(updated.buyer, None);
    let same = shop
        .get_checkout(&created.id)
        .await
        .unwrap()
        .into_success()
        .unwrap();
    assert_eq!(same, updated);
}

#[tokio::test]
async fn c45_codes_keep_their_text_whatever_the_case_and_the_status() {
    for status in [400, 422] {
        for code in ["VERSION_UNSUPPORTED", "version_unsupported"] {
            let (shop, _) = client(
                status,
                "application/json",
                &json!({ "code": code, "content": "c" }),
            )
            .await;
            let Err(Error::Status(error)) = shop.get_checkout("chk_1").await else {
                panic!()
            };
            assert_eq!(
                (error.status.as_u16(), error.code.as_deref()),
                (status, Some(code))
            );
        }
    }
}

#[tokio::test]
async fn c46_a_failed_negotiation_is_never_a_checkout() {
    let body = json!({
        "ucp": { "version": "2026-04-08", "status": "error", "capabilities": {} },
        "messages": [{ "type": "error", "code": "capabilities_incompatible", "content": "c", "severity": "unrecoverable" }],
        "continue_url": "https://m.test/",
    });
    let (shop, _) = client(200, "application/json", &body).await;
    let response = shop.get_checkout("chk_1").await.unwrap();
    let Err(Error::Declined(declined)) = response.success() else {
        panic!("{response:?}")
    };
    assert_eq!(
        declined.messages[0].code.as_deref(),
        Some("capabilities_incompatible")
    );
    let (shop, _) = client(422, "application/json", &json!({ "code": "version_unsupported", "content": "c", "continue_url": "https://m.test/" })).await;
    let error = shop.get_checkout("chk_1").await.unwrap_err();
    let Error::Status(status) = &error else {
        panic!("{error:?}")
    };
    assert_eq!(status.continue_url.as_deref(), Some("https://m.test/"));
    let Ok(Handoff::Failed {
        reason: FailedReason::RequestRefused,
        continue_url: Some(_),
        ..
    }) = error.handoff(&Host::default())
    else {
        panic!()
    };
}

#[tokio::test]
async fn c46_an_answer_of_another_release_is_read_and_said() {
    let mut body = checkout(json!({}));
    body["ucp"]["version"] = json!("2026-01-23");
    let (shop, _) = client(200, "application/json", &body).await;
    let response = shop.get_checkout("chk_1").await.unwrap();
    assert!(
        matches!(response.anomalies(), [Anomaly::OtherVersion { .. }]),
        "{response:?}"
    );
}
