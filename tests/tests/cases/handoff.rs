//! C112 to C135: what happens next, and what is hidden on the way. The table of all rules is with the
//! runtime (`handoff/tests/rules.rs`); here each case as a typed checkout of the generated client, and
//! the same as raw bytes.

use super::*;
use golden::*;
use ucp_runtime::handoff::{FailedReason, Next, Resolve as _, Severity, Takeover, View};
use ucp_runtime::{Handoff, Host};

const URL: &str = "https://shop.example/c/1";

/// The decision, which typed and raw agree in.
fn decide(changes: Value, host: &Host) -> Handoff {
    let body = checkout(changes);
    let typed: Checkout = read(body.clone());
    let decision = typed.handoff(host).unwrap();
    let raw = View::from_bytes(body.to_string().as_bytes()).map(|view| view.decide(host));
    assert_eq!(raw.as_ref(), Ok(&decision), "{body}");
    decision
}

fn error(severity: &str) -> Value {
    json!({ "type": "error", "code": "c", "content": "t", "severity": severity })
}

fn disclosure(presentation: &str) -> Value {
    json!({ "type": "warning", "code": "allergens", "content": "nuts", "presentation": presentation })
}

#[test]
fn c112_an_escalation_without_a_url_goes_nowhere() {
    for url in [json!(null), json!("http://shop.example/c/1"), json!("/c/1")] {
        let decision = decide(
            json!({ "status": "requires_escalation", "continue_url": url }),
            &Host::default(),
        );
        let Handoff::Failed {
            reason: FailedReason::MissingContinueUrl,
            continue_url: None,
            ..
        } = &decision
        else {
            panic!("{decision:?}")
        };
        assert!(!FailedReason::MissingContinueUrl.nothing_placed());
        assert!(decision.context().poll.is_some(), "read it again");
    }
}

#[test]
fn c113_what_can_be_fixed_is_fixed_before_the_handoff() {
    let decision = decide(
        json!({ "status": "requires_escalation", "continue_url": URL,
            "messages": [error("recoverable"), error("requires_buyer_input")] }),
        &Host::default(),
    );
    let Handoff::ContinueUrl {
        reason: Takeover::BuyerInput,
        ..
    } = &decision
    else {
        panic!("{decision:?}")
    };
    let fix = &decision.context().fix_first;
    assert_eq!(fix.len(), 1);
    assert_eq!(fix[0].severity, Some(Severity::Recoverable));
    assert_eq!(decision.blockers().len(), 2);
}

#[test]
fn c114_an_unrecoverable_error_leaves_the_way_to_the_shop_open() {
    let messages = json!([error("unrecoverable"), error("recoverable")]);
    let decision = decide(
        json!({ "continue_url": URL, "messages": messages }),
        &Host::default(),
    );
    let Handoff::Conversational {
        next: Next::Update,
        continue_url: Some(url),
        blockers,
        ..
    } = decision
    else {
        panic!("{decision:?}")
    };
    assert_eq!((url.as_str(), blockers.len()), (URL, 2));
}

#[test]
fn c116_severity_alone_calls_for_the_buyer() {
    for (severities, reason) in [
        (vec!["requires_buyer_review"], Takeover::BuyerReview),
        (
            vec!["requires_buyer_review", "requires_buyer_input"],
            Takeover::BuyerInput,
        ),
    ] {
        let messages: Vec<Value> = severities.into_iter().map(error).collect();
        let decision = decide(
            json!({ "continue_url": URL, "messages": messages }),
            &Host::default(),
        );
        assert!(
            matches!(decision, Handoff::ContinueUrl { reason: found, .. } if found == reason),
            "{decision:?}"
        );
    }
}

#[test]
fn c117_a_disclosure_is_shown_or_the_buyer_takes_over() {
    let rendering = Host::default().renders_disclosures();
    for presentation in ["disclosure", "hologram"] {
        let changes = json!({ "status": "ready_for_complete", "continue_url": URL,
            "messages": [disclosure(presentation)] });
        let decision = decide(changes.clone(), &rendering);
        assert!(
            matches!(
                decision,
                Handoff::Conversational {
                    next: Next::Complete,
                    ..
                }
            ),
            "{decision:?}"
        );
        assert_eq!(decision.context().disclosures.len(), 1);
        let decision = decide(changes, &Host::default());
        assert!(
            matches!(
                decision,
                Handoff::ContinueUrl {
                    reason: Takeover::Disclosure,
                    ..
                }
            ),
            "{decision:?}"
        );
    }
    let decision = decide(
        json!({ "status": "ready_for_complete", "continue_url": URL, "messages": [disclosure("notice")] }),
        &Host::default(),
    );
    assert!(matches!(decision, Handoff::Conversational { .. }));
    assert_eq!(decision.context().notices.len(), 1);
}

#[test]
fn c120_an_error_keeps_a_checked_way_on() {
    for (url, usable) in [(URL, true), ("http://shop.example", false)] {
        let envelope = json!({ "ucp": { "version": "2026-04-08", "status": "error" }, "continue_url": url,
            "messages": [error("requires_buyer_input")] });
        let flat = json!({ "code": "c", "content": "t", "continue_url": url });
        let decisions = [
            (View::from_value(&envelope), FailedReason::NoResource),
            (
                View::from_failure(
                    axum::http::StatusCode::UNPROCESSABLE_ENTITY,
                    flat.to_string().as_bytes(),
                ),
                FailedReason::RequestRefused,
            ),
        ];
        for (view, expected) in decisions {
            let Handoff::Failed {
                reason,
                continue_url,
                ..
            } = view.unwrap().decide(&Host::default())
            else {
                panic!()
            };
            assert_eq!(reason, expected);
            assert!(reason.nothing_placed());
            assert_eq!(continue_url.is_some(), usable);
        }
    }
}

