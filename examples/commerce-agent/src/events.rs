//! What the events of a conversation mean, and the conversation that a model sees in them.
//!
//! | kind | body | |
//! |---|---|---|
//! | `buyer` | `text` | an input: the buyer said so |
//! | `outcome` | `what`, `checkout`, … | an input: `placed`, `canceled`, `declined`, `skipped` or `signed_in` |
//! | `step` | | the model begins an answer; its `seq` is the step's number |
//! | `text` | `step`, `delta` | the model says so |
//! | `restarted` | `step` | what the model said in this step counts no longer |
//! | `tool_call` | `step`, `name`, `arguments` | the model calls a tool |
//! | `tool_result` | `call`, `name`, `error`, `text`, `body` | what came of it; `call` is the call's `seq` |
//! | `screen` | `checkout` | a checkout is to be shown anew |
//! | `order` | `order` | an order is to be shown anew |
//! | `sign_in` | `id` | the shop wants the buyer to sign in |
//! | `done` | | the turn is over |
//! | `error` | `text` | the turn is over without an answer |

use crate::model::{Message, ToolCall};
use crate::store::Event;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Whether an event is something that the model has to answer.
pub(crate) fn is_input(event: &Event) -> bool {
    ["buyer", "outcome"].contains(&event.kind.as_str())
}

/// What the page is told of an event. A tool's result stays here save what it shows of it: the page
/// asks for checkouts and orders by their ids.
pub(crate) fn shown(event: &Event) -> Value {
    let mut shown = json!(event);
    if let ("tool_result", Some(Value::Object(body))) = (event.kind.as_str(), shown.get_mut("body"))
    {
        body.retain(|name, _| ["call", "name", "error"].contains(&name.as_str()));
        if let Some(products) = event.body.pointer("/body/products") {
            body.insert("products".to_owned(), crate::screen::products(products));
        }
    }
    shown
}

/// Where a conversation stands.
#[derive(Debug, PartialEq)]
pub(crate) enum Stand {
    /// All inputs are answered.
    Answered,
    /// Tools were called that gave no result yet: `(seq, name, arguments)`.
    Calls(Vec<(i64, String, Value)>),
    /// The model is to speak.
    Speak {
        /// The last input that its answer will take account of.
        upto: i64,
        /// The answer that was begun and broke off: its step, and what it said.
        begun: Option<(i64, String)>,
        /// How many answers there were since the first input that is not answered.
        steps: usize,
    },
}

/// Reads where a conversation stands, from its events and its cursor.
pub(crate) fn stand(events: &[Event], cursor: i64) -> Stand {
    let inputs = || events.iter().filter(|event| is_input(event));
    let Some(upto) = inputs()
        .map(|event| event.seq)
        .filter(|seq| *seq > cursor)
        .max()
    else {
        return Stand::Answered;
    };
    let mut open: BTreeMap<i64, (String, Value)> = BTreeMap::new();
    let mut begun: Option<(i64, String)> = None;
    let mut steps = 0;
    for event in events {
        let body = &event.body;
        match event.kind.as_str() {
            "step" => {
                begun = Some((event.seq, String::new()));
                steps += usize::from(event.seq > cursor);
            }
            "text" => {
                if let Some((_, said)) = &mut begun {
                    said.push_str(body["delta"].as_str().unwrap_or_default());
                }
            }
            "restarted" => {
                if let Some((_, said)) = &mut begun {
                    said.clear();
                }
            }
            "tool_call" => {
                begun = None;
                let name = body["name"].as_str().unwrap_or_default().to_owned();
                open.insert(event.seq, (name, body["arguments"].clone()));
            }
            "tool_result" => {
                open.remove(&body["call"].as_i64().unwrap_or(0));
            }
            "done" | "error" => begun = None,
            _ => {}
        }
    }
    if open.is_empty() {
        return Stand::Speak { upto, begun, steps };
    }
    let call = |(seq, (name, arguments))| (seq, name, arguments);
    Stand::Calls(open.into_iter().map(call).collect())
}

/// The id of a tool's call, for the model.
fn call_id(seq: i64) -> String {
    format!("call_{seq}")
}

