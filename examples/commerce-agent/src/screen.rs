//! What the page shows of a checkout, made of a read of just now: the browser is sent what to show, and
//! sends back ids and choices.

use crate::form;
use crate::shop::{Fresh, Shop};
use crate::store::{Matter, Purchase};
use crate::wallet::{self, Wallet};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use ucp_runtime::Money;
use url::Url;

/// A checkout as the page shows it.
pub(crate) fn screen(
    shop: &Shop,
    wallet: &dyn Wallet,
    fresh: &Fresh,
    matter: Option<&Matter>,
    sending: Option<&Purchase>,
) -> Value {
    let body = &fresh.body;
    let handoff = with_safe_links(fresh.decision(), shop.development);
    let instruments: Vec<Value> = wallet::accepted(wallet, body)
        .iter()
        .map(|instrument| json!({ "id": instrument.id, "label": instrument.label }))
        .collect();
    json!({
        "shop": shop.origin(),
        "version": body.pointer("/ucp/version"),
        "checkout": checkout(body, shop.development),
        "state": fresh.state(),
        "outcome": matter.and_then(|matter| matter.outcome.as_deref()),
        "sending": sending.is_some(),
        "digest": digest(shop.origin(), fresh),
        "fields": form::fields(body, &fresh.handoff),
        "instruments": instruments,
        "handoff": handoff,
    })
}

