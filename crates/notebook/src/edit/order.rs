//! The order of cells while a batch changes it.
//!
//! Owns the positions of cells and the spot for the next one. It must not know what is in a cell.

use std::collections::HashMap;

/// A ring of nodes, so that the cost of moving, adding and removing does not depend on the length of
/// the notebook. Node [`RING`] closes the ring; node `n + 1` is the cell at position `n` before the
/// batch. Added cells get the next numbers.
pub(crate) struct Order {
    nodes: Vec<Node>,
    /// Nodes that were put at each anchor, so that the next one goes behind the last.
    tails: HashMap<Anchor, Vec<usize>>,
}

struct Node {
    before: usize,
    after: usize,
    /// The anchor that the node was put at, needed when it moves away.
    anchor: Option<Anchor>,
}

const RING: usize = 0;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Anchor {
    After(usize),
    Start,
}

/// The place that a cell goes to, as node numbers.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    After(usize),
    Before(usize),
    Start,
    End,
}

/// The node that a cell goes behind, and the anchor whose last cell it becomes.
pub(crate) struct Spot {
    behind: usize,
    anchor: Option<Anchor>,
}

impl Order {
    /// A ring of this many cells, in the order of their numbers.
    pub(crate) fn new(count: usize) -> Order {
        let node = |at: usize| Node {
            before: if at == RING { count } else { at - 1 },
            after: if at == count { RING } else { at + 1 },
            anchor: None,
        };
        Order { nodes: (0..=count).map(node).collect(), tails: HashMap::new() }
    }

    /// Finds the spot for a target. A cell that is being moved does not count.
    pub(crate) fn spot(&self, target: Target, moving: Option<usize>) -> Spot {
        let before = |node: usize| {
            let before = self.nodes[node].before;
            if Some(before) == moving { self.nodes[before].before } else { before }
        };
        let last_of = |anchor: Anchor, first: usize| {
            let mut placed = self.tails.get(&anchor).into_iter().flatten().rev().copied();
            let behind = placed.find(|&tail| Some(tail) != moving).unwrap_or(first);
            Spot { behind, anchor: Some(anchor) }
        };
        match target {
            Target::After(node) => last_of(Anchor::After(node), node),
            Target::Before(node) => Spot { behind: before(node), anchor: None },
            Target::Start => last_of(Anchor::Start, RING),
            Target::End => Spot { behind: before(RING), anchor: None },
        }
    }

    /// Adds a cell and returns its number.
    pub(crate) fn insert(&mut self, spot: Spot) -> usize {
        let node = self.nodes.len();
        self.nodes.push(Node { before: node, after: node, anchor: None });
        self.link(node, spot);
        node
    }

    /// Moves a cell to a spot.
    pub(crate) fn shift(&mut self, node: usize, spot: Spot) {
        self.remove(node);
        self.link(node, spot);
    }

    fn link(&mut self, node: usize, Spot { behind, anchor }: Spot) {
        let after = self.nodes[behind].after;
        self.nodes[node] = Node { before: behind, after, anchor };
        self.nodes[behind].after = node;
        self.nodes[after].before = node;
        if let Some(anchor) = anchor {
            self.tails.entry(anchor).or_default().push(node);
        }
    }

    pub(crate) fn remove(&mut self, node: usize) {
        let Node { before, after, anchor } = self.nodes[node];
        self.nodes[before].after = after;
        self.nodes[after].before = before;
        if let Some(placed) = anchor.and_then(|anchor| self.tails.get_mut(&anchor)) {
            placed.retain(|&other| other != node);
        }
        // Cells that were put after this one stay at their positions and lose that anchor.
        self.tails.remove(&Anchor::After(node));
    }

    /// Iterates over the cells in order.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = usize> {
        let next = |&node: &usize| Some(self.nodes[node].after);
        std::iter::successors(Some(self.nodes[RING].after), next).take_while(|&node| node != RING)
    }
}
