//! Signatures between us and others: `interop record DIR` keeps what our client and the sandbox merchant
//! put on the wire, for others to verify; `interop verify DIR` verifies what others signed. What passes
//! between the two are raw messages, and an `index.json` that says with which key and scheme.

mod message;
mod record;
mod verify;

use std::path::Path;
use ucp_runtime::BoxError;

const USAGE: &str = "usage: interop record|verify DIR";

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [verb, folder] if verb == "record" => record::record(Path::new(folder)).await,
        [verb, folder] if verb == "verify" => verify::verify(Path::new(folder)),
        _ => Err(USAGE.into()),
    }
}
