//! Signatures against vectors that other implementations made, whatever lies under
//! `$UCP_SHARED/vectors`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use std::collections::BTreeMap;
use std::path::PathBuf;
use ucp_runtime::ProfileUrl;
use ucp_runtime::http::{Request, Response};
use ucp_runtime::jiff::Timestamp;
use ucp_runtime::profile::PublishedKeys;
use ucp_runtime::serde_json::Value;
use ucp_runtime::signatures::{
    Algorithm, Reason, Signer as _, Signing, SigningKey, Verified, Verifier, WebBotAuth,
    received_request_base, received_response_base, thumbprint,
};
use ucp_tests::shared;

/// Whether ES256 is signed with randomness, and so cannot be reproduced.
const FAST: bool = cfg!(any(feature = "ring", feature = "aws-lc-rs"));

fn file(name: &str) -> Option<Value> {
    let path: PathBuf = shared::folder()?.join("vectors").join(name);
    Some(shared::json(&path))
}

enum Message {
    Request(Request<Vec<u8>>),
    Response(Response<Vec<u8>>),
}

struct Vector<'v> {
    json: &'v Value,
    message: Message,
    keys: PublishedKeys,
}

impl<'v> Vector<'v> {
    fn read(json: &'v Value) -> Self {
        let message = &json["message"];
        let headers = message["headers"].as_array().unwrap();
        let headers = headers
            .iter()
            .map(|line| (line[0].as_str().unwrap(), line[1].as_str().unwrap()));
        let body = STANDARD
            .decode(message["body_b64"].as_str().unwrap())
            .unwrap();
        let message = if let Some(status) = message["status"].as_u64() {
            let mut response = Response::builder().status(u16::try_from(status).unwrap());
            for (name, value) in headers {
                response = response.header(name, value);
            }
            Message::Response(response.body(body).unwrap())
        } else {
            let mut request = Request::builder()
                .method(message["method"].as_str().unwrap())
                .uri(message["url"].as_str().unwrap());
            for (name, value) in headers {
                request = request.header(name, value);
            }
            Message::Request(request.body(body).unwrap())
        };
        Self {
            json,
            message,
            keys: PublishedKeys::from_jwk_set(&json["jwks"]),
        }
    }

