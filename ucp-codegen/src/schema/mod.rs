//! Stage `schema`: from JSON Schema 2020-12 with UCP's marks to a graph of shapes.
//!
//! A type is identified by the set of places that all describe it (a property may be refined in
//! several branches) and by the view. `allOf`, `$ref` and their siblings are intersected into one
//! shape; a branch that only repeats what another branch includes is dropped, so that the narrower
//! definition gives the type its name. Marks are applied to each object before it is intersected,
//! as the protocol's own tool does.

mod check;
mod layers;
mod marks;
mod share;

use crate::diagnostics::{Code, Diagnostics};
use crate::source::Source;
use crate::tree::{At, Place};
pub(crate) use check::{Check, Literal};
use layers::{Alternatives, Merged, Types};
pub(crate) use marks::View;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// How deep schemas may lie in each other: far beyond what contracts do, far within what a stack holds.
const DEEPEST: usize = 50;

/// A node of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeId(pub(crate) usize);

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Type {
    /// Any JSON value.
    Any,
    Boolean,
    Integer,
    /// An integer that every JSON reader keeps: within 2^53.
    SafeInteger,
    Number,
    String,
    /// A string that can only be this one.
    Constant(String),
    /// An object about which nothing is declared.
    FreeForm,
    List(Box<Type>),
    Map(Box<Type>),
    Nullable(Box<Type>),
    OneOrMany(Box<Type>),
    Node(NodeId),
}

impl Type {
    /// The nodes that the type mentions, with whether a list or map stands between.
    pub(crate) fn nodes(&self) -> Option<(NodeId, bool)> {
        match self {
            Self::Node(id) => Some((*id, false)),
            Self::Nullable(inner) => inner.nodes(),
            Self::List(inner) | Self::Map(inner) => inner.nodes().map(|(id, _)| (id, true)),
            Self::OneOrMany(inner) => inner.nodes(),
            _ => None,
        }
    }
}

impl Type {
    /// The type behind `null` being allowed.
    fn innermost(&self) -> &Self {
        match self {
            Self::Nullable(inner) => inner.innermost(),
            other => other,
        }
    }

    pub(crate) fn has_float(&self) -> bool {
        match self {
            Self::Number => true,
            Self::List(inner)
            | Self::Map(inner)
            | Self::Nullable(inner)
            | Self::OneOrMany(inner) => inner.has_float(),
            _ => false,
        }
    }
}

/// The largest integer that every JSON reader keeps (RFC 8259 section 6).
const SAFE: i64 = 9_007_199_254_740_991;

/// What is said about a value for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Docs {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    /// Sentences about constraints, defaults and examples.
    pub(crate) facts: Vec<String>,
    /// Set when the contract deprecates it, with its reason when it gives one.
    pub(crate) deprecated: Option<String>,
    /// Where the contract gives a value for its absence, and values as examples.
    pub(crate) default: Option<Place>,
    pub(crate) examples: Option<Place>,
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// The name on the wire.
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) required: bool,
    pub(crate) docs: Docs,
    /// The last place that declares it, which is the narrowest.
    pub(crate) origin: Option<Place>,
    pub(crate) checks: Vec<Check<NodeId>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Arm {
    pub(crate) ty: Type,
    /// For a tagged union: the tag's value.
    pub(crate) tag: Option<String>,
    /// For an untagged union: the members that only this arm requires. Empty for the last arm.
    pub(crate) members: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Object(Vec<Field>),
    /// Known strings.
    Vocabulary(Vec<String>),
    Union {
        tag: Option<String>,
        arms: Vec<Arm>,
    },
}

