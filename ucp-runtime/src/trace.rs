//! What the runtime tells `tracing`: nothing without the feature, and never a secret or a body.

#![cfg_attr(not(feature = "tracing"), allow(unused_variables))]

use crate::prepared::Request;
use std::fmt::Display;
use std::future::Future;

/// One attempt of a call, as a span: operation, merchant, request id and number of the attempt.
pub(crate) fn attempt<F: Future>(
    request: &Request,
    number: u32,
    attempt: F,
) -> impl Future<Output = F::Output> + use<F> {
    #[cfg(feature = "tracing")]
    let attempt = tracing::Instrument::instrument(
        attempt,
        tracing::debug_span!(
            "ucp attempt",
            operation = request.operation.id,
            merchant = request.merchant.origin(),
            request_id = %request.keys.request_id,
            number,
        ),
    );
    attempt
}

pub(crate) fn answered(status: http::StatusCode) {
    #[cfg(feature = "tracing")]
    tracing::debug!(status = status.as_u16(), "answered");
}

pub(crate) fn outcome_not_kept(operation: &str, error: &dyn Display) {
    #[cfg(feature = "tracing")]
    tracing::warn!(%error, operation, "the journal did not keep an outcome");
}

pub(crate) fn merchant_found(key: &str, version: &str, endpoint: &str) {
    #[cfg(feature = "tracing")]
    tracing::debug!(key, version, endpoint, "found a merchant");
}

pub(crate) fn merchant_not_found(key: &str, error: &dyn Display) {
    #[cfg(feature = "tracing")]
    tracing::debug!(key, %error, "found no merchant");
}

pub(crate) fn not_revalidated(key: &str, error: &dyn Display) {
    #[cfg(feature = "tracing")]
    tracing::debug!(key, %error, "a profile could not be revalidated");
}
