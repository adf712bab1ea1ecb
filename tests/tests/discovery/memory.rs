//! What is remembered of a merchant: for how long, for how many, and at what cost to its server.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_who_ask_at_once_make_one_fetch() {
    let shop = Shop::open().await;
    shop.put_profile(&[], &shop.profile("2026-04-08"));
    let agent = of_april().build().unwrap();
    let many = (0..1000).map(|_| {
        let (agent, origin) = (agent.clone(), shop.origin.clone());
        tokio::spawn(async move { agent.connect(&origin).await.unwrap().version().to_owned() })
    });
    for one in many.collect::<Vec<_>>() {
        assert_eq!(one.await.unwrap(), "2026-04-08");
    }
    assert_eq!(shop.asked(WELL_KNOWN), 1);
    // A failure is shared as well.
    let closed = Shop::open().await;
    let many = (0..1000).map(|_| {
        let (agent, origin) = (agent.clone(), closed.origin.clone());
        tokio::spawn(async move { fails(&agent, &origin).await })
    });
    for one in many.collect::<Vec<_>>() {
        let error = one.await.unwrap();
        assert!(matches!(
            error.problem,
            DiscoveryProblem::Status(StatusCode::NOT_FOUND)
        ));
    }
    assert_eq!(closed.asked(WELL_KNOWN), 1);
}

/// Whoever began the fetch may lose interest; those who wait do not lose by it.
#[tokio::test]
async fn one_who_hangs_up_does_not_hold_up_the_others() {
    let shop = Shop::open().await;
    shop.put_profile(&[], &shop.profile("2026-04-08"));
    let agent = of_april().build().unwrap();
    let mut impatient = Box::pin(agent.connect(&shop.origin));
    let once = std::future::poll_fn(|context| {
        std::task::Poll::Ready(impatient.as_mut().poll(context).is_pending())
    });
    assert!(once.await);
    drop(impatient);
    assert!(agent.connect(&shop.origin).await.is_ok());
}

#[tokio::test]
async fn a_profile_is_fresh_for_a_minute_at_least_and_then_as_its_server_says() {
    for (headers, seconds) in [
        (&[("cache-control", "no-store")][..], 60),
        (&[("cache-control", "private, no-cache, max-age=600")], 60),
        (&[("cache-control", "public, max-age=10")], 60),
        (&[], 60),
        (&[("cache-control", "public, max-age=600")], 600),
        (
            &[("cache-control", "public, max-age=600"), ("age", "60")],
            540,
        ),
    ] {
        let shop = Shop::open().await;
        shop.put_profile(headers, &shop.profile("2026-04-08"));
        let clock = Hands::new();
        let agent = of_april().clock(clock.clone()).build().unwrap();
        let asked = async || {
            agent.connect(&shop.origin).await.unwrap();
            shop.asked(WELL_KNOWN)
        };
        assert_eq!(asked().await, 1);
        clock.forward(seconds - 1);
        assert_eq!(asked().await, 1, "{headers:?}");
        clock.forward(1);
        assert_eq!(asked().await, 2, "{headers:?}");
    }
}

