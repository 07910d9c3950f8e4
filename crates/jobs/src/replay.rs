//! A job once more, without its network: its ranks run again, and messages arrive when they did.
//!
//! Ranks depend on one another only through messages. So the times of all messages are enough to know everything else
//! about a run of the job, and nothing has to be recorded while it runs.

use crate::drive::{When, drive};
use crate::machine::Machine;
use crate::placed::Placed;
use backwater_types::Instant;
use std::ops::Range;
use std::sync::Arc;

/// Times of the messages of a run, by number; [`Instant::NEVER`] where it did not come to that.
#[derive(Clone, Copy, Debug)]
pub struct Times<'a> {
    /// When they started.
    pub started: &'a [Instant],
    /// When their last byte was at the receiver.
    pub received: &'a [Instant],
    /// When their last acknowledgement was at the sender.
    pub acknowledged: &'a [Instant],
}

/// A message starts at another time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message {number} of the job starts at {found} ps and not at {expected} ps")]
pub struct OtherRun {
    /// Number of the message.
    pub number: u32,
    /// When it started in the run, picoseconds.
    pub expected: u64,
    /// When it starts here.
    pub found: u64,
}

/// Runs the ranks of a job again, and keeps the times of every operation of the repetitions `traced`.
///
/// # Errors
/// If a message does not start when it did.
pub fn replay(placed: &Arc<Placed>, when: When, times: Times, traced: Range<u32>) -> Result<Machine, OtherRun> {
    let mut machine = Machine::new(placed.clone());
    machine.trace(traced);
    let mut differs = None;
    drive(&mut machine, when, &mut |number, at| {
        let started = times.started[number as usize];
        // Messages of a queue pair wait for the ones before them.
        let is_late = placed.placement().queue_pairs.is_some() && started > at;
        if started != at && !is_late && (started != Instant::NEVER || at < when.end) {
            differs.get_or_insert(OtherRun { number, expected: started.0, found: at.0 });
        }
        match differs {
            Some(_) => [Instant::NEVER; 2],
            None => [times.received[number as usize], times.acknowledged[number as usize]],
        }
    });
    differs.map_or(Ok(machine), Err)
}
