//! Reasons for which a frame is not accepted, and their counts.

use core::fmt;

/// Reason for which bytes are no frame for a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refused {
    /// The frame is smaller than the smallest Ethernet frame.
    Runt,
    /// It has a VLAN tag.
    Tagged,
    /// Its EtherType is neither ours nor that of PFC.
    EtherType,
    /// It is sent to another address than the format has.
    Destination,
    /// Its source is a group of ports.
    Source,
    /// Its version is unknown.
    Version,
    /// Its type is unknown.
    Type,
    /// Its kind of packet, or its operation, is unknown.
    Operation,
    /// A flag is set that has no meaning.
    Flags,
    /// It is shorter than it says.
    Truncated,
    /// It is longer than it says, or than its format has.
    Trailing,
    /// The wrapped frame has no Ethernet header.
    WrappedRunt,
    /// The packet counts less than 64 bytes, or less than the wrapped frame has.
    WireTooSmall,
    /// The packet counts more bytes than the largest packet of the network.
    WireTooLarge,
    /// It names a queue that the port does not have.
    Queue,
    /// It names a traffic class that the port does not have.
    Class,
    /// It names a host that the network does not have.
    Host,
    /// It counts more bytes than a link can carry.
    Sum,
    /// A byte without a meaning is not zero.
    Reserved,
}

impl Refused {
    /// Number of reasons.
    pub const COUNT: usize = Self::ALL.len();
    /// All reasons, in the order of their numbers.
    pub const ALL: [Refused; 19] = {
        use Refused::*;
        [
            Runt,
            Tagged,
            EtherType,
            Destination,
            Source,
            Version,
            Type,
            Operation,
            Flags,
            Truncated,
            Trailing,
            WrappedRunt,
            WireTooSmall,
            WireTooLarge,
            Queue,
            Class,
            Host,
            Sum,
            Reserved,
        ]
    };

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Refused::Runt => "runt",
            Refused::Tagged => "tagged",
            Refused::EtherType => "ether-type",
            Refused::Destination => "destination",
            Refused::Source => "source",
            Refused::Version => "version",
            Refused::Type => "type",
            Refused::Operation => "operation",
            Refused::Flags => "flags",
            Refused::Truncated => "truncated",
            Refused::Trailing => "trailing",
            Refused::WrappedRunt => "wrapped-runt",
            Refused::WireTooSmall => "wire-too-small",
            Refused::WireTooLarge => "wire-too-large",
            Refused::Queue => "queue",
            Refused::Class => "class",
            Refused::Host => "host",
            Refused::Sum => "sum",
            Refused::Reserved => "reserved",
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl core::error::Error for Refused {}

/// Frames that were not accepted, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts([u64; Refused::COUNT]);

impl Counts {
    /// Counts a frame.
    pub fn count(&mut self, reason: Refused) {
        self.0[reason as usize] += 1;
    }

    /// Returns the number of frames with this reason.
    pub const fn of(&self, reason: Refused) -> u64 {
        self.0[reason as usize]
    }

    /// Returns the number of frames with any reason.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns every reason with its number of frames.
    pub fn each(&self) -> impl Iterator<Item = (Refused, u64)> {
        Refused::ALL.into_iter().zip(self.0)
    }
}

/// Reason for which a value has no bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unfit {
    /// The bytes have no room where they should go.
    NoRoom,
    /// The wrapped frame is shorter than an Ethernet header, or longer than 65,535 bytes.
    Wrapped,
    /// Only data and acknowledgements are wrapped. No format carries the packet's kind.
    Kind,
    /// No format carries a flag of the packet.
    Flags,
    /// PFC has eight classes, and the frame names another.
    Class,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unfit::NoRoom => "the frame needs more room",
            Unfit::Wrapped => "a wrapped frame has 14 to 65535 bytes",
            Unfit::Kind => "only data and acknowledgements are wrapped",
            Unfit::Flags => "no format carries a flag of the packet",
            Unfit::Class => "PFC has the classes 0 to 7",
        })
    }
}

impl core::error::Error for Unfit {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_numbered_in_the_order_of_the_list() {
        assert!(Refused::ALL.iter().enumerate().all(|(number, reason)| *reason as usize == number));
    }

    #[test]
    fn each_reason_has_its_own_name() {
        for (number, reason) in Refused::ALL.iter().enumerate() {
            assert!(Refused::ALL[..number].iter().all(|other| other.name() != reason.name()), "{reason}");
        }
    }

    #[test]
    fn reasons_are_counted_apart() {
        let mut counts = Counts::default();
        counts.count(Refused::Runt);
        counts.count(Refused::Reserved);
        counts.count(Refused::Reserved);
        assert_eq!((counts.of(Refused::Runt), counts.of(Refused::Reserved), counts.total()), (1, 2, 3));
        assert_eq!(counts.each().filter(|(_, n)| *n > 0).map(|(reason, _)| reason).last(), Some(Refused::Reserved));
    }
}
