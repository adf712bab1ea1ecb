//! Building the model from the graph of shapes and the operations.

use super::names::{self, Scope};
use super::{
    Argument, Arm, Field, Item, Method, Model, Of, Presence, Rule, Struct, Ty, Union, Vocabulary,
    boxing, docs, tools,
};
use crate::contract::{Location, Operation};
use crate::schema::{Check, Docs, Graph, Node, NodeId, Shape, Type, View};
use crate::source::Source;
use crate::tree::{Place, Step};
use std::collections::{BTreeMap, BTreeSet};

/// The types of an operation, as read from its schemas.
pub(crate) struct Bodies {
    pub(crate) operation: Operation,
    pub(crate) request: Option<Type>,
    /// For a webhook: what the merchant sends.
    pub(crate) success: Type,
    pub(crate) failure: Type,
    /// The name of the capability that it belongs to, where its schema has one.
    pub(crate) capability: String,
}

impl Bodies {
    /// The service that the operation belongs to: the first three labels of its capability's name.
    fn service(&self) -> String {
        let labels = self.capability.split('.').take(3);
        labels.collect::<Vec<_>>().join(".")
    }
}

/// The size of a JSON map, which depends on a feature of `serde_json`.
const MAP_AT_LEAST: usize = 24;
const MAP_AT_MOST: usize = 72;

/// The module of what several domains use.
const COMMON: &str = "common";

/// Members whose value is a secret wherever they stand.
const SECRETS: [&str; 7] = [
    "access_token",
    "checkout_mandate",
    "cryptogram",
    "cvc",
    "number",
    "payment_mandate",
    "token",
];

/// What the whole module says of itself.
#[derive(Debug)]
pub(crate) struct Contract {
    pub(crate) release: String,
    pub(crate) title: String,
    pub(crate) capabilities: Vec<super::Capability>,
    /// Header parameters that the runtime fills.
    pub(crate) managed: Vec<String>,
    /// Those of them that are inputs nevertheless.
    pub(crate) expose: Vec<String>,
    /// Whether the operations become tools too.
    pub(crate) tools: bool,
}

pub(crate) fn build(
    contract: &Contract,
    source: &Source,
    graph: &Graph,
    operations: &[Bodies],
    webhooks: &[Bodies],
) -> Model {
    let mut builder = Builder {
        source,
        graph,
        bodies: body_words(operations, webhooks),
        names: BTreeMap::new(),
        boxed: boxing::boxed(graph),
        floats: floats(graph),
        ruled: ruled(graph),
        updates: updates(graph, operations),
        members: BTreeMap::new(),
        by_places: BTreeMap::new(),
    };
    for id in graph.ids() {
        let members = builder.members.entry(graph.shared(id)).or_default();
        members.push(id);
        if graph.shared(id) == id
            && let Some(node) = graph.node(id)
        {
            let alike = builder.by_places.entry(&node.places).or_default();
            alike.push(id);
        }
    }
    let mut scope = Scope::default();
    builder.name_all(&mut scope);
    let modules = builder.modules(operations, webhooks);
    let sent = builder.reach(
        operations
            .iter()
            .filter_map(|bodies| bodies.request.as_ref()),
    );
    let credentials = builder.credentials();

    let mut model = Model {
        release: contract.release.clone(),
        docs: module_docs(&contract.title, &contract.release),
        service: (operations.iter().chain(webhooks))
            .map(Bodies::service)
            .find(|service| !service.is_empty())
            .unwrap_or_default(),
        capabilities: contract.capabilities.clone(),
        ..Model::default()
    };
    for id in builder.representatives() {
        let Some(node) = graph.node(id) else { continue };
        let item = match &node.shape {
            Shape::Object(fields) => {
                Item::Struct(builder.object(id, node, fields, &sent, &credentials))
            }
            Shape::Vocabulary(values) => Item::Vocabulary(builder.vocabulary(id, node, values)),
            Shape::Union { tag, arms } => Item::Union(builder.union(id, node, tag.as_ref(), arms)),
        };
        let module = modules.get(&id).map_or(COMMON, String::as_str);
        model
            .modules
            .entry(module.to_owned())
            .or_default()
            .push(item);
    }
    for items in model.modules.values_mut() {
        items.sort_by(|a, b| a.name().cmp(b.name()));
    }
    model.methods = operations
        .iter()
        .map(|bodies| builder.method(bodies, contract))
        .collect();
    model.webhooks = webhooks
        .iter()
        .map(|bodies| builder.method(bodies, contract))
        .collect();
    if contract.tools {
        tools::add(&builder, operations, &mut model.methods);
    }
    let mut idents = Scope::with(["new", "merchant", "call", "tools"]);
    for method in &mut model.methods {
        let ident = &method.ident;
        method.ident = idents.claim(&[ident.clone(), format!("{ident}_operation")]);
    }
    let mut markers = Scope::with(["Endpoint", "Header", "Method", "Operation", "Webhook"]);
    for method in model.methods.iter_mut().chain(&mut model.webhooks) {
        let marker = &method.marker;
        method.marker = markers.claim(&[marker.clone(), format!("{marker}Operation")]);
    }
    model
}

