//! The form that fixes what blocks a checkout: fields made of the blockers' paths, and the update that
//! their values make.

use serde_json::{Map, Value, json};
use ucp_runtime::handoff::Handoff;

/// What an address is made of: the member, how it is called, how a browser fills it in, whether it must
/// be there.
const ADDRESS: [(&str, &str, &str, bool); 7] = [
    ("first_name", "First name", "given-name", false),
    ("last_name", "Last name", "family-name", false),
    (
        "street_address",
        "Street and number",
        "street-address",
        true,
    ),
    ("address_locality", "Town", "address-level2", false),
    ("address_region", "State or region", "address-level1", false),
    ("postal_code", "Postal code", "postal-code", false),
    ("address_country", "Country (two letters)", "country", true),
];
/// Members of `buyer` that are known by name.
const BUYER: [(&str, &str, &str, &str); 4] = [
    ("email", "E-mail", "email", "email"),
    ("first_name", "First name", "text", "given-name"),
    ("last_name", "Last name", "text", "family-name"),
    ("phone_number", "Phone number", "tel", "tel"),
];

/// The fields for what the buyer can fix, each with the blocker that it is for. A blocker that no
/// field fixes has a field without a name: its text is shown alone.
pub(crate) fn fields(checkout: &Value, handoff: &Handoff) -> Vec<Value> {
    let context = handoff.context();
    let messages = match handoff {
        Handoff::Conversational { blockers, .. } => blockers,
        _ => &context.fix_first,
    };
    let mut fields: Vec<Value> = Vec::new();
    for message in messages {
        let path = message.path.as_deref().unwrap_or_default();
        let text = message.text.as_deref().unwrap_or_default();
        let mut made = of_path(checkout, path);
        if made.is_empty() {
            made.push(json!({ "kind": "note" }));
        }
        for (place, mut field) in made.into_iter().enumerate() {
            if let Some(members) = field.as_object_mut() {
                // Said once, above the first of the fields that belong together.
                members.insert("message".to_owned(), json!((place == 0).then_some(text)));
                members.insert("code".to_owned(), json!(message.code));
            }
            let name = &field["name"];
            if name.is_null() || !fields.iter().any(|other| other["name"] == *name) {
                fields.push(field);
            }
        }
    }
    fields
}

/// The names and indexes of a path: `$.a.b[0].c` has `a`, `b`, `0`, `c`.
fn steps(path: &str) -> Vec<&str> {
    path.trim_start_matches('$')
        .split(['.', '[', ']'])
        .map(|step| step.trim_matches(['\'', '"']))
        .filter(|step| !step.is_empty())
        .collect()
}

fn of_path(checkout: &Value, path: &str) -> Vec<Value> {
    match steps(path).as_slice() {
        ["buyer", member, ..] => {
            let known = BUYER.iter().find(|known| known.0 == *member);
            let Some((name, label, kind, autocomplete)) = known else {
                return Vec::new();
            };
            vec![json!({
                "name": format!("buyer.{name}"),
                "label": label,
                "kind": kind,
                "autocomplete": autocomplete,
                "required": true,
                "value": checkout["buyer"][*name].as_str(),
            })]
        }
        ["fulfillment", "methods", method, "groups", group, ..] => option(checkout, method, group),
        [
            "fulfillment",
            "methods",
            method,
            "selected_destination_id" | "destinations",
            ..,
        ] => {
            let address = ADDRESS.iter();
            address
                .map(|(member, label, autocomplete, required)| {
                    json!({
                        "name": format!("method.{method}.address.{member}"),
                        "label": label,
                        "kind": "text",
                        "autocomplete": format!("shipping {autocomplete}"),
                        "required": required,
                    })
                })
                .collect()
        }
        ["line_items", line, ..] => {
            let index = line.parse::<usize>().ok();
            let found = index.and_then(|index| checkout["line_items"].get(index));
            let Some(found) = found else {
                return Vec::new();
            };
            let title = found["item"]["title"].as_str().unwrap_or_default();
            vec![json!({
                "name": format!("line.{line}.quantity"),
                "label": format!("How many of {title} (0 leaves it out)"),
                "kind": "number",
                "required": true,
                "value": found["quantity"],
            })]
        }
        _ => Vec::new(),
    }
}

