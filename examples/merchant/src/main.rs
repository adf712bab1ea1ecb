//! Serves the sandbox merchant on loopback until interrupted.
//!
//! `merchant [--port PORT] [--seed SEED] [--signatures off|when-present|required] [--signing-key FILE]`

use merchant::{Error, Merchant, Signatures};
use ucp_runtime::signatures::SigningKey;

const USAGE: &str = "usage: merchant [--port PORT] [--seed SEED] \
    [--signatures off|when-present|required] [--signing-key FILE]";

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut builder = Merchant::builder();
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        builder = match flag.as_str() {
            "--port" => builder.port(value.parse()?),
            "--seed" => builder.seed(value.parse()?),
            "--signatures" => builder.signatures(match value.as_str() {
                "off" => Signatures::Off,
                "when-present" => Signatures::WhenPresent,
                "required" => Signatures::Required,
                _ => return Err(USAGE.into()),
            }),
            "--signing-key" => builder.signing_key(SigningKey::from_jwk_file(value)?),
            _ => return Err(USAGE.into()),
        };
    }
    let running = builder.start().await?;
    println!("{}{}", running.origin(), merchant::profile::WELL_KNOWN);
    tokio::signal::ctrl_c().await?;
    running.shutdown().await;
    Ok(())
}
