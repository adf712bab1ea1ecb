//! An agent that shops, to be copied and made your own.
//!
//! It serves its own profile, a chat page and the conversation behind it. A model prepares an order
//! with the shop's operations as tools; the buyer places it, on a screen that shows what the shop says
//! just then. Everything that has to outlive the process is in SQLite: see [`events`] for what a
//! conversation is made of.
//!
//! | to change | go to |
//! |---|---|
//! | what the model is told | `instructions.md` |
//! | which model it is | [`Model`] and the two there are |
//! | what it can do | `tools.rs` |
//! | how the buyer pays | [`Wallet`] |
//! | what a screen shows | `screen.rs`, `form.rs` and `static/checkout.js` |
//!
//! ```no_run
//! # async fn example() -> Result<(), ucp_runtime::BoxError> {
//! use commerce_agent::{Scripted, SandboxWallet, Settings};
//!
//! let running = Settings {
//!     port: 4620,
//!     public_url: None,
//!     merchant: "http://127.0.0.1:8080".to_owned(),
//!     data: "commerce-agent-data".into(),
//!     model: Box::new(Scripted::default()),
//!     wallet: Box::new(SandboxWallet),
//! }
//! .start()
//! .await?;
//! println!("{}", running.url());
//! # Ok(())
//! # }
//! ```

#![allow(
    clippy::indexing_slicing,
    reason = "only JSON is indexed, to be read, where a missing member reads as null"
)]

pub mod events;
mod form;
pub mod model;
mod purchase;
mod screen;
mod shop;
mod store;
mod tools;
mod turns;
mod wallet;
mod web;
mod webhooks;

pub use model::{Model, OpenAi, Scripted};
pub use store::Event;
pub use wallet::{Instrument, SandboxWallet, Wallet};

use shop::{RELEASE, Shop};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use store::Store;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use ucp_runtime::jiff::Timestamp;
use ucp_runtime::journal::SqliteJournal;
use ucp_runtime::signatures::{Algorithm, SigningKey, WebhookVerifier};
use ucp_runtime::{Agent, BoxError, PlatformProfile, Randomness, Verification};

/// Where merchants report orders to.
const WEBHOOK: &str = "/webhooks/orders";

/// What an agent is set up with.
pub struct Settings {
    /// The port to listen on, of this machine alone; 0 takes a free one.
    pub port: u16,
    /// The origin that the world knows it by, such as `https://agent.example`, when something in front
    /// of it ends TLS. Without one it is for development: plain HTTP, on this machine only.
    pub public_url: Option<String>,
    /// The origin of the shop.
    pub merchant: String,
    /// The folder of its key, its secret and its databases; made when there is none.
    pub data: PathBuf,
    /// What thinks.
    pub model: Box<dyn Model>,
    /// How buyers pay.
    pub wallet: Box<dyn Wallet>,
}

impl Settings {
    /// Starts serving, and goes on with what was under way when the process ended.
    ///
    /// # Errors
    ///
    /// When the port is taken, the folder cannot be used, or a setting does not fit.
    pub async fn start(self) -> Result<Running, BoxError> {
        fs::create_dir_all(&self.data)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let listener = TcpListener::bind(address).await;
        let listener =
            listener.map_err(|error| format!("port {}: {error}; give another", self.port))?;
        let port = listener.local_addr()?.port();
        let local = format!("http://127.0.0.1:{port}");
        let origins = match &self.public_url {
            Some(url) => vec![url.trim_end_matches('/').to_owned()],
            None => vec![local, format!("http://localhost:{port}")],
        };
        let origin = origins.first().cloned().unwrap_or_default();
        let development = self.public_url.is_none();

        let key = signing_key(&self.data.join("agent.jwk"))?;
        let secret = secret(&self.data.join("secret"))?;
        let mut profile = PlatformProfile::builder(&RELEASE)
            .order_webhook(format!("{origin}{WEBHOOK}"))
            .public_key(key.public_key());
        let mut agent = Agent::builder(&format!("{origin}{}", PlatformProfile::PATH))?
            .id_secret(secret) // call ids become keys through it
            .release(RELEASE) // what the generated client speaks
            .signing_key(key) // every request is signed …
            .verification(Verification::WhenPresent) // … and answers are verified where they are
            .journal(SqliteJournal::open(self.data.join("journal.db"))?); // outlives the process
        if development {
            profile = profile.development();
            agent = agent.development();
        }
        let agent = agent.build()?;
        let store = Store::open(self.data.join("agent.db"))?;
        let shop = Shop::new(agent.clone(), self.merchant, development);
        let app = App(Arc::new(Inner {
            verifier: webhooks::verifier(store.clone(), agent),
            store,
            profile: profile.build()?,
            hosts: origins.iter().map(|origin| host(origin)).collect(),
            policy: policy(&shop),
            secure: origin.starts_with("https://"),
            origins,
            shop,
            model: self.model,
            wallet: self.wallet,
            secret,
            turns: Mutex::default(),
            watched: Mutex::default(),
            checkouts: Mutex::default(),
        }));
        app.resume_all().await?;
        let router = web::router(app.clone());
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Running {
            url: format!("{origin}/"),
            server,
        })
    }
}

/// An agent that is being served.
pub struct Running {
    url: String,
    server: JoinHandle<std::io::Result<()>>,
}

