//! What others signed holds for us, and no altered copy of it.

use crate::message::Message;
use std::fs;
use std::path::Path;
use ucp_runtime::http::{HeaderMap, HeaderName, Request, Response, header};
use ucp_runtime::jiff::Timestamp;
use ucp_runtime::profile::PublishedKeys;
use ucp_runtime::serde_json::{self, Value, json};
use ucp_runtime::signatures::{Rejected, Verified, Verifier};
use ucp_runtime::{BoxError, http};

pub(crate) fn verify(folder: &Path) -> Result<(), BoxError> {
    let index: Vec<Value> = serde_json::from_slice(&fs::read(folder.join("index.json"))?)?;
    let mut copies = 0;
    for entry in &index {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let (file, scheme) = (text("file"), text("scheme"));
        let keys = json!({ "keys": [entry.get("key")] });
        let keys = PublishedKeys::from_jwk_set(&keys);
        let message = Message::parse(&fs::read(folder.join(file))?)?;
        judge(&message, scheme, &keys)?.map_err(|rejected| format!("{file}: {rejected:?}"))?;
        for (what, copy) in message.altered() {
            // What cannot even be a message is refused as well.
            if let Ok(Ok(verified)) = judge(&copy, scheme, &keys) {
                return Err(format!("{file}, {what}: {verified:?}").into());
            }
            copies += 1;
        }
    }
    let messages = index.len();
    if messages == 0 {
        return Err(format!("{}: nothing to verify", folder.display()).into());
    }
    println!("signed by others: {messages} checked, {copies} altered copies refused");
    Ok(())
}

fn judge(
    message: &Message,
    scheme: &str,
    keys: &PublishedKeys,
) -> Result<Result<Verified, Rejected>, BoxError> {
    let mut headers = HeaderMap::new();
    for (name, value) in &message.headers {
        headers.append(HeaderName::try_from(name)?, value.parse()?);
    }
    let verifier = Verifier::at(now());
    let parts: Vec<&str> = message.start.splitn(3, ' ').collect();
    match parts.as_slice() {
        ["HTTP/1.1", status, _] => {
            let mut response = Response::builder().status(*status).body(())?;
            *response.headers_mut() = headers;
            Ok(verifier.response(&response, &message.body, keys))
        }
        [method, target, _] => {
            let host = message.header(header::HOST.as_str()).ok_or("no host")?;
            let uri: http::Uri = format!("{scheme}://{host}{target}").parse()?;
            let mut request = Request::builder().method(*method).uri(uri).body(())?;
            *request.headers_mut() = headers;
            Ok(verifier.request(&request, &message.body, keys))
        }
        _ => Err("neither request nor response".into()),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "others sign by the system's clock"
)]
fn now() -> Timestamp {
    Timestamp::now()
}
