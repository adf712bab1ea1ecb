//! From lines, discount codes and delivery to amounts that add up.

use serde_json::{Value, json};

use crate::answer::{recoverable, warning};
use crate::catalog::Catalog;

/// The tax on goods, in percent, once it is known where they go.
const TAX_PERCENT: i64 = 10;
const SUMMER_PERCENT: i64 = 10;
const FIVE_OFF: i64 = 500;

/// A line of a cart or checkout.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) id: String,
    /// The variant.
    pub(crate) item: String,
    pub(crate) quantity: i64,
    pub(crate) parent: Option<String>,
}

/// What delivery adds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Delivery {
    /// The sum of the selected options; `None` while one is missing.
    pub(crate) price: Option<i64>,
    /// Whether the destination is known, and with it the tax.
    pub(crate) taxed: bool,
}

/// Everything that follows from the lines.
#[derive(Debug)]
pub(crate) struct Priced {
    pub(crate) line_items: Vec<Value>,
    pub(crate) totals: Value,
    /// `discounts.applied`.
    pub(crate) applied: Vec<Value>,
    pub(crate) messages: Vec<Value>,
}

/// Reads `line_items`; a line whose item is unknown is left out with a message.
///
/// A line keeps the id it comes with when the session knows that id, and gets the next free one
/// otherwise.
pub(crate) fn read_lines(
    request: &Value,
    known: &[Line],
    catalog: &Catalog,
) -> (Vec<Line>, Vec<Value>) {
    let mut lines: Vec<Line> = Vec::new();
    let mut messages = Vec::new();
    let requested = request.as_array().into_iter().flatten();
    for (index, line) in requested.enumerate() {
        let item = line["item"]["id"].as_str().unwrap_or_default();
        if catalog.variant(item).is_none() {
            let content = format!("There is no item {item}.");
            let path = format!("$.line_items[{index}]");
            messages.push(recoverable("item_unavailable", &path, &content));
            continue;
        }
        let taken = |id: &str, lines: &[Line]| lines.iter().any(|line| line.id == id);
        let kept = line["id"]
            .as_str()
            .filter(|id| taken(id, known) && !taken(id, &lines));
        let id = match kept {
            Some(id) => id.to_owned(),
            None => (1..)
                .map(|n: u64| format!("li_{n}"))
                .find(|id| !taken(id, known) && !taken(id, &lines))
                .unwrap_or_default(),
        };
        lines.push(Line {
            id,
            item: item.to_owned(),
            quantity: integer(&line["quantity"]),
            parent: line["parent_id"].as_str().map(str::to_owned),
        });
    }
    (lines, messages)
}

/// An integer in JSON Schema's sense, which `2.0` is too; beyond `i64` it is capped.
fn integer(value: &Value) -> i64 {
    let capped = || value.as_f64().map(|number| number as i64);
    value.as_i64().or_else(capped).unwrap_or(0)
}

