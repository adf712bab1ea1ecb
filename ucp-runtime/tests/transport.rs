//! A transport of one's own.
//!
//! These tests need no feature.
#![allow(clippy::unwrap_used)]

mod support;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use support::{PROFILE, RELEASE};
use ucp_runtime::http::Request;
use ucp_runtime::{Agent, BoxFuture, Merchant, ResponseBody, Transport, TransportError, http};

/// Answers every request with the same.
struct Canned {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Transport for Canned {
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<http::Response<ResponseBody>, TransportError>> {
        assert_eq!(
            request.headers()["ucp-agent"],
            format!("profile=\"{PROFILE}\"")
        );
        let mut response = http::Response::builder().status(self.status);
        for (name, value) in &self.headers {
            response = response.header(name, value);
        }
        let body = Full::new(Bytes::from(self.body.clone()));
        let body = body.map_err(|never| match never {}).boxed_unsync();
        let response = response.body(body).map_err(TransportError::not_sent);
        Box::pin(std::future::ready(response))
    }
}

fn agent(transport: impl Transport + 'static) -> Agent {
    let builder = Agent::builder(PROFILE).unwrap().development();
    builder.transport(transport).build().unwrap()
}

#[tokio::test]
async fn a_transport_of_ones_own() {
    let agent = agent(Canned {
        status: 200,
        headers: vec![("Content-Type".into(), "application/json".into())],
        body: r#"{"ucp":{"version":"2026-04-08","services":{"dev.ucp.shopping":[{"transport":"rest","endpoint":"https://api.m.example"}]}}}"#.into(),
    });
    let merchant = agent.connect("https://m.example").await.unwrap();
    assert_eq!(merchant.endpoint(), "https://api.m.example");
    let response = support::Client::new(&merchant)
        .get_checkout("1")
        .await
        .unwrap();
    assert!(response.success().is_ok());
}

/// A body that ends early without an error is not taken for whole.
#[tokio::test]
async fn a_short_body_is_noticed_above_the_transport() {
    let agent = agent(Canned {
        status: 200,
        headers: vec![
            ("Content-Type".into(), "application/json".into()),
            ("Content-Length".into(), "3".into()),
        ],
        body: "{}".into(),
    });
    let merchant = Merchant::at(&agent, "https://m.example", "https://m.example", RELEASE).unwrap();
    let error = support::Client::new(&merchant)
        .get_checkout("1")
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("its body broke off after 2 bytes"),
        "{error}"
    );
}

#[cfg(not(feature = "reqwest"))]
#[test]
fn without_the_default_one_there_must_be_another() {
    let error = Agent::builder(PROFILE).unwrap().build().unwrap_err();
    assert!(
        error.to_string().starts_with("there is no transport"),
        "{error}"
    );
}
