//! Walks two contracts in lockstep and compares each keyword as a fact.
//!
//! The two cut their types into files differently, so neither paths nor pointers are facts: the
//! walk starts where both sides have a name (documents, capabilities, definitions) and follows
//! references on each side for itself.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;

use serde_json::Value;

use super::tree::{Node, Tree, stem};

/// A fact that the two sides do not share.
#[derive(Debug)]
pub(crate) struct Difference {
    /// The keyword, or what else is named: `path`, `status`, `property`, `mark`, …
    pub(crate) kind: String,
    /// `file#pointer` in our tree.
    pub(crate) ours: String,
    /// `file#pointer` in theirs.
    pub(crate) theirs: String,
    /// Our value; none when only theirs has one.
    pub(crate) our_value: Option<Value>,
    /// Their value; none when only ours has one.
    pub(crate) their_value: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value: &Option<Value>| match value {
            None => "(absent)".to_owned(),
            Some(Value::Object(map)) if map.len() > 3 => format!("{{… {} members}}", map.len()),
            Some(value) => value.to_string(),
        };
        writeln!(f, "{}", self.kind)?;
        writeln!(f, "  ours    {} = {}", self.ours, show(&self.our_value))?;
        write!(f, "  theirs  {} = {}", self.theirs, show(&self.their_value))
    }
}

/// What a comparison found.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) compared: usize,
    pub(crate) differences: Vec<Difference>,
}

/// Compares two contracts whole.
pub(crate) fn compare(ours: &Tree, theirs: &Tree) -> Report {
    let mut walk = Walk {
        ours,
        theirs,
        report: Report::default(),
        pairs: HashSet::new(),
        counterpart: HashMap::new(),
        seen: HashSet::new(),
    };
    walk.documents();
    walk.schema_files();
    walk.leftovers();
    walk.report
}

/// What kind of object a node is, which decides what its members mean.
#[derive(Clone, Copy)]
enum Object {
    Document,
    Info,
    Server,
    Components,
    PathItem,
    Operation,
    Parameter,
    Header,
    RequestBody,
    Response,
    MediaType,
    /// A member `x-…` of a document.
    Extension,
    Schema,
}

/// How a member is compared.
enum Member {
    /// Not a fact: prose, or one of the exclusions below.
    Ignored,
    /// As a value, whatever it is.
    Value,
    /// As a set; each missing or extra entry is a difference.
    Set,
    /// As a mark: the visibility under each operation.
    Mark,
    /// As an object of a kind.
    One(Object),
    /// As objects by key; the text names an entry in a difference.
    Map(Object, &'static str),
    /// As objects in order.
    List(Object),
    /// As parameters by place and name.
    Parameters,
}

/// The operations that a mark can name.
const OPERATIONS: [&str; 4] = ["create", "update", "complete", "read"];

impl Object {
    /// How the member `key` of such an object is compared. Keys that are not listed are compared
    /// as values, so none goes unnoticed.
    fn member(self, key: &str) -> Member {
        use Member::{Ignored, List, Map, Mark, One, Parameters, Set, Value};
        match (self, key) {
            (_, "description" | "summary") => Ignored,
            (Self::Document, "info") => One(Self::Info),
            (Self::Document, "servers") => List(Self::Server),
            (Self::Document, "paths") => Map(Self::PathItem, "path"),
            (Self::Document, "webhooks") => Map(Self::PathItem, "webhook"),
            (Self::Document, "components") => One(Self::Components),
            (Self::Document, key) if key.starts_with("x-") => One(Self::Extension),
            // The published documents have none, or `draft`; ours name the release.
            (Self::Info, "version") => Ignored,
            // A server's variables describe themselves, in prose.
            (Self::Server, "variables") => Map(Self::Server, "variable"),
            (Self::Components, "parameters") => Map(Self::Parameter, "component"),
            (Self::Components, "headers") => Map(Self::Header, "component"),
            (Self::Components, "responses") => Map(Self::Response, "component"),
            (Self::Components, "schemas") => Map(Self::Schema, "component"),
            (Self::PathItem | Self::Operation, "parameters") => Parameters,
            (Self::PathItem, _) => One(Self::Operation),
            (Self::Operation, "requestBody") => One(Self::RequestBody),
            (Self::Operation, "responses") => Map(Self::Response, "status"),
            (Self::Response, "headers") => Map(Self::Header, "header"),
            (Self::RequestBody | Self::Response, "content") => Map(Self::MediaType, "media type"),
            (Self::Parameter | Self::Header | Self::MediaType, "schema") => One(Self::Schema),
            // Sample payloads.
            (Self::MediaType, "example" | "examples") => Ignored,
            // Definitions are paired by name, as the sides may keep them in different files.
            (Self::Schema, "$defs") => Ignored,
            (Self::Schema, "$id" | "$schema" | "$comment" | "version") => Ignored,
            // OpenRPC methods of the embedded transport, outside the REST contract.
            (Self::Schema, "embedded") => Ignored,
            (Self::Schema, "properties") => Map(Self::Schema, "property"),
            (Self::Schema, "patternProperties" | "dependentSchemas") => Map(Self::Schema, "schema"),
            (
                Self::Schema,
                "items"
                | "additionalProperties"
                | "unevaluatedProperties"
                | "unevaluatedItems"
                | "propertyNames"
                | "contains"
                | "not"
                | "if"
                | "then"
                | "else",
            ) => One(Self::Schema),
            (Self::Schema, "allOf" | "anyOf" | "oneOf" | "prefixItems") => List(Self::Schema),
            (Self::Schema, "required" | "enum" | "type") => Set,
            (Self::Schema, "ucp_request" | "ucp_response") => Mark,
            _ => Value,
        }
    }
}

/// Identity of a node: its value's address, as the trees stay where they are.
type Id = *const Value;

struct Walk<'a> {
    ours: &'a Tree,
    theirs: &'a Tree,
    report: Report,
    /// Pairs of nodes that were compared, which also ends cycles.
    pairs: HashSet<(Id, Id)>,
    /// Our node for each of theirs that was compared.
    counterpart: HashMap<Id, Node<'a>>,
    /// Our nodes that were compared.
    seen: HashSet<Id>,
}

