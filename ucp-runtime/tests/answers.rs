//! What comes back, in all the ways in which it can be bad. Over real HTTP.
#![cfg(feature = "reqwest")]
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;
use std::time::Duration;
use support::{Client, RELEASE, answering, builder, http};
use ucp_runtime::error::{BodyProblem, RetryAfter};
use ucp_runtime::handoff::FailedReason;
use ucp_runtime::serde_json::{Value, json};
use ucp_runtime::wire::Map;
use ucp_runtime::{Call, Endpoint, Error, Handoff, Host, Merchant, Operation, Outcome, Response};

const JSON: &str = "Content-Type: application/json\r\n";
const CHECKOUT: &str =
    r#"{"ucp":{"version":"2026-04-08"},"id":"co_1","status":"completed","order":{"id":"o_1"}}"#;

async fn get_with(bytes: Vec<u8>, limit: usize) -> Result<Response<Value, Value>, Error> {
    let origin = answering(bytes).await;
    let agent = builder()
        .response_limit(limit)
        .timeout(Duration::from_secs(5))
        .build()
        .unwrap();
    let merchant = Merchant::at(&agent, &origin, &origin, RELEASE).unwrap();
    Client::new(&merchant).get_checkout("co_1").await
}

async fn get(bytes: Vec<u8>) -> Result<Response<Value, Value>, Error> {
    get_with(bytes, 1024).await
}

/// The error, after checking that status, headers and bytes were kept and nothing was printed.
async fn unusable(bytes: Vec<u8>, kept: &str) -> Error {
    let error = get(bytes).await.unwrap_err();
    let response = error.response().unwrap();
    assert_eq!(response.bytes(), kept);
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["x-kept"], "yes");
    assert!(!format!("{error} {error:?}").contains("SECRET"));
    error
}

