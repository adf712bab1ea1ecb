//! Tells agents of their orders: one event after the other, each tried a few times.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use tokio::sync::mpsc::UnboundedReceiver;
use url::Url;
use uuid::Uuid;

use crate::profile::WELL_KNOWN;
use crate::{Inner, lock, outbound, signatures};

/// How often an event is sent before the merchant gives up.
pub const ATTEMPTS: usize = 4;
const TIMEOUT: Duration = Duration::from_secs(5);

/// An order event on its way.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) url: Url,
    /// `Webhook-Id`, the same in every attempt.
    pub(crate) id: Uuid,
    /// `Webhook-Timestamp` in seconds, the same in every attempt.
    pub(crate) timestamp: i64,
    /// The order.
    pub(crate) body: Bytes,
}

/// An event with what became of its attempts.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// Where it was sent.
    pub url: Url,
    /// Its `Webhook-Id`.
    pub id: Uuid,
    /// The body's exact bytes.
    pub body: Bytes,
    /// The status of each attempt; 0 when no answer came.
    pub attempts: Vec<u16>,
}

/// The headers of an event: the same in every attempt, as is the signature.
async fn headers(inner: &Inner, event: &Event) -> Result<HeaderMap, crate::Error> {
    let origin = &inner.origin;
    let mut headers = HeaderMap::new();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    let agent = format!("profile=\"{origin}{WELL_KNOWN}\"");
    headers.insert(HeaderName::from_static("ucp-agent"), agent.parse()?);
    headers.insert(
        HeaderName::from_static("webhook-id"),
        event.id.to_string().parse()?,
    );
    headers.insert(
        HeaderName::from_static("webhook-timestamp"),
        event.timestamp.into(),
    );
    let url = event.url.as_str().parse()?;
    signatures::sign_webhook(&inner.key, &url, &mut headers, &event.body).await?;
    Ok(headers)
}

/// Sends what arrives on the channel until the channel closes.
pub(crate) async fn run(inner: Arc<Inner>, mut events: UnboundedReceiver<Event>) {
    let client = match outbound::client(TIMEOUT) {
        Ok(client) => client,
        Err(error) => return tracing::error!(%error, "no client for webhooks"),
    };
    while let Some(event) = events.recv().await {
        let attempts = match headers(&inner, &event).await {
            Ok(headers) => attempt(&client, &event, &headers, inner.backoff).await,
            Err(error) => {
                tracing::error!(%error, "an event without headers");
                continue;
            }
        };
        lock(&inner.deliveries).push(Delivery {
            url: event.url,
            id: event.id,
            body: event.body,
            attempts,
        });
    }
}

async fn attempt(
    client: &reqwest::Client,
    event: &Event,
    headers: &HeaderMap,
    mut backoff: Duration,
) -> Vec<u16> {
    let mut attempts = Vec::new();
    loop {
        let request = client
            .post(event.url.clone())
            .headers(headers.clone())
            .body(event.body.clone());
        let status = match request.send().await {
            Ok(response) => response.status().as_u16(),
            Err(_) => 0,
        };
        attempts.push(status);
        if (200..300).contains(&status) || attempts.len() == ATTEMPTS {
            return attempts;
        }
        tokio::time::sleep(backoff).await;
        backoff *= 2;
    }
}
