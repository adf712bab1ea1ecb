//! A model that needs no account: a few rules, good enough to shop with. The same conversation always
//! gets the same answer.

use super::{Message, Model, Prompt, ToolCall};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::mpsc;
use ucp_runtime::{BoxError, BoxFuture, Money};

/// A model of rules. It looks for words: “search mugs”, “buy the first”, “2 x Desk Lamp”, “add a
/// kettle”, “remove the lamp”, “code SUMMER10”, “cancel”, “where is my order”.
#[derive(Debug, Clone)]
pub struct Scripted {
    pace: Duration,
}

impl Scripted {
    /// A model that speaks a word at a time, so often.
    #[must_use]
    pub fn new(pace: Duration) -> Self {
        Self { pace }
    }
}

impl Default for Scripted {
    /// 25 ms a word.
    fn default() -> Self {
        Self::new(Duration::from_millis(25))
    }
}

impl Model for Scripted {
    fn answer<'a>(
        &'a self,
        prompt: Prompt<'a>,
        text: mpsc::Sender<String>,
    ) -> BoxFuture<'a, Result<Vec<ToolCall>, BoxError>> {
        Box::pin(async move {
            let say = match next(prompt.history) {
                Move::Call(name, arguments) => {
                    return Ok(vec![ToolCall {
                        id: "call".to_owned(),
                        name: name.to_owned(),
                        arguments,
                    }]);
                }
                Move::Say(say) => say,
            };
            for word in say.split_inclusive([' ', '\n']) {
                if text.send(word.to_owned()).await.is_err() {
                    break; // nobody listens any more
                }
                tokio::time::sleep(self.pace).await;
            }
            Ok(Vec::new())
        })
    }
}

#[derive(Debug, PartialEq)]
enum Move {
    Say(String),
    Call(&'static str, Value),
}

fn say(text: impl Into<String>) -> Move {
    Move::Say(text.into())
}

const HELP: &str = "I can look for things, prepare an order, and tell you how it is going. \
    Try “coffee”, then “buy the Stoneware Mug”. You place the order yourself, when all is right.";

fn next(history: &[Message]) -> Move {
    match history.last() {
        Some(Message::Buyer(text)) => heard(text, history),
        Some(Message::Tool {
            name, body, text, ..
        }) => returned(name, body, text, history),
        Some(Message::Note { outcome, .. }) => happened(outcome, history),
        Some(Message::Assistant { .. }) | None => say(HELP),
    }
}

/// What the buyer wants.
#[derive(Debug, PartialEq)]
enum Intent {
    Help,
    Cancel,
    Order,
    Code(String),
    Buy,
    Add,
    Remove,
    Search(String),
}

const NOISE: &[&str] = &[
    "a",
    "an",
    "and",
    "any",
    "buy",
    "can",
    "do",
    "find",
    "for",
    "get",
    "give",
    "have",
    "i",
    "i'd",
    "in",
    "is",
    "like",
    "looking",
    "me",
    "need",
    "of",
    "please",
    "search",
    "show",
    "some",
    "something",
    "the",
    "to",
    "want",
    "what",
    "with",
    "you",
    "your",
    "add",
    "order",
    "purchase",
    "sell",
    "x",
    "my",
    "it",
    "them",
    "that",
    "one",
    "remove",
];

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !(c.is_alphanumeric() || "'$-".contains(c)))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

fn intent(text: &str) -> Intent {
    let words = words(text);
    let has = |any: &[&str]| words.iter().any(|word| any.contains(&word.as_str()));
    let code = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .find(|word| is_code(word));
    match code {
        Some(code) => return Intent::Code(code.to_owned()),
        None if words.is_empty() || has(&["help", "hello", "hi", "hey"]) => return Intent::Help,
        None => {}
    }
    if has(&["cancel", "abort"]) {
        Intent::Cancel
    } else if has(&["where", "status", "track", "shipped"]) && has(&["order", "parcel", "it"]) {
        Intent::Order
    } else if has(&["add"]) {
        Intent::Add
    } else if has(&["remove", "without", "drop"]) {
        Intent::Remove
    } else if has(&["buy", "order", "take", "purchase"]) {
        Intent::Buy
    } else {
        Intent::Search(query(text))
    }
}

