//! The files of a contract as one flat tree: a value is a node, and what it holds follows it.
//!
//! A place in the contract is a node's number, so places are compared, kept and looked up at the
//! price of an integer; the JSON pointer is put together where a person is to read it.

use serde_json::{Map, Number, Value};

/// A place in the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place(pub(crate) u32);

/// What a value is. What a list or an object holds are the nodes between its own and its end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    Number(Number),
    Text(Box<str>),
    List,
    Object,
}

/// How a value is reached from the one around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It is a whole file.
    Root,
    Item(u32),
    Member(Box<str>),
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) step: Step,
    /// The value around it; its own place for a whole file.
    pub(crate) parent: Place,
    /// The first node after all that it holds.
    pub(crate) end: u32,
}

static NOTHING: Node = Node {
    kind: Kind::Null,
    step: Step::Root,
    parent: Place(0),
    end: 0,
};

/// The nodes of all files.
#[derive(Debug, Default)]
pub(crate) struct Tree(Vec<Node>);

impl Tree {
    /// The place of the next node.
    pub(crate) fn next(&self) -> Place {
        // A contract is far smaller; beyond, places would stand for nothing.
        Place(u32::try_from(self.0.len()).unwrap_or(u32::MAX))
    }

    /// Adds a node behind all others.
    pub(crate) fn push(&mut self, kind: Kind, step: Step, parent: Place) -> Place {
        let place = self.next();
        self.0.push(Node {
            kind,
            step,
            parent,
            end: place.0.saturating_add(1),
        });
        place
    }

    /// Ends a list or an object: what was pushed since is what it holds.
    pub(crate) fn close(&mut self, place: Place) {
        let end = self.next().0;
        if let Some(node) = self.0.get_mut(place.0 as usize) {
            node.end = end;
        }
    }

    /// Takes back everything from a place on.
    pub(crate) fn truncate(&mut self, place: Place) {
        self.0.truncate(place.0 as usize);
    }

    /// The value at a place.
    pub(crate) fn at(&self, place: Place) -> At<'_> {
        At {
            nodes: &self.0,
            place,
        }
    }
}

/// A value, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'t> {
    nodes: &'t [Node],
    pub(crate) place: Place,
}

impl<'t> At<'t> {
    fn node(self) -> &'t Node {
        self.nodes.get(self.place.0 as usize).unwrap_or(&NOTHING)
    }

    fn moved(self, place: Place) -> Self {
        Self { place, ..self }
    }

    pub(crate) fn kind(self) -> &'t Kind {
        &self.node().kind
    }

    /// What it holds, in the file's order.
    pub(crate) fn children(self) -> Children<'t> {
        Children {
            nodes: self.nodes,
            next: self.place.0.saturating_add(1),
            end: self.node().end,
        }
    }

    /// Everything below, at any depth, in the file's order.
    pub(crate) fn below(self) -> impl Iterator<Item = At<'t>> {
        (self.place.0.saturating_add(1)..self.node().end).map(move |at| self.moved(Place(at)))
    }

    /// The members of an object with their names; none for any other value.
    pub(crate) fn members(self) -> impl Iterator<Item = (&'t str, At<'t>)> {
        self.children()
            .filter_map(|child| Some((child.name()?, child)))
    }

    /// The items of a list; none for any other value.
    pub(crate) fn items(self) -> Children<'t> {
        if self.is_list() {
            self.children()
        } else {
            Children {
                next: 0,
                end: 0,
                ..self.children()
            }
        }
    }

    /// The member of an object.
    pub(crate) fn get(self, name: &str) -> Option<At<'t>> {
        let mut next = self.place.0.saturating_add(1);
        let end = self.node().end;
        while next < end {
            let node = self.nodes.get(next as usize)?;
            match &node.step {
                Step::Member(member) if member.len() == name.len() && **member == *name => {
                    return Some(self.moved(Place(next)));
                }
                _ => next = node.end,
            }
        }
        None
    }

    pub(crate) fn has(self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The text of a member that is a string.
    pub(crate) fn text(self, name: &str) -> Option<&'t str> {
        self.get(name)?.as_str()
    }

    /// What a member or item is called; its number in a list.
    pub(crate) fn step(self) -> &'t Step {
        &self.node().step
    }

    /// The name of a member.
    pub(crate) fn name(self) -> Option<&'t str> {
        match &self.node().step {
            Step::Member(name) => Some(name),
            Step::Root | Step::Item(_) => None,
        }
    }

    /// The value around it; `None` for a whole file.
    pub(crate) fn parent(self) -> Option<At<'t>> {
        let node = self.node();
        (node.step != Step::Root).then(|| self.moved(node.parent))
    }

    pub(crate) fn is_object(self) -> bool {
        matches!(self.kind(), Kind::Object)
    }

    pub(crate) fn is_list(self) -> bool {
        matches!(self.kind(), Kind::List)
    }

    pub(crate) fn is_text(self) -> bool {
        matches!(self.kind(), Kind::Text(_))
    }

    pub(crate) fn is_bool(self) -> bool {
        matches!(self.kind(), Kind::Bool(_))
    }

    pub(crate) fn is_null(self) -> bool {
        matches!(self.kind(), Kind::Null)
    }

    /// Whether it is `true` or `false`, as asked.
    pub(crate) fn says(self, wanted: bool) -> bool {
        matches!(self.kind(), Kind::Bool(value) if *value == wanted)
    }

    pub(crate) fn as_str(self) -> Option<&'t str> {
        match self.kind() {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_i64(self) -> Option<i64> {
        match self.kind() {
            Kind::Number(number) => number.as_i64(),
            _ => None,
        }
    }

    pub(crate) fn as_u64(self) -> Option<u64> {
        match self.kind() {
            Kind::Number(number) => number.as_u64(),
            _ => None,
        }
    }

    /// The value by itself.
    pub(crate) fn to_value(self) -> Value {
        match self.kind() {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(number) => Value::Number(number.clone()),
            Kind::Text(text) => Value::String(text.to_string()),
            Kind::List => Value::Array(self.children().map(At::to_value).collect()),
            Kind::Object => {
                let members = self.members();
                let members = members.map(|(name, value)| (name.to_owned(), value.to_value()));
                Value::Object(members.collect::<Map<_, _>>())
            }
        }
    }

    /// What a person reads: a string without its quotes, all else as JSON.
    pub(crate) fn shown(self) -> String {
        self.as_str()
            .map_or_else(|| self.to_value().to_string(), ToOwned::to_owned)
    }

    /// Goes where a JSON pointer (RFC 6901) says.
    pub(crate) fn pointed(self, pointer: &str) -> Option<At<'t>> {
        self.walk(pointer).ok()
    }

    /// The same; `Err` is the last value on the way that is there.
    pub(crate) fn walk(self, pointer: &str) -> Result<At<'t>, At<'t>> {
        if pointer.is_empty() {
            return Ok(self);
        }
        let Some(steps) = pointer.strip_prefix('/') else {
            return Err(self);
        };
        steps.split('/').try_fold(self, |at, step| {
            let found = if at.is_list() {
                let index = step.parse().ok().filter(|_| !step.starts_with('+'));
                index.and_then(|index: usize| at.children().nth(index))
            } else if step.contains('~') {
                at.get(&step.replace("~1", "/").replace("~0", "~"))
            } else {
                at.get(step)
            };
            found.ok_or(at)
        })
    }

    /// The JSON pointer (RFC 6901) of the place, empty for a whole file.
    pub(crate) fn pointer(self) -> String {
        let Some(parent) = self.parent() else {
            return String::new();
        };
        let mut pointer = parent.pointer();
        pointer.push('/');
        match self.step() {
            Step::Member(name) if name.contains(['~', '/']) => {
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
            }
            Step::Member(name) => pointer.push_str(name),
            Step::Item(index) => pointer.push_str(&index.to_string()),
            Step::Root => {}
        }
        pointer
    }
}

