//! How the goods get there: methods, destinations, and one group with options for each method.
//!
//! A pickup method lists no destinations: in this release a retail location also has the form of a
//! shipping destination, so no list of them passes the contract's `oneOf`. There is one store, and
//! `available_methods` describes it.

use serde_json::{Value, json};

use crate::answer::recoverable;
use crate::catalog::Catalog;
use crate::pricing::{Delivery, Line};

/// `(id, title, description, price)` of an option.
type Choice = (&'static str, &'static str, &'static str, i64);

const SHIPPING: [Choice; 2] = [
    ("standard", "Standard", "Arrives in five days.", 500),
    ("express", "Express", "Arrives tomorrow.", 1500),
];
const PICKUP: [Choice; 1] = [("in_store", "In store", "Ready within two hours.", 0)];
/// The id of the one store.
const STORE: &str = "store_1";

/// A way in which some lines are fulfilled.
#[derive(Debug, Clone)]
pub(crate) struct Method {
    id: String,
    kind: String,
    lines: Vec<String>,
    destinations: Vec<Value>,
    destination: Option<String>,
    option: Option<String>,
}

impl Method {
    fn choices(&self) -> &'static [Choice] {
        match self.kind.as_str() {
            "pickup" => &PICKUP,
            _ => &SHIPPING,
        }
    }

    fn choice(&self) -> Option<&'static Choice> {
        let id = self.option.as_deref()?;
        self.choices().iter().find(|choice| choice.0 == id)
    }

    fn known_destination(&self) -> bool {
        let Some(selected) = self.destination.as_deref() else {
            return false;
        };
        match self.kind.as_str() {
            "pickup" => selected == STORE,
            _ => self.address().is_some(),
        }
    }

    fn address(&self) -> Option<&Value> {
        let selected = self.destination.as_deref()?;
        let is_selected = |destination: &&Value| destination["id"] == selected;
        self.destinations.iter().find(is_selected)
    }
}

/// The id of a method's one group.
fn group(method: &str) -> String {
    format!("{method}_group")
}

/// The lines that need a method.
fn physical<'a>(lines: &'a [Line], catalog: &'a Catalog) -> impl Iterator<Item = &'a Line> {
    lines.iter().filter(|line| {
        let found = catalog.variant(&line.item);
        found.is_some_and(|(product, _)| !product.digital)
    })
}

/// Reads `fulfillment`; without one, goods that travel get a shipping method to be filled in.
pub(crate) fn read(
    request: &Value,
    before: &[Method],
    lines: &[Line],
    catalog: &Catalog,
) -> Vec<Method> {
    let all: Vec<String> = physical(lines, catalog)
        .map(|line| line.id.clone())
        .collect();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let requested = request["methods"].as_array();
    let mut methods: Vec<Method> = Vec::new();
    for (index, method) in requested.into_iter().flatten().enumerate() {
        let id = text(&method["id"]).unwrap_or_else(|| format!("method_{}", index + 1));
        let previous = before.iter().find(|method| method.id == id);
        let kind = text(&method["type"])
            .or_else(|| previous.map(|previous| previous.kind.clone()))
            .unwrap_or_else(|| "shipping".to_owned());
        let ids = method["line_item_ids"].as_array();
        let destinations = method["destinations"].as_array();
        let groups = method["groups"].as_array();
        methods.push(Method {
            lines: ids.map_or_else(|| all.clone(), |ids| ids.iter().filter_map(text).collect()),
            // Destinations that are not sent again are still on file; new ones are given ids.
            destinations: match (destinations, previous) {
                (Some(given), _) => given.iter().enumerate().map(identified).collect(),
                (None, Some(previous)) => previous.destinations.clone(),
                (None, None) => Vec::new(),
            },
            destination: text(&method["selected_destination_id"]),
            option: groups
                .into_iter()
                .flatten()
                .find(|sent| sent["id"].is_null() || sent["id"] == group(&id))
                .and_then(|sent| text(&sent["selected_option_id"])),
            id,
            kind,
        });
    }
    if methods.is_empty() && !all.is_empty() {
        methods.push(Method {
            id: "method_1".to_owned(),
            kind: "shipping".to_owned(),
            lines: all,
            destinations: Vec::new(),
            destination: None,
            option: None,
        });
    }
    methods
}

