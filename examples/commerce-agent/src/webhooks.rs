//! The merchant's news of orders: taken only from the business that the order was placed with, and only
//! as it signed them.

use crate::App;
use crate::store::Draft;
use axum::extract::{FromRequest, Request, State};
use axum::http::StatusCode;
use serde_json::json;
use ucp_runtime::signatures::{Business, Delivery, Novelty, WebhookVerifier};
use ucp_runtime::{Agent, BoxError, ProfileUrl};

/// The longest order event that is read, in bytes.
const LARGEST_EVENT: usize = 1024 * 1024;

/// Whose order it is, the records know; which keys that business has, discovery does.
pub(crate) fn verifier(store: crate::store::Store, agent: Agent) -> WebhookVerifier {
    let owner = move |order: String| {
        let store = store.clone();
        async move {
            let Some(placed) = store.order(&order).await? else {
                return Ok(None);
            };
            let profile = ProfileUrl::new(&placed.profile)?;
            Ok::<_, BoxError>(Some(Business::new(profile, &placed.version)))
        }
    };
    WebhookVerifier::new(owner, agent)
}

/// Takes an order event and shows it in its conversation.
pub(crate) async fn receive(
    State(app): State<App>,
    OrderWebhook(delivery): OrderWebhook,
) -> StatusCode {
    if delivery.novelty == Novelty::Repeated {
        return StatusCode::OK; // a retry of what we have
    }
    let order = delivery.order.as_str();
    let changed = async {
        let Some(placed) = app.store().order(order).await? else {
            return Ok(());
        };
        let event = Draft::new("order", json!({ "order": order }));
        let conversation = &placed.conversation;
        let store = app.store();
        store
            .order_changed(conversation, order, &delivery.body, event)
            .await
    };
    let changed: Result<(), BoxError> = changed.await;
    match changed {
        Ok(()) => StatusCode::OK,
        Err(error) => {
            crate::log(&format!("an order event could not be stored: {error}"));
            // It comes again, and must then count as new.
            let _ = app.verifier().forget(&delivery).await;
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}

/// An order webhook that the business of its order signed. A handler that takes one is not called for
/// any other.
pub(crate) struct OrderWebhook(Delivery);

impl FromRequest<App> for OrderWebhook {
    type Rejection = (StatusCode, String);

    async fn from_request(request: Request, app: &App) -> Result<Self, Self::Rejection> {
        let (head, body) = request.into_parts();
        // The signature is of the bytes, so it is judged before anything reads them.
        let body = axum::body::to_bytes(body, LARGEST_EVENT).await;
        let body = body.map_err(|error| (StatusCode::PAYLOAD_TOO_LARGE, error.to_string()))?;
        match app.verifier().receive(&head, &body).await {
            Ok(delivery) => Ok(Self(delivery)),
            Err(error) => Err((error.status(), error.to_string())),
        }
    }
}
