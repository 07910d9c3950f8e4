//! Rules of a go-back-N sender in which the HPCC simulator differs.
//!
//! | | [`Repaired`] | [`HpccSimRules`] |
//! |---|---|---|
//! | no acknowledgement for the timeout | goes back | nothing: without a timer, a lost last packet stays lost |
//! | a NACK | goes back | goes back, and control sees it like an ACK |
//! | an ACK that overtook a NACK | sends on behind it | with `resends_acknowledged`: stays at the NACK's packet |
//!
//! With `resends_acknowledged` the sender may have sent less than was acknowledged. The number of packets in flight is
//! then negative. The unsigned arithmetic of the simulator wraps it around and shuts every window until the next NACK.

use crate::go_back_n::GoBackNParams;
use backwater_types::Duration;
use core::fmt::Debug;

/// Rules of a go-back-N sender.
pub trait GoBackNRules: Copy + Debug + Send + 'static {
    /// Whether control sees a NACK like an ACK.
    const NACK_IS_ACK: bool;

    /// Returns the retransmission timeout; `None`: there is no timer.
    fn rto<P>(params: &GoBackNParams<P>) -> Option<Duration>;

    /// Returns the next packet to send after all before `acked` were acknowledged; `next` was the next before.
    fn resume<P>(params: &GoBackNParams<P>, next: u32, acked: u32) -> u32;

    /// Counts packets sent and not acknowledged.
    fn in_flight(next: u32, acked: u32) -> u32;

    /// Whether [`Ack::whole`](crate::Ack::whole) leaves out a last packet that is not full.
    fn counts_full_packets<P>(params: &GoBackNParams<P>) -> bool;
}

/// Rules with the two repairs of baselines 0.3.
#[derive(Clone, Copy, Debug)]
pub struct Repaired;

impl GoBackNRules for Repaired {
    const NACK_IS_ACK: bool = false;

    #[inline(always)]
    fn rto<P>(params: &GoBackNParams<P>) -> Option<Duration> {
        Some(params.rto)
    }

    #[inline(always)]
    fn resume<P>(_params: &GoBackNParams<P>, next: u32, acked: u32) -> u32 {
        next.max(acked)
    }

    #[inline(always)]
    fn in_flight(next: u32, acked: u32) -> u32 {
        next - acked
    }

    #[inline(always)]
    fn counts_full_packets<P>(_params: &GoBackNParams<P>) -> bool {
        false
    }
}

/// Rules of the HPCC simulator.
#[derive(Clone, Copy, Debug)]
pub struct HpccSimRules;

impl GoBackNRules for HpccSimRules {
    const NACK_IS_ACK: bool = true;

    #[inline(always)]
    fn rto<P>(_params: &GoBackNParams<P>) -> Option<Duration> {
        None
    }

    #[inline(always)]
    fn resume<P>(params: &GoBackNParams<P>, next: u32, acked: u32) -> u32 {
        if params.resends_acknowledged { next } else { next.max(acked) }
    }

    #[inline(always)]
    fn in_flight(next: u32, acked: u32) -> u32 {
        next.wrapping_sub(acked)
    }

    #[inline(always)]
    fn counts_full_packets<P>(params: &GoBackNParams<P>) -> bool {
        params.resends_acknowledged
    }
}
