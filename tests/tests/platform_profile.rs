//! The agent's own profile: what we publish fits the published schema of its release, and is served
//! over real HTTP with the caching that the protocol asks for.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::Path;
use std::time::Duration;
use tokio::net::TcpListener;
use ucp_runtime::reqwest;
use ucp_runtime::serde_json::{Value, json};
use ucp_runtime::{PlatformProfile, Profile, Release, ReqwestTransport};
use ucp_tests::golden::{shopping_2026_04_08, shopping_draft};
use ucp_tests::shared;

/// The published schema of platforms' profiles, as a validator of its own: nothing of ours is in it.
fn published(release: &str, file: &str, definition: &str) -> Option<jsonschema::Validator> {
    let source = shared::folder()?
        .join("contract")
        .join(release)
        .join("source");
    // Files refer to each other by where they lie, which is not always where their `$id` says.
    let uri = |path: &Path| {
        let path = path.strip_prefix(&source).unwrap().to_str().unwrap();
        format!("https://published.example/{path}")
    };
    let mut registry = jsonschema::Registry::new();
    let mut folders = vec![source.clone()];
    while let Some(folder) = folders.pop() {
        for entry in shared::entries(&folder) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|of| of == "json") {
                let mut schema = shared::json(&entry);
                schema.as_object_mut().unwrap().remove("$id");
                registry = registry.add(uri(&entry), schema).unwrap();
            }
        }
    }
    let registry = registry.prepare().unwrap();
    let root = json!({ "$ref": format!("{}#{definition}", uri(&source.join(file))) });
    let options = jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .should_validate_formats(true);
    Some(options.with_registry(&registry).build(&root).unwrap())
}

