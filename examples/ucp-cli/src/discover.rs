//! `discover`: what a merchant publishes, and what is agreed with it.

use crate::{Exit, Failure, Identity};
use clap::Args;
use ucp_runtime::error::{DiscoveryProblem, Offer};
use ucp_runtime::serde_json::{Value, json};
use ucp_runtime::{Error, Merchant, Negotiated};

/// Who asks when nobody is named: a merchant serves its profile to anybody.
const NOBODY: &str = "https://ucp-cli.example/.well-known/ucp";

#[derive(Args)]
pub(crate) struct Options {
    /// The merchant, for example https://shop.example
    origin: String,
    /// Prints one JSON object, also when it fails.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    identity: Identity,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let Identity {
        profile,
        development,
    } = options.identity;
    let profile = profile.as_deref().unwrap_or(NOBODY);
    let found =
        async { crate::connect(crate::agent(profile, development)?, &options.origin).await };
    let found = found.await;
    let merchant = match found {
        Ok(merchant) => merchant,
        Err(error) => {
            if options.json {
                println!("{:#}", refused(&error));
            }
            return Err(error.into());
        }
    };
    // An agent that speaks releases always negotiates.
    let Some(agreed) = merchant.negotiated() else {
        return Err(Failure::usage("nothing was negotiated"));
    };
    if options.json {
        println!("{:#}", agreement(&merchant, agreed));
    } else {
        println!("{} speaks {}", merchant.origin(), agreed.explain());
        println!("profile:\n{:#}", document(&merchant));
    }
    if agreed.capabilities().is_empty() {
        return Err(Failure {
            exit: Exit::NothingInCommon,
            text: "there is an endpoint, and no capability in common".to_owned(),
        });
    }
    Ok(())
}

fn document(merchant: &Merchant) -> Value {
    merchant
        .profile()
        .map_or(Value::Null, |profile| profile.document.clone())
}

fn agreement(merchant: &Merchant, agreed: &Negotiated) -> Value {
    let capabilities = agreed.capabilities().iter().map(|(name, of)| {
        let entry = json!({ "version": of.version, "schema": of.schema, "extends": of.extends });
        (name.clone(), entry)
    });
    let handlers = agreed.payment_handlers().map(|(name, entries)| {
        let entries = entries
            .iter()
            .map(|of| json!({ "id": of.id, "version": of.version }));
        (name.to_owned(), Value::Array(entries.collect()))
    });
    let left_out = agreed.left_out().iter().map(|of| {
        json!({
            "kind": of.kind.to_string(), "name": of.name, "version": of.version,
            "why": of.why.to_string(),
        })
    });
    let notes = agreed.notes().iter().map(ToString::to_string);
    json!({
        "origin": merchant.origin(),
        "version": agreed.version(),
        "endpoint": merchant.endpoint(),
        "capabilities": Value::Object(capabilities.collect()),
        "payment_handlers": Value::Object(handlers.collect()),
        "refused_endpoints": offers(agreed.offers()),
        "left_out": left_out.collect::<Vec<_>>(),
        "notes": notes.collect::<Vec<_>>(),
        "profile": document(merchant),
    })
}

/// Why there is no agreement, for a program.
fn refused(error: &Error) -> Value {
    let problem = match error {
        Error::Discovery(error) => Some(&error.problem),
        _ => None,
    };
    let details = match problem {
        Some(DiscoveryProblem::NoEndpoint { offers: of, .. }) => {
            json!({ "refused_endpoints": offers(of) })
        }
        Some(DiscoveryProblem::NoRelease(none)) => {
            json!({ "ours": none.ours, "theirs": none.version })
        }
        Some(DiscoveryProblem::Redirect { to }) => json!({ "redirects_to": to }),
        _ => Value::Null,
    };
    json!({
        "error": Exit::of(error).code(),
        "message": crate::chain(error),
        "details": details,
    })
}

fn offers(offers: &[Offer]) -> Value {
    let offers = offers
        .iter()
        .map(|of| json!({ "transport": of.transport, "version": of.version, "why": of.refused }));
    Value::Array(offers.collect())
}
