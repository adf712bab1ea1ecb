//! The server: the page, its events, and the buyer's clicks.
//!
//! Who the buyer is says a cookie that scripts cannot read. What changes something must come from our
//! own page: it names our origin and carries a token that only our page can know. Requests under
//! another host's name are refused, so that no other name can be pointed at this server.

use crate::purchase::{Look, Refusal};
use crate::shop::Trouble;
use crate::store::Draft;
use crate::{App, events, screen, webhooks};
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequestParts, Path, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_core::Stream;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;
use ucp_runtime::BoxError;
use ucp_runtime::handoff::ColorScheme;

/// The longest body of a click or a message, in bytes.
const LARGEST_BODY: usize = 32 * 1024;
/// The longest message of a buyer, in characters.
const LONGEST_MESSAGE: usize = 2000;
/// How often a stream of events shows that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// The longest a session's cookie is kept, in seconds.
const SESSION_AGE: u32 = 30 * 24 * 60 * 60;
/// The header with the token against forged requests.
const TOKEN: &str = "x-csrf-token";

/// The files of the page: path, type, bytes.
const FILES: [(&str, &str, &str); 10] = [
    (
        "/",
        "text/html; charset=utf-8",
        include_str!("../static/index.html"),
    ),
    (
        "/style.css",
        "text/css",
        include_str!("../static/style.css"),
    ),
    (
        "/app.js",
        "text/javascript",
        include_str!("../static/app.js"),
    ),
    (
        "/api.js",
        "text/javascript",
        include_str!("../static/api.js"),
    ),
    (
        "/chat.js",
        "text/javascript",
        include_str!("../static/chat.js"),
    ),
    (
        "/checkout.js",
        "text/javascript",
        include_str!("../static/checkout.js"),
    ),
    (
        "/dom.js",
        "text/javascript",
        include_str!("../static/dom.js"),
    ),
    (
        "/embedded.js",
        "text/javascript",
        include_str!("../static/embedded.js"),
    ),
    (
        "/icon.svg",
        "image/svg+xml",
        include_str!("../static/icon.svg"),
    ),
    (
        "/form.js",
        "text/javascript",
        include_str!("../static/form.js"),
    ),
];

pub(crate) fn router(app: App) -> Router {
    let files = FILES.iter().fold(Router::new(), |router, file| {
        let (path, kind, text) = *file;
        let headers = [
            (header::CONTENT_TYPE, kind),
            (header::CACHE_CONTROL, "no-cache"),
        ];
        router.route(path, get(move || async move { (headers, text) }))
    });
    let conversation = Router::new()
        .route("/events", get(stream))
        .route("/messages", post(message))
        .route("/sign-in", post(sign_in))
        .route("/orders/{order}", get(order))
        .route("/checkouts/{checkout}", get(checkout))
        .route("/checkouts/{checkout}/fix", post(fix))
        .route("/checkouts/{checkout}/confirm", post(confirm))
        .route("/checkouts/{checkout}/credential", post(credential))
        .route("/checkouts/{checkout}/decline", post(decline))
        .route("/checkouts/{checkout}/cancel", post(cancel));
    let api = Router::new()
        .route("/session", get(session))
        .route("/conversations", post(create))
        .nest("/conversations/{conversation}", conversation)
        .layer(middleware::from_fn_with_state(app.clone(), guard))
        .layer(DefaultBodyLimit::max(LARGEST_BODY));
    Router::new()
        .merge(files)
        .nest("/api", api)
        .route(crate::WEBHOOK, post(webhooks::receive))
        .merge(app.profile().router())
        .layer(middleware::from_fn_with_state(app.clone(), protect))
        .with_state(app)
}

/// Refuses other hosts' names, and says on every answer what a browser may do with it.
async fn protect(State(app): State<App>, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok()).unwrap_or_default();
    if !app.hosts().iter().any(|known| known == host) {
        return Problem::new(
            StatusCode::MISDIRECTED_REQUEST,
            "other_host",
            "This is not that host.",
        )
        .into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        ("content-security-policy", app.policy()),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        (
            "permissions-policy",
            "camera=(), geolocation=(), microphone=()",
        ),
    ] {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
    response
}