impl Shape {
    /// The types of the fields or arms.
    pub(crate) fn types(&self) -> Vec<&Type> {
        match self {
            Self::Vocabulary(_) => Vec::new(),
            Self::Object(fields) => fields.iter().map(|field| &field.ty).collect(),
            Self::Union { arms, .. } => arms.iter().map(|arm| &arm.ty).collect(),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) places: Vec<Place>,
    pub(crate) view: View,
    pub(crate) shape: Shape,
    pub(crate) docs: Docs,
    /// Rules about the object as a whole.
    pub(crate) checks: Vec<Check<NodeId>>,
}

impl Node {
    /// Whether a rule of a member or of the object as a whole says something, where `known` tells of
    /// other types.
    pub(crate) fn demands(&self, known: &impl Fn(&NodeId) -> bool) -> bool {
        let fields = match &self.shape {
            Shape::Object(fields) => fields.as_slice(),
            Shape::Vocabulary(_) | Shape::Union { .. } => &[],
        };
        let fields = fields.iter().flat_map(|field| &field.checks);
        fields.chain(&self.checks).any(|check| check.says(known))
    }

    /// The rules of the members, then those of the object as a whole.
    pub(crate) fn all_checks(&self) -> Vec<Check<NodeId>> {
        let mut checks = Vec::new();
        if let Shape::Object(fields) = &self.shape {
            let ruled = fields.iter().filter(|field| !field.checks.is_empty());
            checks
                .extend(ruled.map(|field| Check::Member(field.name.clone(), field.checks.clone())));
        }
        checks.extend(self.checks.iter().cloned());
        checks
    }
}

/// A definition onto which extensions are composed.
#[derive(Clone, Debug)]
pub(crate) struct Composition {
    pub(crate) base: Place,
    pub(crate) overlays: Vec<Place>,
}

/// The graph of everything that the roots reach.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    nodes: Vec<Node>,
    compositions: Vec<Composition>,
    /// For each node, the node that stands for it: views that agree share one.
    shared: Vec<NodeId>,
}

impl Graph {
    pub(crate) fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0)
    }

    /// The definition that a set of places comes from, when the contract names one: the definition
    /// itself, or the base of a composition.
    pub(crate) fn definition(&self, source: &Source, places: &[Place]) -> Option<Place> {
        let composed = self
            .compositions
            .iter()
            .find(|composition| composition.covers(places));
        composed
            .map(|composition| composition.base)
            .or_else(|| match places {
                [place] if is_definition(source.at(*place)) => Some(*place),
                _ => None,
            })
    }

    /// The node that stands for all views that agree with `id`.
    pub(crate) fn shared(&self, id: NodeId) -> NodeId {
        self.shared.get(id.0).copied().unwrap_or(id)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId)
    }
}

