//! Receiving side of TCP: the segments that have arrived, and their acknowledgements.

use alloc::vec::Vec;

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpAck {
    /// Next segment expected.
    pub next: u32,
    /// SACK block: its first segment, and the one after its last; equal if there is no block.
    pub block: (u32, u32),
    /// Whether the segments that are acknowledged were marked.
    pub marked: bool,
}

/// Acknowledgement policy of a receiver.
#[derive(Clone, Copy, Debug)]
pub struct AckPolicy {
    /// Most segments in order per acknowledgement.
    pub every: u32,
    /// Whether a change from marked to unmarked segments, or back, is acknowledged at once (RFC 8257, section 3.2).
    pub exact_marks: bool,
}

/// Receiving side of one flow.
#[derive(Clone, Debug, Default)]
pub struct TcpReceiver {
    /// Next segment expected.
    pub next: u32,
    /// Segments of the flow, once its last has come.
    total: Option<u32>,
    /// Blocks received beyond `next`, ascending, with holes between them.
    blocks: Vec<(u32, u32)>,
    /// Segments in order that are not acknowledged yet.
    waiting: u32,
    /// Whether any of these was marked.
    marked: bool,
}

/// Acknowledgements that one segment causes, in order.
pub type Answers = [Option<TcpAck>; 2];

impl TcpReceiver {
    /// Handles segment `seq`, the last of the flow if `last`.
    #[inline(always)]
    pub fn on_data(&mut self, policy: AckPolicy, seq: u32, last: bool, marked: bool) -> Answers {
        if last {
            self.total = Some(seq + 1);
        }
        if seq != self.next || !self.blocks.is_empty() {
            return self.out_of_order(seq, marked);
        }
        let before = (policy.exact_marks && self.waiting > 0 && marked != self.marked).then(|| self.acknowledge());
        self.next += 1;
        self.marked |= marked;
        self.waiting += 1;
        let now = (self.waiting >= policy.every || last).then(|| self.acknowledge());
        [before, now]
    }

    /// Acknowledges the segments that wait for it.
    pub fn acknowledge(&mut self) -> TcpAck {
        let ack = TcpAck { next: self.next, block: (0, 0), marked: self.marked };
        (self.waiting, self.marked) = (0, false);
        ack
    }

    /// Whether segments wait for an acknowledgement.
    pub fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Whether everything has arrived.
    #[inline(always)]
    pub fn is_done(&self) -> bool {
        self.total == Some(self.next)
    }

    #[cold]
    fn out_of_order(&mut self, seq: u32, marked: bool) -> Answers {
        let before = (self.waiting > 0).then(|| self.acknowledge());
        let mut block = (0, 0);
        if seq == self.next {
            self.next += 1;
            if let Some((_, to)) = self.blocks.first().copied().filter(|(from, _)| *from == self.next) {
                self.next = to;
                self.blocks.remove(0);
            }
        } else if seq > self.next {
            block = self.insert(seq);
        }
        [before, Some(TcpAck { next: self.next, block, marked })]
    }

    /// Adds `seq` to the blocks and returns the block that it is in.
    fn insert(&mut self, seq: u32) -> (u32, u32) {
        let at = self.blocks.partition_point(|(_, to)| *to < seq);
        match self.blocks.get_mut(at) {
            Some(block) if block.0 <= seq && seq < block.1 => return *block,
            Some(block) if block.1 == seq => {
                block.1 += 1;
                let end = block.1;
                if let Some((_, to)) = self.blocks.get(at + 1).copied().filter(|(from, _)| *from == end) {
                    self.blocks[at].1 = to;
                    self.blocks.remove(at + 1);
                }
            }
            Some(block) if block.0 == seq + 1 => block.0 = seq,
            _ => self.blocks.insert(at, (seq, seq + 1)),
        }
        self.blocks[at]
    }
}