/// Refuses what does not come from our own page.
async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let foreign = || {
        Problem::new(
            StatusCode::FORBIDDEN,
            "forged",
            "The request does not come from this page: load it again.",
        )
    };
    let same_site = text("sec-fetch-site").is_none_or(|site| site == "same-origin");
    if !same_site {
        return foreign().into_response();
    }
    if request.method() != Method::GET {
        let origin = text("origin").unwrap_or_default();
        let ours = app.origins().iter().any(|ours| ours == origin);
        let session = cookie(headers, app.cookie());
        let token = session.map(|session| token(app.secret(), session));
        let given = text(TOKEN).unwrap_or_default().as_bytes();
        let holds = token.is_some_and(|token| token.verify(given));
        if !ours || !holds {
            return foreign().into_response();
        }
    }
    let mut response = next.run(request).await;
    let no_store = HeaderValue::from_static("no-store");
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, no_store);
    response
}

/// The token that belongs to a session.
struct Token(Hmac<Sha256>);

fn token(secret: &[u8; 32], session: &str) -> Token {
    // A key of any length makes an HMAC.
    let mut mac = match Hmac::<Sha256>::new_from_slice(secret) {
        Ok(mac) => mac,
        Err(_) => Hmac::new(&Default::default()),
    };
    mac.update(b"csrf/");
    mac.update(session.as_bytes());
    Token(mac)
}

impl Token {
    fn text(self) -> String {
        hex(&self.0.finalize().into_bytes())
    }

    /// Compares in a time that tells nothing.
    fn verify(self, given: &[u8]) -> bool {
        let given: Option<Vec<u8>> = (given.len().is_multiple_of(2))
            .then(|| {
                let pairs = given.chunks(2).map(|pair| {
                    let pair = std::str::from_utf8(pair).ok()?;
                    u8::from_str_radix(pair, 16).ok()
                });
                pairs.collect()
            })
            .flatten();
        given.is_some_and(|given| self.0.verify_slice(&given).is_ok())
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let lines = headers.get_all(header::COOKIE).iter();
    let mut pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = pairs.find(|(found, _)| *found == name)?;
    (value.len() == 64 && value.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(value)
}

/// Whose a conversation is: the digest of the session, so that the database opens none.
fn owner(session: &str) -> String {
    hex(&Sha256::digest(session))
}

/// An answer that says what is wrong.
#[derive(Debug)]
struct Problem {
    status: StatusCode,
    body: Value,
}

impl Problem {
    fn new(status: StatusCode, code: &str, text: &str) -> Self {
        let body = json!({ "code": code, "text": text });
        Self { status, body }
    }

    fn missing() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not_found",
            "There is no such thing.",
        )
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.status, Json(self.body)).into_response()
    }
}

impl From<BoxError> for Problem {
    fn from(error: BoxError) -> Self {
        crate::log(&format!("a request failed: {error}"));
        let text = "That did not work. Please try again.";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", text)
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Changed => Self::new(
                StatusCode::CONFLICT,
                "changed",
                "The shop changed something. Please look at it again; nothing was ordered.",
            ),
            Refusal::Choice(text) => Self::new(StatusCode::UNPROCESSABLE_ENTITY, "choice", &text),
            Refusal::Shop(trouble) => {
                let code = match &trouble {
                    Trouble::SignIn => "sign_in",
                    Trouble::Unknown => "unknown",
                    _ => "shop",
                };
                Self::new(StatusCode::BAD_GATEWAY, code, trouble.text())
            }
            Refusal::Store(error) => error.into(),
        }
    }
}

/// A conversation of the buyer who asks. There is none for anybody else.
struct Conversation(String);

impl FromRequestParts<App> for Conversation {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let names = Path::<Map<String, Value>>::from_request_parts(parts, app).await;
        let names = names.map_err(|_| Problem::missing())?;
        let id = names.get("conversation").and_then(Value::as_str);
        let (Some(id), Some(session)) = (id, cookie(&parts.headers, app.cookie())) else {
            return Err(Problem::missing());
        };
        if !app.store().belongs(id, &owner(session)).await? {
            return Err(Problem::missing());
        }
        Ok(Self(id.to_owned()))
    }
}