/// Reads schemas into a graph.
pub(crate) struct Reader<'a> {
    pub(crate) source: &'a Source,
    pub(crate) diagnostics: &'a mut Diagnostics,
    compositions: Vec<Composition>,
    nodes: Vec<Node>,
    known: FxHashMap<(Vec<Place>, View), Type>,
    closures: FxHashMap<Place, Rc<FxHashSet<Place>>>,
    merged: FxHashMap<(Vec<Place>, View), Rc<Merged>>,
    /// What is the same in every view.
    unmarked: FxHashMap<Vec<Place>, Rc<Merged>>,
    /// The types that are being read, the outermost first.
    open: Vec<(Vec<Place>, View)>,
    checked: FxHashSet<Place>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(source: &'a Source, diagnostics: &'a mut Diagnostics) -> Self {
        Self {
            source,
            diagnostics,
            compositions: Vec::new(),
            nodes: Vec::new(),
            known: FxHashMap::default(),
            open: Vec::new(),
            closures: FxHashMap::default(),
            merged: FxHashMap::default(),
            unmarked: FxHashMap::default(),
            checked: FxHashSet::default(),
        }
    }

    /// Sets what is composed; before anything is read into a type.
    pub(crate) fn set_compositions(&mut self, compositions: Vec<Composition>) {
        self.compositions = compositions;
    }

    /// Ends reading: views that agree are shared.
    pub(crate) fn finish(self) -> Graph {
        let shared = share::share(self.source, &self.nodes);
        Graph {
            nodes: self.nodes,
            compositions: self.compositions,
            shared,
        }
    }

    /// The branches of a body that is `oneOf` alternatives; the body itself when it is not.
    pub(crate) fn branches(&self, place: Place) -> Vec<Place> {
        let place = self.target(place);
        let branches: Vec<Place> = alternatives(self.source.at(place))
            .map(|branch| self.target(branch))
            .collect();
        if branches.is_empty() {
            return vec![place];
        }
        branches
    }

    /// Whether a schema is an error envelope: `ucp.status` can only be `error`.
    pub(crate) fn is_error(&mut self, place: Place) -> bool {
        let merged = self.merge(&[place], &View::Response);
        let Some(ucp) = merged
            .properties
            .get("ucp")
            .map(|property| property.places.clone())
        else {
            return false;
        };
        let merged = self.merge(&ucp, &View::Response);
        let Some(status) = merged
            .properties
            .get("status")
            .map(|property| property.places.clone())
        else {
            return false;
        };
        let status = self.merge(&status, &View::Response);
        self.constant(&status) == Some("error")
    }

    /// The string that is the only value.
    fn constant(&self, merged: &Merged) -> Option<&'a str> {
        self.source.at(merged.constant?).as_str()
    }

    /// The type that a schema describes in a view.
    pub(crate) fn type_of(&mut self, places: &[Place], view: &View) -> Type {
        let places = self.identity(places);
        let key = (places.clone(), view.clone());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        // A list or map of itself has no name to end the recursion at: its items stay JSON.
        if self.open.contains(&key) {
            return Type::Any;
        }
        if self.open.len() >= DEEPEST {
            if let Some(place) = key.0.first() {
                self.too_deep(*place);
            }
            return Type::Any;
        }
        self.open.push(key.clone());
        let mut merged = self.merge(&places, view);
        if let Some(composition) = self.compositions.iter().find(|it| it.covers(&places)) {
            // What is composed reads like its base, not like the last extension.
            let base = composition.base;
            let docs = self.merge(&[base], view).docs.clone();
            Rc::make_mut(&mut merged).docs = docs;
        }
        let ty = self.classify(&key, &merged, false);
        self.open.pop();
        self.known.insert(key, ty.clone());
        ty
    }

    /// The set of places that identify a type: references followed, compositions put in, and what
    /// another place of the set includes left out.
    fn identity(&mut self, places: &[Place]) -> Vec<Place> {
        let mut targets: Vec<Place> = Vec::with_capacity(places.len());
        for place in places {
            let target = self.target(*place);
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        if let [one] = targets.as_slice()
            && let Some(composition) = self
                .compositions
                .iter()
                .find(|composition| composition.base == *one)
        {
            targets.extend(composition.overlays.iter().copied());
        }
        if targets.len() < 2 {
            return targets;
        }
        let closures: Vec<Rc<FxHashSet<Place>>> =
            targets.iter().map(|target| self.closure(*target)).collect();
        let included = |place: &Place| {
            targets
                .iter()
                .zip(&closures)
                .any(|(other, closure)| other != place && closure.contains(place))
        };
        targets
            .iter()
            .filter(|place| !included(place))
            .copied()
            .collect()
    }

    /// Follows a schema that says nothing but `$ref`, or an `allOf` of only one. A `type` beside them
    /// that the target states too says nothing.
    fn target(&self, place: Place) -> Place {
        let mut here = place;
        let mut seen: Vec<Place> = Vec::new();
        loop {
            let schema = self.source.at(here);
            let (mut reference, mut all_of, mut stated) = (None, None, None);
            for (keyword, value) in schema.members() {
                match keyword {
                    "$ref" => reference = Some(value),
                    "allOf" => all_of = Some(value),
                    "type" => stated = Some(value),
                    keyword if layers::is_annotation(keyword) => {}
                    _ => return here,
                }
            }
            let reference = reference.filter(|value| value.is_text());
            let next = match (reference, all_of.filter(|value| value.is_list())) {
                (Some(_), None) => self.source.target(here),
                (None, Some(branches)) => {
                    let mut branches = branches.items();
                    match (branches.next(), branches.next()) {
                        (Some(only), None) => Some(only.place),
                        _ => None,
                    }
                }
                _ => None,
            };
            let states = |next: Place| {
                stated.is_none_or(|stated| self.source.at(next).get("type") == Some(stated))
            };
            match next {
                // Merging reports the cycle.
                Some(next) if next != here && !seen.contains(&next) && states(next) => {
                    seen.push(here);
                    here = next;
                }
                _ => return here,
            }
        }
    }

    /// The places that a schema includes by `$ref` and `allOf`, itself left out.
    pub(crate) fn closure(&mut self, place: Place) -> Rc<FxHashSet<Place>> {
        if let Some(known) = self.closures.get(&place) {
            return Rc::clone(known);
        }
        let mut closure: FxHashSet<Place> = FxHashSet::default();
        let mut open = vec![place];
        while let Some(place) = open.pop() {
            let children = self
                .source
                .target(place)
                .into_iter()
                .chain(layers::branches(self.source.at(place), "allOf"));
            open.extend(children.filter(|child| closure.insert(*child)));
        }
        let closure = Rc::new(closure);
        self.closures.insert(place, Rc::clone(&closure));
        closure
    }

    /// Adds a node, which the key stands for from now on, so that what it holds can refer to it.
    fn allocate(
        &mut self,
        key: &(Vec<Place>, View),
        nullable: bool,
        shape: Shape,
        docs: Docs,
    ) -> NodeId {
        let id = NodeId(self.nodes.len());
        self.nodes.push(Node {
            places: key.0.clone(),
            view: key.1.clone(),
            shape,
            docs,
            checks: Vec::new(),
        });
        let mut ty = Type::Node(id);
        if nullable {
            ty = Type::Nullable(Box::new(ty));
        }
        self.known.insert(key.clone(), ty);
        id
    }

    fn fill(&mut self, id: NodeId, shape: Shape, checks: Vec<Check<NodeId>>) {
        if let Some(node) = self.nodes.get_mut(id.0) {
            node.shape = shape;
            node.checks = checks;
        }
    }

    fn classify(&mut self, key: &(Vec<Place>, View), merged: &Merged, not_null: bool) -> Type {
        let mut types = merged.types(self);
        if types.len() > 1 && types.remove("null") && !not_null {
            return Type::Nullable(Box::new(self.classify(key, merged, true)));
        }
        if let Some(Alternatives { places }) = merged.alternatives.first() {
            return self.alternative(key, places, merged, not_null);
        }
        if let Some(constant) = self.constant(merged) {
            return Type::Constant(constant.to_owned());
        }
        if let Some(values) = &merged.vocabulary {
            let shape = Shape::Vocabulary(values.clone());
            return Type::Node(self.allocate(key, not_null, shape, merged.docs.clone()));
        }
        match types.names().next() {
            _ if types.len() > 1 => Type::Any,
            Some("string") => Type::String,
            Some("boolean") => Type::Boolean,
            Some("integer") if merged.maximum.is_some_and(|maximum| maximum == SAFE) => {
                Type::SafeInteger
            }
            Some("integer") => Type::Integer,
            Some("number") => Type::Number,
            Some("array") => {
                if merged.items.is_empty() {
                    return Type::List(Box::new(Type::Any));
                }
                Type::List(Box::new(self.type_of(&merged.items, &key.1)))
            }
            Some("object") => self.object(key, not_null, merged),
            _ => Type::Any,
        }
    }

    /// One of several schemas. A branch that is `null` alone says that the others may be null.
    fn alternative(
        &mut self,
        key: &(Vec<Place>, View),
        places: &[Place],
        merged: &Merged,
        not_null: bool,
    ) -> Type {
        let (null, others): (Vec<Place>, Vec<Place>) = places
            .iter()
            .copied()
            .partition(|place| self.is_null(*place, &key.1));
        let nullable = not_null || !null.is_empty();
        let ty = match others.as_slice() {
            // A union of one arm is open still: others may come.
            [one] if !null.is_empty() => match self.type_of(&[*one], &key.1) {
                Type::Nullable(inner) if nullable => *inner,
                ty => ty,
            },
            _ => self.union(key, nullable, others, merged.docs.clone()),
        };
        if null.is_empty() || not_null {
            ty
        } else {
            Type::Nullable(Box::new(ty))
        }
    }

    /// The schema that a value fits unless it is null, where alternatives say so.
    fn beside_null(&mut self, merged: &Merged, view: &View) -> Option<Place> {
        let Alternatives { places } = merged.alternatives.first()?;
        let others: Vec<Place> = places
            .iter()
            .filter(|place| !self.is_null(**place, view))
            .copied()
            .collect();
        match others.as_slice() {
            [one] if places.len() > 1 => Some(*one),
            _ => None,
        }
    }

    fn is_null(&mut self, place: Place, view: &View) -> bool {
        let types = self.merge(&[place], view).types(self);
        types.len() == 1 && types.contains("null")
    }

    fn object(&mut self, key: &(Vec<Place>, View), not_null: bool, merged: &Merged) -> Type {
        if merged.properties.is_empty() && merged.required.is_empty() {
            if merged.additional.is_empty() {
                return Type::FreeForm;
            }
            return Type::Map(Box::new(self.type_of(&merged.additional, &key.1)));
        }
        let id = self.allocate(
            key,
            not_null,
            Shape::Object(Vec::new()),
            merged.docs.clone(),
        );
        let mut fields = Vec::new();
        for (name, property) in &merged.properties {
            let ty = if property.places.is_empty() {
                Type::Any
            } else {
                self.type_of(&property.places, &key.1)
            };
            let required = merged.required.contains(name);
            let ty = match ty {
                // Absent or this: a field is needed to tell which.
                Type::Constant(_) if !required => Type::String,
                ty => ty,
            };
            let checks = match &ty {
                // Reading holds it to its only value.
                Type::Constant(_) => Vec::new(),
                ty => self.checks(&property.places, &key.1, ty),
            };
            let docs = self.docs(&property.places, &key.1, property.transition.clone());
            let origin = property.places.last().copied();
            fields.push(Field {
                name: name.clone(),
                ty,
                required,
                docs,
                origin,
                checks,
            });
        }
        let checks = self.own_checks(&key.0, &key.1);
        self.fill(id, Shape::Object(fields), checks);
        Type::Node(id)
    }

    fn union(
        &mut self,
        key: &(Vec<Place>, View),
        nullable: bool,
        alternatives: Vec<Place>,
        docs: Docs,
    ) -> Type {
        let view = &key.1;
        let merged: Vec<Rc<Merged>> = alternatives
            .iter()
            .map(|place| self.merge(&[*place], view))
            .collect();
        let kinds: Vec<Types> = merged.iter().map(|merged| merged.types(self)).collect();
        let only = |kinds: &Types, kind: &str| kinds.len() == 1 && kinds.contains(kind);

        // One value or a list of the same.
        if let ([one, many], [_, list]) = (kinds.as_slice(), merged.as_slice())
            && only(many, "array")
            && !only(one, "array")
            && let [first, _] = alternatives.as_slice()
        {
            let items = list.items.clone();
            let single = self.type_of(&[*first], view);
            let item = self.type_of(&items, view);
            return if single == item {
                Type::OneOrMany(Box::new(single))
            } else {
                Type::Any
            };
        }
        if !kinds.iter().all(|kinds| only(kinds, "object")) {
            return Type::Any;
        }

        let constants: Vec<BTreeMap<String, String>> = merged
            .iter()
            .map(|merged| self.constants(merged, view))
            .collect();
        let tag = constants.first().and_then(|first| {
            first.keys().find(|name| {
                let values: BTreeSet<&String> = constants
                    .iter()
                    .filter_map(|constants| constants.get(*name))
                    .collect();
                values.len() == constants.len()
            })
        });
        let selectors: Vec<Vec<String>> = if tag.is_some() {
            vec![Vec::new(); merged.len()]
        } else {
            merged
                .iter()
                .enumerate()
                .map(|(index, arm)| {
                    let others = merged
                        .iter()
                        .enumerate()
                        .filter(|(other, _)| *other != index)
                        .map(|(_, other)| other);
                    arm.required
                        .iter()
                        .filter(|name| {
                            others
                                .clone()
                                .all(|other| !other.properties.contains_key(name))
                        })
                        .cloned()
                        .collect()
                })
                .collect()
        };
        if tag.is_none()
            && selectors
                .iter()
                .filter(|members| members.is_empty())
                .count()
                > 1
        {
            // Nothing that an object carries tells the arms apart, and none is guessed.
            return Type::Any;
        }
        let tag = tag.cloned();
        let id = self.allocate(
            key,
            nullable,
            Shape::Union {
                tag: tag.clone(),
                arms: Vec::new(),
            },
            docs,
        );
        let mut arms = Vec::new();
        for (index, place) in alternatives.iter().enumerate() {
            let ty = self.type_of(&[*place], view);
            let value = tag
                .as_ref()
                .and_then(|tag| constants.get(index)?.get(tag).cloned());
            arms.push(Arm {
                ty,
                tag: value,
                members: selectors.get(index).cloned().unwrap_or_default(),
            });
        }
        // The arm with the most distinguishing members is asked first, the one without any is last.
        arms.sort_by_key(|arm| std::cmp::Reverse(arm.members.len()));
        let checks = arm_checks(tag.as_deref(), &arms);
        self.fill(id, Shape::Union { tag, arms }, checks);
        Type::Node(id)
    }

    /// The required members of an object that can only be one string.
    fn constants(&mut self, merged: &Merged, view: &View) -> BTreeMap<String, String> {
        let mut constants = BTreeMap::new();
        for (name, property) in &merged.properties {
            if merged.required.contains(name)
                && let merged = self.merge(&property.places, view)
                && let Some(constant) = self.constant(&merged)
            {
                constants.insert(name.clone(), constant.to_owned());
            }
        }
        constants
    }

    /// What the places of a property say for people.
    fn docs(&mut self, places: &[Place], view: &View, transition: Option<String>) -> Docs {
        // Marks have no part in it, so that the view is the one at hand.
        let mut docs = self.merge(places, view).docs.clone();
        docs.facts.extend(transition);
        docs
    }

    fn too_deep(&mut self, place: Place) {
        let message = format!("the schema lies more than {DEEPEST} schemas deep in others");
        self.problem(place, Code::Schema, message, None);
    }

    fn problem(
        &mut self,
        place: Place,
        code: Code,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        self.diagnostics.at(self.source, place, code, message, hint);
    }
}

