//! Hostile headers, bodies and keys, by the same properties as the fuzz targets in `tests/fuzz`, which
//! also look at the corpus that is checked in there.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use proptest::prelude::*;
use std::path::Path;

#[path = "../fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "public in the crate that it is part of")]
mod properties;

/// One edit of a signed request.
fn edit() -> impl Strategy<Value = Vec<u8>> {
    let bytes = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..4),
        proptest::collection::vec(b' '..=b'~', 0..40),
        proptest::sample::select(vec![
            &b"sig1"[..],
            b"\"@path\"",
            b";key=\"sig1\"",
            b", sig2=()",
            b"=:AA==:",
            b"sha-256",
            b"sha-512=:AA==:, ",
            b"keyid=\"",
            b";alg=\"ed25519\"",
            b";tag=\"x\"",
            b"?",
            b"//",
            b"%2F",
            b"https://shop.example:443/checkout-sessions?a=1",
            b"SHOP.example",
            b"GET",
            b"{}",
        ])
        .prop_map(<[u8]>::to_vec),
    ];
    (any::<[u8; 4]>(), bytes).prop_map(|(head, bytes)| {
        [&head[..], &[u8::try_from(bytes.len()).unwrap()], &bytes].concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn an_altered_message_is_not_accepted(edits in proptest::collection::vec(edit(), 0..4)) {
        properties::message(&edits.concat());
    }

    #[test]
    fn hostile_bytes_do_no_harm(data in proptest::collection::vec(any::<u8>(), 0..200)) {
        properties::message(&data);
        properties::jws(&data);
        properties::keys(&data);
    }

    #[test]
    fn hostile_keys_do_no_harm(
        kty in "EC|OKP|RSA|[a-z]{0,3}",
        crv in "P-256|P-384|Ed25519|P-521|[a-z]{0,3}",
        parts in proptest::collection::vec("[A-Za-z0-9_-]{0,3}|[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]|[A-Za-z0-9_-]{64}|AQA{41}", 3),
        others in "|,\"use\":\"(sig|enc)\"|,\"alg\":\"ES256\"|,\"key_ops\":\\[\\]|,\"kid\":\"k\"",
    ) {
        let jwk = format!(
            r#"{{"kty":"{kty}","crv":"{crv}","x":"{}","y":"{}"{others}"#,
            parts[0], parts[1]
        );
        properties::keys(format!("{jwk}}}").as_bytes());
        properties::keys(format!(r#"{jwk},"d":"{}"}}"#, parts[2]).as_bytes());
        properties::keys(format!(r#"{{"keys":[{jwk}}}]}}"#).as_bytes());
    }
}

#[test]
fn the_corpus_does_no_harm() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let files = |target: &str| {
        let entries = std::fs::read_dir(corpus.join(target)).unwrap();
        entries
            .map(|entry| entry.unwrap().path())
            .collect::<Vec<_>>()
    };
    let mut accepted: Vec<String> = files("message")
        .into_iter()
        .filter(|path| properties::message(&std::fs::read(path).unwrap()))
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    accepted.sort();
    // What changes nothing that is signed. The rest is refused.
    assert_eq!(
        accepted,
        [
            "agent-member-added",
            "authority-same",
            "origin-form",
            "second-label",
            "space",
            "untouched"
        ]
    );
    let (jws, keys) = (files("jws"), files("keys"));
    assert!(jws.len() >= 8 && keys.len() >= 9);
    for path in jws {
        properties::jws(&std::fs::read(path).unwrap());
    }
    for path in keys {
        properties::keys(&std::fs::read(path).unwrap());
    }
}
