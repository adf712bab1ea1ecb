//! Keeps what is on the wire between our client and the sandbox merchant: all operations in each
//! algorithm, over hosts of each kind, with the merchant's answers and webhooks.

use crate::message::{self, Message};
use axum::Router;
use axum::routing::{get, post};
use bytes::Bytes;
use merchant::profile::ENDPOINT;
use merchant::{Operation, Signatures};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use ucp_runtime::http::{self, HeaderValue, Request, Response, Uri, header, uri};
use ucp_runtime::jiff::SignedDuration;
use ucp_runtime::serde_json::{self, Value, json};
use ucp_runtime::signatures::{Algorithm, PublicKey, SigningKey};
use ucp_runtime::{
    Agent, BoxError, BoxFuture, PlatformProfile, ReqwestTransport, ResponseBody, Transport,
    TransportError, Verification, reqwest,
};
use ucp_tests::golden::shopping_2026_04_08::{Client, RELEASE, UpdateCheckout};

/// A host of each kind, and a shape of signatures for each.
#[derive(Clone, Copy, Debug)]
enum Line {
    /// An IPv4 address and a port; no parameter but `keyid`.
    Plain,
    /// An IPv6 address and a port; with `created`.
    Created,
    /// A name and no port; the shape of Web Bot Auth.
    WebBotAuth,
}

pub(crate) async fn record(folder: &Path) -> Result<(), BoxError> {
    fs::create_dir_all(folder)?;
    let mut index = Vec::new();
    for algorithm in [Algorithm::Es256, Algorithm::Es384, Algorithm::Ed25519] {
        for line in [Line::Plain, Line::Created, Line::WebBotAuth] {
            let name = format!("{algorithm:?}-{line:?}").to_lowercase();
            let records = Records {
                folder: folder.to_owned(),
                name,
                entries: Mutex::default(),
            };
            let records = Arc::new(records);
            walk(algorithm, line, records.clone()).await?;
            let mut entries = records.entries();
            complete(&entries).map_err(|missing| format!("{}: {missing}", records.name))?;
            index.append(&mut entries);
        }
    }
    fs::write(
        folder.join("index.json"),
        serde_json::to_vec_pretty(&index)?,
    )?;
    println!("recorded: {} messages", index.len());
    Ok(())
}

/// Each operation has its request and its answer, and there are webhooks.
fn complete(entries: &[Value]) -> Result<(), String> {
    let of = |kind: &str, what: &str| {
        (entries.iter()).any(|entry| entry["kind"] == kind && entry["what"] == what)
    };
    for operation in Operation::ALL {
        for kind in ["request", "response"] {
            if !of(kind, operation.id()) {
                return Err(format!("no {kind} of {}", operation.id()));
            }
        }
    }
    match of("request", "webhook") {
        true => Ok(()),
        false => Err("no webhook".to_owned()),
    }
}

/// What was recorded of one walk.
struct Records {
    folder: PathBuf,
    name: String,
    entries: Mutex<Vec<Value>>,
}

impl Records {
    fn entries(&self) -> std::sync::MutexGuard<'_, Vec<Value>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a message that is signed.
    fn keep(&self, kind: &str, what: &str, from: &Party, bytes: &[u8]) -> Result<(), BoxError> {
        if Message::parse(bytes)?.header("signature").is_none() {
            return Ok(());
        }
        let mut entries = self.entries();
        let file = format!("{}-{:03}.{kind}", self.name, entries.len());
        fs::write(self.folder.join(&file), bytes)?;
        entries.push(json!({
            "file": file,
            "kind": kind,
            "what": what,
            "scheme": from.scheme,
            "key": from.key,
        }));
        Ok(())
    }
}

/// Who signs, and under which scheme it is sent.
#[derive(Clone)]
struct Party {
    scheme: &'static str,
    key: Value,
}

impl Party {
    fn new(scheme: &'static str, key: &PublicKey) -> Self {
        let key = key.to_jwk().into();
        Self { scheme, key }
    }
}

/// Passes bytes on as they are, and keeps them.
#[derive(Clone)]
struct Relay {
    records: Arc<Records>,
    backend: SocketAddr,
    asks: Party,
    answers: Party,
}