fn module_docs(title: &str, release: &str) -> String {
    let title = if title.is_empty() {
        "A UCP service"
    } else {
        title
    };
    format!(
        "{}, release {release}.\n\nGenerated from the contract; edit the contract, not this.",
        docs::sentence(title).trim_end_matches('.')
    )
}

fn operation_docs(operation: &Operation, fallback: &str) -> String {
    let summary = operation.summary.as_deref().map(docs::sentence);
    let description = operation.description.as_deref().map(docs::sentence);
    match (summary, description) {
        (Some(summary), Some(description)) if summary != description => {
            format!("{summary}\n\n{description}")
        }
        (Some(text), _) | (None, Some(text)) => text,
        (None, None) => fallback.to_owned(),
    }
}

/// The domain of a path: `checkout` for `/checkout-sessions/{id}`.
fn domain(path: &str) -> String {
    let step = path
        .trim_start_matches('/')
        .split(['/', '-'])
        .next()
        .unwrap_or_default();
    names::identifier(step.strip_suffix('s').unwrap_or(step))
}

/// What bodies that stand inline in an operation are called.
fn body_words(operations: &[Bodies], webhooks: &[Bodies]) -> Vec<(Place, String)> {
    let mut words = Vec::new();
    for Bodies { operation, .. } in operations {
        words.extend(
            operation
                .body
                .iter()
                .map(|place| (*place, format!("{}_request", operation.id))),
        );
        words.extend(
            operation
                .success()
                .map(|place| (place, format!("{}_response", operation.id))),
        );
    }
    for Bodies { operation, .. } in webhooks {
        let event = operation
            .id
            .strip_suffix("_webhook")
            .unwrap_or(&operation.id);
        words.extend(
            operation
                .body
                .iter()
                .map(|place| (*place, event.to_owned())),
        );
    }
    words
}

pub(super) struct Builder<'a> {
    pub(super) source: &'a Source,
    pub(super) graph: &'a Graph,
    bodies: Vec<(Place, String)>,
    names: BTreeMap<NodeId, String>,
    boxed: BTreeSet<(NodeId, NodeId)>,
    floats: BTreeSet<NodeId>,
    /// The nodes that demand something beyond their types, at any depth.
    pub(super) ruled: BTreeSet<NodeId>,
    /// The bodies of updates.
    updates: BTreeSet<NodeId>,
    /// The nodes that each representative stands for.
    members: BTreeMap<NodeId, Vec<NodeId>>,
    /// The representatives by what they come from.
    by_places: BTreeMap<&'a [Place], Vec<NodeId>>,
}

