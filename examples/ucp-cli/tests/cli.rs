//! The program as a script runs it: against the strict sandbox merchant, over real HTTP.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect};
use axum::routing::get;
use merchant::{Merchant, Operation, Running, Signatures, Stimulus, Target};
use std::process::Stdio;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::process::Command;
use ucp_runtime::serde_json::{self, Value, json};
use ucp_runtime::signatures::SigningKey;
use ucp_runtime::{PlatformProfile, Release};

struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|_| panic!("{}{}", self.stdout, self.stderr))
    }
}

/// Runs the program with nothing in its environment but `env`.
async fn run(arguments: &[&str], env: &[(&str, &str)], input: &str) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ucp-cli"))
        .args(arguments)
        .env_clear()
        .envs(env.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Who reads no input closes the pipe.
    let _ = child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .await;
    let output = child.wait_with_output().await.unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

async fn serve(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    origin
}

/// A merchant, and the URL of an agent's profile.
async fn stage() -> (Running, String) {
    let merchant = Merchant::builder().seed(1).start().await.unwrap();
    let names = ["checkout", "cart", "order", "fulfillment", "discount"];
    let release = names.iter().fold(
        Release::new("2026-04-08", "dev.ucp.shopping"),
        |release, name| release.capability(format!("dev.ucp.shopping.{name}"), "2026-04-08"),
    );
    let profile = PlatformProfile::builder(&release).build().unwrap();
    let origin = serve(profile.router()).await;
    (merchant, format!("{origin}{}", PlatformProfile::PATH))
}

#[tokio::test]
async fn discover_says_what_was_agreed_and_what_was_not() {
    let (merchant, _) = stage().await;
    let origin = merchant.origin();
    let published = merchant.profile();

    let ran = run(&["discover", origin, "--development"], &[], "").await;
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let (agreed, profile) = ran.stdout.split_once("profile:\n").unwrap();
    let expected = format!(
        "{origin} speaks UCP 2026-04-08\n\
         endpoint: {origin}/ucp/v1\n\
         capabilities:\n  \
           dev.ucp.shopping.buyer_consent 2026-04-08, extends dev.ucp.shopping.checkout\n  \
           dev.ucp.shopping.cart 2026-04-08\n  \
           dev.ucp.shopping.catalog.lookup 2026-04-08\n  \
           dev.ucp.shopping.catalog.search 2026-04-08\n  \
           dev.ucp.shopping.checkout 2026-04-08\n  \
           dev.ucp.shopping.discount 2026-04-08, extends dev.ucp.shopping.checkout and dev.ucp.shopping.cart\n  \
           dev.ucp.shopping.fulfillment 2026-04-08, extends dev.ucp.shopping.checkout\n  \
           dev.ucp.shopping.order 2026-04-08\n\
         payment handlers:\n  \
           com.example.sandbox_pay 2026-04-08 (sandbox_pay)\n\
         left out:\n"
    );
    assert!(agreed.starts_with(&expected), "{agreed}");
    let not_theirs =
        "  capability dev.ucp.common.identity_linking: the business does not offer it\n";
    assert!(agreed.contains(not_theirs), "{agreed}");
    assert_eq!(serde_json::from_str::<Value>(profile).unwrap(), published);

    let ran = run(&["discover", origin, "--development", "--json"], &[], "").await;
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let found = ran.json();
    assert_eq!(found["version"], "2026-04-08");
    assert_eq!(found["endpoint"], format!("{origin}/ucp/v1"));
    assert_eq!(found["profile"], published);
    assert_eq!(found["capabilities"].as_object().unwrap().len(), 8);
    assert_eq!(
        found["capabilities"]["dev.ucp.shopping.order"],
        json!({"version": "2026-04-08", "schema": "https://ucp.dev/2026-04-08/schemas/shopping/order.json", "extends": []})
    );
    assert_eq!(
        found["payment_handlers"]["com.example.sandbox_pay"][0]["id"],
        "sandbox_pay"
    );
    let left_out = found["left_out"].as_array().unwrap();
    let linking = json!({
        "kind": "capability", "name": "dev.ucp.common.identity_linking", "version": null,
        "why": "the business does not offer it",
    });
    assert!(left_out.contains(&linking), "{left_out:#?}");
}

/// A profile with one capability and what is given of its service.
fn profile(version: &str, transport: &str, capability: &str) -> Router {
    let document = json!({"ucp": {
        "version": version,
        "services": {"dev.ucp.shopping": [{"version": version, "transport": transport, "endpoint": "https://shop.example/ucp"}]},
        "capabilities": {capability: [{"version": version}]},
        "payment_handlers": {},
    }});
    answer(StatusCode::OK, "application/json", document.to_string())
}

fn answer(status: StatusCode, kind: &'static str, body: String) -> Router {
    let answer =
        move || async move { (status, [(header::CONTENT_TYPE, kind)], body).into_response() };
    Router::new().route("/.well-known/ucp", get(answer))
}

#[tokio::test]
async fn discover_tells_by_its_exit_code_what_is_wrong() {
    let moved = || async { Redirect::permanent("https://www.shop.example/.well-known/ucp") };
    let moved = Router::new().route("/.well-known/ucp", get(moved));
    let checkout = "dev.ucp.shopping.checkout";
    let html = answer(StatusCode::OK, "text/html", "<!doctype html>".to_owned());
    let flat = answer(
        StatusCode::OK,
        "application/json",
        "{\"version\": \"2026-04-08\"}".to_owned(),
    );
    let offers = json!({"refused_endpoints": [{
        "transport": "mcp", "version": "2026-04-08", "why": "not the REST transport",
    }]});
    let releases = json!({"ours": ["2026-08-22", "2026-04-08"], "theirs": "2031-01-01"});
    let target = json!({"redirects_to": "https://www.shop.example/.well-known/ucp"});
    for (router, code, error, text, details) in [
        (
            Router::new(),
            4,
            "no_profile",
            "it answered 404",
            Value::Null,
        ),
        (
            moved,
            4,
            "no_profile",
            "it redirects to https://www.shop.example/.well-known/ucp",
            target,
        ),
        (
            html,
            4,
            "no_profile",
            "its body is an HTML page",
            Value::Null,
        ),
        (
            flat,
            4,
            "no_profile",
            "it has no `ucp.version`",
            Value::Null,
        ),
        (
            profile("2026-04-08", "mcp", checkout),
            5,
            "nothing_in_common",
            "mcp 2026-04-08 (not the REST transport)",
            offers,
        ),
        (
            profile("2031-01-01", "rest", checkout),
            5,
            "nothing_in_common",
            "it speaks 2031-01-01",
            releases,
        ),
    ] {
        let origin = serve(router).await;
        let ran = run(&["discover", &origin, "--development"], &[], "").await;
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (code, ""),
            "{}",
            ran.stderr
        );
        assert!(
            ran.stderr.starts_with("ucp-cli: ") && ran.stderr.contains(text),
            "{}",
            ran.stderr
        );

        let ran = run(&["discover", &origin, "--development", "--json"], &[], "").await;
        assert_eq!(ran.code, code);
        let refused = ran.json();
        assert_eq!(
            (&refused["error"], &refused["details"]),
            (&json!(error), &details)
        );
        assert!(
            refused["message"].as_str().unwrap().contains(text),
            "{refused}"
        );
    }

    // An endpoint, and nothing to do there: what was found is printed all the same.
    let origin = serve(profile("2026-04-08", "rest", "com.acme.loyalty")).await;
    let ran = run(&["discover", &origin, "--development", "--json"], &[], "").await;
    assert_eq!(
        (ran.code, ran.json()["endpoint"].as_str().unwrap()),
        (5, "https://shop.example/ucp")
    );

    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let ran = run(&["discover", &origin, "--development", "--json"], &[], "").await;
    assert_eq!(
        (ran.code, ran.json()["error"].as_str().unwrap()),
        (3, "unreachable")
    );

    for arguments in [
        &["discover", &origin][..],
        &["discover", "shop.example"],
        &["discover"],
        &["buy"],
        &["discover", "https://shop.example", "--profile", "nowhere"],
        &[
            "call",
            "get_cart",
            "--merchant",
            "https://shop.example",
            "--input",
            "/nowhere.json",
        ],
        &["call", "get_cart", "--merchant", "https://shop.example"],
        &[
            "call",
            "get_cart",
            "--merchant",
            "https://shop.example",
            "--json",
        ],
    ] {
        let ran = run(arguments, &[], "").await;
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(!ran.stderr.is_empty());
    }
}