impl Relay {
    fn start(self, listener: TcpListener) {
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let relay = self.clone();
                tokio::spawn(async move {
                    if let Err(error) = relay.pass(stream).await {
                        eprintln!("{}: {error}", relay.records.name);
                    }
                });
            }
        });
    }

    async fn pass(&self, mut front: TcpStream) -> Result<(), BoxError> {
        front.set_nodelay(true)?;
        let mut back = TcpStream::connect(self.backend).await?;
        back.set_nodelay(true)?;
        let (mut asked, mut answered) = (Vec::new(), Vec::new());
        while let Some(request) = message::read(&mut front, &mut asked).await? {
            let what = what(&request)?;
            self.records.keep("request", what, &self.asks, &request)?;
            back.write_all(&request).await?;
            let response = message::read(&mut back, &mut answered).await?;
            let response = response.ok_or("no answer")?;
            self.records
                .keep("response", what, &self.answers, &response)?;
            front.write_all(&response).await?;
        }
        Ok(())
    }
}

/// The operation that a request calls, by its `operationId`.
fn what(request: &[u8]) -> Result<&'static str, BoxError> {
    let start = Message::parse(request)?.start;
    let mut parts = start.split(' ');
    let (method, target) = (parts.next(), parts.next().unwrap_or_default());
    if target.starts_with("/webhook") {
        return Ok("webhook");
    }
    let Some(path) = target.strip_prefix(ENDPOINT) else {
        return Ok("profile");
    };
    let fits = |operation: &Operation| {
        let (verb, route) = operation.route();
        let parts = route.split('/').zip(path.split('/'));
        let mut parts = parts.map(|(part, found)| part == found || part == "{id}");
        method == Some(verb.as_str())
            && route.matches('/').count() == path.matches('/').count()
            && parts.all(|same| same)
    };
    let found = Operation::ALL.into_iter().find(fits);
    Ok(found.map_or("other", |found| found.id()))
}

/// Sends to one address, whatever the URL says: `Host` says what it says.
struct To {
    transport: ReqwestTransport,
    address: SocketAddr,
}

impl To {
    fn redirect(&self, request: &mut Request<Bytes>) -> Result<(), BoxError> {
        let mut parts = uri::Parts::from(request.uri().clone());
        let authority = parts.authority.take().ok_or("a URL without a host")?;
        let address = self.address.to_string();
        if authority.as_str() != address {
            let host = HeaderValue::try_from(authority.as_str())?;
            request.headers_mut().insert(header::HOST, host);
        }
        parts.authority = Some(address.parse()?);
        parts.scheme = Some(uri::Scheme::HTTP);
        *request.uri_mut() = Uri::from_parts(parts)?;
        Ok(())
    }
}

