use super::*;
use p256::pkcs8::EncodePrivateKey as _;
use serde_json::json;

/// RFC 9421 appendix B.1.3 and B.1.4, RFC 8037 appendix A.1; an ES384 key of our own.
fn jwks() -> [(Algorithm, Value); 4] {
    let p384 = SigningKey::from_scalar(Algorithm::Es384, &[7; 48]).unwrap();
    [
        (
            Algorithm::Es256,
            json!({
                "kty": "EC", "crv": "P-256", "kid": "test-key-ecc-p256",
                "d": "UpuF81l-kOxbjf7T4mNSv0r5tN67Gim7rnf6EFpcYDs",
                "x": "qIVYZVLCrPZHGHjP17CTW0_-D9Lfw0EkjqF7xB4FivA",
                "y": "Mc4nN9LTDOBhfoUeg8Ye9WedFRhnZXZJA12Qp0zZ6F0",
            }),
        ),
        (
            Algorithm::Es384,
            serde_json::from_str(&p384.to_private_jwk()).unwrap(),
        ),
        (
            Algorithm::Ed25519,
            json!({
                "kty": "OKP", "crv": "Ed25519", "kid": "test-key-ed25519",
                "d": "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU",
                "x": "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs",
            }),
        ),
        (
            Algorithm::Ed25519,
            json!({
                "kty": "OKP", "crv": "Ed25519",
                "d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
                "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
            }),
        ),
    ]
}

fn with(jwk: &Value, changes: Value) -> Result<SigningKey, KeyError> {
    let mut jwk = jwk.clone();
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(jwk.as_object_mut().unwrap().remove(name)),
            value => jwk[name] = value.clone(),
        }
    }
    SigningKey::from_jwk(&jwk.to_string())
}

