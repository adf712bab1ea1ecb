//! Receiving webhooks: whose order it is, whose signature, and whether it came before (UCP order,
//! "Webhook Signature Verification").

use super::fields::UCP_AGENT;
use super::seen::{RecentDeliveries, SeenDeliveries, Trace};
use super::{Code, Rejected, RequestHead, Verifier, detached_jws};
use crate::clock::{Clock, SystemClock};
use crate::error::ConfigError;
use crate::identity::ProfileUrl;
use crate::operation::Webhook;
use crate::profile::{PublishedKeys, Shape};
use crate::transport::{BoxError, BoxFuture};
use crate::wire::{DecodeError, Note, Value, read_body};
use http::{HeaderMap, StatusCode};
use jiff::{SignedDuration, Timestamp};
use std::fmt;
use url::Url;

/// The business that an order was placed with; [`Merchant::business`](crate::Merchant::business)
/// gives it, to be kept with the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Business {
    profile: ProfileUrl,
    detached: bool,
}

impl Business {
    /// A business by its profile and the `ucp.version` agreed with it. Up to 2026-01-23 its webhooks
    /// carry a detached JWS, afterwards an HTTP message signature; the other of the two is not taken.
    #[must_use]
    pub fn new(profile: ProfileUrl, version: &str) -> Self {
        Self {
            profile,
            detached: Shape::of(version).detaches_webhook_signatures(),
        }
    }

    /// Its profile.
    #[must_use]
    pub fn profile(&self) -> &ProfileUrl {
        &self.profile
    }
}

/// Knows which business each order was placed with. A closure does.
pub trait OrderOwners: Send + Sync {
    /// The business of an order; `None` when there is no such order.
    ///
    /// # Errors
    ///
    /// Whatever stands in the way of an answer; the webhook is then not accepted, and may come again.
    fn owner<'a>(&'a self, order: &'a str) -> BoxFuture<'a, Result<Option<Business>, BoxError>>;
}

impl<F, A> OrderOwners for F
where
    F: Fn(String) -> A + Send + Sync,
    A: Future<Output = Result<Option<Business>, BoxError>> + Send + 'static,
{
    fn owner<'a>(&'a self, order: &'a str) -> BoxFuture<'a, Result<Option<Business>, BoxError>> {
        Box::pin(self(order.to_owned()))
    }
}

/// Knows the keys that a business publishes. An [`Agent`](crate::Agent) does, by discovery; so does a
/// closure.
pub trait BusinessKeys: Send + Sync {
    /// The keys of a business's profile. `unknown` is a key id that the keys given before did not
    /// have: fetch the profile again, if it was not fetched in the last 60 seconds.
    ///
    /// # Errors
    ///
    /// Whatever stands in the way; the webhook is then not accepted, and may come again.
    fn keys<'a>(
        &'a self,
        business: &'a ProfileUrl,
        unknown: Option<&'a str>,
    ) -> BoxFuture<'a, Result<PublishedKeys, BoxError>>;
}

impl<F, A> BusinessKeys for F
where
    F: Fn(ProfileUrl, Option<String>) -> A + Send + Sync,
    A: Future<Output = Result<PublishedKeys, BoxError>> + Send + 'static,
{
    fn keys<'a>(
        &'a self,
        business: &'a ProfileUrl,
        unknown: Option<&'a str>,
    ) -> BoxFuture<'a, Result<PublishedKeys, BoxError>> {
        Box::pin(self(business.clone(), unknown.map(ToOwned::to_owned)))
    }
}

/// Accepts webhooks that the business of their order has signed. Nothing turns that off.
///
/// ```
/// use ucp_runtime::http::Request;
/// use ucp_runtime::signatures::{Business, Novelty, WebhookVerifier};
/// use ucp_runtime::{Agent, BoxError};
///
/// # async fn example(agent: Agent, request: Request<Vec<u8>>) -> Result<(), Box<dyn std::error::Error>> {
/// let verifier = WebhookVerifier::new(
///     // From the application's records: with whom was this order placed?
///     async |order: String| Ok::<Option<Business>, BoxError>(lookup(&order)),
///     agent, // from discovery: what keys does that business publish?
/// );
///
/// let delivery = match verifier.receive(&request, request.body()).await {
///     Ok(delivery) => delivery,
///     Err(error) => return Ok(reply(error.status())),
/// };
/// match delivery.novelty {
///     Novelty::New => println!("{} is now {}", delivery.order, delivery.body["status"]),
///     Novelty::Repeated => {}                        // a retry: done already
///     Novelty::Doubtful => println!("read {} again", delivery.order),
///     _ => {}
/// }
/// # Ok(())
/// # }
/// # fn lookup(_: &str) -> Option<Business> { None }
/// # fn reply(_: ucp_runtime::http::StatusCode) {}
/// ```
pub struct WebhookVerifier {
    owners: Box<dyn OrderOwners>,
    keys: Box<dyn BusinessKeys>,
    seen: Box<dyn SeenDeliveries>,
    clock: Box<dyn Clock>,
    leeway: SignedDuration,
}

