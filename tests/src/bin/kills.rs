//! Kills processes that buy, starts them again with the same journal, and counts the orders:
//! `kills [--runs N] [--seed N]`.

use std::process::ExitCode;
use ucp_runtime::BoxError;
use ucp_tests::faulty::kills::{Options, child, run};

const USAGE: &str = "usage: kills [--runs N] [--seed N]";

#[tokio::main]
async fn main() -> Result<ExitCode, BoxError> {
    let mut arguments = std::env::args().skip(1).peekable();
    // The process that is killed is this program too.
    if arguments.next_if_eq("child").is_some() {
        println!("{}", child(arguments).await?);
        return Ok(ExitCode::SUCCESS);
    }
    let mut options = Options {
        runs: 200,
        seed: 1,
        program: std::env::current_exe()?,
    };
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or(USAGE);
        match flag.as_str() {
            "--runs" => options.runs = value()?.parse()?,
            "--seed" => options.seed = value()?.parse()?,
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
