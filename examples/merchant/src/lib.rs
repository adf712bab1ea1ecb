//! A strict sandbox merchant that speaks the Universal Commerce Protocol, release 2026-04-08.
//!
//! It judges the requests of a client: whatever departs from the contract is refused with the place
//! where it does. It keeps what it was sent and what it sold, and a [script] makes it
//! escalate, fail, or lose its answers.
//!
//! ```no_run
//! # async fn example() -> Result<(), merchant::Error> {
//! use merchant::{Merchant, Operation, Stimulus, Target};
//!
//! let merchant = Merchant::builder().seed(7).start().await?;
//! merchant.script(Target::Next(Operation::CompleteCheckout), [Stimulus::LoseAnswer]);
//! println!("{}/.well-known/ucp", merchant.origin());
//! // … a purchase …
//! assert_eq!(merchant.orders().len(), 1);
//! merchant.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! What it sells and takes: twelve products (search for them), the discount codes `SUMMER10` (10 %
//! off each item), `FIVEOFF`, `FREESHIP` and the expired `WINTER20`, shipping (`standard` 500,
//! `express` 1500) or pickup at `store_1`, 10 % tax once the destination is known, and any token
//! but `tok_decline`.
//!
//! It signs all answers under its endpoint and all webhooks. [`Builder::signatures`] says which
//! requests must be signed.

#![allow(
    clippy::indexing_slicing,
    reason = "only JSON is indexed, where a missing member reads as null and a set one is made"
)]

mod admin;
mod agent;
mod answer;
mod basket;
mod cart;
mod catalog;
mod checkout;
mod fulfillment;
mod idempotency;
mod operation;
mod order;
pub mod outbound;
mod page;
mod pricing;
pub mod profile;
pub mod script;
mod service;
mod shop;
mod signatures;
pub mod validate;
pub mod webhooks;

use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::get;
use jiff::Timestamp;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use ucp_runtime::signatures::SigningKey;
use uuid::Uuid;

pub use answer::Severity;
pub use operation::Operation;
pub use order::Order;
pub use script::{Cue, Stimulus, Target};
pub use signatures::Signatures;
pub use webhooks::Delivery;

use shop::Shop;
use validate::Contract;
use webhooks::Event;

/// Why a merchant could not be set up.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// Sets up a [`Merchant`].
pub struct Builder {
    port: u16,
    clock: Box<dyn Fn() -> Timestamp + Send + Sync>,
    ids: Box<dyn FnMut() -> Uuid + Send>,
    backoff: Duration,
    key: Option<SigningKey>,
    signatures: Signatures,
}

impl Builder {
    /// The loopback port to listen on; a free one by default.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// The clock; the system's by default.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// Where ids come from; random by default.
    #[must_use]
    pub fn ids(mut self, ids: impl FnMut() -> Uuid + Send + 'static) -> Self {
        self.ids = Box::new(ids);
        self
    }

    /// Ids that are the same in every run with this seed.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        let mut drawn = 0_u64;
        self.ids(move || {
            drawn += 1;
            let mut bytes = [0; 16];
            let hash = Sha256::new()
                .chain_update(seed.to_be_bytes())
                .chain_update(drawn.to_be_bytes())
                .finalize();
            bytes.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
            uuid::Builder::from_random_bytes(bytes).into_uuid()
        })
    }

    /// The wait before a webhook's second attempt, doubled for each further one; 200 ms by default.
    #[must_use]
    pub fn webhook_backoff(mut self, backoff: Duration) -> Self {
        self.backoff = backoff;
        self
    }

    /// The key that signs answers and webhooks; by default one that every sandbox has.
    #[must_use]
    pub fn signing_key(mut self, key: SigningKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Which requests must be signed, by a key in their agent's profile;
    /// [`Signatures::WhenPresent`] by default.
    #[must_use]
    pub fn signatures(mut self, signatures: Signatures) -> Self {
        self.signatures = signatures;
        self
    }

    /// A merchant without a server, to mount with [`Merchant::router`] under `origin`
    /// (`http://host:port`). Must be called within a tokio runtime, where its webhooks are sent.
    ///
    /// # Errors
    ///
    /// When the contract does not compile or TLS cannot be set up.
    pub fn build(self, origin: impl Into<String>) -> Result<Merchant, Error> {
        let origin = origin.into();
        let (outbox, events) = mpsc::unbounded_channel();
        let inner = Arc::new(Inner {
            origin: origin.clone(),
            contract: Contract::compiled()?,
            clock: self.clock,
            backoff: self.backoff,
            agents: agent::Agents::new()?,
            key: self.key.map_or_else(signatures::sandbox_key, Ok)?,
            signatures: self.signatures,
            shop: Mutex::new(Shop {
                catalog: catalog::Catalog::new(&origin),
                origin,
                carts: Default::default(),
                checkouts: Default::default(),
                orders: Vec::new(),
                script: Default::default(),
                answers: Default::default(),
                events: Vec::new(),
                ids: self.ids,
            }),
            exchanges: Mutex::default(),
            deliveries: Mutex::default(),
        });
        tokio::spawn(webhooks::run(inner.clone(), events));
        Ok(Merchant { inner, outbox })
    }

    /// Listens on loopback and serves until [`Running::shutdown`].
    ///
    /// # Errors
    ///
    /// As [`Builder::build`], and when the port is taken.
    pub async fn start(self) -> Result<Running, Error> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let listener = tokio::net::TcpListener::bind(address).await?;
        let merchant = self.build(format!("http://{}", listener.local_addr()?))?;
        let (stop, stopped) = oneshot::channel::<()>();
        let server = axum::serve(listener, merchant.router()).with_graceful_shutdown(async {
            // Dropping the handle stops the server as well.
            let _ = stopped.await;
        });
        let server = tokio::spawn(async move { server.await });
        Ok(Running {
            merchant,
            stop,
            server,
        })
    }
}

