use super::*;
use crate::profile::PublishedKeys;
use crate::signatures::{Code, Signing, SigningKey, WebBotAuth, content_digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Request, Response};
use serde_json::{Value, json};

const BODY: &[u8] = br#"{"id":"co_1"}"#;
const COVERED: &str =
    r#"("@method" "@authority" "@path" "ucp-agent" "content-digest" "content-type")"#;

fn key(id: &str) -> SigningKey {
    let key = SigningKey::from_scalar(Algorithm::Es256, &[7; 32]).unwrap();
    key.with_id(id).unwrap()
}

fn published(keys: &[&SigningKey]) -> PublishedKeys {
    let keys: Vec<_> = keys.iter().map(|key| key.public_key().to_jwk()).collect();
    PublishedKeys::from_jwk_set(&json!({ "keys": keys }))
}

fn verifier() -> Verifier {
    Verifier::at(Timestamp::from_second(1_000).unwrap())
}

fn post() -> Request<&'static [u8]> {
    Request::post("https://m.test/checkout-sessions")
        .header("ucp-agent", r#"profile="https://a.test/p""#)
        .header("content-type", "application/json")
        .header("content-digest", content_digest(BODY))
        .body(BODY)
        .unwrap()
}

/// Adds a signature by hand: any input, over the base that a verifier rebuilds.
fn sign(request: &mut Request<&[u8]>, key: &SigningKey, label: &str, input: &str) {
    let input = HeaderValue::from_str(&format!("{label}={input}")).unwrap();
    request.headers_mut().append(SIGNATURE_INPUT, input);
    let base = received_request_base(&*request, label).unwrap_or_default();
    let value = STANDARD.encode(key.sign_now(base.as_bytes()).unwrap());
    let value = HeaderValue::from_str(&format!("{label}=:{value}:")).unwrap();
    request.headers_mut().append(SIGNATURE, value);
}

fn judged(request: &Request<&[u8]>, keys: &PublishedKeys) -> Result<Verified, Rejected> {
    verifier().request(request, request.body(), keys)
}

#[track_caller]
fn refused(request: &Request<&[u8]>, keys: &PublishedKeys) -> Reason {
    judged(request, keys).unwrap_err().reason
}

/// One signature with these parameters.
fn with(parameters: &str) -> Request<&'static [u8]> {
    let mut request = post();
    sign(
        &mut request,
        &key("k"),
        "s",
        &format!("{COVERED}{parameters}"),
    );
    request
}

#[tokio::test]
async fn what_signing_makes_verifies() {
    let p384 = SigningKey::from_scalar(Algorithm::Es384, &[7; 48]).unwrap();
    let ed25519 = SigningKey::from_scalar(Algorithm::Ed25519, &[7; 32]).unwrap();
    for key in [key("k"), p384, ed25519] {
        let keys = published(&[&key]);
        let mut request = post();
        let created = Timestamp::from_second(900).unwrap();
        let signing = Signing::with(&key).created(created);
        let signed = signing.request(&request, BODY).await.unwrap();
        let base = signed.base.clone();
        signed.apply(request.headers_mut());
        assert_eq!(received_request_base(&request, "sig1"), Ok(base));
        let verified = judged(&request, &keys).unwrap();
        assert_eq!(
            verified,
            Verified {
                label: "sig1".to_owned(),
                key_id: key.public_key().id().to_owned(),
                algorithm: key.public_key().algorithm(),
                created: Some(created),
                expires: None,
                tag: None,
                covered: [
                    "@method",
                    "@authority",
                    "@path",
                    "ucp-agent",
                    "content-digest",
                    "content-type"
                ]
                .map(ToOwned::to_owned)
                .to_vec(),
            }
        );
        assert!(verified.covers("ucp-agent") && !verified.covers("webhook-id"));

        let mut response = Response::builder()
            .status(201)
            .header("content-type", "application/json")
            .body(())
            .unwrap();
        let signed = Signing::with(&key).response(&response, BODY).await.unwrap();
        let base = signed.base.clone();
        signed.apply(response.headers_mut());
        assert_eq!(received_response_base(&response, "sig1"), Ok(base));
        assert!(verifier().response(&response, BODY, &keys).is_ok());
        *response.status_mut() = http::StatusCode::OK;
        let rejected = verifier().response(&response, BODY, &keys).unwrap_err();
        assert_eq!(rejected.reason, Reason::Value);
    }
}

