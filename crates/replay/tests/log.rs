//! Logs: what is written is read back, and what is damaged is refused.

mod traffic;

use backwater_dataplane::{DataPlane, Departed, Discarded, Readings, Received, Sent};
use backwater_replay::{Answer, Call, Ending, Error, Log, Reader, Recorded, Step};
use backwater_schemes::planes::Product;
use backwater_types::hash::Stream;
use backwater_types::{ControlFrame, DropReason, FlowName, Frame, Instant, Kind, Packet, PortId, QueueId, QueueMap};
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use traffic::{Drops, Shared, Traffic, build, head, recorded};

/// Reads a log to its end.
fn read(bytes: &[u8]) -> Result<(Vec<Step>, Ending), Error> {
    let (mut reader, mut steps) = (Reader::new(bytes)?, Vec::new());
    loop {
        match reader.read()? {
            Ok(step) => steps.push(step),
            Err(ending) => return Ok((steps, ending)),
        }
    }
}

/// A plane that answers at random, and so in every way that a plane can.
struct Random {
    draws: Stream,
    discarded: Vec<Discarded>,
}

impl Random {
    fn new(seed: u64) -> Random {
        Random { draws: Stream::new(seed, 1, 1), discarded: Vec::new() }
    }

    fn below(&mut self, limit: u32) -> u32 {
        self.draws.next_u32() % limit
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    fn maybe(&mut self) -> Option<u16> {
        self.coin().then(|| self.draws.next_u32() as u16)
    }

    fn time(&mut self) -> Instant {
        Instant(u64::from(self.draws.next_u32()) << self.below(33))
    }

    fn packet(&mut self) -> Packet {
        const KINDS: [Kind; 7] =
            [Kind::Data, Kind::Ack, Kind::Nack, Kind::DropNotice, Kind::Cnp, Kind::Credit, Kind::Request];
        Packet {
            flow: self.draws.next_u32(),
            seq: self.draws.next_u32(),
            key: self.draws.next_u32(),
            sender_slot: self.draws.next_u32(),
            receiver_slot: self.draws.next_u32(),
            dst: self.draws.next_u32() as u16,
            src: self.draws.next_u32() as u16,
            wire: 1 + self.below(60_000) as u16,
            upstream_queue: self.draws.next_u32() as u16,
            class: self.draws.next_u32() as u8,
            kind: KINDS[self.below(7) as usize],
            flags: self.draws.next_u32() as u8,
        }
    }

    fn frame(&mut self) -> ControlFrame {
        let (number, bytes) = (self.draws.next_u32(), self.time().0);
        let name = FlowName { flow: number, slot: self.draws.next_u32(), class: number as u8 };
        match self.below(9) {
            0 => ControlFrame::Pause(number as u16),
            1 => ControlFrame::Resume(number as u16),
            2 => ControlFrame::Bitmap(QueueMap::new([bytes, number.into()])),
            3 => ControlFrame::PauseFlow(name),
            4 => ControlFrame::ResumeFlow(name),
            5 => ControlFrame::PfcPause(number as u8),
            6 => ControlFrame::PfcResume(number as u8),
            7 => ControlFrame::Credit(bytes),
            _ => ControlFrame::CreditSent(bytes),
        }
    }

    /// Draws a call at `now`.
    fn call(&mut self, now: Instant) -> Call {
        let [port, other] = [0, 0].map(|_| self.draws.next_u32() as u16);
        match self.below(10) {
            0 => Call::Receive { now, packet: self.packet(), ingress: port, egress: other },
            1 => Call::Pass { now, packet: self.packet(), ingress: port, egress: other },
            2 => Call::Transmit { now, port },
            3 => Call::Control { now, port, frame: self.frame() },
            4 => Call::Timer { now },
            5 => Call::LinkDown { now, port },
            6 => Call::LinkUp { now, port },
            7 => Call::Sendable { port },
            8 => Call::NextTimer,
            _ => Call::QueuesAsData { kind: self.packet().kind },
        }
    }

    fn drop_some(&mut self) {
        for _ in 0..self.below(3) {
            let discarded = Discarded { frame: self.packet().into(), entered: self.time() };
            self.discarded.push(discarded);
        }
    }

    fn open_some(&mut self, to_poll: &mut Vec<PortId>) {
        self.drop_some();
        to_poll.extend((0..self.below(5)).map(|port| port as PortId));
    }
}

impl DataPlane for Random {
    type Extension = ();

    fn receive(&mut self, _: Instant, _: &Frame, _: PortId, _: PortId) -> Received {
        let reason = DropReason::ALL[self.below(9) as usize];
        let (dropped, queue) = (self.coin().then_some(reason), self.draws.next_u32() as u16);
        self.drop_some();
        Received { dropped, queue, frame_on: self.maybe(), timer_changed: self.coin() }
    }

