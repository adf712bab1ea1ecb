//! `call`: any operation, sent or only shown.

use crate::{Exit, Failure, Identity, Secrets, april, draft};
use clap::{Args, ValueEnum};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use ucp_runtime::http::Uri;
use ucp_runtime::serde_json::{self, Map, Value, json};
use ucp_runtime::signatures::{RequestHead, is_signed, received_request_base};
use ucp_runtime::{Call, Guard, Merchant, Prepared, RawResponse, Untyped};

#[derive(Args)]
pub(crate) struct Options {
    /// The contract's `operationId`, for example create_checkout.
    operation: String,
    /// The merchant, for example https://shop.example
    #[arg(long, value_name = "ORIGIN")]
    merchant: String,
    /// The operation's own inputs, as one JSON object such as {"id": "…", "body": {…}}; `-` is the
    /// standard input.
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Names the call, so that a repetition carries the same keys. Needs an id secret.
    #[arg(long, value_name = "ID")]
    call_id: Option<String>,
    /// Lifts one of the checks before a completion, which reads the checkout first: somebody must
    /// have agreed to what it lets pass. Repeatable.
    #[arg(long, value_name = "CHECK")]
    allow: Vec<Check>,
    /// Prints the exact request, and the text that its signature is of, and does not send it: secrets
    /// are hidden.
    #[arg(long)]
    dry_run: bool,
    /// Shows a secret in a dry run: the name of a header, or of a member of the body. Repeatable.
    #[arg(long, value_name = "NAME", requires = "dry_run")]
    show_secrets: Vec<String>,
    /// Prints a dry run as JSON.
    #[arg(long, requires = "dry_run")]
    json: bool,
    #[command(flatten)]
    identity: Identity,
    #[command(flatten)]
    secrets: Secrets,
}

/// A check before money moves.
#[derive(Clone, Copy, ValueEnum)]
enum Check {
    /// The totals add up.
    Totals,
    /// The checkout offers the instrument.
    Instrument,
    /// No completion is in progress.
    InProgress,
    /// It has not expired.
    Expired,
    /// The buyer was shown all disclosures.
    Disclosures,
}

impl From<Check> for Guard {
    fn from(check: Check) -> Self {
        match check {
            Check::Totals => Self::Totals,
            Check::Instrument => Self::Instrument,
            Check::InProgress => Self::InProgress,
            Check::Expired => Self::Expired,
            Check::Disclosures => Self::Disclosures,
        }
    }
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let inputs = inputs(options.input.as_deref())?;
    let Identity {
        profile,
        development,
    } = options.identity;
    let Some(profile) = profile else {
        let text = "a merchant asks who calls: give --profile URL, or UCP_PROFILE";
        return Err(Failure::usage(text));
    };
    let agent = options
        .secrets
        .equip(crate::agent(&profile, development)?)?;
    let merchant = crate::connect(agent, &options.merchant).await?;
    let mut call = call(&merchant, &options.operation, inputs)?;
    if let Some(id) = options.call_id {
        call = call.call_id(id);
    }
    for check in options.allow {
        call = call.allow(check.into());
    }
    let request = call.prepare().await?;
    if options.dry_run {
        return show(&request, &options.show_secrets, options.json);
    }
    match request.send().await {
        Ok(response) => {
            print(response.raw());
            // An envelope that says `error` is an answer, and a refusal.
            response.success()?;
            Ok(())
        }
        Err(error) => {
            if let Some(response) = error.response() {
                print(response);
            }
            Err(error.into())
        }
    }
}

/// The operation of the client for the release that was chosen.
fn call(
    merchant: &Merchant,
    name: &str,
    inputs: Map<String, Value>,
) -> Result<Call<Untyped>, Failure> {
    let version = merchant.version();
    let call = if version == april::RELEASE.version() {
        april::Client::new(merchant).call(name, inputs)
    } else if version == draft::RELEASE.version() {
        draft::Client::new(merchant).call(name, inputs)
    } else {
        let text = format!("there is no client for release {version}");
        return Err(Failure {
            exit: Exit::NothingInCommon,
            text,
        });
    };
    call.map_err(Failure::usage)
}

fn inputs(file: Option<&Path>) -> Result<Map<String, Value>, Failure> {
    let Some(file) = file else {
        return Ok(Map::new());
    };
    let text = if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(file)
    };
    let refuse = |why: &dyn std::fmt::Display| Failure::usage(format!("{}: {why}", file.display()));
    let text = text.map_err(|error| refuse(&error))?;
    serde_json::from_str(&text).map_err(|error| refuse(&format!("no JSON object: {error}")))
}

/// Prints a request: its line, its headers, an empty line, and its body; then, of a signed one, the
/// signature base.
fn show(request: &Prepared<Untyped>, reveal: &[String], as_json: bool) -> Result<(), Failure> {
    let shown = request.shown(reveal);
    let base = signature_base(request)?;
    if as_json {
        let headers = shown
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), json!(value)));
        let request = json!({
            "method": request.method().as_str(),
            "url": request.url().as_str(),
            "headers": Value::Object(headers.collect()),
            "body": shown.body,
            "signature_base": base,
        });
        println!("{request:#}");
        return Ok(());
    }
    println!("{} {}", request.method(), request.url());
    for (name, value) in &shown.headers {
        println!("{name}: {value}");
    }
    if let Some(body) = &shown.body {
        println!("\n{body}");
    }
    if let Some(base) = &base {
        println!("\nsignature base:\n{base}");
    }
    Ok(())
}

/// The text that the signature is of (RFC 9421 section 2.5), as whoever receives the request makes
/// it. Nothing secret is covered.
fn signature_base(request: &Prepared<Untyped>) -> Result<Option<String>, Failure> {
    if !is_signed(request.headers()) {
        return Ok(None);
    }
    let uri = request.url().as_str().parse::<Uri>();
    let head = RequestHead {
        method: request.method(),
        uri: &uri.map_err(Failure::usage)?,
        headers: request.headers(),
    };
    // The label that the runtime signs under.
    let base = received_request_base(head, "sig1");
    base.map(Some).map_err(Failure::usage)
}

/// Prints an answer: its status where a person looks, its body where a program reads.
fn print(response: &RawResponse) {
    eprintln!("{}", response.status());
    match serde_json::from_slice::<Value>(response.bytes()) {
        Ok(body) => println!("{body:#}"),
        Err(_) => println!("{}", String::from_utf8_lossy(response.bytes())),
    }
}
