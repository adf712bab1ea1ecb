//! Each stimulus, in process and over HTTP.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

mod common;

use common::{Stage, mugs, mugs_ready, payment};
use merchant::Operation::{
    CompleteCheckout, CreateCart, CreateCheckout, GetCheckout, SearchCatalog, UpdateCheckout,
};
use merchant::{Severity, Stimulus, Target};
use serde_json::{Value, json};

fn error(severity: Severity) -> Stimulus {
    Stimulus::Error {
        severity,
        code: "scripted".to_owned(),
        content: "As the script has it.".to_owned(),
        path: Some("$.buyer".to_owned()),
    }
}

#[tokio::test]
async fn errors_the_platform_can_act_on_go_with_the_next_update() {
    for severity in [Severity::Recoverable, Severity::Unrecoverable] {
        let stage = Stage::set().await;
        stage
            .merchant
            .script(Target::Next(CreateCheckout), [error(severity)]);
        let created = stage.call(CreateCheckout, "", mugs_ready()).await;
        assert_eq!(created.body["status"], "incomplete");
        assert_eq!(created.codes(), ["scripted"]);
        assert_eq!(created.body["messages"][0]["severity"], json!(severity));
        let id = created.str("/id");
        let completed = stage.complete(id).await;
        assert_eq!(completed.body["status"], "incomplete");
        let mut update = mugs_ready();
        update["fulfillment"]["methods"][0]["line_item_ids"] = json!(["li_1"]);
        update["line_items"][0]["id"] = json!("li_1");
        let group = json!([{ "id": "method_1_group", "selected_option_id": "standard" }]);
        update["fulfillment"]["methods"][0]["groups"] = group;
        let updated = stage.call(UpdateCheckout, id, update).await;
        assert_eq!(
            updated.body["status"], "ready_for_complete",
            "{:#}",
            updated.body
        );
    }
}

#[tokio::test]
async fn errors_that_need_the_buyer_escalate_until_the_buyer_approves() {
    for severity in [Severity::RequiresBuyerInput, Severity::RequiresBuyerReview] {
        let stage = Stage::set().await;
        let id = stage.ready().await;
        stage
            .merchant
            .script(Target::Session(id.clone()), [error(severity)]);
        let escalated = stage.complete(&id).await;
        // It waits for an answer about the session, and so strikes here.
        assert_eq!(escalated.body["status"], "requires_escalation");
        assert_eq!(escalated.codes(), ["scripted"]);
        let url = escalated.str("/continue_url");

        let page = stage.http.get(url).send().await.unwrap();
        let page = page.text().await.unwrap();
        assert!(
            page.contains("requires_escalation") && page.contains("$37.98"),
            "{page}"
        );
        let approved = stage.http.post(url).send().await.unwrap();
        assert_eq!(approved.status(), 303);
        let read = stage.call(GetCheckout, &id, json!(null)).await;
        if severity == Severity::RequiresBuyerInput {
            // An answer was all that was missing: placing the order is the platform's again.
            assert_eq!(read.body["status"], "ready_for_complete");
            assert_eq!(stage.merchant.orders().len(), 0);
            let completed = stage.complete(&id).await;
            assert_eq!(completed.body["status"], "completed");
        } else {
            assert_eq!(read.body["status"], "completed");
        }
        assert_eq!(stage.merchant.orders().len(), 1);
        assert_eq!(stage.webhook().await.json()["checkout_id"], *id);
        assert!(!stage.merchant.approve(&id));
    }
}

#[tokio::test]
async fn approving_an_unfinished_checkout_returns_it_to_the_platform() {
    let stage = Stage::set().await;
    let review = error(Severity::RequiresBuyerReview);
    stage
        .merchant
        .script(Target::Next(CreateCheckout), [review]);
    let created = stage.call(CreateCheckout, "", mugs()).await;
    assert_eq!(created.body["status"], "requires_escalation");
    let id = created.str("/id");
    assert!(stage.merchant.approve(id));
    let read = stage.call(GetCheckout, id, json!(null)).await;
    assert_eq!(read.body["status"], "incomplete");
    assert_eq!(
        read.codes(),
        ["missing", "fulfillment_destination_required"]
    );
}