#[test]
fn a_jwk_signs_and_its_public_half_verifies() {
    for (algorithm, jwk) in jwks() {
        let key = SigningKey::from_jwk(&jwk.to_string()).unwrap();
        let public = key.public_key();
        assert_eq!(public.algorithm(), algorithm);
        match jwk["kid"].as_str() {
            Some(kid) => assert_eq!(public.id(), kid),
            None => assert_eq!(public.id(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"),
        }
        let signature = key.sign_now(b"message").unwrap();
        assert_eq!(signature.len(), algorithm.signature_len());
        assert!(public.verifies(b"message", &signature));
        assert!(!public.verifies(b"massage", &signature));
        assert!(!public.verifies(b"message", &signature[1..]));

        let published = public.to_jwk();
        assert_eq!(PublicKey::from_jwk(&published).unwrap(), *public);
        assert_eq!(published.get("d"), None);
        let kept: Value = serde_json::from_str(&key.to_private_jwk()).unwrap();
        assert_eq!(kept["d"], jwk["d"]);
        assert_eq!(kept["x"], jwk["x"]);
        assert_eq!(with(&kept, json!({})).unwrap().public, key.public);
    }
}

#[test]
fn the_secret_never_prints() {
    for (_, jwk) in jwks() {
        let key = SigningKey::from_jwk(&jwk.to_string()).unwrap();
        let text = format!("{key:?} {:#?}", key.public_key());
        let shown = format!("{:?}", key.public_key());
        assert!(shown.contains(key.public_key().id()), "{shown}");
        assert!(format!("{key:?}").contains(&shown), "{key:?}");
        assert!(!text.contains(jwk["d"].as_str().unwrap()), "{text}");
        let secret = jwk["d"].as_str().unwrap();
        let longer = with(&jwk, json!({ "d": format!("{secret}A") })).unwrap_err();
        let number = SigningKey::from_jwk(r#"{"kty":"EC","d":123456789}"#).unwrap_err();
        for error in [longer, number] {
            let text = format!("{error} {error:?}");
            assert!(
                !text.contains(secret) && !text.contains("123456789"),
                "{text}"
            );
        }
    }
}

#[test]
fn a_jwk_is_refused_for_a_reason() {
    let [(_, ec), _, (_, okp), _] = jwks();
    let other = SigningKey::from_scalar(Algorithm::Es256, &[9; 32]).unwrap();
    let other = Value::from(other.public_key().to_jwk());
    for (jwk, changes, message) in [
        (&ec, json!({ "kty": null }), "its member `kty` is missing"),
        (&ec, json!({ "kty": 1 }), "its member `kty` is not a string"),
        (&ec, json!({ "crv": null }), "its member `crv` is missing"),
        (
            &ec,
            json!({ "crv": "P-521" }),
            "its type is EC P-521: this crate takes EC on P-256 or P-384, and OKP on Ed25519",
        ),
        (
            &ec,
            json!({ "kty": "RSA", "crv": null }),
            "its type is RSA: this crate takes EC on P-256 or P-384, and OKP on Ed25519",
        ),
        (
            &okp,
            json!({ "crv": "X25519" }),
            "its type is OKP X25519: this crate takes EC on P-256 or P-384, and OKP on Ed25519",
        ),
        (&ec, json!({ "d": null }), "it has no private part"),
        (&ec, json!({ "x": null }), "its member `x` is missing"),
        (
            &ec,
            json!({ "x": "AAAA" }),
            "its member `x` has the wrong length",
        ),
        (
            &ec,
            json!({ "d": "UpuF81l+kOxbjf7T4mNSv0r5tN67Gim7rnf6EFpcYDs" }),
            "its member `d` is not base64url without padding",
        ),
        (
            &ec,
            json!({ "d": "UpuF81l-kOxbjf7T4mNSv0r5tN67Gim7rnf6EFpc" }),
            "its member `d` has the wrong length",
        ),
        (
            &ec,
            json!({ "d": "A".repeat(43) }),
            "its private part is out of range for ES256",
        ),
        (
            &ec,
            json!({ "d": "_".repeat(42) + "8" }),
            "its private part is out of range for ES256",
        ),
        (
            &ec,
            json!({ "y": ec["x"] }),
            "its public part is not a usable point of the curve of ES256",
        ),
        (
            &ec,
            json!({ "x": other["x"], "y": other["y"] }),
            "its public part is not that of its private part",
        ),
        (
            &okp,
            json!({ "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }),
            "its public part is not that of its private part",
        ),
        (
            // The neutral element, for which anything verifies.
            &okp,
            json!({ "x": format!("AQ{}", "A".repeat(41)) }),
            "its public part is not a usable point of the curve of Ed25519",
        ),
        (
            &ec,
            json!({ "use": "enc" }),
            "its `use` is `enc`: a key that signs or verifies has `sig`, or no `use`",
        ),
        (
            &ec,
            json!({ "key_ops": ["verify"] }),
            "its `key_ops` does not list `sign`",
        ),
        (
            &ec,
            json!({ "key_ops": "sign" }),
            "its member `key_ops` is not a list",
        ),
        (
            &ec,
            json!({ "alg": "ES384" }),
            "its `alg` is `ES384`, but its type and curve make it ES256",
        ),
        (
            &ec,
            json!({ "kid": "" }),
            "its id is empty or not printable ASCII, which `keyid` must be",
        ),
        (
            &ec,
            json!({ "kid": "schlüssel" }),
            "its id is empty or not printable ASCII, which `keyid` must be",
        ),
    ] {
        let error = with(jwk, changes.clone()).unwrap_err();
        assert_eq!(error.to_string(), message, "{changes}");
    }
    for text in ["", "[]", "\"x\"", "{\"d\":1}", "{"] {
        let error = SigningKey::from_jwk(text).unwrap_err();
        assert!(
            matches!(error, KeyError::NotJson { line: _, column: _ }),
            "{text}"
        );
    }
    assert!(
        with(
            &ec,
            json!({ "use": "sig", "key_ops": ["sign"], "alg": "ES256" })
        )
        .is_ok()
    );
    assert!(with(&okp, json!({ "alg": "Ed25519" })).is_ok());
}

#[test]
fn a_file_is_read() {
    let error = SigningKey::from_jwk_file("no/such/agent.jwk").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the key file no/such/agent.jwk cannot be read"
    );
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn pem_holds_every_algorithm() {
    for (algorithm, jwk) in jwks() {
        let key = SigningKey::from_jwk(&jwk.to_string()).unwrap();
        let pem = match algorithm {
            Algorithm::Es256 => {
                let d = jwk::octets::<32>(jwk["d"].as_str().unwrap(), "d").unwrap();
                let key = p256::ecdsa::SigningKey::from_bytes(&(*d).into()).unwrap();
                key.to_pkcs8_pem(Default::default())
            }
            Algorithm::Es384 => {
                let key = p384::ecdsa::SigningKey::from_bytes(&[7; 48].into()).unwrap();
                key.to_pkcs8_pem(Default::default())
            }
            Algorithm::Ed25519 => {
                let d = jwk::octets::<32>(jwk["d"].as_str().unwrap(), "d").unwrap();
                ed25519_dalek::SigningKey::from_bytes(&d).to_pkcs8_pem(Default::default())
            }
        };
        let read = SigningKey::from_pem(&pem.unwrap()).unwrap();
        assert_eq!(read.public_key().id(), key.public_key().thumbprint());
        let read = read.with_id(key.public_key().id()).unwrap();
        assert_eq!(read.public, key.public);
    }
    // RFC 8410 section 10.3: without and with the public part.
    for pem in [
        "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\nMHICAQEwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\noB8wHQYKKoZIhvcNAQkJFDEPDA1DdXJkbGUgQ2hhaXJzgSEAGb9ECWmEzf6FQbrB\nZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PRIVATE KEY-----\n",
    ] {
        let key = SigningKey::from_pem(pem).unwrap();
        assert_eq!(key.public_key().algorithm(), Algorithm::Ed25519);
        assert_eq!(
            key.public_key().to_jwk()["x"],
            "Gb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE"
        );
    }
}

#[test]
fn pem_is_refused_for_a_reason() {
    let rsa =
        "-----BEGIN PRIVATE KEY-----\nMBQCAQAwDQYJKoZIhvcNAQEBBQAEAA==\n-----END PRIVATE KEY-----";
    for (pem, message) in [
        (
            "",
            "it is not a PKCS#8 private key in PEM: its armour or its base64 is malformed",
        ),
        (
            "-----BEGIN PRIVATE KEY-----\n????\n-----END PRIVATE KEY-----",
            "it is not a PKCS#8 private key in PEM: its armour or its base64 is malformed",
        ),
        (
            "-----BEGIN EC PRIVATE KEY-----\nMAA=\n-----END EC PRIVATE KEY-----",
            "it is not a PKCS#8 private key in PEM: it is SEC 1: turn it into PKCS#8 with `openssl pkcs8 -topk8 -nocrypt`",
        ),
        (
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----",
            "it is not a PKCS#8 private key in PEM: it is encrypted: decrypt it first",
        ),
        (
            "-----BEGIN PUBLIC KEY-----\nMAA=\n-----END PUBLIC KEY-----",
            "it has no private part",
        ),
        (
            "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----",
            "it is not a PKCS#8 private key in PEM: its content is malformed",
        ),
        (
            rsa,
            "its type is 1.2.840.113549.1.1.1: this crate takes EC on P-256 or P-384, and OKP on Ed25519",
        ),
    ] {
        assert_eq!(
            SigningKey::from_pem(pem).unwrap_err().to_string(),
            message,
            "{pem}"
        );
    }
    // The seed of one key and the public part of another.
    let mut pair =
        ed25519_dalek::pkcs8::KeypairBytes::from(&ed25519_dalek::SigningKey::from_bytes(&[1; 32]));
    let other = ed25519_dalek::SigningKey::from_bytes(&[2; 32]).verifying_key();
    pair.public_key = Some(ed25519_dalek::pkcs8::PublicKeyBytes(other.to_bytes()));
    let pem = pair.to_pkcs8_pem(Default::default()).unwrap();
    assert!(SigningKey::from_pem(&pem).is_err());
}

#[test]
fn a_scalar_has_one_length() {
    for (algorithm, expected) in [
        (Algorithm::Es256, 32),
        (Algorithm::Es384, 48),
        (Algorithm::Ed25519, 32),
    ] {
        assert!(SigningKey::from_scalar(algorithm, &vec![7; expected]).is_ok());
        for length in [0, 24, expected - 1, expected + 1] {
            match SigningKey::from_scalar(algorithm, &vec![7; length]) {
                Err(KeyError::Length {
                    expected: due,
                    found,
                    ..
                }) => {
                    assert_eq!((due, found), (expected, length));
                }
                other => panic!("{algorithm} {length}: {other:?}"),
            }
        }
    }
    for algorithm in [Algorithm::Es256, Algorithm::Es384] {
        let length = if algorithm == Algorithm::Es256 {
            32
        } else {
            48
        };
        for bytes in [vec![0; length], vec![0xff; length]] {
            let error = SigningKey::from_scalar(algorithm, &bytes).unwrap_err();
            assert!(matches!(error, KeyError::Scalar(_)), "{error}");
        }
    }
}

struct Bytes(std::sync::Mutex<Vec<u8>>);

impl Randomness for Bytes {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), BoxError> {
        let byte = self.0.lock().unwrap().pop().ok_or("exhausted")?;
        bytes.fill(byte);
        Ok(())
    }
}

#[test]
fn a_key_is_made_of_the_randomness_given() {
    for algorithm in [Algorithm::Es256, Algorithm::Es384, Algorithm::Ed25519] {
        // All ones are out of range for the two curves, so the next bytes are taken.
        let random = Bytes(vec![7, 0xff].into());
        let key = SigningKey::generate(algorithm, &random).unwrap();
        let byte = if algorithm == Algorithm::Ed25519 {
            0xff
        } else {
            7
        };
        let length = if algorithm == Algorithm::Es384 {
            48
        } else {
            32
        };
        let expected = SigningKey::from_scalar(algorithm, &vec![byte; length]).unwrap();
        assert_eq!(key.public, expected.public);
        assert_eq!(key.public_key().id(), key.public_key().thumbprint());
    }
    let error = SigningKey::generate(Algorithm::Es256, &Bytes(vec![].into())).unwrap_err();
    assert!(matches!(error, KeyError::Randomness(_)), "{error}");
    let error = SigningKey::generate(Algorithm::Es256, &Bytes(vec![0; 99].into())).unwrap_err();
    assert!(matches!(error, KeyError::Randomness(_)), "{error}");
}

#[test]
#[cfg(not(any(feature = "ring", feature = "aws-lc-rs")))]
fn es256_is_deterministic() {
    // RFC 6979 appendix A.2.5, SHA-256, message "sample".
    let scalar = [
        0xc9, 0xaf, 0xa9, 0xd8, 0x45, 0xba, 0x75, 0x16, 0x6b, 0x5c, 0x21, 0x57, 0x67, 0xb1, 0xd6,
        0x93, 0x4e, 0x50, 0xc3, 0xdb, 0x36, 0xe8, 0x9b, 0x12, 0x7b, 0x8a, 0x62, 0x2b, 0x12, 0x0f,
        0x67, 0x21,
    ];
    let key = SigningKey::from_scalar(Algorithm::Es256, &scalar).unwrap();
    let signature = key.sign_now(b"sample").unwrap();
    let hex: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        hex,
        "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716\
         f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
    );
}
