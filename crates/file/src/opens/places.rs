//! Where handles are: a tree of only those directories and files that are open or have something open below them.
//!
//! Owns the names that List Handles shows, the counts "open here" and "open below", which directories are being renamed,
//! and which files are hidden from listings. Every change walks up once, so it costs the depth of the path.
//!
//! Invariants: a node exists while something is open here or below; the count below a node is the sum over its
//! children; a tentative open may have read an old path, so only a confirmed one corrects names and parents.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use types::{Inode, UnitId, limits};

use super::place::{HandleId, Place, Step};

/// How many handles, and how many opens that are not confirmed yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) confirmed: usize,
    pub(super) tentative: usize,
}

impl Count {
    const ONE_CONFIRMED: Self = Self { confirmed: 1, tentative: 0 };
    const ONE_TENTATIVE: Self = Self { confirmed: 0, tentative: 1 };

    fn add(&mut self, other: Self) {
        self.confirmed += other.confirmed;
        self.tentative += other.tentative;
    }

    fn subtract(&mut self, other: Self) {
        self.confirmed = self.confirmed.saturating_sub(other.confirmed);
        self.tentative = self.tentative.saturating_sub(other.tentative);
    }

    const fn is_zero(self) -> bool {
        self.confirmed == 0 && self.tentative == 0
    }
}

#[derive(Debug)]
struct Node {
    parent: Option<Inode>,
    name: Box<str>,
    here: Count,
    below: Count,
}

#[derive(Debug, Default)]
struct Share {
    nodes: HashMap<Inode, Node>,
    handles: BTreeMap<HandleId, Inode>,
    tentative: BTreeMap<HandleId, Inode>,
    /// Files with the mark of a pending delete, under their directory.
    hidden: BTreeSet<(Inode, Inode)>,
    /// What is being renamed, and by how many at once (one of them will win on the rows).
    moving: HashMap<Inode, usize>,
}

/// Why an open cannot be entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotEntered {
    /// This directory on the way is being renamed.
    Moving(Inode),
    /// The tree is as large as it may be.
    Full,
}

/// What keeps a directory from being renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenBelow {
    /// A handle.
    Handle,
    /// Perhaps this file, whose open is not confirmed yet.
    Tentative(Inode),
}

/// The trees of all shares.
#[derive(Debug, Default)]
pub(super) struct Places {
    shares: HashMap<UnitId, Share>,
    nodes: usize,
}

impl Places {
    /// A tentative open, unless a directory on its way is being renamed.
    pub(super) fn enter(&mut self, place: &Place, handle: HandleId) -> Result<(), NotEntered> {
        let share = self.shares.entry(place.share()).or_default();
        let moving = place.steps().find(|step| share.moving.contains_key(&step.inode));
        let refusal = if let Some(step) = moving {
            Some(NotEntered::Moving(step.inode))
        } else {
            let new = place.steps().filter(|step| !share.nodes.contains_key(&step.inode)).count();
            (self.nodes + new > limits::OPEN_PATH_NODES_MAX).then_some(NotEntered::Full)
        };
        if let Some(refusal) = refusal {
            self.forget_if_empty(place.share());
            return Err(refusal);
        }
        let (inode, before) = (place.file().inode, share.nodes.len());
        share.make(place);
        share.tentative.insert(handle, inode);
        share.count_here(inode, Count::ONE_TENTATIVE);
        share.prune_path(place);
        self.nodes = (self.nodes + share.nodes.len()).saturating_sub(before);
        Ok(())
    }

    /// A tentative open has become a handle, and its transaction has found this path.
    pub(super) fn confirm(&mut self, place: &Place, handle: HandleId) {
        let Some(share) = self.shares.get_mut(&place.share()) else { return };
        let inode = place.file().inode;
        let before = share.nodes.len();
        share.correct(place);
        share.tentative.remove(&handle);
        share.handles.insert(handle, inode);
        share.count_here(inode, Count::ONE_CONFIRMED);
        share.discount_here(inode, Count::ONE_TENTATIVE);
        self.nodes = (self.nodes + share.nodes.len()).saturating_sub(before);
    }

    /// A handle is no longer listed; the name stays until [`Places::leave`].
    pub(super) fn unlist(&mut self, share: UnitId, handle: HandleId) {
        if let Some(share) = self.shares.get_mut(&share) {
            share.handles.remove(&handle);
        }
    }

    /// A handle is closed (`confirmed`), or a tentative open given up.
    pub(super) fn leave(&mut self, share_id: UnitId, inode: Inode, handle: HandleId, confirmed: bool) {
        let Some(share) = self.shares.get_mut(&share_id) else { return };
        let before = share.nodes.len();
        share.handles.remove(&handle);
        share.tentative.remove(&handle);
        share.discount_here(inode, if confirmed { Count::ONE_CONFIRMED } else { Count::ONE_TENTATIVE });
        self.nodes = (self.nodes + share.nodes.len()).saturating_sub(before);
        self.forget_if_empty(share_id);
    }

