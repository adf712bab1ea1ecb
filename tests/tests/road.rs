//! The generated client against the strict sandbox merchant, over real HTTP: all 13 operations, what
//! is on the wire, and that a call costs nothing to share between tasks.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use axum::routing::post;
use merchant::{Operation, Running, Severity, Stimulus, Target};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use ucp_runtime::handoff::Next;
use ucp_runtime::serde_json::{self, Value, json};
use ucp_runtime::{
    Agent, Call, Endpoint, Error, Handoff, Host, Outcome, PlatformProfile, RequestError, Response,
};
use ucp_tests::golden::shopping_2026_04_08::*;

struct Stage {
    merchant: Running,
    shop: Client,
    agent: Agent,
    orders: mpsc::UnboundedReceiver<Vec<u8>>,
}

/// A merchant, and an agent that serves its profile and hears of its orders.
async fn stage() -> Stage {
    let merchant = merchant::Merchant::builder().seed(1).start().await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let profile = PlatformProfile::builder(&RELEASE)
        .order_webhook(format!("{origin}/orders"))
        .development()
        .build()
        .unwrap();
    let (arrived, orders) = mpsc::unbounded_channel();
    let receive =
        post(move |body: axum::body::Bytes| async move { arrived.send(body.to_vec()).unwrap() });
    let router = profile.router().route("/orders", receive);
    tokio::spawn(async move { axum::serve(listener, router).await });
    let agent = Agent::builder(&format!("{origin}/.well-known/ucp"))
        .unwrap()
        .id_secret([7; 32])
        .development()
        .build()
        .unwrap();
    let shop = Client::new(&agent.connect(merchant.origin()).await.unwrap());
    Stage {
        merchant,
        shop,
        agent,
        orders,
    }
}

fn line(item: &str, quantity: i64) -> CreateLineItem {
    CreateLineItem::new(item, quantity)
}

fn shipping() -> CreateFulfillment {
    let home = ShippingDestinationInput::new()
        .id("home")
        .street_address("1 Main St")
        .address_country("US");
    let method = CreateFulfillmentMethod::new(FulfillmentMethodType::Shipping)
        .destinations([home.into()])
        .selected_destination_id("home")
        .groups([CreateFulfillmentGroup::new().selected_option_id("standard")]);
    CreateFulfillment::new().methods([method])
}

fn ready() -> CreateCheckout {
    CreateCheckout::new([line("var_mug", 2)])
        .buyer(BuyerWithConsent::new().email("ada@example.com"))
        .fulfillment(shipping())
}

fn card() -> CompleteCheckout {
    let token = PaymentCredential::new("token").extra("token", "tok_ok");
    let card = SelectedPaymentInstrument::new("instrument_1", "sandbox_pay", "card")
        .selected(true)
        .credential(token);
    CompleteCheckout::new(
        Payment::new().instruments([card]),
        CompleteCheckoutAp2::new("eyJhbGciOiJFUzI1NiJ9.e30.c2ln"),
    )
}

