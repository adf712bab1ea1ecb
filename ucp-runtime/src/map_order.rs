//! Maps in the order that their sender declares (overview, "`map_order`").
//!
//! The order of members in a JSON object says nothing. A sender that has a preference lists keys in
//! `map_order`; keys that it does not list follow, in the order of RFC 8785 section 3.2.3.

use serde_json::{Map, Value};
use std::collections::HashMap;

/// The entries of a registry of a profile or a response (`services`, `capabilities`,
/// `payment_handlers`), in the declared order: `ucp.{field}` by `ucp.map_order.{field}`. None when
/// there is no such map.
///
/// ```
/// use serde_json::json;
/// use ucp_runtime::map_order;
///
/// let profile = json!({"ucp": {
///     "payment_handlers": {"com.google.pay": [], "dev.shopify.shop_pay": [], "app.pay": []},
///     "map_order": {"payment_handlers": ["dev.shopify.shop_pay"]},
/// }});
/// let names: Vec<&str> = map_order::registry(&profile, "payment_handlers")
///     .map(|(name, _)| name)
///     .collect();
/// assert_eq!(names, ["dev.shopify.shop_pay", "app.pay", "com.google.pay"]);
/// ```
pub fn registry<'d>(
    document: &'d Value,
    field: &str,
) -> impl ExactSizeIterator<Item = (&'d str, &'d Value)> + use<'d> {
    let ucp = document.get("ucp").and_then(Value::as_object);
    of(ucp.and_then(|ucp| ucp.get(field)), ucp, field)
}

/// The entries of a map inside any object but the root of a document, in the order that the `ucp`
/// member beside it declares: `{field}` by `ucp.map_order.{field}`. None when there is no such map.
///
/// ```
/// use serde_json::json;
/// use ucp_runtime::map_order;
///
/// let config = json!({
///     "providers": {"com.example": 1, "app.example": 2},
///     "ucp": {"map_order": {"providers": ["com.example", "app.example"]}},
/// });
/// let (first, _) = map_order::member(&config, "providers").next().unwrap();
/// assert_eq!(first, "com.example");
/// ```
pub fn member<'d>(
    object: &'d Value,
    field: &str,
) -> impl ExactSizeIterator<Item = (&'d str, &'d Value)> + use<'d> {
    let ucp = object.get("ucp").and_then(Value::as_object);
    of(object.get(field), ucp, field)
}

fn of<'d>(
    target: Option<&'d Value>,
    ucp: Option<&'d Map<String, Value>>,
    field: &str,
) -> std::vec::IntoIter<(&'d str, &'d Value)> {
    let order = ucp.and_then(|ucp| ucp.get("map_order")?.get(field)?.as_array());
    let order = order.into_iter().flatten().filter_map(Value::as_str);
    let target = target.and_then(Value::as_object);
    let entries = target.into_iter().flatten();
    sort(entries.map(|(key, value)| (key.as_str(), value)), order)
}

/// The entries of any map in a declared order: those that `order` lists, each once, then the others
/// as RFC 8785 sorts them. What `order` lists and the map lacks is passed over.
///
/// ```
/// use std::collections::BTreeMap;
/// use ucp_runtime::map_order;
///
/// let map = BTreeMap::from([("a", 1), ("b", 2), ("c", 3)]);
/// let ordered = map_order::sort(map.iter().map(|(key, value)| (*key, value)), ["c", "x", "c"]);
/// assert_eq!(ordered.collect::<Vec<_>>(), [("c", &3), ("a", &1), ("b", &2)]);
/// ```
pub fn sort<'m, 'o, V>(
    entries: impl IntoIterator<Item = (&'m str, V)>,
    order: impl IntoIterator<Item = &'o str>,
) -> std::vec::IntoIter<(&'m str, V)> {
    let mut places = HashMap::new();
    for (place, key) in order.into_iter().enumerate() {
        places.entry(key).or_insert(place);
    }
    let mut entries: Vec<(&str, V)> = entries.into_iter().collect();
    entries.sort_by(|(a, _), (b, _)| {
        let place = |key: &str| places.get(key).copied().unwrap_or(usize::MAX);
        // RFC 8785 compares UTF-16 code units, which is not the order of UTF-8.
        (place(a).cmp(&place(b))).then_with(|| a.encode_utf16().cmp(b.encode_utf16()))
    });
    entries.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unusable_entries_are_passed_over() {
        let map = json!({"b": 1, "a": 2, "\u{ff21}": 3, "\u{1f600}": 4, "ucp": 5});
        for (order, keys) in [
            (
                json!({"m": ["ucp", "b", 7, null, "gone", "b", "a"]}),
                ["ucp", "b", "a", "\u{1f600}", "\u{ff21}"],
            ),
            (
                json!({"m": "b"}),
                ["a", "b", "ucp", "\u{1f600}", "\u{ff21}"],
            ),
            (
                json!({"other": ["b"]}),
                ["a", "b", "ucp", "\u{1f600}", "\u{ff21}"],
            ),
            (json!([]), ["a", "b", "ucp", "\u{1f600}", "\u{ff21}"]),
        ] {
            let at_root = json!({"ucp": {"m": map, "map_order": order}, "m": {"not": "this"}});
            let found: Vec<&str> = registry(&at_root, "m").map(|(key, _)| key).collect();
            assert_eq!(found, keys);
            let nested = json!({"m": map, "ucp": {"map_order": order, "m": {"not": "this"}}});
            let found: Vec<&str> = member(&nested, "m").map(|(key, _)| key).collect();
            assert_eq!(found, keys);
        }
        for absent in [json!(null), json!({"ucp": {"m": []}}), json!({"ucp": 1})] {
            assert_eq!(registry(&absent, "m").count(), 0);
            assert_eq!(member(&absent, "m").count(), 0);
        }
    }
}
