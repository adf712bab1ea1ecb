use super::*;
use crate::profile::Envelope;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeSet;

const SHOPPING: &str = "dev.ucp.shopping";
const CHECKOUT: &str = "dev.ucp.shopping.checkout";

fn release(version: &str) -> Release {
    Release::new(version, SHOPPING)
}

fn envelope(ucp: Value) -> Envelope {
    Envelope::read(&json!({ "ucp": ucp })).unwrap()
}

fn profile(ucp: Value) -> Profile {
    Profile::read(json!({ "ucp": ucp })).unwrap()
}

fn capabilities(version: &str, capabilities: Value) -> Profile {
    profile(
        json!({"version": version, "services": {}, "capabilities": capabilities, "payment_handlers": {}}),
    )
}

fn chosen(agreed: &Negotiated) -> Vec<(&str, &str)> {
    (agreed.capabilities().iter())
        .map(|(name, agreed)| (name.as_str(), agreed.version.as_str()))
        .collect()
}

fn reasons(agreed: &Negotiated) -> Vec<String> {
    (agreed.left_out().iter())
        .map(|out| format!("{} {} {:?}: {}", out.kind, out.name, out.version, out.why))
        .collect()
}

#[test]
fn c96_the_newest_common_release_is_chosen_and_its_leaf_checked() {
    let top = envelope(json!({
        "version": "2026-08-25",
        "supported_versions": {
            "2026-04-08": "https://m.test/.well-known/ucp/2026-04-08",
            "2026-01-23": "https://m.test/.well-known/ucp/2026-01-23",
        },
    }));
    let ours = [release("2026-01-23"), release("2026-04-08")];
    let Choice::Leaf(leaf) = choose(&top, &ours).unwrap() else {
        panic!("the profile itself is of a release that we do not speak");
    };
    assert_eq!(
        leaf.url.as_str(),
        "https://m.test/.well-known/ucp/2026-04-08"
    );
    assert_eq!(leaf.release, &ours[1]);
    let other = envelope(json!({"version": "2026-08-25"}));
    assert_eq!(
        leaf.check(&other).unwrap_err().to_string(),
        "the profile at https://m.test/.well-known/ucp/2026-04-08 is of version 2026-08-25, and was named for 2026-04-08"
    );
    let right = envelope(
        json!({"version": "2026-04-08", "supported_versions": {"2026-04-08": "https://evil.example"}}),
    );
    assert_eq!(leaf.check(&right), Ok(()));

    let ours = [release("2026-04-08"), release("2026-08-25")];
    assert_eq!(choose(&top, &ours), Ok(Choice::Here(&ours[1])));
    // Its own version needs no link, and none is followed for it.
    let own = envelope(
        json!({"version": "2026-04-08", "supported_versions": {"2026-04-08": "https://evil.example"}}),
    );
    assert_eq!(choose(&own, &ours), Ok(Choice::Here(&ours[0])));
}

#[test]
fn c96_a_leaf_that_cannot_be_fetched_is_passed_over() {
    let top = envelope(json!({
        "version": "2027-01-01",
        "supported_versions": {
            "2026-08-25": "http://m.test/a", "2026-04-08": "https://u@m.test/b",
            "2026-01-23": "https://m.test/c", "2025-01-01": "https://m.test/d",
        },
    }));
    let ours = [
        release("2026-08-25"),
        release("2026-04-08"),
        release("2026-01-23"),
    ];
    let Ok(Choice::Leaf(leaf)) = choose(&top, &ours) else {
        panic!()
    };
    assert_eq!(leaf.release.version(), "2026-01-23");
    let refused = choose(&top, &ours[..2]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "it speaks 2027-01-01 (not among ours), 2026-08-25 (its scheme is not https), 2026-04-08 (it carries user information), \
         2025-01-01 (not among ours), 2026-01-23 (not among ours); we speak 2026-08-25, 2026-04-08"
    );
    let local = envelope(
        json!({"version": "2027-01-01", "supported_versions": {"2026-04-08": "http://127.0.0.1:8184/x"}}),
    );
    assert!(choose(&local, &[release("2026-04-08")]).is_err());
    assert!(choose(&local, &[release("2026-04-08").development()]).is_ok());
}

