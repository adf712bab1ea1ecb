//! Looks at a merchant, sends it any operation, and makes keys to sign with.
//!
//! ```sh
//! ucp-cli discover https://shop.example
//! ucp-cli call get_checkout --merchant https://shop.example --input input.json
//! ucp-cli keygen --out agent.jwk
//! ```
//!
//! Exit codes, for scripts: see [`Exit`].

#![allow(
    rustdoc::bare_urls,
    reason = "comments on options are what `--help` prints"
)]

mod call;
mod discover;
mod keygen;

use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;
use ucp_runtime::error::DiscoveryProblem;
use ucp_runtime::signatures::SigningKey;
use ucp_runtime::{Agent, AgentBuilder, BoxError, Credential, Error, Merchant, RequestError};

// The releases that are spoken. Of those that a merchant speaks too, the newest is chosen. The AP2
// mandates are left out: with them every purchase needs one.
mod april {
    ucp_runtime::include_ucp! {
        release: "2026-04-08",
        extensions: [buyer_consent, discount, fulfillment, identity_linking],
    }
}
mod draft {
    ucp_runtime::include_ucp! {
        release: "draft",
        version: "2026-08-22",
        extensions: [
            buyer_consent, discount, fulfillment, identity_linking, loyalty,
            payment_authentication, payment_terms, permalink, split_payments,
        ],
    }
}

/// Looks at a merchant that speaks the Universal Commerce Protocol, and sends it any operation.
///
/// Exit codes: 0 done; 2 usage, or inputs that make no request; 3 no answer; 4 no usable profile;
/// 5 nothing in common; 6 the merchant refused, or its answer cannot be used; 7 the checkout does not
/// allow its completion, and nothing was sent.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Prints a merchant's profile, what was agreed with it, and what was left out and why.
    Discover(discover::Options),
    /// Sends an operation, by the contract's `operationId`, and prints the answer's body.
    Call(Box<call::Options>),
    /// Makes a key to sign requests with: writes it to a file, and prints its public half, which goes
    /// into the agent's profile.
    Keygen(keygen::Options),
}

/// Who asks.
#[derive(Args)]
struct Identity {
    /// The URL of the agent's profile, which every request names.
    #[arg(long, env = "UCP_PROFILE", value_name = "URL")]
    profile: Option<String>,
    /// Allows http on loopback hosts.
    #[arg(long)]
    development: bool,
}

/// What authenticates the agent, and what its ids are made of.
#[derive(Args)]
struct Secrets {
    /// Makes keys of call ids: 32 bytes or more, the same every time.
    #[arg(
        long,
        env = "UCP_ID_SECRET",
        hide_env_values = true,
        value_name = "SECRET"
    )]
    id_secret: Option<String>,
    /// Sent to the merchant as `Authorization: Bearer …`.
    #[arg(long, env = "UCP_BEARER", hide_env_values = true, value_name = "TOKEN")]
    bearer: Option<String>,
    /// Sent to the merchant as `X-API-Key`.
    #[arg(long, env = "UCP_API_KEY", hide_env_values = true, value_name = "KEY")]
    api_key: Option<String>,
    /// Signs requests with the private JWK in this file, whose public half the profile publishes.
    #[arg(long, env = "UCP_SIGNING_KEY", value_name = "FILE")]
    signing_key: Option<PathBuf>,
}

impl Secrets {
    /// Gives an agent what it has.
    fn equip(self, mut agent: AgentBuilder) -> Result<AgentBuilder, Failure> {
        if let Some(secret) = &self.id_secret {
            agent = agent.id_secret(secret);
        }
        if let Some(file) = self.signing_key {
            let key = SigningKey::from_jwk_file(&file);
            let key = key.map_err(|error| {
                Failure::usage(format!("{}: {}", file.display(), chain(&error)))
            })?;
            agent = agent.signing_key(key);
        }
        let credential = match (self.bearer, self.api_key) {
            (Some(token), Some(key)) => Credential::bearer(token).and_api_key(key),
            (Some(token), None) => Credential::bearer(token),
            (None, Some(key)) => Credential::api_key(key),
            (None, None) => return Ok(agent),
        };
        // The agent of one run calls one merchant.
        Ok(agent.credentials(move |_| {
            let credential = credential.clone();
            async move { Ok::<_, BoxError>(Some(credential)) }
        }))
    }
}

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Exit {
    /// Options or inputs of which no request can be made. Nothing was sent.
    Usage = 2,
    /// No answer.
    Unreachable = 3,
    /// Something answered, but not with a profile that can be used.
    NoProfile = 4,
    /// A merchant that offers nothing which this program speaks.
    NothingInCommon = 5,
    /// The merchant refused, or its answer cannot be used.
    Refused = 6,
    /// A completion that was refused here, before it was sent.
    Guarded = 7,
}

impl Exit {
    /// For programs that read JSON.
    fn code(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Unreachable => "unreachable",
            Self::NoProfile => "no_profile",
            Self::NothingInCommon => "nothing_in_common",
            Self::Refused => "refused",
            Self::Guarded => "guarded",
        }
    }

    fn of(error: &Error) -> Self {
        match error {
            Error::NotSent(error) => match &error.problem {
                RequestError::Refused { .. } => Self::Guarded,
                RequestError::Unread { source } => Self::of(source),
                _ => Self::Usage,
            },
            Error::Config(_) => Self::Usage,
            Error::Transport(_) => Self::Unreachable,
            Error::Discovery(error) => match &error.problem {
                DiscoveryProblem::NotSent(_) => Self::Usage,
                DiscoveryProblem::NoAnswer(_) | DiscoveryProblem::Timeout { .. } => {
                    Self::Unreachable
                }
                DiscoveryProblem::NoRelease(_) | DiscoveryProblem::NoEndpoint { .. } => {
                    Self::NothingInCommon
                }
                _ => Self::NoProfile,
            },
            _ => Self::Refused,
        }
    }
}

/// Why a command ended otherwise than well, told already or not.
struct Failure {
    exit: Exit,
    text: String,
}

impl Failure {
    fn usage(text: impl ToString) -> Self {
        Self {
            exit: Exit::Usage,
            text: text.to_string(),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            exit: Exit::of(&error),
            text: chain(&error),
        }
    }
}

/// An error with its causes, each once.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let ended = match Cli::parse().command {
        Command::Discover(options) => discover::run(options).await,
        Command::Call(options) => call::run(*options).await,
        Command::Keygen(options) => keygen::run(options),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("ucp-cli: {}", failure.text);
            ExitCode::from(failure.exit as u8)
        }
    }
}

/// An agent that speaks what this program speaks.
fn agent(profile: &str, development: bool) -> Result<AgentBuilder, Error> {
    let agent = Agent::builder(profile)?
        .release(april::RELEASE)
        .release(draft::RELEASE);
    Ok(match development {
        true => agent.development(),
        false => agent,
    })
}

/// Finds the merchant at an origin, and agrees with it.
async fn connect(agent: AgentBuilder, origin: &str) -> Result<Merchant, Error> {
    agent.build()?.connect(origin).await
}