#[tokio::test]
async fn an_embedded_binding_and_a_disclosure_come_together() {
    let stage = Stage::set().await;
    let embedded = Stimulus::Embedded {
        delegate: vec!["payment.credential".to_owned()],
        color_scheme: vec!["light".to_owned(), "dark".to_owned()],
    };
    let disclosure = Stimulus::Disclosure {
        code: "prop65".to_owned(),
        content: "Contains lead.".to_owned(),
        path: "$.line_items[0]".to_owned(),
    };
    stage
        .merchant
        .script(Target::Next(CreateCheckout), [embedded, disclosure]);
    let created = stage.call(CreateCheckout, "", mugs_ready()).await;
    let binding = &created.body["ucp"]["services"]["dev.ucp.shopping"][0];
    assert_eq!(binding["transport"], "embedded");
    assert_eq!(
        binding["config"],
        json!({ "delegate": ["payment.credential"], "color_scheme": ["light", "dark"] })
    );
    assert_eq!(created.body["messages"][0]["presentation"], "disclosure");
    // A warning does not hinder.
    assert_eq!(created.body["status"], "ready_for_complete");
    let next = stage.call(CreateCheckout, "", mugs_ready()).await;
    assert_eq!(next.body["ucp"]["services"], Value::Null);
}

#[tokio::test]
async fn stock_runs_out_in_one_session() {
    let stage = Stage::set().await;
    let sold_out = Stimulus::OutOfStock {
        item: "var_mug".to_owned(),
    };
    stage.merchant.script(Target::Next(CreateCart), [sold_out]);
    let cart = stage.call(CreateCart, "", mugs()).await;
    assert_eq!(cart.codes(), ["out_of_stock"]);
    let other = stage.call(CreateCart, "", mugs()).await;
    assert!(other.codes().is_empty());
}

#[tokio::test]
async fn completion_takes_its_reads() {
    let stage = Stage::set().await;
    let id = stage.ready().await;
    let slow = Stimulus::CompleteInProgress { reads: 2 };
    stage
        .merchant
        .script(Target::Next(CompleteCheckout), [slow]);
    let accepted = stage.complete(&id).await;
    assert_eq!(accepted.body["status"], "complete_in_progress");
    assert_eq!(accepted.body["order"], Value::Null);
    // No second attempt, no change meanwhile.
    let again = stage.complete(&id).await;
    assert_eq!(again.body["status"], "complete_in_progress");
    assert_eq!(again.codes(), ["invalid_state"]);
    let changed = stage.call(UpdateCheckout, &id, mugs()).await;
    assert_eq!(changed.codes(), ["invalid_state"]);
    for expected in [
        "complete_in_progress",
        "complete_in_progress",
        "completed",
        "completed",
    ] {
        let read = stage.call(GetCheckout, &id, json!(null)).await;
        assert_eq!(read.body["status"], expected);
    }
    assert_eq!(stage.merchant.orders().len(), 1);
}

