//! What the difficult contract's types read and write.

use serde_json::json;
use ucp_tests::hostile::{Cart, LineItem, NullableObject, NullableWords, Status};

#[test]
fn null_stays_null_where_a_named_type_allows_it() {
    let wire = json!({"id": "1", "self": "s", "1": 1, "undeclared": 2, "no": null, "nw": null});
    let cart: Cart = serde_json::from_value(wire.clone()).unwrap();
    assert_eq!((&cart.no, &cart.nw), (&Some(None), &Some(None)));
    assert_eq!(serde_json::to_value(&cart).unwrap(), wire);

    let inner: NullableObject = serde_json::from_value(json!({"next": null})).unwrap();
    assert_eq!(inner.next, Some(None));
    assert_eq!(serde_json::to_value(&inner).unwrap(), json!({"next": null}));
    let words: NullableWords = serde_json::from_value(json!("b")).unwrap();
    assert_eq!(words, NullableWords::B);
}

#[test]
fn names_that_fall_together_keep_their_values() {
    for value in [
        "a b", "a_b", "A-B", "Unknown", "unknown", "", " ", "é", "Self", "self", "²",
    ] {
        let read: Status = serde_json::from_value(json!(value)).unwrap();
        assert!(!matches!(read, Status::Unknown(_)), "{value}");
        assert_eq!(read.as_str(), value);
    }
    let item: LineItem = serde_json::from_value(json!({"a": "x"})).unwrap();
    assert_eq!(item.a.as_deref(), Some("x"));
}

#[test]
fn lists_and_maps_of_themselves_stay_json() {
    let wire = json!({"id": "1", "self": "s", "1": 1, "undeclared": 2, "rl": [[], [[]]], "rm": {"a": {"b": {}}}});
    let cart: Cart = serde_json::from_value(wire.clone()).unwrap();
    assert_eq!(cart.rl, Some(vec![json!([]), json!([[]])]));
    assert_eq!(serde_json::to_value(&cart).unwrap(), wire);
}