    fn transmit(&mut self, _: Instant, _: PortId) -> Option<Sent> {
        self.drop_some();
        let (packet, queue, frame_on) = (self.packet().into(), self.maybe(), self.maybe());
        let sent = Sent { packet, queue, frame_on, timer_changed: self.coin(), entered: self.time() };
        self.coin().then_some(sent)
    }

    fn pass(&mut self, _: Instant, frame: &mut Frame, _: PortId, _: PortId) -> Option<QueueId> {
        let queue = self.maybe();
        if queue.is_some() {
            frame.packet = self.packet();
        }
        queue
    }

    fn queues_as_data(&self, kind: Kind) -> bool {
        kind == Kind::Data
    }

    fn sendable(&self, port: PortId) -> bool {
        port.is_multiple_of(2)
    }

    fn control(&mut self, _: Instant, _: PortId, _: ControlFrame) {
        self.drop_some();
    }

    fn next_timer(&self) -> Instant {
        Instant(u64::from(self.discarded.len() as u32) + 77)
    }

    fn timer(&mut self, _: Instant, to_poll: &mut Vec<PortId>) {
        self.open_some(to_poll);
    }

    fn link_down(&mut self, _: Instant, _: PortId, to_poll: &mut Vec<PortId>) {
        self.open_some(to_poll);
    }

    fn link_up(&mut self, _: Instant, _: PortId, to_poll: &mut Vec<PortId>) {
        self.open_some(to_poll);
    }

    fn discarded(&mut self) -> &mut Vec<Discarded> {
        &mut self.discarded
    }

    fn readings(&self) -> &dyn Readings {
        unreachable!("it has no telemetry")
    }
}

/// Makes random calls of a recorded plane. Returns them with their results, and the log.
fn random_log(count: u64) -> (Vec<Step>, Vec<u8>) {
    let bytes = Shared::default();
    let log = Log::new(bytes.clone(), &head()).expect("memory takes a log");
    let mut plane = Recorded::new(Random::new(1), log.clone());
    let mut calls = Random::new(2);
    let steps: Vec<Step> = (0..count).map(|number| calls.call(Instant(number / 3)).make(&mut plane)).collect();
    assert_eq!(log.records(), count);
    assert_eq!(log.finish().expect("memory takes a log"), count);
    (steps, bytes.bytes())
}

#[test]
fn every_call_is_read_back_with_what_came_of_it() {
    let (steps, bytes) = random_log(20_000);
    let (read, ending) = read(&bytes).expect("a log");
    assert_eq!(ending, Ending::Complete);
    assert!(read == steps, "record {:?} differs", read.iter().zip(&steps).position(|(a, b)| a != b));
    assert!(steps.iter().any(|step| step.dropped.len() == 2) && steps.iter().any(|step| step.to_poll.len() == 4));
}

#[test]
fn a_switch_does_the_same_with_a_log() {
    let mut all_told = 0;
    for product in Product::ALL {
        for drops in [Drops::Never, Drops::WithPort] {
            let mut plain = Traffic::new(build(*product, drops), drops);
            plain.run(1_500);
            let (did, bytes) = recorded(build(*product, drops), drops, 1_500, &head());
            assert!(plain.holder.did == did, "{product:?} does something else with a log");
            let (steps, ending) = read(&bytes).expect("a log");
            assert_eq!(ending, Ending::Complete);
            // The drops in the records are those of which the holder was told.
            let told = did.iter().filter(|did| matches!(did, traffic::Did::Dropped(..))).count();
            let refused = |step: &Step| matches!(step.answer, Answer::Received(Received { dropped: Some(_), .. }));
            let written: usize = steps.iter().map(|step| step.dropped.len() + usize::from(refused(step))).sum();
            assert_eq!(written, told, "{product:?}, {drops:?}");
            assert!(steps.len() > 4_000, "{product:?}: {} records", steps.len());
            all_told += told;
        }
    }
    assert!(all_told > 1_000, "{all_told} drops");
}

#[test]
fn a_log_without_its_end_is_read_up_to_there() {
    let (steps, bytes) = random_log(300);
    for length in bytes.len() - 1024..bytes.len() {
        let (read, ending) = read(&bytes[..length]).expect("nothing is damaged");
        assert!(steps.starts_with(&read), "{length}");
        match ending {
            Ending::Complete => panic!("{length}: a part counts as complete"),
            Ending::Interrupted => {}
            Ending::Torn { record, byte, call } => {
                assert_eq!(record, read.len() as u64 + 1);
                assert!((byte as usize) < length && length - (byte as usize) < 400, "{byte}, {length}");
                let torn = steps.get(read.len()).map(|step| step.call);
                assert!(call.is_none() || call == torn, "{length}: {call:?}");
            }
        }
    }
}

#[test]
fn a_log_without_its_head_is_refused() {
    let (_, bytes) = random_log(10);
    let head = 16 + serde_json::to_vec(&head()).expect("JSON").len() + 4;
    for length in 0..head {
        let problem = Reader::new(&bytes[..length]).expect_err("a part of a head").problem;
        let expected = if length < 8 { "not a log" } else { "ends inside the head" };
        assert!(problem.contains(expected), "{length}: {problem}");
    }
    assert_eq!(read(&bytes[..head]), Ok((Vec::new(), Ending::Interrupted)));
}

#[test]
fn any_flipped_bit_is_found() {
    let (steps, bytes) = random_log(40);
    for byte in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[byte] ^= 1 << bit;
            match read(&flipped) {
                Err(error) => assert!(error.byte.is_some_and(|at| at <= bytes.len() as u64), "{error}"),
                // The kind of one of the last records is that of a longer one.
                Ok((read, Ending::Torn { .. })) => assert!(steps.starts_with(&read) && byte + 200 > bytes.len()),
                Ok((_, ending)) => panic!("bit {bit} of byte {byte}: {ending:?}"),
            }
        }
    }
}