/// `SUMMER10` and its like.
fn is_code(word: &str) -> bool {
    word.len() >= 5
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && word
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
}

/// The words that say what is meant.
fn query(text: &str) -> String {
    let all = words(text);
    let plain = all
        .iter()
        .filter(|word| !NOISE.contains(&word.as_str()) && word.parse::<u32>().is_err())
        .map(|word| stem(word));
    plain.collect::<Vec<_>>().join(" ")
}

/// Without the plural's s.
fn stem(word: &str) -> &str {
    match word.strip_suffix('s') {
        Some(stem) if stem.len() >= 3 && !stem.ends_with('s') => stem,
        _ => word,
    }
}

fn heard(text: &str, history: &[Message]) -> Move {
    let open = open_checkout(history);
    match intent(text) {
        Intent::Help => say(HELP),
        Intent::Search(query) if query.is_empty() => say(HELP),
        Intent::Search(query) => {
            Move::Call("search_catalog", json!({ "body": { "query": query } }))
        }
        Intent::Cancel => match open {
            Some(checkout) => Move::Call("cancel_checkout", json!({ "id": checkout["id"] })),
            None => say("There is nothing to cancel."),
        },
        Intent::Order => match placed_order(history) {
            Some(id) => Move::Call("get_order", json!({ "id": id })),
            None => say("There is no order yet."),
        },
        Intent::Code(code) => match open {
            Some(checkout) => Move::Call(
                "update_checkout",
                json!({ "id": checkout["id"], "body": { "discounts": { "codes": [code] } } }),
            ),
            None => say("Choose something first; then I can try the code."),
        },
        Intent::Remove => match open {
            Some(checkout) => remove(text, checkout),
            None => say("Nothing is chosen yet."),
        },
        Intent::Buy | Intent::Add => match choose(text, history) {
            Some((item, quantity)) => take(item, quantity, open),
            None => match query(text) {
                query if query.is_empty() => say("Which one do you mean?"),
                query => Move::Call("search_catalog", json!({ "body": { "query": query } })),
            },
        },
    }
}

/// Puts an item on the checkout that is open, or on a new one.
fn take(item: &Value, quantity: u64, open: Option<&Value>) -> Move {
    let line = json!({ "item": { "id": item }, "quantity": quantity });
    let Some(checkout) = open else {
        return Move::Call(
            "create_checkout",
            json!({ "body": { "line_items": [line] } }),
        );
    };
    let mut lines = kept_lines(checkout);
    let same = lines.iter_mut().find(|line| line["item"]["id"] == *item);
    match same {
        Some(same) => {
            let before = same.get("quantity").and_then(Value::as_u64).unwrap_or(0);
            if let Some(members) = same.as_object_mut() {
                members.insert("quantity".to_owned(), json!(before + quantity));
            }
        }
        None => lines.push(line),
    }
    Move::Call(
        "update_checkout",
        json!({ "id": checkout["id"], "body": { "line_items": lines } }),
    )
}

fn remove(text: &str, checkout: &Value) -> Move {
    let wanted = words(text);
    let lines = checkout["line_items"].as_array();
    let named = |line: &&Value| {
        let title = words(line["item"]["title"].as_str().unwrap_or_default());
        title.iter().any(|word| wanted.contains(word))
    };
    let Some(gone) = lines.into_iter().flatten().find(named) else {
        return say("I do not find that among what you chose.");
    };
    let mut kept = kept_lines(checkout);
    kept.retain(|line| line["id"] != gone["id"]);
    if kept.is_empty() {
        return Move::Call("cancel_checkout", json!({ "id": checkout["id"] }));
    }
    Move::Call(
        "update_checkout",
        json!({ "id": checkout["id"], "body": { "line_items": kept } }),
    )
}

