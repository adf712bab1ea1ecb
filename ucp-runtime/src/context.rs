//! What an answer says about itself.

use crate::map_order;
use crate::merchant::Merchant;
use crate::negotiation::Active;
use crate::wire::Value;
use serde::Deserialize;

/// The `ucp` member of an answer, against what was negotiated with the merchant.
///
/// ```no_run
/// # fn example<T, F>(response: &ucp_runtime::Response<T, F>) {
/// let context = response.context();
/// if context.active().is_some_and(|active| active.has("dev.ucp.shopping.discount")) {
///     // Codes may be tried.
/// }
/// for (handler, entries) in context.in_order("payment_handlers") {
///     println!("{handler}: {entries}");
/// }
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Context {
    document: Value,
    merchant: Merchant,
}

impl Context {
    pub(crate) fn of(body: &[u8], merchant: Merchant) -> Self {
        #[derive(Deserialize)]
        struct Wrapper {
            ucp: Option<Value>,
        }
        let ucp = serde_json::from_slice(body).ok();
        let ucp = ucp.and_then(|Wrapper { ucp }| ucp).unwrap_or_default();
        let mut document = serde_json::Map::new();
        document.insert("ucp".to_owned(), ucp);
        Self {
            document: document.into(),
            merchant,
        }
    }

    /// The capabilities that the answer makes use of: those that it lists and that were negotiated,
    /// or all that were negotiated where it lists none (overview, "Capability Declaration in
    /// Responses"). `None` when nothing was negotiated: see
    /// [`Merchant::negotiated`].
    #[must_use]
    pub fn active(&self) -> Option<Active<'_>> {
        Some(self.merchant.negotiated()?.active(&self.document))
    }

    /// The entries of a registry (`services`, `capabilities`, `payment_handlers`) in the order of
    /// its `map_order`, then of RFC 8785. None when there is no such map.
    pub fn in_order<'c>(
        &'c self,
        field: &str,
    ) -> impl ExactSizeIterator<Item = (&'c str, &'c Value)> + use<'c> {
        map_order::registry(&self.document, field)
    }

    /// The member as it arrived; `null` where there is none.
    #[must_use]
    pub fn ucp(&self) -> &Value {
        self.document.get("ucp").unwrap_or(&Value::Null)
    }
}