fn amounts(totals: &[TotalsItem]) -> Vec<(&str, i64)> {
    totals
        .iter()
        .map(|total| (total.r#type.as_str(), total.amount))
        .collect()
}

#[tokio::test]
async fn all_thirteen_operations() {
    let mut stage = stage().await;
    let shop = &stage.shop;

    let found = shop
        .search_catalog(SearchRequest::new().query("stoneware"))
        .await
        .unwrap()
        .into_success()
        .unwrap();
    let product = &found.products[0];
    assert_eq!(product.variants[0].id, "var_mug");
    let found = shop
        .lookup_catalog(LookupRequest::new(["var_mug"]))
        .await
        .unwrap()
        .into_success()
        .unwrap();
    assert_eq!(found.products[0].variants[0].inputs[0].id, "var_mug");
    let found = shop
        .get_product(GetProductRequest::new(&product.id))
        .await
        .unwrap()
        .into_success()
        .unwrap();
    assert_eq!(found.product.id, product.id);

    let cart = shop
        .create_cart(CreateCart::new([line("var_mug", 2)]))
        .await
        .unwrap()
        .into_success()
        .unwrap();
    assert_eq!(amounts(&cart.totals), [("subtotal", 2998), ("total", 2998)]);
    let update = UpdateCart::replace(
        &cart.id,
        [UpdateLineItem::new(ItemInput::new("var_mug"), 1).id("li_1")],
    );
    let cart = shop
        .update_cart(&cart.id, update)
        .await
        .unwrap()
        .into_success()
        .unwrap();
    assert_eq!(amounts(&cart.totals), [("subtotal", 1499), ("total", 1499)]);
    assert_eq!(
        shop.get_cart(&cart.id)
            .await
            .unwrap()
            .into_success()
            .unwrap(),
        cart
    );
    shop.cancel_cart(&cart.id)
        .await
        .unwrap()
        .into_success()
        .unwrap();
    let gone = shop.get_cart(&cart.id).await.unwrap();
    assert!(
        matches!(gone.outcome(), Outcome::Failure(envelope) if envelope.messages.len() == 1),
        "{gone:?}"
    );
    assert!(matches!(gone.success(), Err(Error::Declined(_))));

    let other = shop
        .create_checkout(CreateCheckout::new([line("var_mug", 1)]))
        .await
        .unwrap()
        .into_success()
        .unwrap();
    let canceled = shop.cancel_checkout(&other.id).await.unwrap();
    assert!(matches!(
        canceled.handoff(&Host::default()),
        Ok(Handoff::Canceled { .. })
    ));

    let created = shop
        .create_checkout(ready())
        .await
        .unwrap()
        .into_success()
        .unwrap();
    assert_eq!(created.status, CheckoutStatus::ReadyForComplete);
    assert_eq!(
        amounts(&created.totals),
        [
            ("subtotal", 2998),
            ("fulfillment", 500),
            ("tax", 300),
            ("total", 3798)
        ]
    );
    let lines = created
        .line_items
        .iter()
        .map(|line| UpdateLineItem::new(ItemInput::new(&line.item.id), 1).id(&line.id));
    let mut method = UpdateFulfillmentMethod::new(["li_1"])
        .id("method_1")
        .selected_destination_id("home");
    method = method.destinations([ShippingDestinationInput::new()
        .id("home")
        .street_address("1 Main St")
        .address_country("US")
        .into()]);
    method = method
        .groups([UpdateFulfillmentGroup::new("method_1_group").selected_option_id("express")]);
    let update = UpdateCheckout::replace(lines)
        .buyer(BuyerWithConsent::new().email("ada@example.com"))
        .fulfillment(UpdateFulfillment::new().methods([method]))
        .discounts(DiscountsObjectInput::new().codes(["FIVEOFF"]));
    let response = shop.update_checkout(&created.id, update).await.unwrap();
    let handoff = response.handoff(&Host::default()).unwrap();
    assert!(
        matches!(
            handoff,
            Handoff::Conversational {
                next: Next::Complete,
                ..
            }
        ),
        "{handoff:?}"
    );
    let updated = response.into_success().unwrap();
    assert_eq!(
        amounts(&updated.totals),
        [
            ("subtotal", 1499),
            ("discount", -500),
            ("fulfillment", 1500),
            ("tax", 100),
            ("total", 2599)
        ]
    );

    let completed = shop.complete_checkout(&created.id, card()).await.unwrap();
    let Ok(Handoff::Completed {
        order: Some(order), ..
    }) = completed.handoff(&Host::default())
    else {
        panic!("{completed:?}")
    };
    let read = shop
        .get_checkout(&created.id)
        .await
        .unwrap()
        .into_success()
        .unwrap();
    assert_eq!(read.status, CheckoutStatus::Completed);
    let placed = shop
        .get_order(order.id.unwrap())
        .await
        .unwrap()
        .into_success()
        .unwrap();
    assert_eq!(placed.checkout_id, created.id);

    let event: Order = serde_json::from_slice(&stage.orders.recv().await.unwrap()).unwrap();
    assert_eq!(event.id, placed.id);
    let called: std::collections::BTreeSet<(String, String)> = stage
        .merchant
        .exchanges()
        .into_iter()
        .map(|exchange| (exchange.method, shape(&exchange.path)))
        .collect();
    // 13 operations and the profile.
    assert_eq!(called.len(), 14, "{called:?}");
    assert!(
        stage
            .merchant
            .exchanges()
            .iter()
            .all(|exchange| exchange.status < 300)
    );
}

/// A path with its id made a placeholder.
fn shape(path: &str) -> String {
    let id = |step: &str| {
        ["chk_", "cart_", "ord_"]
            .iter()
            .any(|prefix| step.starts_with(prefix))
    };
    path.split('/')
        .map(|step| if id(step) { "{id}" } else { step })
        .collect::<Vec<_>>()
        .join("/")
}

#[tokio::test]
async fn the_same_call_id_is_the_same_order_for_the_merchant() {
    let stage = stage().await;
    let created = stage
        .shop
        .create_checkout(ready())
        .await
        .unwrap()
        .into_success()
        .unwrap();
    let complete = |shop: &Client, id: &str| {
        shop.complete_checkout(id, card())
            .call_id(("conversation", "place"))
    };
    let first = complete(&stage.shop, &created.id).await.unwrap();
    // As in another process: an agent of its own, with the same profile and secret.
    let agent = Agent::builder(stage.agent.profile().as_str())
        .unwrap()
        .id_secret([7; 32])
        .development()
        .build()
        .unwrap();
    let again = Client::new(&agent.connect(stage.merchant.origin()).await.unwrap());
    let second = complete(&again, &created.id).await.unwrap();
    assert_eq!(first.bytes(), second.bytes());
    assert_eq!(stage.merchant.orders().len(), 1);
    let sent: Vec<_> = stage
        .merchant
        .exchanges()
        .into_iter()
        .filter(|exchange| exchange.path.ends_with("/complete"))
        .collect();
    assert_eq!(
        sent[0].headers["idempotency-key"],
        sent[1].headers["idempotency-key"]
    );
    assert_eq!(sent[0].body, sent[1].body);

    // The same id with another body does not even get there.
    let other = CompleteCheckout::new(
        Payment::new(),
        CompleteCheckoutAp2::new("eyJhbGciOiJFUzI1NiJ9.e30.c2ln"),
    );
    let refused = stage
        .shop
        .complete_checkout(&created.id, other)
        .call_id(("conversation", "place"))
        .await;
    let Err(Error::NotSent(error)) = refused else {
        panic!("{refused:?}")
    };
    assert!(
        matches!(
            error.problem,
            RequestError::CallIdReused {
                differs: "body",
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(stage.merchant.orders().len(), 1);
}

#[tokio::test]
async fn the_wire_has_what_the_contract_wants_and_nothing_that_a_caller_gave() {
    let stage = stage().await;
    let call = stage
        .shop
        .create_checkout(ready())
        .accept_language("de-DE, en;q=0.5");
    call.await.unwrap();
    let exchanges = stage.merchant.exchanges();
    let sent = exchanges.last().unwrap();
    let names: Vec<&str> = sent.headers.keys().map(|name| name.as_str()).collect();
    for name in [
        "ucp-agent",
        "request-id",
        "idempotency-key",
        "content-type",
        "accept",
        "accept-encoding",
        "accept-language",
        "user-agent",
    ] {
        assert!(names.contains(&name), "{name} is missing from {names:?}");
    }
    assert_eq!(sent.headers["accept-language"], "de-DE, en;q=0.5");
    let body: Value = serde_json::from_slice(&sent.body).unwrap();
    assert_eq!(
        body,
        json!({
            "line_items": [{ "item": { "id": "var_mug" }, "quantity": 2 }],
            "buyer": { "email": "ada@example.com" },
            "fulfillment": { "methods": [{
                "type": "shipping",
                "destinations": [{ "id": "home", "street_address": "1 Main St", "address_country": "US" }],
                "selected_destination_id": "home",
                "groups": [{ "selected_option_id": "standard" }],
            }] },
        })
    );
}

#[tokio::test]
async fn each_stimulus_is_the_decision_it_should_be() {
    let stage = stage().await;
    let error = |severity| Stimulus::Error {
        severity,
        code: "scripted".to_owned(),
        content: "why".to_owned(),
        path: None,
    };
    let embedded = || Stimulus::Embedded {
        delegate: vec!["payment.credential".to_owned()],
        color_scheme: Vec::new(),
    };
    let cases: Vec<(Vec<Stimulus>, &str)> = vec![
        (vec![error(Severity::Recoverable)], "update"),
        (vec![error(Severity::Unrecoverable)], "update"),
        (vec![error(Severity::RequiresBuyerInput)], "redirect"),
        (vec![error(Severity::RequiresBuyerReview)], "redirect"),
        (
            vec![error(Severity::RequiresBuyerReview), embedded()],
            "embed payment.credential",
        ),
        (vec![embedded()], "complete"),
        (
            vec![Stimulus::OutOfStock {
                item: "var_mug".to_owned(),
            }],
            "update",
        ),
        (
            vec![Stimulus::Envelope {
                code: "gone".to_owned(),
                content: String::new(),
                continue_url: true,
            }],
            "failed",
        ),
    ];
    let host = Host::default()
        .delegates(["payment.credential", "window.open"])
        .renders_disclosures()
        .development();
    for (stimuli, expected) in cases {
        let shown = format!("{stimuli:?}");
        stage
            .merchant
            .script(Target::Next(Operation::CreateCheckout), stimuli);
        let response = stage.shop.create_checkout(ready()).await.unwrap();
        let decision = match response.handoff(&host).unwrap() {
            Handoff::Conversational { next, .. } => format!("{next:?}").to_lowercase(),
            Handoff::ContinueUrl { .. } => "redirect".to_owned(),
            Handoff::Embedded { delegates, .. } => format!("embed {}", delegates.join(" ")),
            Handoff::Failed { .. } => "failed".to_owned(),
            other => format!("{other:?}"),
        };
        assert_eq!(decision, expected, "{shown}");
    }
    // Accepted, then done.
    let created = stage
        .shop
        .create_checkout(ready())
        .await
        .unwrap()
        .into_success()
        .unwrap();
    stage.merchant.script(
        Target::Session(created.id.clone()),
        [Stimulus::CompleteInProgress { reads: 1 }],
    );
    stage.shop.get_checkout(&created.id).await.unwrap();
    let accepted = stage
        .shop
        .complete_checkout(&created.id, card())
        .await
        .unwrap();
    assert!(
        matches!(
            accepted.handoff(&host),
            Ok(Handoff::Conversational {
                next: Next::Poll,
                ..
            })
        ),
        "{accepted:?}"
    );
}

/// Cases C41 and C43: an update starts from all that was received, without what only the merchant
/// says.
#[tokio::test]
async fn an_update_starts_from_what_was_received() {
    let stage = stage().await;
    let consent = BuyerWithConsent::new()
        .email("ada@example.com")
        .consent(Consent::new().marketing(false));
    let create = ready()
        .buyer(consent)
        .discounts(DiscountsObjectInput::new().codes(["FIVEOFF"]));
    let created = stage
        .shop
        .create_checkout(create)
        .await
        .unwrap()
        .into_success()
        .unwrap();
    let update = UpdateCheckout::update_from(&created).unwrap();
    assert_eq!(
        serde_json::to_value(&update).unwrap(),
        json!({
            "line_items": [{ "id": "li_1", "item": { "id": "var_mug" }, "quantity": 2 }],
            "buyer": { "email": "ada@example.com", "consent": { "marketing": false } },
            "discounts": { "codes": ["FIVEOFF"] },
            "fulfillment": { "methods": [{
                "id": "method_1",
                "type": "shipping",
                "line_item_ids": ["li_1"],
                "destinations": [{ "id": "home", "street_address": "1 Main St", "address_country": "US" }],
                "selected_destination_id": "home",
                "groups": [{ "id": "method_1_group", "selected_option_id": "standard" }],
            }] },
        })
    );
    // Nothing changes by it.
    let updated = stage
        .shop
        .update_checkout(&created.id, &update)
        .await
        .unwrap()
        .into_success()
        .unwrap();
    assert_eq!(updated, created);
}

/// Case C40, and its kind: what the contract forbids is not sent.
#[tokio::test]
async fn a_body_that_breaks_a_rule_is_not_sent() {
    let stage = stage().await;
    let sent = stage.merchant.exchanges().len();
    let zero = || {
        stage.shop.create_checkout(CreateCheckout::new([
            line("var_mug", 1),
            line("var_mug", 0),
        ]))
    };
    let refused = zero().await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`create_checkout` was not sent: the body breaks the contract: $.line_items[1].quantity: must be at least 1"
    );
    let empty = stage
        .shop
        .lookup_catalog(LookupRequest::new([""; 0]))
        .await
        .unwrap_err();
    assert!(
        empty
            .to_string()
            .ends_with("$.ids: must have at least 1 items"),
        "{empty}"
    );
    assert_eq!(stage.merchant.exchanges().len(), sent);
    // By name it is; the merchant says the same.
    let Err(Error::Status(refused)) = zero().unvalidated().await else {
        panic!("it was taken")
    };
    assert_eq!(refused.status.as_u16(), 400);
}

#[test]
fn clients_are_shared_and_calls_are_sent_between_threads() {
    fn shared<T: Clone + Send + Sync + 'static>() {}
    fn sent<T: Send>(_: T) {}
    fn call<E: Endpoint>(call: Call<E>) {
        sent(call.into_future());
    }
    shared::<Client>();
    shared::<Agent>();
    shared::<Response<Checkout, ErrorResponse>>();
    let _ = call::<operations::CreateCheckout>;
}
