//! Walking a table through generated types: what stands at each pointer, and whether it is what the
//! fact says.
//!
//! Two things are read from generated code. Types hold what exists, what is required and what it
//! holds; rules (`wire::Check`) hold the rest. A place that no type describes, such as the branches
//! of a condition, is described by rules alone: there even `type` and `required` are rules.

use crate::tables::{Fact, Table, split};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use ucp_tests::rules::Rule;
use ucp_tests::types::{Arm, Item, Member, Shape, Struct, Ty, Types};

/// What a fact's words became.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// How many facts were compared.
    pub(crate) checked: usize,
    /// How many words of facts were compared, by word.
    pub(crate) words: BTreeMap<String, usize>,
    /// How many words were excluded, by the rule that excludes them.
    pub(crate) excluded: BTreeMap<&'static str, usize>,
    /// `table pointer: what differs`, a list a fact.
    pub(crate) differing: BTreeMap<String, Vec<String>>,
}

impl Outcome {
    pub(crate) fn add(&mut self, other: Self) {
        self.checked += other.checked;
        self.differing.extend(other.differing);
        for (word, count) in other.words {
            *self.words.entry(word).or_default() += count;
        }
        for (rule, count) in other.excluded {
            *self.excluded.entry(rule).or_default() += count;
        }
    }
}

/// The words of facts that are not compared as they stand, and why. Nothing else is left out.
pub(crate) mod exclusions {
    /// `default` and `examples` of a value that is no member (an item, a branch): documentation
    /// stands on fields.
    pub(crate) const NO_FIELD: &str = "documentation of what is no field";
}

/// What stands at a pointer.
#[derive(Clone, Debug)]
struct Spot {
    /// The type; `None` where only rules describe the value.
    ty: Option<Ty>,
    /// The rules that a value there is held against.
    rules: Vec<Rule>,
    /// The field, for a member of a struct.
    member: Option<Member>,
    /// Whether it is described under a condition: a branch of the object above it, or a member that
    /// such a branch describes. That it is required is then a rule.
    conditional: bool,
    /// Whether the condition narrows what the type holds in any case: what it says is then a rule.
    narrowed: bool,
    /// Whether a value there must exist, by rules alone.
    required_by_rule: bool,
}

struct Walk<'w> {
    types: &'w Types,
    table: &'w Table,
    spots: BTreeMap<&'w str, Spot>,
    /// The last steps of the pointers below a pointer.
    children: BTreeMap<&'w str, Vec<&'w str>>,
    facts: BTreeMap<&'w str, &'w Fact>,
    outcome: Outcome,
}

/// Compares all facts of a table with the type that was generated for it.
pub(crate) fn compare(types: &Types, root: &Ty, table: &Table) -> Outcome {
    let mut walk = Walk {
        types,
        table,
        spots: BTreeMap::new(),
        children: BTreeMap::new(),
        facts: BTreeMap::new(),
        outcome: Outcome::default(),
    };
    for fact in &table.facts {
        walk.facts.insert(&fact.pointer, fact);
        if !fact.pointer.is_empty() {
            let (parent, step) = split(&fact.pointer);
            walk.children.entry(parent).or_default().push(step);
        }
    }
    let rules = match root {
        Ty::Named(name) => vec![Rule::Of(name.clone())],
        _ => Vec::new(),
    };
    let root = Spot {
        ty: Some(root.clone()),
        rules,
        member: None,
        conditional: false,
        narrowed: false,
        required_by_rule: true,
    };
    walk.spots.insert("", root);
    for fact in &table.facts {
        walk.fact(fact);
    }
    walk.outcome
}

impl<'w> Walk<'w> {
    fn differ(&mut self, fact: &Fact, what: impl Into<String>) {
        let place = format!("{} {}", self.table.name, fact.pointer);
        self.outcome
            .differing
            .entry(place)
            .or_default()
            .push(what.into());
    }