/// The conversation as a model sees it, without an answer that broke off.
pub(crate) fn history(events: &[Event], broken: Option<i64>) -> Vec<Message> {
    let mut history = Vec::new();
    // A result follows its call at once, whatever came in between.
    let mut waiting = Vec::new();
    let mut open = 0;
    for event in events {
        let body = &event.body;
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        let of_broken = broken.is_some() && body["step"].as_i64() == broken;
        match event.kind.as_str() {
            "buyer" => waiting.push(Message::Buyer(text("text"))),
            "outcome" => waiting.push(Message::Note {
                text: note(body),
                outcome: body.clone(),
            }),
            "step" if Some(event.seq) != broken => {
                history.append(&mut waiting);
                history.push(Message::Assistant {
                    text: String::new(),
                    calls: Vec::new(),
                });
            }
            "text" if !of_broken => {
                if let Some(Message::Assistant { text: said, .. }) = history.last_mut() {
                    said.push_str(&text("delta"));
                }
            }
            "restarted" if !of_broken => {
                if let Some(Message::Assistant { text: said, .. }) = history.last_mut() {
                    said.clear();
                }
            }
            "tool_call" => {
                open += 1;
                if let Some(Message::Assistant { calls, .. }) = history.last_mut() {
                    calls.push(ToolCall {
                        id: call_id(event.seq),
                        name: text("name"),
                        arguments: body["arguments"].clone(),
                    });
                }
            }
            "tool_result" => {
                open -= 1;
                history.push(Message::Tool {
                    id: call_id(body["call"].as_i64().unwrap_or(0)),
                    name: text("name"),
                    text: text("text"),
                    body: body["body"].clone(),
                });
            }
            _ => {}
        }
        if open == 0 && !matches!(event.kind.as_str(), "step" | "text") {
            history.append(&mut waiting);
        }
    }
    history.append(&mut waiting);
    history
}

/// What happened, in words for a model.
fn note(outcome: &Value) -> String {
    let checkout = outcome["checkout"].as_str().unwrap_or_default();
    match outcome["what"].as_str().unwrap_or_default() {
        "placed" => format!(
            "The buyer placed the order {} (id {}) from checkout {checkout}.",
            outcome["label"].as_str().unwrap_or_default(),
            outcome["order"].as_str().unwrap_or_default(),
        ),
        "canceled" => format!("The checkout {checkout} is canceled; nothing was ordered."),
        "declined" => format!("The buyer does not want to place the order of checkout {checkout}."),
        "skipped" => {
            "The buyer does not want to sign in at the shop: go on without that.".to_owned()
        }
        "signed_in" => {
            "The buyer signed in at the shop: call again what it refused before.".to_owned()
        }
        other => format!("This happened: {other}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(kinds: &[(&str, Value)]) -> Vec<Event> {
        let event = |(index, (kind, body)): (usize, &(&str, Value))| Event {
            seq: index as i64 + 1,
            kind: (*kind).to_owned(),
            body: body.clone(),
        };
        kinds.iter().enumerate().map(event).collect()
    }

    fn turn() -> Vec<(&'static str, Value)> {
        vec![
            ("buyer", json!({ "text": "mugs" })),
            ("step", json!({})),
            ("text", json!({ "step": 2, "delta": "Let me " })),
            ("text", json!({ "step": 2, "delta": "see." })),
            (
                "tool_call",
                json!({ "step": 2, "name": "search_catalog", "arguments": { "query": "mug" } }),
            ),
            (
                "tool_result",
                json!({ "call": 5, "name": "search_catalog", "text": "one", "body": 1 }),
            ),
            ("step", json!({})),
            ("text", json!({ "step": 7, "delta": "One" })),
            ("done", json!({})),
        ]
    }

    #[test]
    fn a_turn_goes_on_wherever_it_was_left() {
        let all = turn();
        let standing = |length: usize| stand(&events(&all[..length]), 0);
        let speak = |begun: Option<(i64, &str)>, steps| Stand::Speak {
            upto: 1,
            begun: begun.map(|(step, said)| (step, said.to_owned())),
            steps,
        };
        assert_eq!(standing(0), Stand::Answered);
        assert_eq!(standing(1), speak(None, 0));
        assert_eq!(standing(2), speak(Some((2, "")), 1));
        assert_eq!(standing(4), speak(Some((2, "Let me see.")), 1));
        let call = (5, "search_catalog".to_owned(), json!({ "query": "mug" }));
        assert_eq!(standing(5), Stand::Calls(vec![call]));
        assert_eq!(standing(6), speak(None, 1));
        assert_eq!(standing(8), speak(Some((7, "One")), 2));
        assert_eq!(stand(&events(&all), 1), Stand::Answered);
    }

    #[test]
    fn a_model_sees_whole_answers_and_results_beside_their_calls() {
        let mut all = turn();
        // The buyer goes on talking while the tool is at work.
        all.insert(5, ("buyer", json!({ "text": "blue ones" })));
        let events = events(&all[..9]);
        let history = history(&events, Some(8));
        assert_eq!(
            history,
            [
                Message::Buyer("mugs".into()),
                Message::Assistant {
                    text: "Let me see.".into(),
                    calls: vec![ToolCall {
                        id: "call_5".into(),
                        name: "search_catalog".into(),
                        arguments: json!({ "query": "mug" }),
                    }],
                },
                Message::Tool {
                    id: "call_5".into(),
                    name: "search_catalog".into(),
                    text: "one".into(),
                    body: json!(1),
                },
                Message::Buyer("blue ones".into()),
            ]
        );
    }

    #[test]
    fn the_page_is_not_told_what_the_shop_answered() {
        let body = json!({ "call": 1, "name": "get_checkout", "error": false, "text": "t", "body": { "id": "x" } });
        let shown = shown(&events(&[("tool_result", body)])[0]);
        assert_eq!(
            shown["body"],
            json!({ "call": 1, "name": "get_checkout", "error": false })
        );
    }
}