/// What the buyer agrees to, as one value: everything that the screen shows beside the button.
pub(crate) fn digest(origin: &str, fresh: &Fresh) -> String {
    let body = &fresh.body;
    let agreed = json!([
        origin,
        body["id"],
        body["currency"],
        body["totals"],
        body["line_items"],
        body["fulfillment"]["methods"],
        body["buyer"],
        fresh.disclosures(),
    ]);
    let hash = Sha256::digest(agreed.to_string());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An amount as a person reads it.
pub(crate) fn price(amount: &Value, currency: &Value) -> Value {
    let currency = currency.as_str().unwrap_or_default();
    let amount = amount.as_i64();
    json!(amount.map(|amount| Money::new(amount, currency).to_string()))
}

/// A link that a browser may follow: `https`, or in development `http` on this machine.
pub(crate) fn link(link: &Value, development: bool) -> Option<String> {
    let url = Url::parse(link.as_str()?).ok()?;
    let loopback = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let safe = match url.scheme() {
        "https" => url.username().is_empty() && url.password().is_none(),
        "http" => development && loopback,
        _ => false,
    };
    safe.then(|| url.into())
}

/// The handoff, without links of messages that nobody checked and that are none.
fn with_safe_links(mut handoff: Value, development: bool) -> Value {
    for list in [
        "blockers",
        "fix_first",
        "disclosures",
        "notices",
        "messages",
    ] {
        let messages = handoff.get_mut(list).and_then(Value::as_array_mut);
        for message in messages
            .into_iter()
            .flatten()
            .filter_map(Value::as_object_mut)
        {
            for name in ["url", "image_url"] {
                if let Some(unchecked) = message.remove(name) {
                    message.insert(name.to_owned(), json!(link(&unchecked, development)));
                }
            }
        }
    }
    if let Some(order) = handoff.get_mut("order").and_then(Value::as_object_mut) {
        let unchecked = order.remove("permalink_url").unwrap_or(Value::Null);
        order.insert(
            "permalink_url".to_owned(),
            json!(link(&unchecked, development)),
        );
    }
    handoff
}

fn totals(of: &Value, currency: &Value) -> Vec<Value> {
    let entry = |entry: &Value| {
        json!({
            "type": entry["type"],
            // The merchant's words; without any, its word for the kind.
            "label": entry.get("display_text").unwrap_or(&entry["type"]),
            "price": price(&entry["amount"], currency),
            "lines": totals(&entry["lines"], currency),
        })
    };
    of.as_array().into_iter().flatten().map(entry).collect()
}

/// What of a checkout is shown, in the merchant's order.
fn checkout(body: &Value, development: bool) -> Value {
    let currency = &body["currency"];
    let lines = body["line_items"].as_array().into_iter().flatten();
    let line = |line: &Value| {
        json!({
            "id": line["id"],
            "title": line["item"]["title"],
            "image": link(&line["item"]["image_url"], development),
            "price": price(&line["item"]["price"], currency),
            "quantity": line["quantity"],
            "totals": totals(&line["totals"], currency),
        })
    };
    let links = body["links"].as_array().into_iter().flatten();
    let links = links.filter_map(|one| {
        let url = link(&one["url"], development)?;
        let title = one.get("title").unwrap_or(&one["type"]);
        Some(json!({ "type": one["type"], "title": title, "url": url }))
    });
    json!({
        "id": body["id"],
        "status": body["status"],
        "line_items": lines.map(line).collect::<Vec<_>>(),
        "totals": totals(&body["totals"], currency),
        "links": links.collect::<Vec<_>>(),
        "deliveries": deliveries(body),
        "email": body["buyer"]["email"],
        "expires_at": body["expires_at"],
    })
}

/// How the goods get there, a line for each method.
fn deliveries(body: &Value) -> Vec<String> {
    let methods = body.pointer("/fulfillment/methods");
    let methods = methods.and_then(Value::as_array).into_iter().flatten();
    let line = |method: &Value| {
        let selected = &method["selected_destination_id"];
        let destinations = method["destinations"].as_array();
        let to = destinations
            .into_iter()
            .flatten()
            .find(|destination| destination["id"] == *selected && !selected.is_null())?;
        let address = [
            "street_address",
            "address_locality",
            "address_region",
            "postal_code",
            "address_country",
        ];
        let parts: Vec<&str> = address
            .iter()
            .filter_map(|part| to[*part].as_str())
            .collect();
        let groups = method["groups"].as_array().into_iter().flatten();
        let chosen: Vec<&str> = groups
            .filter_map(|group| {
                let options = group["options"].as_array()?;
                let id = &group["selected_option_id"];
                options.iter().find(|option| option["id"] == *id)?["title"].as_str()
            })
            .collect();
        Some(format!("{} → {}", chosen.join(", "), parts.join(", ")))
    };
    methods.filter_map(line).collect()
}

/// Products for the page, beside what the model says of them.
pub(crate) fn products(products: &Value) -> Value {
    let product = |product: &Value| {
        let variants = product["variants"].as_array().into_iter().flatten();
        let variant = |variant: &Value| {
            let price_of = &variant["price"];
            let options = variant["options"].as_array().into_iter().flatten();
            let labels: Vec<&str> = options.filter_map(|one| one["label"].as_str()).collect();
            json!({
                "id": variant["id"],
                "label": labels.join(", "),
                "price": price(&price_of["amount"], &price_of["currency"]),
                "available": variant.pointer("/availability/available") != Some(&json!(false)),
            })
        };
        json!({
            "id": product["id"],
            "title": product["title"],
            "description": product["description"]["plain"],
            // The page shows a picture only where its policy allows it.
            "image": link(&product["media"][0]["url"], true),
            "variants": variants.map(variant).collect::<Vec<_>>(),
        })
    };
    let all = products.as_array().into_iter().flatten();
    all.take(crate::tools::PRODUCTS).map(product).collect()
}

/// An order as the page shows it.
pub(crate) fn order(body: &Value, development: bool) -> Value {
    let currency = &body["currency"];
    let lines = body["line_items"].as_array().into_iter().flatten();
    let line = |line: &Value| {
        json!({
            "title": line["item"]["title"],
            "image": link(&line["item"]["image_url"], development),
            "quantity": line["quantity"]["total"],
            "fulfilled": line["quantity"]["fulfilled"],
            "status": line["status"],
        })
    };
    let events = body
        .pointer("/fulfillment/events")
        .and_then(Value::as_array);
    let event = |event: &Value| {
        json!({
            "type": event["type"],
            "at": event["occurred_at"],
            "carrier": event["carrier"],
            "tracking_number": event["tracking_number"],
            "tracking_url": link(&event["tracking_url"], development),
        })
    };
    json!({
        "id": body["id"],
        "label": body["label"],
        "permalink_url": link(&body["permalink_url"], development),
        "line_items": lines.map(line).collect::<Vec<_>>(),
        "events": events.into_iter().flatten().map(event).collect::<Vec<_>>(),
        "totals": totals(&body["totals"], currency),
    })
}