impl WebhookVerifier {
    /// Takes what is known of orders and of keys. Deliveries are remembered in memory, the last
    /// 10,000 of them; the clock is the system's.
    #[must_use]
    pub fn new(owners: impl OrderOwners + 'static, keys: impl BusinessKeys + 'static) -> Self {
        Self {
            owners: Box::new(owners),
            keys: Box::new(keys),
            seen: Box::new(RecentDeliveries::default()),
            clock: Box::new(SystemClock),
            leeway: SignedDuration::ZERO,
        }
    }

    /// Remembers deliveries elsewhere: in a database that several processes share.
    #[must_use]
    pub fn seen(mut self, seen: impl SeenDeliveries + 'static) -> Self {
        self.seen = Box::new(seen);
        self
    }

    /// Sets the clock that `expires` is held against.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// Lets a signature live longer by so many whole seconds, since clocks differ. None by default.
    #[must_use]
    pub fn leeway(mut self, leeway: SignedDuration) -> Self {
        self.leeway = leeway;
        self
    }

    /// Checks one webhook with its body as received, byte for byte, and remembers it.
    ///
    /// # Errors
    ///
    /// [`WebhookError`] when it is not accepted; its [`status`](WebhookError::status) is what to
    /// answer.
    pub async fn receive<'m>(
        &self,
        head: impl Into<RequestHead<'m>>,
        body: &[u8],
    ) -> Result<Delivery, WebhookError> {
        let head = head.into();
        let event: Value = serde_json::from_slice(body).map_err(|_| WebhookError::Body)?;
        let order = event.get("id").and_then(Value::as_str);
        let order = order.ok_or(WebhookError::Body)?.to_owned();
        let business = self.owners.owner(&order).await;
        let business = business.map_err(WebhookError::Owners)?;
        let business = business.ok_or_else(|| WebhookError::UnknownOrder {
            order: order.clone(),
        })?;
        claims(head.headers, &business)?;

        let signature = self.verify(head, body, &business).await?;
        let id = text(head.headers, "webhook-id");
        let trace = Trace {
            business: business.profile.as_str(),
            order: &order,
            id,
            id_is_signed: signature.signs_id,
            body,
        };
        let (novelty, traces) = trace
            .leave(self.seen.as_ref())
            .await
            .map_err(WebhookError::Seen)?;
        Ok(Delivery {
            id: id.map(ToOwned::to_owned),
            timestamp: text(head.headers, "webhook-timestamp")
                .and_then(|seconds| Timestamp::from_second(seconds.parse().ok()?).ok()),
            business: business.profile,
            key_id: signature.key_id,
            order,
            body: event,
            novelty,
            traces,
        })
    }

    /// Forgets a delivery, so that its retry counts as new: for one that was accepted and then could
    /// not be dealt with.
    ///
    /// # Errors
    ///
    /// Whatever the store reports.
    pub async fn forget(&self, delivery: &Delivery) -> Result<(), BoxError> {
        for trace in &delivery.traces {
            self.seen.forget(*trace).await?;
        }
        Ok(())
    }

    async fn verify(
        &self,
        head: RequestHead<'_>,
        body: &[u8],
        business: &Business,
    ) -> Result<Signature, WebhookError> {
        let keys = self.keys.keys(&business.profile, None).await;
        let rejected = match self.check(head, body, business, &keys.map_err(WebhookError::Keys)?) {
            Ok(signature) => return Ok(signature),
            Err(rejected) => rejected,
        };
        let Some(unknown) = &rejected.unknown_key_id else {
            return Err(WebhookError::Rejected(rejected));
        };
        let keys = self.keys.keys(&business.profile, Some(unknown)).await;
        self.check(head, body, business, &keys.map_err(WebhookError::Keys)?)
            .map_err(WebhookError::Rejected)
    }

    fn check(
        &self,
        head: RequestHead<'_>,
        body: &[u8],
        business: &Business,
        keys: &PublishedKeys,
    ) -> Result<Signature, Rejected> {
        if business.detached {
            let verified = detached_jws::verify(head.headers, body, keys)?;
            return Ok(Signature {
                key_id: verified.key_id,
                signs_id: false,
            });
        }
        let verifier = Verifier::at(self.clock.now()).leeway(self.leeway);
        let verified = verifier.request(head, body, keys)?;
        Ok(Signature {
            signs_id: verified.covers("webhook-id"),
            key_id: verified.key_id,
        })
    }
}