#[tokio::test]
async fn call_sends_any_operation() {
    let (merchant, profile) = stage().await;
    let call = async |operation: &str, input: Value| {
        let arguments = [
            "call",
            operation,
            "--merchant",
            merchant.origin(),
            "--development",
            "--input",
            "-",
        ];
        let env = [("UCP_PROFILE", profile.as_str())];
        run(&arguments, &env, &input.to_string()).await
    };
    let body = json!({"line_items": [{"item": {"id": "var_mug"}, "quantity": 2}]});
    let created = call("create_checkout", json!({ "body": body })).await;
    assert_eq!(
        (created.code, created.stderr.as_str()),
        (0, "201 Created\n")
    );
    let checkout = created.json();
    assert_eq!(checkout["line_items"][0]["quantity"], 2);
    let read = call("get_checkout", json!({"id": checkout["id"]})).await;
    assert_eq!((read.code, read.stderr.as_str()), (0, "200 OK\n"));
    assert_eq!(read.json()["id"], checkout["id"]);

    let missing = call("get_checkout", json!({"id": "chk_none"})).await;
    assert_eq!(missing.code, 6, "{}", missing.stderr);
    assert!(missing.json().is_object());

    let sent = calls(&merchant);
    for (operation, input, text) in [
        (
            "get_basket",
            json!({}),
            "there is no operation `get_basket`; there are create_checkout, get_checkout, ",
        ),
        (
            "get_checkout",
            json!({}),
            "`get_checkout` needs the input `id`",
        ),
        (
            "get_checkout",
            json!({"id": ["x"]}),
            "the input `id` of `get_checkout` is not a string, a number or a boolean",
        ),
        (
            "get_checkout",
            json!({"id": "x", "UCP-Agent": "x"}),
            "`get_checkout` has no input `UCP-Agent`; it takes id",
        ),
        (
            "create_checkout",
            json!({"body": {"line_items": [{"item": {"id": "m"}, "quantity": "2"}]}}),
            "the body of `create_checkout` does not fit: ",
        ),
        (
            "create_checkout",
            json!({"body": {"line_items": [{"item": {"id": "m"}, "quantity": 0}]}}),
            "the body breaks the contract: ",
        ),
        ("create_checkout", json!([]), "-: no JSON object: "),
    ] {
        let ran = call(operation, input).await;
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
        if text.contains("body") {
            assert!(
                ran.stderr.contains("line_items[0].quantity"),
                "{}",
                ran.stderr
            );
        }
    }
    assert_eq!(calls(&merchant), sent);
}