/// The options of a group, to choose one.
fn option(checkout: &Value, method: &str, group: &str) -> Vec<Value> {
    let pointer = format!("/fulfillment/methods/{method}/groups/{group}/options");
    let options = checkout.pointer(&pointer).and_then(Value::as_array);
    let choice = |option: &Value| {
        let totals = option["totals"].as_array().into_iter().flatten();
        let total = totals
            .filter(|entry| entry["type"] == "total")
            .map(|entry| crate::screen::price(&entry["amount"], &checkout["currency"]))
            .next();
        json!({
            "value": option["id"],
            "label": option["title"],
            "hint": option["description"].as_str(),
            "price": total,
        })
    };
    let Some(options) = options else {
        return Vec::new();
    };
    vec![json!({
        "name": format!("method.{method}.option.{group}"),
        "label": "How should it be delivered?",
        "kind": "choice",
        "required": true,
        "options": options.iter().map(choice).collect::<Vec<_>>(),
    })]
}

/// Puts what was filled in on an update. What is not a field of a form is refused.
pub(crate) fn apply(update: &mut Value, values: &Map<String, Value>) -> Result<(), String> {
    let mut gone = Vec::new();
    for (name, value) in values {
        let text = value.as_str().map(str::trim);
        let unknown = || format!("There is no field `{name}`.");
        let text = text.ok_or_else(unknown)?;
        match name.split('.').collect::<Vec<_>>().as_slice() {
            ["buyer", member] if BUYER.iter().any(|known| known.0 == *member) => {
                set(update, &["buyer", member], json!(text)).ok_or_else(unknown)?;
            }
            ["method", method, "address", member]
                if ADDRESS.iter().any(|known| known.0 == *member) =>
            {
                if text.is_empty() {
                    continue;
                }
                let path = ["fulfillment", "methods", method];
                let method = walk(update, &path).ok_or_else(unknown)?;
                set(method, &["selected_destination_id"], json!("address")).ok_or_else(unknown)?;
                let before = method.pointer("/destinations/0");
                let mut address = match before {
                    Some(one) if one["id"] == "address" => one.clone(),
                    _ => json!({ "id": "address" }),
                };
                let value = match *member {
                    "address_country" => json!(text.to_uppercase()),
                    _ => json!(text),
                };
                set(&mut address, &[member], value).ok_or_else(unknown)?;
                set(method, &["destinations"], json!([address])).ok_or_else(unknown)?;
            }
            ["method", method, "option", group] => {
                let path = ["fulfillment", "methods", method, "groups", group];
                let group = walk(update, &path).ok_or_else(unknown)?;
                set(group, &["selected_option_id"], json!(text)).ok_or_else(unknown)?;
            }
            ["line", line, "quantity"] => {
                let number = text.parse::<u32>();
                let number = number.map_err(|_| format!("`{text}` is not a number of things."))?;
                match number {
                    0 => gone.push(line.parse::<usize>().map_err(|_| unknown())?),
                    _ => {
                        let line = walk(update, &["line_items", line]).ok_or_else(unknown)?;
                        set(line, &["quantity"], json!(number)).ok_or_else(unknown)?;
                    }
                }
            }
            _ => return Err(unknown()),
        }
    }
    if let Some(lines) = update.get_mut("line_items").and_then(Value::as_array_mut) {
        let mut index = 0;
        lines.retain(|_| {
            index += 1;
            !gone.contains(&(index - 1))
        });
        if lines.is_empty() {
            return Err("Nothing would be left: cancel the checkout instead.".to_owned());
        }
    }
    Ok(())
}

/// The value at a path of members and indexes, if it is there.
fn walk<'v>(mut value: &'v mut Value, path: &[&str]) -> Option<&'v mut Value> {
    for step in path {
        value = match value {
            Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?)?,
            Value::Object(members) => members.get_mut(*step)?,
            _ => return None,
        };
    }
    Some(value)
}

