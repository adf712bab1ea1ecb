//! Where the keys are that a merchant signs with.

use crate::agent::Agent;
use crate::discovery;
use crate::error::Error;
use crate::identity::ProfileUrl;
use crate::profile::{PublishedKey, PublishedKeys};
use crate::signatures::BusinessKeys;
use crate::transport::{BoxError, BoxFuture};
use std::sync::Arc;
use url::Url;

/// Finds the keys that a merchant publishes. An [`Agent`] is one: it takes them from the merchant's
/// profile, from the cache where it can. [`PublishedKeys`] is one too: the same keys for everyone.
///
/// ```
/// use ucp_runtime::{KeySource, Profile};
///
/// # async fn example() -> Result<(), ucp_runtime::Error> {
/// let profile = Profile::read(serde_json::json!({
///     "ucp": {"version": "2026-04-08"},
///     "signing_keys": [{"kid": "k1", "kty": "EC", "crv": "P-256", "x": "…", "y": "…"}],
/// })).unwrap();
/// let found = profile.keys.find("https://shop.example", "k1").await?;
/// assert_eq!(found[0].kid, "k1");
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
/// ```
pub trait KeySource: Send + Sync {
    /// The keys of the merchant at an origin.
    ///
    /// # Errors
    ///
    /// Whatever stands in the way of its profile.
    fn keys<'a>(&'a self, origin: &'a str) -> BoxFuture<'a, Result<Arc<PublishedKeys>, Error>>;

    /// The keys as they are now, fetched anew; but the known ones where a refresh was forced within
    /// the last 60 s for the origin, as the protocol forbids more (overview, "Fetching").
    ///
    /// # Errors
    ///
    /// Whatever stands in the way of its profile.
    fn refresh<'a>(&'a self, origin: &'a str) -> BoxFuture<'a, Result<Arc<PublishedKeys>, Error>>;

    /// The keys with an id: none when the merchant has no such key, also after a refresh.
    ///
    /// # Errors
    ///
    /// Whatever stands in the way of its profile.
    fn find<'a>(
        &'a self,
        origin: &'a str,
        kid: &'a str,
    ) -> BoxFuture<'a, Result<Vec<PublishedKey>, Error>> {
        Box::pin(async move {
            let with_id = |keys: &PublishedKeys| keys.with_id(kid).cloned().collect();
            let known: Vec<PublishedKey> = with_id(&*self.keys(origin).await?);
            if !known.is_empty() {
                return Ok(known);
            }
            Ok(with_id(&*self.refresh(origin).await?))
        })
    }
}

impl KeySource for PublishedKeys {
    fn keys<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Arc<PublishedKeys>, Error>> {
        Box::pin(std::future::ready(Ok(Arc::new(self.clone()))))
    }

    fn refresh<'a>(&'a self, origin: &'a str) -> BoxFuture<'a, Result<Arc<PublishedKeys>, Error>> {
        self.keys(origin)
    }
}

impl KeySource for Agent {
    fn keys<'a>(&'a self, origin: &'a str) -> BoxFuture<'a, Result<Arc<PublishedKeys>, Error>> {
        Box::pin(discovery::keys(self, origin, false))
    }

    fn refresh<'a>(&'a self, origin: &'a str) -> BoxFuture<'a, Result<Arc<PublishedKeys>, Error>> {
        Box::pin(discovery::keys(self, origin, true))
    }
}

/// Webhooks are verified by the same keys as answers.
impl BusinessKeys for Agent {
    fn keys<'a>(
        &'a self,
        business: &'a ProfileUrl,
        unknown: Option<&'a str>,
    ) -> BoxFuture<'a, Result<PublishedKeys, BoxError>> {
        Box::pin(async move {
            let origin = Url::parse(business.as_str())?
                .origin()
                .ascii_serialization();
            let keys = discovery::keys(self, &origin, unknown.is_some()).await?;
            Ok(PublishedKeys::clone(&keys))
        })
    }
}
