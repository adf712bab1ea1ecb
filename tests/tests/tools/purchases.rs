//! Who completes a checkout, and when.

use super::{Stage, payment, ready, stage};
use merchant::{Operation, Stimulus, Target};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use ucp_runtime::serde_json::{Value, json};
use ucp_runtime::tools::{Approval, Kind, Purchase, ToolResult, Tools};
use ucp_runtime::{Handoff, Host};

type Asked = Arc<Mutex<Vec<Purchase>>>;

/// Tools whose purchases are answered so; and what was asked.
fn tools(stage: &Stage, approval: Approval) -> (Tools, Asked) {
    let asked = Asked::default();
    let keep = asked.clone();
    let tools = stage
        .shop
        .tools()
        .host(Host::default().renders_disclosures().development())
        .provide("payment", payment())
        .approve(move |purchase| {
            keep.lock().unwrap().push(purchase);
            let approval = approval.clone();
            async move { approval }
        });
    (tools.build().unwrap(), asked)
}

async fn create(tools: &Tools) -> String {
    let result = tools
        .call_tool("create_checkout", ready(), ("c", "create"))
        .await;
    let id = result.body.as_ref().and_then(|body| body["id"].as_str());
    id.unwrap_or_else(|| panic!("{}", result.text)).to_owned()
}

async fn complete(tools: &Tools, id: &str) -> ToolResult {
    tools
        .call_tool("complete_checkout", json!({ "id": id }), ("c", "complete"))
        .await
}

#[tokio::test]
async fn an_approved_purchase_is_one_order() {
    let stage = stage().await;
    let (tools, asked) = tools(&stage, Approval::Approved);
    let id = create(&tools).await;
    let result = complete(&tools, &id).await;
    assert_eq!(
        (result.kind, result.is_error),
        (Kind::Answered, false),
        "{}",
        result.text
    );
    assert!(matches!(result.handoff, Some(Handoff::Completed { .. })));
    assert!(
        result
            .text
            .starts_with("The order is placed; `order` has its id."),
        "{}",
        result.text
    );
    {
        let asked = asked.lock().unwrap();
        let [purchase] = asked.as_slice() else {
            panic!("{asked:?}")
        };
        assert_eq!(purchase.merchant, stage.sandbox.origin());
        assert_eq!(purchase.checkout["id"], id.as_str());
        assert_eq!(purchase.checkout["status"], "ready_for_complete");
        let total = stage.sandbox.orders()[0].total();
        assert_eq!(
            purchase.total().unwrap().to_string(),
            ucp_runtime::Money::new(total, "USD").to_string()
        );
    }
    // The same call again: the same order, and nobody is asked twice.
    let again = complete(&tools, &id).await;
    assert_eq!(again.body, result.body);
    assert_eq!(asked.lock().unwrap().len(), 1);
    assert_eq!(stage.sandbox.orders().len(), 1);
}

#[tokio::test]
async fn a_declined_purchase_is_none() {
    let stage = stage().await;
    let (tools, asked) = tools(
        &stage,
        Approval::Declined {
            reason: Some("too expensive".to_owned()),
        },
    );
    let id = create(&tools).await;
    let result = complete(&tools, &id).await;
    assert_eq!((result.kind, result.is_error), (Kind::NotSent, true));
    assert!(
        result
            .text
            .starts_with("The purchase was not approved: too expensive. Nothing was ordered."),
        "{}",
        result.text
    );
    assert_eq!(asked.lock().unwrap().len(), 1);
    assert!(stage.sandbox.orders().is_empty());
    let completions = stage.sandbox.exchanges();
    assert!(!completions.iter().any(|it| it.path.ends_with("/complete")));
}

