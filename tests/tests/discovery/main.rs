//! Finding a merchant and agreeing with it, over real HTTP on loopback. Cases of implementers carry
//! their numbers.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod agreeing;
mod fetching;
mod memory;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Response, StatusCode};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use ucp_runtime::error::{DiscoveryError, DiscoveryProblem};
use ucp_runtime::fetch::Resolver;
use ucp_runtime::jiff::{SignedDuration, Timestamp};
use ucp_runtime::serde_json::{self, Value, json};
use ucp_runtime::{
    Agent, AgentBuilder, BoxError, BoxFuture, Clock, Discovery, Error, KeySource, Merchant, Release,
};
use ucp_tests::golden::{shopping_2026_04_08 as april, shopping_draft as draft};
use ucp_tests::shared;

const WELL_KNOWN: &str = "/.well-known/ucp";

/// What is served at a path.
#[derive(Clone)]
struct Page {
    status: u16,
    headers: Vec<(&'static str, &'static str)>,
    body: String,
}

/// A merchant's server whose pages can be changed, and which keeps what it is asked.
#[derive(Clone)]
struct Shop {
    origin: String,
    port: u16,
    pages: Arc<Mutex<BTreeMap<String, Page>>>,
    asked: Arc<Mutex<Vec<(String, HeaderMap)>>>,
}

impl Shop {
    async fn open() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shop = Self {
            origin: format!("http://127.0.0.1:{port}"),
            port,
            pages: Arc::default(),
            asked: Arc::default(),
        };
        let state = shop.clone();
        let app = Router::new().fallback(move |request: Request| {
            let shop = state.clone();
            async move { shop.answer(&request) }
        });
        tokio::spawn(async move { axum::serve(listener, app).await });
        shop
    }

    fn answer(&self, request: &Request) -> Response<Body> {
        let path = request.uri().path().to_owned();
        let headers = request.headers().clone();
        self.asked.lock().unwrap().push((path.clone(), headers));
        let Some(page) = self.pages.lock().unwrap().get(&path).cloned() else {
            let absent = Response::builder().status(404);
            return absent.body(Body::empty()).unwrap();
        };
        let etag = page.headers.iter().find(|(name, _)| *name == "etag");
        let condition = request.headers().get("if-none-match");
        let is_same = etag.is_some_and(|(_, etag)| condition.is_some_and(|of| of == etag));
        let mut response = Response::builder().status(if is_same { 304 } else { page.status });
        for (name, value) in &page.headers {
            response = response.header(*name, *value);
        }
        let body = if is_same {
            Body::empty()
        } else {
            page.body.into()
        };
        response.body(body).unwrap()
    }

    fn put(
        &self,
        path: &str,
        status: u16,
        headers: &[(&'static str, &'static str)],
        body: impl ToString,
    ) {
        let page = Page {
            status,
            headers: headers.to_vec(),
            body: body.to_string(),
        };
        self.pages.lock().unwrap().insert(path.to_owned(), page);
    }

    fn put_profile(&self, headers: &[(&'static str, &'static str)], profile: &Value) {
        let json = [&[("content-type", "application/json")], headers].concat();
        self.put(WELL_KNOWN, 200, &json, profile);
    }

    fn profile(&self, version: &str) -> Value {
        json!({"ucp": {
            "version": version,
            "services": {"dev.ucp.shopping": [
                {"version": version, "transport": "rest", "endpoint": format!("{}/ucp", self.origin)},
            ]},
            "capabilities": {"dev.ucp.shopping.checkout": [{"version": version}]},
            "payment_handlers": {},
        }})
    }

    /// How often a path was asked for.
    fn asked(&self, path: &str) -> usize {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|(of, _)| of == path).count()
    }

    /// A header of the last request for a path.
    fn heard(&self, path: &str, header: &str) -> Option<String> {
        let asked = self.asked.lock().unwrap();
        let (_, headers) = asked.iter().rfind(|(of, _)| of == path)?;
        Some(headers.get(header)?.to_str().unwrap().to_owned())
    }
}

/// A clock that is set by hand.
#[derive(Clone)]
struct Hands(Arc<Mutex<Timestamp>>);

impl Hands {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(
            "2026-12-01T00:00:00Z".parse().unwrap(),
        )))
    }

    fn forward(&self, seconds: i64) {
        *self.0.lock().unwrap() += SignedDuration::from_secs(seconds);
    }
}

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

/// Answers each question with the next list of addresses, and the last one over and over.
#[derive(Clone, Default)]
struct Answers {
    lists: Arc<Mutex<Vec<Vec<IpAddr>>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Answers {
    fn of(lists: &[&[&str]]) -> Self {
        let parse = |list: &&[&str]| {
            list.iter()
                .map(|address| address.parse().unwrap())
                .collect()
        };
        Self {
            lists: Arc::new(Mutex::new(lists.iter().rev().map(parse).collect())),
            asked: Arc::default(),
        }
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl Resolver for Answers {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, BoxError>> {
        self.asked.lock().unwrap().push(host.to_owned());
        let mut lists = self.lists.lock().unwrap();
        let list = match lists.len() {
            0 | 1 => lists.last().cloned().unwrap_or_default(),
            _ => lists.pop().unwrap(),
        };
        Box::pin(std::future::ready(Ok(list)))
    }
}

fn builder() -> AgentBuilder {
    Agent::builder("https://agent.example/.well-known/ucp").unwrap()
}

fn agent() -> Agent {
    builder().development().build().unwrap()
}

fn of_april() -> AgentBuilder {
    builder().development().release(april::RELEASE)
}

async fn fails(agent: &Agent, origin: &str) -> Arc<DiscoveryError> {
    match agent.connect(origin).await {
        Err(Error::Discovery(error)) => error,
        other => panic!("{origin}: {other:?}"),
    }
}

fn key(kid: &str) -> Value {
    json!({"kid": kid, "kty": "EC", "crv": "P-256", "x": "x", "y": "y"})
}

async fn kids(agent: &Agent, origin: &str) -> Vec<String> {
    let keys = agent.keys(origin).await.unwrap();
    keys.keys.iter().map(|key| key.kid.clone()).collect()
}
