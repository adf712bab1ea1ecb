use super::*;
use serde_json::json;

fn read(document: Value) -> Profile {
    Profile::read(document).unwrap()
}

fn notes(profile: &Profile) -> Vec<String> {
    profile.notes.iter().map(Note::to_string).collect()
}

fn kids(profile: &Profile) -> Vec<&str> {
    (profile.keys.keys.iter())
        .map(|key| key.kid.as_str())
        .collect()
}

#[test]
fn c33_each_release_has_its_shape() {
    let old = read(json!({
        "ucp": {
            "version": "2026-01-11",
            "services": {"dev.ucp.shopping": {
                "version": "2026-01-11", "spec": "https://ucp.dev/s",
                "rest": {"schema": "https://ucp.dev/rest.json", "endpoint": "https://m.example/api"},
                "mcp": {"schema": "https://ucp.dev/mcp.json", "endpoint": "https://m.example/mcp"},
                "a2a": null,
            }},
            "capabilities": [
                {"name": "dev.ucp.shopping.discount", "version": "2026-01-11", "schema": "https://ucp.dev/d.json",
                 "extends": "dev.ucp.shopping.checkout", "config": null, "x": 1},
                {"name": "dev.ucp.shopping.checkout", "version": "2026-01-11", "extends": null},
            ],
        },
        "payment": {"handlers": [{"id": "h", "name": "com.acme.pay", "version": "2026-01-11", "config_schema": "https://elsewhere.example/c.json"}]},
        "signing_keys": null,
    }));
    assert_eq!(notes(&old), [""; 0]);
    let transports = old.services.get("dev.ucp.shopping");
    assert_eq!(transports.len(), 2);
    assert_eq!(transports[0].transport, "rest");
    assert_eq!(transports[0].version.as_deref(), Some("2026-01-11"));
    assert_eq!(
        transports[0].endpoint.as_deref(),
        Some("https://m.example/api")
    );
    assert_eq!(transports[0].other["spec"], "https://ucp.dev/s");
    assert_eq!(transports[1].transport, "mcp");
    let names: Vec<&str> = old.capabilities.iter().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        ["dev.ucp.shopping.discount", "dev.ucp.shopping.checkout"]
    );
    let discount = &old.capabilities.get("dev.ucp.shopping.discount")[0];
    assert_eq!(discount.extends, ["dev.ucp.shopping.checkout"]);
    assert_eq!(discount.other["x"], 1);
    assert_eq!(old.payment_handlers.get("com.acme.pay")[0].id, "h");
    assert_eq!(old.payment_handlers.get("com.acme.pay")[0].unbound, None);
    assert_eq!(old.keys.member, None);

    let new = read(json!({"ucp": {
        "version": "2026-01-23",
        "services": {"dev.ucp.shopping": [
            {"version": "2026-01-23", "transport": "rest", "endpoint": "https://m.example/api"},
        ]},
        "capabilities": {"dev.ucp.shopping.checkout": [{"version": "2026-01-23"}]},
        "payment_handlers": {"com.acme.pay": [{"id": "h", "version": "2026-01-23"}], "app.pay": [{"id": "i", "version": "v"}]},
        "map_order": {"payment_handlers": ["com.acme.pay"]},
    }}));
    assert_eq!(notes(&new), [""; 0]);
    assert_eq!(new.services.get("dev.ucp.shopping").len(), 1);
    assert_eq!(new.capabilities.get("dev.ucp.shopping.checkout").len(), 1);
    let names: Vec<&str> = new.payment_handlers.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["com.acme.pay", "app.pay"]);
}

