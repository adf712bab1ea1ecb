//! What the merchant publishes about itself, and what of it an agent shares.

use std::collections::BTreeSet;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use ucp_runtime::signatures::PublicKey;

/// The protocol release that the merchant speaks.
pub const RELEASE: &str = "2026-04-08";
/// The shopping service.
pub const SHOPPING: &str = "dev.ucp.shopping";
/// Where the profile lies under an origin.
pub const WELL_KNOWN: &str = "/.well-known/ucp";
/// Where the REST binding lies under the origin.
pub const ENDPOINT: &str = "/ucp/v1";

/// Carts.
pub const CART: &str = "dev.ucp.shopping.cart";
/// Checkout sessions.
pub const CHECKOUT: &str = "dev.ucp.shopping.checkout";
/// Catalog search.
pub const CATALOG_SEARCH: &str = "dev.ucp.shopping.catalog.search";
/// Catalog lookup and product detail.
pub const CATALOG_LOOKUP: &str = "dev.ucp.shopping.catalog.lookup";
/// Orders and their events.
pub const ORDER: &str = "dev.ucp.shopping.order";

/// The name of the payment handler.
pub const HANDLER: &str = "com.example.sandbox_pay";
/// The `handler_id` that instruments must name.
pub const HANDLER_ID: &str = "sandbox_pay";
/// The instrument types that the handler takes.
pub const INSTRUMENTS: [&str; 2] = ["card", "sandbox_wallet"];

/// Name, page and schema file of each capability, and the capabilities that it extends.
const CAPABILITIES: [(&str, &str, &str, &[&str]); 8] = [
    (CHECKOUT, "checkout", "checkout", &[]),
    (CART, "cart", "cart", &[]),
    (CATALOG_SEARCH, "catalog/search", "catalog_search", &[]),
    (CATALOG_LOOKUP, "catalog/lookup", "catalog_lookup", &[]),
    (ORDER, "order", "order", &[]),
    (
        "dev.ucp.shopping.discount",
        "discount",
        "discount",
        &[CHECKOUT, CART],
    ),
    (
        "dev.ucp.shopping.fulfillment",
        "fulfillment",
        "fulfillment",
        &[CHECKOUT],
    ),
    (
        "dev.ucp.shopping.buyer_consent",
        "buyer-consent",
        "buyer_consent",
        &[CHECKOUT],
    ),
];

/// The merchant's profile as it is published, with the key that its signatures are checked by.
pub(crate) fn document(origin: &str, key: &PublicKey) -> Value {
    let base = format!("https://ucp.dev/{RELEASE}");
    let capabilities: Map<String, Value> = CAPABILITIES
        .iter()
        .map(|(name, page, schema, extends)| {
            let mut entry = json!({
                "version": RELEASE,
                "spec": format!("{base}/specification/{page}"),
                "schema": format!("{base}/schemas/shopping/{schema}.json"),
            });
            match extends {
                [] => {}
                [one] => entry["extends"] = json!(one),
                many => entry["extends"] = json!(many),
            }
            ((*name).to_owned(), json!([entry]))
        })
        .collect();
    json!({
        "ucp": {
            "version": RELEASE,
            "services": {
                SHOPPING: [
                    {
                        "version": RELEASE,
                        "transport": "rest",
                        "endpoint": format!("{origin}{ENDPOINT}"),
                        "spec": format!("{base}/specification/overview"),
                        "schema": format!("{base}/services/shopping/rest.openapi.json"),
                    },
                    {
                        "version": RELEASE,
                        "transport": "embedded",
                        "spec": format!("{base}/specification/embedded-checkout"),
                        "schema": format!("{base}/services/shopping/embedded.openrpc.json"),
                    },
                ],
            },
            "capabilities": capabilities,
            "payment_handlers": payment_handlers(),
        },
        "signing_keys": [key.to_jwk()],
    })
}

/// Answers `GET /.well-known/ucp`, cacheable and revalidated by its digest.
pub(crate) fn answer(document: &Value, request: &HeaderMap) -> Response {
    let body = document.to_string();
    let digest = Sha256::digest(&body);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("\"{hex}\"");
    let mut headers = HeaderMap::new();
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("public, max-age=60"),
    );
    if let Ok(value) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, value);
    }
    let known = request
        .get(header::IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.split(',').any(|known| known.trim() == tag));
    if known {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    (headers, body).into_response()
}

/// The handlers as both the profile and checkout responses list them.
fn payment_handlers() -> Value {
    let instruments = INSTRUMENTS.map(|kind| json!({ "type": kind }));
    json!({
        HANDLER: [{
            "id": HANDLER_ID,
            "version": RELEASE,
            "spec": "https://example.com/sandbox-pay",
            "schema": "https://example.com/sandbox-pay/schema.json",
            "available_instruments": instruments,
        }],
    })
}

/// The capabilities that an agent's profile and this merchant's have in common. An extension
/// without its parent among them never shows: responses list extensions by their parent.
pub(crate) fn negotiate(agent: &Value) -> BTreeSet<&'static str> {
    let offered = |name: &str| {
        agent
            .pointer("/ucp/capabilities")
            .and_then(|capabilities| capabilities.get(name))
            .and_then(Value::as_array)
            .is_some_and(|entries| entries.iter().any(|entry| entry["version"] == RELEASE))
    };
    CAPABILITIES
        .iter()
        .map(|(name, ..)| *name)
        .filter(|name| offered(name))
        .collect()
}

fn parents(name: &str) -> &'static [&'static str] {
    CAPABILITIES
        .iter()
        .find(|(candidate, ..)| *candidate == name)
        .map_or(&[], |(_, _, _, extends)| extends)
}

/// The `ucp` member of a response about `capability`.
pub(crate) fn envelope(common: &BTreeSet<&'static str>, capability: &str) -> Value {
    let active: Map<String, Value> = common
        .iter()
        .filter(|name| **name == capability || parents(name).contains(&capability))
        .map(|name| ((*name).to_owned(), json!([{ "version": RELEASE }])))
        .collect();
    let mut ucp = json!({ "version": RELEASE, "status": "success", "capabilities": active });
    if capability == CHECKOUT {
        ucp["payment_handlers"] = payment_handlers();
    }
    ucp
}