#[tokio::test]
async fn a_dry_run_shows_the_exact_request_without_its_secrets() {
    let (merchant, profile) = stage().await;
    // A checkout with something that the buyer must be shown.
    let disclosure = Stimulus::Disclosure {
        code: "prop65".to_owned(),
        content: "Contains lead.".to_owned(),
        path: "$.line_items[0]".to_owned(),
    };
    merchant.script(Target::Next(Operation::CreateCheckout), [disclosure]);
    let arguments = [
        "call",
        "create_checkout",
        "--merchant",
        merchant.origin(),
        "--development",
        "--input",
        "-",
        "--profile",
        &profile,
    ];
    let body = json!({"body": {"line_items": [{"item": {"id": "var_mug"}, "quantity": 1}]}});
    let created = run(&arguments, &[], &body.to_string()).await.json();
    let id = created["id"].as_str().unwrap();

    let secret = "a secret of 32 bytes, for ever..";
    let input = json!({"id": id, "body": {"payment": {"instruments": [{
        "id": "i1", "handler_id": "sandbox_pay", "type": "card",
        "credential": {"type": "token", "token": "tok_SECRET"},
    }]}}});
    let ask = async |more: &[&str]| {
        let mut arguments = vec![
            "call",
            "complete_checkout",
            "--merchant",
            merchant.origin(),
            "--development",
            "--input",
            "-",
            "--dry-run",
            "--call-id",
            "conv-1/turn-1",
            "--profile",
            &profile,
        ];
        arguments.extend(more);
        let env = [
            ("UCP_ID_SECRET", secret),
            ("UCP_BEARER", "SECRET_token"),
            ("UCP_API_KEY", "SECRET_key"),
        ];
        run(&arguments, &env, &input.to_string()).await
    };
    // No money moves over what the buyer has not seen.
    let refused = ask(&[]).await;
    assert_eq!(
        (refused.code, refused.stdout.as_str()),
        (7, ""),
        "{}",
        refused.stderr
    );
    assert!(
        refused
            .stderr
            .contains("1 of its disclosures are not acknowledged"),
        "{}",
        refused.stderr
    );

    let dry = async |more: &[&str]| {
        let ran = ask(&[&["--allow", "disclosures"], more].concat()).await;
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
        ran
    };
    let text = dry(&[]).await.stdout;
    assert!(!text.contains("SECRET"), "{text}");
    let first = format!(
        "POST {}/ucp/v1/checkout-sessions/{id}/complete\n",
        merchant.origin()
    );
    assert!(text.starts_with(&first), "{text}");
    for line in [
        format!("\nucp-agent: profile=\"{profile}\"\n"),
        "\nauthorization: [redacted]\n".to_owned(),
        "\nx-api-key: [redacted]\n".to_owned(),
        "\ncontent-type: application/json\n".to_owned(),
    ] {
        assert!(text.contains(&line), "{line}: {text}");
    }
    assert!(
        text.ends_with("\n\n{\"payment\":\"[redacted]\"}\n"),
        "{text}"
    );
    // The same call has the same keys in another process.
    assert_eq!(dry(&[]).await.stdout, text);

    let shown = dry(&[
        "--json",
        "--show-secrets",
        "Authorization",
        "--show-secrets",
        "payment",
    ])
    .await
    .json();
    assert_eq!(shown["method"], "POST");
    assert_eq!(shown["headers"]["authorization"], "Bearer SECRET_token");
    assert_eq!(shown["headers"]["x-api-key"], "[redacted]");
    let body: Value = serde_json::from_str(shown["body"].as_str().unwrap()).unwrap();
    assert_eq!(
        body["payment"]["instruments"][0]["credential"],
        "[redacted]"
    );
    assert_eq!(body["payment"]["instruments"][0]["id"], "i1");

    let names = [
        "--show-secrets",
        "payment",
        "--show-secrets",
        "credential",
        "--show-secrets",
        "token",
    ];
    let whole = dry(&[&names[..], &["--json"]].concat()).await.json();
    let body: Value = serde_json::from_str(whole["body"].as_str().unwrap()).unwrap();
    assert_eq!(body, input["body"]);

    let exchanges = merchant.exchanges();
    assert!(
        exchanges
            .iter()
            .all(|exchange| !exchange.path.ends_with("/complete"))
    );
}