impl Running {
    /// The page.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Serves until it fails.
    ///
    /// # Errors
    ///
    /// When it does.
    pub async fn wait(mut self) -> Result<(), BoxError> {
        Ok((&mut self.server).await??)
    }
}

/// Stops listening. What is under way goes on at the next start.
impl Drop for Running {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// All that requests and turns share. Clones are the same.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

struct Inner {
    store: Store,
    shop: Shop,
    model: Box<dyn Model>,
    wallet: Box<dyn Wallet>,
    verifier: WebhookVerifier,
    profile: PlatformProfile,
    secret: [u8; 32],
    origins: Vec<String>,
    hosts: Vec<String>,
    policy: String,
    secure: bool,
    /// The conversations that a turn is at work on, and whether there came more meanwhile.
    turns: Mutex<HashMap<String, bool>>,
    /// What is being watched in the background.
    watched: Mutex<HashSet<String>>,
    checkouts: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
}

impl App {
    fn store(&self) -> &Store {
        &self.0.store
    }

    fn shop(&self) -> &Shop {
        &self.0.shop
    }

    fn model(&self) -> &dyn Model {
        self.0.model.as_ref()
    }

    fn wallet(&self) -> &dyn Wallet {
        self.0.wallet.as_ref()
    }

    fn verifier(&self) -> &WebhookVerifier {
        &self.0.verifier
    }

    fn profile(&self) -> &PlatformProfile {
        &self.0.profile
    }

    fn secret(&self) -> &[u8; 32] {
        &self.0.secret
    }

    fn origins(&self) -> &[String] {
        &self.0.origins
    }

    fn hosts(&self) -> &[String] {
        &self.0.hosts
    }

    fn policy(&self) -> &str {
        &self.0.policy
    }

    fn is_secure(&self) -> bool {
        self.0.secure
    }

    /// The name of the session's cookie. Browsers take the prefix only with `Secure`.
    fn cookie(&self) -> &'static str {
        if self.0.secure {
            "__Host-session"
        } else {
            "session"
        }
    }

    fn lock_turns(&self) -> MutexGuard<'_, HashMap<String, bool>> {
        self.0.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_watched(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0
            .watched
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// What one click at a time may hold.
    fn checkout_lock(&self, conversation: &str, checkout: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut all = self
            .0
            .checkouts
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, lock| lock.strong_count() > 0);
        let name = format!("{conversation}/{checkout}");
        if let Some(lock) = all.get(&name).and_then(Weak::upgrade) {
            return lock;
        }
        let lock = Arc::default();
        all.insert(name, Arc::downgrade(&lock));
        lock
    }

    /// Goes on with what was under way when the process ended.
    async fn resume_all(&self) -> Result<(), BoxError> {
        for conversation in self.store().unanswered().await? {
            self.kick(&conversation);
        }
        for purchase in self.store().all_sending().await? {
            self.find_out(&purchase);
        }
        for (conversation, checkout) in self.store().handed_over().await? {
            self.watch(&conversation, &checkout);
        }
        Ok(())
    }
}

fn host(origin: &str) -> String {
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    host.to_owned()
}

/// What the page may load: its own files, pictures, and the shop's checkout in a frame.
fn policy(shop: &Shop) -> String {
    let (images, frames) = match shop.development {
        true => (
            "https: http://127.0.0.1:*",
            format!("https: {}", shop.origin()),
        ),
        false => ("https:", "https:".to_owned()),
    };
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
         img-src 'self' {images}; frame-src {frames}; form-action 'none'; base-uri 'none'; \
         frame-ancestors 'none'; require-trusted-types-for 'script'"
    )
}

/// The key that requests are signed with, made at the first start.
fn signing_key(path: &Path) -> Result<SigningKey, BoxError> {
    if !path.exists() {
        let key = SigningKey::generate(Algorithm::Es256, &System)?;
        write_private(path, key.to_private_jwk().as_bytes())?;
    }
    Ok(SigningKey::from_jwk_file(path)?)
}

/// The secret that ids and tokens are derived from, made at the first start. Keep it: with another one
/// a call that is repeated would be another call.
fn secret(path: &Path) -> Result<[u8; 32], BoxError> {
    if !path.exists() {
        write_private(path, &random::<32>()?)?;
    }
    let bytes = fs::read(path)?;
    let found = bytes.len();
    let bytes = bytes.try_into();
    bytes.map_err(|_| format!("{}: {found} bytes where 32 are due", path.display()).into())
}

/// Writes a new file that only its owner can read.
fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// The operating system's randomness.
struct System;

impl Randomness for System {
    #[expect(
        clippy::disallowed_methods,
        reason = "an application is where randomness comes from"
    )]
    fn fill(&self, bytes: &mut [u8]) -> Result<(), BoxError> {
        getrandom::fill(bytes).map_err(Into::into)
    }
}

fn random<const N: usize>() -> Result<[u8; N], BoxError> {
    let mut bytes = [0; N];
    System.fill(&mut bytes)?;
    Ok(bytes)
}

#[expect(
    clippy::disallowed_methods,
    reason = "an application is where the time comes from"
)]
fn now() -> Timestamp {
    Timestamp::now()
}

/// Tells whoever runs the agent. Nothing of a buyer or of a secret is in it.
fn log(text: &str) {
    eprintln!("commerce-agent: {text}");
}