fn identified((index, destination): (usize, &Value)) -> Value {
    let mut destination = destination.clone();
    if destination["id"].is_null() {
        destination["id"] = json!(format!("destination_{}", index + 1));
    }
    destination
}

/// What is still missing or wrong, as messages.
pub(crate) fn blockers(methods: &[Method], lines: &[Line], catalog: &Catalog) -> Vec<Value> {
    let mut messages = Vec::new();
    for (index, method) in methods.iter().enumerate() {
        let path = |member: &str| format!("$.fulfillment.methods[{index}].{member}");
        let known = |id: &String| lines.iter().any(|line| line.id == *id);
        if !method.lines.iter().all(known) {
            let content = "The method names a line that does not exist.";
            messages.push(recoverable(
                "invalid_line_item",
                &path("line_item_ids"),
                content,
            ));
        }
        if !method.known_destination() {
            let content = "Select where the goods go.";
            let path = path("selected_destination_id");
            messages.push(recoverable(
                "fulfillment_destination_required",
                &path,
                content,
            ));
        } else if method.choice().is_none() {
            let content = "Select how the goods go.";
            let path = path("groups[0].selected_option_id");
            messages.push(recoverable("fulfillment_option_required", &path, content));
        }
    }
    let covered = |line: &Line| methods.iter().any(|method| method.lines.contains(&line.id));
    if !physical(lines, catalog).all(covered) {
        let content = "Some goods have no fulfillment method.";
        messages.push(recoverable(
            "fulfillment_required",
            "$.fulfillment",
            content,
        ));
    }
    messages
}

/// What delivery costs as far as it is known.
pub(crate) fn delivery(methods: &[Method]) -> Delivery {
    let chosen = |method: &Method| {
        let choice = method.choice().filter(|_| method.known_destination());
        choice.map(|choice| choice.3)
    };
    Delivery {
        price: match methods {
            [] => None,
            methods => methods.iter().map(chosen).sum(),
        },
        taxed: !methods.is_empty() && methods.iter().all(Method::known_destination),
    }
}

/// The `fulfillment` member of a response.
pub(crate) fn view(methods: &[Method]) -> Value {
    let described = |method: &Method| {
        let mut body = json!({
            "id": method.id,
            "type": method.kind,
            "line_item_ids": method.lines,
            "selected_destination_id": method.destination,
        });
        if !method.destinations.is_empty() {
            body["destinations"] = json!(method.destinations);
        }
        if method.known_destination() {
            let option = |(id, title, description, price): &Choice| {
                json!({
                    "id": id,
                    "title": title,
                    "description": description,
                    "totals": [{ "type": "total", "amount": price }],
                })
            };
            body["groups"] = json!([{
                "id": group(&method.id),
                "line_item_ids": method.lines,
                "selected_option_id": method.choice().map(|choice| choice.0),
                "options": method.choices().iter().map(option).collect::<Vec<_>>(),
            }]);
        }
        body
    };
    let lines: Vec<&String> = methods.iter().flat_map(|method| &method.lines).collect();
    json!({
        "methods": methods.iter().map(described).collect::<Vec<_>>(),
        "available_methods": [{
            "type": "pickup",
            "line_item_ids": lines,
            "fulfillable_on": "now",
            "description": format!("At our one store: select the destination {STORE}."),
        }],
    })
}

/// The `expectations` of an order.
pub(crate) fn expectations(methods: &[Method], lines: &[Line]) -> Vec<Value> {
    let expectation = |method: &Method| {
        let counted: Vec<Value> = lines
            .iter()
            .filter(|line| method.lines.contains(&line.id))
            .map(|line| json!({ "id": line.id, "quantity": line.quantity }))
            .collect();
        let store = json!({ "street_address": "1 Market Street", "address_country": "US" });
        json!({
            "id": format!("{}_expectation", method.id),
            "line_items": counted,
            "method_type": method.kind,
            "destination": method.address().unwrap_or(&store),
            "description": method.choice().map_or("", |choice| choice.2),
        })
    };
    methods.iter().map(expectation).collect()
}
