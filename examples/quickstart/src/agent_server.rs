//! What an agent serves itself: the profile that its `UCP-Agent` header points to, and the webhook
//! that merchants report orders to.

use axum::body::Bytes;
use axum::routing::post;
use std::error::Error;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use ucp_runtime::{PlatformProfile, Release};

/// An agent's server, on a free port of this machine.
pub(crate) struct AgentServer {
    /// Where the profile is.
    pub(crate) profile_url: String,
    /// The bodies of the order webhooks, as they arrive.
    pub(crate) orders: mpsc::UnboundedReceiver<Bytes>,
}

impl AgentServer {
    /// Serves a profile of who we are: what a generated client speaks, and where to report orders.
    ///
    /// # Errors
    ///
    /// When no port is free.
    pub(crate) async fn start(release: &Release) -> Result<Self, Box<dyn Error>> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let origin = format!("http://{}", listener.local_addr()?);
        let profile = PlatformProfile::builder(release)
            .order_webhook(format!("{origin}/webhooks/orders"))
            .development() // plain HTTP, on this machine only
            .build()?;
        let (arrived, orders) = mpsc::unbounded_channel();
        let webhook = post(move |body: Bytes| async move {
            // Whoever started the server may have stopped listening: that is no fault.
            let _ = arrived.send(body);
        });
        let router = profile.router().route("/webhooks/orders", webhook);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self {
            profile_url: format!("{origin}{}", PlatformProfile::PATH),
            orders,
        })
    }
}
