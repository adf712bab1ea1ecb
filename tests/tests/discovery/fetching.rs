//! Which document counts, what is never asked for, and what a refusal says.

use super::*;

#[tokio::test]
async fn c84_keys_are_those_of_the_profile_that_is_spoken() {
    let shop = Shop::open().await;
    let mut top = shop.profile("2026-08-22");
    top["keys"] = json!([key("new")]);
    top["signing_keys"] = json!([key("never")]);
    top["ucp"]["supported_versions"] = json!({"2026-04-08": format!("{}/april", shop.origin)});
    shop.put_profile(&[], &top);
    let mut leaf = shop.profile("2026-04-08");
    leaf["keys"] = json!([key("never")]);
    leaf["signing_keys"] = json!([key("old")]);
    shop.put(
        "/april",
        200,
        &[("content-type", "application/json")],
        &leaf,
    );
    let april = of_april().build().unwrap();
    assert_eq!(kids(&april, &shop.origin).await, ["old"]);
    let draft = builder()
        .development()
        .release(draft::RELEASE)
        .build()
        .unwrap();
    assert_eq!(kids(&draft, &shop.origin).await, ["new"]);
}

#[tokio::test]
async fn c85_an_unknown_key_asks_once_a_minute() {
    let shop = Shop::open().await;
    let clock = Hands::new();
    let agent = of_april().clock(clock.clone()).build().unwrap();
    let publish = |kid: &str| {
        let mut profile = shop.profile("2026-04-08");
        profile["signing_keys"] = json!([key(kid)]);
        shop.put_profile(&[("cache-control", "public, max-age=3600")], &profile);
    };
    publish("a");
    let found = async |kid: &str| agent.find(&shop.origin, kid).await.unwrap().len();
    assert_eq!((found("a").await, shop.asked(WELL_KNOWN)), (1, 1));
    assert_eq!((found("a").await, shop.asked(WELL_KNOWN)), (1, 1));
    // The first unknown id asks anew, and others within the minute do not.
    assert_eq!((found("b").await, shop.asked(WELL_KNOWN)), (0, 2));
    publish("b");
    clock.forward(59);
    assert_eq!((found("b").await, shop.asked(WELL_KNOWN)), (0, 2));
    assert_eq!((found("a").await, shop.asked(WELL_KNOWN)), (1, 2));
    clock.forward(1);
    assert_eq!((found("b").await, shop.asked(WELL_KNOWN)), (1, 3));
    // What is no longer published counts no longer, at once.
    assert_eq!((found("a").await, shop.asked(WELL_KNOWN)), (0, 3));
    // A refresh that fails says so, and costs nothing that is known.
    clock.forward(60);
    shop.put(WELL_KNOWN, 500, &[], "");
    assert!(agent.find(&shop.origin, "c").await.is_err());
    assert_eq!((found("b").await, shop.asked(WELL_KNOWN)), (1, 4));
    // Of many who ask at once, one fetches.
    clock.forward(60);
    publish("d");
    let many = (0..100).map(|_| {
        let (agent, origin) = (agent.clone(), shop.origin.clone());
        tokio::spawn(async move { agent.find(&origin, "d").await.unwrap().len() })
    });
    for one in many.collect::<Vec<_>>() {
        assert_eq!(one.await.unwrap(), 1);
    }
    assert_eq!(shop.asked(WELL_KNOWN), 5);
}

#[tokio::test]
async fn c93_no_redirect_is_followed() {
    let shop = Shop::open().await;
    let target = Shop::open().await;
    target.put_profile(&[], &target.profile("2026-04-08"));
    let to: &'static str = format!("{}{WELL_KNOWN}?a=b", target.origin).leak();
    for status in [301, 302, 303, 307, 308] {
        shop.put(WELL_KNOWN, status, &[("location", to)], "");
        let error = fails(&agent(), &shop.origin).await;
        assert!(
            matches!(&error.problem, DiscoveryProblem::Redirect { to } if *to == format!("{}{WELL_KNOWN}", target.origin)),
            "{error}"
        );
    }
    // Nor for a profile that is named for another version.
    let mut top = shop.profile("2026-08-22");
    top["ucp"]["supported_versions"] = json!({"2026-04-08": format!("{}/april", shop.origin)});
    shop.put_profile(&[], &top);
    shop.put("/april", 301, &[("location", to)], "");
    let error = fails(&of_april().build().unwrap(), &shop.origin).await;
    assert!(matches!(&error.problem, DiscoveryProblem::Redirect { .. }));
    assert_eq!(error.url.path(), "/april");
    assert_eq!(target.asked(WELL_KNOWN), 0);
}

