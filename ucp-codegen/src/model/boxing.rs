//! Which members need a box: those through which a type contains itself.

use crate::schema::{Graph, NodeId, Type};
use std::collections::{BTreeMap, BTreeSet};

/// The pairs (node, node) where the first contains the second directly and is contained by it.
pub(super) fn boxed(graph: &Graph) -> BTreeSet<(NodeId, NodeId)> {
    let mut edges: BTreeMap<NodeId, BTreeSet<NodeId>> = BTreeMap::new();
    for id in graph.ids().filter(|id| graph.shared(*id) == *id) {
        let Some(node) = graph.node(id) else { continue };
        let direct = node.shape.types().into_iter().filter_map(Type::nodes).filter(|(_, behind)| !behind).map(|(child, _)| graph.shared(child));
        edges.insert(id, direct.collect());
    }
    let mut found = BTreeSet::new();
    for (from, children) in &edges {
        for child in children {
            if reaches(&edges, *child, *from) {
                found.insert((*from, *child));
            }
        }
    }
    found
}

fn reaches(edges: &BTreeMap<NodeId, BTreeSet<NodeId>>, from: NodeId, to: NodeId) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(here) = open.pop() {
        if here == to {
            return true;
        }
        if seen.insert(here) {
            open.extend(edges.get(&here).into_iter().flatten());
        }
    }
    false
}
