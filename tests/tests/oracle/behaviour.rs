//! Compiled types do what their source says. The facts are compared with source that was read back;
//! here every type of every published contract is compiled, fed and written again, so that what was
//! read back is also what happens.

use serde_json::{Map, Value, json};
use ucp_tests::registry::{Again, CLIENTS, Client};
use ucp_tests::types::{Member, Shape, Struct, Ty, Types};

/// A value of a type, with its required members and no others.
fn sample(types: &Types, ty: &Ty) -> Value {
    match ty {
        Ty::Any => json!(["any", 1.5, null]),
        Ty::Boolean => json!(true),
        Ty::Integer => json!(7),
        Ty::Number => json!(7.5),
        Ty::Text => json!("text"),
        Ty::Constant(value) => json!(value),
        Ty::FreeForm => json!({ "free": { "form": 1 } }),
        Ty::List(item) => json!([sample(types, item)]),
        Ty::Map(value) => json!({ "key": sample(types, value) }),
        Ty::Nullable(inner) | Ty::OneOrMany(inner) => sample(types, inner),
        Ty::Named(name) => match types.shape(ty) {
            Some(Shape::Struct(of)) => Value::Object(members(types, of, |member| member.required)),
            Some(Shape::Vocabulary(values)) => json!(values.first()),
            Some(Shape::Union { arms, .. }) => {
                sample(types, arms.first().map_or(&Ty::Any, |arm| &arm.ty))
            }
            None => panic!("{name} was not generated"),
        },
    }
}

fn members(types: &Types, of: &Struct, wanted: impl Fn(&Member) -> bool) -> Map<String, Value> {
    of.members
        .iter()
        .filter(|(_, member)| wanted(member))
        .map(|(name, member)| (name.clone(), sample(types, &member.ty)))
        .collect()
}

/// A value that no type takes, save one that takes any.
fn misfit(types: &Types, ty: &Ty) -> Option<Value> {
    match ty {
        Ty::Any => None,
        Ty::Nullable(inner) => misfit(types, inner),
        Ty::OneOrMany(_) => Some(json!({ "neither": true })),
        Ty::Text | Ty::Constant(_) => Some(json!(7)),
        Ty::Named(_) if matches!(types.shape(ty), Some(Shape::Vocabulary(_))) => Some(json!(7)),
        _ => Some(json!("misfit")),
    }
}

struct Probe<'p> {
    client: &'p Client,
    name: &'p str,
    wrong: &'p mut Vec<String>,
    probes: usize,
}

impl Probe<'_> {
    fn again(&self, value: Value) -> Again {
        (self.client.again)(self.name, value)
            .unwrap_or_else(|| panic!("{}: {} was not compiled", self.client.document, self.name))
    }

    fn wrong(&mut self, what: String) {
        let place = format!("{} {}", self.client.document, self.name);
        self.wrong.push(format!("{place}: {what}"));
    }

    /// The value is read as `back`, with a note exactly when the two differ.
    fn becomes(&mut self, what: &str, value: Value, back: &Value) {
        self.probes += 1;
        match self.again(value.clone()) {
            Ok((found, notes)) if found == *back && notes.is_empty() == (value == *back) => {}
            found => self.wrong(format!("{what}: {value} becomes {found:?}, not {back}")),
        }
    }

    fn refused(&mut self, what: &str, value: Value) {
        self.probes += 1;
        if let Ok((found, _)) = self.again(value) {
            self.wrong(format!("{what} is read as {found}"));
        }
    }

    fn object(&mut self, types: &Types, of: &Struct) {
        let mut full = members(types, of, |_| true);
        full.insert("undeclared member".to_owned(), json!([1, { "kept": null }]));
        let all = Value::Object(full.clone());
        self.becomes("all members", all.clone(), &all);
        for (name, member) in &of.members {
            let with = |value: Option<Value>| {
                let mut members = full.clone();
                match value {
                    Some(value) => members.insert(name.clone(), value),
                    None => members.remove(name),
                };
                Value::Object(members)
            };
            let without = format!("without `{name}`");
            let null = format!("`{name}: null`");
            match (&member.ty, member.required) {
                (_, false) => self.becomes(&without, with(None), &with(None)),
                // A map that is not there is empty.
                (Ty::Map(_), true) => self.becomes(&without, with(None), &with(Some(json!({})))),
                _ => self.refused(&without, with(None)),
            }
            match (&member.ty, member.required) {
                (Ty::Nullable(_), _) | (Ty::Any, true) => {
                    let value = with(Some(Value::Null));
                    self.becomes(&null, value.clone(), &value);
                }
                (_, false) => self.becomes(&null, with(Some(Value::Null)), &with(None)),
                _ => self.refused(&null, with(Some(Value::Null))),
            }
            if let Some(value) = misfit(types, &member.ty) {
                self.refused(&format!("a misfit of `{name}`"), with(Some(value)));
            }
            if member.safe {
                let value = with(Some(json!(9_007_199_254_740_992_i64)));
                self.refused(&format!("`{name}` beyond 2^53"), value);
            }
        }
    }
}

#[test]
fn compiled_types_do_what_their_source_says() {
    if ucp_tests::shared::folder().is_none() {
        return;
    }
    let mut wrong = Vec::new();
    let (mut count, mut probes) = (0, 0);
    for client in CLIENTS {
        let types = client.types();
        for (name, item) in &types.items {
            let mut probe = Probe {
                client,
                name,
                wrong: &mut wrong,
                probes: 0,
            };
            match &item.shape {
                Shape::Struct(of) => probe.object(&types, of),
                Shape::Vocabulary(values) => {
                    for value in values.iter().map(String::as_str).chain(["not listed yet"]) {
                        probe.becomes("a value", json!(value), &json!(value));
                    }
                    probe.refused("a number", json!(7));
                }
                Shape::Union { tag, arms } => {
                    for arm in arms {
                        let value = sample(&types, &arm.ty);
                        probe.becomes("an arm", value.clone(), &value);
                    }
                    let tag = tag.as_deref().unwrap_or("undeclared");
                    let value = json!({ tag: "not listed yet", "more": [1] });
                    probe.probes += 1;
                    if !matches!(probe.again(value.clone()), Ok((back, _)) if back == value) {
                        probe.wrong(format!("{value} is lost"));
                    }
                }
            }
            count += 1;
            probes += probe.probes;
        }
    }
    for what in &wrong {
        println!("{what}");
    }
    println!(
        "types: {count} compiled, {probes} probes, {} wrong",
        wrong.len()
    );
    assert!(count > 0, "no type was compiled");
    assert_eq!(wrong.len(), 0);
}
