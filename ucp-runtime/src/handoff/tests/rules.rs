//! The rules as a table: a row for each rule and case.

use super::*;

#[test]
fn each_rule() {
    let plain = Host::default();
    let disclosing = Host::default().renders_disclosures();
    let embedding = Host::default().embeds();
    let developing = Host::default().development();
    let disclosure = json!({"type": "warning", "content": "nuts", "presentation": "disclosure"});
    let unknown_presentation =
        json!({"type": "warning", "content": "?", "presentation": "hologram"});
    let notice = json!({"type": "warning", "content": "n"});
    let no_severity = json!({"type": "error", "content": "Card declined"});
    let rows: Vec<(&str, Value, &Host, String)> = vec![
        (
            "1",
            checkout("completed", json!({"order": {"id": "o_1"}})),
            &plain,
            "Completed Some(\"o_1\")".into(),
        ),
        (
            "1: no order",
            checkout("completed", json!({})),
            &plain,
            "Completed None".into(),
        ),
        (
            "1: before all else",
            json!({"status": "completed", "ucp": {"status": "error"}, "continue_url": URL,
                "messages": [error("requires_buyer_input"), disclosure]}),
            &plain,
            "Completed None".into(),
        ),
        (
            "2",
            checkout(
                "canceled",
                json!({"continue_url": URL, "messages": [error("recoverable")]}),
            ),
            &plain,
            "Canceled".into(),
        ),
        (
            "3 (C14, C120): an envelope without a resource",
            json!({"ucp": {"version": "2026-04-08", "status": "error"}, "continue_url": URL,
                "messages": [error("unrecoverable")], "request_id": "r-1"}),
            &plain,
            format!("Failed NoResource {URL}"),
        ),
        (
            "3: with a resource, whatever its severities",
            json!({"ucp": {"version": "2026-04-08", "status": "error"}, "id": "co_1", "line_items": [],
                "status": "requires_escalation", "messages": [error("requires_buyer_input")]}),
            &plain,
            "Failed NoResource".into(),
        ),
        (
            "3: the URL is checked here too",
            json!({"ucp": {"status": "error"}, "continue_url": "http://m.example"}),
            &plain,
            "Failed NoResource".into(),
        ),
        (
            "4: by status",
            checkout("requires_escalation", json!({"continue_url": URL})),
            &plain,
            format!("ContinueUrl {URL} Escalation"),
        ),
        (
            "4 (C116): by severity alone, input before review",
            checkout(
                "incomplete",
                json!({"continue_url": URL, "messages": [error("requires_buyer_review"), error("requires_buyer_input")]}),
            ),
            &plain,
            format!("ContinueUrl {URL} BuyerInput"),
        ),
        (
            "4: by severity while ready",
            checkout(
                "ready_for_complete",
                json!({"continue_url": URL, "messages": [error("requires_buyer_review")]}),
            ),
            &plain,
            format!("ContinueUrl {URL} BuyerReview"),
        ),
        (
            "4: by severity in a status not known",
            checkout(
                "on_hold",
                json!({"continue_url": URL, "messages": [error("requires_buyer_review")]}),
            ),
            &plain,
            format!("ContinueUrl {URL} BuyerReview"),
        ),
        (
            "4: by severity while in progress",
            checkout(
                "complete_in_progress",
                json!({"continue_url": URL, "messages": [error("requires_buyer_input")]}),
            ),
            &plain,
            format!("ContinueUrl {URL} BuyerInput"),
        ),
        (
            "4 (C113): also with errors to fix first",
            checkout(
                "requires_escalation",
                json!({"continue_url": URL, "messages": [error("recoverable"), error("requires_buyer_input")]}),
            ),
            &plain,
            format!("ContinueUrl {URL} BuyerInput"),
        ),
        (
            "not 4: the severity of what is no error",
            checkout(
                "incomplete",
                json!({"continue_url": URL, "messages": [{"type": "info", "content": "i", "severity": "requires_buyer_input"}]}),
            ),
            &plain,
            "Update".into(),
        ),
        (
            "4: an error that forgot its type",
            checkout(
                "incomplete",
                json!({"continue_url": URL, "messages": [{"message": "m", "severity": "requires_buyer_input"}]}),
            ),
            &plain,
            format!("ContinueUrl {URL} BuyerInput"),
        ),
        (
            "4b (C117): a disclosure that the host does not render",
            checkout(
                "ready_for_complete",
                json!({"continue_url": URL, "messages": [disclosure]}),
            ),
            &plain,
            format!("ContinueUrl {URL} Disclosure"),
        ),
        (
            "9 (C117): a disclosure that it renders",
            checkout(
                "ready_for_complete",
                json!({"continue_url": URL, "messages": [disclosure]}),
            ),
            &disclosing,
            "Complete".into(),
        ),
        (
            "4b: a presentation not known",
            checkout(
                "ready_for_complete",
                json!({"continue_url": URL, "messages": [unknown_presentation]}),
            ),
            &plain,
            format!("ContinueUrl {URL} Disclosure"),
        ),
        (
            "9: a notice",
            checkout(
                "ready_for_complete",
                json!({"continue_url": URL, "messages": [notice]}),
            ),
            &plain,
            "Complete".into(),
        ),
        (
            "4b, 7: a disclosure and no URL",
            checkout("ready_for_complete", json!({"messages": [disclosure]})),
            &plain,
            "Failed MissingContinueUrl".into(),
        ),
        (
            "4b (C37): an error without a severity and a URL",
            checkout(
                "incomplete",
                json!({"continue_url": URL, "messages": [no_severity]}),
            ),
            &plain,
            format!("ContinueUrl {URL} UnknownSeverity"),
        ),
        (
            "4b: a severity not known and a URL",
            checkout(
                "ready_for_complete",
                json!({"continue_url": URL, "messages": [error("fatal")]}),
            ),
            &plain,
            format!("ContinueUrl {URL} UnknownSeverity"),
        ),
        (
            "10: an error without a severity and no URL",
            checkout("incomplete", json!({"messages": [no_severity]})),
            &plain,
            "Update".into(),
        ),
        (
            "10: an error without a severity and an unusable URL",
            checkout(
                "incomplete",
                json!({"continue_url": "http://m.example", "messages": [no_severity]}),
            ),
            &plain,
            "Update".into(),
        ),
        (
            "5",
            checkout(
                "requires_escalation",
                json!({"continue_url": URL, "ucp": embedded(json!({"delegate": []}))}),
            ),
            &embedding,
            format!("Embedded {URL}?ec_version=2026-04-08 Escalation"),
        ),
        (
            "6 (C125): the response carries no embedded binding",
            checkout("requires_escalation", json!({"continue_url": URL})),
            &embedding,
            format!("ContinueUrl {URL} Escalation"),
        ),
        (
            "6 (C125): a binding without a list of delegates",
            checkout(
                "requires_escalation",
                json!({"continue_url": URL, "ucp": embedded(json!({}))}),
            ),
            &embedding,
            format!("ContinueUrl {URL} Escalation"),
        ),
        (
            "6: a binding printed by PHP",
            checkout(
                "requires_escalation",
                json!({"continue_url": URL, "ucp": embedded(json!([]))}),
            ),
            &embedding,
            format!("ContinueUrl {URL} Escalation"),
        ),
        (
            "6: the single object of 2026-01-11 says nothing of this checkout",
            checkout(
                "requires_escalation",
                json!({"continue_url": URL, "ucp": {"version": "2026-01-11",
                "services": {"dev.ucp.shopping": {"embedded": {"schema": "https://x.example"}}}}}),
            ),
            &embedding,
            format!("ContinueUrl {URL} Escalation"),
        ),
        (
            "6: the host does not embed",
            checkout(
                "requires_escalation",
                json!({"continue_url": URL, "ucp": embedded(json!({"delegate": []}))}),
            ),
            &plain,
            format!("ContinueUrl {URL} Escalation"),
        ),
        (
            "6: no version to embed with",
            {
                let mut ucp = embedded(json!({"delegate": []}));
                ucp.as_object_mut().unwrap().remove("version");
                checkout(
                    "requires_escalation",
                    json!({"continue_url": URL, "ucp": ucp}),
                )
            },
            &embedding,
            format!("ContinueUrl {URL} Escalation"),
        ),
        (
            "6: http on loopback, in development",
            checkout(
                "requires_escalation",
                json!({"continue_url": "http://127.0.0.1:9/c"}),
            ),
            &developing,
            "ContinueUrl http://127.0.0.1:9/c Escalation".into(),
        ),
        (
            "7: http on loopback, otherwise",
            checkout(
                "requires_escalation",
                json!({"continue_url": "http://127.0.0.1:9/c"}),
            ),
            &plain,
            "Failed MissingContinueUrl".into(),
        ),
        (
            "7 (C112)",
            checkout("requires_escalation", json!({})),
            &plain,
            "Failed MissingContinueUrl".into(),
        ),
        (
            "7: not even for a binding",
            checkout(
                "requires_escalation",
                json!({"continue_url": "https://u@m.example", "ucp": embedded(json!({"delegate": []}))}),
            ),
            &embedding,
            "Failed MissingContinueUrl".into(),
        ),
        (
            "8 (C57, C123, C124)",
            checkout(
                "complete_in_progress",
                json!({"continue_url": URL, "expires_at": "2026-04-08T10:00:00.000+02:00",
                "next_action": {"redirect_url": URL}, "actions": {"dev.ucp.payment.three_ds_challenge": [{"id": "a1"}]}}),
            ),
            &plain,
            "Poll until 2026-04-08T08:00:00Z".into(),
        ),
        (
            "9",
            checkout("ready_for_complete", json!({"continue_url": URL})),
            &embedding,
            "Complete".into(),
        ),
        (
            "10",
            checkout("incomplete", json!({"continue_url": URL})),
            &plain,
            "Update".into(),
        ),
        (
            "10: all errors unrecoverable",
            checkout(
                "incomplete",
                json!({"continue_url": URL, "messages": [error("unrecoverable")]}),
            ),
            &plain,
            "Update".into(),
        ),
        (
            "10 (C114): unrecoverable and recoverable",
            checkout(
                "incomplete",
                json!({"messages": [error("unrecoverable"), error("recoverable")]}),
            ),
            &plain,
            "Update".into(),
        ),
        (
            "10: a date is no expiry (C25)",
            checkout("incomplete", json!({"expires_at": "2026-04-08"})),
            &plain,
            "Update".into(),
        ),
        (
            "11 (C27)",
            checkout("open", json!({"continue_url": URL})),
            &embedding,
            format!("ContinueUrl {URL} UnknownStatus"),
        ),
        (
            "11: no URL",
            checkout("open", json!({})),
            &plain,
            "Failed UnknownStatus".into(),
        ),
        (
            "11: a cart has no status, and a place to go on",
            json!({"ucp": {"version": "2026-04-08"}, "id": "ca_1", "continue_url": URL}),
            &plain,
            format!("ContinueUrl {URL} UnknownStatus"),
        ),
        (
            "4: a negotiation failure of January has no envelope",
            json!({"status": "requires_escalation", "continue_url": URL,
                "messages": [{"type": "error", "code": "version_unsupported", "message": "m", "severity": "requires_buyer_input"}]}),
            &plain,
            format!("ContinueUrl {URL} BuyerInput"),
        ),
    ];
    for (rule, body, host, expected) in rows {
        let handoff = View::from_value(&body)
            .unwrap_or_else(|_| panic!("{rule}"))
            .decide(host);
        assert_eq!(line(&handoff), expected, "{rule}");
    }
}

