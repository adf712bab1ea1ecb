//! HTTP message signatures (RFC 9421) as the protocol uses them, over plain [`http`] types and
//! without any client: signing, verifying, digests, keys, webhooks.
//!
//! | to … | see | by |
//! |---|---|---|
//! | keep a key, or sign with one kept elsewhere | [`SigningKey`], [`Signer`] | RFC 7517, RFC 8037, RFC 5958 |
//! | sign a request or a response | [`Signing`] | RFC 9421 section 3.1 |
//! | sign for Web Bot Auth too | [`WebBotAuth`] | UCP signatures, "WBA Interop" |
//! | verify a request or a response | [`Verifier`] | RFC 9421 section 3.2 |
//! | make or check a digest of a body | [`content_digest`], [`check_content_digest`] | RFC 9530 |
//! | name a key by what it is | [`thumbprint`] | RFC 7638 |
//! | receive webhooks | [`WebhookVerifier`] | UCP order, "Webhook Signature Verification" |
//! | verify webhooks of January 2026 | [`detached_jws`] | RFC 7797 |
//!
//! Clock and nonce are passed in, and nothing here fetches a key: keys come as
//! [`PublishedKeys`](crate::profile::PublishedKeys), out of a profile or of any JWK Set.

mod base;
pub mod detached_jws;
mod digest;
mod error;
mod fields;
mod jwk;
mod key;
mod p256_backend;
mod seen;
mod sign;
mod signing_key;
mod verify;
mod web_bot_auth;
mod webhook;

pub use base::{RequestHead, ResponseHead};
pub use digest::{check_content_digest, content_digest};
pub use error::{Code, KeyError, Reason, Rejected, SignError};
pub use jwk::thumbprint;
pub use key::{Algorithm, PublicKey};
pub use seen::{RecentDeliveries, SeenDeliveries};
pub use sign::{Signed, Signing};
pub use signing_key::{Signer, SigningKey};
pub use verify::{Verified, Verifier, is_signed, received_request_base, received_response_base};
pub use web_bot_auth::{KeyDirectory, WebBotAuth};
pub use webhook::{
    Business, BusinessKeys, Delivery, Novelty, OrderOwners, WebhookError, WebhookVerifier,
};