impl Transport for To {
    fn send(
        &self,
        mut request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<Response<ResponseBody>, TransportError>> {
        match self.redirect(&mut request) {
            Ok(()) => self.transport.send(request),
            Err(error) => Box::pin(std::future::ready(Err(TransportError::not_sent(error)))),
        }
    }
}

fn to(address: SocketAddr) -> Result<To, BoxError> {
    let tls = ReqwestTransport::tls(ReqwestTransport::roots())?;
    let builder = reqwest::Client::builder().no_proxy();
    let transport = ReqwestTransport::with_builder(builder, tls)?;
    Ok(To { transport, address })
}

fn key(algorithm: Algorithm, seed: u8, id: &str) -> Result<SigningKey, BoxError> {
    let seed = [seed; 48];
    let length = if algorithm == Algorithm::Es384 {
        48
    } else {
        32
    };
    let scalar = seed.get(..length).unwrap_or_default();
    Ok(SigningKey::from_scalar(algorithm, scalar)?.with_id(id)?)
}

/// A free port on loopback: of IPv6 where the host is one and the machine has it.
async fn listen(line: Line) -> Result<(TcpListener, String), BoxError> {
    let v6 = match line {
        Line::Created => TcpListener::bind("[::1]:0").await.ok(),
        _ => None,
    };
    let listener = match v6 {
        Some(listener) => listener,
        None => TcpListener::bind("127.0.0.1:0").await?,
    };
    let port = listener.local_addr()?.port();
    let host = match line {
        Line::Created => "[::1]",
        _ => "127.0.0.1",
    };
    Ok((listener, format!("http://{host}:{port}")))
}

/// Makes all operations over one line, and records them.
async fn walk(algorithm: Algorithm, line: Line, records: Arc<Records>) -> Result<(), BoxError> {
    let agent_key = key(algorithm, 7, "agent-1")?;
    let agent_key = match line {
        Line::WebBotAuth => {
            let thumbprint = agent_key.public_key().thumbprint();
            agent_key.with_id(&thumbprint)?
        }
        _ => agent_key,
    };
    let merchant_key = key(algorithm, 9, "merchant \"1\"")?;
    let merchant_public = merchant_key.public_key().clone();

    // The merchant, behind a relay.
    let (outside, mut origin) = listen(line).await?;
    let mut scheme = "http";
    if let Line::WebBotAuth = line {
        scheme = "https";
        "https://shop.example".clone_into(&mut origin);
    }
    let address = outside.local_addr()?;
    let inside = TcpListener::bind("127.0.0.1:0").await?;
    let backend = inside.local_addr()?;
    let sandbox = merchant::Merchant::builder()
        .seed(1)
        .signatures(Signatures::Required)
        .signing_key(merchant_key)
        .build(&*origin)?;
    let router = sandbox.router();
    tokio::spawn(async move { axum::serve(inside, router).await });
    Relay {
        records: records.clone(),
        backend,
        asks: Party::new(scheme, agent_key.public_key()),
        answers: Party::new(scheme, &merchant_public),
    }
    .start(outside);

    // The agent's own server, behind another, where the merchant's webhooks arrive.
    let (outside, home) = listen(line).await?;
    let inside = TcpListener::bind("127.0.0.1:0").await?;
    let backend = inside.local_addr()?;
    let profile = PlatformProfile::builder(&RELEASE)
        .order_webhook(format!("{home}/webhook?of=orders&at=caf%C3%A9"))
        .public_key(agent_key.public_key())
        .development()
        .build()?;
    let profile = profile.document().clone();
    let router = Router::new()
        .route("/profile", get(move || async move { axum::Json(profile) }))
        .route("/webhook", post(|| async {}));
    tokio::spawn(async move { axum::serve(inside, router).await });
    Relay {
        records: records.clone(),
        backend,
        asks: Party::new("http", &merchant_public),
        answers: Party::new("http", agent_key.public_key()),
    }
    .start(outside);

    let agent = Agent::builder(&format!("{home}/profile"))?
        .id_secret([7; 32])
        .release(RELEASE)
        .transport(to(address)?)
        .verification(Verification::Required)
        .signing_key(agent_key)
        .development();
    let agent = match line {
        Line::Plain => agent,
        Line::Created => agent.signature_created(),
        Line::WebBotAuth => agent.web_bot_auth(SignedDuration::from_mins(5)),
    };
    let agent = agent.build()?;
    let shop = Client::new(&agent.connect(&origin).await?);
    let order = operations(&shop).await?;
    others(&agent, &to(address)?, &origin).await?;

    sandbox.ship(&order);
    let mut patience = 500;
    while sandbox.deliveries().len() < 2 && patience > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        patience -= 1;
    }
    match sandbox.deliveries().iter().all(|it| it.attempts == [200]) {
        true => Ok(()),
        false => Err("a webhook was not delivered at once".into()),
    }
}