#[test]
fn an_older_platform_is_served_in_january_2026_only() {
    for (ours, theirs, served) in [
        ("2026-01-11", "2026-01-23", true),
        ("2026-01-23", "2026-01-11", false),
        ("2026-01-23", "2026-04-08", false),
        ("2026-04-08", "2026-08-25", false),
        ("2026-04-08", "draft", false),
    ] {
        let profile = capabilities(theirs, json!({}));
        let release = release(ours);
        assert_eq!(
            negotiate(&profile, &release).is_ok(),
            served,
            "{ours} {theirs}"
        );
        let top = envelope(json!({ "version": theirs }));
        assert_eq!(
            choose(&top, std::slice::from_ref(&release)).is_ok(),
            served,
            "{ours} {theirs}"
        );
    }
    let profile = capabilities("2026-01-23", json!({}));
    let agreed = negotiate(&profile, &release("2026-01-11")).unwrap();
    assert_eq!(
        (agreed.version(), agreed.profile_version()),
        ("2026-01-11", "2026-01-23")
    );
}

#[test]
fn c98_each_entry_is_judged_by_transport_and_version() {
    let offer = |services: Value, development: bool| {
        let profile = profile(
            json!({"version": "2026-04-08", "services": {SHOPPING: services}, "payment_handlers": {}}),
        );
        let release = release("2026-04-08");
        let release = if development {
            release.development()
        } else {
            release
        };
        let agreed = negotiate(&profile, &release).unwrap();
        let offers: Vec<String> = (agreed.offers().iter())
            .map(|offer| format!("{} {}: {}", offer.transport, offer.version, offer.refused))
            .collect();
        (agreed.endpoint().map(str::to_owned), offers)
    };
    let (endpoint, offers) = offer(
        json!([
            {"transport": "mcp", "version": "2026-08-25", "endpoint": "https://m.test/mcp"},
            {"transport": "embedded", "version": "2026-04-08"},
            {"transport": "rest", "version": "2026-08-25", "endpoint": "https://m.test/new"},
            {"transport": "rest", "version": "2026-04-08"},
            {"transport": "rest", "version": "2026-04-08", "endpoint": "http://m.test/x?token=SECRET"},
            {"transport": "rest", "version": "2026-04-08", "endpoint": "https://m.test/a", "schema": "https://evil.example/x"},
            {"transport": "rest", "version": "2026-04-08", "endpoint": "http://127.0.0.1:1/b"},
        ]),
        false,
    );
    assert_eq!(endpoint, None);
    assert_eq!(
        offers,
        [
            "mcp 2026-08-25: not the REST transport",
            "embedded 2026-04-08: not the REST transport",
            "rest 2026-08-25: not of the profile's version 2026-04-08",
            "rest 2026-04-08: without an endpoint",
            "rest 2026-04-08: the endpoint `http://m.test/x` is refused: its scheme is not https; an endpoint is an https URL without a query",
            "rest 2026-04-08: its schema is on evil.example, which does not own the name",
            "rest 2026-04-08: the endpoint `http://127.0.0.1:1/b` is refused: http on a loopback host needs `development()`; an endpoint is an https URL without a query",
        ]
    );
    let (endpoint, offers) = offer(
        json!([
            {"transport": "a2a", "endpoint": "https://m.test/card"},
            {"transport": "rest", "endpoint": "http://127.0.0.1:1/b/", "schema": "http://localhost:1/rest.json"},
            {"transport": "rest", "endpoint": "https://m.test/second"},
        ]),
        true,
    );
    assert_eq!(endpoint.as_deref(), Some("http://127.0.0.1:1/b"));
    assert_eq!(offers, ["a2a of no version: not the REST transport"]);
}

#[test]
fn c99_no_capabilities_is_an_empty_intersection() {
    let profile = profile(json!({"version": "2026-04-08", "services": {}}));
    let release = release("2026-04-08").capability(CHECKOUT, "2026-04-08");
    let agreed = negotiate(&profile, &release).unwrap();
    assert_eq!(chosen(&agreed), []);
    assert_eq!(
        agreed.explain().to_string(),
        "UCP 2026-04-08\nendpoint: none\ncapabilities: none\npayment handlers: none\nleft out:\n  \
         capability dev.ucp.shopping.checkout: the business does not offer it\nnoted:\n  \
         $.ucp.payment_handlers: it is absent\n"
    );
}

