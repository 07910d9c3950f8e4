//! Reasons of drops and losses.

/// Reason of a drop or a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// The shared buffer is full, or the queue above its dynamic threshold.
    Buffer,
    /// PFC: the ingress has used up its threshold and its headroom.
    Headroom,
    /// Lost on its link by chance.
    LinkLoss,
    /// The link was down at some time between the packet's first and last bit.
    LinkDown,
    /// No route leads to the destination.
    NoRoute,
    /// The queue is paused, and the switch discards packets instead of holding them.
    Paused,
    /// The queue of the host's NIC is full.
    Nic,
    /// Marking chose the packet, which is not ECN-capable.
    NotEct,
    /// The packet is a credit of ExpressPass, and the port's queue of credits is full.
    Credit,
}

impl DropReason {
    /// Number of reasons.
    pub const COUNT: usize = Self::ALL.len();
    /// All reasons, in the order of their numbers.
    pub const ALL: [DropReason; 9] = {
        use DropReason::*;
        [Buffer, Headroom, LinkLoss, LinkDown, NoRoute, Paused, Nic, NotEct, Credit]
    };

    /// Name in tables and summaries.
    pub const fn name(self) -> &'static str {
        match self {
            DropReason::Buffer => "buffer",
            DropReason::Headroom => "headroom",
            DropReason::LinkLoss => "link-loss",
            DropReason::LinkDown => "link-down",
            DropReason::NoRoute => "no-route",
            DropReason::Paused => "paused",
            DropReason::Nic => "nic",
            DropReason::NotEct => "not-ect",
            DropReason::Credit => "credit",
        }
    }

    /// Whether a switch or a NIC chose to drop data. Other reasons are faults, and drops of surplus credits, which are
    /// no losses.
    pub const fn is_chosen(self) -> bool {
        !matches!(self, DropReason::LinkLoss | DropReason::LinkDown | DropReason::NoRoute | DropReason::Credit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_numbered_in_the_order_of_the_list() {
        assert!(DropReason::ALL.iter().enumerate().all(|(number, reason)| *reason as usize == number));
    }
}