#[test]
fn c33_the_shape_of_another_release_is_read_with_a_note() {
    let profile = read(json!({
        "ucp": {
            "version": "2026-04-08",
            "services": {"dev.ucp.shopping": {"version": "2026-04-08", "rest": {"endpoint": "https://m.example"}}},
            "capabilities": [{"name": "dev.ucp.shopping.checkout", "version": "2026-04-08"}],
        },
        "payment": {"handlers": [{"id": "h", "name": "com.acme.pay"}]},
    }));
    assert_eq!(
        notes(&profile),
        [
            r#"$.ucp.services["dev.ucp.shopping"]: an object with transports where this release has a list"#,
            "$.ucp.capabilities: a list where this release has a map",
            "$.payment.handlers: read though this release has ucp.payment_handlers",
        ]
    );
    assert_eq!(profile.services.get("dev.ucp.shopping").len(), 1);
    assert_eq!(
        profile.capabilities.get("dev.ucp.shopping.checkout").len(),
        1
    );
    assert_eq!(profile.payment_handlers.get("com.acme.pay").len(), 1);

    let profile = read(json!({"ucp": {
        "version": "2026-01-11",
        "services": {"dev.ucp.shopping": [{"transport": "rest", "endpoint": "https://m.example"}]},
        "capabilities": {"dev.ucp.shopping.checkout": [{"version": "2026-01-11"}]},
        "payment_handlers": {"com.acme.pay": [{"id": "h"}]},
    }}));
    assert_eq!(profile.notes.len(), 3);
    assert_eq!(profile.services.get("dev.ucp.shopping").len(), 1);
    assert_eq!(
        profile.capabilities.get("dev.ucp.shopping.checkout").len(),
        1
    );
    assert_eq!(profile.payment_handlers.get("com.acme.pay").len(), 1);
}

#[test]
fn c84_keys_come_from_the_member_of_the_release() {
    let key = |kid| json!({"kid": kid, "kty": "EC"});
    let profile = |version: &str, own: Value, other: Value| {
        let mut document =
            json!({"ucp": {"version": version, "services": {}, "payment_handlers": {}}});
        for (member, keys) in [("signing_keys", own), ("keys", other)] {
            if keys != "absent" {
                document[member] = keys;
            }
        }
        read(document)
    };
    let absent = || json!("absent");
    for (version, signing_keys, keys, member, found, noted) in [
        (
            "2026-04-08",
            json!([key("s")]),
            absent(),
            "signing_keys",
            vec!["s"],
            None,
        ),
        (
            "2026-08-25",
            absent(),
            json!([key("k")]),
            "keys",
            vec!["k"],
            None,
        ),
        (
            "2026-04-08",
            json!([key("s")]),
            json!([key("k")]),
            "signing_keys",
            vec!["s"],
            None,
        ),
        (
            "2026-08-25",
            json!([key("s")]),
            json!([key("k")]),
            "keys",
            vec!["k"],
            None,
        ),
        (
            "2026-04-08",
            absent(),
            json!([key("k")]),
            "keys",
            vec!["k"],
            Some("$.keys: read since signing_keys, which this release has, is absent"),
        ),
        (
            "2026-08-25",
            json!([key("s")]),
            json!(null),
            "signing_keys",
            vec!["s"],
            Some("$.signing_keys: read since keys, which this release has, is absent"),
        ),
        (
            "2026-08-25",
            json!([key("s")]),
            json!([]),
            "keys",
            vec![],
            None,
        ),
        (
            "2026-01-11",
            json!([]),
            json!([key("k")]),
            "signing_keys",
            vec![],
            None,
        ),
        (
            "2026-04-08",
            json!({"k": 1}),
            json!([key("k")]),
            "signing_keys",
            vec![],
            Some("$.signing_keys: taken for empty: it is not a list"),
        ),
    ] {
        let profile = profile(version, signing_keys, keys);
        assert_eq!(profile.keys.member, Some(member));
        assert_eq!(kids(&profile), found);
        let mut notes = notes(&profile);
        notes.retain(|note| !note.starts_with("$.ucp"));
        assert_eq!(notes, Vec::from_iter(noted));
    }
    assert_eq!(
        profile("2026-04-08", absent(), absent()).keys,
        PublishedKeys::default()
    );
}