#[tokio::test]
async fn answers_can_be_bent_one_at_a_time() {
    let stage = Stage::set().await;
    let next = Target::Next(SearchCatalog);
    let refuse = Stimulus::Refuse {
        status: 503,
        code: "unavailable".to_owned(),
        retry_after: Some(2),
    };
    let envelope = Stimulus::Envelope {
        code: "region_restricted".to_owned(),
        content: "Not there.".to_owned(),
        continue_url: true,
    };
    let patch = Stimulus::Patch(json!({ "products": null, "extra": { "a": 1 } }));
    for stimulus in [refuse, envelope, patch] {
        stage.merchant.script(next.clone(), [stimulus]);
    }
    let request = stage.prepare(SearchCatalog, "", &json!({}));
    let refused = stage.send(&request).await;
    assert_eq!(
        (refused.status, &refused.body["code"]),
        (503, &json!("unavailable"))
    );
    assert_eq!(refused.headers["retry-after"], "2");
    let envelope = stage.call(SearchCatalog, "", json!({})).await;
    assert_eq!(envelope.codes(), ["region_restricted"]);
    assert_eq!(
        envelope.str("/continue_url"),
        format!("{}/", stage.merchant.origin())
    );
    let patched = stage.send(&request).await;
    assert_eq!(patched.body["extra"]["a"], 1);
    assert!(patched.body.get("products").is_none());
    let plain = stage.call(SearchCatalog, "", json!({})).await;
    assert_eq!(plain.body["products"].as_array().unwrap().len(), 10);
}

#[tokio::test]
async fn a_refused_call_can_be_repeated_under_its_key() {
    let stage = Stage::set().await;
    let id = stage.ready().await;
    let refuse = Stimulus::Refuse {
        status: 429,
        code: "slow_down".to_owned(),
        retry_after: None,
    };
    stage
        .merchant
        .script(Target::Next(CompleteCheckout), [refuse]);
    let request = stage.prepare(CompleteCheckout, &id, &payment("tok_ok"));
    assert_eq!(stage.send(&request).await.status, 429);
    assert!(stage.merchant.orders().is_empty());
    assert_eq!(stage.send(&request).await.body["status"], "completed");
}

#[tokio::test]
async fn the_script_can_be_written_over_http() {
    let stage = Stage::set().await;
    let origin = stage.merchant.origin().to_owned();
    let post = async |path: &str, body: Value| {
        stage
            .http
            .post(format!("{origin}{path}"))
            .header("content-type", "application/json")
            .body(body.to_string())
            .send()
            .await
            .unwrap()
            .status()
            .as_u16()
    };
    let cue = json!({
        "target": { "next": "create_checkout" },
        "stimuli": [
            { "error": { "severity": "requires_buyer_review", "code": "high_value_order" } },
            { "complete_in_progress": { "reads": 1 } },
        ],
    });
    assert_eq!(post("/sandbox/script", cue).await, 204);
    let created = stage.call(CreateCheckout, "", mugs_ready()).await;
    assert_eq!(created.codes(), ["high_value_order"]);
    let id = created.str("/id");
    let lose = json!({ "target": { "session": id }, "stimuli": ["lose_answer"] });
    assert_eq!(post("/sandbox/script", lose).await, 204);
    let lost = stage
        .send(&stage.prepare(GetCheckout, id, &json!(null)))
        .await;
    assert_eq!(lost.status, 502);

    assert_eq!(
        post(&format!("/sandbox/checkouts/{id}/approve"), json!({})).await,
        204
    );
    let placed = stage.webhook().await.json();
    let order = placed["id"].as_str().unwrap();
    assert_eq!(
        post(&format!("/sandbox/orders/{order}/ship"), json!({})).await,
        204
    );
    assert_eq!(
        stage.webhook().await.json()["line_items"][0]["status"],
        "fulfilled"
    );
    assert_eq!(post("/sandbox/orders/nowhere/ship", json!({})).await, 404);

    let orders = stage.http.get(format!("{origin}/sandbox/orders"));
    let orders: Value =
        serde_json::from_slice(&orders.send().await.unwrap().bytes().await.unwrap()).unwrap();
    assert_eq!(orders[0]["id"], order);

    let stock = stage.http.put(format!("{origin}/sandbox/stock/var_mug"));
    let stock = stock.header("content-type", "application/json").body("1");
    assert_eq!(stock.send().await.unwrap().status(), 204);
    let short = stage.call(CreateCheckout, "", mugs_ready()).await;
    assert_eq!(short.codes(), ["out_of_stock"]);
}
