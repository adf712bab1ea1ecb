//! Starts the agent, together with a sandbox merchant unless there is another shop.

use clap::Parser;
use commerce_agent::{Model, OpenAi, SandboxWallet, Scripted, Settings};
use std::path::PathBuf;
use std::time::Duration;
use ucp_runtime::BoxError;
use ucp_runtime::secrecy::SecretString;

/// An agent that shops, with a chat page. Without options it starts together with a sandbox merchant
/// and forgets everything when it ends.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// The port of the page, on this machine alone.
    #[arg(long, default_value_t = 4620)]
    port: u16,
    /// The origin that the world knows the agent by, such as https://agent.example, when something in
    /// front of it ends TLS.
    #[arg(long, value_name = "ORIGIN")]
    public_url: Option<String>,
    /// The shop, instead of a sandbox.
    #[arg(long, value_name = "ORIGIN")]
    merchant: Option<String>,
    /// The folder of keys and conversations. With a sandbox, by default one that is removed at the end.
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// The base URL of a model's server that speaks chat completions, such as
    /// http://127.0.0.1:11434/v1. Without one, a scripted model answers.
    #[arg(long, value_name = "URL", requires = "model")]
    model_url: Option<String>,
    /// The model's name there.
    #[arg(long, value_name = "NAME", requires = "model_url")]
    model: Option<String>,
    /// The key of an account there.
    #[arg(
        long,
        value_name = "KEY",
        env = "MODEL_API_KEY",
        hide_env_values = true
    )]
    model_key: Option<String>,
    /// How long the scripted model takes for a word, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 25)]
    pace: u64,
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let options = Options::parse();
    let model: Box<dyn Model> = match (&options.model_url, &options.model) {
        (Some(url), Some(name)) => {
            let key = options.model_key.map(SecretString::from);
            Box::new(OpenAi::new(url, name, key)?)
        }
        _ => Box::new(Scripted::new(Duration::from_millis(options.pace))),
    };
    let sandbox = match &options.merchant {
        Some(_) => None,
        None => Some(merchant::Merchant::builder().start().await?),
    };
    let shop = match (&options.merchant, &sandbox) {
        (Some(origin), _) => origin.clone(),
        (None, Some(sandbox)) => sandbox.origin().to_owned(),
        (None, None) => return Err("there is no shop".into()),
    };
    // What a sandbox does not remember, nobody needs to.
    let forgotten = tempfile::tempdir()?;
    let data = match (options.data, &sandbox) {
        (Some(data), _) => data,
        (None, Some(_)) => forgotten.path().to_owned(),
        (None, None) => "commerce-agent-data".into(),
    };
    let running = Settings {
        port: options.port,
        public_url: options.public_url,
        merchant: shop.clone(),
        data,
        model,
        wallet: Box::new(SandboxWallet),
    }
    .start()
    .await?;
    println!("The shop is {shop}");
    println!("Open {}", running.url());
    tokio::select! {
        failed = running.wait() => failed?,
        stopped = tokio::signal::ctrl_c() => stopped?,
    }
    Ok(())
}
