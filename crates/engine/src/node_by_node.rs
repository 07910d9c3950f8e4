//! Event queues of single nodes: each node runs through a window alone.
//!
//! A link delivers in order, so only its head frame is an event. A port is an event only while a frame waits for it.

use crate::schedule::{Agenda, EventName, Schedule};
use crate::tree::Tree;
use backwater_dataplane::Ring;
use backwater_fabric::wire::Target;
use backwater_types::{Duration, Extension, Frame, Instant};

/// Frames in flight on one direction of a link. Each has the time its last bit arrives and a stamp.
#[derive(Clone, Debug)]
pub struct InFlight<E, T = ()> {
    frames: Ring<(Instant, T, Frame<E>)>,
}

impl<E: Extension, T: Copy> Default for InFlight<E, T> {
    fn default() -> InFlight<E, T> {
        InFlight { frames: Ring::default() }
    }
}

impl<E: Extension, T: Copy> InFlight<E, T> {
    /// Returns the arrival of the head frame; [`Instant::NEVER`] if none is in flight.
    #[inline(always)]
    pub fn head(&self) -> Instant {
        self.frames.front().map_or(Instant::NEVER, |(at, ..)| *at)
    }

    /// Returns the number of frames in flight.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.frames.len()
    }

    /// Iterates over the frames that arrive before `end`.
    #[inline(always)]
    pub fn before(&self, end: Instant) -> impl Iterator<Item = &Frame<E>> {
        self.frames.iter().take_while(move |(at, ..)| *at < end).map(|(.., frame)| frame)
    }

    /// Appends a frame, whose last bit arrives at `at`.
    #[inline(always)]
    pub fn push(&mut self, at: Instant, stamp: T, frame: &Frame<E>) {
        debug_assert!(self.frames.back().is_none_or(|(last, ..)| *last <= at), "a link delivers in order");
        self.frames.push_back((at, stamp, *frame));
    }
}

/// Frames in flight towards the nodes of a partition, and the next event of each node.
#[derive(Debug)]
pub struct NodeByNode<E = (), T = ()> {
    /// `[link]`: frames in flight.
    pub in_flight: Vec<InFlight<E, T>>,
    /// `[node]`: time before which the node has no event.
    pub next: Vec<Instant>,
    /// `[node]`: ports whose idle link has got a frame in flight since the node last ran.
    pub woken: Vec<Vec<u16>>,
}

impl<E: Extension, T: Copy> NodeByNode<E, T> {
    /// Creates queues for `nodes` nodes and `links` incoming links.
    pub fn of(nodes: usize, links: usize) -> NodeByNode<E, T> {
        NodeByNode {
            in_flight: vec![InFlight::default(); links],
            next: vec![Instant::NEVER; nodes],
            woken: vec![Vec::with_capacity(8); nodes],
        }
    }

    /// Returns the head frame of `link` and its stamp.
    #[inline(always)]
    pub fn front(&self, link: u32) -> (T, &Frame<E>) {
        let (_, stamp, frame) =
            self.in_flight[link as usize].frames.front().expect("an armed link has a frame in flight");
        (*stamp, frame)
    }

    /// Removes the head frame of `link`. Returns it with its stamp, and the arrival of the frame behind it;
    /// [`Instant::NEVER`] if there is none.
    #[inline(always)]
    pub fn take(&mut self, link: u32) -> (T, Frame<E>, Instant) {
        let frames = &mut self.in_flight[link as usize].frames;
        let (_, stamp, frame) = *frames.front().expect("an armed link has a frame in flight");
        let next = frames.drop_front();
        (stamp, frame, next.map_or(Instant::NEVER, |(at, ..)| *at))
    }

    /// Returns the arrival of the frame behind the head frame of `link`; [`Instant::NEVER`] if there is none.
    #[inline(always)]
    pub fn second(&self, link: u32) -> Instant {
        self.in_flight[link as usize].frames.second().map_or(Instant::NEVER, |(at, ..)| *at)
    }

    /// Appends a frame to the link of `to`; its last bit arrives at `at`.
    #[inline(always)]
    pub fn put(&mut self, to: Target, at: Instant, stamp: T, frame: &Frame<E>) {
        let frames = &mut self.in_flight[to.link as usize];
        if frames.count() == 0 {
            self.woken[to.node as usize].push(to.port);
            self.next[to.node as usize] = self.next[to.node as usize].min(at);
        }
        frames.push(at, stamp, frame);
    }

    /// Has `node` run no later than at `at`.
    #[inline(always)]
    pub fn wake(&mut self, node: usize, at: Instant) {
        self.next[node] = self.next[node].min(at);
    }

    /// Returns the time of the earliest event of all nodes; [`Instant::NEVER`] if none has any.
    pub fn next_event(&self) -> Instant {
        self.next.iter().copied().min().unwrap_or(Instant::NEVER)
    }

    /// Returns the arrival of the head frame of `link`; [`Instant::NEVER`] if none is in flight.
    #[inline(always)]
    pub fn head(&self, link: u32) -> Instant {
        self.in_flight[link as usize].head()
    }
}

impl<E: Extension> Schedule for NodeByNode<E> {
    type Extension = E;
    type Agenda<const LEAVES: usize> = Tree<LEAVES>;
    type Stamp = ();
    type Account = ();

    fn new(_partition: u16, nodes: usize, links: usize, _longest: Duration) -> NodeByNode<E> {
        NodeByNode::of(nodes, links)
    }

    #[inline(always)]
    fn stamp(&mut self, at: Instant) -> (Instant, ()) {
        (at, ())
    }

    #[inline(always)]
    fn deliver(&mut self, to: Target, at: Instant, stamp: (), frame: &Frame<E>) {
        self.put(to, at, stamp, frame);
    }
}

impl<E: Extension, const LEAVES: usize> Agenda<NodeByNode<E>> for Tree<LEAVES> {
    fn new(leaves: usize, tie_seed: u64) -> Tree<LEAVES> {
        Tree::new(leaves, tie_seed)
    }

    #[inline(always)]
    fn is_free(&self, _schedule: &NodeByNode<E>, _port: EventName, busy_until: Instant, now: Instant) -> bool {
        busy_until <= now
    }

    #[inline(always)]
    fn awaits(&self, port: EventName) -> bool {
        self.is_set(port.leaf)
    }

    #[inline(always)]
    fn set_port(&mut self, port: EventName, at: Instant) {
        self.set(port.leaf, at);
    }

    #[inline(always)]
    fn set_start(&mut self, leaf: usize, at: Instant) {
        self.set(leaf, at);
    }

    #[inline(always)]
    fn wake_at(&mut self, _schedule: &mut NodeByNode<E>, timer: EventName, at: Instant) {
        if at < self.time(timer.leaf) {
            self.set(timer.leaf, at);
        }
    }

    #[inline(always)]
    fn set_timer(&mut self, timer: EventName, at: Instant) {
        self.set(timer.leaf, at);
    }
}
