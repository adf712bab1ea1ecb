//! What the tests of this crate share: a client as generated code writes one, and servers.
#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used)] // each test binary uses its part

pub mod script;

use std::borrow::Borrow;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use ucp_runtime::{
    Agent, AgentBuilder, Call, Endpoint, Header, Merchant, Operation, Retry, http, serde_json,
};

pub const RELEASE: &str = "2026-04-08";
pub const PROFILE: &str = "https://agent.example/.well-known/ucp";

macro_rules! endpoint {
    ($name:ident, $release:expr, $id:literal, $method:ident, $path:literal, $headers:expr) => {
        pub struct $name;
        impl Endpoint for $name {
            const OPERATION: &'static Operation = &Operation::new(
                $release,
                "dev.ucp.shopping",
                $id,
                http::Method::$method,
                $path,
                $headers,
            );
            type Success = serde_json::Value;
            type Failure = serde_json::Value;
        }
    };
}

endpoint!(
    CreateCheckout,
    RELEASE,
    "create_checkout",
    POST,
    "/checkout-sessions",
    &[Header {
        name: "UCP-Agent",
        required: true
    }]
);
endpoint!(
    GetCheckout,
    RELEASE,
    "get_checkout",
    GET,
    "/checkout-sessions/{id}",
    &[]
);
endpoint!(
    UpdateCheckout,
    RELEASE,
    "update_checkout",
    PUT,
    "/checkout-sessions/{id}",
    &[]
);
endpoint!(
    CancelCheckout,
    RELEASE,
    "cancel_checkout",
    POST,
    "/checkout-sessions/{id}/cancel",
    &[]
);
endpoint!(
    SearchCatalog,
    RELEASE,
    "search_catalog",
    POST,
    "/catalog/search",
    &[]
);
endpoint!(
    OldCreate,
    "2026-01-11",
    "create_checkout",
    POST,
    "/checkout-sessions",
    &[Header {
        name: "Request-Signature",
        required: true
    }]
);

#[derive(Clone)]
pub struct Client {
    merchant: Merchant,
}

impl Client {
    pub fn new(merchant: &Merchant) -> Self {
        Self {
            merchant: merchant.clone(),
        }
    }

    pub fn create_checkout(&self, body: impl Borrow<serde_json::Value>) -> Call<CreateCheckout> {
        Call::new(&self.merchant).body(body.borrow())
    }

    pub fn get_checkout(&self, id: impl Into<String>) -> Call<GetCheckout> {
        Call::new(&self.merchant).path("id", id)
    }

    pub fn update_checkout(
        &self,
        id: impl Into<String>,
        body: impl Borrow<serde_json::Value>,
    ) -> Call<UpdateCheckout> {
        Call::new(&self.merchant).path("id", id).body(body.borrow())
    }

    pub fn cancel_checkout(&self, id: impl Into<String>) -> Call<CancelCheckout> {
        Call::new(&self.merchant).path("id", id)
    }

    pub fn search_catalog(&self) -> Call<SearchCatalog> {
        Call::new(&self.merchant)
            .query("page", "2")
            .query("q", "a&b")
    }

    pub fn old_create(&self, body: impl Borrow<serde_json::Value>) -> Call<OldCreate> {
        Call::new(&self.merchant).body(body.borrow())
    }
}

pub fn builder() -> AgentBuilder {
    Agent::builder(PROFILE)
        .unwrap()
        .development()
        .id_secret([7; 32])
        .retry(Retry::never())
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Arrived {
    pub method: http::Method,
    pub target: String,
    pub headers: http::HeaderMap,
    pub body: Vec<u8>,
}

impl Arrived {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// A merchant on loopback that keeps what arrives.
#[derive(Clone)]
pub struct Shop {
    pub origin: String,
    arrived: Arc<Mutex<Vec<Arrived>>>,
}

impl Shop {
    /// Answers discovery, and all else with a checkout.
    pub async fn open() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let shop = Self {
            origin,
            arrived: Arc::default(),
        };
        let state = shop.clone();
        let app = axum::Router::new().fallback(move |request: axum::extract::Request| {
            let shop = state.clone();
            async move { shop.answer(request).await }
        });
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        shop
    }

    async fn answer(&self, request: axum::extract::Request) -> axum::response::Response {
        use axum::response::IntoResponse as _;
        let (head, body) = request.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        self.arrived.lock().unwrap().push(Arrived {
            method: head.method,
            target: head.uri.to_string(),
            headers: head.headers,
            body: body.to_vec(),
        });
        if head.uri.path() == "/.well-known/ucp" {
            return axum::Json(serde_json::json!({"ucp": {"version": RELEASE, "services": {"dev.ucp.shopping": [
                {"version": RELEASE, "transport": "mcp", "endpoint": format!("{}/mcp", self.origin)},
                {"version": RELEASE, "transport": "rest", "endpoint": format!("{}/ucp/v2/", self.origin)},
            ]}}})).into_response();
        }
        let mut checkout = serde_json::json!({"ucp": {"version": RELEASE}, "status": "incomplete"});
        if head.uri.path().ends_with("/checkout-sessions") {
            checkout
                .as_object_mut()
                .unwrap()
                .insert("id".into(), "co_1".into());
        }
        axum::Json(checkout).into_response()
    }

    pub fn arrived(&self) -> Vec<Arrived> {
        self.arrived.lock().unwrap().clone()
    }

    pub fn last(&self) -> Arrived {
        self.arrived().last().unwrap().clone()
    }
}

/// A server that answers every connection with the same bytes and closes it. Returns its origin.
pub async fn answering(bytes: impl Into<Vec<u8>>) -> String {
    let bytes = bytes.into();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
    });
    origin
}

/// An HTTP/1.1 answer with its length.
pub fn http(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