#[test]
fn errors_name_the_place_and_what_was_allowed() {
    let (_, bytes) = random_log(40);
    let with = |at: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        read(&bytes).expect_err("a damaged log").to_string()
    };
    assert_eq!(with(0, b'x'), "byte 8: not a log of a switch, which begins with BWREPLAY");
    assert_eq!(with(8, 9), "byte 12: version of the log = 9: expected 1");
    let records = 16 + serde_json::to_vec(&head()).expect("JSON").len() + 4;
    let place = format!("byte {}, record 1: ", records + 1);
    assert_eq!(with(records, 99), place + "kind of record = 99: expected 0 to 10");
    assert!(with(20, b'?').contains("damaged: its check is"), "{}", with(20, b'?'));
    let more = [&bytes[..], &[0]].concat();
    assert!(read(&more).expect_err("bytes behind the end").problem.contains("behind the end"));
}

#[test]
fn a_call_that_never_returned_is_the_last_of_its_log() {
    let bytes = Shared::default();
    let log = Log::new(bytes.clone(), &head()).expect("memory takes a log");
    let mut plane = Recorded::new(build(Product::BfcSwitch, Drops::Never), log);
    plane.next_timer();
    let packet = Packet { kind: Kind::Data, wire: 1000, ..Packet::NONE };
    let call = Call::Receive { now: Instant(5), packet, ingress: 0, egress: 99 };
    let made = catch_unwind(AssertUnwindSafe(|| call.make(&mut plane)));
    assert!(made.is_err(), "there is no port 99");
    let (steps, ending) = read(&bytes.bytes()).expect("a log");
    assert_eq!(steps.len(), 1);
    assert!(matches!(ending, Ending::Torn { record: 2, call: Some(last), .. } if last == call), "{ending:?}");
}

/// A disk with room for so many bytes.
#[derive(Debug)]
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_the_log_and_not_the_switch() {
    let log = Log::new(Full(5_000), &head()).expect("the head has room");
    let mut traffic = Traffic::new(Recorded::new(build(Product::BfcSwitch, Drops::Never), log.clone()), Drops::Never);
    traffic.run(1_000);
    let mut plain = Traffic::new(build(Product::BfcSwitch, Drops::Never), Drops::Never);
    plain.run(1_000);
    assert!(traffic.holder.did == plain.holder.did);
    assert_eq!(log.finish().expect_err("the disk is full").kind(), io::ErrorKind::StorageFull);
    assert_eq!(Log::new(Full(50), &head()).expect_err("no room for the head").kind(), io::ErrorKind::StorageFull);
}

#[test]
fn transmit_and_transmit_with_are_one_call() {
    let log = Log::new(Shared::default(), &head()).expect("memory takes a log");
    let (mut one, mut other) = (Random::new(5), Recorded::new(Random::new(5), log));
    for now in 0..100 {
        let (a, b) = (one.transmit(Instant(now), 1), other.transmit(Instant(now), 1));
        let parts = |sent: Sent| {
            let Sent { packet, queue, frame_on, timer_changed, entered } = sent;
            (packet, Departed { queue, frame_on, timer_changed, entered })
        };
        assert_eq!(a.map(parts), b.map(parts));
        assert_eq!(one.discarded(), other.discarded());
    }
}
