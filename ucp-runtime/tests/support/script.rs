//! A merchant that gives one answer after the other, a clock that is moved by waiting, and the
//! operations that the runtime does more for than send them.

use super::{Arrived, RELEASE, builder};
use axum::response::IntoResponse as _;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use ucp_runtime::jiff::Timestamp;
use ucp_runtime::operation::{ChangesCheckout, CompletesCheckout, Paged, ReadsCheckout};
use ucp_runtime::serde_json::Value;
use ucp_runtime::{
    AgentBuilder, BoxFuture, Clock, Endpoint, Merchant, Operation, Randomness, http,
};

macro_rules! operation {
    ($release:expr, $id:literal, $method:ident, $path:literal) => {
        Operation::new(
            $release,
            "dev.ucp.shopping",
            $id,
            http::Method::$method,
            $path,
            &[],
        )
    };
}

macro_rules! completion {
    ($name:ident, $release:expr) => {
        pub struct $name;

        impl Endpoint for $name {
            const OPERATION: &'static Operation = &operation!(
                $release,
                "complete_checkout",
                POST,
                "/checkout-sessions/{id}/complete"
            )
            .changing(Some(
                const { &operation!($release, "get_checkout", GET, "/checkout-sessions/{id}") },
            ));
            type Success = Value;
            type Failure = Value;
        }

        impl ChangesCheckout for $name {}
        impl CompletesCheckout for $name {}
    };
}

completion!(Complete, RELEASE);
completion!(OldComplete, "2026-01-11");

pub struct Create;

impl Endpoint for Create {
    const OPERATION: &'static Operation =
        &operation!(RELEASE, "create_checkout", POST, "/checkout-sessions").changing(None);
    type Success = Value;
    type Failure = Value;
}

pub struct Update;

impl Endpoint for Update {
    const OPERATION: &'static Operation =
        &operation!(RELEASE, "update_checkout", PUT, "/checkout-sessions/{id}")
            .changing(Some(super::GetCheckout::OPERATION));
    type Success = Value;
    type Failure = Value;
}

pub struct Search;

impl Endpoint for Search {
    const OPERATION: &'static Operation =
        &operation!(RELEASE, "search_catalog", POST, "/catalog/search");
    type Success = Value;
    type Failure = Value;
}

impl Paged for Search {}

impl ReadsCheckout for super::GetCheckout {}

/// A clock that only waiting moves, and what was waited.
#[derive(Clone)]
pub struct Moved(Arc<Mutex<(Timestamp, Vec<Duration>)>>);

impl Moved {
    pub fn at(now: &str) -> Self {
        Self(Arc::new(Mutex::new((now.parse().unwrap(), Vec::new()))))
    }

    pub fn waited(&self) -> Vec<Duration> {
        self.0.lock().unwrap().1.clone()
    }
}

impl Clock for Moved {
    fn now(&self) -> Timestamp {
        self.0.lock().unwrap().0
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'_, ()> {
        let mut inner = self.0.lock().unwrap();
        inner.0 += duration;
        inner.1.push(duration);
        Box::pin(async {})
    }
}

/// All bits set: no jitter.
struct Ones;

impl Randomness for Ones {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), ucp_runtime::BoxError> {
        bytes.fill(0xff);
        Ok(())
    }
}

pub struct Answer {
    status: u16,
    headers: Vec<(&'static str, &'static str)>,
    body: Value,
    breaks_off: bool,
}

pub fn answer(body: Value) -> Answer {
    failure(200, &[], body)
}

pub fn failure(status: u16, headers: &[(&'static str, &'static str)], body: Value) -> Answer {
    Answer {
        status,
        headers: headers.to_vec(),
        body,
        breaks_off: false,
    }
}

/// An answer whose head arrives and whose body does not.
pub fn broken() -> Answer {
    Answer {
        breaks_off: true,
        ..answer(Value::Null)
    }
}

/// A body that fails before it is whole.
struct BreaksOff;

impl http_body::Body for BreaksOff {
    type Data = bytes::Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Self::Data>, Self::Error>>> {
        std::task::Poll::Ready(Some(Err(std::io::Error::other("broken off"))))
    }
}

pub struct Scripted {
    pub merchant: Merchant,
    pub clock: Moved,
    arrived: Arc<Mutex<Vec<Arrived>>>,
}

impl Scripted {
    /// Gives the answers in order, and the last one for ever.
    pub async fn open(release: &str, answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::open_with(release, answers, |builder| builder).await
    }

    /// With an agent that is set up further.
    pub async fn open_with(
        release: &str,
        answers: impl IntoIterator<Item = Answer>,
        set_up: impl FnOnce(AgentBuilder) -> AgentBuilder,
    ) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let arrived: Arc<Mutex<Vec<Arrived>>> = Arc::default();
        let answers: Arc<Mutex<VecDeque<Answer>>> =
            Arc::new(Mutex::new(answers.into_iter().collect()));
        let ears = Arc::clone(&arrived);
        let app = axum::Router::new().fallback(move |request: axum::extract::Request| {
            let (ears, answers) = (Arc::clone(&ears), Arc::clone(&answers));
            async move {
                let (head, body) = request.into_parts();
                let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
                ears.lock().unwrap().push(Arrived {
                    method: head.method,
                    target: head.uri.to_string(),
                    headers: head.headers,
                    body: body.to_vec(),
                });
                let mut answers = answers.lock().unwrap();
                let kept;
                let answer = if answers.len() > 1 {
                    kept = answers.pop_front().unwrap();
                    &kept
                } else {
                    answers.front().unwrap()
                };
                let mut response = if answer.breaks_off {
                    axum::body::Body::new(BreaksOff).into_response()
                } else {
                    axum::Json(answer.body.clone()).into_response()
                };
                *response.status_mut() = http::StatusCode::from_u16(answer.status).unwrap();
                for (name, value) in &answer.headers {
                    response.headers_mut().insert(*name, value.parse().unwrap());
                }
                response
            }
        });
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        let clock = Moved::at("2026-04-08T10:00:00Z");
        let agent = set_up(builder().clock(clock.clone()).randomness(Ones));
        let agent = agent.build().unwrap();
        Self {
            merchant: Merchant::at(&agent, &origin, &origin, release).unwrap(),
            clock,
            arrived,
        }
    }

    pub fn arrived(&self) -> Vec<Arrived> {
        self.arrived.lock().unwrap().clone()
    }

    /// The methods and paths that arrived.
    pub fn heard(&self) -> Vec<String> {
        self.arrived()
            .iter()
            .map(|request| format!("{} {}", request.method, request.target))
            .collect()
    }
}
