//! What is the same for all hosts of a run, and what hosts report.

use crate::host::starts::Starts;
use backwater_fabric::Sites;
use backwater_nic::NicParams;
use backwater_transport::TimeoutReason;
use backwater_types::{Duration, SerTime};

/// What is the same for all hosts of a run.
#[derive(Clone, Debug)]
pub struct HostParams<P> {
    /// Of its NIC and its transport.
    pub nic: NicParams<P>,
    /// Where flows start.
    pub sites: Sites,
    /// Payload of a full packet, bytes.
    pub payload: u64,
    /// Headers of a data packet and what it carries beside them, bytes.
    pub header: u64,
    /// Time a received packet spends in the host.
    pub delay: Duration,
    /// ACKs take the path of their data, reversed.
    pub symmetric: bool,
    /// `[workload]`: flags of its data packets.
    pub flags: Vec<u8>,
    /// `[workload]`: the rate at which an application writes datagrams, as transmission times.
    pub datagrams: Vec<Option<SerTime>>,
}

/// Timeouts by reason, in the order of [`TimeoutReason::ALL`].
pub type Timeouts = [u64; TimeoutReason::ALL.len()];

/// What became of the credits that came to a host's flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Credits {
    /// That came.
    pub received: u64,
    /// Of those, for which there was nothing to send.
    pub wasted: u64,
}

/// What happened to a flow.
#[derive(Debug)]
pub enum Finished<'a> {
    /// The last byte reached the receiver.
    Received {
        /// Flow number.
        flow: u32,
        /// Where to put what starts at the receiver because of it.
        starts: &'a mut Starts,
    },
    /// The last acknowledgement reached the sender.
    Acknowledged {
        /// Flow number.
        flow: u32,
        /// Packets sent again.
        retransmitted: u32,
        /// Timeouts of TCP.
        timeouts: u32,
    },
}