    /// Counts a word, and notes it when it is not so.
    fn hold(&mut self, fact: &Fact, word: &str, holds: bool, found: impl FnOnce() -> String) {
        *self.outcome.words.entry(word.to_owned()).or_default() += 1;
        if !holds {
            let said = fact.said.get(word).unwrap_or(&Value::Null);
            self.differ(fact, format!("{word} is {said}, generated {}", found()));
        }
    }

    fn fact(&mut self, fact: &'w Fact) {
        self.outcome.checked += 1;
        if !fact.pointer.is_empty() {
            let (parent, step) = split(&fact.pointer);
            let Some(above) = self.spots.get(parent).cloned() else {
                return self.differ(fact, "nothing above it was generated");
            };
            match self.step(&above, step, fact) {
                Ok(spot) => self.spots.insert(&fact.pointer, spot),
                Err(why) => return self.differ(fact, why),
            };
        }
        let Some(spot) = self.spots.get(fact.pointer.as_str()).cloned() else {
            return;
        };
        for word in fact.said.keys() {
            self.word(fact, &spot, word);
        }
        self.members(fact, &spot);
    }

    /// The rules with those of the types that they refer to.
    fn expanded(&self, rules: &[Rule]) -> Vec<Rule> {
        let mut found = Vec::new();
        for rule in rules {
            match rule {
                Rule::Of(name) => found.extend(
                    self.types
                        .items
                        .get(name)
                        .into_iter()
                        .flat_map(|item| item.rules.clone()),
                ),
                rule => found.push(rule.clone()),
            }
        }
        found
    }

