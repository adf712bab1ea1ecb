//! Signed all the way: the generated client against the sandbox merchant that demands signatures, with
//! somebody in between who alters what passes, and order webhooks that are altered, repeated or from
//! somebody else. All over real HTTP.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use axum::routing::{get, post};
use merchant::{Merchant as Sandbox, Signatures};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use ucp_runtime::profile::PublishedKeys;
use ucp_runtime::reqwest;
use ucp_runtime::serde_json::{Value, json};
use ucp_runtime::signatures::{
    Algorithm, Business, Code, Delivery, Novelty, ResponseHead, SigningKey, Verifier, WebhookError,
    WebhookVerifier,
};
use ucp_runtime::{
    Agent, AgentBuilder, BoxError, Error, Handoff, Host, Merchant, PlatformProfile, Retry,
    Verification,
};
use ucp_tests::golden::shopping_2026_04_08::*;

const LIMIT: usize = 1024 * 1024;

fn key(seed: u8, id: &str) -> SigningKey {
    let key = SigningKey::from_scalar(Algorithm::Es256, &[seed; 32]).unwrap();
    key.with_id(id).unwrap()
}

fn jwk(key: &SigningKey) -> Value {
    Value::from(key.public_key().to_jwk())
}

fn http() -> reqwest::Client {
    merchant::outbound::client(Duration::from_secs(10)).unwrap()
}

/// A webhook as it came, and what became of it.
struct Event {
    head: Parts,
    body: Bytes,
    verdict: Result<Delivery, WebhookError>,
}