/// Prices the lines. `sold_out` are variants that count as having no stock.
///
/// Sums saturate: a quantity that could overflow exceeds every stock and blocks the purchase.
pub(crate) fn price(
    catalog: &Catalog,
    lines: &[Line],
    codes: &[String],
    delivery: Delivery,
    sold_out: &[String],
) -> Priced {
    let (codes, mut messages) = accept(codes);
    let summer = codes.iter().position(|code| code == "SUMMER10");
    let mut line_items = Vec::new();
    let (mut subtotal, mut items_discount) = (0_i64, 0_i64);
    let mut allocations = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some((product, variant)) = catalog.variant(&line.item) else {
            continue;
        };
        let left = match sold_out.contains(&line.item) {
            true => 0,
            false => catalog.stock(&line.item),
        };
        if line.quantity > left {
            let content = format!("{left} of {} are left.", line.item);
            let path = format!("$.line_items[{index}].quantity");
            messages.push(recoverable("out_of_stock", &path, &content));
        }
        let gross = variant.price.saturating_mul(line.quantity);
        let discount = match summer {
            Some(_) => percent(gross, SUMMER_PERCENT),
            None => 0,
        };
        subtotal = subtotal.saturating_add(gross);
        items_discount = items_discount.saturating_add(discount);
        let mut totals = vec![total("subtotal", "Subtotal", gross)];
        if discount > 0 {
            totals.push(total("items_discount", "Discount", -discount));
            allocations
                .push(json!({ "path": format!("$.line_items[{index}]"), "amount": discount }));
        }
        totals.push(total("total", "Total", gross - discount));
        let mut item = json!({
            "id": line.id,
            "item": catalog.item(product, variant),
            "quantity": line.quantity,
            "totals": totals,
        });
        if let Some(parent) = &line.parent {
            item["parent_id"] = json!(parent);
        }
        line_items.push(item);
    }

    let mut applied = Vec::new();
    if items_discount > 0 {
        applied.push(json!({
            "code": "SUMMER10",
            "title": "Summer, 10 % off each item",
            "amount": items_discount,
            "method": "each",
            "priority": 1,
            "allocations": allocations,
        }));
    }
    let goods = subtotal - items_discount;
    let mut discount = 0;
    if codes.iter().any(|code| code == "FIVEOFF") && goods > 0 {
        let amount = FIVE_OFF.min(goods);
        discount += amount;
        applied.push(json!({
            "code": "FIVEOFF",
            "title": "$5 off the order",
            "amount": amount,
            "priority": 2,
        }));
    }
    let shipping = delivery.price.unwrap_or(0);
    let tax = match delivery.taxed {
        true => percent(goods - discount, TAX_PERCENT),
        false => 0,
    };
    if codes.iter().any(|code| code == "FREESHIP") && shipping > 0 {
        discount += shipping;
        applied.push(json!({
            "code": "FREESHIP",
            "title": "Free shipping",
            "amount": shipping,
            "priority": 3,
        }));
    }

    let mut totals = vec![total("subtotal", "Subtotal", subtotal)];
    if items_discount > 0 {
        totals.push(total("items_discount", "Item discounts", -items_discount));
    }
    if discount > 0 {
        totals.push(total("discount", "Order discounts", -discount));
    }
    if delivery.price.is_some() {
        totals.push(total("fulfillment", "Delivery", shipping));
    }
    if delivery.taxed {
        totals.push(total("tax", "Tax", tax));
    }
    let sum = (subtotal - items_discount - discount)
        .saturating_add(shipping)
        .saturating_add(tax);
    totals.push(total("total", "Total", sum));
    Priced {
        line_items,
        totals: json!(totals),
        applied,
        messages,
    }
}

/// The codes that count, in upper case, and a warning for each that does not.
fn accept(codes: &[String]) -> (Vec<String>, Vec<Value>) {
    let mut accepted: Vec<String> = Vec::new();
    let mut messages = Vec::new();
    for (index, given) in codes.iter().enumerate() {
        let code = given.to_uppercase();
        let reason = match code.as_str() {
            _ if accepted.contains(&code) => Some("discount_code_already_applied"),
            "SUMMER10" | "FIVEOFF" | "FREESHIP" => None,
            "WINTER20" => Some("discount_code_expired"),
            _ => Some("discount_code_invalid"),
        };
        match reason {
            None => accepted.push(code),
            Some(reason) => {
                let path = format!("$.discounts.codes[{index}]");
                let content = format!("The code {given} does not apply.");
                messages.push(warning(reason, &path, &content));
            }
        }
    }
    (accepted, messages)
}

fn total(kind: &str, display_text: &str, amount: i64) -> Value {
    json!({ "type": kind, "display_text": display_text, "amount": amount })
}

/// A percentage of a non-negative amount, halves rounded up.
fn percent(amount: i64, percent: i64) -> i64 {
    amount.saturating_mul(percent).saturating_add(50) / 100
}

/// The amount of the one `total` among totals.
pub(crate) fn grand_total(totals: &Value) -> i64 {
    let is_total = |entry: &&Value| entry["type"] == "total";
    totals
        .as_array()
        .into_iter()
        .flatten()
        .find(is_total)
        .map_or(0, |entry| integer(&entry["amount"]))
}