/// Where a fact stands on each side: a pair of nodes, or the same member of both.
#[derive(Clone, Copy)]
struct Place<'n, 'a> {
    ours: &'n Node<'a>,
    theirs: &'n Node<'a>,
    key: Option<&'n str>,
}

impl<'n, 'a> Place<'n, 'a> {
    fn of(ours: &'n Node<'a>, theirs: &'n Node<'a>) -> Self {
        Self {
            ours,
            theirs,
            key: None,
        }
    }

    fn member(self, key: &'n str) -> Self {
        Self {
            key: Some(key),
            ..self
        }
    }
}

impl<'a> Walk<'a> {
    // Where the walk starts.

    /// OpenAPI documents, by name.
    fn documents(&mut self) {
        let (ours, theirs) = (self.ours, self.theirs);
        let documents = |tree: &'a Tree| -> BTreeMap<&'a str, Node<'a>> {
            roots(tree)
                .filter(|root| is_document(root.value))
                .map(|root| (stem(root.file), root))
                .collect()
        };
        let (ours, theirs) = (documents(ours), documents(theirs));
        for name in keys(&ours, &theirs) {
            match (ours.get(name), theirs.get(name)) {
                (Some(ours), Some(theirs)) => self.object(Object::Document, ours, theirs),
                (ours, theirs) => self.one_sided("document", name, ours, theirs),
            }
        }
    }

    /// Schema files and their definitions: first those that both sides call by the same
    /// capability name, then the others by the names of their types.
    fn schema_files(&mut self) {
        let mut files: Vec<Node<'a>> = roots(self.theirs)
            .filter(|root| !is_document(root.value))
            .collect();
        files.sort_by_key(|root| root.value.get("name").is_none());
        for root in files {
            // What has no counterpart here is found by `leftovers`.
            let Some(our_root) = self.our_root(&root) else {
                continue;
            };
            self.node(Object::Schema, &our_root, &root);
            let Some(our_definitions) =
                Node::root(self.ours, our_root.file).and_then(|file| file.child("$defs"))
            else {
                continue;
            };
            for definition in definitions(&root) {
                if let Some(ours) = definition
                    .keys
                    .iter()
                    .try_fold(our_definitions.clone(), |node, key| node.child(key))
                {
                    if definition.is_container {
                        self.meet(&ours, &definition.node);
                    } else {
                        self.node(Object::Schema, &ours, &definition.node);
                    }
                }
            }
        }
    }

    /// The type of ours that a published file's root is.
    fn our_root(&self, root: &Node<'a>) -> Option<Node<'a>> {
        let schemas = || roots(self.ours).filter(|root| !is_document(root.value));
        if let Some(name) = root.value.get("name") {
            return schemas().find(|ours| ours.value.get("name") == Some(name));
        }
        if let Some(ours) = self.counterpart.get(&root.id()) {
            return Some(ours.clone());
        }
        let name = stem(root.file);
        let files =
            schemas().filter(|ours| ours.value.get("name").is_none() && stem(ours.file) == name);
        let definitions = schemas().filter_map(|ours| ours.child("$defs")?.child(name));
        files
            .chain(definitions)
            .find(|ours| !self.seen.contains(&ours.id()))
    }

    /// Types that exist on one side only.
    fn leftovers(&mut self) {
        for node in types(self.ours) {
            if !self.seen.contains(&node.id()) {
                self.one_sided("definition", &node.name(), Some(&node), None);
            }
        }
        for node in types(self.theirs) {
            if !self.counterpart.contains_key(&node.id()) {
                self.one_sided("definition", &node.name(), None, Some(&node));
            }
        }
    }

    // The walk.

    fn meet(&mut self, ours: &Node<'a>, theirs: &Node<'a>) {
        self.seen.insert(ours.id());
        self.counterpart
            .entry(theirs.id())
            .or_insert_with(|| ours.clone());
    }

    /// Compares two nodes, either of which may be a reference, unless that was done before.
    fn node(&mut self, kind: Object, ours: &Node<'a>, theirs: &Node<'a>) {
        if !self.pairs.insert((ours.id(), theirs.id())) {
            return;
        }
        self.meet(ours, theirs);
        let place = Place::of(ours, theirs);
        match (ours.is_ref(), theirs.is_ref()) {
            (false, false) => return self.object(kind, ours, theirs),
            // What stands beside the references is compared for itself.
            (true, true) => self.members(kind, ours, theirs),
            // One side has written the type out: the other's reference must be bare.
            (is_ours, _) => {
                let reference = if is_ours { ours } else { theirs };
                let facts =
                    |key: &&str| *key != "$ref" && !matches!(kind.member(key), Member::Ignored);
                if keys_of(reference, reference).iter().any(facts) {
                    return self.differ("$ref", place, Some(ours.value), Some(theirs.value));
                }
            }
        }
        let (Some(our_target), Some(their_target)) =
            (ours.target(self.ours), theirs.target(self.theirs))
        else {
            let target = |node: &Node<'a>| node.value.get("$ref");
            return self.differ("$ref", place, target(ours), target(theirs));
        };
        // Types are named after what a reference names, so that is a fact; an alias passes it on.
        if !our_target.is_ref() && !their_target.is_ref() {
            self.fact(
                "name",
                place,
                Some(&our_target.name().into()),
                Some(&their_target.name().into()),
            );
        }
        self.node(kind, &our_target, &their_target);
    }

    /// Compares two nodes that are not references; a schema may be a boolean.
    fn object(&mut self, kind: Object, ours: &Node<'a>, theirs: &Node<'a>) {
        if ours.value.is_object() && theirs.value.is_object() {
            self.members(kind, ours, theirs);
        } else {
            self.fact(
                &ours.name(),
                Place::of(ours, theirs),
                Some(ours.value),
                Some(theirs.value),
            );
        }
    }

    fn members(&mut self, kind: Object, ours: &Node<'a>, theirs: &Node<'a>) {
        for key in keys_of(ours, theirs) {
            if key == "$ref" {
                continue;
            }
            let place = Place::of(ours, theirs).member(key);
            let (a, b) = (ours.child(key), theirs.child(key));
            let (value, their_value) = (
                a.as_ref().map(|node| node.value),
                b.as_ref().map(|node| node.value),
            );
            match (kind.member(key), &a, &b) {
                (Member::Ignored, ..) => {}
                (Member::Set, ..) => self.set(key, place, value, their_value),
                (Member::Mark, ..) => self.mark(place, value, their_value),
                (Member::Parameters, ..) => self.parameters(place, a.as_ref(), b.as_ref()),
                (Member::One(kind), Some(a), Some(b)) => self.node(kind, a, b),
                (Member::Map(kind, entry), Some(a), Some(b)) => self.map(kind, entry, a, b),
                (Member::List(kind), Some(a), Some(b)) => self.list(key, kind, a, b),
                _ => {
                    let what = if matches!(kind, Object::PathItem) {
                        "method"
                    } else {
                        key
                    };
                    self.fact(what, place, value, their_value);
                }
            }
        }
    }

    fn map(&mut self, kind: Object, entry: &str, ours: &Node<'a>, theirs: &Node<'a>) {
        for key in keys_of(ours, theirs) {
            let (a, b) = (ours.child(key), theirs.child(key));
            self.fact(
                entry,
                Place::of(ours, theirs).member(key),
                presence(&a),
                presence(&b),
            );
            if let (Some(a), Some(b)) = (a, b) {
                self.node(kind, &a, &b);
            }
        }
    }

    fn list(&mut self, key: &str, kind: Object, ours: &Node<'a>, theirs: &Node<'a>) {
        let length = |node: &Node<'a>| node.value.as_array().map_or(0, Vec::len);
        for i in 0..length(ours).max(length(theirs)) {
            let i = i.to_string();
            match (ours.child(&i), theirs.child(&i)) {
                (Some(a), Some(b)) => self.node(kind, &a, &b),
                (a, b) => {
                    let place = Place::of(ours, theirs).member(&i);
                    self.differ(
                        key,
                        place,
                        a.map(|node| node.value),
                        b.map(|node| node.value),
                    );
                }
            }
        }
    }

    fn parameters(
        &mut self,
        place: Place<'_, 'a>,
        ours: Option<&Node<'a>>,
        theirs: Option<&Node<'a>>,
    ) {
        let by_name = |list: Option<&Node<'a>>, tree: &'a Tree| -> BTreeMap<String, Node<'a>> {
            let count = list
                .and_then(|node| node.value.as_array())
                .map_or(0, Vec::len);
            let items = (0..count).filter_map(|i| list?.child(&i.to_string()));
            let named = items.map(|item| {
                let target = item.target(tree);
                let value = target.as_ref().map_or(item.value, |target| target.value);
                let text = |key| value.get(key).and_then(Value::as_str).unwrap_or_default();
                (format!("{} {}", text("in"), text("name")), item)
            });
            named.collect()
        };
        let (ours, theirs) = (by_name(ours, self.ours), by_name(theirs, self.theirs));
        for name in keys(&ours, &theirs) {
            match (ours.get(name), theirs.get(name)) {
                (Some(ours), Some(theirs)) => self.node(Object::Parameter, ours, theirs),
                (ours, theirs) => {
                    let value = Value::from(name.as_str());
                    self.differ(
                        "parameter",
                        place,
                        ours.map(|_| &value),
                        theirs.map(|_| &value),
                    );
                }
            }
        }
    }

    // Facts.

    fn set(
        &mut self,
        key: &str,
        place: Place<'_, 'a>,
        ours: Option<&Value>,
        theirs: Option<&Value>,
    ) {
        // Two scalars, such as two types, differ as one fact.
        if let (Some(Value::String(_)), Some(Value::String(_))) = (ours, theirs) {
            return self.fact(key, place, ours, theirs);
        }
        let (ours, theirs) = (entries(ours), entries(theirs));
        for entry in keys(&ours, &theirs) {
            self.fact(
                key,
                place,
                ours.get(entry).copied(),
                theirs.get(entry).copied(),
            );
        }
    }

    /// A plain mark holds for every operation; in an object, one that is not listed has no mark.
    fn mark(&mut self, place: Place<'_, 'a>, ours: Option<&Value>, theirs: Option<&Value>) {
        let listed = [ours, theirs]
            .into_iter()
            .flatten()
            .filter_map(Value::as_object);
        let operations: BTreeSet<&str> = listed
            .flat_map(|map| map.keys().map(String::as_str))
            .chain(OPERATIONS)
            .collect();
        for operation in operations {
            let (ours, theirs) = (under(ours, operation), under(theirs, operation));
            if ours.is_some() || theirs.is_some() {
                self.fact(&format!("mark for {operation}"), place, ours, theirs);
            }
        }
    }

    fn fact(
        &mut self,
        kind: &str,
        place: Place<'_, 'a>,
        ours: Option<&Value>,
        theirs: Option<&Value>,
    ) {
        if ours == theirs {
            self.report.compared += 1;
        } else {
            self.differ(kind, place, ours, theirs);
        }
    }

    fn differ(
        &mut self,
        kind: &str,
        place: Place<'_, 'a>,
        ours: Option<&Value>,
        theirs: Option<&Value>,
    ) {
        let at = |node: &Node<'a>| {
            place
                .key
                .map_or_else(|| node.at(), |key| node.at_child(key))
        };
        self.push(kind, at(place.ours), at(place.theirs), ours, theirs);
    }

    fn one_sided(
        &mut self,
        kind: &str,
        name: &str,
        ours: Option<&Node<'a>>,
        theirs: Option<&Node<'a>>,
    ) {
        let at =
            |node: Option<&Node<'a>>| node.map_or_else(|| "(no counterpart)".to_owned(), Node::at);
        let name = Value::from(name);
        self.push(
            kind,
            at(ours),
            at(theirs),
            ours.map(|_| &name),
            theirs.map(|_| &name),
        );
    }

    fn push(
        &mut self,
        kind: &str,
        ours: String,
        theirs: String,
        our_value: Option<&Value>,
        their_value: Option<&Value>,
    ) {
        self.report.compared += 1;
        self.report.differences.push(Difference {
            kind: kind.to_owned(),
            ours,
            theirs,
            our_value: our_value.cloned(),
            their_value: their_value.cloned(),
        });
    }
}

