//! What generated clients of the Universal Commerce Protocol (UCP) call, and what their users hold.
//!
//! An [`Agent`] is who buys. It finds a [`Merchant`], of which a generated client is made. The
//! client's methods take what an operation itself needs and return a [`Call`]; awaiting it gives a
//! [`Response`], and [`Response::handoff`] says what happens next. The runtime fills in the rest:
//! the agent's identity, ids that survive a replay, credentials, limits.
//!
//! ```no_run
//! use ucp_runtime::{Agent, Handoff, Host};
//! # use ucp_runtime::{Call, Endpoint};
//! # struct Client<E>(ucp_runtime::Merchant, std::marker::PhantomData<E>);
//! # impl<E: Endpoint> Client<E> {
//! #     fn new(merchant: &ucp_runtime::Merchant) -> Self { Self(merchant.clone(), Default::default()) }
//! #     fn get_checkout(&self, id: &str) -> Call<E> { Call::new(&self.0).path("id", id) }
//! # }
//! # async fn example<E: Endpoint>() -> Result<(), ucp_runtime::Error> {
//! let agent = Agent::builder("https://agent.example/.well-known/ucp")?.build()?;
//! let merchant = agent.connect("https://shop.example").await?;
//! let shop = Client::new(&merchant); // generated
//! # let shop: Client<E> = shop;
//! let checkout = shop.get_checkout("co_1").await?;
//! match checkout.handoff(&Host::default())? {
//!     Handoff::Conversational { next, .. } => println!("{next:?}"),
//!     Handoff::ContinueUrl { url, .. } => println!("open {}", url.as_str()),
//!     other => println!("{other:?}"),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Requests are timed with `tokio`'s timer, so futures must run on a `tokio` runtime.
//!
//! # Features
//!
//! * `reqwest` (default): the default transport. Without it, bring a [`Transport`].
//! * `macros` (default): the macro that generates clients.
//! * `ring`, `aws-lc-rs`: a faster ES256, behind the same [`SigningKey`](signatures::SigningKey).
//! * `sqlite`: a journal in a SQLite database.
//! * `tracing`: a span for each attempt, and events, without secrets.
//! * `axum`: a router that serves the agent's own profile.
//! * `rig`: the tools as those of rig's agents.

mod agent;
mod anomaly;
pub mod authority;
mod call;
mod clock;
mod context;
mod credentials;
mod discovery;
mod endpoint;
pub mod error;
mod execute;
pub mod fetch;
pub mod guard;
pub mod handoff;
mod headers;
mod hooks;
mod identity;
pub mod ids;
pub mod journal;
mod keys;
mod link;
pub mod map_order;
mod merchant;
mod money;
pub mod negotiation;
pub mod operation;
mod outcome;
mod pages;
pub mod platform_profile;
mod prepared;
pub mod profile;
pub mod public_jwk;
#[cfg(feature = "reqwest")]
mod reqwest_transport;
mod response;
mod retry;
mod said;
pub mod signatures;
mod signing;
pub mod tools;
mod trace;
mod transport;
pub mod untyped;
mod verification;
mod wait;
pub mod wire;

pub use agent::{Agent, AgentBuilder};
pub use anomaly::Anomaly;
pub use call::Call;
pub use clock::{Clock, Randomness};
pub use context::Context;
pub use credentials::{Credential, CredentialProvider};
pub use discovery::Discovery;
pub use error::{ConfigError, Error, RequestError};
pub use guard::Guard;
pub use handoff::{Handoff, Host};
pub use hooks::{Additions, Outgoing, PrepareRequest};
pub use identity::ProfileUrl;
pub use ids::{CallId, IdempotencyKey, Keys};
pub use keys::KeySource;
pub use link::Link;
pub use merchant::Merchant;
pub use money::Money;
pub use negotiation::{Negotiated, Release};
pub use operation::{Answers, Endpoint, Header, Operation, Webhook};
pub use outcome::{OutcomeUnknown, Recovered};
pub use pages::Pages;
pub use platform_profile::PlatformProfile;
pub use prepared::{Prepared, Shown};
pub use profile::Profile;
pub use public_jwk::PublicJwk;
#[cfg(feature = "reqwest")]
pub use reqwest_transport::ReqwestTransport;
pub use response::{Outcome, RawResponse, Response};
pub use retry::{Attempt, Attempted, Observe, Retry};
pub use transport::{BoxError, BoxFuture, ResponseBody, Transport, TransportError};
pub use untyped::Untyped;
pub use verification::{Unverified, Verification};

#[cfg(feature = "macros")]
pub use ucp_macros::include_ucp;
pub use {http, jiff, secrecy, serde, serde_json, url, uuid};
#[cfg(feature = "reqwest")]
pub use {reqwest, rustls};