/// The lines of a checkout as an update gives them.
fn kept_lines(checkout: &Value) -> Vec<Value> {
    let line = |line: &Value| {
        json!({
            "id": line["id"],
            "item": { "id": line["item"]["id"] },
            "quantity": line["quantity"],
        })
    };
    let lines = checkout["line_items"].as_array();
    lines.into_iter().flatten().map(line).collect()
}

/// The variant that the buyer names, out of what the last search found, and how many of it.
fn choose<'h>(text: &str, history: &'h [Message]) -> Option<(&'h Value, u64)> {
    let found = history.iter().rev().find_map(|message| match message {
        Message::Tool { name, body, .. } if name == "search_catalog" => body["products"].as_array(),
        _ => None,
    })?;
    let wanted = words(text);
    let place = wanted.iter().find_map(|word| {
        let ordinals = ["first", "second", "third", "fourth", "fifth"];
        ordinals.iter().position(|ordinal| ordinal == word)
    });
    let product = match place {
        Some(place) => found.get(place),
        None => best(found, |product| score(&wanted, &product["title"])),
    }?;
    let variants = product["variants"].as_array()?;
    let labels = |variant: &Value| {
        let options = variant["options"].as_array();
        let each = options.into_iter().flatten();
        each.map(|option| score(&wanted, &option["label"])).sum()
    };
    let can_be_had =
        |variant: &&Value| variant.pointer("/availability/available") != Some(&json!(false));
    let variant = best(variants, labels)
        .or_else(|| variants.iter().find(can_be_had))
        .or(variants.first())?;
    Some((&variant["id"], quantity(&wanted)))
}

/// The first with the highest score above none.
fn best(all: &[Value], score: impl Fn(&Value) -> usize) -> Option<&Value> {
    let mut best = None;
    let mut highest = 0;
    for one in all {
        let score = score(one);
        if score > highest {
            (best, highest) = (Some(one), score);
        }
    }
    best
}

/// How many of the words of a title were said.
fn score(said: &[String], title: &Value) -> usize {
    let title = words(title.as_str().unwrap_or_default());
    let is_said = |word: &&String| said.iter().any(|said| stem(said) == stem(word));
    title.iter().filter(is_said).count()
}

/// The number after the verb, or before an x.
fn quantity(words: &[String]) -> u64 {
    let verb = |word: &str| ["buy", "add", "order", "take", "purchase"].contains(&word);
    let number = words.iter().enumerate().find_map(|(place, word)| {
        let number: u64 = word.parse().ok()?;
        let after_verb = place
            .checked_sub(1)
            .and_then(|before| words.get(before))
            .is_some_and(|before| verb(before));
        let before_x = words.get(place + 1).is_some_and(|after| after == "x");
        (after_verb || before_x).then_some(number)
    });
    number.unwrap_or(1).clamp(1, 99)
}

/// The last checkout that was shown, unless it is over.
fn open_checkout(history: &[Message]) -> Option<&Value> {
    history.iter().rev().find_map(|message| match message {
        Message::Tool { name, body, .. }
            if name.ends_with("_checkout") && body["id"].is_string() =>
        {
            let over = ["completed", "canceled"].contains(&body["status"].as_str()?);
            Some((!over).then_some(body))
        }
        Message::Note { outcome, .. } if outcome["what"] == "placed" => Some(None),
        Message::Note { outcome, .. } if outcome["what"] == "canceled" => Some(None),
        _ => None,
    })?
}

fn placed_order(history: &[Message]) -> Option<&Value> {
    history.iter().rev().find_map(|message| match message {
        Message::Note { outcome, .. } if outcome["what"] == "placed" => outcome.get("order"),
        _ => None,
    })
}

fn last_words(history: &[Message]) -> Option<&str> {
    history.iter().rev().find_map(|message| match message {
        Message::Buyer(text) => Some(text.as_str()),
        _ => None,
    })
}

