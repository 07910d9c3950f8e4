//! Random frames, of all kinds and with all fields.

use backwater_types::hash::Stream;
use backwater_types::{ControlFrame, FlowName, QueueMap};
use backwater_wire::{Address, Body, Frame, Header, Pfc, Port};

/// Draws a number below `n`.
pub(crate) fn below(stream: &mut Stream, n: u32) -> u32 {
    stream.next_u32() % n.max(1)
}

/// Draws 64 bits, which are often all zeros or all ones.
fn word(stream: &mut Stream) -> u64 {
    match below(stream, 8) {
        0 => 0,
        1 => u64::MAX,
        _ => u64::from(stream.next_u32()) << 32 | u64::from(stream.next_u32()),
    }
}

/// Draws a number of `0..n`, often the first or the last.
fn within(stream: &mut Stream, n: u32) -> u32 {
    match below(stream, 6) {
        0 => 0,
        1 => n - 1,
        _ => below(stream, n),
    }
}

/// Draws a port with at least one of everything.
pub(crate) fn port(stream: &mut Stream) -> Port {
    Port {
        queues: 1 + within(stream, 128) as u16,
        upstream_queues: 1 + within(stream, 128) as u16,
        classes: 1 + within(stream, 8) as u8,
        hosts: 1 + within(stream, 1 << 16),
        largest: (64 + within(stream, (1 << 16) - 64)) as u16,
    }
}

/// Draws the bytes of a host's frame that `port` can carry.
pub(crate) fn wrapped(stream: &mut Stream, port: &Port) -> Vec<u8> {
    let longest = u32::from(port.largest.min(2000));
    (0..14 + within(stream, longest - 13)).map(|_| stream.next_u32() as u8).collect()
}

/// Draws a frame that `port` accepts, which may wrap `wrapped`.
pub(crate) fn frame<'a>(stream: &mut Stream, port: &Port, wrapped: &'a [u8]) -> Frame<'a> {
    let mut source = [0; 6];
    source.fill_with(|| stream.next_u32() as u8);
    source[0] &= !1;
    let body = match below(stream, 6) {
        0 => Body::Hello(word(stream)),
        1 => Body::Answer(word(stream)),
        2 => Body::Pfc(pfc(stream, port)),
        3 => Body::Control(control(stream, port)),
        _ => Body::Packet(header(stream, port, wrapped.len() as u32), wrapped),
    };
    Frame { source: Address(source), body }
}

/// Draws the properties of a packet of `length` bytes.
fn header(stream: &mut Stream, port: &Port, length: u32) -> Header {
    let least = length.max(64);
    Header {
        acknowledges: below(stream, 4) == 0,
        flags: below(stream, 16) as u8,
        upstream_queue: within(stream, port.upstream_queues.into()) as u16,
        wire: (least + within(stream, u32::from(port.largest) - least + 1)) as u16,
        dst: within(stream, port.hosts) as u16,
        src: within(stream, port.hosts) as u16,
        flow: flow(stream, port),
        key: word(stream) as u32,
        seq: word(stream) as u32,
    }
}

fn flow(stream: &mut Stream, port: &Port) -> FlowName {
    let class = within(stream, port.classes.into()) as u8;
    FlowName { flow: word(stream) as u32, slot: word(stream) as u32, class }
}

/// Draws a control frame that is not of PFC.
pub(crate) fn control(stream: &mut Stream, port: &Port) -> ControlFrame {
    let queue = within(stream, port.queues.into()) as u16;
    match below(stream, 7) {
        0 => ControlFrame::Pause(queue),
        1 => ControlFrame::Resume(queue),
        2 => {
            let all = u128::MAX >> (128 - port.queues);
            let bits = (u128::from(word(stream)) << 64 | u128::from(word(stream))) & all;
            ControlFrame::Bitmap(QueueMap::new([bits as u64, (bits >> 64) as u64]))
        }
        3 => ControlFrame::PauseFlow(flow(stream, port)),
        4 => ControlFrame::ResumeFlow(flow(stream, port)),
        5 => ControlFrame::Credit(word(stream) >> 1),
        _ => ControlFrame::CreditSent(word(stream) >> 1),
    }
}

fn pfc(stream: &mut Stream, port: &Port) -> Pfc {
    let all = u8::MAX >> (8 - port.classes);
    Pfc { classes: word(stream) as u8 & all, quanta: [0; 8].map(|_: u16| word(stream) as u16) }
}

/// Bytes of `frame`.
pub(crate) fn emitted(frame: &Frame) -> Vec<u8> {
    let mut out = vec![0; 1 << 17];
    let length = frame.emit(&mut out).expect("it has bytes");
    out.truncate(length);
    out
}
