//! Control frames other than PFC's.

use crate::bytes::Head;
use crate::port::Port;
use crate::refused::Refused;
use backwater_types::{ControlFrame, FlowName, QueueMap};

/// Writes `frame`, which is not one of PFC.
pub(crate) fn put(frame: ControlFrame, head: &mut Head) {
    match frame {
        ControlFrame::Pause(queue) => put_queue(head, PAUSE, queue),
        ControlFrame::Resume(queue) => put_queue(head, RESUME, queue),
        ControlFrame::Bitmap(map) => put_operand(head, BITMAP, map.bits().to_be_bytes()),
        ControlFrame::PauseFlow(name) => put_flow(head, PAUSE_FLOW, name),
        ControlFrame::ResumeFlow(name) => put_flow(head, RESUME_FLOW, name),
        ControlFrame::Credit(bytes) => put_operand(head, CREDIT, bytes.to_be_bytes()),
        ControlFrame::CreditSent(bytes) => put_operand(head, CREDIT_SENT, bytes.to_be_bytes()),
        ControlFrame::PfcPause(_) | ControlFrame::PfcResume(_) => unreachable!("PFC has its own frames"),
    }
}

fn put_queue(head: &mut Head, operation: u8, queue: u16) {
    head.put(OPERATION, [operation]);
    head.put(QUEUE, queue.to_be_bytes());
}

fn put_flow(head: &mut Head, operation: u8, name: FlowName) {
    head.put(CLASS, [name.class]);
    put_operand(head, operation, name.flow.to_be_bytes());
    head.put(SLOT, name.slot.to_be_bytes());
}

fn put_operand<const N: usize>(head: &mut Head, operation: u8, operand: [u8; N]) {
    head.put(OPERATION, [operation]);
    head.put(OPERAND, operand);
}

/// Reads a control frame.
pub(crate) fn get(head: &Head, port: &Port) -> Result<ControlFrame, Refused> {
    match head.u8(OPERATION) {
        PAUSE => queue(head, port).map(ControlFrame::Pause),
        RESUME => queue(head, port).map(ControlFrame::Resume),
        BITMAP => bitmap(head, port).map(ControlFrame::Bitmap),
        PAUSE_FLOW => flow(head, port).map(ControlFrame::PauseFlow),
        RESUME_FLOW => flow(head, port).map(ControlFrame::ResumeFlow),
        CREDIT => sum(head).map(ControlFrame::Credit),
        CREDIT_SENT => sum(head).map(ControlFrame::CreditSent),
        _ => Err(Refused::Operation),
    }
}

fn queue(head: &Head, port: &Port) -> Result<u16, Refused> {
    Some(head.u16(QUEUE)).filter(|queue| *queue < port.queues).ok_or(Refused::Queue)
}

fn bitmap(head: &Head, port: &Port) -> Result<QueueMap, Refused> {
    let map = QueueMap::new([head.u64(OPERAND + 8), head.u64(OPERAND)]);
    let beyond = map.bits().checked_shr(port.queues.into()).unwrap_or(0);
    if beyond == 0 { Ok(map) } else { Err(Refused::Queue) }
}

fn flow(head: &Head, port: &Port) -> Result<FlowName, Refused> {
    let name = FlowName { flow: head.u32(OPERAND), slot: head.u32(SLOT), class: head.u8(CLASS) };
    if name.class < port.classes { Ok(name) } else { Err(Refused::Class) }
}

fn sum(head: &Head) -> Result<u64, Refused> {
    Some(head.u64(OPERAND)).filter(|bytes| *bytes <= MOST_BYTES).ok_or(Refused::Sum)
}

/// Bytes that a link carries at most: more than in five years at 400 Gbps. Sums with a buffer do not overflow.
const MOST_BYTES: u64 = u64::MAX >> 1;

const PAUSE: u8 = 1;
const RESUME: u8 = 2;
const BITMAP: u8 = 3;
const PAUSE_FLOW: u8 = 4;
const RESUME_FLOW: u8 = 5;
const CREDIT: u8 = 6;
const CREDIT_SENT: u8 = 7;

const OPERATION: usize = 16;
const CLASS: usize = 17;
const QUEUE: usize = 18;
const OPERAND: usize = 20;
const SLOT: usize = 24;