fn problems(schema: &jsonschema::Validator, document: &Value) -> Vec<String> {
    let errors = schema.iter_errors(document);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

fn profile(release: &Release) -> PlatformProfile {
    PlatformProfile::builder(release)
        .order_webhook("https://agent.example/webhooks/orders")
        .payment_handler(
            "com.google.pay",
            json!({
                "id": "gpay", "version": "2026-01-01",
                "spec": "https://developers.google.com/pay", "schema": "https://pay.google.com/x.json",
                "available_instruments": [{"type": "card"}],
                "config": {"environment": "TEST"},
            }),
        )
        .public_key(json!({
            "kid": "ec", "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256",
            "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
            "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM",
        }))
        .public_key(json!({
            "kid": "okp", "kty": "OKP", "crv": "Ed25519", "key_ops": ["verify"],
            "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        }))
        .build()
        .unwrap()
}

fn release_of(version: &str, capabilities: &[&str]) -> Release {
    let release = Release::new(version, "dev.ucp.shopping");
    capabilities
        .iter()
        .fold(release, |release, name| release.capability(*name, version))
}

/// Holds a profile against the schema, and then the schema against profiles that are wrong: a judge
/// that lets everything pass proves nothing.
fn fits(schema: &jsonschema::Validator, profile: &PlatformProfile, keys: &str) {
    let document = profile.document();
    assert_eq!(problems(schema, document), Vec::<String>::new());
    let read = Profile::read(document.clone()).unwrap();
    assert!(read.notes.is_empty(), "{:?}", read.notes);
    assert!(
        read.capabilities
            .iter()
            .flat_map(|(_, entries)| entries)
            .all(|of| of.unbound.is_none())
    );

    for (pointer, member) in [
        ("", "ucp"),
        ("/ucp", "version"),
        ("/ucp", "services"),
        ("/ucp", "payment_handlers"),
        ("/ucp/services/dev.ucp.shopping/0", "schema"),
        ("/ucp/services/dev.ucp.shopping/0", "transport"),
        ("/ucp/capabilities/dev.ucp.shopping.order/0", "spec"),
        ("/ucp/capabilities/dev.ucp.shopping.order/0", "schema"),
        ("/ucp/payment_handlers/com.google.pay/0", "id"),
        (&format!("/{keys}/0"), "kty"),
    ] {
        let mut broken = document.clone();
        let at = broken
            .pointer_mut(pointer)
            .unwrap()
            .as_object_mut()
            .unwrap();
        assert!(at.remove(member).is_some(), "{pointer}/{member}");
        assert_ne!(
            problems(schema, &broken),
            Vec::<String>::new(),
            "{pointer}/{member}"
        );
    }
}

#[test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
fn fits_the_schema_of_2026_04_08() {
    let folder = "2026-04-08";
    let Some(schema) = published(
        folder,
        "discovery/profile_schema.json",
        "/$defs/platform_profile",
    ) else {
        return;
    };
    fits(
        &schema,
        &profile(&shopping_2026_04_08::RELEASE),
        "signing_keys",
    );
}

#[test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
fn fits_the_schema_of_the_draft() {
    let folder = "draft-2026-08-22";
    let Some(schema) = published(folder, "schemas/profile.json", "/$defs/platform_schema") else {
        return;
    };
    let profile = profile(&shopping_draft::RELEASE);
    fits(&schema, &profile, "keys");
    // The schema of the draft forbids private members, as we do.
    let mut leaking = profile.document().clone();
    leaking["keys"][0]["d"] = json!("AAAA");
    assert_ne!(problems(&schema, &leaking), Vec::<String>::new());
}

#[test]
#[cfg_attr(not(shared), ignore = "UCP_SHARED is not set")]
fn fits_the_schemas_of_january() {
    let Some(second) = published(
        "2026-01-23",
        "discovery/profile_schema.json",
        "/$defs/platform_profile",
    ) else {
        return;
    };
    let capabilities = ["dev.ucp.shopping.checkout", "dev.ucp.shopping.order"];
    let built = profile(&release_of("2026-01-23", &capabilities));
    assert_eq!(problems(&second, built.document()), Vec::<String>::new());

    let first = published("2026-01-11", "discovery/profile_schema.json", "").unwrap();
    let release = release_of("2026-01-11", &capabilities);
    let built = PlatformProfile::builder(&release)
        .order_webhook("https://agent.example/webhooks/orders")
        .payment_handler(
            "com.google.pay",
            json!({
                "id": "gpay", "version": "2026-01-01", "spec": "https://developers.google.com/pay",
                "config_schema": "https://pay.google.com/x.json",
                "instrument_schemas": ["https://pay.google.com/card.json"], "config": {},
            }),
        )
        .build()
        .unwrap();
    assert_eq!(problems(&first, built.document()), Vec::<String>::new());
}

#[tokio::test]
async fn is_served_over_http() {
    let profile = profile(&shopping_2026_04_08::RELEASE);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!(
        "http://{}{}",
        listener.local_addr().unwrap(),
        PlatformProfile::PATH
    );
    let router: axum::Router = profile.router();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let client = reqwest::Client::builder().timeout(Duration::from_secs(10));
    let tls = ReqwestTransport::tls(ReqwestTransport::roots()).unwrap();
    let client = client
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .build()
        .unwrap();

    let got = client.get(&url).send().await.unwrap();
    assert_eq!(got.status(), 200);
    assert_eq!(got.headers()["content-type"], "application/json");
    assert_eq!(got.headers()["cache-control"], "public, max-age=3600");
    let tag = got.headers()["etag"].clone();
    assert_eq!(&tag, profile.etag());
    assert_eq!(got.bytes().await.unwrap(), profile.bytes());

    let head = client.head(&url).send().await.unwrap();
    assert_eq!(head.status(), 200);
    assert_eq!(
        head.headers()["content-length"],
        profile.bytes().len().to_string()
    );
    assert_eq!(head.headers()["etag"], tag);
    assert!(head.bytes().await.unwrap().is_empty());

    let known = client
        .get(&url)
        .header("if-none-match", &tag)
        .send()
        .await
        .unwrap();
    assert_eq!(
        (known.status().as_u16(), &known.headers()["etag"]),
        (304, &tag)
    );
    assert!(known.bytes().await.unwrap().is_empty());
    assert_eq!(client.post(&url).send().await.unwrap().status(), 405);
}