/// The values that a list or an object holds.
#[derive(Clone, Debug)]
pub(crate) struct Children<'t> {
    nodes: &'t [Node],
    next: u32,
    end: u32,
}

impl<'t> Iterator for Children<'t> {
    type Item = At<'t>;

    fn next(&mut self) -> Option<At<'t>> {
        if self.next >= self.end {
            return None;
        }
        let place = Place(self.next);
        self.next = self.nodes.get(place.0 as usize)?.end;
        Some(At {
            nodes: self.nodes,
            place,
        })
    }
}

/// Whether two values are equal: numbers by value, objects whatever their order.
impl PartialEq for At<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self.kind(), other.kind()) {
            (Kind::List, Kind::List) => self.children().eq(other.children()),
            (Kind::Object, Kind::Object) => {
                self.children().count() == other.children().count()
                    && self
                        .members()
                        .all(|(name, value)| other.get(name) == Some(value))
            }
            (one, other) => one == other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> Tree {
        let mut tree = Tree::default();
        crate::parse::parse("a.json", text, &mut tree).unwrap();
        tree
    }

    #[test]
    fn pointers_split_on_slashes_only() {
        let tree = tree(r#"{"$defs": {"dev.ucp.shopping/x~y": [1, {"a": true}]}}"#);
        let root = tree.at(Place(0));
        let pointer = "/$defs/dev.ucp.shopping~1x~0y/1/a";
        let found = root.pointed(pointer).unwrap();
        assert!(found.says(true));
        assert_eq!(found.pointer(), pointer);
        assert_eq!(root.pointed(""), Some(root));
        assert_eq!(root.pointed("$defs"), None);
        assert_eq!(
            root.walk("/$defs/x/y").map_err(At::pointer),
            Err("/$defs".to_owned())
        );
    }

    #[test]
    fn equality_is_that_of_json() {
        let tree = tree(r#"[{"a": 1, "b": [2]}, {"b": [2], "a": 1}, {"a": 1}, [2]]"#);
        let items: Vec<At<'_>> = tree.at(Place(0)).items().collect();
        let equal = |one: usize, other: usize| items.get(one) == items.get(other);
        assert!(equal(0, 1));
        assert!(!equal(0, 2) && !equal(0, 3));
    }

    #[test]
    fn turns_back_into_json() {
        let text = r#"{"a":[1,-2,1.5,null,true,"x\n"],"b":{}}"#;
        assert_eq!(tree(text).at(Place(0)).to_value().to_string(), text);
    }
}