#[test]
fn c122_after_the_buyer_took_over_the_checkout_is_read() {
    let decision = decide(
        json!({ "status": "requires_escalation", "continue_url": URL, "expires_at": "2026-04-08T10:00:00Z" }),
        &Host::default(),
    );
    let poll = decision.context().poll.unwrap();
    assert_eq!(poll.until, "2026-04-08T10:00:00Z".parse().ok());
    // A cart that is gone says nothing of an order.
    let gone = json!({ "ucp": { "version": "2026-04-08", "status": "error" },
        "messages": [{ "type": "error", "code": "not_found", "content": "gone", "severity": "unrecoverable" }] });
    let decision = View::from_value(&gone).unwrap().decide(&Host::default());
    assert!(matches!(
        decision,
        Handoff::Failed {
            reason: FailedReason::NoResource,
            ..
        }
    ));
}

#[test]
fn c123_an_invented_member_decides_nothing_and_is_kept() {
    let changes = json!({ "status": "complete_in_progress", "continue_url": URL,
        "next_action": { "redirect_url": "https://elsewhere.example" } });
    let decision = decide(changes.clone(), &Host::default());
    let Handoff::Conversational {
        next: Next::Poll,
        continue_url: Some(url),
        ..
    } = decision
    else {
        panic!("{decision:?}")
    };
    assert_eq!(url.as_str(), URL);
    round_trips::<Checkout>(&checkout(changes));
}

#[test]
fn c124_an_action_that_nobody_understands_leaves_the_url() {
    let decision = decide(
        json!({ "status": "complete_in_progress", "continue_url": URL,
            "actions": { "dev.ucp.payment.three_ds_challenge": [{ "id": "a1", "config": { "url": URL } }] } }),
        &Host::default(),
    );
    assert!(matches!(
        decision,
        Handoff::Conversational {
            next: Next::Poll,
            continue_url: Some(_),
            ..
        }
    ));
}

fn embedded(config: Value) -> Value {
    let mut binding = json!({ "version": "2026-04-08", "transport": "embedded" });
    if !config.is_null() {
        binding["config"] = config;
    }
    json!({ "version": "2026-04-08", "payment_handlers": {}, "services": { "dev.ucp.shopping": [binding] } })
}

#[test]
fn c125_only_this_answers_binding_says_that_it_can_be_embedded() {
    let host = Host::default().embeds();
    let is_embedded = |ucp: Value| {
        let decision = decide(
            json!({ "status": "requires_escalation", "continue_url": URL, "ucp": ucp }),
            &host,
        );
        assert!(matches!(
            decision,
            Handoff::Embedded { .. } | Handoff::ContinueUrl { .. }
        ));
        matches!(decision, Handoff::Embedded { .. })
    };
    assert!(!is_embedded(
        json!({ "version": "2026-04-08", "payment_handlers": {} })
    ));
    assert!(is_embedded(embedded(json!({ "delegate": [] }))));
    assert!(!is_embedded(embedded(json!({}))));
    assert!(!is_embedded(embedded(json!(null))));
}

#[test]
fn c127_what_is_delegated_is_what_both_can() {
    let host = Host::default().delegates([
        "payment.credential",
        "fulfillment.address_change",
        "payment.credential",
    ]);
    let ucp = embedded(json!({ "delegate": ["payment.credential", "window.open"] }));
    let decision = decide(
        json!({ "status": "requires_escalation", "continue_url": format!("{URL}?a=%7e#f"), "ucp": ucp }),
        &host,
    );
    let Handoff::Embedded {
        url,
        origin,
        delegates,
        ..
    } = decision
    else {
        panic!("{decision:?}")
    };
    assert_eq!(delegates, ["payment.credential"]);
    assert_eq!(origin, "https://shop.example");
    assert_eq!(
        url.as_str(),
        format!("{URL}?a=%7e&ec_version=2026-04-08&ec_delegate=payment.credential#f")
    );
}

#[test]
fn c131_c134_the_token_of_an_embedded_checkout_is_in_its_url_and_nowhere_else() {
    let host = Host::default().embeds().auth("s3cret token");
    let decision = decide(
        json!({ "status": "requires_escalation", "continue_url": URL, "ucp": embedded(json!({ "delegate": [] })) }),
        &host,
    );
    let Handoff::Embedded { url, .. } = &decision else {
        panic!("{decision:?}")
    };
    assert!(url.as_str().contains("ec_auth=s3cret%20token"));
    let shown = format!("{decision:?} {host:?}");
    assert!(!shown.contains("s3cret"), "{shown}");
    // What pays is not shown either.
    let card = SelectedPaymentInstrument::new("i", "h", "card")
        .credential(PaymentCredential::new("token").extra("token", "s3cret"));
    assert!(!format!("{card:?}").contains("s3cret"));
}

#[test]
fn c135_the_structured_content_decides() {
    let done = checkout(json!({ "status": "completed", "order": { "id": "o_1" } }));
    let failed = json!({ "ucp": { "version": "2026-04-08", "status": "error" }, "messages": [] });
    let text = |body: &Value| json!([{ "type": "text", "text": body.to_string() }]);
    let decide = |result: Value| {
        View::from_mcp_result(&result)
            .unwrap()
            .decide(&Host::default())
    };
    assert!(matches!(
        decide(json!({ "structuredContent": failed, "content": text(&done) })),
        Handoff::Failed {
            reason: FailedReason::NoResource,
            ..
        }
    ));
    assert!(matches!(
        decide(json!({ "content": text(&done) })),
        Handoff::Completed { .. }
    ));
}