/// Calls each operation, and gives the id of the order. All answers hold, or a call fails.
async fn operations(shop: &Client) -> Result<String, BoxError> {
    let lines = json!([{"item": {"id": "var_mug"}, "quantity": 2}]);
    call(shop, "search_catalog", json!({"body": {"query": "mug"}})).await?;
    call(
        shop,
        "lookup_catalog",
        json!({"body": {"ids": ["prod_mug"]}}),
    )
    .await?;
    call(shop, "get_product", json!({"body": {"id": "prod_mug"}})).await?;

    let body = json!({"line_items": lines, "context": {"address_country": "US"}});
    let cart = call(shop, "create_cart", json!({ "body": body })).await?;
    let id = id(&cart)?;
    call(shop, "get_cart", json!({ "id": id })).await?;
    let body = json!({"id": id, "line_items": lines});
    call(shop, "update_cart", json!({"id": id, "body": body})).await?;
    call(shop, "cancel_cart", json!({ "id": id })).await?;

    let body = json!({
        "line_items": lines,
        // Not ASCII: the digest is of bytes.
        "buyer": {"email": "ada@example.com", "first_name": "Zoë", "last_name": "Łukasz"},
        "fulfillment": {"methods": [{
            "type": "shipping",
            "destinations": [
                {"id": "home", "street_address": "1 Main St", "address_country": "US"},
            ],
            "selected_destination_id": "home",
            "groups": [{"selected_option_id": "standard"}],
        }]},
    });
    let other = call(shop, "create_checkout", json!({ "body": body })).await?;
    call(shop, "cancel_checkout", json!({"id": self::id(&other)?})).await?;
    let checkout = call(shop, "create_checkout", json!({ "body": body })).await?;
    let id = self::id(&checkout)?;
    let update = UpdateCheckout::update_from(&serde_json::from_value(checkout)?)?;
    shop.update_checkout(&id, update).await?.into_success()?;
    let checkout = call(shop, "get_checkout", json!({ "id": id })).await?;
    let body = json!({
        "payment": {"instruments": [{
            "id": "instrument_1", "handler_id": "sandbox_pay", "type": "card", "selected": true,
            "credential": {"type": "token", "token": "tok_ok"},
        }]},
        "ap2": {"checkout_mandate": "eyJhbGciOiJFUzI1NiJ9.e30.c2ln"},
    });
    let inputs = json!({"id": id, "body": body});
    let complete = prepared(shop, "complete_checkout", inputs)?.from(&checkout);
    let completed = complete.await?.into_success()?;
    let order = completed.pointer("/order/id").and_then(Value::as_str);
    let order = order.ok_or("no order")?.to_owned();
    call(shop, "get_order", json!({ "id": order })).await?;
    // An id that must be escaped in a path; there is no such order.
    let inputs = json!({"id": "gid://shop/Order/1?x=ü"});
    prepared(shop, "get_order", inputs)?.await?;
    Ok(order)
}

fn prepared(
    shop: &Client,
    name: &str,
    inputs: Value,
) -> Result<ucp_runtime::Call<ucp_runtime::Untyped>, BoxError> {
    let Value::Object(inputs) = inputs else {
        return Err("inputs are an object".into());
    };
    Ok(shop.call(name, inputs)?)
}

async fn call(shop: &Client, name: &str, inputs: Value) -> Result<Value, BoxError> {
    let answer = prepared(shop, name, inputs)?.await?;
    Ok(answer.into_success()?)
}

fn id(of: &Value) -> Result<String, BoxError> {
    let id = of.get("id").and_then(Value::as_str);
    Ok(id.ok_or("nothing with an id")?.to_owned())
}

/// Requests that no operation makes: with a query, empty too, with a body and without.
async fn others(agent: &Agent, to: &To, origin: &str) -> Result<(), BoxError> {
    for (method, target, body) in [
        ("GET", "/feed?page=2&name=caf%C3%A9%20au+lait&name=*", ""),
        ("GET", "/feed?", ""),
        ("POST", "/feed?page=2", r#"{"a": [1, 2.50]}"#),
        // HTTP clients resolve the dots, and escape the quote.
        ("DELETE", "/feed//../feed/%7Eone'/?it's", ""),
    ] {
        let mut request = http::Request::builder()
            .method(method)
            .uri(format!("{origin}{ENDPOINT}{target}"));
        if !body.is_empty() {
            request = request.header("content-type", "application/json");
        }
        let request = request.body(Bytes::from_static(body.as_bytes()))?;
        to.send(agent.sign(request).await?).await?;
    }
    Ok(())
}