#[tokio::test]
async fn keygen_makes_a_key_once_and_shows_its_public_half() {
    let folder = tempfile::tempdir().unwrap();
    for (kind, algorithm) in [
        (None, "ES256"),
        (Some("es256"), "ES256"),
        (Some("es384"), "ES384"),
        (Some("ed25519"), "EdDSA"),
    ] {
        let file = folder.path().join(format!("{kind:?}.jwk"));
        let path = file.to_str().unwrap();
        let mut arguments = vec!["keygen", "--out", path];
        arguments.extend(kind.iter().flat_map(|kind| ["--alg", kind]));
        let made = run(&arguments, &[], "").await;
        assert_eq!((made.code, made.stderr.as_str()), (0, ""));
        let public = made.json();
        assert_eq!(public["alg"], algorithm);
        assert_eq!(public["use"], "sig");
        assert!(public.get("d").is_none(), "{public}");
        assert!(ucp_runtime::PublicJwk::new(public.clone()).is_ok());

        let key = SigningKey::from_jwk_file(&file).unwrap();
        assert_eq!(json!(key.public_key().to_jwk()), public);
        assert_eq!(public["kid"], key.public_key().thumbprint());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }

        let kept = std::fs::read(&file).unwrap();
        let again = run(&arguments, &[], "").await;
        assert_eq!((again.code, again.stdout.as_str()), (2, ""));
        assert!(again.stderr.contains(path), "{}", again.stderr);
        assert_eq!(std::fs::read(&file).unwrap(), kept);
    }
    let path = folder.path().join("named.jwk");
    let path = path.to_str().unwrap();
    let refused = run(&["keygen", "--out", path, "--kid", "ä"], &[], "").await;
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    let named = run(&["keygen", "--out", path, "--kid", "agent-1"], &[], "").await;
    assert_eq!(named.json()["kid"], "agent-1");
}

