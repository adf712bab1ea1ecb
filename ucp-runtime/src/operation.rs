//! What a generated client says of an operation of the contract.

use crate::guard::Guard;
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
    /// Whether it changes something at the merchant: the contract declares an `Idempotency-Key`.
    pub changes: bool,
    /// Of an operation that changes a resource which exists: the one that reads it.
    pub read: Option<&'static Operation>,
}

/// The operation that moves money.
pub(crate) const COMPLETES: &str = "complete_checkout";

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
            changes: false,
            read: None,
        }
    }

    /// One that changes something at the merchant; `read` is the operation that reads the resource
    /// which it is about, where that exists before it.
    #[must_use]
    pub const fn changing(mut self, read: Option<&'static Operation>) -> Self {
        self.changes = true;
        self.read = read;
        self
    }

    /// Whether it completes a checkout: the one that moves money.
    pub(crate) fn completes(&self) -> bool {
        self.id == COMPLETES
    }

    /// What a checkout is asked before the operation changes it.
    pub(crate) fn guards(&self) -> &'static [Guard] {
        match self.id {
            COMPLETES => &Guard::ALL,
            "update_checkout" => &[Guard::InProgress, Guard::Expired],
            _ => &[],
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
    /// One that the contract requires. Written by generated code.
    #[must_use]
    pub const fn required(name: &'static str) -> Self {
        Self {
            name,
            required: true,
        }
    }

    /// One that may be left out. Written by generated code.
    #[must_use]
    pub const fn optional(name: &'static str) -> Self {
        Self {
            name,
            required: false,
        }
    }
}

/// Where an input goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A segment of the path.
    Path,
    /// The query.
    Query,
    /// A header, which the client was generated with as an input.
    Header,
    /// The body; the input's name is `body`.
    Body,
}

/// An input of an operation's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Input {
    /// Its name in the contract.
    pub name: &'static str,
    /// Where it goes.
    pub place: Place,
    /// Whether it must be given.
    pub required: bool,
}

impl Input {
    /// An input that must be given. Written by generated code.
    #[must_use]
    pub const fn required(place: Place, name: &'static str) -> Self {
        Self {
            name,
            place,
            required: true,
        }
    }

    /// An input that may be left out. Written by generated code.
    #[must_use]
    pub const fn optional(place: Place, name: &'static str) -> Self {
        Self {
            name,
            place,
            required: false,
        }
    }
}

/// The type that stands for an operation in a [`Call`](crate::Call)'s type.
pub trait Endpoint: Send + Sync + 'static {
    /// The operation.
    const OPERATION: &'static Operation;
    /// Its own inputs, the body last.
    const INPUTS: &'static [Input] = &[];
    /// What the contract demands of the request's body beyond its type.
    const RULES: &'static [Check] = &[];
    /// The body of an answer whose `ucp.status` is not `error`.
    type Success: Read + Send;
    /// The body of an answer whose `ucp.status` is `error`.
    type Failure: Read + Send;
}

/// What the answer of a [`Call`](crate::Call) is read as: an [`Endpoint`]'s own types, or JSON for
/// an operation that was [chosen while the program runs](crate::untyped::Untyped).
pub trait Answers: Send + Sync + 'static {
    /// The body of an answer whose `ucp.status` is not `error`.
    type Success: Read + Send;
    /// The body of an answer whose `ucp.status` is `error`.
    type Failure: Read + Send;
}

impl<E: Endpoint> Answers for E {
    type Success = <E as Endpoint>::Success;
    type Failure = <E as Endpoint>::Failure;
}

/// An operation that changes a checkout, or may turn out to, and is judged by what it was: an update
/// and a completion.
pub trait ChangesCheckout: Answers {}

/// An operation that completes a checkout, or may turn out to.
pub trait CompletesCheckout: ChangesCheckout {}

/// An operation that reads a checkout.
pub trait ReadsCheckout: Endpoint {}

/// An operation that answers with one page of a list, by the `pagination` of its request and answer.
pub trait Paged: Endpoint {}

/// The type that stands for a webhook: what a merchant sends on its own.
pub trait Webhook: Send + Sync + 'static {
    /// The operation; its path is the webhook's name in the contract.
    const OPERATION: &'static Operation;
    /// The body.
    type Body: Read + Send;
}
