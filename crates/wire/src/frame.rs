//! A frame: its bytes parsed, and emitted.

use crate::bytes::{Address, HEADER, Head, SMALLEST};
use crate::control;
use crate::header::Header;
use crate::pfc::Pfc;
use crate::port::Port;
use crate::refused::{Refused, Unfit};
use backwater_types::ControlFrame;

/// A frame between two neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Address of the port that sends it.
    pub source: Address,
    /// Contents.
    pub body: Body<'a>,
}

/// Contents of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// A packet, with the Ethernet frame that it is to its hosts.
    Packet(Header, &'a [u8]),
    /// A control frame. Those of PFC are emitted as [`Body::Pfc`], and parsed so.
    Control(ControlFrame),
    /// A frame of priority flow control.
    Pfc(Pfc),
    /// A question whether the neighbour runs, with a random number.
    Hello(u64),
    /// Answer to a hello, with its number.
    Answer(u64),
}

impl<'a> Frame<'a> {
    /// Reads the frame that came by `port`. [`Frame::emit`] of the result gives the same bytes.
    ///
    /// # Errors
    /// The first fault of the bytes.
    pub fn parse(bytes: &'a [u8], port: &Port) -> Result<Frame<'a>, Refused> {
        let head = Head(*bytes.first_chunk().ok_or(Refused::Runt)?);
        let ours = match head.ether_type() {
            OURS => true,
            MAC_CONTROL => false,
            0x8100 | 0x88a8 | 0x9100 => return Err(Refused::Tagged),
            _ => return Err(Refused::EtherType),
        };
        if head.destination() != if ours { NEAREST_BRIDGE } else { FLOW_CONTROL } {
            return Err(Refused::Destination);
        }
        if head.source().is_group() {
            return Err(Refused::Source);
        }
        let body = if ours { Body::get(&head, bytes, port)? } else { Body::Pfc(Pfc::get(&head, port)?) };
        let frame = Frame { source: head.source(), body };
        let Ok((emitted, length)) = frame.head() else { unreachable!("a value that was read has bytes") };
        if bytes.len() > length {
            return Err(Refused::Trailing);
        }
        // Bytes that no field covers are checked here, and only here.
        let before_wrapped = length.min(if matches!(body, Body::Packet(..)) { HEADER } else { SMALLEST });
        if emitted.0[..before_wrapped] != head.0[..before_wrapped] {
            return Err(Refused::Reserved);
        }
        Ok(frame)
    }

    /// Writes the frame to the beginning of `out`, and returns its length.
    ///
    /// # Errors
    /// The value has no bytes, or they have no room in `out`. Then nothing is written.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Unfit> {
        let (head, length) = self.head()?;
        let out = out.get_mut(..length).ok_or(Unfit::NoRoom)?;
        if let Body::Packet(_, wrapped) = self.body {
            let (before, after) = out.split_at_mut(HEADER);
            before.copy_from_slice(&head.0[..HEADER]);
            after.copy_from_slice(wrapped);
        } else {
            out.copy_from_slice(&head.0);
        }
        Ok(length)
    }

    /// Returns the bytes that come before a wrapped frame of `length` bytes, for a sender that does not move the frame.
    ///
    /// # Errors
    /// [`Unfit::Wrapped`] and [`Unfit::Flags`].
    pub fn wrap(source: Address, header: &Header, length: usize) -> Result<[u8; HEADER], Unfit> {
        let mut head = ours(source, PACKET);
        header.put(&mut head, length)?;
        Ok(head.get(0))
    }

    /// Returns the first bytes, and the length of the frame.
    fn head(&self) -> Result<(Head, usize), Unfit> {
        let head = match self.body {
            Body::Packet(header, wrapped) => {
                let mut head = ours(self.source, PACKET);
                header.put(&mut head, wrapped.len())?;
                return Ok((head, HEADER + wrapped.len()));
            }
            Body::Control(ControlFrame::PfcPause(class)) => self.pfc(&Pfc::pause(class)?),
            Body::Control(ControlFrame::PfcResume(class)) => self.pfc(&Pfc::resume(class)?),
            Body::Control(frame) => {
                let mut head = ours(self.source, CONTROL);
                control::put(frame, &mut head);
                head
            }
            Body::Pfc(pfc) => self.pfc(&pfc),
            Body::Hello(number) => self.greeting(HELLO, number),
            Body::Answer(number) => self.greeting(ANSWER, number),
        };
        Ok((head, SMALLEST))
    }

    fn pfc(&self, pfc: &Pfc) -> Head {
        let mut head = Head::new(FLOW_CONTROL, self.source, MAC_CONTROL);
        pfc.put(&mut head);
        head
    }

    fn greeting(&self, of: u8, number: u64) -> Head {
        let mut head = ours(self.source, of);
        head.put(NUMBER, number.to_be_bytes());
        head
    }
}

impl<'a> Body<'a> {
    /// Reads the contents of a frame with our EtherType.
    fn get(head: &Head, bytes: &'a [u8], port: &Port) -> Result<Body<'a>, Refused> {
        if head.u8(VERSION_AT) != VERSION {
            return Err(Refused::Version);
        }
        Ok(match head.u8(TYPE) {
            PACKET => {
                let wrapped = &bytes[HEADER..];
                Body::Packet(Header::get(head, wrapped.len(), port)?, wrapped)
            }
            CONTROL => Body::Control(control::get(head, port)?),
            HELLO => Body::Hello(head.u64(NUMBER)),
            ANSWER => Body::Answer(head.u64(NUMBER)),
            _ => return Err(Refused::Type),
        })
    }
}

fn ours(source: Address, of: u8) -> Head {
    let mut head = Head::new(NEAREST_BRIDGE, source, OURS);
    head.put(VERSION_AT, [VERSION]);
    head.put(TYPE, [of]);
    head
}

/// Local experimental EtherType 1 of IEEE 802.
const OURS: u16 = 0x88b5;
/// EtherType of MAC control (IEEE 802.3), which PFC uses.
const MAC_CONTROL: u16 = 0x8808;
/// No bridge forwards frames to this address (IEEE 802.1Q).
const NEAREST_BRIDGE: Address = Address([0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e]);
/// Destination of all frames of MAC control.
const FLOW_CONTROL: Address = Address([0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]);

const VERSION: u8 = 1;
const PACKET: u8 = 1;
const CONTROL: u8 = 2;
const HELLO: u8 = 3;
const ANSWER: u8 = 4;

const VERSION_AT: usize = 14;
const TYPE: usize = 15;
const NUMBER: usize = 16;
