//! Serves the sandbox merchant on loopback until interrupted.
//!
//! `merchant [--port PORT] [--seed SEED]`

use merchant::{Error, Merchant};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut builder = Merchant::builder();
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        builder = match flag.as_str() {
            "--port" => builder.port(value.parse()?),
            "--seed" => builder.seed(value.parse()?),
            _ => return Err("usage: merchant [--port PORT] [--seed SEED]".into()),
        };
    }
    let running = builder.start().await?;
    println!("{}{}", running.origin(), merchant::profile::WELL_KNOWN);
    tokio::signal::ctrl_c().await?;
    running.shutdown().await;
    Ok(())
}
