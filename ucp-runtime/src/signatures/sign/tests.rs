use super::*;
use crate::identity::ProfileUrl;
use crate::signatures::{Algorithm, PublicKey, SigningKey};
use crate::transport::{BoxError, BoxFuture};
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{Request, Response};
use jiff::SignedDuration;

const AGENT: &str = r#"profile="https://agent.example/.well-known/ucp""#;

fn key() -> SigningKey {
    let key = SigningKey::from_scalar(Algorithm::Es256, &[7; 32]).unwrap();
    key.with_id("agent-1").unwrap()
}

fn post(uri: &str) -> Request<&'static [u8]> {
    Request::post(uri)
        .header("ucp-agent", AGENT)
        .header("idempotency-key", "k-1")
        .header("content-type", "application/json")
        .body(&b"{}"[..])
        .unwrap()
}

async fn input(signing: Signing<'_>, request: &Request<&'static [u8]>) -> String {
    let signed = signing.request(request, request.body()).await.unwrap();
    let input = signed.headers["signature-input"]
        .to_str()
        .unwrap()
        .to_owned();
    // What is signed is what is sent.
    let (label, parameters) = input.split_once('=').unwrap();
    assert!(
        signed
            .base
            .ends_with(&format!("\"@signature-params\": {parameters}"))
    );
    let value = signed.headers["signature"].to_str().unwrap();
    assert!(value.starts_with(&format!("{label}=:")) && value.ends_with("==:"));
    input
}

#[tokio::test]
async fn covers_what_is_sent_in_one_order() {
    let key = key();
    let everything = post("https://m.test/checkout-sessions?x=1");
    assert_eq!(
        input(Signing::with(&key), &everything).await,
        r#"sig1=("@method" "@authority" "@path" "@query" "ucp-agent" "idempotency-key" "content-digest" "content-type");keyid="agent-1""#
    );
    let signing = Signing::with(&key).created(Timestamp::from_second(1_738_617_600).unwrap());
    let get = Request::get("https://m.test/orders/1")
        .body(&b""[..])
        .unwrap();
    assert_eq!(
        input(signing.clone(), &get).await,
        r#"sig1=("@method" "@authority" "@path");keyid="agent-1";created=1738617600"#
    );
    // A type without a body is not covered, and no digest is made.
    let mut empty = post("https://m.test/cancel?");
    *empty.body_mut() = b"";
    let signed = signing.request(&empty, b"").await.unwrap();
    assert_eq!(
        signed.headers["signature-input"],
        r#"sig1=("@method" "@authority" "@path" "@query" "ucp-agent" "idempotency-key");keyid="agent-1";created=1738617600"#
    );
    assert!(!signed.headers.contains_key("content-digest"));
    assert_eq!(
        signing.request_base(&empty, b"").unwrap(),
        signed.base,
        "looking and signing agree"
    );
}

#[tokio::test]
async fn further_headers_come_last_and_once() {
    let key = key();
    let mut request = post("https://m.test/hook");
    request
        .headers_mut()
        .insert("webhook-id", "evt_1".parse().unwrap());
    let signing = Signing::with(&key)
        .label("ucp")
        .cover(HeaderName::from_static("webhook-id"))
        .cover(HeaderName::from_static("webhook-timestamp"))
        .cover(HeaderName::from_static("content-type"));
    assert_eq!(
        input(signing, &request).await,
        r#"ucp=("@method" "@authority" "@path" "ucp-agent" "idempotency-key" "content-digest" "content-type" "webhook-id");keyid="agent-1""#
    );
}

