//! The thirteen operations of the shopping service, and what the protocol says of each.

use axum::http::Method;
use serde::{Deserialize, Serialize};

use crate::profile::{CART, CATALOG_LOOKUP, CATALOG_SEARCH, CHECKOUT, ORDER};

/// An operation of the shopping service; its serialised form is the contract's `operationId`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the contract's own")]
pub enum Operation {
    CreateCart,
    GetCart,
    UpdateCart,
    CancelCart,
    CreateCheckout,
    GetCheckout,
    UpdateCheckout,
    CompleteCheckout,
    CancelCheckout,
    SearchCatalog,
    LookupCatalog,
    GetProduct,
    GetOrder,
}

impl Operation {
    /// Every operation.
    pub const ALL: [Operation; 13] = [
        Operation::CreateCart,
        Operation::GetCart,
        Operation::UpdateCart,
        Operation::CancelCart,
        Operation::CreateCheckout,
        Operation::GetCheckout,
        Operation::UpdateCheckout,
        Operation::CompleteCheckout,
        Operation::CancelCheckout,
        Operation::SearchCatalog,
        Operation::LookupCatalog,
        Operation::GetProduct,
        Operation::GetOrder,
    ];

    /// The `operationId`.
    pub fn id(self) -> &'static str {
        match self {
            Operation::CreateCart => "create_cart",
            Operation::GetCart => "get_cart",
            Operation::UpdateCart => "update_cart",
            Operation::CancelCart => "cancel_cart",
            Operation::CreateCheckout => "create_checkout",
            Operation::GetCheckout => "get_checkout",
            Operation::UpdateCheckout => "update_checkout",
            Operation::CompleteCheckout => "complete_checkout",
            Operation::CancelCheckout => "cancel_checkout",
            Operation::SearchCatalog => "search_catalog",
            Operation::LookupCatalog => "lookup_catalog",
            Operation::GetProduct => "get_product",
            Operation::GetOrder => "get_order",
        }
    }

    /// Method and path under the endpoint.
    pub fn route(self) -> (Method, &'static str) {
        match self {
            Operation::CreateCart => (Method::POST, "/carts"),
            Operation::GetCart => (Method::GET, "/carts/{id}"),
            Operation::UpdateCart => (Method::PUT, "/carts/{id}"),
            Operation::CancelCart => (Method::POST, "/carts/{id}/cancel"),
            Operation::CreateCheckout => (Method::POST, "/checkout-sessions"),
            Operation::GetCheckout => (Method::GET, "/checkout-sessions/{id}"),
            Operation::UpdateCheckout => (Method::PUT, "/checkout-sessions/{id}"),
            Operation::CompleteCheckout => (Method::POST, "/checkout-sessions/{id}/complete"),
            Operation::CancelCheckout => (Method::POST, "/checkout-sessions/{id}/cancel"),
            Operation::SearchCatalog => (Method::POST, "/catalog/search"),
            Operation::LookupCatalog => (Method::POST, "/catalog/lookup"),
            Operation::GetProduct => (Method::POST, "/catalog/product"),
            Operation::GetOrder => (Method::GET, "/orders/{id}"),
        }
    }

    /// The capability that both sides must have for the operation to be on offer.
    pub fn capability(self) -> &'static str {
        match self {
            Operation::CreateCart
            | Operation::GetCart
            | Operation::UpdateCart
            | Operation::CancelCart => CART,
            Operation::CreateCheckout
            | Operation::GetCheckout
            | Operation::UpdateCheckout
            | Operation::CompleteCheckout
            | Operation::CancelCheckout => CHECKOUT,
            Operation::SearchCatalog => CATALOG_SEARCH,
            Operation::LookupCatalog | Operation::GetProduct => CATALOG_LOOKUP,
            Operation::GetOrder => ORDER,
        }
    }

    /// The name under which `ucp_request` marks speak of the operation; `None` when it has no body.
    pub fn request_mark(self) -> Option<&'static str> {
        match self {
            Operation::CreateCart | Operation::CreateCheckout => Some("create"),
            Operation::UpdateCart | Operation::UpdateCheckout => Some("update"),
            Operation::CompleteCheckout => Some("complete"),
            Operation::SearchCatalog => Some("search"),
            Operation::LookupCatalog => Some("lookup"),
            Operation::GetProduct => Some("get_product"),
            Operation::GetCart
            | Operation::CancelCart
            | Operation::GetCheckout
            | Operation::CancelCheckout
            | Operation::GetOrder => None,
        }
    }

    /// Whether the operation changes state, and so declares `Idempotency-Key`.
    pub fn changes_state(self) -> bool {
        matches!(
            self,
            Operation::CreateCart
                | Operation::UpdateCart
                | Operation::CancelCart
                | Operation::CreateCheckout
                | Operation::UpdateCheckout
                | Operation::CompleteCheckout
                | Operation::CancelCheckout
        )
    }

    /// The status of an answer that carries the resource.
    pub fn success_status(self) -> u16 {
        match self {
            Operation::CreateCart | Operation::CreateCheckout => 201,
            _ => 200,
        }
    }
}
