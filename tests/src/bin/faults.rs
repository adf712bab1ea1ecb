//! Makes many purchases over a line that breaks, and compares what the agents know with what the
//! merchant sold: `faults [--purchases N] [--seed N] [--concurrent N] [--fresh-keys] [--forgetful]`.

use std::process::ExitCode;
use std::time::Duration;
use ucp_runtime::BoxError;
use ucp_tests::faulty::faults::{Options, run};

const USAGE: &str =
    "usage: faults [--purchases N] [--seed N] [--concurrent N] [--fresh-keys] [--forgetful]";

#[tokio::main]
async fn main() -> Result<ExitCode, BoxError> {
    let mut options = Options {
        purchases: 10_000,
        seed: 1,
        fresh_keys: false,
        forgetful: false,
        concurrent: 64,
        timeout: Duration::from_millis(500),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or(USAGE);
        match flag.as_str() {
            "--purchases" => options.purchases = value()?.parse()?,
            "--seed" => options.seed = value()?.parse()?,
            "--concurrent" => options.concurrent = value()?.parse()?,
            "--forgetful" => options.forgetful = true,
            "--fresh-keys" => options.fresh_keys = true,
            _ => return Err(USAGE.into()),
        }
    }
    let report = run(options).await?;
    print!("{report}");
    Ok(match report.holds() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
