//! The project's chores, as `cargo xtask <chore>`.

mod verify_specs;

use std::error::Error;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask <chore>

  verify-specs --official DIR [--release VERSION]
      compare our contract with the published one, fact by fact";

/// What every chore returns; an error is printed and ends in exit code 1.
type Chore = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let chore = args.next();
    let args: Vec<String> = args.collect();
    let done: Chore = match chore.as_deref() {
        Some("verify-specs") => verify_specs::run(&args),
        Some(other) => Err(format!("no chore `{other}`\n{USAGE}").into()),
        None => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