/// What to make of a tool's result.
fn returned(name: &str, body: &Value, text: &str, history: &[Message]) -> Move {
    match name {
        "search_catalog" => {
            let buying = last_words(history)
                .filter(|text| matches!(intent(text), Intent::Buy | Intent::Add));
            if let Some((item, quantity)) = buying.and_then(|text| choose(text, history)) {
                return take(item, quantity, open_checkout(history));
            }
            match body["products"].as_array().map(Vec::as_slice) {
                None => say(gist(text)),
                Some([]) => say("I found nothing like that. Try another word, such as “coffee”."),
                Some([one]) => say(format!(
                    "I found one thing: {}. Shall I prepare the order?",
                    one["title"].as_str().unwrap_or_default()
                )),
                Some(many) => say(format!(
                    "I found {} things. Tell me which one, or how many.",
                    many.len()
                )),
            }
        }
        "get_order" => match body["line_items"].as_array() {
            None => say(gist(text)),
            Some(lines) => {
                let status = lines
                    .first()
                    .and_then(|line| line["status"].as_str())
                    .unwrap_or("placed");
                say(format!(
                    "Your order {} is {status}.",
                    body["label"].as_str().unwrap_or_default()
                ))
            }
        },
        _ => say(checkout(body, text)),
    }
}

/// Of a result in words, what is not the shop's answer.
fn gist(text: &str) -> &str {
    text.split_once("\n\n").map_or(text, |(gist, _)| gist)
}

/// What to say of a checkout.
fn checkout(body: &Value, text: &str) -> String {
    let totals = body["totals"].as_array();
    let total = totals
        .into_iter()
        .flatten()
        .find(|entry| entry["type"] == "total")
        .and_then(|entry| entry["amount"].as_i64());
    let currency = body["currency"].as_str().unwrap_or_default();
    let price = total.map_or_else(String::new, |total| Money::new(total, currency).to_string());
    match body["status"].as_str() {
        Some("ready_for_complete") => format!(
            "All is ready; it comes to {price}. Look at the totals, then place the order yourself."
        ),
        Some("incomplete") => format!(
            "I prepared it; so far it comes to {price}. The shop still needs something: please fill in \
             the form."
        ),
        Some("requires_escalation") => {
            "The shop wants you to go on with it there. I keep an eye on it.".to_owned()
        }
        Some("canceled") => "The checkout is canceled. Nothing was ordered.".to_owned(),
        Some("completed") => "The order is placed.".to_owned(),
        Some("complete_in_progress") => "The shop is placing the order.".to_owned(),
        _ => gist(text).to_owned(),
    }
}

