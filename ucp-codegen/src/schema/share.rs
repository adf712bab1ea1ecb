//! Sharing: views of one definition that come out alike become one type, and so do vocabularies that
//! stand inline at members of one name.

use super::{Check, Node, NodeId, Shape, Type, is_definition};
use crate::source::Source;
use crate::tree::Place;
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// For each node, the first node that is alike: of the same places, with the same shape and rules, and
/// with alike nodes below. Refines a partition until it is stable, so recursion is no obstacle.
pub(super) fn share(source: &Source, nodes: &[Node]) -> Vec<NodeId> {
    // Nodes begin alike when they come from the same places and look alike on the surface.
    let mut classes: Vec<usize> = partition(
        nodes
            .iter()
            .map(|node| (origin(source, node), surface(&node.shape), rules(node))),
    );
    loop {
        let refined = partition(nodes.iter().zip(&classes).map(|(node, class)| {
            let below: Vec<usize> = children(&node.shape)
                .iter()
                .filter_map(|child| classes.get(child.0).copied())
                .collect();
            (*class, below)
        }));
        if count(&refined) == count(&classes) {
            break;
        }
        classes = refined;
    }
    let mut first: FxHashMap<usize, NodeId> = FxHashMap::default();
    classes
        .iter()
        .enumerate()
        .map(|(index, class)| *first.entry(*class).or_insert(NodeId(index)))
        .collect()
}

/// What nodes that may be one have in common.
#[derive(PartialEq, Eq, Hash)]
enum Origin<'n> {
    Places(&'n [Place]),
    /// A vocabulary that no definition names, by its member.
    Member(&'n str),
}

fn origin<'n>(source: &'n Source, node: &'n Node) -> Origin<'n> {
    if let (Shape::Vocabulary(_), [place]) = (&node.shape, node.places.as_slice()) {
        let at = source.at(*place);
        let around = at.parent().and_then(|around| around.name());
        if let (false, Some("properties"), Some(member)) = (is_definition(at), around, at.name()) {
            return Origin::Member(member);
        }
    }
    Origin::Places(&node.places)
}

fn count(classes: &[usize]) -> usize {
    classes.iter().max().map_or(0, |max| max + 1)
}

fn partition<K: std::hash::Hash + Eq>(keys: impl Iterator<Item = K>) -> Vec<usize> {
    let mut known: FxHashMap<K, usize> = FxHashMap::default();
    keys.map(|key| {
        let next = known.len();
        *known.entry(key).or_insert(next)
    })
    .collect()
}

/// The rules of a node with every node in them replaced by a blank: a mark inside a rule makes views
/// of one shape differ.
fn rules(node: &Node) -> Vec<Check<()>> {
    Check::convert(&node.all_checks(), &|_| Some(()))
}

/// A shape with every node in it replaced by a blank.
fn surface(shape: &Shape) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = match shape {
        Shape::Vocabulary(values) => write!(text, "{values:?}"),
        Shape::Object(fields) => fields.iter().try_for_each(|field| {
            write!(
                text,
                "{}:{}:{};",
                field.name,
                blank(&field.ty),
                field.required
            )
        }),
        Shape::Union { tag, arms } => arms.iter().try_for_each(|arm| {
            write!(
                text,
                "{tag:?}{}{:?}{:?};",
                blank(&arm.ty),
                arm.tag,
                arm.members
            )
        }),
    };
    text
}

fn blank(ty: &Type) -> String {
    match ty {
        Type::Node(_) => "_".to_owned(),
        Type::List(inner) => format!("[{}]", blank(inner)),
        Type::Map(inner) => format!("{{{}}}", blank(inner)),
        Type::Nullable(inner) => format!("{}?", blank(inner)),
        Type::OneOrMany(inner) => format!("{}+", blank(inner)),
        other => format!("{other:?}"),
    }
}

fn children(shape: &Shape) -> Vec<NodeId> {
    shape
        .types()
        .into_iter()
        .filter_map(|ty| ty.nodes().map(|(id, _)| id))
        .collect()
}
