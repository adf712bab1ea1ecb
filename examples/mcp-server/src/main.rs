//! Serves a merchant to MCP clients.
//!
//! ```sh
//! mcp-server --sandbox                          # over stdio, at a shop of its own on this machine
//! mcp-server --sandbox --http 127.0.0.1:8080    # over streamable HTTP, at /mcp
//! mcp-server --merchant https://shop.example --profile https://agent.example/.well-known/ucp \
//!     --signing-key agent.jwk --state state --provide payment=payment.json --allow-complete
//! ```

#![allow(
    rustdoc::bare_urls,
    reason = "comments on options are what `--help` prints"
)]

use clap::Parser;
use mcp_server::{Completion, RELEASE, Shop};
use rmcp::ServiceExt as _;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tokio::net::TcpListener;
use ucp_runtime::journal::{Journal as _, SqliteJournal};
use ucp_runtime::signatures::SigningKey;
use ucp_runtime::{Agent, BoxError, PlatformProfile, serde_json};

/// Serves a merchant that speaks the Universal Commerce Protocol to MCP clients.
///
/// A model prepares orders with it. It places none, unless --allow-complete is given; then the client's
/// user is asked each time, by elicitation, and a client that cannot ask places none.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// The merchant, for example https://shop.example
    #[arg(
        long,
        value_name = "ORIGIN",
        required_unless_present = "sandbox",
        conflicts_with = "sandbox"
    )]
    merchant: Option<String>,
    /// Shops at a sandbox merchant that it starts itself, on this machine.
    #[arg(long)]
    sandbox: bool,
    /// The URL of the agent's profile, which every request names. In development, without it, a profile
    /// is served on a free port of this machine.
    #[arg(long, env = "UCP_PROFILE", value_name = "URL")]
    profile: Option<String>,
    /// Allows http on loopback hosts.
    #[arg(long)]
    development: bool,
    /// Signs requests with the private JWK in this file, whose public half the profile publishes.
    #[arg(long, env = "UCP_SIGNING_KEY", value_name = "FILE")]
    signing_key: Option<PathBuf>,
    /// A folder that outlives this program: the journal of calls, and the secret that their keys are
    /// made of. Without it both last as long as the program.
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
    /// Serves streamable HTTP at /mcp of this address, instead of stdio.
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// A host name under which HTTP clients reach it, besides loopback's. Repeatable.
    #[arg(long, value_name = "HOST", requires = "http")]
    host: Vec<String>,
    /// Goes on with this conversation, over stdio: a client that repeats a request under its id, after
    /// this program was started again, repeats the very call.
    #[arg(long, value_name = "ID", conflicts_with = "http", requires = "state")]
    conversation: Option<String>,
    /// Sets an input, or a member of the body, of every operation that takes one of this name to the
    /// JSON in a file. No model sees or sets it. Repeatable.
    #[arg(long, value_name = "NAME=FILE")]
    provide: Vec<String>,
    /// Lets the model place orders that the client's user agrees to.
    #[arg(long)]
    allow_complete: bool,
    /// Asks nobody before an order is placed.
    #[arg(long, requires = "allow_complete")]
    unattended: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let mut text = error.to_string();
            let mut cause = error.source();
            while let Some(error) = cause {
                text = format!("{text}: {error}");
                cause = error.source();
            }
            eprintln!("mcp-server: {text}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Result<(), BoxError> {
    let sandbox = match options.sandbox {
        true => Some(merchant::Merchant::builder().start().await?),
        false => None,
    };
    let origin = match (&sandbox, &options.merchant) {
        (Some(sandbox), _) => sandbox.origin().to_owned(),
        (None, origin) => origin.clone().unwrap_or_default(),
    };
    let agent = agent(&options).await?;
    let merchant = agent.connect(&origin).await?;
    // Stdout is the protocol's.
    eprintln!("{} speaks UCP {}", merchant.origin(), merchant.version());
    let mut shop =
        Shop::new(&merchant).completion(match (options.allow_complete, options.unattended) {
            (false, _) => Completion::Withheld,
            (true, false) => Completion::Asked,
            (true, true) => Completion::Unattended,
        });
    for provided in &options.provide {
        let (name, file) = provided
            .split_once('=')
            .ok_or_else(|| format!("--provide takes NAME=FILE, and not `{provided}`"))?;
        let text = read(Path::new(file))?;
        let value = serde_json::from_slice(&text).map_err(|error| format!("{file}: {error}"))?;
        shop = shop.provide(name, value);
    }
    let mut session = shop.session()?;
    match options.http {
        None => {
            if let Some(id) = options.conversation {
                session = session.conversation(id);
            }
            session
                .serve(rmcp::transport::stdio())
                .await?
                .waiting()
                .await?;
        }
        Some(address) => {
            let router = axum::Router::new().nest_service("/mcp", shop.over_http(options.host));
            let listener = TcpListener::bind(address).await?;
            eprintln!("http://{}/mcp", listener.local_addr()?);
            let end = async {
                let _ = tokio::signal::ctrl_c().await;
            };
            axum::serve(listener, router)
                .with_graceful_shutdown(end)
                .await?;
        }
    }
    Ok(())
}

/// Who buys.
async fn agent(options: &Options) -> Result<Agent, BoxError> {
    let development = options.development || options.sandbox;
    let key = options.signing_key.as_ref().map(|file| {
        SigningKey::from_jwk_file(file).map_err(|error| format!("{}: {error}", file.display()))
    });
    let key = key.transpose()?;
    let profile = match &options.profile {
        Some(profile) => profile.clone(),
        None if development => serve_profile(key.as_ref()).await?,
        None => return Err("a merchant asks who calls: give --profile URL, or UCP_PROFILE".into()),
    };
    let mut agent = Agent::builder(&profile)?.release(RELEASE);
    if let Some(key) = key {
        agent = agent.signing_key(key);
    }
    if development {
        agent = agent.development();
    }
    let mut secret = [0; 32];
    random(&mut secret)?;
    if let Some(folder) = &options.state {
        fs::create_dir_all(folder)?;
        let journal = SqliteJournal::open(folder.join("journal.db"))?;
        for open in journal.open_calls().await? {
            eprintln!(
                "unsettled: {} of {} at {}; read what it was about",
                open.operation, open.created, open.merchant
            );
        }
        agent = agent
            .id_secret(kept(&folder.join("id-secret"), &secret)?)
            .journal(journal);
    } else {
        agent = agent.id_secret(secret);
    }
    Ok(agent.build()?)
}

/// The secret in a file, which is made when there is none.
fn kept(file: &Path, fresh: &[u8]) -> Result<Vec<u8>, BoxError> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(file) {
        Ok(mut made) => {
            std::io::Write::write_all(&mut made, fresh)?;
            made.sync_all()?;
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(format!("{}: {error}", file.display()).into()),
    }
    read(file)
}

fn read(file: &Path) -> Result<Vec<u8>, BoxError> {
    fs::read(file).map_err(|error| format!("{}: {error}", file.display()).into())
}

#[expect(clippy::disallowed_methods, reason = "a program draws its own secret")]
fn random(bytes: &mut [u8]) -> Result<(), BoxError> {
    getrandom::fill(bytes).map_err(Into::into)
}

/// Serves a profile on a free port of this machine, and says where.
async fn serve_profile(key: Option<&SigningKey>) -> Result<String, BoxError> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut profile = PlatformProfile::builder(&RELEASE).development();
    if let Some(key) = key {
        profile = profile.public_key(key.public_key());
    }
    let router = profile.build()?.router();
    let url = format!("http://{}{}", listener.local_addr()?, PlatformProfile::PATH);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(url)
}