impl Builder<'_> {
    fn definition(&self, places: &[Place]) -> Option<Place> {
        self.graph.definition(self.source, places)
    }

    fn representatives(&self) -> impl Iterator<Item = NodeId> {
        self.members.keys().copied()
    }

    /// The representatives that come from the same places.
    fn alike(&self, node: &Node) -> &[NodeId] {
        self.by_places
            .get(node.places.as_slice())
            .map_or(&[], Vec::as_slice)
    }

    /// The nodes that a representative stands for.
    fn members(&self, id: NodeId) -> impl Iterator<Item = &Node> {
        let members = self.members.get(&id).into_iter().flatten();
        members.filter_map(|id| self.graph.node(*id))
    }

    /// Names every representative: whole files first, then definitions, then what stands inline, each
    /// in the order of the files, so that an edit elsewhere renames nothing.
    fn name_all(&mut self, scope: &mut Scope) {
        let by_places = std::mem::take(&mut self.by_places);
        let mut order: Vec<(&[Place], &Vec<NodeId>)> = by_places
            .iter()
            .map(|(places, ids)| (*places, ids))
            .collect();
        order.sort_by_cached_key(|(places, ids)| {
            let node = ids.first().and_then(|id| self.graph.node(*id));
            let rank = match node.and_then(|node| self.definition(&node.places)) {
                Some(place) if self.source.at(place).parent().is_none() => 0,
                Some(_) => 1,
                None => 2,
            };
            let place = places.first().map(|place| {
                (
                    self.source.file_name(*place).to_owned(),
                    self.source.at(*place).pointer(),
                )
            });
            (rank, place)
        });
        for (_, ids) in order {
            let Some(first) = ids.first().and_then(|id| self.graph.node(*id)) else {
                continue;
            };
            let mut candidates = self.candidates(first);
            if let [id] = ids.as_slice() {
                candidates.splice(0..0, self.common_words(*id));
            }
            let request_classes = ids
                .iter()
                .filter(|id| !self.views(**id).contains(&View::Response))
                .count();
            let plain = ids.len() == 1;
            for id in ids.iter().copied() {
                let views = self.views(id);
                let name = |words: &String| {
                    if plain || views.contains(&View::Response) {
                        return names::type_name(words);
                    }
                    let verbs: Vec<&str> = views
                        .iter()
                        .filter_map(|view| {
                            if let View::Request(verb) = view {
                                Some(verb.as_ref())
                            } else {
                                None
                            }
                        })
                        .collect();
                    match verbs.as_slice() {
                        [verb] => names::type_name(&format!("{verb}_{words}")),
                        _ if request_classes == 1 => names::type_name(&format!("{words}_input")),
                        _ => names::type_name(&format!("{}_{words}", verbs.join("_or_"))),
                    }
                };
                let claimed = scope.claim(&candidates.iter().map(name).collect::<Vec<_>>());
                self.names.insert(id, claimed);
            }
        }
        self.by_places = by_places;
    }

    /// The views that a representative stands for.
    fn views(&self, id: NodeId) -> BTreeSet<&View> {
        self.members(id).map(|node| &node.view).collect()
    }

    /// The words that may name a node, the best first.
    fn candidates(&self, node: &Node) -> Vec<String> {
        if let Some(place) = self.definition(&node.places) {
            let stem = self.source.stem(place);
            let words = self.words(place);
            let qualified = format!("{stem}_{words}");
            return [Some(words), node.docs.title.clone(), Some(qualified)]
                .into_iter()
                .flatten()
                .collect();
        }
        // The last of several places is the narrowest.
        node.places
            .last()
            .map(|place| self.words(*place))
            .into_iter()
            .collect()
    }

    /// The words that the names of several inline types that became one begin and end with:
    /// `message_content_type` for `message_error_content_type` and `message_info_content_type`.
    fn common_words(&self, id: NodeId) -> Option<String> {
        let names: BTreeSet<String> = self
            .members(id)
            .filter_map(|node| node.places.last())
            .map(|place| names::snake_case(&self.words(*place)))
            .collect();
        let mut names = names.iter().map(|name| name.split('_').collect::<Vec<_>>());
        let first = names.next()?;
        let others: Vec<Vec<&str>> = names.collect();
        let shortest = others.iter().map(Vec::len).min()?.min(first.len());
        let all = |same: &dyn Fn(&[&str]) -> bool| others.iter().all(|other| same(other));
        let begin = (0..=shortest)
            .rev()
            .find(|count| all(&|other| other.get(..*count) == first.get(..*count)))?;
        let tail = |words: &[&str], count| {
            words
                .iter()
                .rev()
                .take(count)
                .eq(first.iter().rev().take(count))
        };
        let end = (0..=shortest - begin)
            .rev()
            .find(|count| all(&|other| tail(other, *count)))?;
        let words = first
            .iter()
            .take(begin)
            .chain(first.iter().skip(first.len() - end));
        let words: Vec<&str> = words.copied().collect();
        // One word alone, `type` say, names nothing.
        (words.len() > 1).then(|| words.join("_"))
    }

    /// The words for a place: its definition, then the properties on the way from there.
    fn words(&self, place: Place) -> String {
        if let Some((_, words)) = self.bodies.iter().find(|(body, _)| *body == place) {
            return words.clone();
        }
        let at = self.source.at(place);
        let stem = self.source.stem(place);
        let Some(parent) = at.parent() else {
            return names::definition_words(stem, None);
        };
        let last = match at.step() {
            Step::Member(name) => name.to_string(),
            Step::Item(index) => index.to_string(),
            Step::Root => String::new(),
        };
        match parent.name() {
            Some("$defs" | "schemas") => names::definition_words(stem, Some(&last)),
            Some("properties") => match parent.parent() {
                Some(owner) => format!("{}_{last}", self.words(owner.place)),
                None => last,
            },
            // What a list holds is one of what its property is called.
            _ if last == "items" || last == "additionalProperties" => {
                let owner = parent.parent().and_then(|owner| owner.name());
                let words = self.words(parent.place);
                if owner == Some("properties") {
                    names::singular(&words)
                } else {
                    format!("{words}_item")
                }
            }
            _ => self.words(parent.place),
        }
    }

    fn reach<'t>(&self, roots: impl Iterator<Item = &'t Type>) -> BTreeSet<NodeId> {
        let mut seen = BTreeSet::new();
        let mut open: Vec<NodeId> = roots
            .filter_map(Type::nodes)
            .map(|(id, _)| self.graph.shared(id))
            .collect();
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                let children = self
                    .graph
                    .node(id)
                    .map(|node| node.shape.types())
                    .unwrap_or_default();
                open.extend(
                    children
                        .into_iter()
                        .filter_map(Type::nodes)
                        .map(|(child, _)| self.graph.shared(child)),
                );
            }
        }
        seen
    }

    /// The module of each type: the domain that alone reaches it, [`COMMON`] where several do. The
    /// domains are the operations' first path steps and the extensions.
    fn modules(&self, operations: &[Bodies], webhooks: &[Bodies]) -> BTreeMap<NodeId, String> {
        let mut roots: BTreeMap<String, Vec<NodeId>> = BTreeMap::new();
        let node = |ty: &Type| ty.nodes().map(|(id, _)| self.graph.shared(id));
        for bodies in operations {
            let types = bodies.request.iter().chain([&bodies.success]);
            roots
                .entry(domain(&bodies.operation.path))
                .or_default()
                .extend(types.filter_map(node));
        }
        for Bodies {
            operation, success, ..
        } in webhooks
        {
            // A webhook brings what an operation of its own domain answers; alone it is a domain.
            let known = node(success).is_some_and(|id| roots.values().any(|ids| ids.contains(&id)));
            if !known {
                roots
                    .entry(names::identifier(&operation.path))
                    .or_default()
                    .extend(node(success));
            }
        }
        // What an extension adds to a composed type belongs to the extension.
        let mut added: BTreeSet<(NodeId, NodeId)> = BTreeSet::new();
        for id in self.representatives() {
            let Some(Node {
                places,
                shape: Shape::Object(fields),
                ..
            }) = self.graph.node(id)
            else {
                continue;
            };
            let Some(base) = self.definition(places) else {
                continue;
            };
            for field in fields {
                if let (Some(origin), Some(child)) = (&field.origin, node(&field.ty))
                    && let file = self.source.file(*origin)
                    && file != self.source.file(base)
                    && places.iter().any(|place| self.source.file(*place) == file)
                {
                    added.insert((id, child));
                    roots
                        .entry(names::identifier(self.source.stem(*origin)))
                        .or_default()
                        .push(child);
                }
            }
        }
        let mut owners: BTreeMap<NodeId, BTreeSet<String>> = BTreeMap::new();
        for (domain, mut open) in roots {
            while let Some(id) = open.pop() {
                if owners.entry(id).or_default().insert(domain.clone()) {
                    let children = self
                        .graph
                        .node(id)
                        .map(|node| node.shape.types())
                        .unwrap_or_default();
                    open.extend(
                        children
                            .into_iter()
                            .filter_map(node)
                            .filter(|child| !added.contains(&(id, *child))),
                    );
                }
            }
        }
        owners
            .into_iter()
            .filter(|(_, domains)| domains.len() == 1)
            .filter_map(|(id, domains)| {
                let domain = domains.into_iter().next()?;
                // That module holds the operations as types.
                let taken = domain == "operations";
                Some((
                    id,
                    if taken {
                        "operation".to_owned()
                    } else {
                        domain
                    },
                ))
            })
            .collect()
    }

    /// The objects that carry a payment credential: by the contract's own names.
    fn credentials(&self) -> BTreeSet<NodeId> {
        let mut found = BTreeSet::new();
        for id in self.graph.ids() {
            let Some(node) = self.graph.node(id) else {
                continue;
            };
            let place = self
                .definition(&node.places)
                .or(node.places.last().copied());
            if place.is_some_and(|place| self.words(place).ends_with("credential")) {
                found.insert(self.graph.shared(id));
            }
        }
        found
    }

    pub(super) fn named(&self, id: NodeId) -> String {
        self.names
            .get(&self.graph.shared(id))
            .cloned()
            .unwrap_or_default()
    }

    fn ty(&self, from: Option<NodeId>, ty: &Type) -> Ty {
        match ty {
            Type::Any => Ty::Any,
            Type::Boolean => Ty::Boolean,
            Type::Integer => Ty::Integer,
            Type::SafeInteger => Ty::SafeInteger,
            Type::Number => Ty::Number,
            Type::String | Type::Constant(_) => Ty::Text,
            Type::FreeForm => Ty::FreeForm,
            // A list or a map keeps its items on the heap.
            Type::List(inner) => Ty::List(Box::new(self.ty(None, inner))),
            Type::Map(inner) => Ty::Map(Box::new(self.ty(None, inner))),
            Type::Nullable(inner) => Ty::Nullable(Box::new(self.ty(from, inner))),
            Type::OneOrMany(inner) => Ty::OneOrMany(Box::new(self.ty(from, inner))),
            Type::Node(id) => {
                let named = Ty::Named(self.named(*id));
                let inside = from.is_some_and(|from| {
                    self.boxed
                        .contains(&(self.graph.shared(from), self.graph.shared(*id)))
                });
                if inside {
                    Ty::Boxed(Box::new(named))
                } else {
                    named
                }
            }
        }
    }

    fn object(
        &self,
        id: NodeId,
        node: &Node,
        fields: &[crate::schema::Field],
        sent: &BTreeSet<NodeId>,
        credentials: &BTreeSet<NodeId>,
    ) -> Struct {
        let mut scope = Scope::with(["extra", "new", "update_from", "validate"]);
        // What sets a field to null is called after the field.
        for field in fields {
            if matches!(field.ty, Type::Nullable(_)) && !field.required {
                let name = names::identifier(&field.name);
                scope.claim(&[format!("null_{}", name.trim_start_matches("r#"))]);
            }
        }
        let fields: Vec<Field> = fields
            .iter()
            .map(|field| {
                let (ty, presence) = match (&field.ty, field.required) {
                    (Type::Constant(value), true) => (Ty::Text, Presence::Constant(value.clone())),
                    (Type::Nullable(inner), false) => {
                        (self.ty(Some(id), inner), Presence::Nullable)
                    }
                    (ty, true) => (self.ty(Some(id), ty), Presence::Required),
                    (ty, false) => (self.ty(Some(id), ty), Presence::Optional),
                };
                Field {
                    ident: scope.claim(&[names::identifier(&field.name)]),
                    wire: field.name.clone(),
                    ty,
                    presence,
                    docs: docs::text(&field.docs, &format!("`{}` of the contract.", field.name)),
                    deprecated: field.docs.deprecated.clone(),
                }
            })
            .collect();
        let secrets = if credentials.contains(&id) {
            vec!["*".to_owned()]
        } else {
            fields
                .iter()
                .map(|field| field.wire.clone())
                .filter(|wire| SECRETS.contains(&wire.as_str()))
                .collect()
        };
        Struct {
            name: self.named(id),
            docs: self.docs(id, node),
            empty: fields
                .iter()
                .all(|field| !matches!(field.presence, Presence::Required)),
            fields,
            sent: sent.contains(&id),
            secrets,
            deprecated: node.docs.deprecated.clone(),
            total: !self.floats.contains(&id),
            rules: self.rules(id),
            update_of: self.received(id),
        }
    }

    /// A type's documentation, with the view that it belongs to where there are several.
    fn docs(&self, id: NodeId, node: &Node) -> String {
        let fallback = node.docs.title.as_deref().map_or_else(
            || format!("`{}` of the contract.", self.named(id)),
            docs::sentence,
        );
        let text = docs::text(
            &Docs {
                facts: Vec::new(),
                ..node.docs.clone()
            },
            &fallback,
        );
        let alone = self.alike(node).len() < 2;
        let verbs: Vec<String> = self
            .views(id)
            .into_iter()
            .filter_map(|view| {
                if let View::Request(verb) = view {
                    Some(format!("`{verb}`"))
                } else {
                    None
                }
            })
            .collect();
        if alone || verbs.is_empty() || self.views(id).contains(&View::Response) {
            return text;
        }
        format!("{text}\n\nAs {} requests send it.", verbs.join(" and "))
    }

    /// The type in which an update of the definition is answered.
    fn received(&self, id: NodeId) -> Option<String> {
        let update = View::Request("update".into());
        let node = self.graph.node(id)?;
        if !self.updates.contains(&id) || !self.views(id).contains(&update) {
            return None;
        }
        let other = self
            .alike(node)
            .iter()
            .find(|other| **other != id && self.views(**other).contains(&View::Response))?;
        Some(self.named(*other))
    }

    /// What a type demands: of its members, then as a whole.
    fn rules(&self, id: NodeId) -> Vec<Rule> {
        let Some(node) = self.graph.node(id) else {
            return Vec::new();
        };
        Check::convert(&node.all_checks(), &|of: &NodeId| {
            let of = self.graph.shared(*of);
            let name = self.named(of);
            let shape = self.graph.node(of).map(|node| &node.shape)?;
            self.ruled.contains(&of).then_some(match shape {
                Shape::Object(_) => Of::Struct(name),
                Shape::Union { .. } => Of::Union(name),
                Shape::Vocabulary(_) => Of::Vocabulary(name),
            })
        })
    }

    fn vocabulary(&self, id: NodeId, node: &Node, values: &[String]) -> Vocabulary {
        let mut scope = Scope::with(["Unknown"]);
        let arms = values
            .iter()
            .map(|value| (scope.claim(&[names::variant(value)]), value.clone()))
            .collect();
        let fallback = format!("`{}` of the contract.", self.named(id));
        Vocabulary {
            name: self.named(id),
            docs: docs::text(
                &Docs {
                    facts: Vec::new(),
                    ..node.docs.clone()
                },
                &fallback,
            ),
            arms,
        }
    }

    fn union(
        &self,
        id: NodeId,
        node: &Node,
        tag: Option<&String>,
        arms: &[crate::schema::Arm],
    ) -> Union {
        let mut scope = Scope::with(["Unknown"]);
        let arms = arms
            .iter()
            .map(|arm| {
                let ty = self.ty(Some(id), &arm.ty);
                let words = match (&arm.tag, &arm.ty) {
                    (Some(tag), _) => tag.clone(),
                    (None, Type::Node(child)) => self
                        .graph
                        .node(*child)
                        .and_then(|child| self.candidates(child).into_iter().next())
                        .unwrap_or_default(),
                    _ => "other".to_owned(),
                };
                let docs = match (&arm.tag, tag) {
                    (Some(value), Some(tag)) => format!("`{tag}` is `{value}`."),
                    _ if arm.members.is_empty() => "All others.".to_owned(),
                    _ => format!(
                        "Has {}.",
                        arm.members
                            .iter()
                            .map(|member| format!("`{member}`"))
                            .collect::<Vec<_>>()
                            .join(", ")
                    ),
                };
                Arm {
                    variant: scope.claim(&[names::variant(&words)]),
                    ty,
                    tag: arm.tag.clone(),
                    members: arm.members.clone(),
                    docs,
                }
            })
            .collect();
        let mut arms: Vec<Arm> = arms;
        self.box_large(&mut arms);
        Union {
            name: self.named(id),
            docs: self.docs(id, node),
            tag: tag.cloned(),
            arms,
            total: !self.floats.contains(&id),
            rules: self.rules(id),
        }
    }

    /// Boxes the arms that would make every value of a union much larger than its other arms need.
    fn box_large(&self, arms: &mut [Arm]) {
        /// The difference from which clippy calls a variant large.
        const LARGE: usize = 200;
        loop {
            let size = |arm: &Arm| self.size(&arm.ty);
            // The unknown arm holds a map.
            let mut sizes: Vec<usize> = arms.iter().map(size).chain([MAP_AT_LEAST]).collect();
            sizes.sort_unstable_by(|a, b| b.cmp(a));
            let (Some(largest), Some(second)) = (sizes.first(), sizes.get(1)) else {
                return;
            };
            if largest - second < LARGE {
                return;
            }
            for arm in arms.iter_mut().filter(|arm| size(arm) == *largest) {
                arm.ty = Ty::Boxed(Box::new(arm.ty.clone()));
            }
        }
    }

    /// About how many bytes a type takes in place.
    fn size(&self, ty: &Ty) -> usize {
        let name = match ty {
            Ty::Boolean | Ty::Integer | Ty::SafeInteger | Ty::Number | Ty::Boxed(_) => return 8,
            Ty::Text | Ty::List(_) | Ty::Map(_) | Ty::OneOrMany(_) => return 24,
            Ty::Any | Ty::FreeForm => return MAP_AT_MOST,
            Ty::Nullable(inner) => return self.size(inner) + 8,
            Ty::Named(name) => name,
        };
        let node = self
            .names
            .iter()
            .find(|(_, other)| *other == name)
            .and_then(|(id, _)| Some((*id, self.graph.node(*id)?)));
        match node {
            Some((
                id,
                Node {
                    shape: Shape::Object(fields),
                    ..
                },
            )) => {
                let fields = fields
                    .iter()
                    .filter(|field| !matches!(field.ty, Type::Constant(_)));
                fields
                    .map(|field| self.size(&self.ty(Some(id), &field.ty)))
                    .sum::<usize>()
                    + MAP_AT_MOST
            }
            Some((
                id,
                Node {
                    shape: Shape::Union { arms, .. },
                    ..
                },
            )) => arms
                .iter()
                .map(|arm| self.size(&self.ty(Some(id), &arm.ty)))
                .max()
                .unwrap_or_default(),
            _ => 24,
        }
    }

    fn method(&self, bodies: &Bodies, contract: &Contract) -> Method {
        let operation = &bodies.operation;
        let is =
            |list: &[String], name: &str| list.iter().any(|other| other.eq_ignore_ascii_case(name));
        let mut scope = Scope::with([
            "body",
            "self",
            "call_id",
            "idempotency_key",
            "timeout",
            "prepare",
            "path",
            "query",
            "keys",
            "new",
            "exposed_header",
            "into_future",
        ]);
        let mut path_parameters = Vec::new();
        let (mut arguments, mut managed) = (Vec::new(), Vec::new());
        for parameter in &operation.parameters {
            let argument = |scope: &mut Scope| Argument {
                header: parameter.location == Location::Header,
                ident: scope.claim(&[names::identifier(&parameter.name)]),
                wire: parameter.name.clone(),
                required: parameter.required,
                docs: parameter
                    .description
                    .as_deref()
                    .map_or_else(|| format!("`{}`.", parameter.name), docs::sentence),
            };
            match parameter.location {
                Location::Path => path_parameters.push((
                    scope.claim(&[names::identifier(&parameter.name)]),
                    parameter.name.clone(),
                )),
                Location::Header
                    if is(&contract.managed, &parameter.name)
                        && !is(&contract.expose, &parameter.name) =>
                {
                    managed.push((parameter.name.clone(), parameter.required));
                }
                Location::Header | Location::Query => arguments.push(argument(&mut scope)),
            }
        }
        // In the order in which the path names them, which is the order a caller thinks of.
        path_parameters.sort_by_key(|(_, wire)| operation.path.find(&format!("{{{wire}}}")));
        Method {
            id: operation.id.clone(),
            ident: names::identifier(&operation.id),
            marker: names::variant(&operation.id),
            verb: operation.method.clone(),
            path: operation.path.clone(),
            service: bodies.service(),
            path_parameters,
            arguments,
            managed,
            changes: operation.parameters.iter().any(|parameter| {
                parameter.location == Location::Header
                    && parameter.name.eq_ignore_ascii_case("Idempotency-Key")
            }),
            read: operation.read.clone(),
            body: bodies.request.as_ref().map(|ty| self.ty(None, ty)),
            ruled_body: match &bodies.request {
                Some(Type::Node(id)) => {
                    self.ruled.contains(&self.graph.shared(*id))
                        && self
                            .graph
                            .node(*id)
                            .is_some_and(|node| matches!(node.shape, Shape::Object(_)))
                }
                _ => false,
            },
            success: self.ty(None, &bodies.success),
            failure: self.ty(None, &bodies.failure),
            docs: operation_docs(operation, &format!("`{}` of the contract.", operation.id)),
            deprecated: operation.deprecated,
            link: operation.is_link(),
            tool: None,
        }
    }
}

