//! The first bytes of a frame, with the fields in them. All fields of every format are among them.

/// Address of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Address(pub [u8; 6]);

impl Address {
    /// Whether it stands for a group of ports. No frame comes from one.
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

/// Smallest Ethernet frame without its check sequence, bytes. All frames but wrapped packets have this size.
pub const SMALLEST: usize = 60;

/// Bytes before a wrapped frame.
pub const HEADER: usize = 48;

/// The first bytes of a frame.
#[derive(Clone, Copy)]
pub(crate) struct Head(pub(crate) [u8; SMALLEST]);

impl Head {
    /// Makes the head of a frame to `destination`. The remaining bytes are zero.
    pub(crate) fn new(destination: Address, source: Address, ether_type: u16) -> Head {
        let mut head = Head([0; SMALLEST]);
        head.put(DESTINATION, destination.0);
        head.put(SOURCE, source.0);
        head.put(ETHER_TYPE, ether_type.to_be_bytes());
        head
    }

    pub(crate) fn destination(&self) -> Address {
        Address(self.get(DESTINATION))
    }

    pub(crate) fn source(&self) -> Address {
        Address(self.get(SOURCE))
    }

    pub(crate) fn ether_type(&self) -> u16 {
        self.u16(ETHER_TYPE)
    }

    /// Writes the bytes of a field.
    pub(crate) fn put<const N: usize>(&mut self, at: usize, bytes: [u8; N]) {
        self.0[at..at + N].copy_from_slice(&bytes);
    }

    /// Returns the bytes of a field.
    pub(crate) fn get<const N: usize>(&self, at: usize) -> [u8; N] {
        core::array::from_fn(|n| self.0[at + n])
    }

    pub(crate) fn u8(&self, at: usize) -> u8 {
        self.0[at]
    }

    pub(crate) fn u16(&self, at: usize) -> u16 {
        u16::from_be_bytes(self.get(at))
    }

    pub(crate) fn u32(&self, at: usize) -> u32 {
        u32::from_be_bytes(self.get(at))
    }

    pub(crate) fn u64(&self, at: usize) -> u64 {
        u64::from_be_bytes(self.get(at))
    }
}

const DESTINATION: usize = 0;
const SOURCE: usize = 6;
const ETHER_TYPE: usize = 12;