    fn name(&self) -> &'v str {
        self.json["name"].as_str().unwrap()
    }

    fn base(&self, label: &str) -> Result<String, Reason> {
        match &self.message {
            Message::Request(request) => received_request_base(request, label),
            Message::Response(response) => received_response_base(response, label),
        }
    }

    /// The value of a label in `Signature`, as bytes.
    fn value(&self, label: &str) -> Option<Vec<u8>> {
        let headers = match &self.message {
            Message::Request(request) => request.headers(),
            Message::Response(response) => response.headers(),
        };
        let line = headers.get("signature")?.to_str().ok()?;
        let value = line.strip_prefix(label)?.strip_prefix("=:")?;
        let value = value.strip_suffix(':')?;
        // One vector is without padding.
        STANDARD.decode(format!("{value:=<88}")).ok()
    }

    /// Signs the message anew. Whether we would cover the same, in the same order and with the same
    /// parameters; if so, every header must be the same too.
    async fn signs_alike(&self, signer: &SigningKey) -> bool {
        let headers = match &self.message {
            Message::Request(request) => request.headers(),
            Message::Response(response) => response.headers(),
        };
        let input = headers["signature-input"].to_str().unwrap();
        let parameter = |name: &str| {
            let (_, rest) = input.split_once(&format!(";{name}="))?;
            Some(rest.split(';').next().unwrap_or(rest).trim_matches('"'))
        };
        let instant = |name| Timestamp::from_second(parameter(name)?.parse().ok()?).ok();
        let (label, _) = input.split_once('=').unwrap();
        let mut signing = Signing::with(signer).label(label);
        if let Some(created) = instant("created") {
            signing = signing.created(created);
        }
        if let (Some(nonce), Some(created), Some(expires), Some(agent)) = (
            parameter("nonce"),
            instant("created"),
            instant("expires"),
            headers.get("signature-agent"),
        ) {
            let url = agent.to_str().unwrap().split('"').nth(1).unwrap();
            let nonce = URL_SAFE_NO_PAD.decode(nonce).unwrap();
            let shape = WebBotAuth::new(
                &ProfileUrl::new(url).unwrap(),
                created,
                nonce.try_into().unwrap(),
            );
            let shape = shape.lifetime(expires.duration_since(created)).unwrap();
            signing = signing.web_bot_auth(shape);
        }
        let signed = match &self.message {
            Message::Request(request) => signing.request(request, request.body()).await,
            Message::Response(response) => signing.response(response, response.body()).await,
        };
        let signed = signed.unwrap();
        if self.json["signature_base"] != signed.base {
            return false;
        }
        let deterministic = signer.public_key().algorithm() != Algorithm::Es256 || !FAST;
        for (name, value) in &signed.headers {
            let padded = headers[name].as_bytes().ends_with(b"=:");
            // One vector has more white space than it needs, which the base does not keep.
            if name == "signature-input" && input.contains("  ") {
                continue;
            }
            if name != "signature" || (deterministic && padded) {
                assert_eq!(headers[name], value, "{}: {name}", self.name());
            }
        }
        true
    }

    fn verdict(&self) -> Result<Verified, String> {
        let now = Timestamp::from_second(self.json["now"].as_i64().unwrap()).unwrap();
        let verifier = Verifier::at(now);
        let verified = match &self.message {
            Message::Request(request) => verifier.request(request, request.body(), &self.keys),
            Message::Response(response) => verifier.response(response, response.body(), &self.keys),
        };
        verified.map_err(|rejected| {
            assert_eq!(rejected.code(), rejected.reason.code());
            // What the vector calls its detail, our reason has to say too.
            match (self.json["expected_detail"].as_str(), &rejected.reason) {
                (None, _) | (Some("coverage_insufficient"), Reason::Uncovered { .. }) => {}
                (Some("expired"), Reason::Expired { .. }) => {}
                (Some("coverage/lower case"), Reason::Uncovered { name }) => {
                    assert_eq!(name, "content-type");
                }
                (detail, reason) => panic!("{}: {detail:?} {reason:?}", self.name()),
            }
            rejected.code().as_str().to_owned()
        })
    }

    /// What the cryptography alone says, which is all that some vectors ask for.
    fn cryptography(&self) -> Result<(), String> {
        let (label, _) = (self.json["signature_bases"].as_object().unwrap())
            .iter()
            .next()
            .unwrap();
        let base = self.base(label).unwrap();
        let jwk = &self.keys.keys[0].jwk;
        let key = ucp_runtime::signatures::PublicKey::from_jwk(jwk).unwrap();
        match key.verifies(base.as_bytes(), &self.value(label).unwrap()) {
            true => Ok(()),
            false => Err("signature_invalid".to_owned()),
        }
    }
}