/// The bodies of operations that update.
fn updates(graph: &Graph, operations: &[Bodies]) -> BTreeSet<NodeId> {
    let updates = operations
        .iter()
        .filter(|bodies| bodies.operation.verb() == "update");
    let bodies = updates.filter_map(|bodies| bodies.request.as_ref()?.nodes());
    bodies.map(|(id, _)| graph.shared(id)).collect()
}

/// The nodes that demand something beyond what types hold. Grows until nothing changes, so that a
/// node which only refers to such a node is one too.
fn ruled(graph: &Graph) -> BTreeSet<NodeId> {
    let mut found: BTreeSet<NodeId> = BTreeSet::new();
    loop {
        let before = found.len();
        for id in graph.ids() {
            let Some(node) = graph.node(id) else { continue };
            let known = |of: &NodeId| found.contains(&graph.shared(*of));
            let demands = matches!(node.shape, Shape::Vocabulary(_)) || node.demands(&known);
            if demands {
                found.insert(graph.shared(id));
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// The nodes in which a float may be, at any depth: their equality is not total.
fn floats(graph: &Graph) -> BTreeSet<NodeId> {
    let mut found: BTreeSet<NodeId> = BTreeSet::new();
    loop {
        let before = found.len();
        for id in graph.ids() {
            let Some(node) = graph.node(id) else { continue };
            let holds = node.shape.types().into_iter().any(|ty| {
                ty.has_float()
                    || ty
                        .nodes()
                        .is_some_and(|(child, _)| found.contains(&graph.shared(child)))
            });
            if holds {
                found.insert(graph.shared(id));
            }
        }
        if found.len() == before {
            return found;
        }
    }
}