/// A buyer is asked only for what can be completed.
#[tokio::test]
async fn nobody_is_asked_for_what_is_not_ready() {
    let stage = stage().await;
    let (tools, asked) = tools(&stage, Approval::Approved);
    let arguments = json!({"body": {"line_items": [{"item": {"id": "var_mug"}, "quantity": 2}]}});
    let result = tools
        .call_tool("create_checkout", arguments, ("c", "create"))
        .await;
    let id = result.body.unwrap()["id"].as_str().unwrap().to_owned();
    let result = complete(&tools, &id).await;
    assert_eq!(result.kind, Kind::NotSent);
    assert!(
        result
            .text
            .starts_with("The checkout cannot be completed as it stands. Nothing was ordered."),
        "{}",
        result.text
    );
    assert!(matches!(
        result.handoff,
        Some(Handoff::Conversational { .. })
    ));
    assert!(asked.lock().unwrap().is_empty());
    assert!(stage.sandbox.orders().is_empty());
}

/// What changes while the buyer looks at it is not what they agreed to.
#[tokio::test]
async fn what_changed_meanwhile_is_asked_for_again() {
    let stage = stage().await;
    let sandbox = stage.sandbox.clone();
    let count = Arc::new(AtomicUsize::new(0));
    let times = count.clone();
    let tools = stage
        .shop
        .tools()
        .provide("payment", payment())
        .approve(move |_| {
            if times.fetch_add(1, Ordering::SeqCst) == 0 {
                let dearer = json!({"totals": [{"type": "total", "amount": 999_999}]});
                sandbox.script(
                    Target::Next(Operation::GetCheckout),
                    [Stimulus::Patch(dearer)],
                );
            }
            async { Approval::Approved }
        })
        .build()
        .unwrap();
    let id = create(&tools).await;
    let result = complete(&tools, &id).await;
    assert_eq!(result.kind, Kind::NotSent);
    assert!(
        result.text.starts_with(
            "The checkout changed while the buyer decided: show it again. Nothing was ordered."
        ),
        "{}",
        result.text
    );
    assert!(stage.sandbox.orders().is_empty());
    let result = complete(&tools, &id).await;
    assert_eq!(result.kind, Kind::Answered, "{}", result.text);
    assert_eq!(count.load(Ordering::SeqCst), 2);
    assert_eq!(stage.sandbox.orders().len(), 1);
}

/// A disclosure is part of what is approved.
#[tokio::test]
async fn disclosures_are_shown_to_whoever_approves() {
    let stage = stage().await;
    let (tools, asked) = tools(&stage, Approval::Approved);
    let disclosure = Stimulus::Disclosure {
        code: "prop65".to_owned(),
        content: "Contains lead.".to_owned(),
        path: "$.line_items[0]".to_owned(),
    };
    stage
        .sandbox
        .script(Target::Next(Operation::CreateCheckout), [disclosure]);
    let id = create(&tools).await;
    let result = complete(&tools, &id).await;
    assert_eq!(result.kind, Kind::Answered, "{}", result.text);
    let asked = asked.lock().unwrap();
    assert_eq!(asked[0].disclosures.len(), 1);
    assert_eq!(
        asked[0].disclosures[0].text.as_deref(),
        Some("Contains lead.")
    );
    assert_eq!(stage.sandbox.orders().len(), 1);
}

/// A completion whose answer is lost is read, not repeated.
#[tokio::test]
async fn a_lost_completion_is_found_out() {
    let stage = stage().await;
    let (tools, asked) = tools(&stage, Approval::Approved);
    let id = create(&tools).await;
    stage.sandbox.script(
        Target::Next(Operation::CompleteCheckout),
        [Stimulus::LoseAnswer],
    );
    let result = complete(&tools, &id).await;
    assert_eq!(result.kind, Kind::Answered, "{}", result.text);
    let order = result.body.as_ref().map(|body| &body["order"]["id"]);
    assert!(order.is_some_and(Value::is_string), "{}", result.text);
    assert_eq!(asked.lock().unwrap().len(), 1);
    assert_eq!(stage.sandbox.orders().len(), 1);
    let exchanges = stage.sandbox.exchanges();
    let sent = exchanges.iter().filter(|it| it.path.ends_with("/complete"));
    assert_eq!(sent.count(), 1);
}