#[tokio::test]
async fn c94_special_use_addresses_get_no_request() {
    // As they stand in the URL, in whatever form: no resolver sees those.
    for origin in [
        "https://169.254.169.254",
        "https://10.0.0.5",
        "https://0x0a000005",
        "https://167772165",
        "https://[::ffff:10.0.0.5]",
        "https://[64:ff9b::a00:5]",
        "https://[fd00::1]",
        "https://[fe80::1]",
        "https://127.0.0.1",
        "https://[::1]",
        "https://localhost",
        "https://shop.localhost.",
        "http://shop.example",
    ] {
        let answers = Answers::of(&[&["8.8.8.8"]]);
        let agent = builder().resolver(answers.clone()).build().unwrap();
        let error = agent.connect(origin).await.unwrap_err();
        assert!(matches!(error, Error::Config(_)), "{origin}: {error}");
        assert_eq!(answers.asked(), 0);
    }
    // As a name resolves to them.
    for address in [
        "10.0.0.5",
        "127.0.0.1",
        "169.254.169.254",
        "100.64.1.1",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b:1::a00:5",
        "2002:7f00:1::1",
        "fd00::5",
        "fe80::5",
    ] {
        let answers = Answers::of(&[&[address]]);
        let agent = builder().resolver(answers.clone()).build().unwrap();
        let error = fails(&agent, "https://shop.example").await;
        match &error.problem {
            DiscoveryProblem::SpecialUse(refused) => {
                assert_eq!(refused.host, "shop.example");
                assert_eq!(refused.addresses, [address.parse::<IpAddr>().unwrap()]);
            }
            other => panic!("{address}: {other:?}"),
        }
        assert_eq!(answers.asked(), 1);
    }
}

/// Development lets loopback through and nothing else, whatever is named by whom.
#[tokio::test]
async fn c94_what_a_profile_names_is_held_to_the_same() {
    let shop = Shop::open().await;
    let answers = Answers::of(&[&["10.0.0.5"]]);
    let agent = of_april().resolver(answers).build().unwrap();
    for (url, reason) in [
        ("https://leaf.example/p", None),
        ("http://leaf.example/p", Some("its scheme is not https")),
        (
            "https://10.0.0.5/p",
            Some("its host is an address for special use (RFC 6890)"),
        ),
        (
            "https://[::ffff:a00:5]/p",
            Some("its host is an address for special use (RFC 6890)"),
        ),
    ] {
        let mut top = shop.profile("2026-08-22");
        top["ucp"]["supported_versions"] = json!({"2026-04-08": url});
        // Under an origin of its own each, since failures are remembered.
        let shop = Shop::open().await;
        shop.put_profile(&[], &top);
        let error = fails(&agent, &shop.origin).await;
        match (&error.problem, reason) {
            (DiscoveryProblem::SpecialUse(_), None) => assert_eq!(error.url.as_str(), url),
            (DiscoveryProblem::NoRelease(refused), Some(reason)) => {
                assert_eq!(refused.refused, [("2026-04-08".to_owned(), reason)]);
            }
            other => panic!("{url}: {other:?}"),
        }
    }
    let mut profile = shop.profile("2026-04-08");
    profile["ucp"]["services"]["dev.ucp.shopping"][0]["endpoint"] =
        json!("https://192.168.0.1/ucp");
    shop.put_profile(&[], &profile);
    let error = fails(&agent, &shop.origin).await.to_string();
    assert!(
        error.contains("the endpoint `https://192.168.0.1/ucp` is refused: its host is an address for special use"),
        "{error}"
    );
}

/// The name is resolved once for a connection, and the connection goes to what was checked; a later
/// answer is checked anew.
#[tokio::test]
async fn c94_a_name_that_is_bound_anew_leads_nowhere() {
    let shop = Shop::open().await;
    let host = format!("http://shop.localhost:{}", shop.port);
    let mut profile = shop.profile("2026-04-08");
    profile["ucp"]["services"]["dev.ucp.shopping"][0]["endpoint"] = json!(format!("{host}/ucp"));
    shop.put_profile(&[("connection", "close")], &profile);
    let answers = Answers::of(&[&["127.0.0.1"], &["169.254.169.254"]]);
    let agent = of_april().resolver(answers.clone()).build().unwrap();
    let merchant = agent.connect(&host).await.unwrap();
    assert_eq!(answers.asked(), 1);
    let error = april::Client::new(&merchant)
        .get_checkout("1")
        .await
        .unwrap_err();
    let Error::Transport(error) = error else {
        panic!("{error:?}")
    };
    assert!(!error.error.may_have_arrived());
    let mut cause: &dyn std::error::Error = &*error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    assert_eq!(
        cause.to_string(),
        "shop.localhost is at 169.254.169.254, which is for special use (RFC 6890): nothing is sent there"
    );
    assert_eq!(
        (answers.asked(), shop.asked("/ucp/checkout-sessions/1")),
        (2, 0)
    );
}