#[tokio::test]
async fn a_call_is_signed_with_a_key_and_a_dry_run_shows_what_the_signature_is_of() {
    let merchant = Merchant::builder().signatures(Signatures::Required);
    let merchant = merchant.seed(1).start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("agent.jwk");
    let file = file.to_str().unwrap();
    let made = run(&["keygen", "--out", file, "--kid", "agent-1"], &[], "").await;
    let release = Release::new("2026-04-08", "dev.ucp.shopping")
        .capability("dev.ucp.shopping.checkout", "2026-04-08");
    let profile = PlatformProfile::builder(&release).public_key(made.json());
    let origin = serve(profile.build().unwrap().router()).await;
    let profile = format!("{origin}{}", PlatformProfile::PATH);
    let input = json!({"body": {"line_items": [{"item": {"id": "var_mug"}, "quantity": 1}]}});
    let call = async |more: &[&str], env: &[(&str, &str)]| {
        let mut arguments = vec![
            "call",
            "create_checkout",
            "--merchant",
            merchant.origin(),
            "--profile",
            &profile,
            "--development",
            "--input",
            "-",
        ];
        arguments.extend(more);
        run(&arguments, env, &input.to_string()).await
    };

    let unsigned = call(&[], &[]).await;
    assert_eq!(unsigned.code, 6);
    assert_eq!(unsigned.json()["code"], "signature_missing");
    let signed = call(&["--signing-key", file], &[]).await;
    assert_eq!(signed.code, 0, "{}", signed.stderr);
    assert_eq!(signed.json()["line_items"][0]["quantity"], 1);
    assert_eq!(call(&[], &[("UCP_SIGNING_KEY", file)]).await.code, 0);

    let sent = calls(&merchant);
    let shown = call(&["--signing-key", file, "--dry-run", "--json"], &[]).await;
    let shown = shown.json();
    let headers = &shown["headers"];
    let text = |name: &str| headers[name].as_str().unwrap().to_owned();
    let host = merchant.origin().trim_start_matches("http://");
    let parameters = text("signature-input");
    let expected = format!(
        "\"@method\": POST\n\"@authority\": {host}\n\"@path\": /ucp/v1/checkout-sessions\n\
         \"ucp-agent\": {}\n\"idempotency-key\": {}\n\"content-digest\": {}\n\
         \"content-type\": application/json\n\"@signature-params\": {}",
        text("ucp-agent"),
        text("idempotency-key"),
        text("content-digest"),
        parameters.strip_prefix("sig1=").unwrap(),
    );
    assert_eq!(shown["signature_base"], expected);
    assert_eq!(text("signature"), "[redacted]");
    let shown = call(&["--signing-key", file, "--dry-run"], &[])
        .await
        .stdout;
    assert!(
        shown.contains("\nsignature base:\n\"@method\": POST\n"),
        "{shown}"
    );
    let unsigned = call(&["--dry-run", "--json"], &[]).await.json();
    assert_eq!(unsigned["signature_base"], Value::Null);
    assert_eq!(calls(&merchant), sent);

    let missing = folder.path().join("none.jwk");
    let missing = call(&["--signing-key", missing.to_str().unwrap()], &[]).await;
    assert_eq!(missing.code, 2, "{}", missing.stderr);
    assert!(missing.stderr.contains("none.jwk"), "{}", missing.stderr);
}

/// How many operations the merchant was asked for, discovery apart.
fn calls(merchant: &Running) -> usize {
    let exchanges = merchant.exchanges();
    let calls = exchanges
        .iter()
        .filter(|exchange| exchange.path.starts_with("/ucp/v1/"));
    calls.count()
}