    /// A rename of this directory or file begins: nothing may be open below, and nothing is opened there meanwhile.
    pub(super) fn begin_move(&mut self, share_id: UnitId, inode: Inode) -> Result<(), OpenBelow> {
        let share = self.shares.entry(share_id).or_default();
        let below = share.nodes.get(&inode).map_or(Count::default(), |node| node.below);
        if below.is_zero() {
            *share.moving.entry(inode).or_default() += 1;
            return Ok(());
        }
        if below.confirmed > 0 {
            return Err(OpenBelow::Handle);
        }
        let open = share.tentative.values().find(|open| **open != inode && share.is_at_or_below(**open, inode));
        Err(open.map_or(OpenBelow::Handle, |open| OpenBelow::Tentative(*open)))
    }

    /// The rename is over, well or not.
    pub(super) fn end_move(&mut self, share_id: UnitId, inode: Inode) {
        let Some(share) = self.shares.get_mut(&share_id) else { return };
        if let Some(count) = share.moving.get_mut(&inode) {
            *count -= 1;
            if *count == 0 {
                share.moving.remove(&inode);
            }
        }
        self.forget_if_empty(share_id);
    }

    /// The file or directory has this place now.
    pub(super) fn moved(&mut self, place: &Place) {
        let Some(share) = self.shares.get_mut(&place.share()) else { return };
        if share.nodes.contains_key(&place.file().inode) {
            let before = share.nodes.len();
            share.correct(place);
            self.nodes = (self.nodes + share.nodes.len()).saturating_sub(before);
        }
    }

    /// Hides a file from listings, or shows it again.
    pub(super) fn hide(&mut self, share: UnitId, inode: Inode, hidden: bool) {
        let Some(share) = self.shares.get_mut(&share) else { return };
        // The root is in no listing.
        let Some(parent) = share.nodes.get(&inode).and_then(|node| node.parent) else { return };
        if hidden {
            share.hidden.insert((parent, inode));
        } else {
            share.hidden.remove(&(parent, inode));
        }
    }

    /// What is hidden in a directory.
    pub(super) fn hidden(&self, share: UnitId, directory: Inode) -> BTreeSet<Inode> {
        let Some(share) = self.shares.get(&share) else { return BTreeSet::new() };
        let of_directory = (directory, Inode::new(0))..=(directory, Inode::new(u64::MAX));
        share.hidden.range(of_directory).map(|(_, inode)| *inode).collect()
    }

    /// What is open below a directory.
    pub(super) fn below(&self, share: UnitId, inode: Inode) -> Count {
        let node = self.shares.get(&share).and_then(|share| share.nodes.get(&inode));
        node.map_or(Count::default(), |node| node.below)
    }

    /// Where something is that is open.
    pub(super) fn place(&self, id: UnitId, inode: Inode) -> Option<Place> {
        let mut steps: Vec<(Inode, &Node)> = self.shares.get(&id)?.upward(inode).collect();
        let (root, _) = steps.pop()?;
        Some(steps.iter().rev().fold(Place::root(id, root), |place, (inode, node)| place.child(*inode, &node.name)))
    }

    /// Path, parent and name of what is open.
    pub(super) fn locate(&self, share: UnitId, inode: Inode) -> Option<Located> {
        let share = self.shares.get(&share)?;
        let node = share.nodes.get(&inode)?;
        let mut names: Vec<&str> = share.upward(inode).map(|(_, node)| &*node.name).collect();
        // The root has no name.
        names.pop();
        names.reverse();
        Some(Located { path: names.join("/"), parent: node.parent, name: node.name.clone() })
    }

    /// The next handles of a share behind a marker that are at a directory or below it; at most `limit`, and at most so
    /// many looked at. With the marker to go on behind, if there may be more.
    pub(super) fn handles_below(
        &self,
        share: UnitId,
        directory: Inode,
        after: Option<HandleId>,
        limit: usize,
    ) -> (Vec<(HandleId, Inode)>, Option<HandleId>) {
        let (mut found, mut last, mut looked) = (Vec::new(), None, 0);
        let Some(share) = self.shares.get(&share) else { return (found, None) };
        let behind = after.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
        for (handle, inode) in share.handles.range((behind, std::ops::Bound::Unbounded)) {
            if found.len() >= limit || looked >= limits::HANDLES_PER_STEP_MAX {
                return (found, last.or(after));
            }
            looked += 1;
            last = Some(*handle);
            if share.is_at_or_below(*inode, directory) {
                found.push((*handle, *inode));
            }
        }
        (found, None)
    }