#[test]
fn c100_what_is_unbound_is_absent() {
    let profile = profile(json!({
        "version": "2026-04-08", "services": {"com.acme": [{"transport": "rest"}]},
        "capabilities": {
            CHECKOUT: [
                {"version": "2026-04-08", "schema": "https://evil.example/x"},
                {"version": "2026-01-23", "schema": "https://ucp.dev/x"},
            ],
            "com.example.loyalty": [{"version": "2026-04-08", "schema": "https://cdn.example.com/x", "extends": CHECKOUT}],
            "com.example.points": [{"version": "2026-04-08", "schema": "https://example.com/x", "extends": "com.example.loyalty"}],
        },
        "payment_handlers": {
            "com.example.pay": [{"id": "a", "schema": "https://pay.example.com/x"}, {"id": "b", "version": "2026-01-01", "schema": "https://evil.example/x"}],
            "com.example.gone": [{"id": "c", "schema": "https://evil.example/x"}],
        },
    }));
    let release = release("2026-04-08")
        .capability(CHECKOUT, "2026-04-08")
        .capability(CHECKOUT, "2026-01-23")
        .capability("com.example.loyalty", "2026-04-08")
        .capability("com.example.points", "2026-04-08");
    let agreed = negotiate(&profile, &release).unwrap();
    assert_eq!(chosen(&agreed), [(CHECKOUT, "2026-01-23")]);
    let handlers: Vec<(&str, &str)> = (agreed.payment_handlers())
        .flat_map(|(name, handlers)| {
            handlers
                .iter()
                .map(move |handler| (name, handler.id.as_str()))
        })
        .collect();
    assert_eq!(handlers, [("com.example.pay", "a")]);
    assert_eq!(
        reasons(&agreed),
        [
            "service com.acme None: we do not offer it",
            "capability com.example.loyalty Some(\"2026-04-08\"): its schema is on cdn.example.com, which does not own the name",
            "capability dev.ucp.shopping.checkout Some(\"2026-04-08\"): its schema is on evil.example, which does not own the name",
            "capability com.example.points None: it extends com.example.loyalty, which is absent",
            "payment handler com.example.gone None: its schema is on evil.example, which does not own the name",
            "payment handler com.example.pay Some(\"2026-01-01\"): its schema is on evil.example, which does not own the name",
        ]
    );
}

#[test]
fn c105_the_highest_common_version_is_chosen() {
    let agree = |version: &str, theirs: &[&str], ours: &[&str]| {
        let entries: Vec<Value> = theirs
            .iter()
            .map(|version| json!({ "version": version }))
            .collect();
        let profile = capabilities(version, json!({"com.acme.loyalty": entries}));
        let release = ours.iter().fold(release(version), |release, version| {
            release.capability("com.acme.loyalty", *version)
        });
        let agreed = negotiate(&profile, &release).unwrap();
        let version = agreed
            .capabilities()
            .get("com.acme.loyalty")
            .map(|agreed| agreed.version.clone());
        (version, reasons(&agreed))
    };
    let (june, july, august) = ("2026-06-01", "2026-07-01", "2026-08-01");
    assert_eq!(
        agree("2026-08-25", &[june, july], &[june, august]),
        (Some(june.into()), vec![])
    );
    assert_eq!(
        agree("2026-08-25", &[june, july], &[july, june]),
        (Some(july.into()), vec![])
    );
    assert_eq!(
        agree("2026-08-25", &[june, july], &[august]),
        (None, vec!["capability com.acme.loyalty None: no common version: ours 2026-08-01, theirs 2026-06-01, 2026-07-01".into()])
    );
    // January 2026 matches by name: nearest, newer and older are all taken.
    assert_eq!(
        agree("2026-01-23", &[june, july], &[august]),
        (Some(july.into()), vec![])
    );
    assert_eq!(
        agree("2026-01-23", &[june, july], &[june]),
        (Some(june.into()), vec![])
    );
}

