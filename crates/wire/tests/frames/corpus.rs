//! Valid frames, written by hand from the table of the format.

use backwater_types::{ControlFrame, FlowName, QueueMap};
use backwater_wire::{Address, Body, Frame, Header, Pfc, Port};

/// The port that all of them come by. No two of its bounds are equal, so that a check of the wrong one shows.
pub(crate) const PORT: Port = Port { queues: 32, upstream_queues: 16, classes: 4, hosts: 1000, largest: 1500 };

/// Address of the port that sends them.
pub(crate) const SOURCE: Address = Address([2, 0, 0, 0, 0, 7]);

const NUMBER: u64 = 0xfedc_ba98_7654_3210;
const FLOW: FlowName = FlowName { flow: 0x0102_0304, slot: 0x0506_0708, class: 2 };

/// A frame of the corpus.
pub(crate) struct Example {
    /// Name of its file.
    pub(crate) name: &'static str,
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
}

impl Example {
    /// Returns its value.
    pub(crate) fn value(&self) -> Frame<'_> {
        let body = match self.name {
            "data" => Body::Packet(
                Header {
                    acknowledges: false,
                    flags: 0b1111,
                    upstream_queue: 15,
                    wire: 1500,
                    dst: 999,
                    src: 258,
                    flow: FlowName { class: 3, ..FLOW },
                    key: 0xa1a2_a3a4,
                    seq: 0x0001_0002,
                },
                &self.bytes[48..],
            ),
            "ack" => Body::Packet(
                Header {
                    acknowledges: true,
                    flags: 0,
                    upstream_queue: 0,
                    wire: 64,
                    dst: 258,
                    src: 999,
                    flow: FlowName { flow: 0xffff_fffe, slot: 0, class: 0 },
                    key: 0x8000_0001,
                    seq: u32::MAX,
                },
                &self.bytes[48..],
            ),
            "pause" => Body::Control(ControlFrame::Pause(31)),
            "resume" => Body::Control(ControlFrame::Resume(1)),
            "bitmap" => Body::Control(ControlFrame::Bitmap(QueueMap::new([1 << 31 | 1 << 8 | 1 << 1, 0]))),
            "pause-flow" => Body::Control(ControlFrame::PauseFlow(FLOW)),
            "resume-flow" => Body::Control(ControlFrame::ResumeFlow(FlowName { flow: u32::MAX, slot: 1, class: 0 })),
            "credit" => Body::Control(ControlFrame::Credit(0x0123_4567_89ab_cdef)),
            "credit-sent" => Body::Control(ControlFrame::CreditSent(1 << 40)),
            "hello" => Body::Hello(NUMBER),
            "answer" => Body::Answer(NUMBER),
            "pfc-pause" => Body::Pfc(Pfc { classes: 0b1000, quanta: [0, 0, 0, 0xffff, 0, 0, 0, 0] }),
            "pfc-resume" => Body::Pfc(Pfc { classes: 1, quanta: [0; 8] }),
            "pfc-several" => Body::Pfc(Pfc { classes: 0b1011, quanta: [0, 0x1234, 9, 1, 0, 0, 0, 0] }),
            name => panic!("{name} has no value"),
        };
        Frame { source: SOURCE, body }
    }
}

macro_rules! corpus {
    ($($name:literal)*) => {
        /// Name and text of each frame.
        pub(crate) const CORPUS: [(&str, &str); 14] = [$(($name, include_str!(concat!("corpus/", $name, ".hex")))),*];
    };
}

corpus! {
    "data" "ack" "pause" "resume" "bitmap" "pause-flow" "resume-flow" "credit" "credit-sent" "hello" "answer"
    "pfc-pause" "pfc-resume" "pfc-several"
}

/// Returns the frames.
pub(crate) fn examples() -> [Example; 14] {
    CORPUS.map(|(name, text)| Example { name, bytes: bytes(name, text) })
}

/// Returns the frame with this name.
pub(crate) fn example(name: &str) -> Example {
    examples().into_iter().find(|example| example.name == name).expect("a name of the corpus")
}

/// Reads lines of bytes, each with a comment that begins with the offset of the line's first byte.
fn bytes(name: &str, text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in text.lines() {
        let (fields, comment) = line.split_once('#').expect("each line has a comment");
        let at = comment.split_whitespace().next().expect("an offset");
        assert_eq!(at.parse(), Ok(bytes.len()), "{name}: offset of {line}");
        bytes.extend(fields.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).expect("two digits")));
    }
    bytes
}
