//! What an agent serves itself: the profile that its `UCP-Agent` header points to, and the webhook
//! that merchants report orders to.

use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::routing::post;
use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use ucp_runtime::signatures::{Business, Delivery, Novelty, PublicKey, WebhookVerifier};
use ucp_runtime::{Agent, BoxError, PlatformProfile, Release};

/// The longest order event that is read, in bytes.
const LARGEST_EVENT: usize = 1024 * 1024;

/// The agent's records: the business that each order was placed with. A database, elsewhere.
#[derive(Clone, Default)]
pub(crate) struct Orders(Arc<Mutex<HashMap<String, Business>>>);

impl Orders {
    pub(crate) fn record(&self, order: &str, business: Business) {
        let mut orders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        orders.insert(order.to_owned(), business);
    }

    fn business(&self, order: &str) -> Option<Business> {
        let orders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        orders.get(order).cloned()
    }
}

/// An agent's server, on a free port of this machine.
pub(crate) struct AgentServer {
    listener: TcpListener,
    origin: String,
}

impl AgentServer {
    /// Takes a port.
    ///
    /// # Errors
    ///
    /// When none is free.
    pub(crate) async fn bind() -> Result<Self, Box<dyn Error>> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let origin = format!("http://{}", listener.local_addr()?);
        Ok(Self { listener, origin })
    }

    /// Where the profile will be.
    pub(crate) fn profile_url(&self) -> String {
        format!("{}{}", self.origin, PlatformProfile::PATH)
    }

    /// Serves a profile of who we are: what a generated client speaks, the key that we sign with, and
    /// where to report orders. Gives the order events that arrive: each once, none unverified.
    ///
    /// # Errors
    ///
    /// When something cannot be published.
    pub(crate) fn serve(
        self,
        release: &Release,
        key: &PublicKey,
        agent: Agent,
        orders: Orders,
    ) -> Result<mpsc::UnboundedReceiver<Delivery>, Box<dyn Error>> {
        let profile = PlatformProfile::builder(release)
            .order_webhook(format!("{}/webhooks/orders", self.origin))
            .public_key(key)
            .development() // plain HTTP, on this machine only
            .build()?;
        let business = move |order: String| {
            let business = orders.business(&order);
            async move { Ok::<_, BoxError>(business) }
        };
        // Whose order it is, the records know; which keys that business has, discovery does.
        let verifier = Arc::new(WebhookVerifier::new(business, agent));
        let (arrived, events) = mpsc::unbounded_channel();
        let webhook = post(move |OrderWebhook(delivery)| async move {
            if delivery.novelty == Novelty::Repeated {
                return StatusCode::OK; // a retry of what we have
            }
            // A business repeats what is not answered with a 2xx.
            match arrived.send(delivery) {
                Ok(()) => StatusCode::OK,
                Err(_) => StatusCode::SERVICE_UNAVAILABLE,
            }
        });
        let webhook = axum::Router::new()
            .route("/webhooks/orders", webhook)
            .with_state(verifier);
        let router = profile.router().merge(webhook);
        tokio::spawn(async move { axum::serve(self.listener, router).await });
        Ok(events)
    }
}

/// An order webhook that the business of its order signed. A handler that takes one is not called for
/// any other.
struct OrderWebhook(Delivery);

impl FromRequest<Arc<WebhookVerifier>> for OrderWebhook {
    type Rejection = (StatusCode, String);

    async fn from_request(
        request: Request,
        verifier: &Arc<WebhookVerifier>,
    ) -> Result<Self, Self::Rejection> {
        let (head, body) = request.into_parts();
        // The signature is of the bytes, so it is judged before anything reads them.
        let body = axum::body::to_bytes(body, LARGEST_EVENT).await;
        let body = body.map_err(|error| (StatusCode::PAYLOAD_TOO_LARGE, error.to_string()))?;
        match verifier.receive(&head, &body).await {
            Ok(delivery) => Ok(Self(delivery)),
            Err(error) => Err((error.status(), error.to_string())),
        }
    }
}
