//! Whether each send of a job has a receive, and the reverse.
//!
//! Messages are counted by source, destination and tag. A job may have as many of these as messages, so a first pass
//! compares only sums of hashes, one for each destination. A second pass looks for the messages of one destination
//! whose sums differ. If receives of a rank name any source or any tag, which message they take is known only when it
//! arrives. Of these ranks, their number is compared, each message has to have a receive that accepts it, and each
//! receive that names both has to have a message.

use crate::op::ANY;
use backwater_types::hash::mix64;
use std::collections::BTreeMap;
use std::fmt;

/// Messages that are not sent as often as they are received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmatched {
    /// Sending rank; [`ANY`] if the receives do not say.
    pub from: u32,
    /// Receiving rank.
    pub to: u32,
    /// Tag; [`ANY`] if the receives do not say.
    pub tag: u32,
    /// How often such a message is sent.
    pub sent: u64,
    /// How often such a message is received.
    pub received: u64,
}

impl fmt::Display for Unmatched {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Unmatched { from, to, tag, sent, received } = self;
        match *from {
            ANY => write!(f, "messages to rank {to}")?,
            from => write!(f, "messages from rank {from} to rank {to} with tag {tag}")?,
        }
        write!(f, ": sends {sent}, receives {received}; expected a receive for each send")
    }
}

/// What is known of one destination after the first pass.
#[derive(Clone, Copy, Default)]
struct Sum {
    sent: u64,
    received: u64,
    /// Whether a receive names any source or any tag.
    wild: bool,
    /// Sum over sends less sum over receives of the hashes of source and tag.
    difference: u64,
}

/// Hash of a source and a tag.
fn hash(from: u32, tag: u32) -> u64 {
    mix64(mix64((from as u64) << 32 | tag as u64) ^ 0x6d61_7463_6865_7321)
}

/// Calls its argument with source, destination and tag of each send and receive, and whether it is a send.
pub(crate) type Each<'a> = &'a dyn Fn(&mut dyn FnMut(u32, u32, u32, bool));

/// Checks that each send to one of `ranks` ranks has a receive.
///
/// # Errors
/// Names the first messages of the first destination for which this is not so.
pub(crate) fn matched(ranks: u32, each: Each) -> Result<(), Unmatched> {
    let mut sums = vec![Sum::default(); ranks as usize];
    each(&mut |from, to, tag, is_send| {
        let sum = &mut sums[to as usize];
        if is_send {
            sum.sent += 1;
            sum.difference = sum.difference.wrapping_add(hash(from, tag));
        } else {
            sum.received += 1;
            sum.wild |= from == ANY || tag == ANY;
            sum.difference = sum.difference.wrapping_sub(hash(from, tag));
        }
    });
    let differs = |sum: &Sum| sum.sent != sum.received || !sum.wild && sum.difference != 0;
    let Some(rank) = sums.iter().position(differs) else { return accepted(each, &sums) };
    let Sum { sent, received, wild, .. } = sums[rank];
    let rank = rank as u32;
    if wild {
        return Err(Unmatched { from: ANY, to: rank, tag: ANY, sent, received });
    }
    // `(source, tag)`: sends and receives.
    let mut counts = BTreeMap::<(u32, u32), [u64; 2]>::new();
    each(&mut |from, to, tag, is_send| {
        if to == rank {
            counts.entry((from, tag)).or_default()[!is_send as usize] += 1;
        }
    });
    let differing = counts.into_iter().find(|(_, [sent, received])| sent != received);
    let ((from, tag), [sent, received]) = differing.expect("sums of equal counts are equal");
    Err(Unmatched { from, to: rank, tag, sent, received })
}

/// Checks that each message to a rank whose receives name any has a receive that accepts it, and each receive that names
/// both a message.
fn accepted(each: Each, sums: &[Sum]) -> Result<(), Unmatched> {
    // `(destination, source, tag)`: sends and receives.
    let mut counts = BTreeMap::<(u32, u32, u32), [u64; 2]>::new();
    each(&mut |from, to, tag, is_send| {
        if sums[to as usize].wild {
            counts.entry((to, from, tag)).or_default()[!is_send as usize] += 1;
        }
    });
    let receives = |to, from, tag| counts.get(&(to, from, tag)).map_or(0, |[_, received]| *received);
    for ((to, from, tag), [sent, received]) in &counts {
        let (to, from, tag) = (*to, *from, *tag);
        let any = receives(to, ANY, ANY) + receives(to, from, ANY) + receives(to, ANY, tag);
        let named = from != ANY && tag != ANY;
        if named && (received > sent || *sent > received + any) {
            return Err(Unmatched { from, to, tag, sent: *sent, received: received + any });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::job::JobBuilder;
    use crate::op::{ANY, Op};

    /// Checks a job of three ranks whose operations are `[rank]`.
    fn check(ranks: [&[Op]; 3]) -> Result<(), String> {
        let mut builder = JobBuilder::default();
        for ops in ranks {
            ops.iter().for_each(|op| _ = builder.op(*op));
            builder.end_rank().expect("no dependencies");
        }
        builder.finish().map(|_| ()).map_err(|problem| problem.to_string())
    }

    #[test]
    fn each_send_has_a_receive() {
        let (send, recv) = (|to, tag| Op::send(to, 8, tag), Op::recv);
        check([&[send(1, 7), send(1, 7), send(2, 1)], &[recv(0, 7), recv(0, 7)], &[recv(ANY, 1)]]).expect("matched");
        let said = check([&[send(1, 7), send(1, 7)], &[recv(0, 7), recv(0, 8)], &[]]).expect_err("other tags");
        let expected = "messages from rank 0 to rank 1 with tag 7: sends 2, receives 1; \
                        expected a receive for each send";
        assert_eq!(said, expected);
        let said = check([&[], &[recv(2, 7)], &[]]).expect_err("never sent");
        assert!(said.starts_with("messages from rank 2 to rank 1 with tag 7: sends 0, receives 1;"), "{said}");
        let said = check([&[send(2, 7)], &[send(2, 7)], &[recv(ANY, ANY)]]).expect_err("two sends");
        assert!(said.starts_with("messages to rank 2: sends 2, receives 1;"), "{said}");
        let said = check([&[send(1, 9)], &[recv(ANY, 0)], &[]]).expect_err("another tag");
        assert!(said.starts_with("messages from rank 0 to rank 1 with tag 9: sends 1, receives 0;"), "{said}");
        check([&[send(1, 9)], &[recv(ANY, 9), recv(2, ANY)], &[send(1, 3)]]).expect("each has a receive");
        let said = check([&[send(1, 9)], &[recv(ANY, 9), recv(2, 4)], &[send(1, 9)]]).expect_err("nobody sends 4");
        assert!(said.starts_with("messages from rank 2 to rank 1 with tag 4: sends 0, receives 1;"), "{said}");
    }
}
