//! Parameters of all hosts of a run, and reports of hosts.

use crate::host::starts::Starts;
use backwater_fabric::Sites;
use backwater_fabric::flow::Flow;
use backwater_nic::NicParams;
use backwater_types::{Duration, SerTime};

/// Parameters that all hosts of a run share.
#[derive(Clone, Debug)]
pub struct HostParams<P> {
    /// Parameters of the NIC and the transport.
    pub nic: NicParams<P>,
    /// Path parameters of flows, by source and destination.
    pub sites: Sites,
    /// Payload of a full packet, bytes.
    pub payload: u64,
    /// Headers and metadata of a data packet, bytes.
    pub header: u64,
    /// Time that a received packet spends in the host.
    pub delay: Duration,
    /// Whether ACKs take the path of their data, reversed.
    pub symmetric: bool,
    /// `[workload]`: flags of data packets.
    pub flags: Vec<u8>,
    /// `[workload]`: rate at which an application writes datagrams, as transmission times.
    pub datagrams: Vec<Option<SerTime>>,
    /// Whether any workload has queue pairs.
    pub queue_pairs: bool,
}

/// Report of a host: a flow has ended at one of its ends, a message that waited has begun, or a time has come.
#[derive(Debug)]
pub enum Report<'a> {
    /// The last byte reached the receiver.
    Received {
        /// Flow number.
        flow: u32,
        /// Queue for flows that start at the receiver because of this one.
        starts: &'a mut Starts,
    },
    /// The last acknowledgement reached the sender.
    Acknowledged {
        /// Flow number.
        flow: u32,
        /// Retransmitted packets.
        retransmitted: u32,
        /// Timeouts of TCP.
        timeouts: u32,
        /// Queue for flows that start at the sender because of this one.
        starts: &'a mut Starts,
    },
    /// A message that waited for its queue pair begins.
    Began {
        /// Flow number.
        flow: u32,
    },
    /// A time has come that a workload waited for.
    Woke {
        /// The wake.
        wake: Flow,
        /// Queue for flows that start at the host because of that.
        starts: &'a mut Starts,
    },
}