#[test]
fn one_bad_entry_costs_no_other() {
    let profile = read(json!({
        "ucp": {
            "version": "2026-08-25",
            "unknown": {"kept": true},
            "supported_versions": {"2026-04-08": 7, "2026-01-23": "https://m.example/old"},
            "services": {
                "dev.ucp.shopping": [{"endpoint": "https://m.example"}, 5, {"transport": "rest", "endpoint": 1}, {"transport": "rest"}],
                "com.acme": 9,
            },
            "capabilities": {
                "a.a": [{"version": 20260825}, {"version": "2026-08-25", "extends": []}, {"version": "2026-08-25"}],
                "b.b": {"version": "2026-08-25", "extends": [1]},
                "c.c": {"version": "2026-08-25", "extends": ["a.a", "b.b"]},
                "d.d": "2026-08-25",
            },
            "payment_handlers": {"com.acme.pay": [{"version": "2026-08-25"}, {"id": "ok"}, {"id": 3}]},
        },
        "keys": [7, {"kty": "EC"}, {"kid": 1, "kty": "EC"}, {"kid": "nokty"}, {"kid": "private", "kty": "EC", "d": "SECRET"},
                 {"kid": "odd", "kty": "PQC", "x": [1]}, {"kid": "r", "kty": "RSA"}],
    }));
    assert_eq!(
        notes(&profile),
        [
            r#"$.ucp.supported_versions["2026-04-08"]: skipped: its URL is not a string"#,
            r#"$.ucp.services["com.acme"]: skipped: it is not a list"#,
            r#"$.ucp.services["dev.ucp.shopping"][0]: skipped: it has no transport"#,
            r#"$.ucp.services["dev.ucp.shopping"][1]: skipped: it is not an object"#,
            r#"$.ucp.services["dev.ucp.shopping"][2]: skipped: its endpoint is not a string"#,
            r#"$.ucp.capabilities["a.a"][0]: skipped: its version is not a string"#,
            r#"$.ucp.capabilities["a.a"][1]: skipped: its extends is empty"#,
            r#"$.ucp.capabilities["b.b"]: skipped: its extends holds what is not a string"#,
            r#"$.ucp.capabilities["c.c"]: an object where a list is declared"#,
            r#"$.ucp.capabilities["d.d"]: skipped: it is not a list"#,
            r#"$.ucp.payment_handlers["com.acme.pay"][0]: skipped: it has no id"#,
            r#"$.ucp.payment_handlers["com.acme.pay"][2]: skipped: its id is not a string"#,
            "$.keys[0]: skipped: it is not an object",
            "$.keys[1]: skipped: it has no kid",
            "$.keys[2]: skipped: its kid is not a string",
            "$.keys[3]: skipped: it has no kty",
            "$.keys[4]: skipped: it has a private member, so anyone can sign with it",
        ]
    );
    assert_eq!(profile.supported_versions.len(), 1);
    assert_eq!(profile.services.get("dev.ucp.shopping").len(), 1);
    assert_eq!(profile.capabilities.get("a.a").len(), 1);
    assert_eq!(profile.capabilities.get("c.c")[0].extends, ["a.a", "b.b"]);
    assert_eq!(profile.payment_handlers.get("com.acme.pay")[0].id, "ok");
    assert_eq!(kids(&profile), ["odd", "r"]);
    assert_eq!(profile.document["ucp"]["unknown"]["kept"], true);
    assert!(!format!("{:?}", profile.keys).contains("SECRET"));
}

#[test]
fn c99_what_is_required_may_be_absent() {
    let profile = read(json!({"ucp": {"version": "2026-04-08", "services": {}}}));
    assert_eq!(notes(&profile), ["$.ucp.payment_handlers: it is absent"]);
    assert_eq!(profile.capabilities.iter().len(), 0);
    let profile = read(json!({"ucp": {"version": "2026-04-08"}}));
    assert_eq!(
        notes(&profile),
        [
            "$.ucp.services: it is absent",
            "$.ucp.payment_handlers: it is absent"
        ]
    );
    let profile = read(
        json!({"ucp": {"version": "2026-04-08", "services": [], "capabilities": [], "payment_handlers": []}}),
    );
    assert_eq!(notes(&profile), [""; 0]);
}