#[tokio::test]
async fn c96_the_leaf_counts_alone_and_must_be_what_it_was_named_for() {
    let shop = Shop::open().await;
    let mut top = shop.profile("2026-08-25");
    top["ucp"]["supported_versions"] = json!({"2026-04-08": format!("{}/april", shop.origin)});
    top["ucp"]["capabilities"]["dev.ucp.shopping.cart"] = json!([{"version": "2026-04-08"}]);
    top["ucp"]["services"] = json!("a shape still to come");
    shop.put_profile(&[], &top);
    let json = [("content-type", "application/json")];
    shop.put("/april", 200, &json, shop.profile("2026-04-08"));
    let agent = of_april().build().unwrap();
    let merchant = agent.connect(&shop.origin).await.unwrap();
    assert_eq!(merchant.version(), "2026-04-08");
    let agreed = merchant.negotiated().unwrap().capabilities();
    assert_eq!(
        agreed.keys().collect::<Vec<_>>(),
        ["dev.ucp.shopping.checkout"]
    );

    let other = Shop::open().await;
    top["ucp"]["supported_versions"] = json!({"2026-04-08": format!("{}/april", other.origin)});
    other.put_profile(&[], &top);
    let mut wrong = other.profile("2026-01-23");
    wrong["ucp"]["supported_versions"] = json!({"2026-04-08": format!("{}/april", shop.origin)});
    other.put("/april", 200, &json, &wrong);
    let error = fails(&agent, &other.origin).await;
    assert_eq!(
        error.to_string(),
        format!(
            "no merchant at {0}/april: the profile at {0}/april is of version 2026-01-23, and was named for 2026-04-08",
            other.origin
        )
    );
    assert_eq!(shop.asked("/april"), 1);
}

#[tokio::test]
async fn c98_a_refusal_lists_what_was_offered() {
    let shop = Shop::open().await;
    let mut profile = shop.profile("2026-04-08");
    profile["ucp"]["services"]["dev.ucp.shopping"] = json!([
        {"transport": "mcp", "version": "2026-08-25", "endpoint": "https://m.example/mcp"},
        {"transport": "embedded", "version": "2026-04-08"},
    ]);
    shop.put_profile(&[], &profile);
    let error = fails(&of_april().build().unwrap(), &shop.origin).await;
    assert_eq!(
        error.problem.to_string(),
        "its profile of version 2026-04-08 offers no usable REST endpoint for dev.ucp.shopping: \
         mcp 2026-08-25 (not the REST transport), embedded 2026-04-08 (not the REST transport)"
    );
    let DiscoveryProblem::NoEndpoint { offers, .. } = &error.problem else {
        panic!("{error:?}")
    };
    assert_eq!(offers[1].transport, "embedded");
}

#[tokio::test]
async fn c99_and_c102_what_is_missing_is_noted() {
    let shop = Shop::open().await;
    let services = shop.profile("2026-04-08")["ucp"]["services"].clone();
    shop.put_profile(
        &[],
        &json!({"version": "2026-01-23", "ucp": {"version": "2026-04-08", "services": services}}),
    );
    let merchant = of_april()
        .build()
        .unwrap()
        .connect(&shop.origin)
        .await
        .unwrap();
    assert_eq!(merchant.version(), "2026-04-08");
    let agreed = merchant.negotiated().unwrap();
    assert!(agreed.capabilities().is_empty());
    let notes: Vec<String> = agreed.notes().iter().map(ToString::to_string).collect();
    assert_eq!(notes, ["$.ucp.payment_handlers: it is absent"]);
}

