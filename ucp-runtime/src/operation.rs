//! What a generated client says of an operation of the contract.

use crate::wire::{Check, Read};

/// One operation of the contract, as data. Generated code has one constant of it an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Operation {
    /// The contract's `operationId`, for example `create_checkout`.
    pub id: &'static str,
    /// The HTTP method.
    pub method: http::Method,
    /// The path below the merchant's endpoint, with its parameters in braces:
    /// `/checkout-sessions/{id}`.
    pub path: &'static str,
    /// Header parameters that the contract declares and that no method argument carries: the
    /// runtime fills those it knows.
    pub headers: &'static [Header],
    /// The service that offers the operation, for example `dev.ucp.shopping`.
    pub service: &'static str,
    /// The release of the contract, for example `2026-04-08`.
    pub release: &'static str,
}

impl Operation {
    /// An operation of `release`.
    #[must_use]
    pub const fn new(
        release: &'static str,
        service: &'static str,
        id: &'static str,
        method: http::Method,
        path: &'static str,
        headers: &'static [Header],
    ) -> Self {
        Self {
            id,
            method,
            path,
            headers,
            service,
            release,
        }
    }
}

/// A header parameter that the contract declares for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name as the contract writes it.
    pub name: &'static str,
    /// Whether the contract requires it.
    pub required: bool,
}

impl Header {
    /// One that the contract requires.
    #[must_use]
    pub const fn required(name: &'static str) -> Self {
        Self {
            name,
            required: true,
        }
    }

    /// One that may be left out.
    #[must_use]
    pub const fn optional(name: &'static str) -> Self {
        Self {
            name,
            required: false,
        }
    }
}

/// The type that stands for an operation in a [`Call`](crate::Call)'s type.
pub trait Endpoint: Send + Sync + 'static {
    /// The operation.
    const OPERATION: &'static Operation;
    /// What the contract demands of the request's body beyond its type.
    const RULES: &'static [Check] = &[];
    /// The body of an answer whose `ucp.status` is not `error`.
    type Success: Read + Send;
    /// The body of an answer whose `ucp.status` is `error`.
    type Failure: Read + Send;
}

/// The type that stands for a webhook: what a merchant sends on its own.
pub trait Webhook: Send + Sync + 'static {
    /// The operation; its path is the webhook's name in the contract.
    const OPERATION: &'static Operation;
    /// The body.
    type Body: Read + Send;
}