    /// Where a handle of a share is.
    pub(super) fn find(&self, share: UnitId, handle: HandleId) -> Option<Inode> {
        self.shares.get(&share)?.handles.get(&handle).copied()
    }

    /// Whether a file is a directory or below it.
    pub(super) fn is_at_or_below(&self, share: UnitId, inode: Inode, directory: Inode) -> bool {
        self.shares.get(&share).is_some_and(|share| share.is_at_or_below(inode, directory))
    }

    /// Nodes, and everything else that is remembered.
    pub(super) fn size(&self) -> (usize, usize) {
        let of_share =
            |share: &Share| 1 + share.handles.len() + share.tentative.len() + share.hidden.len() + share.moving.len();
        (self.nodes, self.shares.values().map(of_share).sum())
    }

    fn forget_if_empty(&mut self, id: UnitId) {
        let empty = |share: &Share| share.nodes.is_empty() && share.moving.is_empty();
        if self.shares.get(&id).is_some_and(empty) {
            self.shares.remove(&id);
        }
    }
}

/// Path, parent and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Located {
    pub(super) path: String,
    pub(super) parent: Option<Inode>,
    pub(super) name: Box<str>,
}

impl Share {
    /// The node and those above it.
    fn upward(&self, inode: Inode) -> impl Iterator<Item = (Inode, &Node)> {
        let first = self.nodes.get(&inode).map(|node| (inode, node));
        std::iter::successors(first, |(_, node)| {
            node.parent.and_then(|parent| self.nodes.get(&parent).map(|node| (parent, node)))
        })
    }

    fn is_at_or_below(&self, inode: Inode, directory: Inode) -> bool {
        self.upward(inode).any(|(above, _)| above == directory)
    }

    /// Makes the nodes of a path that are missing. Those that exist are as they are.
    fn make(&mut self, place: &Place) {
        let mut parent = None;
        for Step { inode, name } in place.steps() {
            let node = || Node { parent, name: name.clone(), here: Count::default(), below: Count::default() };
            self.nodes.entry(*inode).or_insert_with(node);
            parent = Some(*inode);
        }
    }

    /// Makes a path true: every node of it gets this parent and name.
    fn correct(&mut self, place: &Place) {
        self.make(place);
        let mut parent = None;
        for Step { inode, name } in place.steps() {
            self.relocate(*inode, parent, name);
            parent = Some(*inode);
        }
        self.prune_path(place);
    }

    /// Forgets the directories of a path that are not used: a node below them is elsewhere.
    fn prune_path(&mut self, place: &Place) {
        for step in place.steps() {
            self.prune(step.inode);
        }
    }

    fn relocate(&mut self, inode: Inode, parent: Option<Inode>, name: &str) {
        let Some(node) = self.nodes.get_mut(&inode) else { return };
        if *node.name != *name {
            node.name = name.into();
        }
        let from = node.parent;
        // Below itself: a path that never was.
        if from == parent || parent.is_some_and(|parent| self.is_at_or_below(parent, inode)) {
            return;
        }
        let Some(node) = self.nodes.get_mut(&inode) else { return };
        let mut total = node.here;
        total.add(node.below);
        node.parent = parent;
        self.each_upward(from, |above| above.below.subtract(total));
        self.each_upward(parent, |above| above.below.add(total));
        if let Some(from) = from {
            let was_hidden = self.hidden.remove(&(from, inode));
            if let (true, Some(parent)) = (was_hidden, parent) {
                self.hidden.insert((parent, inode));
            }
            self.prune(from);
        }
    }

    fn each_upward(&mut self, from: Option<Inode>, mut change: impl FnMut(&mut Node)) {
        let mut next = from;
        while let Some(node) = next.and_then(|inode| self.nodes.get_mut(&inode)) {
            change(node);
            next = node.parent;
        }
    }

    fn count_here(&mut self, inode: Inode, count: Count) {
        let Some(node) = self.nodes.get_mut(&inode) else { return };
        node.here.add(count);
        let parent = node.parent;
        self.each_upward(parent, |above| above.below.add(count));
    }

    fn discount_here(&mut self, inode: Inode, count: Count) {
        let Some(node) = self.nodes.get_mut(&inode) else { return };
        node.here.subtract(count);
        let parent = node.parent;
        self.each_upward(parent, |above| above.below.subtract(count));
        self.prune(inode);
    }

    /// Forgets a node that nothing is open at or below, and those above it that nothing is left of.
    fn prune(&mut self, inode: Inode) {
        let mut next = Some(inode);
        while let Some(inode) = next {
            match self.nodes.get(&inode) {
                Some(node) if node.here.is_zero() && node.below.is_zero() => {
                    next = node.parent;
                    if let Some(parent) = node.parent {
                        self.hidden.remove(&(parent, inode));
                    }
                    self.nodes.remove(&inode);
                }
                _ => next = None,
            }
        }
    }
}