impl fmt::Debug for WebhookVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookVerifier").finish_non_exhaustive()
    }
}

/// What matters here of either kind of signature.
struct Signature {
    key_id: String,
    signs_id: bool,
}

/// Whether `UCP-Agent` names the business of the order. The detached kind has no such header, but
/// must not name another.
fn claims(headers: &HeaderMap, business: &Business) -> Result<(), WebhookError> {
    let lines: Option<Vec<&str>> = (headers.get_all(UCP_AGENT).iter())
        .map(|line| line.to_str().ok())
        .collect();
    // A line that is not ASCII is no dictionary either.
    let lines = lines.unwrap_or_else(|| vec![""]);
    if lines.is_empty() && business.detached {
        return Ok(());
    }
    let agent = ProfileUrl::from_header(lines).map_err(WebhookError::Agent)?;
    // As URLs: the case of a host and a default port make no difference.
    let url = |profile: &ProfileUrl| Url::parse(profile.as_str()).ok();
    let claimed = url(&agent);
    let is_profile = |url: &Url| url.path().ends_with("/.well-known/ucp");
    if claimed.as_ref().is_some_and(is_profile) && claimed == url(&business.profile) {
        return Ok(());
    }
    Err(WebhookError::OtherBusiness {
        claimed: agent,
        owner: business.profile.clone(),
    })
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value
            .to_str()
            .ok()
            .map(str::trim)
            .filter(|value| !value.is_empty()),
        _ => None,
    }
}

/// A webhook that was accepted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Delivery {
    /// The order's id: `id` of the body.
    pub order: String,
    /// The business, whose signature it is.
    pub business: ProfileUrl,
    /// The id of the key that signed.
    pub key_id: String,
    /// `Webhook-Id`.
    pub id: Option<String>,
    /// `Webhook-Timestamp`: when the event happened, if that is given in Unix seconds. It is no reason
    /// to refuse, since a retry keeps it, and anybody may have changed it unless it is signed.
    pub timestamp: Option<Timestamp>,
    /// Whether it came before.
    pub novelty: Novelty,
    /// The body: the order as it is now, whole.
    pub body: Value,
    traces: Vec<[u8; 32]>,
}

impl Delivery {
    /// The body as the type that the contract gives it, with notes on what was forgiven.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] when it does not fit.
    pub fn event<W: Webhook>(&self) -> Result<(W::Body, Vec<Note>), DecodeError> {
        read_body(self.body.clone())
    }
}

/// Whether a webhook came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Novelty {
    /// It did not.
    New,
    /// It did: this is a retry, to be answered with a 2xx and otherwise left alone.
    Repeated,
    /// The same body came under another `Webhook-Id`, which the signature does not cover: an order that
    /// is again as it was, or somebody who sends an old webhook again. Read the order to know.
    Doubtful,
}

/// A webhook that is not accepted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebhookError {
    /// The body is no JSON object with an `id`.
    #[error("the webhook's body is not an order: it has no `id`")]
    Body,
    /// `UCP-Agent` is missing or names no profile.
    #[error("the webhook does not say who sends it")]
    Agent(#[source] ConfigError),
    /// There is no such order.
    #[error("the webhook is about an order that is not known")]
    UnknownOrder {
        /// The order's id.
        order: String,
    },
    /// It is not from the business of the order, or not from a business's profile.
    #[error("the webhook is from {claimed}, and its order is with {owner}")]
    OtherBusiness {
        /// Who says to send it.
        claimed: ProfileUrl,
        /// Whose order it is.
        owner: ProfileUrl,
    },
    /// No signature of the business vouches for it.
    #[error("the webhook's signature does not hold")]
    Rejected(#[source] Rejected),
    /// The order could not be looked up.
    #[error("the webhook's order could not be looked up")]
    Owners(#[source] BoxError),
    /// The keys of the business could not be had.
    #[error("the keys of the webhook's business could not be had")]
    Keys(#[source] BoxError),
    /// The delivery could not be remembered.
    #[error("the webhook could not be remembered")]
    Seen(#[source] BoxError),
}

impl WebhookError {
    /// The status to answer with: 400 for what makes no sense, 401 for a signature that does not hold,
    /// 403 for another's order, 503 for what may succeed later.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Body | Self::Agent(_) => StatusCode::BAD_REQUEST,
            Self::Rejected(_) => StatusCode::UNAUTHORIZED,
            Self::UnknownOrder { .. } | Self::OtherBusiness { .. } => StatusCode::FORBIDDEN,
            Self::Owners(_) | Self::Keys(_) | Self::Seen(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The protocol's code, where there is one.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Rejected(rejected) => Some(rejected.code()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