/// What a merchant is made of; one lock for each concern, none held across an await.
struct Inner {
    origin: String,
    contract: &'static Contract,
    clock: Box<dyn Fn() -> Timestamp + Send + Sync>,
    backoff: Duration,
    agents: agent::Agents,
    key: SigningKey,
    signatures: Signatures,
    shop: Mutex<Shop>,
    exchanges: Mutex<Vec<Exchange>>,
    deliveries: Mutex<Vec<Delivery>>,
}

/// A request with its answer, both as they were on the wire.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The request's headers.
    pub headers: HeaderMap,
    /// The request's exact bytes.
    pub body: Bytes,
    /// The answer's status.
    pub status: u16,
    /// The answer's exact bytes.
    pub answer: Bytes,
}

/// A merchant: looked at, scripted, and served by a router. Clones are the same merchant.
#[derive(Clone)]
pub struct Merchant {
    inner: Arc<Inner>,
    outbox: mpsc::UnboundedSender<Event>,
}

impl Merchant {
    /// Sets up a merchant with the system's clock, random ids and a free port.
    pub fn builder() -> Builder {
        Builder {
            port: 0,
            #[expect(
                clippy::disallowed_methods,
                reason = "the default of what can be passed in"
            )]
            clock: Box::new(Timestamp::now),
            ids: Box::new(Uuid::new_v4),
            backoff: Duration::from_millis(200),
            key: None,
            signatures: Signatures::default(),
        }
    }

    /// Everything that the merchant serves.
    pub fn router(&self) -> Router {
        let profile = |State(merchant): State<Merchant>, headers: HeaderMap| async move {
            profile::answer(&merchant.profile(), &headers)
        };
        Router::new()
            .route(profile::WELL_KNOWN, get(profile))
            .merge(service::router())
            .merge(page::router())
            .layer(axum::middleware::from_fn_with_state(
                self.clone(),
                service::record,
            ))
            .merge(admin::router())
            .with_state(self.clone())
    }

    /// The profile as it is published.
    pub fn profile(&self) -> Value {
        profile::document(&self.inner.origin, self.inner.key.public_key())
    }

    /// `http://host:port`.
    pub fn origin(&self) -> &str {
        &self.inner.origin
    }

    /// What came and went since the start, scripting aside.
    pub fn exchanges(&self) -> Vec<Exchange> {
        lock(&self.inner.exchanges).clone()
    }

    /// The orders placed, oldest first: more than one for a checkout is somebody's mistake.
    pub fn orders(&self) -> Vec<Order> {
        lock(&self.inner.shop).orders.clone()
    }

    /// The order events that were delivered or given up.
    pub fn deliveries(&self) -> Vec<Delivery> {
        lock(&self.inner.deliveries).clone()
    }

    /// The contract that requests are held against.
    pub fn contract(&self) -> &Contract {
        self.inner.contract
    }

    /// Queues stimuli that strike together.
    pub fn script(&self, target: Target, stimuli: impl IntoIterator<Item = Stimulus>) {
        let stimuli = stimuli.into_iter().collect();
        lock(&self.inner.shop).script.push(Cue { target, stimuli });
    }

    /// Sets what is left of a variant.
    pub fn set_stock(&self, variant: &str, left: u32) {
        let catalog = &mut lock(&self.inner.shop).catalog;
        catalog.set_stock(variant, left.into());
    }

    /// Does what the buyer does at `continue_url`: answers what `requires_buyer_input` asks, or
    /// reviews and pays when nothing else is missing.
    /// False when there is no such open checkout.
    pub fn approve(&self, checkout: &str) -> bool {
        let mut shop = lock(&self.inner.shop);
        let found = shop.approve(checkout).is_some();
        self.announce(&mut shop);
        found
    }

    /// Does what the buyer does on the embedded page, where the host hands over how to pay. False
    /// when there is no such open checkout.
    pub(crate) fn pay(&self, checkout: &str, payment: &Value) -> bool {
        let mut shop = lock(&self.inner.shop);
        let found = shop.pay(checkout, payment).is_some();
        self.announce(&mut shop);
        found
    }

    /// Ships what an order lacks and tells its agent. False when there is no such order.
    pub fn ship(&self, order: &str) -> bool {
        let mut shop = lock(&self.inner.shop);
        let found = shop.ship(order, (self.inner.clock)()).is_some();
        self.announce(&mut shop);
        found
    }

    /// Hands the shop's events to the sender of webhooks, in the order in which they came to be.
    fn announce(&self, shop: &mut Shop) {
        for order in std::mem::take(&mut shop.events) {
            let Some(url) = order.owner.webhook.clone() else {
                continue;
            };
            let event = Event {
                url,
                id: (shop.ids)(),
                timestamp: (self.inner.clock)().as_second(),
                body: order.body.to_string().into(),
            };
            if self.outbox.send(event).is_err() {
                tracing::warn!(order = order.id, "nobody sends webhooks any more");
            }
        }
    }
}

/// A merchant that is being served. Dropping it stops the server without waiting.
pub struct Running {
    merchant: Merchant,
    stop: oneshot::Sender<()>,
    server: JoinHandle<std::io::Result<()>>,
}

impl Running {
    /// Stops listening and waits for the requests under way.
    pub async fn shutdown(self) {
        let _ = self.stop.send(());
        if let Ok(Err(error)) = self.server.await {
            tracing::error!(%error, "the server failed");
        }
    }
}

impl Deref for Running {
    type Target = Merchant;

    fn deref(&self) -> &Merchant {
        &self.merchant
    }
}

/// A panic elsewhere leaves the state as it was between two statements, which a sandbox can bear.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