impl Event {
    fn rejected(&self) -> Code {
        match &self.verdict {
            Err(error @ WebhookError::Rejected(_)) => error.code().unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// Sends it once more, altered.
    async fn again(&self, alter: impl FnOnce(&mut HeaderMap, &mut String)) -> u16 {
        let mut headers = self.head.headers.clone();
        let mut body = String::from_utf8(self.body.to_vec()).unwrap();
        alter(&mut headers, &mut body);
        headers.remove(header::CONTENT_LENGTH);
        let host = headers[header::HOST].to_str().unwrap();
        let url = format!("http://{host}{}", self.head.uri);
        let request = http().post(url).headers(headers).body(body);
        request.send().await.unwrap().status().as_u16()
    }
}

/// An agent with its own server.
struct Buyer {
    agent: Agent,
    orders: Arc<Mutex<HashMap<String, Business>>>,
    events: mpsc::UnboundedReceiver<Event>,
}

impl Buyer {
    /// An agent that signs with a key, and whose profile has `published`.
    async fn new(signs: Option<SigningKey>, published: Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let builder: AgentBuilder = Agent::builder(&format!("{origin}/profile")).unwrap();
        let builder = builder
            .id_secret([7; 32])
            .release(RELEASE)
            .verification(Verification::Required)
            .retry(Retry::never())
            .development();
        let agent = match signs {
            Some(key) => builder.signing_key(key),
            None => builder,
        };
        let agent = agent.build().unwrap();
        let profile = PlatformProfile::builder(&RELEASE)
            .order_webhook(format!("{origin}/orders"))
            .development()
            .build()
            .unwrap();
        let mut profile = profile.document().clone();
        profile["signing_keys"] = published;

        let orders = Arc::new(Mutex::new(HashMap::<String, Business>::new()));
        let known = orders.clone();
        let owner = move |order: String| {
            let business = known.lock().unwrap().get(&order).cloned();
            async move { Ok::<_, BoxError>(business) }
        };
        let verifier = Arc::new(WebhookVerifier::new(owner, agent.clone()));
        let (arrived, events) = mpsc::unbounded_channel();
        let receive = move |request: Request| async move {
            let (head, body) = request.into_parts();
            let body = to_bytes(body, LIMIT).await.unwrap();
            let verdict = verifier.receive(&head, &body).await;
            let status = match &verdict {
                Ok(_) => StatusCode::OK,
                Err(error) => error.status(),
            };
            let event = Event {
                head,
                body,
                verdict,
            };
            arrived.send(event).unwrap();
            status
        };
        let router = Router::new()
            .route("/profile", get(move || async move { axum::Json(profile) }))
            .route("/orders", post(receive));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            agent,
            orders,
            events,
        }
    }

    /// One whose key is published.
    async fn honest() -> Self {
        let key = key(7, "agent-1");
        let published = json!([jwk(&key)]);
        Self::new(Some(key), published).await
    }

    async fn connect(&self, origin: &str) -> (Merchant, Client) {
        let merchant = self.agent.connect(origin).await.unwrap();
        let shop = Client::new(&merchant);
        (merchant, shop)
    }

    fn record(&self, order: &str, merchant: &Merchant) {
        let business = merchant.business().unwrap();
        let mut orders = self.orders.lock().unwrap();
        orders.insert(order.to_owned(), business);
    }

    async fn event(&mut self) -> Event {
        self.events.recv().await.unwrap()
    }

    /// Records an order once its first webhook was refused as unknown, and gives the attempt that is
    /// accepted.
    async fn placed(&mut self, order: &str, merchant: &Merchant) -> Event {
        loop {
            let event = self.event().await;
            match &event.verdict {
                Ok(_) => return event,
                Err(WebhookError::UnknownOrder { order: of }) if of == order => {
                    self.record(order, merchant);
                }
                Err(error) => panic!("{error:?}"),
            }
        }
    }
}

fn strict() -> merchant::Builder {
    Sandbox::builder().seed(1).signatures(Signatures::Required)
}

fn ready() -> CreateCheckout {
    let home = ShippingDestinationInput::new()
        .id("home")
        .street_address("1 Main St")
        .address_country("US");
    let method = CreateFulfillmentMethod::new(FulfillmentMethodType::Shipping)
        .destinations([home.into()])
        .selected_destination_id("home")
        .groups([CreateFulfillmentGroup::new().selected_option_id("standard")]);
    CreateCheckout::new([CreateLineItem::new("var_mug", 2)])
        .buyer(BuyerWithConsent::new().email("ada@example.com"))
        .fulfillment(CreateFulfillment::new().methods([method]))
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

/// Buys two mugs and gives the order's id. All that is answered is signed by the merchant.
async fn buy(shop: &Client) -> String {
    let created = shop.create_checkout(ready()).await.unwrap();
    assert_eq!(created.verified().unwrap().key_id, "merchant-1");
    let checkout = created.into_success().unwrap();
    let complete = shop.complete_checkout(&checkout.id, card()).from(&checkout);
    let completed = complete.await.unwrap();
    let verified = completed.verified().unwrap();
    for component in ["@status", "content-digest", "content-type"] {
        assert!(verified.covers(component), "{component}");
    }
    let Ok(Handoff::Completed {
        order: Some(order), ..
    }) = completed.handoff(&Host::default())
    else {
        panic!("{completed:?}")
    };
    order.id.unwrap()
}

#[tokio::test]
async fn a_whole_purchase_is_signed_both_ways() {
    let sandbox = strict().start().await.unwrap();
    let mut buyer = Buyer::honest().await;
    let (merchant, shop) = buyer.connect(sandbox.origin()).await;
    let query = SearchRequest::new().query("mug");
    let found = shop.search_catalog(query).await.unwrap();
    assert_eq!(found.verified().unwrap().key_id, "merchant-1");
    let id = buy(&shop).await;
    let delivery = buyer.placed(&id, &merchant).await.verdict.unwrap();
    assert_eq!(
        (delivery.novelty, delivery.key_id.as_str()),
        (Novelty::New, "merchant-1")
    );
    let (event, notes) = delivery.event::<operations::OrderEventWebhook>().unwrap();
    assert_eq!(notes, []);
    let order = shop.get_order(&id).await.unwrap().into_success().unwrap();
    assert_eq!(event, order);

    let calls: Vec<_> = (sandbox.exchanges().into_iter())
        .filter(|exchange| exchange.path.starts_with("/ucp/v1/"))
        .collect();
    assert_eq!(calls.len(), 4);
    for call in calls {
        assert!(call.headers.contains_key("signature"), "{}", call.path);
        assert!(call.status < 300, "{}: {}", call.path, call.status);
    }
    assert_eq!(sandbox.orders().len(), 1);
}

/// What a create is told: nothing, or a status and a code.
async fn told(buyer: &Buyer, sandbox: &Sandbox) -> Option<(u16, String)> {
    let (_, shop) = buyer.connect(sandbox.origin()).await;
    match shop.create_checkout(ready()).await {
        Ok(_) => None,
        Err(Error::Status(error)) => Some((error.status.as_u16(), error.code.unwrap())),
        Err(other) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_merchant_refuses_by_its_switch_with_the_codes_of_the_protocol() {
    let published = json!([jwk(&key(7, "agent-1"))]);
    let rsa = json!([{"kid": "agent-1", "kty": "RSA", "n": "u1SU1LfVLPHCozMxH2Mo", "e": "AQAB"}]);
    let signed = |seed, id| Some(key(seed, id));
    let missing = Some((401, "signature_missing"));
    let invalid = Some((401, "signature_invalid"));
    let unknown = Some((401, "key_not_found"));
    let unsupported = Some((400, "algorithm_unsupported"));
    // Who signs with what, the keys published, and what comes of it: off, when present, required.
    for (signs, published, expected) in [
        (signed(7, "agent-1"), &published, [None, None, None]),
        (None, &published, [None, None, missing]),
        (signed(8, "agent-1"), &published, [None, invalid, invalid]),
        (signed(7, "agent-2"), &published, [None, unknown, unknown]),
        (signed(7, "agent-1"), &json!([]), [None, unknown, unknown]),
        (signed(7, "agent-1"), &rsa, [None, unsupported, unsupported]),
    ] {
        let buyer = Buyer::new(signs, published.clone()).await;
        let switch = [
            Signatures::Off,
            Signatures::WhenPresent,
            Signatures::Required,
        ];
        for (signatures, expected) in switch.into_iter().zip(expected) {
            let sandbox = strict().signatures(signatures).start().await.unwrap();
            let told = told(&buyer, &sandbox).await;
            let told = told.as_ref().map(|(status, code)| (*status, code.as_str()));
            assert_eq!(told, expected, "{signatures:?} {published}");
        }
    }
}

#[tokio::test]
async fn every_answer_under_the_endpoint_is_signed() {
    let sandbox = strict().signing_key(key(3, "m-3")).start().await.unwrap();
    let keys = PublishedKeys::from_jwk_set(&json!({"keys": sandbox.profile()["signing_keys"]}));
    let endpoint = format!("{}/ucp/v1", sandbox.origin());
    let http = http();
    let carts = format!("{endpoint}/carts");
    for (request, status) in [
        (http.get(format!("{endpoint}/nothing")), 404),
        (http.delete(&carts), 405),
        (http.post(&carts), 400),
        (http.post(&carts).body(vec![b' '; LIMIT]), 413),
    ] {
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status);
        let (status, headers) = (answer.status(), answer.headers().clone());
        let head = ResponseHead {
            status,
            headers: &headers,
        };
        let body = answer.bytes().await.unwrap();
        let verified = Verifier::at("2026-04-08T00:00:00Z".parse().unwrap());
        let verified = verified.response(head, &body, &keys).unwrap();
        assert_eq!(verified.key_id, "m-3");
    }
}

/// What somebody in between does to operations.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Tamper {
    Nothing,
    RequestBody,
    /// Also with a digest that is right again.
    RequestBodyAndDigest,
    AnswerBody,
    AnswerStatus,
    /// Takes the signature away.
    AnswerSignature,
}

/// A merchant that can be reached only through somebody in between.
struct Watched {
    sandbox: Sandbox,
    tamper: Arc<Mutex<Tamper>>,
}

impl Watched {
    async fn open() -> Self {
        let outside = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let inside = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", outside.local_addr().unwrap());
        let backend = format!("http://{}", inside.local_addr().unwrap());
        let sandbox = strict().build(origin).unwrap();
        let router = sandbox.router();
        tokio::spawn(async move { axum::serve(inside, router).await });
        let tamper = Arc::new(Mutex::new(Tamper::Nothing));
        let (how, http) = (tamper.clone(), http());
        let proxy = Router::new().fallback(move |request: Request| {
            let (backend, http) = (backend.clone(), http.clone());
            let how = match request.uri().path().starts_with("/ucp/v1/") {
                true => *how.lock().unwrap(),
                false => Tamper::Nothing,
            };
            async move { forward(request, &backend, &http, how).await }
        });
        tokio::spawn(async move { axum::serve(outside, proxy).await });
        Self { sandbox, tamper }
    }

    fn tamper(&self, how: Tamper) {
        *self.tamper.lock().unwrap() = how;
    }
}

fn replaced(body: &Bytes, from: &str, to: &str) -> Bytes {
    let text = std::str::from_utf8(body).unwrap();
    text.replace(from, to).into()
}

async fn forward(request: Request, backend: &str, http: &reqwest::Client, how: Tamper) -> Response {
    let (mut head, body) = request.into_parts();
    let mut body = to_bytes(body, LIMIT).await.unwrap();
    if matches!(how, Tamper::RequestBody | Tamper::RequestBodyAndDigest) {
        body = replaced(&body, r#""quantity":2"#, r#""quantity":9"#);
    }
    if how == Tamper::RequestBodyAndDigest {
        let digest = ucp_runtime::signatures::content_digest(&body);
        head.headers.insert("content-digest", digest);
    }
    // `Host` stays that of the outside.
    head.headers.remove(header::CONTENT_LENGTH);
    let sent = http
        .request(head.method, format!("{backend}{}", head.uri))
        .headers(head.headers)
        .body(body);
    let answer = sent.send().await.unwrap();
    let mut response = Response::new(Body::empty());
    *response.status_mut() = answer.status();
    *response.headers_mut() = answer.headers().clone();
    response.headers_mut().remove(header::CONTENT_LENGTH);
    let mut body = answer.bytes().await.unwrap();
    match how {
        Tamper::AnswerBody => body = replaced(&body, "USD", "EUR"),
        Tamper::AnswerStatus => *response.status_mut() = StatusCode::ACCEPTED,
        Tamper::AnswerSignature => {
            response.headers_mut().remove("signature");
            response.headers_mut().remove("signature-input");
        }
        _ => {}
    }
    response.map(|_| Body::from(body))
}

#[tokio::test]
async fn an_altered_request_is_refused() {
    let watched = Watched::open().await;
    let buyer = Buyer::honest().await;
    for (how, expected) in [
        (Tamper::Nothing, None),
        (
            Tamper::RequestBody,
            Some((400, "digest_mismatch".to_owned())),
        ),
        (
            Tamper::RequestBodyAndDigest,
            Some((401, "signature_invalid".to_owned())),
        ),
    ] {
        watched.tamper(how);
        assert_eq!(told(&buyer, &watched.sandbox).await, expected, "{how:?}");
    }
}

#[tokio::test]
async fn an_altered_answer_is_no_answer_and_the_purchase_is_found_again() {
    let watched = Watched::open().await;
    let buyer = Buyer::honest().await;
    let (_, shop) = buyer.connect(watched.sandbox.origin()).await;
    let created = shop.create_checkout(ready()).await.unwrap();
    let checkout = created.into_success().unwrap();

    for (how, code) in [
        (Tamper::AnswerBody, Code::DigestMismatch),
        (Tamper::AnswerStatus, Code::SignatureInvalid),
        (Tamper::AnswerSignature, Code::SignatureMissing),
    ] {
        watched.tamper(how);
        let error = shop.get_checkout(&checkout.id).await.unwrap_err();
        let Error::Unverified(unverified) = &error else {
            panic!("{how:?}: {error:?}")
        };
        assert_eq!(unverified.rejected().unwrap().code(), code);
        assert!(!unverified.unverified_bytes().is_empty());
        assert!(error.response().is_none());
        assert!(error.handoff(&Host::default()).is_err());
    }

    watched.tamper(Tamper::AnswerBody);
    let complete = shop.complete_checkout(&checkout.id, card()).from(&checkout);
    let error = complete.await.unwrap_err();
    let Error::OutcomeUnknown(unknown) = &error else {
        panic!("{error:?}")
    };
    assert!(matches!(unknown.cause(), Some(Error::Unverified(_))));
    assert_eq!(unknown.session(), Some(checkout.id.as_str()));
    assert_eq!(watched.sandbox.orders().len(), 1);

    watched.tamper(Tamper::Nothing);
    let found = unknown.recover().await.unwrap();
    let decided = found.handoff(&Host::default()).unwrap();
    assert!(matches!(decided, Handoff::Completed { .. }), "{decided:?}");
    assert_eq!(watched.sandbox.orders().len(), 1);
}

#[tokio::test]
async fn c90_a_webhook_altered_unsigned_or_repeated() {
    let sandbox = strict().start().await.unwrap();
    let mut buyer = Buyer::honest().await;
    let (merchant, shop) = buyer.connect(sandbox.origin()).await;
    let id = buy(&shop).await;
    let placed = buyer.placed(&id, &merchant).await;
    assert_eq!(placed.verdict.as_ref().unwrap().novelty, Novelty::New);

    let status = placed.again(|_, body| *body = body.replace("USD", "EUR"));
    assert_eq!(status.await, 401);
    assert_eq!(buyer.event().await.rejected(), Code::DigestMismatch);

    let status = placed.again(|headers, _| {
        headers.remove("signature");
        headers.remove("signature-input");
    });
    assert_eq!(status.await, 401);
    assert_eq!(buyer.event().await.rejected(), Code::SignatureMissing);

    // Under another id it is another message: the merchant signs the id and the time.
    for name in ["webhook-id", "webhook-timestamp"] {
        let status = placed.again(|headers, _| {
            headers.insert(name, "1".parse().unwrap());
        });
        assert_eq!(status.await, 401);
        assert_eq!(buyer.event().await.rejected(), Code::SignatureInvalid);
    }

    assert_eq!(placed.again(|_, _| {}).await, 200);
    let again = buyer.event().await.verdict.unwrap();
    assert_eq!(again.novelty, Novelty::Repeated);
    assert_eq!(again.id, placed.verdict.as_ref().unwrap().id);

    assert!(sandbox.ship(&id));
    let shipped = buyer.event().await.verdict.unwrap();
    assert_eq!(shipped.novelty, Novelty::New);
    assert_eq!(shipped.body["line_items"][0]["status"], "fulfilled");
}

#[tokio::test]
async fn c89_a_webhook_for_an_order_of_another_merchant() {
    let ours = strict().start().await.unwrap();
    let theirs = strict().signing_key(key(9, "merchant-1"));
    let theirs = theirs.start().await.unwrap();
    let mut buyer = Buyer::honest().await;
    let (merchant, shop) = buyer.connect(ours.origin()).await;
    let id = buy(&shop).await;
    let delivery = buyer.placed(&id, &merchant).await.verdict.unwrap();
    assert_eq!(
        delivery.business.as_str(),
        merchant.business().unwrap().profile().as_str()
    );

    // Both draw the same ids, so this order has the id of the other.
    let (_, shop) = buyer.connect(theirs.origin()).await;
    assert_eq!(buy(&shop).await, id);
    let foreign = buyer.event().await;
    let Err(error @ WebhookError::OtherBusiness { claimed, owner }) = &foreign.verdict else {
        panic!("{:?}", foreign.verdict)
    };
    assert_eq!(error.status(), StatusCode::FORBIDDEN);
    assert!(claimed.as_str().starts_with(theirs.origin()));
    assert!(owner.as_str().starts_with(ours.origin()));

    // Nor does the other's name help, since the keys are then the other's.
    let name = merchant.business().unwrap().profile().header().to_owned();
    let status = foreign.again(|headers, _| {
        headers.insert("ucp-agent", name.parse().unwrap());
    });
    assert_eq!(status.await, 401);
    let forged = loop {
        // The merchant itself repeats what was refused.
        let event = buyer.event().await;
        if !matches!(event.verdict, Err(WebhookError::OtherBusiness { .. })) {
            break event;
        }
    };
    assert_eq!(forged.rejected(), Code::SignatureInvalid);
}
