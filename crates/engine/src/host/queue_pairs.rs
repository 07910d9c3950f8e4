//! Queue pairs of a host. Each sends its messages one after the other, as an RDMA NIC does.
//!
//! A message begins when the last packet of the one before has left. Retransmissions of the earlier message may leave
//! beside the next one. Each message has a rate and a window of its own, as in the public simulators.

use backwater_fabric::flow::Flow;
use std::collections::{HashMap, VecDeque};

/// A queue pair: destination, port and workload.
type Pair = (u16, u16, u8);

/// The message that each queue pair sends, and those that wait for it.
#[derive(Debug, Default)]
pub struct QueuePairs {
    /// `[flow]`: the queue pair that sends it.
    sending: HashMap<u32, Pair>,
    /// `[queue pair that sends]`: messages that wait, in order.
    waiting: HashMap<Pair, VecDeque<Flow>>,
}

impl QueuePairs {
    /// Returns whether a message may begin now. If not, [`QueuePairs::next`] returns it when it may.
    pub fn admit(&mut self, message: &Flow) -> bool {
        let pair = (message.dst, message.port, message.class);
        if let Some(waiting) = self.waiting.get_mut(&pair) {
            waiting.push_back(*message);
            return false;
        }
        self.waiting.insert(pair, VecDeque::new());
        self.sending.insert(message.id, pair);
        true
    }

    /// Notes that the last packet of a flow has left, and returns the message that begins now.
    pub fn next(&mut self, sent: u32) -> Option<Flow> {
        // A last packet that is sent again finds no entry.
        let pair = self.sending.remove(&sent)?;
        let next = self.waiting.get_mut(&pair)?.pop_front();
        match next {
            Some(next) => _ = self.sending.insert(next.id, pair),
            None => _ = self.waiting.remove(&pair),
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_types::Instant;

    #[test]
    fn messages_of_a_queue_pair_take_turns_and_others_do_not_wait() {
        let message = |id, dst, port| Flow {
            id,
            at: Instant::ZERO,
            src: 0,
            dst,
            size: 1,
            receiver_slot: 0,
            port,
            class: 0,
            priority: 0,
        };
        let mut pairs = QueuePairs::default();
        let sent = [(0, 1, 7), (1, 1, 7), (2, 1, 8), (3, 2, 7), (4, 1, 7)];
        let begin = sent.map(|(id, dst, port)| pairs.admit(&message(id, dst, port)));
        assert_eq!(begin, [true, false, true, true, false]);
        let ids = [9, 0, 0, 2, 1, 4, 3].map(|sent| pairs.next(sent).map(|message| message.id));
        assert_eq!(ids, [None, Some(1), None, None, Some(4), None, None]);
        assert!(pairs.sending.is_empty() && pairs.admit(&message(5, 1, 7)));
    }
}
