//! The frames of one flow, which wait in a host's NIC. The NIC of the simulator schedules them: it asks a [`Frames`] for
//! packets where it would ask a transport.

use crate::slab::Handle;
use backwater_transport::{Next, Outgoing, Sender};
use backwater_types::{Frame, Instant, Kind};
use std::collections::VecDeque;

/// Queue of frames of one flow, a sender to its NIC. It sends what it holds, as soon as the NIC lets it.
#[derive(Debug)]
pub struct Frames {
    waiting: VecDeque<Waiting>,
    /// Frame of the packet that the NIC took last.
    taken: Option<Handle>,
    key: u32,
    class: u8,
    next: u32,
    /// Whether the flow has ended, so that the NIC frees its queue and its slot.
    closed: bool,
    /// Time at which its program sent last.
    used: Instant,
}

/// A frame that waits.
#[derive(Debug)]
pub struct Waiting {
    /// The frame.
    pub handle: Handle,
    /// Bytes on the wire.
    pub wire: u16,
    /// Flags of its packet, see [`backwater_types::flags`].
    pub flags: u8,
}

impl Frames {
    /// Creates the empty queue of a flow with this hash and traffic class.
    pub fn new(key: u32, class: u8) -> Frames {
        Frames { waiting: VecDeque::new(), taken: None, key, class, next: 0, closed: false, used: Instant::ZERO }
    }

    /// Records that the program sends at `now`, so that the flow goes on.
    pub fn touch(&mut self, now: Instant) {
        self.used = now;
    }

    /// Adds a frame.
    pub fn push(&mut self, frame: Waiting) {
        self.waiting.push_back(frame);
    }

    /// Number of frames that wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether no frame waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Ends the flow if it holds nothing and its program sent last before `since`. Returns whether it has ended: the NIC
    /// then frees its slot.
    pub fn close_if_idle(&mut self, since: Instant) -> bool {
        self.closed |= self.waiting.is_empty() && self.used < since;
        self.closed
    }

    /// Takes the frame of the packet that the NIC took last.
    pub fn take(&mut self) -> Option<Handle> {
        self.taken.take()
    }
}

impl Sender for Frames {
    type Params = ();
    type Extension = ();
    type Due = ();

    fn peek(&self, _params: &(), _now: Instant) -> Next<u16> {
        self.waiting.front().map_or(Next::Blocked, |first| Next::Packet(first.wire))
    }

    fn next_packet(&mut self, _params: &(), _now: Instant) -> Next<Outgoing> {
        let Some(Waiting { handle, wire, flags }) = self.waiting.pop_front() else { return Next::Blocked };
        let seq = self.next;
        self.next = self.next.wrapping_add(1);
        self.taken = Some(handle);
        Next::Packet(Outgoing { kind: Kind::Data, seq, wire, class: self.class, flags, extension: () })
    }

    fn on_packet(&mut self, _params: &(), _now: Instant, _packet: &Frame<()>) {}

    /// A flow keeps its queue in the NIC until it ends, as a flow of the simulator does. A flow whose program sends
    /// frame by frame would otherwise get another queue for each frame.
    fn has_unsent(&self) -> bool {
        !self.closed
    }

    fn is_done(&self) -> bool {
        self.closed
    }

    fn key(&self) -> u32 {
        self.key
    }

    fn class(&self) -> u8 {
        self.class
    }

    fn acknowledged(&self) -> u32 {
        0
    }
}