#[tokio::test]
async fn a_stale_profile_is_revalidated_with_its_leaf() {
    let shop = Shop::open().await;
    let mut top = shop.profile("2026-08-25");
    top["ucp"]["supported_versions"] = json!({"2026-04-08": format!("{}/april", shop.origin)});
    let fresh = ("cache-control", "public, max-age=60");
    shop.put_profile(&[fresh, ("etag", "\"top-1\"")], &top);
    let json = ("content-type", "application/json");
    shop.put(
        "/april",
        200,
        &[json, fresh, ("etag", "\"leaf-1\"")],
        shop.profile("2026-04-08"),
    );
    let clock = Hands::new();
    let agent = of_april().clock(clock.clone()).build().unwrap();
    let profile = async || {
        let merchant = agent.connect(&shop.origin).await.unwrap();
        merchant.profile().unwrap().document.clone()
    };
    let first = profile().await;
    assert_eq!(shop.heard("/april", "if-none-match"), None);
    clock.forward(60);
    assert_eq!(profile().await, first);
    assert_eq!(
        shop.heard(WELL_KNOWN, "if-none-match").unwrap(),
        "\"top-1\""
    );
    assert_eq!(shop.heard("/april", "if-none-match").unwrap(), "\"leaf-1\"");
    assert_eq!((shop.asked(WELL_KNOWN), shop.asked("/april")), (2, 2));
    // A leaf that changed is read.
    let mut changed = shop.profile("2026-04-08");
    changed["x"] = json!(1);
    shop.put(
        "/april",
        200,
        &[json, fresh, ("etag", "\"leaf-2\"")],
        &changed,
    );
    clock.forward(60);
    assert_eq!(profile().await, changed);
    // So is another leaf, for which the old one's tag means nothing.
    top["ucp"]["supported_versions"] = json!({"2026-04-08": format!("{}/other", shop.origin)});
    shop.put_profile(&[fresh, ("etag", "\"top-2\"")], &top);
    shop.put("/other", 200, &[json, ("etag", "\"leaf-2\"")], &first);
    clock.forward(60);
    assert_eq!(profile().await, first);
    assert_eq!(shop.heard("/other", "if-none-match"), None);
    // And the profile itself, once it is of the version that is spoken.
    shop.put_profile(
        &[fresh, ("last-modified", "Tue, 01 Dec 2026 00:00:00 GMT")],
        &changed,
    );
    clock.forward(60);
    assert_eq!(profile().await, changed);
    clock.forward(60);
    assert_eq!(profile().await, changed);
    assert_eq!(
        shop.heard(WELL_KNOWN, "if-modified-since").unwrap(),
        "Tue, 01 Dec 2026 00:00:00 GMT"
    );
    assert_eq!(shop.asked("/other"), 1);
}

/// Waits until a page was asked for so often.
async fn until_asked(shop: &Shop, times: usize) {
    let waiting = async {
        while shop.asked(WELL_KNOWN) < times {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), waiting)
        .await
        .unwrap();
}

#[tokio::test]
async fn what_is_stale_serves_while_it_is_fetched_anew_if_that_is_chosen() {
    let shop = Shop::open().await;
    let clock = Hands::new();
    let stale = Discovery::default().stale_while_revalidate(Duration::from_secs(300));
    let agent = of_april()
        .clock(clock.clone())
        .discovery(stale)
        .build()
        .unwrap();
    let publish = |mark: i64| {
        let mut profile = shop.profile("2026-04-08");
        profile["mark"] = json!(mark);
        shop.put_profile(&[], &profile);
    };
    let mark = async || {
        let merchant = agent.connect(&shop.origin).await.unwrap();
        merchant.profile().unwrap().document["mark"]
            .as_i64()
            .unwrap()
    };
    publish(1);
    assert_eq!(mark().await, 1);
    publish(2);
    clock.forward(61);
    // All get the old one at once, and one fetch is made for them.
    for _ in 0..10 {
        assert_eq!(mark().await, 1);
    }
    until_asked(&shop, 2).await;
    let renewed = async {
        while mark().await != 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), renewed)
        .await
        .unwrap();
    assert_eq!(shop.asked(WELL_KNOWN), 2);
    // A server that is down costs nothing for as long.
    shop.put(WELL_KNOWN, 503, &[], "");
    clock.forward(61);
    assert_eq!(mark().await, 2);
    until_asked(&shop, 3).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(mark().await, 2);
    assert_eq!(shop.asked(WELL_KNOWN), 3);
    clock.forward(300);
    let error = fails(&agent, &shop.origin).await;
    assert!(matches!(
        error.problem,
        DiscoveryProblem::Blocked(StatusCode::SERVICE_UNAVAILABLE)
    ));
}

#[tokio::test]
async fn memory_is_bounded() {
    let shop = Shop::open().await;
    shop.put_profile(&[], &shop.profile("2026-04-08"));
    let small = Discovery::default().capacity(16 * 1024);
    let answers = Answers::of(&[&["127.0.0.1"]]);
    let agent = of_april()
        .resolver(answers)
        .discovery(small)
        .build()
        .unwrap();
    for _ in 0..2 {
        for index in 0..200 {
            let origin = format!("http://shop-{index}.localhost:{}", shop.port);
            agent.connect(&origin).await.unwrap();
        }
    }
    // A dozen are remembered at most, so all others were asked for twice.
    let asked = shop.asked(WELL_KNOWN);
    assert!((380..=400).contains(&asked), "{asked}");
}
