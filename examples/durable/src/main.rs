//! A worker that buys, as a durable handler on [Restate](https://restate.dev): where one machine is not
//! enough. Kill it at any moment; another one, anywhere, goes on where it was, and there is one order.
//!
//! ```sh
//! cd examples/durable && npm ci --ignore-scripts && npx restate-server    # the server, and its data here
//! cargo run -p merchant -- --port 8182                                    # somebody to buy from
//! head -c 32 /dev/urandom > id-secret                                     # kept for ever, for all workers
//! cargo run -p durable -- --merchant http://127.0.0.1:8182 --id-secret id-secret \
//!     --profile http://127.0.0.1:8183/.well-known/ucp --development
//! curl 127.0.0.1:9070/deployments --json '{"uri": "http://127.0.0.1:9080"}'
//! curl 127.0.0.1:8080/Purchases/buy -H 'idempotency-key: basket-17' --json '{"item": "var_mug",
//!     "quantity": 1, "email": "ada@example.com", "street": "1 Main Street", "country": "US",
//!     "at_most": 3000, "currency": "USD"}'
//! ```
//!
//! A worker does what it is asked on its port: leave that to Restate alone.

mod purchase;

use purchase::{Purchases, RELEASE};
use restate_sdk::prelude::{Endpoint, HttpServer};
use std::fs;
use std::net::SocketAddr;
use tokio::net::TcpListener;
use ucp_runtime::url::Url;
use ucp_runtime::{Agent, BoxError, PlatformProfile};

const USAGE: &str = "usage: durable --merchant ORIGIN --profile URL --id-secret FILE \
    [--listen ADDRESS] [--development]";

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let (mut merchant, mut profile, mut secret) = (None, None, None);
    let mut listen: SocketAddr = ([127, 0, 0, 1], 9080).into();
    let mut development = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or(USAGE);
        match flag.as_str() {
            "--merchant" => merchant = Some(value()?),
            "--profile" => profile = Some(value()?),
            "--id-secret" => secret = Some(value()?),
            "--listen" => listen = value()?.parse()?,
            "--development" => development = true,
            _ => return Err(USAGE.into()),
        }
    }
    let (Some(merchant), Some(profile), Some(secret)) = (merchant, profile, secret) else {
        return Err(USAGE.into());
    };
    let secret = fs::read(&secret).map_err(|error| format!("{secret}: {error}"))?;

    // The keys of a call are made of the invocation's id, this secret, and who we are: all three are
    // the same in every worker.
    let mut agent = Agent::builder(&profile)?.release(RELEASE).id_secret(secret);
    if development {
        agent = agent.development();
        serve_profile(&profile).await?;
    }
    let purchases = Purchases::new(agent.build()?, merchant, development);
    let listener = TcpListener::bind(listen).await?;
    println!("http://{listen}");
    HttpServer::new(Endpoint::builder().bind(purchases).build())
        .serve(listener)
        .await;
    Ok(())
}

/// Serves our profile on this machine, where its URL says.
async fn serve_profile(url: &str) -> Result<(), BoxError> {
    let addresses = Url::parse(url)?.socket_addrs(|| None)?;
    let listener = TcpListener::bind(addresses.as_slice()).await?;
    let profile = PlatformProfile::builder(&RELEASE).development().build()?;
    tokio::spawn(async move { axum::serve(listener, profile.router()).await });
    Ok(())
}
