//! Why a packet did not arrive.

/// Why a packet was dropped or lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// The shared buffer is full, or the queue above its dynamic threshold.
    Buffer,
    /// PFC: the ingress has used up its threshold and its headroom.
    Headroom,
    /// Lost on its link by chance.
    LinkLoss,
    /// Its link was down at some time between its first and last bit.
    LinkDown,
    /// There is no way to where it is bound.
    NoRoute,
    /// Its queue is paused, and the switch discards instead of holding.
    Paused,
    /// The queue of its host's NIC is full.
    Nic,
    /// A rule marked it as it left its queue, and it is not ECN-capable.
    NotEct,
    /// It is a credit, and as many as may wait at its port do.
    Credit,
}

impl DropReason {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();
    /// All of them, in the order of their numbers.
    pub const ALL: [DropReason; 9] = {
        use DropReason::*;
        [Buffer, Headroom, LinkLoss, LinkDown, NoRoute, Paused, Nic, NotEct, Credit]
    };

    /// Its name in tables and summaries.
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

    /// Whether a switch or a NIC dropped it of its own accord, for want of what data needs; else a fault took it, or it was a
    /// credit too many, which is no loss.
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