#[test]
fn core_entries_are_of_the_release_from_august_on() {
    let theirs = json!({CHECKOUT: [{"version": "2026-01-23"}], "dev.ucp.shopping.cart": [{}], "com.acme.x": [{}]});
    let ours = |version| {
        let release = release(version)
            .capability(CHECKOUT, "2026-01-23")
            .capability("com.acme.x", version);
        release.capability("dev.ucp.shopping.cart", version)
    };
    let agreed = negotiate(
        &capabilities("2026-04-08", theirs.clone()),
        &ours("2026-04-08"),
    )
    .unwrap();
    assert_eq!(
        chosen(&agreed),
        [
            ("dev.ucp.shopping.cart", "2026-04-08"),
            (CHECKOUT, "2026-01-23")
        ]
    );
    assert_eq!(
        reasons(&agreed),
        ["capability com.acme.x None: it states no version"]
    );
    let agreed = negotiate(&capabilities("2026-08-25", theirs), &ours("2026-08-25")).unwrap();
    assert_eq!(chosen(&agreed), [("dev.ucp.shopping.cart", "2026-08-25")]);
    assert_eq!(
        reasons(&agreed),
        [
            "capability com.acme.x None: it states no version",
            "capability dev.ucp.shopping.checkout Some(\"2026-01-23\"): not of the profile's version 2026-08-25",
        ]
    );
}

#[test]
fn c107_requirements_exclude_and_never_select() {
    let v = "2026-04-08";
    let loyalty = "com.acme.loyalty";
    let points = "com.acme.points";
    let profile = capabilities(
        v,
        json!({
            CHECKOUT: [{"version": v}],
            loyalty: [{"version": "2026-06-15", "extends": [CHECKOUT, "dev.ucp.shopping.cart"]}, {"version": "2026-01-01", "extends": CHECKOUT}],
            points: [{"version": v, "extends": loyalty}],
        }),
    );
    let release = release(v)
        .capability(CHECKOUT, v)
        .capability(loyalty, "2026-06-15")
        .capability(loyalty, "2026-01-01")
        .capability(points, v);
    let require = |requires: Value| {
        let requires = Requires::of_schema(&json!({ "requires": requires })).unwrap();
        let agreed = negotiate(&profile, &release).unwrap();
        assert_eq!(
            chosen(&agreed),
            [(loyalty, "2026-06-15"), (points, v), (CHECKOUT, v)]
        );
        let agreed = agreed.require(&BTreeMap::from([(loyalty.to_owned(), requires)]));
        if agreed.has(loyalty) {
            assert_eq!(
                chosen(&agreed),
                [(loyalty, "2026-06-15"), (points, v), (CHECKOUT, v)]
            );
            assert_eq!(reasons(&agreed), [""; 0]);
            return "kept".to_owned();
        }
        assert_eq!(chosen(&agreed), [(CHECKOUT, v)]);
        let [first, second] = &reasons(&agreed)[..] else {
            panic!()
        };
        assert_eq!(
            second,
            "capability com.acme.points None: it extends com.acme.loyalty, which is absent"
        );
        let first =
            first.strip_prefix("capability com.acme.loyalty Some(\"2026-06-15\"): it requires ");
        first.unwrap().to_owned()
    };
    for (requires, verdict) in [
        (
            json!({"protocol": {"min": "2026-06-01"}, "capabilities": {CHECKOUT: {"min": "2026-06-01", "max": "2026-07-01"}}}),
            "the protocol 2026-06-01 or later, and 2026-04-08 was selected",
        ),
        (
            json!({"capabilities": {CHECKOUT: {"min": "2026-06-01", "max": "2026-07-01"}}}),
            "dev.ucp.shopping.checkout from 2026-06-01 to 2026-07-01, and 2026-04-08 was selected",
        ),
        (
            json!({"protocol": {"min": v, "max": v}, "capabilities": {CHECKOUT: {"min": v, "max": v}}}),
            "kept",
        ),
        (json!({"protocol": {"min": "2026-01-01"}}), "kept"),
        (
            json!({"protocol": {"min": "2026-01-01", "max": "2026-04-07"}}),
            "the protocol from 2026-01-01 to 2026-04-07, and 2026-04-08 was selected",
        ),
        // A parent that is not selected, and what is no parent.
        (
            json!({"capabilities": {"dev.ucp.shopping.cart": {"min": "2026-06-01"}}}),
            "kept",
        ),
        (
            json!({"capabilities": {"com.acme.other": {"min": "2026-06-01"}}}),
            "com.acme.other 2026-06-01 or later, which was not selected",
        ),
        (
            json!({"protocol": {"max": v}}),
            "the protocol at a version that cannot be read, and 2026-04-08 was selected",
        ),
        (
            json!({"protocol": {"min": v, "max": "later"}}),
            "the protocol at a version that cannot be read, and 2026-04-08 was selected",
        ),
        (
            json!({"capabilities": []}),
            "the protocol at a version that cannot be read, and 2026-04-08 was selected",
        ),
        (
            json!("all"),
            "the protocol at a version that cannot be read, and 2026-04-08 was selected",
        ),
        (json!({}), "kept"),
    ] {
        assert_eq!(require(requires.clone()), verdict, "{requires}");
    }
}

