//! What an agent serves itself: the profile that its `UCP-Agent` header points to, and the webhook
//! that merchants report orders to.

use axum::body::Bytes;
use axum::routing::{get, post};
use axum::{Json, Router};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use ucp_runtime::Release;
use ucp_runtime::serde_json::{Map, Value, json};

/// An agent's server, on a free port of this machine.
pub(crate) struct AgentServer {
    /// Where the profile is.
    pub(crate) profile_url: String,
    /// The bodies of the order webhooks, as they arrive.
    pub(crate) orders: mpsc::UnboundedReceiver<Bytes>,
}

impl AgentServer {
    /// Serves a profile that names what a generated client speaks.
    ///
    /// # Errors
    ///
    /// When no port is free.
    pub(crate) async fn start(release: &Release) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let origin = format!("http://{}", listener.local_addr()?);
        let profile = profile(&origin, release);
        let (arrived, orders) = mpsc::unbounded_channel();
        let router = Router::new()
            .route(
                "/.well-known/ucp",
                get(move || async move { Json(profile) }),
            )
            .route(
                "/webhooks/orders",
                post(move |body: Bytes| async move {
                    // Whoever started the server may have stopped listening: that is no fault.
                    let _ = arrived.send(body);
                }),
            );
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self {
            profile_url: format!("{origin}/.well-known/ucp"),
            orders,
        })
    }
}

/// A platform profile: who we are, what we understand, where to report orders.
fn profile(origin: &str, release: &Release) -> Value {
    let mut registry = Map::new();
    for (name, version) in release.capabilities() {
        let document = name.rsplit('.').next().unwrap_or(name);
        let config = match name {
            "dev.ucp.shopping.order" => {
                json!({ "webhook_url": format!("{origin}/webhooks/orders") })
            }
            _ => json!({}),
        };
        let entry = json!({
            "version": version,
            "spec": format!("https://ucp.dev/{version}/specification/overview"),
            "schema": format!("https://ucp.dev/{version}/schemas/shopping/{document}.json"),
            "config": config,
        });
        registry.insert(name.to_owned(), json!([entry]));
    }
    json!({ "ucp": { "version": release.version(), "services": {}, "capabilities": registry, "payment_handlers": {} } })
}
