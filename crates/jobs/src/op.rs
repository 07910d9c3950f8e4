//! Operations of a rank.
//!
//! The words are those of GOAL (Hoefler et al., "LogGOPSim: simulating large-scale applications in the LogGOPS model",
//! LSAP 2010): `send`, `recv` and `calc`, by rank and stream (`cpu`).

use backwater_types::Duration;

/// As the source or the tag of a receive: any. GOAL writes it as -1.
pub const ANY: u32 = u32::MAX;

/// Largest message, bytes: its packets are counted in 32 bits.
pub const BYTES_MAX: u64 = 1 << 37;
/// Longest time that files may name, an hour: sums of a few thousand of them fit 64 bits.
pub const TIME_MAX: Duration = Duration(3600 * 1_000_000_000_000);

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// What it does.
    pub work: Work,
    /// Stream that runs it. A stream runs one operation at a time, in the order in which they became ready.
    pub stream: u8,
    /// NIC of the rank that sends or receives. It is occupied for the gap between messages, if the job has one.
    pub nic: u8,
    /// Phase that it belongs to, an index into [`Job::phases`](crate::Job::phases).
    pub phase: u32,
    /// Of a send: it ends only when the receiver has acknowledged the message. Otherwise it ends when the message is
    /// handed to the NIC.
    pub acknowledged: bool,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Computes.
    Calc(Duration),
    /// Sends `bytes` of payload to rank `to`.
    Send {
        /// Receiving rank.
        to: u32,
        /// Payload.
        bytes: u64,
        /// Tag, by which receives tell messages apart.
        tag: u32,
    },
    /// Receives a message. It ends when a matching message has arrived.
    Recv {
        /// Sending rank, or [`ANY`].
        from: u32,
        /// Tag, or [`ANY`].
        tag: u32,
    },
}

impl Op {
    /// Makes an operation on stream 0 and NIC 0, of phase 0.
    pub fn new(work: Work) -> Op {
        Op { work, stream: 0, nic: 0, phase: 0, acknowledged: false }
    }

    /// Makes a computation.
    pub fn calc(time: Duration) -> Op {
        Op::new(Work::Calc(time))
    }

    /// Makes a send of `bytes` to rank `to`.
    pub fn send(to: u32, bytes: u64, tag: u32) -> Op {
        Op::new(Work::Send { to, bytes, tag })
    }

    /// Makes a receive from rank `from`.
    pub fn recv(from: u32, tag: u32) -> Op {
        Op::new(Work::Recv { from, tag })
    }

    /// Puts the operation on another stream.
    pub fn on(self, stream: u8) -> Op {
        Op { stream, ..self }
    }

    /// Puts the operation into a phase.
    pub fn of(self, phase: u32) -> Op {
        Op { phase, ..self }
    }
}