#[test]
fn c108_a_response_uses_what_it_lists_of_what_was_negotiated() {
    let v = "2026-04-08";
    let cart = "dev.ucp.shopping.cart";
    let agreed = negotiate(
        &capabilities(
            v,
            json!({CHECKOUT: [{"version": v}], cart: [{"version": v}]}),
        ),
        &release(v).capability(CHECKOUT, v).capability(cart, v),
    )
    .unwrap();
    for (ucp, names, listed, unexpected) in [
        (
            json!({"version": v, "capabilities": {cart: [{"version": v}]}}),
            vec![cart],
            true,
            vec![],
        ),
        (
            json!({"version": v, "capabilities": {cart: [{"version": v}], "com.acme.x": [{"version": v}]}}),
            vec![cart],
            true,
            vec!["com.acme.x"],
        ),
        (
            json!({"version": v, "capabilities": {cart: [{"version": "2026-08-25"}], CHECKOUT: [{"version": "2026-01-01"}, {"version": v}]}}),
            vec![CHECKOUT],
            true,
            vec![cart],
        ),
        (
            json!({"version": v, "capabilities": {cart: [{}]}}),
            vec![cart],
            true,
            vec![],
        ),
        (
            json!({"version": v, "capabilities": [{"name": cart, "version": v}, {"version": v}, 7]}),
            vec![cart],
            true,
            vec![],
        ),
        (
            json!({"version": v, "capabilities": {}}),
            vec![],
            true,
            vec![],
        ),
        (
            json!({"version": v, "capabilities": []}),
            vec![],
            true,
            vec![],
        ),
        (json!({"version": v}), vec![cart, CHECKOUT], false, vec![]),
        (
            json!({"version": v, "capabilities": null}),
            vec![cart, CHECKOUT],
            false,
            vec![],
        ),
        (json!(null), vec![cart, CHECKOUT], false, vec![]),
    ] {
        let active = agreed.active(&json!({ "ucp": ucp }));
        assert_eq!(
            active.capabilities.keys().copied().collect::<Vec<_>>(),
            names,
            "{ucp}"
        );
        assert_eq!(
            (active.listed, active.unexpected, active.anomaly),
            (
                listed,
                unexpected.into_iter().map(str::to_owned).collect(),
                None
            )
        );
    }
    let newer = agreed.active(&json!({"ucp": {"version": "2026-08-25", "capabilities": {cart: [{"version": "2026-08-25"}]}}}));
    assert_eq!(newer.capabilities.len(), 0);
    assert_eq!(
        newer.anomaly,
        Some(Anomaly::OtherVersion {
            expected: v.into(),
            found: "2026-08-25".into()
        })
    );
}