#[test]
fn bodies_that_decide_nothing() {
    for body in [
        json!(null),
        json!([]),
        json!("completed"),
        json!({}),
        json!({"status": "shipped"}),
        json!({"status": 200, "title": "OK"}),
        json!({"detail": "not found"}),
        json!({"code": "c", "content": "t"}),
        json!({"ucp": {"version": "2026-04-08"}, "products": []}),
        json!({"products": [], "pagination": {}}),
    ] {
        assert_eq!(View::from_value(&body), Err(NotUcp), "{body}");
    }
    assert_eq!(View::from_bytes(b"<html>"), Err(NotUcp));
    assert_eq!(View::from_bytes(b""), Err(NotUcp));
}

#[test]
fn failed_answers() {
    let flat = json!({"code": "version_unsupported", "content": "t", "continue_url": URL});
    let envelope = json!({"ucp": {"version": "2026-04-08", "status": "error"}, "messages": []});
    let decide = |status: u16, body: &Value| {
        View::from_failure(
            StatusCode::from_u16(status).unwrap(),
            body.to_string().as_bytes(),
        )
        .map(|view| line(&view.decide(&Host::default())))
    };
    for status in [400, 402, 404, 410, 422, 424, 451] {
        assert_eq!(
            decide(status, &flat).unwrap(),
            format!("Failed RequestRefused {URL}")
        );
        assert_eq!(decide(status, &envelope).unwrap(), "Failed NoResource");
        assert_eq!(
            decide(status, &checkout("incomplete", json!({}))).unwrap(),
            "Update"
        );
        for shapeless in [
            json!({"detail": "d", "code": "c"}),
            json!({"error": "e"}),
            json!([]),
        ] {
            assert_eq!(decide(status, &shapeless), Err(NotUcp));
        }
    }
    for status in [301, 304, 401, 403, 408, 409, 425, 429, 500, 502, 503, 504] {
        for body in [&flat, &envelope, &checkout("completed", json!({}))] {
            assert_eq!(decide(status, body), Err(NotUcp), "{status}");
        }
    }
}