#[tokio::test]
async fn web_bot_auth_verifies_by_thumbprint_alone() {
    let key = SigningKey::from_scalar(Algorithm::Ed25519, &[7; 32]).unwrap();
    let now = Timestamp::from_second(900).unwrap();
    let agent = ProfileUrl::new("https://a.test/p").unwrap();
    let shape = WebBotAuth::new(&agent, now, [1; 64]);
    let mut request = post();
    let signed = Signing::with(&key)
        .web_bot_auth(shape)
        .request(&request, BODY)
        .await
        .unwrap();
    signed.apply(request.headers_mut());
    let verified = judged(&request, &published(&[&key])).unwrap();
    assert_eq!(verified.tag.as_deref(), Some("web-bot-auth"));
    assert_eq!(verified.expires, Timestamp::from_second(1_200).ok());

    // Another key published under the thumbprint of this one.
    let other = SigningKey::from_scalar(Algorithm::Ed25519, &[8; 32]).unwrap();
    let other = other.with_id(&key.public_key().thumbprint()).unwrap();
    assert_eq!(
        refused(&request, &published(&[&other])),
        Reason::NotThumbprint
    );

    // A member that is no URL, an insecure one, another label's.
    for (member, reason) in [
        (
            r#"sig1="http://a.test/p";type=jwks_uri"#,
            Reason::SignatureAgent,
        ),
        ("sig1=a", Reason::SignatureAgent),
        ("sig1=(a)", Reason::SignatureAgent),
        (
            r#"sig2="https://a.test/p""#,
            Reason::Component {
                name: "signature-agent".to_owned(),
                problem: "the field has no such member",
            },
        ),
        (r#"sig1="https://b.test/p";type=jwks_uri"#, Reason::Value),
    ] {
        let mut altered = request.clone();
        altered
            .headers_mut()
            .insert(SIGNATURE_AGENT, member.parse().unwrap());
        assert_eq!(refused(&altered, &published(&[&key])), reason, "{member}");
    }
}

#[test]
fn coverage_comes_before_keys() {
    let nobody = PublishedKeys::default();
    for (covered, missing) in [
        ("()", "@method"),
        (r#"("@method")"#, "@authority"),
        (r#"("@method" "@authority")"#, "@path"),
        (r#"("@method" "@authority" "@path")"#, "@query"),
        (r#"("@method" "@authority" "@path" "@query")"#, "ucp-agent"),
        (
            r#"("@method" "@authority" "@path" "@query" "ucp-agent")"#,
            "signature-agent;key=\"s\"",
        ),
        (
            r#"("@method" "@authority" "@path" "@query" "ucp-agent" "signature-agent")"#,
            "signature-agent;key=\"s\"",
        ),
        (
            r#"("@method" "@authority" "@path" "@query" "ucp-agent" "signature-agent";key="s")"#,
            "idempotency-key",
        ),
        (
            r#"("@method" "@authority" "@path" "@query" "ucp-agent" "signature-agent";key="s" "idempotency-key")"#,
            "content-digest",
        ),
        (
            r#"("@method" "@authority" "@path" "@query" "ucp-agent" "signature-agent";key="s" "idempotency-key" "content-digest";key="sha-256")"#,
            "content-digest",
        ),
        (
            r#"("@method" "@authority" "@path" "@query" "ucp-agent" "signature-agent";key="s" "idempotency-key" "content-digest")"#,
            "content-type",
        ),
    ] {
        let mut request = post();
        *request.uri_mut() = "https://m.test/checkout-sessions?a".parse().unwrap();
        request
            .headers_mut()
            .insert("idempotency-key", "1".parse().unwrap());
        let agent = r#"s="https://a.test/p""#.parse().unwrap();
        request.headers_mut().insert("signature-agent", agent);
        sign(
            &mut request,
            &key("k"),
            "s",
            &format!("{covered};keyid=\"k\""),
        );
        let name = missing.to_owned();
        assert_eq!(
            refused(&request, &nobody),
            Reason::Uncovered { name },
            "{covered}"
        );
    }
    // An empty query carries nothing, and need not be covered.
    let mut request = post();
    *request.uri_mut() = "https://m.test/checkout-sessions?".parse().unwrap();
    sign(
        &mut request,
        &key("k"),
        "s",
        &format!("{COVERED};keyid=\"k\""),
    );
    assert!(judged(&request, &published(&[&key("k")])).is_ok());
}

#[test]
fn responses_have_a_floor_of_their_own() {
    for (covered, body, missing) in [
        ("()", &b""[..], Some("@status")),
        (r#"("@status")"#, b"", None),
        (r#"("@status")"#, BODY, Some("content-digest")),
        (
            r#"("@status" "content-digest")"#,
            BODY,
            Some("content-type"),
        ),
        (r#"("@status" "content-digest" "content-type")"#, BODY, None),
    ] {
        let mut response = Response::builder()
            .header("content-type", "application/json")
            .header("content-digest", content_digest(BODY))
            .header("signature-input", format!("s={covered};keyid=\"k\""))
            .body(())
            .unwrap();
        let base = received_response_base(&response, "s").unwrap();
        let value = STANDARD.encode(key("k").sign_now(base.as_bytes()).unwrap());
        let value = format!("s=:{value}:").parse().unwrap();
        response.headers_mut().insert(SIGNATURE, value);
        let verified = verifier().response(&response, body, &published(&[&key("k")]));
        match missing {
            None => assert!(verified.is_ok(), "{covered}: {verified:?}"),
            Some(name) => {
                let name = name.to_owned();
                assert_eq!(
                    verified.unwrap_err().reason,
                    Reason::Uncovered { name },
                    "{covered}"
                );
            }
        }
    }
}

#[test]
fn parameters_are_read_by_their_type() {
    let keys = published(&[&key("k")]);
    for (parameters, verdict) in [
        (r#";keyid="k""#, Ok(())),
        (
            r#";z=?0;keyid="k";created=5;alg="ecdsa-p256-sha256";x="a\"b""#,
            Ok(()),
        ),
        (r#";keyid="k";expires=1000"#, Ok(())),
        (
            r#";keyid="k";expires=999"#,
            Err(Reason::Expired {
                expires: 999,
                now: 1_000,
            }),
        ),
        (r#";created=5"#, Err(Reason::NoKeyId)),
        (";keyid=k", Err(Reason::Parameter { name: "keyid" })),
        (
            r#";keyid="k";expires="1""#,
            Err(Reason::Parameter { name: "expires" }),
        ),
        (
            r#";keyid="k";expires=1.5"#,
            Err(Reason::Parameter { name: "expires" }),
        ),
        (
            r#";keyid="k";created=?1"#,
            Err(Reason::Parameter { name: "created" }),
        ),
        (
            r#";keyid="k";tag=web-bot-auth"#,
            Err(Reason::Parameter { name: "tag" }),
        ),
        (
            r#";keyid="k";alg=ed25519"#,
            Err(Reason::Parameter { name: "alg" }),
        ),
        (r#";keyid="k";alg="ES256""#, Err(Reason::AlgorithmParameter)),
        (
            r#";keyid="k";alg="ed25519""#,
            Err(Reason::AlgorithmParameter),
        ),
        (
            r#";keyid="k";tag="other""#,
            Err(Reason::ForeignTag {
                tag: "other".to_owned(),
            }),
        ),
        (r#";keyid="K""#, Err(Reason::UnknownKey)),
    ] {
        let verified = judged(&with(parameters), &keys).map(|_| ());
        assert_eq!(
            verified.map_err(|rejected| rejected.reason),
            verdict,
            "{parameters}"
        );
    }
    let late = with(r#";keyid="k";expires=990"#);
    let lenient = verifier().leeway(SignedDuration::from_secs(10));
    assert!(lenient.request(&late, BODY, &keys).is_ok());
    let strict = verifier().leeway(SignedDuration::from_secs(9));
    assert!(strict.request(&late, BODY, &keys).is_err());
    let negative = verifier().leeway(SignedDuration::from_secs(-900));
    assert!(
        negative
            .request(&with(r#";keyid="k";expires=1000"#), BODY, &keys)
            .is_ok()
    );
}

fn jwk(changes: Value) -> Value {
    let mut jwk = Value::from(key("k").public_key().to_jwk());
    for (name, value) in changes.as_object().unwrap() {
        jwk[name] = value.clone();
    }
    jwk
}

#[test]
fn keys_are_held_to_what_they_are_for() {
    let request = with(r#";keyid="k""#);
    for (changes, code) in [
        (json!({ "use": "enc" }), Some(Code::KeyNotFound)),
        (json!({ "key_ops": [] }), Some(Code::KeyNotFound)),
        (json!({ "key_ops": ["sign"] }), Some(Code::KeyNotFound)),
        (json!({ "key_ops": ["sign", "verify"] }), None),
        (json!({ "y": "AAAA" }), Some(Code::KeyNotFound)),
        (json!({ "kty": "RSA" }), Some(Code::AlgorithmUnsupported)),
        (
            json!({ "crv": "secp256k1" }),
            Some(Code::AlgorithmUnsupported),
        ),
        (json!({ "alg": "ES384" }), Some(Code::AlgorithmUnsupported)),
        (
            json!({ "kty": "RSA", "use": "enc" }),
            Some(Code::KeyNotFound),
        ),
    ] {
        let keys = PublishedKeys::from_jwk_set(&json!({ "keys": [jwk(changes.clone())] }));
        let judged = judged(&request, &keys);
        assert_eq!(
            judged.err().map(|rejected| rejected.code()),
            code,
            "{changes}"
        );
    }
}

#[test]
fn a_bad_key_costs_no_other() {
    let request = with(r#";keyid="k""#);
    let bad = [
        json!({ "kty": "RSA" }),
        json!({ "use": "enc" }),
        json!({ "y": "AAAA" }),
    ];
    let other = SigningKey::from_scalar(Algorithm::Es256, &[8; 32]).unwrap();
    let other = other.with_id("k").unwrap();
    let other = Value::from(other.public_key().to_jwk());
    // The same id again and again: what cannot verify is passed over, what can is tried.
    let mut keys: Vec<Value> = bad.into_iter().map(jwk).collect();
    keys.extend([other.clone(), jwk(json!({}))]);
    let set = PublishedKeys::from_jwk_set(&json!({ "keys": keys }));
    assert!(judged(&request, &set).is_ok());
    // But only so many.
    let mut keys = vec![other; 4];
    keys.push(jwk(json!({})));
    let set = PublishedKeys::from_jwk_set(&json!({ "keys": keys }));
    assert_eq!(refused(&request, &set), Reason::Value);
    // Of those that cannot verify, the one that got furthest is reported, and the first of them.
    let reported = |keys: [Value; 3]| {
        let set = PublishedKeys::from_jwk_set(&json!({ "keys": keys.map(jwk) }));
        refused(&request, &set)
    };
    let (rsa, dsa) = (json!({ "kty": "RSA" }), json!({ "kty": "DSA" }));
    let unusable = json!({ "use": "enc" });
    for (keys, named) in [
        ([rsa.clone(), dsa.clone(), unusable.clone()], "RSA"),
        ([unusable, dsa, rsa], "DSA"),
    ] {
        match reported(keys) {
            Reason::UnsupportedKey { problem } => assert!(problem.contains(named), "{problem}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn either_header_makes_a_message_signed() {
    let there = |names: &[http::HeaderName]| {
        let headers = names
            .iter()
            .map(|name| (name.clone(), "x".parse().unwrap()));
        is_signed(&headers.collect())
    };
    assert!(!there(&[http::header::DATE]));
    assert!(there(&[SIGNATURE]) && there(&[SIGNATURE_INPUT]));
}

#[test]
fn the_first_that_holds_is_enough_and_the_furthest_is_reported() {
    let keys = published(&[&key("k")]);
    let good = format!("{COVERED};keyid=\"k\"");
    let other = SigningKey::from_scalar(Algorithm::Es256, &[8; 32]).unwrap();

    let mut request = post();
    sign(&mut request, &key("k"), "a", r#"("@bogus");keyid="k""#);
    sign(
        &mut request,
        &key("k"),
        "b",
        r#"("@bogus");keyid="k";tag="foreign""#,
    );
    sign(
        &mut request,
        &key("k"),
        "c",
        &format!("{COVERED};keyid=\"gone\""),
    );
    sign(&mut request, &other, "d", &good);
    sign(&mut request, &key("k"), "e", r#"("@path");keyid="k""#);
    let rejected = judged(&request, &keys).unwrap_err();
    assert_eq!(rejected.label.as_deref(), Some("d"));
    assert_eq!(rejected.key_id.as_deref(), Some("k"));
    assert_eq!(rejected.unknown_key_id.as_deref(), Some("gone"));
    assert_eq!(rejected.reason, Reason::Value);
    assert_eq!(
        rejected.to_string(),
        "signature_invalid: `d` by the key \"k\": its value is not the key's signature of this message"
    );
    // Of several that got as far, the first.
    sign(&mut request, &other, "d2", &good);
    let rejected = judged(&request, &keys).unwrap_err();
    assert_eq!(rejected.label.as_deref(), Some("d"));
    sign(&mut request, &key("k"), "f", &good);
    assert_eq!(judged(&request, &keys).unwrap().label, "f");

    // Labels without a partner count for nothing.
    request
        .headers_mut()
        .append(SIGNATURE_INPUT, "alone=()".parse().unwrap());
    request
        .headers_mut()
        .append(SIGNATURE, "other=:AA==:".parse().unwrap());
    assert_eq!(judged(&request, &keys).unwrap().label, "f");
}

#[test]
fn headers_are_bounded_and_whole() {
    let keys = published(&[&key("k")]);
    let judge = |input: &str, value: &str| {
        let mut request = post();
        if !input.is_empty() {
            request
                .headers_mut()
                .insert(SIGNATURE_INPUT, input.parse().unwrap());
        }
        if !value.is_empty() {
            request
                .headers_mut()
                .insert(SIGNATURE, value.parse().unwrap());
        }
        refused(&request, &keys)
    };
    let header = SIGNATURE;
    let malformed = Reason::Malformed { header };
    let header = SIGNATURE_INPUT;
    let malformed_input = Reason::Malformed { header };
    let input = format!("s={COVERED};keyid=\"k\"");
    for (input, value, reason) in [
        ("", "", Reason::Unsigned),
        (&*input, "", Reason::Unsigned),
        ("", "s=:AA==:", Reason::Unsigned),
        (&input, "t=:AA==:", Reason::NoPair),
        ("s=(", "s=:AA==:", malformed_input.clone()),
        ("s=1", "s=:AA==:", malformed_input.clone()),
        ("s", "s=:AA==:", malformed_input),
        (&input, "s=:A-_=:", malformed.clone()),
        (&input, "s=abc", malformed.clone()),
        (&input, "s=(:AA==:)", malformed),
        (
            &input,
            "s=:AA==:",
            Reason::Length {
                algorithm: Algorithm::Es256,
                expected: 64,
                found: 1,
            },
        ),
    ] {
        assert_eq!(judge(input, value), reason, "{input} {value}");
    }
    let many = |count: usize| {
        let labels: Vec<String> = (0..count).map(|n| format!("s{n}=()")).collect();
        judge(&labels.join(","), "s0=:AA==:")
    };
    assert!(matches!(many(SIGNATURE_LIMIT), Reason::Uncovered { .. }));
    assert!(matches!(
        many(SIGNATURE_LIMIT + 1),
        Reason::TooMuch { limit: 16, .. }
    ));
}

#[test]
fn digests_are_held_against_the_body() {
    let keys = published(&[&key("k")]);
    let whole = STANDARD.encode([0; 32]);
    let right = content_digest(BODY);
    let right = right.to_str().unwrap();
    for (digest, verdict) in [
        (right.to_owned(), Ok(())),
        (format!("sha-512=:AA==:, {right};q=1"), Ok(())),
        (format!("sha-256=:{whole}:, {right}"), Ok(())),
        (format!("{}:", right.trim_end_matches("=:")), Ok(())),
        (format!("{right}, sha-256=:{whole}:"), Err(Reason::Digest)),
        (format!("sha-256=:{}:", &whole[..40]), Err(Reason::Digest)),
        (
            "sha-512=:AA==:".to_owned(),
            Err(Reason::NoDigest {
                problem: "it has no `sha-256`",
            }),
        ),
        (
            "SHA-256=AA".to_owned(),
            Err(Reason::NoDigest {
                problem: "it is not a dictionary",
            }),
        ),
        (
            "sha-256=AA".to_owned(),
            Err(Reason::NoDigest {
                problem: "its `sha-256` is not a byte sequence",
            }),
        ),
        (
            "sha-256=(:AA==:)".to_owned(),
            Err(Reason::NoDigest {
                problem: "its `sha-256` is not a byte sequence",
            }),
        ),
    ] {
        let mut request = post();
        request
            .headers_mut()
            .insert("content-digest", digest.parse().unwrap());
        sign(
            &mut request,
            &key("k"),
            "s",
            &format!("{COVERED};keyid=\"k\""),
        );
        let verified = judged(&request, &keys).map(|_| ());
        assert_eq!(
            verified.map_err(|rejected| rejected.reason),
            verdict,
            "{digest}"
        );
    }
    // Covered without a body: the digest is of nothing.
    let mut request = with(r#";keyid="k""#);
    *request.body_mut() = b"";
    assert_eq!(refused(&request, &keys), Reason::Digest);
    request.headers_mut().remove("content-digest");
    let problem = "there is none";
    assert_eq!(refused(&request, &keys), Reason::NoDigest { problem });
}

#[test]
fn rfc_9421_b_2_4_and_b_2_6() {
    // Appendix B.2.4: ECDSA over a response, whose signature is not deterministic.
    let response = Response::builder()
        .header("date", "Tue, 20 Apr 2021 02:07:56 GMT")
        .header("content-type", "application/json")
        .header("content-digest", "sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJuahq4l5aGgfLQ==:")
        .header("content-length", "23")
        .header("signature-input", r#"sig-b24=("@status" "content-type" "content-digest" "content-length");created=1618884473;keyid="test-key-ecc-p256""#)
        .body(())
        .unwrap();
    let base = received_response_base(&response, "sig-b24").unwrap();
    let key = SigningKey::from_jwk(
        r#"{"kty":"EC","crv":"P-256","d":"UpuF81l-kOxbjf7T4mNSv0r5tN67Gim7rnf6EFpcYDs",
            "x":"qIVYZVLCrPZHGHjP17CTW0_-D9Lfw0EkjqF7xB4FivA",
            "y":"Mc4nN9LTDOBhfoUeg8Ye9WedFRhnZXZJA12Qp0zZ6F0"}"#,
    )
    .unwrap();
    let value = STANDARD
        .decode("wNmSUAhwb5LxtOtOpNa6W5xj067m5hFrj0XQ4fvpaCLx0NKocgPquLgyahnzDnDAUy5eCdlYUEkLIj+32oiasw==")
        .unwrap();
    assert!(key.public_key().verifies(base.as_bytes(), &value));
    assert!(
        !key.public_key()
            .verifies(base.trim_end_matches('"').as_bytes(), &value)
    );

    // Appendix B.2.6: Ed25519 over a request, whose signature is.
    let request = Request::post("https://example.com/foo?param=Value&Pet=dog")
        .header("date", "Tue, 20 Apr 2021 02:07:55 GMT")
        .header("content-type", "application/json")
        .header("content-length", "18")
        .header("signature-input", r#"sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519""#)
        .body(())
        .unwrap();
    let base = received_request_base(&request, "sig-b26").unwrap();
    let key = SigningKey::from_jwk(
        r#"{"kty":"OKP","crv":"Ed25519","d":"n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU",
            "x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}"#,
    )
    .unwrap();
    assert_eq!(
        STANDARD.encode(key.sign_now(base.as_bytes()).unwrap()),
        "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw=="
    );
    assert_eq!(key.public_key().id(), key.public_key().thumbprint());
}

#[test]
fn a_base_is_rebuilt_only_for_what_is_there() {
    let request = with(r#";keyid="k""#);
    assert_eq!(received_request_base(&request, "t"), Err(Reason::NoPair));
    let response = Response::builder()
        .header("signature-input", "s=1")
        .body(())
        .unwrap();
    let header = SIGNATURE_INPUT;
    assert_eq!(
        received_response_base(&response, "s"),
        Err(Reason::Malformed { header })
    );
}