#[test]
fn a_chain_falls_with_its_root_and_one_parent_of_several_holds() {
    let v = "2026-04-08";
    let profile = capabilities(
        v,
        json!({
            "x.a": [{"version": v, "extends": "x.gone"}],
            "x.b": [{"version": v, "extends": ["x.a"]}],
            "x.c": [{"version": v, "extends": ["x.b", "x.a", "x.b"]}],
            "x.d": [{"version": v, "extends": ["x.c", "x.root"]}],
            "x.root": [{"version": v}],
        }),
    );
    let release = ["x.a", "x.b", "x.c", "x.d", "x.root"]
        .into_iter()
        .fold(release(v), |release, name| release.capability(name, v));
    let agreed = negotiate(&profile, &release).unwrap();
    assert_eq!(chosen(&agreed), [("x.d", v), ("x.root", v)]);
    assert_eq!(
        reasons(&agreed),
        [
            "capability x.a None: it extends x.gone, which is absent",
            "capability x.b None: it extends x.a, which is absent",
            "capability x.c None: it extends x.b or x.a or x.b, which is absent",
        ]
    );
}

#[test]
fn explaining_prints_no_controls() {
    let profile = capabilities(
        "2026-04-08",
        json!({"evil\u{1b}[2J\n": [{"version": "\u{7}"}]}),
    );
    let text = negotiate(&profile, &release("2026-04-08"))
        .unwrap()
        .explain()
        .to_string();
    assert!(
        text.contains(r"capability evil\u{1b}[2J\n: we do not offer it"),
        "{text}"
    );
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
}

/// One side's capabilities: a name, its versions, what each version extends.
type Side = BTreeMap<String, BTreeMap<String, Vec<String>>>;

/// The algorithm as the specification tells it, with sets and rescans.
fn model(theirs: &Side, ours: &Side, by_name: bool) -> BTreeMap<String, String> {
    let mut result: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
    for (name, versions) in theirs {
        let Some(our_versions) = ours.get(name) else {
            continue;
        };
        let both: BTreeSet<&String> = versions
            .keys()
            .filter(|version| our_versions.contains_key(*version))
            .collect();
        let fallback = if by_name {
            versions.keys().next_back()
        } else {
            None
        };
        if let Some(version) = both.into_iter().next_back().or(fallback) {
            result.insert(name.clone(), (version.clone(), versions[version].clone()));
        }
    }
    loop {
        let orphan = result.iter().find(|(_, (_, extends))| {
            !extends.is_empty() && !extends.iter().any(|parent| result.contains_key(parent))
        });
        let Some((orphan, _)) = orphan else { break };
        let orphan = orphan.clone();
        result.remove(&orphan);
    }
    result
        .into_iter()
        .map(|(name, (version, _))| (name, version))
        .collect()
}

fn side() -> impl Strategy<Value = Side> {
    let name = || (0..12_u8).prop_map(|index| format!("com.acme.c{index}"));
    let version = (1..5_u8).prop_map(|month| format!("2026-0{month}-01"));
    let extends = prop_oneof![Just(Vec::new()), proptest::collection::vec(name(), 1..4)];
    let versions = proptest::collection::btree_map(version, extends, 1..4);
    proptest::collection::btree_map(name(), versions, 0..12)
}

proptest! {
    #[test]
    fn negotiating_agrees_with_the_model(theirs in side(), ours in side(), by_name: bool) {
        let version = if by_name { "2026-01-23" } else { "2026-08-25" };
        let listed: serde_json::Map<String, Value> = theirs.iter().map(|(name, versions)| {
            let entries = versions.iter().map(|(version, extends)| match &extends[..] {
                [] => json!({"version": version}),
                [one] => json!({"version": version, "extends": one}),
                many => json!({"version": version, "extends": many}),
            });
            (name.clone(), entries.collect())
        }).collect();
        let mut release = release(version);
        for (name, versions) in &ours {
            for version in versions.keys() {
                release = release.capability(name, version);
            }
        }
        let agreed = negotiate(&capabilities(version, listed.into()), &release).unwrap();
        let found: BTreeMap<String, String> = (agreed.capabilities().iter())
            .map(|(name, agreed)| (name.clone(), agreed.version.clone()))
            .collect();
        prop_assert_eq!(&found, &model(&theirs, &ours, by_name));
        // Each name of either side is agreed on, or left out with a reason, and never both.
        for name in theirs.keys().chain(ours.keys()) {
            let reasons = agreed.left_out().iter().filter(|out| out.name == *name).count();
            prop_assert_eq!(reasons, usize::from(!found.contains_key(name)), "{}", name);
        }
    }
}