    fn structure(&self, ty: Option<&Ty>) -> Option<&'w Struct> {
        match self.types.shape(ty?) {
            Some(Shape::Struct(of)) => Some(of),
            _ => None,
        }
    }

    /// One step down from what stands above.
    fn step(&self, above: &Spot, step: &str, fact: &Fact) -> Result<Spot, String> {
        let rules = self.expanded(&above.rules);
        let ty = match &above.ty {
            Some(Ty::Nullable(inner)) => Some(&**inner),
            other => other.as_ref(),
        };
        if let Some((kind, index)) = branch(step) {
            return self.branch(above, ty, &rules, kind, index, fact);
        }
        let inner = |name: &str| -> Vec<Rule> {
            let found = rules.iter().filter_map(|rule| match rule {
                Rule::Items(inner) if name == "[]" => Some(inner.clone()),
                Rule::Values(_, inner) if name == "{}" => Some(inner.clone()),
                Rule::Member(member, inner) if member == name => Some(inner.clone()),
                _ => None,
            });
            found.flatten().collect()
        };
        let mut spot = Spot {
            ty: None,
            rules: inner(step),
            member: None,
            conditional: above.narrowed,
            narrowed: above.narrowed,
            required_by_rule: Rule::said(&rules, "required").iter().any(|names| {
                names
                    .as_array()
                    .is_some_and(|names| names.iter().any(|name| name == step))
            }),
        };
        match (step, ty) {
            ("[]", Some(Ty::List(item))) => spot.ty = Some((**item).clone()),
            ("{}", Some(Ty::Map(value))) => spot.ty = Some((**value).clone()),
            // The rest of a struct is JSON: what it must be is a rule.
            ("{}", Some(_)) if self.structure(ty).is_some() => {}
            // JSON that no type describes further.
            (_, None | Some(Ty::Any | Ty::FreeForm)) => {}
            (name, Some(_)) => {
                let Some(of) = self.structure(ty) else {
                    return Err(format!("a {ty:?} has no `{name}`"));
                };
                let Some(member) = of.members.get(name) else {
                    return Err("not generated".to_owned());
                };
                spot.ty = Some(member.ty.clone());
                spot.member = Some(member.clone());
                spot.conditional |= above.conditional;
                // Declared by the object itself as well, the branch narrows the member.
                spot.narrowed |= above.conditional && self.unconditionally(&fact.pointer);
            }
        }
        Ok(spot)
    }

    /// A branch: an arm of a union, one of the forms of `OneOrMany`, or a condition.
    fn branch(
        &self,
        above: &Spot,
        ty: Option<&Ty>,
        rules: &[Rule],
        kind: &str,
        index: usize,
        fact: &Fact,
    ) -> Result<Spot, String> {
        let mut spot = Spot {
            ty: None,
            rules: Vec::new(),
            member: None,
            conditional: above.narrowed,
            narrowed: above.narrowed,
            required_by_rule: false,
        };
        match ty.map(|ty| (ty, self.types.shape(ty))) {
            Some((_, Some(Shape::Union { arms, .. }))) => {
                let arm = self.arm(arms, &fact.pointer)?;
                spot.ty = Some(arm.ty.clone());
                // The union's rules must lead to the arm's.
                let leads = |rule: &&Rule| matches!((rule, &arm.ty), (Rule::Of(of), Ty::Named(name)) if of == name);
                spot.rules = under_conditions(rules)
                    .filter(leads)
                    .take(1)
                    .cloned()
                    .collect();
                return Ok(spot);
            }
            Some((Ty::OneOrMany(one), _)) => {
                let many = Ty::List(one.clone());
                let is_list = fact.get("type").is_some_and(|name| name == "array");
                spot.ty = Some(if is_list { many } else { (**one).clone() });
                spot.rules = rules.to_vec();
                return Ok(spot);
            }
            // A condition on the object: its members are those of the object.
            Some((of, Some(Shape::Struct(_)))) => {
                spot.ty = Some(of.clone());
                spot.conditional = true;
            }
            _ => {}
        }
        let branches = rules.iter().filter_map(|rule| match rule {
            Rule::OneOf(branches) if kind == "oneOf" => branches.get(index).cloned(),
            Rule::AnyOf(branches) if kind == "anyOf" => branches.get(index).cloned(),
            Rule::When(condition, then, _)
                if kind == "then" && Some(&Rule::schema(condition)) == fact.get("if") =>
            {
                Some(then.clone())
            }
            _ => None,
        });
        let mut branches = branches;
        // A branch of which the view leaves nothing says nothing.
        let words = ["pointer", "type", "required", "if", "omitted"];
        let empty = !self.children.contains_key(fact.pointer.as_str())
            && fact.said.keys().all(|word| words.contains(&word.as_str()));
        spot.rules = match branches.next() {
            Some(found) => found,
            None if empty && fact.get("omitted").is_some() => Vec::new(),
            None => return Err(format!("no rule says this; above it is {:?}", above.ty)),
        };
        Ok(spot)
    }

    /// Whether a member that a branch describes is declared by the object itself too.
    fn unconditionally(&self, pointer: &str) -> bool {
        let (mut object, name) = split(pointer);
        while branch(split(object).1).is_some() {
            object = split(object).0;
        }
        let steps = self.children.get(object);
        steps.is_some_and(|steps| steps.contains(&name))
    }

    /// The arm that has the members of a branch, and its tag.
    fn arm<'a>(&self, arms: &'a [Arm], pointer: &str) -> Result<&'a Arm, String> {
        let members = self.declared(pointer);
        let tag = |arm: &Arm| {
            arm.tag.as_ref().is_none_or(|tag| {
                members.iter().any(|name| {
                    let fact = self.facts.get(format!("{pointer}/{name}").as_str());
                    fact.and_then(|fact| fact.get("const"))
                        .is_some_and(|value| value == tag.as_str())
                })
            })
        };
        let same = |arm: &Arm| {
            self.structure(Some(&arm.ty)).is_some_and(|of| {
                of.members
                    .keys()
                    .map(String::as_str)
                    .collect::<BTreeSet<_>>()
                    == members
            })
        };
        let found: Vec<&Arm> = arms.iter().filter(|arm| tag(arm) && same(arm)).collect();
        match found.as_slice() {
            [one] => Ok(one),
            found => Err(format!(
                "{} arms of the union have its tag and its members {members:?}",
                found.len()
            )),
        }
    }

    /// The members that a table declares for an object, those under conditions included.
    fn declared(&self, pointer: &str) -> BTreeSet<&'w str> {
        let mut found = BTreeSet::new();
        let steps = self
            .children
            .get(pointer)
            .map(Vec::as_slice)
            .unwrap_or_default();
        for step in steps {
            match branch(step) {
                Some(_) => found.extend(self.declared(&format!("{pointer}/{step}"))),
                None if *step == "{}" || *step == "[]" => {}
                None => {
                    found.insert(*step);
                }
            }
        }
        let undeclared = self
            .facts
            .get(pointer)
            .map(|fact| fact.strings("required_undeclared"));
        // What a schema requires without declaring it exists too.
        let known = self.table.facts.iter().find(|fact| fact.pointer == pointer);
        if undeclared.is_some_and(|names| !names.is_empty())
            && let Some(fact) = known
        {
            found.extend(fact.strings("required_undeclared"));
        }
        found
    }

    /// What the table omits or does not know must not exist.
    fn members(&mut self, fact: &'w Fact, spot: &Spot) {
        let inner = match &spot.ty {
            Some(Ty::Nullable(inner)) => Some(&**inner),
            other => other.as_ref(),
        };
        let Some(of) = self.structure(inner).filter(|_| !spot.narrowed) else {
            return;
        };
        if fact.get("recursive").is_some() {
            // The table ends here; the type begins again.
            return;
        }
        if spot.conditional && branch(split(&fact.pointer).1).is_some() {
            // The object is compared where it stands, with the members of all its branches.
            return;
        }
        let declared = self.declared(&fact.pointer);
        let more: Vec<&String> = of
            .members
            .keys()
            .filter(|name| !declared.contains(name.as_str()))
            .collect();
        if !more.is_empty() {
            self.differ(fact, format!("generated and not declared: {more:?}"));
        }
        if !of.open {
            self.differ(fact, "undeclared members are lost");
        }
    }

    fn word(&mut self, fact: &'w Fact, spot: &Spot, word: &str) {
        let said = fact.said.get(word).unwrap_or(&Value::Null);
        match word {
            // How the table was made: what is meant stands in `type`, `const` and the children.
            "pointer" | "type_implied" | "type_from_const" | "refs" => {}
            "type" => self.ty(fact, spot),
            "required" => {
                let Some(required) = said.as_bool() else {
                    return;
                };
                if fact.pointer.is_empty() {
                    return;
                }
                let found = match &spot.member {
                    Some(member) if !spot.conditional => member.required,
                    _ => spot.required_by_rule,
                };
                self.hold(fact, word, found == required, || found.to_string());
            }
            "enum" => match self.vocabulary(spot) {
                Some((name, values)) => {
                    let listed: BTreeSet<&str> = fact.strings("enum").into_iter().collect();
                    let known: BTreeSet<&str> = values.iter().map(String::as_str).collect();
                    let ruled = spot.rules.contains(&Rule::Of(name.clone()));
                    self.hold(fact, word, listed == known && ruled, || {
                        format!("{name} {known:?}, in the rules: {ruled}")
                    });
                }
                None => match &spot.ty {
                    // One of the values is the only one.
                    Some(Ty::Constant(value)) if !spot.conditional => {
                        let listed = fact.strings("enum").contains(&value.as_str());
                        self.hold(fact, word, listed, || value.clone());
                    }
                    _ => self.rule(fact, spot, word, said),
                },
            },
            "const" => match &spot.ty {
                Some(Ty::Constant(value)) if !spot.conditional => {
                    self.hold(fact, word, said == value.as_str(), || value.clone());
                }
                _ => self.rule(fact, spot, word, said),
            },
            "additionalProperties" => self.rest(fact, spot, said),
            "omitted" => {
                let of = self.structure(spot.ty.as_ref());
                // One branch may omit what another has.
                let declared = self.declared(&fact.pointer);
                let there: Vec<&str> =
                    fact.strings("omitted")
                        .into_iter()
                        .filter(|name| !declared.contains(name))
                        .filter(|name| {
                            let ruled = spot.rules.iter().any(
                                |rule| matches!(rule, Rule::Member(member, _) if member == name),
                            );
                            ruled
                                || of.is_some_and(|of| of.members.contains_key(*name))
                                    && !spot.conditional
                        })
                        .collect();
                self.hold(fact, word, there.is_empty(), || format!("{there:?}"));
            }
            "required_undeclared" => {
                let rules = self.expanded(&spot.rules);
                let required = Rule::said(&rules, "required");
                let missing: Vec<&str> = fact
                    .strings("required_undeclared")
                    .into_iter()
                    .filter(|name| {
                        let ruled = required.iter().any(|names| {
                            names
                                .as_array()
                                .is_some_and(|names| names.iter().any(|known| known == name))
                        });
                        let typed = !spot.conditional
                            && self
                                .structure(spot.ty.as_ref())
                                .and_then(|of| of.members.get(*name))
                                .is_some_and(|member| member.required);
                        !ruled && !typed
                    })
                    .collect();
                self.hold(fact, word, missing.is_empty(), || {
                    format!("without {missing:?}")
                });
            }
            "recursive" => self.recursive(fact, spot),
            "default" => {
                let text = said
                    .as_str()
                    .map_or_else(|| said.to_string(), ToOwned::to_owned);
                self.documented(fact, spot, word, &format!("Absent means `{text}`."));
            }
            "examples" => {
                let examples: Vec<String> = fact
                    .get(word)
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                    .map(|example| {
                        example
                            .as_str()
                            .map_or_else(|| example.to_string(), ToOwned::to_owned)
                    })
                    .map(|example| format!("`{example}`"))
                    .collect();
                self.documented(fact, spot, word, &examples.join(", "));
            }
            "deprecated" => {
                let found = spot.member.as_ref().is_some_and(|member| member.deprecated)
                    || self.item(spot).is_some_and(|item| item.deprecated);
                self.hold(fact, word, said == &Value::from(found), || {
                    found.to_string()
                });
            }
            "if" => {
                // The branch was found by its condition.
                self.hold(fact, word, true, String::new);
            }
            "contains" => {
                let rules = self.expanded(&spot.rules);
                let found = Rule::said(&rules, word);
                let all = said
                    .as_array()
                    .into_iter()
                    .flatten()
                    .all(|one| found.contains(one));
                self.hold(fact, word, all, || format!("{found:?}"));
            }
            "propertyNames" => {
                // A `$ref` is written relative to a file that the table does not name.
                let rules = self.expanded(&spot.rules);
                let found = Rule::said(&rules, word);
                let holds = match said {
                    Value::String(_) => found.iter().any(|names| names.get("pattern").is_some()),
                    schema => found
                        .iter()
                        .any(|names| names.get("pattern") == schema.get("pattern")),
                };
                self.hold(fact, word, holds, || format!("{found:?}"));
            }
            _ => self.rule(fact, spot, word, said),
        }
    }

    /// A keyword that rules say as the schema does.
    fn rule(&mut self, fact: &Fact, spot: &Spot, word: &str, said: &Value) {
        let rules = self.expanded(&spot.rules);
        let found = Rule::said(&rules, word);
        // Where several schemas bound the same value, the table lists all bounds.
        let each = said.as_array().filter(|_| !matches!(word, "enum" | "type"));
        let holds = found.iter().any(|value| alike(value, said))
            || each.is_some_and(|each| each.iter().all(|one| found.contains(one)));
        self.hold(fact, word, holds, || format!("{found:?}"));
    }

    fn item(&self, spot: &Spot) -> Option<&'w Item> {
        match &spot.ty {
            Some(Ty::Named(name)) => self.types.items.get(name),
            _ => None,
        }
    }

    fn vocabulary(&self, spot: &Spot) -> Option<(&'w String, &'w Vec<String>)> {
        let ty = match &spot.ty {
            Some(Ty::Nullable(inner)) => &**inner,
            Some(other) => other,
            None => return None,
        };
        let Ty::Named(name) = ty else { return None };
        match self.types.items.get_key_value(name) {
            Some((
                name,
                Item {
                    shape: Shape::Vocabulary(values),
                    ..
                },
            )) => Some((name, values)),
            _ => None,
        }
    }

    fn documented(&mut self, fact: &Fact, spot: &Spot, word: &str, text: &str) {
        match &spot.member {
            Some(member) if !matches!(member.ty, Ty::Constant(_)) => {
                let holds = member.docs.contains(text);
                self.hold(fact, word, holds, || format!("`{}`", member.docs));
            }
            _ => {
                *self
                    .outcome
                    .excluded
                    .entry(exclusions::NO_FIELD)
                    .or_default() += 1
            }
        }
    }

    fn rest(&mut self, fact: &Fact, spot: &Spot, said: &Value) {
        let word = "additionalProperties";
        let rules = self.expanded(&spot.rules);
        match (said, &spot.ty) {
            // The values have facts of their own.
            (Value::String(_), Some(Ty::Map(_))) => self.hold(fact, word, true, String::new),
            (Value::String(_), ty) => {
                let ruled = !Rule::said(&rules, word).is_empty();
                let ty = format!("{ty:?}");
                self.hold(fact, word, ruled, || {
                    format!("{ty} without a rule for the rest")
                });
            }
            // Reading keeps what a later release adds; sending it is refused by a rule.
            (Value::Bool(false), _) => {
                let declared: Vec<String> = self
                    .declared(&fact.pointer)
                    .into_iter()
                    .map(ToOwned::to_owned)
                    .collect();
                let closed = rules.iter().find_map(|rule| match rule {
                    Rule::Closed(names) => Some(names),
                    _ => None,
                });
                let holds = closed.is_some_and(|names| {
                    let known: BTreeSet<&String> = names.iter().collect();
                    known == declared.iter().collect()
                });
                let closed = format!("{closed:?}");
                self.hold(fact, word, holds, || closed);
            }
            // An open object: `members` sees to structs, all else holds anything.
            (_, ty) => {
                let holds = match ty {
                    None | Some(Ty::Any | Ty::FreeForm) => true,
                    ty => self.structure(ty.as_ref()).is_some_and(|of| of.open),
                };
                let ty = format!("{ty:?}");
                self.hold(fact, word, holds, || ty);
            }
        }
    }

    /// The type that the fact names, in Rust or, where no type describes the value, as a rule.
    fn ty(&mut self, fact: &'w Fact, spot: &Spot) {
        let word = "type";
        let said = fact.said.get(word).unwrap_or(&Value::Null);
        let names: BTreeSet<&str> = match said {
            Value::String(name) => [name.as_str()].into(),
            _ => fact.strings(word).into_iter().collect(),
        };
        if names.is_empty() {
            return self.untyped(fact, spot);
        }
        let Some(ty) = &spot.ty else {
            return self.rule(fact, spot, word, said);
        };
        if branch(split(&fact.pointer).1).is_some() && spot.conditional {
            // A condition on an object is about an object.
            return self.hold(fact, word, names.contains("object"), || "object".to_owned());
        }
        let (ty, nullable) = match ty {
            Ty::Nullable(inner) => (&**inner, true),
            other => (other, false),
        };
        let mut holds = nullable == names.contains("null");
        let name = names.iter().find(|name| **name != "null").copied();
        holds &= match (name, ty) {
            (Some("string"), Ty::Text | Ty::Constant(_))
            | (Some("integer"), Ty::Integer)
            | (Some("number"), Ty::Number)
            | (Some("boolean"), Ty::Boolean)
            | (Some("array"), Ty::List(_))
            | (Some("object"), Ty::FreeForm | Ty::Map(_)) => true,
            (Some("string"), ty) => matches!(self.types.shape(ty), Some(Shape::Vocabulary(_))),
            (Some("object"), ty) => matches!(
                self.types.shape(ty),
                Some(Shape::Struct(_) | Shape::Union { .. })
            ),
            _ => false,
        };
        // An object or a list about which the table knows more must not be less in Rust.
        if let Some(steps) = self.children.get(fact.pointer.as_str()) {
            let lost = steps.iter().any(|step| match branch(step) {
                Some(("oneOf", _)) => !matches!(self.types.shape(ty), Some(Shape::Union { .. })),
                Some(_) => false,
                None => match *step {
                    "[]" => !matches!(ty, Ty::List(_)),
                    "{}" => !matches!(ty, Ty::Map(_)) && self.structure(Some(ty)).is_none(),
                    _ => self.structure(Some(ty)).is_none(),
                },
            });
            // A condition cannot narrow a type; its rules say what more there must be.
            holds &= !lost || spot.conditional;
        }
        let ty = format!("{ty:?}");
        self.hold(fact, word, holds, || ty);
    }

    /// A value for which the schema names no type: anything, or what its branches say.
    fn untyped(&mut self, fact: &'w Fact, spot: &Spot) {
        let steps = self.children.get(fact.pointer.as_str());
        let forms = steps
            .into_iter()
            .flatten()
            .filter(|step| matches!(branch(step), Some(("oneOf", _))))
            .count();
        let text = fact.get("const").is_some_and(Value::is_string);
        let empty = fact
            .said
            .keys()
            .all(|word| matches!(word.as_str(), "pointer" | "type" | "required"));
        let holds = match &spot.ty {
            None => true,
            Some(_) if spot.conditional || fact.get("recursive").is_some() => true,
            Some(ty) if forms > 0 => {
                matches!(ty, Ty::Any | Ty::OneOrMany(_))
                    || matches!(self.types.shape(ty), Some(Shape::Union { arms, .. }) if arms.len() == forms)
            }
            Some(Ty::Text | Ty::Constant(_)) => text,
            Some(Ty::Any) => empty,
            Some(_) => false,
        };
        let ty = format!("{:?}", spot.ty);
        self.hold(fact, "type", holds, || ty);
    }

    /// The table ends where a definition contains itself; the type must be the one above.
    fn recursive(&mut self, fact: &'w Fact, spot: &Spot) {
        let names = fact.strings("recursive");
        let mut pointer = fact.pointer.as_str();
        let mut above = None;
        while !pointer.is_empty() && above.is_none() {
            pointer = split(pointer).0;
            let refs = self.facts.get(pointer).map(|fact| fact.strings("refs"));
            if refs.is_some_and(|refs| names.iter().any(|name| refs.contains(name))) {
                above = self.spots.get(pointer);
            }
        }
        let expected = above.and_then(|above| above.ty.clone());
        let holds = match (&expected, &spot.ty) {
            // Where only rules describe the value, they are those of the type.
            (Some(Ty::Named(name)), None) => spot.rules.contains(&Rule::Of(name.clone())),
            (expected, ty) => expected.is_some() && expected == ty,
        };
        let found = format!("{:?} below {expected:?}", spot.ty);
        self.hold(fact, "recursive", holds, || found);
    }
}

/// `("oneOf", 1)` for `<oneOf:1>`.
fn branch(step: &str) -> Option<(&str, usize)> {
    let (kind, index) = step.strip_prefix('<')?.strip_suffix('>')?.split_once(':')?;
    Some((kind, index.parse().ok()?))
}

/// The rules that a union holds its arms against.
fn under_conditions(rules: &[Rule]) -> Box<dyn Iterator<Item = &Rule> + '_> {
    Box::new(rules.iter().flat_map(|rule| match rule {
        Rule::When(_, then, otherwise) => {
            let inner = under_conditions(then).chain(under_conditions(otherwise));
            Box::new(inner) as Box<dyn Iterator<Item = &Rule>>
        }
        rule => Box::new(std::iter::once(rule)),
    }))
}

/// Equal, the order of a list left aside: in `enum`, `type` and `required` it says nothing.
fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().all(|item| b.contains(item))
        }
        _ => a == b,
    }
}