#[tokio::test]
async fn c100_no_schema_is_ever_asked_for() {
    let shop = Shop::open().await;
    let mut profile = shop.profile("2026-04-08");
    profile["ucp"]["capabilities"]["dev.ucp.shopping.cart"] = json!([{"version": "2026-04-08", "schema": format!("https://ucp.dev@127.0.0.1:{}/x", shop.port)}]);
    shop.put_profile(&[], &profile);
    let merchant = of_april()
        .build()
        .unwrap()
        .connect(&shop.origin)
        .await
        .unwrap();
    let agreed = merchant.negotiated().unwrap();
    assert!(agreed.has("dev.ucp.shopping.checkout") && !agreed.has("dev.ucp.shopping.cart"));
    let text = agreed.explain().to_string();
    let line =
        "capability dev.ucp.shopping.cart 2026-04-08: its schema's URL carries user information";
    assert!(text.contains(line), "{text}");
    assert_eq!(shop.asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn c103_an_endpoint_that_is_not_there_is_said_and_nothing_else_is_tried() {
    let shop = Shop::open().await;
    let mut profile = shop.profile("2026-04-08");
    let services = profile["ucp"]["services"]["dev.ucp.shopping"]
        .as_array_mut()
        .unwrap();
    services.push(json!({"version": "2026-04-08", "transport": "mcp", "endpoint": format!("{}/mcp", shop.origin)}));
    shop.put_profile(&[], &profile);
    let agent = of_april().build().unwrap();
    let merchant = agent.connect(&shop.origin).await.unwrap();
    let client = april::Client::new(&merchant);
    for (status, body, is_unavailable) in [
        (404, "<html>Not here</html>", true),
        (501, "", true),
        (
            404,
            r#"{"code": "not_found", "content": "No such session"}"#,
            false,
        ),
        (500, "", false),
    ] {
        shop.put("/ucp/checkout-sessions/1", status, &[], body);
        match client.get_checkout("1").await {
            Err(Error::Status(error)) => {
                assert_eq!(error.is_endpoint_unavailable(), is_unavailable, "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(shop.asked("/mcp"), 0);
}

#[tokio::test]
async fn c104_a_wall_is_not_run_against() {
    let shop = Shop::open().await;
    let clock = Hands::new();
    let agent = of_april().clock(clock.clone()).build().unwrap();
    let html = [("content-type", "text/html")];
    shop.put(WELL_KNOWN, 403, &html, "<html>Are you a robot?</html>");
    for _ in 0..10 {
        let error = fails(&agent, &shop.origin).await;
        assert!(matches!(
            error.problem,
            DiscoveryProblem::Blocked(StatusCode::FORBIDDEN)
        ));
        let kept = error.response.as_ref().unwrap();
        assert_eq!(kept.bytes().as_ref(), b"<html>Are you a robot?</html>");
    }
    assert_eq!(shop.asked(WELL_KNOWN), 1);
    clock.forward(10);
    shop.put(WELL_KNOWN, 200, &html, "<html>Not found</html>");
    let error = fails(&agent, &shop.origin).await;
    assert!(
        error
            .to_string()
            .ends_with("its body is an HTML page, so there is no profile to read")
    );
    assert_eq!(shop.asked(WELL_KNOWN), 2);
    clock.forward(10);
    shop.put_profile(&[], &shop.profile("2026-04-08"));
    assert!(agent.connect(&shop.origin).await.is_ok());
}

/// A proxy would resolve names itself, so the environment does not get to name one.
#[tokio::test]
async fn no_proxy_of_the_environment_is_used() {
    let (shop, proxy) = (Shop::open().await, Shop::open().await);
    shop.put_profile(&[], &shop.profile("2026-04-08"));
    let (to, through) = (shop.origin.clone(), proxy.origin.clone());
    let run = tokio::task::spawn_blocking(move || {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args([
            "--exact",
            "fetching::connects_to_the_shop_it_is_told",
            "--ignored",
        ]);
        for name in [
            "HTTP_PROXY",
            "http_proxy",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "all_proxy",
        ] {
            command.env(name, &through);
        }
        command.env_remove("NO_PROXY").env_remove("no_proxy");
        command.env("SHOP", to).output().unwrap()
    });
    let run = run.await.unwrap();
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stdout)
    );
    assert_eq!(shop.asked(WELL_KNOWN), 1);
    assert!(proxy.asked.lock().unwrap().is_empty());
}

#[tokio::test]
#[ignore = "run by `no_proxy_of_the_environment_is_used`, in an environment of its own"]
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is what is tested"
)]
async fn connects_to_the_shop_it_is_told() {
    let shop = std::env::var("SHOP").unwrap();
    agent().connect(&shop).await.unwrap();
}