/// What a mark says of an operation.
fn under<'v>(mark: Option<&'v Value>, operation: &str) -> Option<&'v Value> {
    match mark? {
        Value::Object(map) => map.get(operation),
        mark => Some(mark),
    }
}

/// The entries of a set, keyed by their text; a scalar is a set of one.
fn entries(value: Option<&Value>) -> BTreeMap<String, &Value> {
    let entries = match value {
        Some(Value::Array(items)) => items.as_slice(),
        Some(value) => std::slice::from_ref(value),
        None => &[],
    };
    entries
        .iter()
        .map(|entry| (entry.to_string(), entry))
        .collect()
}

/// That an entry exists, as a fact apart from what it says.
fn presence(node: &Option<Node<'_>>) -> Option<&'static Value> {
    static PRESENT: Value = Value::Bool(true);
    node.as_ref().map(|_| &PRESENT)
}

fn is_document(value: &Value) -> bool {
    value.get("openapi").is_some()
}

/// The files of a tree.
fn roots(tree: &Tree) -> impl Iterator<Item = Node<'_>> {
    tree.keys().filter_map(|path| Node::root(tree, path))
}

/// The types of a tree: its definitions, and the files that are more than a place for them.
fn types(tree: &Tree) -> Vec<Node<'_>> {
    let mut types = Vec::new();
    for root in roots(tree).filter(|root| !is_document(root.value)) {
        types.extend(
            definitions(&root)
                .into_iter()
                .map(|definition| definition.node),
        );
        if keys_of(&root, &root).iter().any(|key| *key != "$defs") {
            types.push(root);
        }
    }
    types
}