#[tokio::test]
async fn an_id_is_escaped() {
    let key = key().with_id(r#"a "b" \ c"#).unwrap();
    let request = Request::get("https://m.test/").body(&b""[..]).unwrap();
    assert_eq!(
        input(Signing::with(&key), &request).await,
        r#"sig1=("@method" "@authority" "@path");keyid="a \"b\" \\ c""#
    );
}

#[tokio::test]
async fn responses_cover_their_status() {
    let key = key();
    let response = Response::builder()
        .status(201)
        .header("content-type", "application/json")
        .header("content-digest", "sha-256=:stale:")
        .body(())
        .unwrap();
    let signed = Signing::with(&key)
        .response(&response, b"{}")
        .await
        .unwrap();
    assert_eq!(
        signed.base,
        "\"@status\": 201\n\
         \"content-digest\": sha-256=:RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=:\n\
         \"content-type\": application/json\n\
         \"@signature-params\": (\"@status\" \"content-digest\" \"content-type\");keyid=\"agent-1\""
    );
    let (mut parts, ()) = response.into_parts();
    signed.apply(&mut parts.headers);
    assert_eq!(parts.headers.get_all("content-digest").iter().count(), 1);
    assert!(
        parts.headers["content-digest"]
            .to_str()
            .unwrap()
            .contains("RBNvo1Wz")
    );

    let none = Response::builder().status(204).body(()).unwrap();
    let signed = Signing::with(&key).response(&none, b"").await.unwrap();
    assert_eq!(
        signed.headers["signature-input"],
        r#"sig1=("@status");keyid="agent-1""#
    );
}

#[tokio::test]
async fn web_bot_auth_has_its_shape() {
    let key = SigningKey::from_scalar(Algorithm::Ed25519, &[7; 32]).unwrap();
    let id = key.public_key().thumbprint();
    let now = Timestamp::from_second(1_738_617_600).unwrap();
    let agent = ProfileUrl::new("https://agent.example/.well-known/ucp").unwrap();
    let shape = WebBotAuth::new(&agent, now, [0xfb; 64]);
    let signing = Signing::with(&key).label("bot").web_bot_auth(shape.clone());
    let mut request = post("https://m.test/checkout-sessions");
    let signed = signing.request(&request, b"{}").await.unwrap();
    let nonce = URL_SAFE_NO_PAD.encode([0xfb; 64]);
    assert_eq!(nonce.len(), 86);
    assert_eq!(
        signed.headers["signature-input"].to_str().unwrap(),
        format!(
            r#"bot=("@method" "@authority" "@path" "ucp-agent" "signature-agent";key="bot" "idempotency-key" "content-digest" "content-type");keyid="{id}";created=1738617600;expires=1738617900;nonce="{nonce}";tag="web-bot-auth""#
        )
    );
    assert_eq!(
        signed.headers["signature-agent"],
        r#"bot="https://agent.example/.well-known/ucp";type=jwks_uri"#
    );
    assert!(signed.base.contains(
        "\n\"signature-agent\";key=\"bot\": \"https://agent.example/.well-known/ucp\";type=jwks_uri\n"
    ));
    signed.apply(request.headers_mut());

    for (directory, kind) in [
        (crate::signatures::KeyDirectory::Cimd, "cimd"),
        (crate::signatures::KeyDirectory::Directory, "directory"),
    ] {
        let text = shape.clone().directory(directory).signature_agent("s");
        assert!(text.ends_with(&format!(";type={kind}")), "{text}");
    }
    for (seconds, nanos, lives) in [
        (1, 0, true),
        (86_400, 0, true),
        (86_400, 1, false),
        (86_401, 0, false),
        (0, 999_999_999, false),
        (-1, 0, false),
    ] {
        let lifetime = shape.clone().lifetime(SignedDuration::new(seconds, nanos));
        assert_eq!(lifetime.is_ok(), lives, "{seconds} {nanos}");
    }
    let shown = format!("{shape:?} {:?}", Signing::with(&key).label("bot"));
    assert!(!shown.contains("-_"), "{shown}");
    for part in ["https://agent.example/", "\"bot\"", key.public_key().id()] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

struct Elsewhere {
    public: PublicKey,
    answer: Result<Vec<u8>, &'static str>,
}

impl Signer for Elsewhere {
    fn public_key(&self) -> &PublicKey {
        &self.public
    }

    fn sign<'a>(&'a self, _: &'a [u8]) -> BoxFuture<'a, Result<Vec<u8>, BoxError>> {
        let answer = self.answer.clone();
        Box::pin(async move { answer.map_err(Into::into) })
    }
}

#[tokio::test]
async fn what_cannot_be_signed_is_refused_for_a_reason() {
    let key = key();
    let refused = async |signing: Signing<'_>, request: &Request<&[u8]>| {
        let error = signing.request(request, request.body()).await.unwrap_err();
        error.to_string()
    };
    let request = post("https://m.test/x");

    let mut untyped = post("https://m.test/x");
    untyped.headers_mut().remove("content-type");
    assert_eq!(
        refused(Signing::with(&key), &untyped).await,
        "the message has a body, but no Content-Type: set one before signing"
    );

    let mut elsewhere = post("https://m.test/x");
    elsewhere
        .headers_mut()
        .insert("host", "n.test".parse().unwrap());
    assert_eq!(
        refused(Signing::with(&key), &elsewhere).await,
        "the header `Host` and the URL name different authorities"
    );
    elsewhere
        .headers_mut()
        .insert("host", "M.test:443".parse().unwrap());
    assert!(Signing::with(&key).request(&elsewhere, b"{}").await.is_ok());

    let hostless = Request::get("/x").body(&b""[..]).unwrap();
    assert_eq!(
        refused(Signing::with(&key), &hostless).await,
        "`@authority` cannot be covered: the request names no host"
    );

    assert!(
        refused(Signing::with(&key).label("Sig"), &request)
            .await
            .starts_with("the label is refused")
    );

    let agent = ProfileUrl::new("https://agent.example/.well-known/ucp").unwrap();
    let shape = WebBotAuth::new(&agent, Timestamp::UNIX_EPOCH, [0; 64]);
    let bot = Signing::with(&key).web_bot_auth(shape);
    let thumbprint = key.public_key().thumbprint();
    assert_eq!(
        refused(bot.clone(), &request).await,
        format!(
            "for Web Bot Auth a key is published under its thumbprint `{thumbprint}`, not under `agent-1`: name it so"
        )
    );
    let response = Response::new(());
    assert_eq!(
        bot.response(&response, b"").await.unwrap_err().to_string(),
        "a response has no Web Bot Auth shape: sign it without"
    );

    let mut kms = Elsewhere {
        public: key.public_key().clone(),
        answer: Err("closed"),
    };
    let error = Signing::with(&kms)
        .request(&request, b"{}")
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "the signer failed");
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.to_string(), "closed");
    kms.answer = Ok(vec![0x30; 71]);
    assert_eq!(
        refused(Signing::with(&kms), &request).await,
        "the signer gave 71 bytes where ES256 has 64: ECDSA values are raw r and s, not DER"
    );
    for id in ["schlüssel", ""] {
        kms.public = kms.public.with_id(id);
        assert_eq!(
            refused(Signing::with(&kms), &request).await,
            "the key's id is empty or not printable ASCII, which `keyid` must be"
        );
    }
}

#[test]
fn a_future_can_move_between_threads() {
    fn is_send(_: impl Send) {}
    let key = key();
    let request = post("https://m.test/x");
    is_send(Signing::with(&key).request(&request, b"{}"));
    fn is_shared<T: Send + Sync>() {}
    is_shared::<SigningKey>();
    is_shared::<PublicKey>();
    is_shared::<Signing<'_>>();
}