fn problem(error: &Error) -> &BodyProblem {
    match error {
        Error::Body(error) => &error.problem,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn bodies_that_cannot_be_used_are_kept() {
    let kept = |content_type: &str| format!("X-Kept: yes\r\n{content_type}");
    let not_json = r#"{"id": "SECRET", }"#;
    let error = unusable(http("200 OK", &kept(JSON), not_json), not_json).await;
    assert!(matches!(problem(&error), BodyProblem::NotJson { .. }));
    assert!(
        error
            .to_string()
            .contains("but its body is not JSON (18 bytes kept)"),
        "{error}"
    );

    let html = "<!DOCTYPE html>SECRET";
    for content_type in ["Content-Type: text/html; charset=utf-8\r\n", JSON, ""] {
        let error = unusable(http("200 OK", &kept(content_type), html), html).await;
        assert!(
            matches!(problem(&error), BodyProblem::Html),
            "{content_type}"
        );
    }
    let error = unusable(http("200 OK", &kept(JSON), ""), "").await;
    assert!(matches!(problem(&error), BodyProblem::Empty));
    let error = unusable(
        http("200 OK", &kept("Content-Encoding: gzip\r\n"), "SECRET"),
        "SECRET",
    )
    .await;
    assert!(matches!(problem(&error), BodyProblem::Encoded { coding } if coding == "gzip"));

    // The type is wrong, and yet the body says what happens next.
    let bytes = http("200 OK", &kept("Content-Type: text/plain\r\n"), CHECKOUT);
    let error = unusable(bytes, CHECKOUT).await;
    assert!(matches!(problem(&error), BodyProblem::ContentType { found } if found == "text/plain"));
    assert!(matches!(
        error.handoff(&Host::default()),
        Ok(Handoff::Completed { .. })
    ));

    // A body that breaks off: by length, by chunk.
    let half = &CHECKOUT[..40];
    let bytes = format!("HTTP/1.1 200 OK\r\nX-Kept: yes\r\n{JSON}Content-Length: 90\r\n\r\n{half}");
    let error = unusable(bytes.into(), half).await;
    assert!(matches!(
        problem(&error),
        BodyProblem::Truncated { received: 40, .. }
    ));
    assert!(!error.response().unwrap().is_whole());
    assert!(std::error::Error::source(&error).is_some());
    assert!(error.handoff(&Host::default()).is_err());
    // The chunk is a whole checkout, but whether it is all was never said.
    let bytes = format!(
        "HTTP/1.1 200 OK\r\nX-Kept: yes\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{CHECKOUT}\r\n",
        CHECKOUT.len()
    );
    let error = unusable(bytes.into(), CHECKOUT).await;
    assert!(matches!(problem(&error), BodyProblem::Truncated { .. }));
    assert!(error.handoff(&Host::default()).is_err());

    let long = "1".repeat(1025);
    let error = unusable(http("200 OK", &kept(JSON), &long), &long[..1024]).await;
    assert!(matches!(
        problem(&error),
        BodyProblem::TooLong { limit: 1024 }
    ));
    let fits = format!("\"{}\"", "1".repeat(1022));
    assert_eq!(
        get(http("200 OK", JSON, &fits)).await.unwrap().bytes(),
        &fits
    );
}

/// A checkout whose other members do not fit is still a checkout.
#[tokio::test]
async fn a_misfit_still_says_what_happens_next() {
    struct Strict;
    impl Endpoint for Strict {
        const OPERATION: &'static Operation = support::GetCheckout::OPERATION;
        type Success = BTreeMap<String, Map>;
        type Failure = BTreeMap<String, Map>;
    }
    let origin = answering(http("200 OK", JSON, CHECKOUT)).await;
    let agent = builder().build().unwrap();
    let merchant = Merchant::at(&agent, &origin, &origin, RELEASE).unwrap();
    let error = Call::<Strict>::new(&merchant)
        .path("id", "co_1")
        .await
        .unwrap_err();
    match problem(&error) {
        BodyProblem::Shape(error) => assert_eq!(error.path.to_string(), "$.id"),
        other => panic!("{other:?}"),
    }
    assert_eq!(error.response().unwrap().bytes(), CHECKOUT);
    match error.handoff(&Host::default()) {
        Ok(Handoff::Completed { order, .. }) => {
            assert_eq!(order.unwrap().id.as_deref(), Some("o_1"))
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn any_2xx_is_read_by_its_body() {
    let envelope = r#"{"ucp":{"version":"2026-04-08","status":"error"},"messages":[],"x":1}"#;
    for status in ["200 OK", "201 Created", "202 Accepted"] {
        let response = get(http(status, JSON, CHECKOUT)).await.unwrap();
        assert_eq!(response.success().unwrap()["id"], "co_1");
        assert_eq!(response.bytes(), CHECKOUT);
        let response = get(http(status, JSON, envelope)).await.unwrap();
        let Outcome::Failure(failure) = response.outcome() else {
            panic!("{response:?}")
        };
        assert_eq!(failure["x"], 1);
        assert!(matches!(response.success(), Err(Error::Declined(_))));
        assert!(matches!(
            response.handoff(&Host::default()).unwrap(),
            Handoff::Failed {
                reason: FailedReason::NoResource,
                ..
            }
        ));
    }
    let catalog = get(http(
        "200 OK",
        JSON,
        r#"{"ucp":{"version":"2026-04-08"},"products":[]}"#,
    ))
    .await
    .unwrap();
    let error = catalog.handoff(&Host::default()).unwrap_err();
    assert!(matches!(error, Error::NoHandoff(_)));
    assert_eq!(error.response().unwrap().bytes(), catalog.bytes());
}

#[tokio::test]
async fn statuses_are_errors_that_keep_everything() {
    let page = "<html><title>SECRET</title></html>";
    let error = get(http(
        "502 Bad Gateway",
        "Content-Type: text/html\r\nRetry-After: 7\r\n",
        page,
    ))
    .await
    .unwrap_err();
    assert!(!format!("{error} {error:?}").contains("SECRET"));
    let Error::Status(status) = &error else {
        panic!("{error:?}")
    };
    assert_eq!(status.status, 502);
    assert_eq!(status.code, None);
    assert_eq!(status.text.as_deref(), Some("SECRET")); // the page's title
    assert_eq!(status.retry_after, Some(RetryAfter::Seconds(7)));
    assert_eq!(status.response.bytes(), page);
    assert!(error.handoff(&Host::default()).is_err());

    let body =
        r#"{"code":"out_of_stock","content":"none left","continue_url":"https://m.example/"}"#;
    let error = get(http("422 Unprocessable", JSON, body))
        .await
        .unwrap_err();
    let Error::Status(status) = &error else {
        panic!("{error:?}")
    };
    assert_eq!(status.code.as_deref(), Some("out_of_stock"));
    assert_eq!(status.text.as_deref(), Some("none left"));
    assert_eq!(status.continue_url.as_deref(), Some("https://m.example/"));
    match error.handoff(&Host::default()) {
        Ok(Handoff::Failed {
            reason,
            continue_url,
            ..
        }) => {
            assert_eq!(reason, FailedReason::RequestRefused);
            assert_eq!(continue_url.unwrap().as_str(), "https://m.example/");
        }
        other => panic!("{other:?}"),
    }
    // The same body decides nothing where the status is a challenge or a conflict.
    for status in [
        "401 Unauthorized",
        "409 Conflict",
        "429 Too Many Requests",
        "503 Unavailable",
    ] {
        let error = get(http(status, JSON, body)).await.unwrap_err();
        assert!(
            matches!(error.handoff(&Host::default()), Err(Error::Status(_))),
            "{status}"
        );
    }
    let error = get(http(
        "404 Not Found",
        "Content-Type: text/plain\r\n",
        "404 page not found\n",
    ))
    .await
    .unwrap_err();
    let Error::Status(status) = &error else {
        panic!("{error:?}")
    };
    assert_eq!(status.text.as_deref(), Some("404 page not found"));
    // A broken error body is kept as far as it came.
    let error = get(b"HTTP/1.1 500 Oops\r\nContent-Length: 90\r\n\r\nhalf".to_vec())
        .await
        .unwrap_err();
    let response = error.response().unwrap();
    assert_eq!(
        (response.bytes().as_ref(), response.is_whole()),
        (b"half".as_slice(), false)
    );
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = support::Shop::open().await;
    for status in ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"] {
        let location = format!("Location: {}/login?next=SECRET\r\n", elsewhere.origin);
        let error = get(http(status, &location, "")).await.unwrap_err();
        assert!(matches!(&error, Error::Status(_)));
        assert!(
            error.to_string().contains(&format!(
                "a redirect to {}/login: redirects are not followed",
                elsewhere.origin
            )),
            "{error}"
        );
        assert!(!error.to_string().contains("SECRET"));
    }
    // Also not by a builder that would.
    let builder_that_follows = ucp_runtime::reqwest::Client::builder()
        .redirect(ucp_runtime::reqwest::redirect::Policy::limited(5));
    let tls = ucp_runtime::ReqwestTransport::tls(ucp_runtime::ReqwestTransport::roots()).unwrap();
    let transport =
        ucp_runtime::ReqwestTransport::with_builder(builder_that_follows.no_proxy(), tls).unwrap();
    let origin = answering(http(
        "302 Found",
        &format!("Location: {}\r\n", elsewhere.origin),
        "",
    ))
    .await;
    let agent = builder().transport(transport).build().unwrap();
    let merchant = Merchant::at(&agent, &origin, &origin, RELEASE).unwrap();
    let error = Client::new(&merchant)
        .create_checkout(json!({}))
        .await
        .unwrap_err();
    assert_eq!(error.response().unwrap().status(), 302);
    assert!(elsewhere.arrived().is_empty());
}

#[tokio::test]
async fn no_answer_says_whether_the_request_may_have_arrived() {
    for bytes in [b"".to_vec(), b"HTTP/1.1 2".to_vec()] {
        match get(bytes).await.unwrap_err() {
            Error::Transport(error) => {
                assert!(error.error.may_have_arrived());
                assert!(
                    error
                        .to_string()
                        .contains("repeat it only with the same bytes and keys"),
                    "{error}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
    // A server that never answers, and one that never ends.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", silent.local_addr().unwrap());
    let agent = builder().build().unwrap();
    let merchant = Merchant::at(&agent, &origin, &origin, RELEASE).unwrap();
    let call = Client::new(&merchant)
        .get_checkout("1")
        .timeout(Duration::from_millis(50));
    match call.await.unwrap_err() {
        Error::Transport(error) => {
            assert_eq!(
                std::error::Error::source(&error).unwrap().to_string(),
                "no whole answer within 50ms"
            );
        }
        other => panic!("{other:?}"),
    }
}