struct Definition<'a> {
    node: Node<'a>,
    /// The way to it from `$defs`: its key, after that of what it is nested in, if any.
    keys: Vec<&'a str>,
    /// Whether it is no schema but holds some: `dev.ucp.…: { platform_schema, business_schema }`.
    is_container: bool,
}

fn definitions<'a>(root: &Node<'a>) -> Vec<Definition<'a>> {
    let mut found = Vec::new();
    let Some(definitions) = root.child("$defs") else {
        return found;
    };
    for key in keys_of(&definitions, &definitions) {
        let Some(node) = definitions.child(key) else {
            continue;
        };
        let inner = keys_of(&node, &node);
        let is_container = !inner.is_empty() && inner.iter().all(|key| key.ends_with("_schema"));
        if is_container {
            found.extend(inner.into_iter().filter_map(|inner| {
                Some(Definition {
                    node: node.child(inner)?,
                    keys: vec![key, inner],
                    is_container: false,
                })
            }));
        } else if let Some(nested) = node.child("$defs") {
            // What takes the place of a capability's own definitions.
            found.extend(keys_of(&nested, &nested).into_iter().filter_map(|inner| {
                Some(Definition {
                    node: nested.child(inner)?,
                    keys: vec![key, "$defs", inner],
                    is_container: false,
                })
            }));
        }
        found.push(Definition {
            node,
            keys: vec![key],
            is_container,
        });
    }
    found
}

fn keys<'k, K: Ord, V>(a: &'k BTreeMap<K, V>, b: &'k BTreeMap<K, V>) -> BTreeSet<&'k K> {
    a.keys().chain(b.keys()).collect()
}

fn keys_of<'a>(a: &Node<'a>, b: &Node<'a>) -> BTreeSet<&'a str> {
    let objects = [a, b].into_iter().filter_map(|node| node.value.as_object());
    objects
        .flat_map(|map| map.keys().map(String::as_str))
        .collect()
}
