//! Each node with an event queue of its own, so that it can run through a window alone.
//!
//! A link delivers in order, so only its head frame is an event. A port is an event only while something waits for it.

use crate::net::schedule::{Agenda, EventName, Schedule, Target};
use crate::net::tree::Tree;
use backwater_dataplane::Ring;
use backwater_types::{Extension, Frame, Instant, QueueId};

/// Frames in flight on one direction of a link, with the times their last bits arrive.
#[derive(Clone, Debug)]
pub struct InFlight<E> {
    frames: Ring<(Instant, Frame<E>)>,
}

impl<E: Extension> InFlight<E> {
    /// Arrival of the head frame; [`Instant::NEVER`] if none is in flight.
    #[inline(always)]
    pub fn head(&self) -> Instant {
        self.frames.front().map_or(Instant::NEVER, |(at, _)| *at)
    }

    /// The head frame.
    #[inline(always)]
    pub fn front(&self) -> Option<&Frame<E>> {
        self.frames.front().map(|(_, frame)| frame)
    }

    /// How many.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.frames.len()
    }

    /// Frames that arrive before `end`.
    #[inline(always)]
    pub fn before(&self, end: Instant) -> impl Iterator<Item = &Frame<E>> {
        self.frames.iter().take_while(move |(at, _)| *at < end).map(|(_, frame)| frame)
    }

    /// The head frame has been dealt with. The arrival of the next; [`Instant::NEVER`] if none is in flight.
    #[inline(always)]
    pub fn advance(&mut self) -> Instant {
        self.frames.drop_front();
        self.head()
    }

    #[inline(always)]
    fn push(&mut self, at: Instant, frame: &Frame<E>, queue: QueueId) {
        debug_assert!(self.frames.back().is_none_or(|(last, _)| *last <= at), "a link delivers in order");
        // Copied whole, then patched where it lies: see `Cells::packet` on copies of patched packets.
        self.frames.push_back((at, *frame)).1.upstream_queue = queue;
    }
}

/// What is in flight towards the nodes, and which of them it concerns.
#[derive(Debug)]
pub struct NodeByNode<E = ()> {
    /// `[link]`: frames in flight.
    pub in_flight: Vec<InFlight<E>>,
    /// `[node]`: no event before this.
    pub next: Vec<Instant>,
    /// `[node]`: ports whose link was idle and is not any more.
    pub woken: Vec<Vec<u16>>,
}

impl<E: Extension> NodeByNode<E> {
    /// Takes the frame that has arrived by `link`, which is `leaf` in its node's queue.
    #[inline(always)]
    pub fn take<const LEAVES: usize>(&mut self, tree: &mut Tree<LEAVES>, leaf: usize, link: u32) -> Frame<E> {
        let frames = &mut self.in_flight[link as usize];
        let frame = *frames.front().expect("an armed link has a frame in flight");
        tree.set(leaf, frames.advance());
        frame
    }

    /// Arrival of the head frame of a link.
    #[inline(always)]
    pub fn head(&self, link: u32) -> Instant {
        self.in_flight[link as usize].head()
    }
}

impl<E: Extension> Schedule for NodeByNode<E> {
    type Extension = E;
    type Agenda<const LEAVES: usize> = Tree<LEAVES>;
    const IN_ORDER: bool = false;

    fn new(nodes: usize, links: usize) -> NodeByNode<E> {
        NodeByNode {
            in_flight: vec![InFlight { frames: Ring::default() }; links],
            next: vec![Instant::NEVER; nodes],
            woken: vec![Vec::with_capacity(8); nodes],
        }
    }

    #[inline(always)]
    fn deliver(&mut self, to: Target, at: Instant, frame: &Frame<E>, queue: QueueId) {
        let frames = &mut self.in_flight[to.link as usize];
        if frames.frames.is_empty() {
            self.woken[to.node as usize].push(to.port);
            self.next[to.node as usize] = self.next[to.node as usize].min(at);
        }
        frames.push(at, frame, queue);
    }

    #[inline(always)]
    fn is_free(busy_until: Instant, now: Instant) -> bool {
        busy_until <= now
    }
}

impl<E, const LEAVES: usize> Agenda<NodeByNode<E>> for Tree<LEAVES> {
    fn new(leaves: usize, tie_seed: u64) -> Tree<LEAVES> {
        Tree::new(leaves, tie_seed)
    }

    #[inline(always)]
    fn awaits(&self, port: EventName) -> bool {
        self.is_set(port.leaf)
    }

    #[inline(always)]
    fn set_port(&mut self, _schedule: &mut NodeByNode<E>, port: EventName, at: Instant) {
        self.set(port.leaf, at);
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
