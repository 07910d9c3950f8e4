//! Frames of priority flow control.
//!
//! Source: IEEE 802.1Qbb-2011 (now in 802.1Q), section 36, and IEEE 802.3, annex 31D. A pause lasts a number of quanta
//! of 512 bit times, unless another frame comes first. Zero quanta resume the class.
//! Differs from the standard: its receivers ignore the values of bytes without a meaning, and here these bytes are zero.

use crate::bytes::Head;
use crate::port::Port;
use crate::refused::{Refused, Unfit};
use backwater_types::ControlFrame;

/// A frame of priority flow control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pfc {
    /// Classes that the frame is about, class 0 the least significant bit.
    pub classes: u8,
    /// `[class]`: quanta of 512 bit times that it is paused. They have no meaning for other classes.
    pub quanta: [u16; CLASSES],
}

impl Pfc {
    /// Returns the frame that pauses `class` for as long as one frame can.
    ///
    /// # Errors
    /// [`Unfit::Class`].
    pub const fn pause(class: u8) -> Result<Pfc, Unfit> {
        Pfc::set(class, u16::MAX)
    }

    /// Returns the frame that resumes `class`.
    ///
    /// # Errors
    /// [`Unfit::Class`].
    pub const fn resume(class: u8) -> Result<Pfc, Unfit> {
        Pfc::set(class, 0)
    }

    const fn set(class: u8, quanta: u16) -> Result<Pfc, Unfit> {
        if class as usize >= CLASSES {
            return Err(Unfit::Class);
        }
        let mut pfc = Pfc { classes: 1 << class, quanta: [0; CLASSES] };
        pfc.quanta[class as usize] = quanta;
        Ok(pfc)
    }

    /// Returns the control frames for a data plane, one for each class.
    pub fn frames(&self) -> impl Iterator<Item = ControlFrame> {
        let Pfc { classes, quanta } = *self;
        (0..CLASSES as u8).filter(move |class| classes >> class & 1 == 1).map(move |class| {
            match quanta[class as usize] {
                0 => ControlFrame::PfcResume(class),
                _ => ControlFrame::PfcPause(class),
            }
        })
    }

    pub(crate) fn put(&self, head: &mut Head) {
        head.put(OPERATION, PFC.to_be_bytes());
        head.put(ENABLED, [self.classes]);
        for (class, quanta) in self.quanta.iter().enumerate() {
            head.put(QUANTA + 2 * class, quanta.to_be_bytes());
        }
    }

    pub(crate) fn get(head: &Head, port: &Port) -> Result<Pfc, Refused> {
        if head.u16(OPERATION) != PFC {
            return Err(Refused::Operation);
        }
        let classes = head.u8(ENABLED);
        if classes.checked_shr(port.classes.into()).unwrap_or(0) != 0 {
            return Err(Refused::Class);
        }
        Ok(Pfc { classes, quanta: core::array::from_fn(|class| head.u16(QUANTA + 2 * class)) })
    }
}

/// Classes of PFC.
const CLASSES: usize = 8;

const PFC: u16 = 0x0101;

const OPERATION: usize = 14;
const ENABLED: usize = 17;
const QUANTA: usize = 18;