#[test]
fn c102_only_the_version_of_the_wrapper_counts() {
    let services =
        json!({"dev.ucp.shopping": [{"transport": "rest", "endpoint": "https://m.example"}]});
    let mirrored = read(json!({
        "version": "2026-01-23", "services": services, "capabilities": {"x.y": [{}]},
        "ucp": {"version": "2026-04-08", "services": {}, "payment_handlers": {}},
    }));
    assert_eq!(mirrored.version, "2026-04-08");
    assert_eq!(mirrored.services.iter().len(), 0);
    assert_eq!(mirrored.capabilities.iter().len(), 0);
    assert_eq!(notes(&mirrored), [""; 0]);

    for (document, flat) in [
        (
            json!({"version": "2026-04-08", "ucp": {}, "services": services}),
            true,
        ),
        (
            json!({"version": "2026-04-08", "ucp": {"version": 20260408}, "services": services}),
            true,
        ),
        (json!({"version": "2026-04-08"}), true),
        (json!({"version": "1.0.0", "services": services}), true),
        (json!({"services": services}), false),
        (json!({"ucp": []}), false),
        (json!([]), false),
        (json!(null), false),
    ] {
        assert_eq!(
            Profile::read(document.clone()).unwrap_err(),
            NotAProfile { flat }
        );
        assert_eq!(Envelope::read(&document).unwrap_err(), NotAProfile { flat });
    }
    assert_eq!(
        NotAProfile { flat: true }.to_string(),
        "it has no `ucp.version`, so this is not a profile (a `version` at the root does not count)"
    );

    let flat = json!({"version": "2026-04-08", "services": services, "payment_handlers": {"a.b": 1}, "signing_keys": [{"kid": "k", "kty": "EC"}]});
    let envelope = Envelope::read(&flat).unwrap();
    assert_eq!(
        (envelope.version.as_str(), envelope.notes.len()),
        ("2026-04-08", 1)
    );
    let flat = read(flat);
    assert_eq!(
        notes(&flat),
        [
            "$: the `ucp` wrapper is absent; its members are read from the root",
            r#"$.payment_handlers["a.b"]: skipped: it is not a list"#,
        ]
    );
    assert_eq!(flat.services.get("dev.ucp.shopping").len(), 1);
    assert_eq!(kids(&flat), ["k"]);
}

#[test]
fn c100_an_unbound_entry_says_why() {
    let foreign = Some(Unbound::Foreign {
        host: "evil.example".into(),
    });
    let profile = read(json!({"ucp": {
        "version": "2026-04-08",
        "services": {"dev.ucp.shopping": [
            {"transport": "rest", "schema": "https://evil.example/x", "endpoint": "https://m.example"},
            {"transport": "mcp", "schema": "https://ucp.dev/x"},
        ]},
        "capabilities": {"dev.ucp.shopping.checkout": [{"schema": "https://evil.example/x"}]},
        "payment_handlers": {"com.example.pay": [{"id": "h", "schema": "https://evil.example/x"}]},
    }}));
    let services = profile.services.get("dev.ucp.shopping");
    assert_eq!(
        (&services[0].unbound, &services[1].unbound),
        (&foreign, &None)
    );
    assert_eq!(
        profile.capabilities.get("dev.ucp.shopping.checkout")[0].unbound,
        foreign
    );
    assert_eq!(
        profile.payment_handlers.get("com.example.pay")[0].unbound,
        foreign
    );
}

#[test]
fn versions_are_dates() {
    for version in [
        "2026-4-08",
        "20260408",
        "2026-02-30",
        "draft",
        "",
        "2026-04-08Z",
        "+026-04-08",
        "２026-04",
    ] {
        assert_eq!(date(version), None, "{version}");
    }
    assert!(date("2026-04-08").is_some());
    let mut versions = ["2026-04-08", "v06-01", "2025-12-31", "draft"];
    versions.sort_by(|a, b| by_date(a, b));
    assert_eq!(versions, ["draft", "v06-01", "2025-12-31", "2026-04-08"]);
}