/// A checkout that this conversation has to do with.
struct Checkout {
    conversation: String,
    id: String,
}

impl FromRequestParts<App> for Checkout {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let Conversation(conversation) = Conversation::from_request_parts(parts, app).await?;
        let names = Path::<Map<String, Value>>::from_request_parts(parts, app).await;
        let names = names.map_err(|_| Problem::missing())?;
        let id = names.get("checkout").and_then(Value::as_str);
        let id = id.ok_or_else(Problem::missing)?.to_owned();
        // One that no tool made here is another buyer's, or nobody's.
        match app.store().matter(&conversation, &id).await? {
            Some(matter) if matter.state != "sign_in" => Ok(Self { conversation, id }),
            _ => Err(Problem::missing()),
        }
    }
}

/// Begins a session, or goes on with one.
async fn session(State(app): State<App>, headers: HeaderMap) -> Result<Response, Problem> {
    let known = cookie(&headers, app.cookie());
    let (session, is_new) = match known {
        Some(session) => (session.to_owned(), false),
        None => (hex(&crate::random::<32>()?), true),
    };
    let body = json!({
        "token": token(app.secret(), &session).text(),
        "conversation": app.store().latest(&owner(&session)).await?,
        "shop": app.shop().origin(),
    });
    let mut response = Json(body).into_response();
    if is_new {
        let secure = if app.is_secure() { "; Secure" } else { "" };
        let value = format!(
            "{}={session}; Path=/; HttpOnly; SameSite=Strict; Max-Age={SESSION_AGE}{secure}",
            app.cookie()
        );
        let value = HeaderValue::from_str(&value).map_err(BoxError::from)?;
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    Ok(response)
}

async fn create(State(app): State<App>, headers: HeaderMap) -> Result<Json<Value>, Problem> {
    let session = cookie(&headers, app.cookie()).ok_or_else(Problem::missing)?;
    let id = hex(&crate::random::<16>()?);
    app.store().create(&id, &owner(session)).await?;
    Ok(Json(json!({ "conversation": id })))
}

#[derive(Deserialize)]
struct After {
    #[serde(default)]
    after: i64,
}

/// The events after an index, one a line: those that there are, then each as it arrives.
async fn stream(
    State(app): State<App>,
    Conversation(id): Conversation,
    Query(After { after }): Query<After>,
) -> Result<Response, Problem> {
    let mut head = app.store().head(&id).await?;
    let (sender, receiver) = mpsc::channel::<Bytes>(64);
    tokio::spawn(async move {
        let mut after = after;
        loop {
            let Ok(found) = app.store().events(&id, after).await else {
                return; // the page asks again
            };
            for event in found {
                after = event.seq;
                let line = format!("{}\n", events::shown(&event));
                if sender.send(line.into()).await.is_err() {
                    return;
                }
            }
            tokio::select! {
                changed = head.changed() => if changed.is_err() { return },
                () = tokio::time::sleep(HEARTBEAT) => {
                    if sender.send(Bytes::from_static(b"\n")).await.is_err() {
                        return;
                    }
                }
                () = sender.closed() => return,
            }
        }
    });
    let headers = [
        (header::CONTENT_TYPE, "application/x-ndjson"),
        // A proxy in between must not wait for the end of it.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, Body::from_stream(Lines(receiver))).into_response())
}

/// What arrives, as a body.
struct Lines(mpsc::Receiver<Bytes>);

impl Stream for Lines {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|line| line.map(Ok))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    /// Drawn by the page: a message that is sent twice is one.
    id: String,
    text: String,
}

async fn message(
    State(app): State<App>,
    Conversation(conversation): Conversation,
    Json(Said { id, text }): Json<Said>,
) -> Result<StatusCode, Problem> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > LONGEST_MESSAGE || !is_id(&id) {
        let text = format!("A message has 1 to {LONGEST_MESSAGE} characters.");
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        return Err(Problem::new(status, "message", &text));
    }
    let event = Draft::new("buyer", json!({ "text": text })).once(format!("message/{id}"));
    app.store().append(&conversation, vec![event]).await?;
    app.kick(&conversation);
    Ok(StatusCode::ACCEPTED)
}