/// What to say of what the buyer did.
fn happened(outcome: &Value, history: &[Message]) -> Move {
    match outcome["what"].as_str() {
        Some("placed") => say(format!(
            "Your order {} is placed. I tell you here when the shop has news.",
            outcome["label"].as_str().unwrap_or_default()
        )),
        Some("canceled") => say("The checkout is canceled. Nothing was ordered."),
        Some("declined") => say("All right, I do not order it. It stays prepared for a while."),
        Some("skipped") => say("All right, we go on without that."),
        Some("signed_in") => {
            let again = history.iter().rev().find_map(|message| match message {
                Message::Assistant { calls, .. } => calls.last(),
                _ => None,
            });
            let Some(call) = again else {
                return say(HELP);
            };
            let known = [
                "search_catalog",
                "get_product",
                "create_checkout",
                "update_checkout",
                "get_checkout",
                "cancel_checkout",
                "get_order",
            ];
            match known.into_iter().find(|known| *known == call.name) {
                Some(name) => Move::Call(name, call.arguments.clone()),
                None => say(HELP),
            }
        }
        _ => say(HELP),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buyer(text: &str) -> Message {
        Message::Buyer(text.to_owned())
    }

    fn tool(name: &str, body: Value) -> Message {
        Message::Tool {
            id: "1".to_owned(),
            name: name.to_owned(),
            text: "in words".to_owned(),
            body,
        }
    }

    fn found() -> Message {
        let variant = |id: &str, labels: &[&str], available: bool| {
            let options = labels.iter().map(|label| json!({ "label": label }));
            json!({ "id": id, "options": options.collect::<Vec<_>>(),
                "availability": { "available": available } })
        };
        tool(
            "search_catalog",
            json!({ "products": [
                { "title": "Coffee Beans", "variants": [
                    variant("beans_250", &["250 g"], true), variant("beans_1000", &["1 kg"], true)] },
                { "title": "Stoneware Mug", "variants": [variant("mug", &[], true)] },
                { "title": "Organic T-Shirt", "variants": [
                    variant("red_s", &["Red", "S"], false), variant("blue_s", &["Blue", "S"], true)] },
            ] }),
        )
    }

    #[test]
    fn it_hears_what_is_wanted() {
        for (text, expected) in [
            ("hello", Intent::Help),
            (
                "I'd like some coffee mugs, please",
                Intent::Search("coffee mug".into()),
            ),
            ("Buy the Coffee Beans, 250 g", Intent::Buy),
            ("try the code SUMMER10", Intent::Code("SUMMER10".into())),
            ("cancel that", Intent::Cancel),
            ("where is my order?", Intent::Order),
            ("remove the lamp", Intent::Remove),
            ("add two kettles", Intent::Add),
        ] {
            assert_eq!(intent(text), expected, "{text}");
        }
    }

    #[test]
    fn it_chooses_out_of_what_was_found() {
        let history = [found()];
        for (text, id, quantity) in [
            ("buy the mug", "mug", 1),
            ("buy 3 mugs", "mug", 3),
            ("2 x stoneware mug", "mug", 2),
            ("Buy the Coffee Beans, 250 g", "beans_250", 1),
            ("buy the Coffee Beans, 1 kg", "beans_1000", 1),
            ("buy the second", "mug", 1),
            ("buy the T-Shirt", "blue_s", 1),
            ("buy the T-Shirt, Red", "red_s", 1),
        ] {
            assert_eq!(
                choose(text, &history),
                Some((&json!(id), quantity)),
                "{text}"
            );
        }
        assert_eq!(choose("buy a boat", &history), None);
    }

    #[test]
    fn it_searches_before_it_buys_and_buys_in_the_same_turn() {
        let mut history = vec![buyer("buy a mug")];
        let search = Move::Call("search_catalog", json!({ "body": { "query": "mug" } }));
        assert_eq!(next(&history), search);
        history.push(found());
        let create =
            json!({ "body": { "line_items": [{ "item": { "id": "mug" }, "quantity": 1 }] } });
        assert_eq!(next(&history), Move::Call("create_checkout", create));
    }

    #[test]
    fn it_adds_to_what_is_open_and_not_to_what_is_over() {
        let checkout = json!({ "id": "chk", "status": "incomplete", "line_items": [
            { "id": "li_1", "item": { "id": "mug", "title": "Mug", "price": 1 }, "quantity": 1 }] });
        let mut history = vec![
            found(),
            tool("create_checkout", checkout),
            buyer("add 2 mugs"),
        ];
        let lines = json!([{ "id": "li_1", "item": { "id": "mug" }, "quantity": 3 }]);
        let update = json!({ "id": "chk", "body": { "line_items": lines } });
        assert_eq!(next(&history), Move::Call("update_checkout", update));
        history.push(Message::Note {
            text: String::new(),
            outcome: json!({ "what": "placed", "order": "ord_1" }),
        });
        history.push(buyer("add a mug"));
        let lines = json!([{ "item": { "id": "mug" }, "quantity": 1 }]);
        let create = json!({ "body": { "line_items": lines } });
        assert_eq!(next(&history), Move::Call("create_checkout", create));
        history.push(buyer("where is my order"));
        assert_eq!(
            next(&history),
            Move::Call("get_order", json!({ "id": "ord_1" }))
        );
    }
}
