//! The pages for people: at `continue_url`, and embedded.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

mod common;

use common::{Stage, payment};
use merchant::{Operation, Severity, Stimulus, Target};
use serde_json::{Value, json};

/// A checkout that lacks nothing but the buyer's review.
async fn to_review(stage: &Stage) -> String {
    let id = stage.ready().await;
    let review = Stimulus::Error {
        severity: Severity::RequiresBuyerReview,
        code: "high_value_order".to_owned(),
        content: "Please <review> it.".to_owned(),
        path: None,
    };
    stage.merchant.script(Target::Session(id.clone()), [review]);
    let read = stage.call(Operation::GetCheckout, &id, Value::Null).await;
    assert_eq!(read.body["status"], "requires_escalation");
    id
}

async fn get(stage: &Stage, path: &str) -> (u16, String, String) {
    let url = format!("{}{path}", stage.merchant.origin());
    let answer = stage.http.get(url).send().await.unwrap();
    let policy = answer.headers().get("content-security-policy");
    let policy = policy.map_or("", |it| it.to_str().unwrap()).to_owned();
    (
        answer.status().as_u16(),
        policy,
        answer.text().await.unwrap(),
    )
}

#[tokio::test]
async fn the_buyer_buys_at_continue_url() {
    let stage = Stage::set().await;
    let id = to_review(&stage).await;
    let path = format!("/checkout/{id}");
    let (status, policy, html) = get(&stage, &path).await;
    assert_eq!(status, 200);
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    for expected in [
        "Please &lt;review&gt; it.",
        "<b id=status>requires_escalation</b>",
        "<th scope=row>Tax<td>$3.00",
        "<button>Approve and buy</button>",
    ] {
        assert!(html.contains(expected), "{expected} in {html}");
    }
    assert!(!html.contains("embedded.js"));

    let url = format!("{}{path}", stage.merchant.origin());
    let answer = stage.http.post(url).send().await.unwrap();
    assert_eq!(answer.status(), 303);
    let (_, _, html) = get(&stage, &path).await;
    assert!(html.contains("Your order #1001 is placed."), "{html}");
    assert_eq!(stage.merchant.orders().len(), 1);
}

#[tokio::test]
async fn the_embedded_page_pays_with_what_the_host_hands_over() {
    let stage = Stage::set().await;
    let id = to_review(&stage).await;
    let path = format!("/checkout/{id}?ec_version=2026-04-08&ec_color_scheme=dark");
    let (_, policy, html) = get(&stage, &path).await;
    assert!(policy.contains("frame-ancestors http://127.0.0.1:*"));
    assert!(html.contains("src=/embedded.js"));
    assert!(html.contains("content=\"dark\""));

    let pay = async |body: Value| {
        let url = format!("{}/checkout/{id}/pay", stage.merchant.origin());
        let request = stage
            .http
            .post(url)
            .header("content-type", "application/json");
        let answer = request.body(body.to_string()).send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    };
    let (_, declined) = pay(payment("tok_decline")).await;
    assert_eq!(declined["status"], "incomplete");
    assert_eq!(declined["messages"][0]["code"], "payment_failed");
    let (_, completed) = pay(payment("tok_ok")).await;
    assert_eq!(completed["status"], "completed");
    let contract = stage.merchant.contract();
    let found = contract.response_violations(Operation::GetCheckout, &completed);
    assert_eq!(found, [], "{completed:#}");
    assert!(completed["payment"]["instruments"][0]["credential"].is_null());
    assert_eq!(pay(json!({})).await.0, 404, "it is over");
    assert_eq!(stage.merchant.orders().len(), 1);
}

#[tokio::test]
async fn pictures_and_pages_are_served() {
    let stage = Stage::set().await;
    let search = json!({ "query": "mug" });
    let found = stage.call(Operation::SearchCatalog, "", search).await;
    let image = found.str("/products/0/media/0/url").to_owned();
    let path = image.strip_prefix(stage.merchant.origin()).unwrap();
    assert_eq!(path, "/images/prod_mug.svg");
    let (status, _, drawn) = get(&stage, path).await;
    assert_eq!(status, 200);
    assert!(drawn.contains(">SM</text>"), "{drawn}");
    for path in ["/", "/terms", "/privacy", "/page.css", "/embedded.js"] {
        assert_eq!(get(&stage, path).await.0, 200, "{path}");
    }
    for path in ["/images/none.svg", "/checkout/none", "/orders/none"] {
        assert_eq!(get(&stage, path).await.0, 404, "{path}");
    }
}
