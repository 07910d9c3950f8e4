//! Store of the frames that are inside the fabric.
//!
//! A frame has one owner at any time: a queue of a NIC, a switch, or a link. The owner holds its [`Handle`], which
//! packets carry in `receiver_slot`. All memory is allocated once. A frame that finds no room is refused.

use backwater_types::Packet;

/// Name of a frame in a [`Slab`].
#[derive(Debug, PartialEq, Eq)]
pub struct Handle(u32);

impl Handle {
    /// Takes the handle that a packet carries; `None` for a packet without a frame.
    ///
    /// The packet must have left its queue or its link, so that no copy of it is used again.
    pub fn of(packet: &Packet) -> Option<Handle> {
        (packet.receiver_slot != Packet::NO_FRAME).then_some(Handle(packet.receiver_slot))
    }

    /// Word that the packet carries which owns the frame from now on.
    pub fn word(&self) -> u32 {
        self.0
    }
}

/// Frames of up to a fixed number of bytes each.
#[derive(Debug)]
pub struct Slab {
    bytes: Box<[u8]>,
    /// `[frame]`: its length; 0 for a frame that is free.
    lengths: Box<[u16]>,
    free: Vec<u32>,
    longest: usize,
}

impl Slab {
    /// Allocates room for `count` frames of up to `longest` bytes.
    ///
    /// # Panics
    /// If `longest` is 0 or above 65,535.
    pub fn new(count: usize, longest: usize) -> Slab {
        assert!((1..=usize::from(u16::MAX)).contains(&longest), "frames have 1 to 65,535 bytes");
        Slab {
            bytes: vec![0; count * longest].into_boxed_slice(),
            lengths: vec![0; count].into_boxed_slice(),
            free: (0..count as u32).rev().collect(),
            longest,
        }
    }

    /// Stores a frame. `None`: there is no room, or the frame is empty or too long.
    pub fn put(&mut self, frame: &[u8]) -> Option<Handle> {
        if frame.is_empty() || frame.len() > self.longest {
            return None;
        }
        let number = self.free.pop()?;
        let start = number as usize * self.longest;
        self.bytes[start..start + frame.len()].copy_from_slice(frame);
        self.lengths[number as usize] = frame.len() as u16;
        Some(Handle(number))
    }

    /// Returns the bytes of a frame.
    pub fn bytes(&self, handle: &Handle) -> &[u8] {
        let start = handle.0 as usize * self.longest;
        &self.bytes[start..start + usize::from(self.lengths[handle.0 as usize])]
    }

    /// Returns the bytes of a frame, to change them.
    pub fn bytes_mut(&mut self, handle: &Handle) -> &mut [u8] {
        let start = handle.0 as usize * self.longest;
        &mut self.bytes[start..start + usize::from(self.lengths[handle.0 as usize])]
    }

    /// Frees a frame.
    ///
    /// # Panics
    /// If the frame was freed before, which is a bug of its owner.
    pub fn free(&mut self, handle: Handle) {
        let length = &mut self.lengths[handle.0 as usize];
        assert!(*length > 0, "frame {} is freed twice", handle.0);
        *length = 0;
        self.free.push(handle.0);
    }

    /// Number of frames in the store.
    pub fn used(&self) -> usize {
        self.lengths.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_there_until_it_is_freed() {
        let mut slab = Slab::new(2, 8);
        let (one, two) = (slab.put(b"one").unwrap(), slab.put(b"two two ").unwrap());
        assert_eq!(slab.put(b"x"), None, "there is room for two");
        assert_eq!((slab.bytes(&one), slab.bytes(&two)), (&b"one"[..], &b"two two "[..]));
        slab.bytes_mut(&one)[0] = b'O';
        slab.free(two);
        let three = slab.put(b"three").unwrap();
        assert_eq!((slab.bytes(&one), slab.bytes(&three), slab.used()), (&b"One"[..], &b"three"[..], 2));
    }

    #[test]
    fn frames_that_are_empty_or_too_long_are_refused() {
        let mut slab = Slab::new(2, 8);
        assert_eq!((slab.put(b""), slab.put(b"nine byte"), slab.used()), (None, None, 0));
    }

    #[test]
    #[should_panic(expected = "freed twice")]
    fn a_frame_is_freed_once() {
        let mut slab = Slab::new(2, 8);
        let handle = slab.put(b"x").unwrap();
        slab.free(Handle(handle.0));
        slab.free(handle);
    }
}