/// Whether it can be an id that the page drew.
fn is_id(id: &str) -> bool {
    (8..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignIn {
    id: String,
    skip: bool,
}

async fn sign_in(
    State(app): State<App>,
    Conversation(conversation): Conversation,
    Json(SignIn { id, skip }): Json<SignIn>,
) -> Result<StatusCode, Problem> {
    match app.store().matter(&conversation, &id).await? {
        Some(matter) if matter.state == "sign_in" => {}
        _ => return Err(Problem::missing()),
    }
    app.sign_in(&conversation, &id, skip).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn order(
    State(app): State<App>,
    Conversation(conversation): Conversation,
    Path(names): Path<Map<String, Value>>,
) -> Result<Json<Value>, Problem> {
    let id = names
        .get("order")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let placed = app.store().order(id).await?;
    if placed.is_none_or(|placed| placed.conversation != conversation) {
        return Err(Problem::missing());
    }
    let inputs = Map::from_iter([("id".to_owned(), json!(id))]);
    let body = app.shop().read_order(inputs).await.map_err(Refusal::Shop)?;
    Ok(Json(screen::order(&body, app.shop().development)))
}

#[derive(Deserialize)]
struct Looking {
    scheme: Option<String>,
    #[serde(default)]
    no_frame: bool,
}

impl From<Looking> for Look {
    fn from(looking: Looking) -> Self {
        Self {
            scheme: match looking.scheme.as_deref() {
                Some("light") => Some(ColorScheme::Light),
                Some("dark") => Some(ColorScheme::Dark),
                _ => None,
            },
            no_frame: looking.no_frame,
        }
    }
}

async fn checkout(
    State(app): State<App>,
    checkout: Checkout,
    Query(look): Query<Looking>,
) -> Result<Json<Value>, Problem> {
    let Checkout { conversation, id } = checkout;
    Ok(Json(app.screen(&conversation, &id, look.into()).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fix {
    /// Drawn by the page: a form that is sent twice is one.
    attempt: String,
    values: Map<String, Value>,
}

async fn fix(
    State(app): State<App>,
    Checkout { conversation, id }: Checkout,
    Query(look): Query<Looking>,
    Json(Fix { attempt, values }): Json<Fix>,
) -> Result<Json<Value>, Problem> {
    if !is_id(&attempt) {
        return Err(Refusal::Choice("The form has no id.".to_owned()).into());
    }
    let look = look.into();
    let screen = app.fix(&conversation, &id, &attempt, &values, look).await?;
    Ok(Json(screen))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Agreed {
    /// Of what was on the screen.
    digest: String,
    instrument: String,
}

async fn confirm(
    State(app): State<App>,
    Checkout { conversation, id }: Checkout,
    Query(look): Query<Looking>,
    Json(Agreed { digest, instrument }): Json<Agreed>,
) -> Result<Json<Value>, Problem> {
    let look = look.into();
    // Goes on to its end even when the page goes away.
    let placing = tokio::spawn(async move {
        app.confirm(&conversation, &id, &digest, &instrument, look)
            .await
    });
    let placed = placing.await.map_err(BoxError::from)?;
    Ok(Json(placed?))
}

async fn credential(
    State(app): State<App>,
    Checkout { conversation, id }: Checkout,
    Json(Agreed { digest, instrument }): Json<Agreed>,
) -> Result<Json<Value>, Problem> {
    let given = app.credential(&conversation, &id, &digest, &instrument);
    Ok(Json(given.await?))
}

async fn decline(
    State(app): State<App>,
    Checkout { conversation, id }: Checkout,
) -> Result<StatusCode, Problem> {
    app.decline(&conversation, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn cancel(
    State(app): State<App>,
    Checkout { conversation, id }: Checkout,
    Query(look): Query<Looking>,
) -> Result<Json<Value>, Problem> {
    Ok(Json(app.cancel(&conversation, &id, look.into()).await?))
}