#[test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
fn signatures() {
    let Some(file) = file("signatures.json") else {
        return;
    };
    let private = file["private_jwks_TEST_ONLY"].as_object().unwrap();
    let private: BTreeMap<&str, SigningKey> = private
        .iter()
        .map(|(name, jwk)| {
            (
                name.as_str(),
                SigningKey::from_jwk(&jwk.to_string()).unwrap(),
            )
        })
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut counts: BTreeMap<&str, [usize; 5]> = BTreeMap::new();
    for json in file["vectors"].as_array().unwrap() {
        let vector = Vector::read(json);
        let name = vector.name();
        let count = counts
            .entry(json["category"].as_str().unwrap())
            .or_default();
        count[0] += 1;

        let verdict = match json["mode"].as_str().unwrap() {
            "rfc9421" => vector.cryptography(),
            "ucp" => vector.verdict().map(|_| ()),
            mode => panic!("{name}: {mode}"),
        };
        let verdict = match &verdict {
            Ok(()) => "ok",
            Err(code) => code,
        };
        let admitted = json["alternatives"]
            .as_array()
            .is_some_and(|also| also.iter().any(|also| also == verdict));
        assert!(json["expected"] == verdict || admitted, "{name}: {verdict}");
        count[1] += usize::from(admitted && json["expected"] != verdict);

        for (label, base) in json["signature_bases"].as_object().unwrap() {
            // Null where the maker of the vector saw nothing to build a base for.
            if let Some(base) = base.as_str() {
                assert_eq!(vector.base(label).as_deref(), Ok(base), "{name}");
                count[2] += 1;
            }
        }
        if let Some(base) = json["signature_base"].as_str() {
            let only = json["signature_bases"].as_object().unwrap().values().next();
            assert_eq!(only.and_then(Value::as_str), Some(base), "{name}");
        }

        // The signature as we make it, of what was signed.
        let signed = json["signed_base"]
            .as_str()
            .or(json["signature_base"].as_str());
        let signer = json["signed_with"]
            .as_str()
            .and_then(|key| private.get(key));
        let label = json["signature_bases"].as_object().unwrap().keys().next();
        if let (Some(base), Some(signer)) = (signed, signer)
            && signer.public_key().algorithm() == Algorithm::Es256
            && !FAST
        {
            let label = label.map_or("sig1", String::as_str);
            let ours = runtime.block_on(signer.sign(base.as_bytes())).unwrap();
            match vector.value(label) {
                Some(theirs) if theirs == ours => count[3] += 1,
                // A value that was altered, or taken away, is what such a vector is about.
                _ => assert_ne!(json["expected"], "ok", "{name}"),
            }
        }
        if let Some(signer) = signer
            && json["expected"] == "ok"
            && runtime.block_on(vector.signs_alike(signer))
        {
            count[4] += 1;
        }
    }
    let mut sum = [0; 5];
    for (category, count) in &counts {
        println!(
            "signatures, {category}: {} compared, {} by an alternative, {} bases, {} ES256 signatures reproduced, {} by signing the whole message",
            count[0], count[1], count[2], count[3], count[4]
        );
        for (sum, count) in sum.iter_mut().zip(count) {
            *sum += count;
        }
    }
    println!(
        "signatures: {} compared, {} by an alternative, {} bases, {} ES256 signatures reproduced, {} by signing the whole message",
        sum[0], sum[1], sum[2], sum[3], sum[4]
    );
}

#[test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
fn thumbprints() {
    let Some(file) = file("thumbprints.json") else {
        return;
    };
    let vectors = file["vectors"].as_array().unwrap();
    for vector in vectors {
        assert_eq!(
            thumbprint(vector["jwk"].as_object().unwrap()).as_deref(),
            vector["thumbprint"].as_str(),
            "{}",
            vector["name"]
        );
    }
    println!("thumbprints: {} compared", vectors.len());
}

#[test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
fn ucp_agent() {
    let Some(file) = file("ucp_agent.json") else {
        return;
    };
    let vectors = file["parse"].as_array().unwrap();
    for vector in vectors {
        let lines: Vec<&str> = match &vector["header"] {
            Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
            line => vec![line.as_str().unwrap()],
        };
        let read = ProfileUrl::from_header(lines);
        let verdict = match &read {
            Ok(_) => "ok",
            Err(_) => "invalid_profile_url",
        };
        let admitted = vector["alternatives"]
            .as_array()
            .is_some_and(|also| also.iter().any(|also| also == verdict));
        assert!(
            vector["expected"] == verdict || admitted,
            "{}",
            vector["name"]
        );
        if let (Ok(profile), Some(url)) = (read, vector["profile"].as_str()) {
            assert_eq!(profile.as_str(), url, "{}", vector["name"]);
        }
    }
    println!("UCP-Agent, read: {} compared", vectors.len());
    let written = file["serialize"].as_array().unwrap();
    for vector in written {
        // What we write has one member, `profile`; what no URL can hold, we refuse to write.
        let members = vector["members"].as_array().unwrap();
        let url = members[0][1]["string"].as_str().unwrap();
        match (
            members.len(),
            members[0][0].as_str(),
            vector["output"].as_str(),
        ) {
            (1, Some("profile"), Some(output)) => match ProfileUrl::new(url) {
                Ok(profile) => assert_eq!(profile.header(), output, "{}", vector["name"]),
                Err(_) => assert!(url.contains(['"', '\\']), "{}", vector["name"]),
            },
            (1, Some("profile"), None) => {
                assert!(ProfileUrl::new(url).is_err(), "{}", vector["name"]);
            }
            // Other members we never write.
            _ => {}
        }
    }
    println!("UCP-Agent, written: {} compared", written.len());
}
