//! Links: operations that a browser opens, not a program.

use crate::endpoint;
use crate::error::Error;
use crate::merchant::Merchant;
use crate::operation::Endpoint;
use std::fmt;
use std::marker::PhantomData;
use url::Url;

/// An operation that answers only with a redirect: a URL for the buyer to open. Generated methods
/// return one; nothing is sent, and no redirect is followed.
///
/// ```no_run
/// # use ucp_runtime::{Endpoint, Error, Link};
/// # fn example<E: Endpoint>(link: Link<E>) -> Result<(), Error> {
/// println!("open {}", link.url()?);
/// # Ok(())
/// # }
/// ```
#[must_use = "a link is of use by its URL"]
pub struct Link<E> {
    merchant: Merchant,
    base: Option<String>,
    path: Vec<(&'static str, String)>,
    query: Vec<(&'static str, String)>,
    endpoint: PhantomData<fn() -> E>,
}

impl<E: Endpoint> Link<E> {
    /// A link to an operation of a merchant. Generated methods make it.
    pub fn new(merchant: &Merchant) -> Self {
        Self {
            merchant: merchant.clone(),
            base: None,
            path: Vec::new(),
            query: Vec::new(),
            endpoint: PhantomData,
        }
    }

    /// Opens it below another endpoint than the merchant's REST endpoint: a permalink is below the
    /// `config.endpoint` of the capability `dev.ucp.shopping.permalink`.
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        self.base = Some(url.into());
        self
    }

    /// Fills a parameter of the path. It stays one segment, whatever it holds.
    pub fn path(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.path.push((name, value.into()));
        self
    }

    /// Adds a parameter to the query.
    pub fn query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    /// The URL.
    ///
    /// # Errors
    ///
    /// [`Error::NotSent`] for a path parameter that makes no segment.
    pub fn url(&self) -> Result<Url, Error> {
        let operation = E::OPERATION;
        endpoint::join(
            self.merchant.endpoint(),
            operation.path,
            &self.path,
            &self.query,
        )
        .map_err(|problem| Error::not_sent(operation.id, problem))
    }
}

impl<E> fmt::Debug for Link<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("merchant", &self.merchant.origin())
            .field("path", &self.path)
            .field("query", &self.query)
            .finish()
    }
}
