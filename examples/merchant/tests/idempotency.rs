//! One key, one act: repetitions, conflicts, races and lost answers.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

mod common;

use common::{Stage, mugs, payment};
use merchant::Operation::{CompleteCheckout, CreateCart, CreateCheckout, GetCheckout};
use merchant::{Stimulus, Target};
use serde_json::json;

#[tokio::test]
async fn a_repetition_gets_the_same_bytes_and_does_not_act() {
    let stage = Stage::set().await;
    let id = stage.ready().await;
    let request = stage.prepare(CompleteCheckout, &id, &payment("tok_ok"));
    let first = stage.send(&request).await;
    assert_eq!(first.body["status"], "completed");
    // Another Request-Id does not make another request.
    let again = request
        .clone()
        .with("request-id", "67e55044-10b1-426f-9247-bb680e5fe0c8");
    let second = stage.send(&again).await;
    assert_eq!((first.status, &first.bytes), (second.status, &second.bytes));
    assert_eq!(stage.merchant.orders().len(), 1);

    // Under a new key it is a new attempt, which finds the checkout completed.
    let fresh = stage.prepare(CompleteCheckout, &id, &payment("tok_ok"));
    assert_eq!(stage.send(&fresh).await.codes(), ["invalid_state"]);
    assert_eq!(stage.merchant.orders().len(), 1);
}

#[tokio::test]
async fn a_key_means_one_body_at_one_path() {
    let stage = Stage::set().await;
    let request = stage.prepare(CreateCart, "", &mugs());
    assert_eq!(stage.send(&request).await.status, 201);

    let mut other = request.clone();
    other.body.push(b' ');
    let mut elsewhere = request.clone();
    elsewhere.operation = CreateCheckout;
    // Not even the right form helps: the conflict is known before the body is read.
    let mut invalid = request.clone();
    invalid.body = b"{}".to_vec();
    for conflicting in [other, elsewhere, invalid] {
        let reply = stage.send(&conflicting).await;
        assert_eq!(reply.status, 409);
        assert_eq!(reply.body["code"], "idempotency_conflict");
    }

    // What was refused has not used its key up.
    let mut request = stage.prepare(CreateCart, "", &json!({}));
    assert_eq!(stage.send(&request).await.status, 400);
    request.body = serde_json::to_vec(&mugs()).unwrap();
    assert_eq!(stage.send(&request).await.status, 201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_requests_at_once_one_acts() {
    let stage = Stage::set().await;
    // Long enough to be checked side by side: each finds the key unused before any has acted.
    let mut body = mugs();
    let line = body["line_items"][0].clone();
    body["line_items"] = json!(vec![line; 1000]);
    let request = stage.prepare(CreateCart, "", &body);
    stage.call(CreateCart, "", mugs()).await; // the agent is known from here on
    let (a, b, c, d) = tokio::join!(
        stage.send(&request),
        stage.send(&request),
        stage.send(&request),
        stage.send(&request)
    );
    assert_eq!(a.status, 201);
    assert!([b, c, d].iter().all(|reply| reply.bytes == a.bytes));
}

#[tokio::test]
async fn a_lost_answer_is_there_for_the_same_request() {
    let stage = Stage::set().await;
    let id = stage.ready().await;
    let next = Target::Next(CompleteCheckout);
    stage.merchant.script(next, [Stimulus::LoseAnswer]);
    let request = stage.prepare(CompleteCheckout, &id, &payment("tok_ok"));
    assert_eq!(stage.send(&request).await.status, 502);
    assert_eq!(stage.merchant.orders().len(), 1);
    let read = stage.call(GetCheckout, &id, json!(null)).await;
    assert_eq!(read.body["status"], "completed");
    let second = stage.send(&request).await;
    assert_eq!(second.body, read.body);
    assert_eq!(stage.merchant.orders().len(), 1);
}

#[tokio::test]
async fn what_was_sent_and_answered_is_on_record() {
    let stage = Stage::set().await;
    let request = stage.prepare(CreateCart, "", &mugs());
    let reply = stage.send(&request).await;
    let refused = stage.send(&request.clone().without("ucp-agent")).await;
    let record = stage.merchant.exchanges();
    assert_eq!(record.len(), 2);
    assert_eq!(record[0].method, "POST");
    assert_eq!(record[0].path, "/ucp/v1/carts");
    assert_eq!(record[0].body, request.body);
    assert_eq!(record[0].status, 201);
    assert_eq!(record[0].answer, reply.bytes);
    let agent = format!("profile=\"{}\"", stage.profile);
    assert_eq!(record[0].headers["ucp-agent"], agent.as_str());
    assert_eq!((record[1].status, &record[1].answer), (400, &refused.bytes));
}