/// The rules of the arm that a union's value is.
fn arm_checks(tag: Option<&str>, arms: &[Arm]) -> Vec<Check<NodeId>> {
    let rules = |arm: &Arm| match &arm.ty {
        Type::Node(id) => vec![Check::Is(*id)],
        _ => Vec::new(),
    };
    if let Some(tag) = tag {
        let condition = |arm: &Arm| {
            let value = Literal::Text(arm.tag.clone().unwrap_or_default());
            vec![Check::Member(tag.to_owned(), vec![Check::Const(value)])]
        };
        return arms
            .iter()
            .map(|arm| Check::When(condition(arm), rules(arm), Vec::new()))
            .collect();
    }
    // The arms are asked in order; the last one takes what is left.
    arms.iter().rev().fold(Vec::new(), |otherwise, arm| {
        if arm.members.is_empty() {
            return rules(arm);
        }
        vec![Check::When(
            vec![Check::Required(arm.members.clone())],
            rules(arm),
            otherwise,
        )]
    })
}

impl Composition {
    fn covers(&self, places: &[Place]) -> bool {
        !places.is_empty()
            && places
                .iter()
                .all(|place| *place == self.base || self.overlays.contains(place))
    }
}

/// The places of a schema's `oneOf` branches.
pub(crate) fn alternatives(schema: At<'_>) -> impl Iterator<Item = Place> {
    layers::branches(schema, "oneOf")
}

/// Whether a place is one that a contract names: a file, a definition, a component.
pub(crate) fn is_definition(at: At<'_>) -> bool {
    let Some(around) = at.parent() else {
        return true;
    };
    match around.name() {
        Some("$defs") => true,
        Some("schemas") => around.parent().is_some_and(|at| {
            at.name() == Some("components") && at.parent().is_some_and(|at| at.parent().is_none())
        }),
        _ => false,
    }
}