/// Sets a member, making the objects above it.
fn set(mut value: &mut Value, path: &[&str], to: Value) -> Option<()> {
    let (last, above) = path.split_last()?;
    for step in above {
        let members = value.as_object_mut()?;
        value = members.entry(*step).or_insert_with(|| json!({}));
    }
    value.as_object_mut()?.insert((*last).to_owned(), to);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ucp_runtime::handoff::{Host, View};

    fn checkout() -> Value {
        let error = |path: &str| {
            json!({ "type": "error", "severity": "recoverable", "code": "missing",
                "content": format!("mend {path}"), "path": path })
        };
        json!({
            "ucp": { "version": "2026-04-08" }, "status": "incomplete", "currency": "USD",
            "line_items": [{ "id": "li_1", "item": { "title": "Mug" }, "quantity": 9 }],
            "fulfillment": { "methods": [{ "groups": [{ "options": [
                { "id": "std", "title": "Standard", "totals": [{ "type": "total", "amount": 500 }] },
            ] }] }] },
            "messages": [
                error("$.buyer.email"),
                error("$.fulfillment.methods[0].selected_destination_id"),
                error("$['fulfillment']['methods'][0]['groups'][0].selected_option_id"),
                error("$.line_items[0].quantity"),
                error("$.line_items[7].quantity"),
                error("$.discounts.codes[0]"),
            ],
        })
    }

    #[test]
    fn every_blocker_has_its_fields_or_its_text() {
        let checkout = checkout();
        let view = View::from_bytes(checkout.to_string().as_bytes()).unwrap();
        let fields = fields(&checkout, &view.decide(&Host::default()));
        let names: Vec<_> = fields.iter().map(|field| field["name"].as_str()).collect();
        let address = |member: &str| format!("method.0.address.{member}");
        assert_eq!(
            names,
            [
                Some("buyer.email"),
                Some(&*address("first_name")),
                Some(&*address("last_name")),
                Some(&*address("street_address")),
                Some(&*address("address_locality")),
                Some(&*address("address_region")),
                Some(&*address("postal_code")),
                Some(&*address("address_country")),
                Some("method.0.option.0"),
                Some("line.0.quantity"),
                None,
                None,
            ]
        );
        assert_eq!(fields[0]["message"], "mend $.buyer.email");
        assert_eq!(fields[8]["options"][0]["price"], "5.00 USD");
        assert_eq!(fields[11]["kind"], "note");
        assert_eq!(fields[11]["message"], "mend $.discounts.codes[0]");
    }

    #[test]
    fn what_is_filled_in_becomes_an_update() {
        let mut update = json!({
            "line_items": [{ "id": "a", "quantity": 1 }, { "id": "b", "quantity": 2 }],
            "fulfillment": { "methods": [{ "id": "m", "groups": [{ "id": "g" }] }] },
        });
        let values = json!({
            "buyer.email": " ada@example.com ",
            "method.0.option.0": "express",
            "line.0.quantity": "0",
            "line.1.quantity": "3",
        });
        apply(&mut update, values.as_object().unwrap()).unwrap();
        assert_eq!(
            update,
            json!({
                "buyer": { "email": "ada@example.com" },
                "line_items": [{ "id": "b", "quantity": 3 }],
                "fulfillment": { "methods": [
                    { "id": "m", "groups": [{ "id": "g", "selected_option_id": "express" }] },
                ] },
            })
        );
        let address = json!({
            "method.0.address.street_address": "1 Main St",
            "method.0.address.address_country": "us",
            "method.0.address.postal_code": "",
        });
        apply(&mut update, address.as_object().unwrap()).unwrap();
        assert_eq!(
            update["fulfillment"]["methods"][0],
            json!({
                "id": "m",
                "groups": [{ "id": "g", "selected_option_id": "express" }],
                "selected_destination_id": "address",
                "destinations": [
                    { "id": "address", "street_address": "1 Main St", "address_country": "US" },
                ],
            })
        );
    }

    #[test]
    fn other_values_are_refused() {
        let original = json!({ "line_items": [{ "id": "a", "quantity": 1 }] });
        for (name, value) in [
            ("buyer.consent", json!("yes")),
            ("line_items.0.item.id", json!("other")),
            ("line.4.quantity", json!("1")),
            ("line.0.quantity", json!("-1")),
            ("line.0.quantity", json!("0")),
            ("buyer.email", json!({ "a": 1 })),
            ("method.0.option.0", json!("std")),
            ("", json!("")),
        ] {
            let mut update = original.clone();
            let values = Map::from_iter([(name.to_owned(), value)]);
            assert!(apply(&mut update, &values).is_err(), "{name}");
        }
    }
}
