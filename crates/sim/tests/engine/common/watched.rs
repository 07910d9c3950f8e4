//! Wraps any switch so that tests can see its flow records, and can deliver control frames late or twice.
//!
//! Each switch's sheet lists the flow frames it applied, for [`super::Audit`]. It also counts branches that leave no
//! other trace.

use super::audit::{Counts, Fault, Report};
use backwater_dataplane::flow_table::{FlowTable, Record, state};
use backwater_dataplane::{DataPlane, Departed, Discarded, Readings, Received, Sent, Shape};
use backwater_planes::any;
use backwater_scenario::Scenario;
use backwater_scenario::model::Memory;
use backwater_scenario::topology::Graph;
use backwater_schemes::Switch as Table;
use backwater_schemes::planes::{
    AnySwitch, BfcFlowId, FlowSailPfc, FlowSailPfcWide, FlowSailSwitch, FlowSailWide, IdealFc,
};
use backwater_sim::Planes;
use backwater_types::hash::Stream;
use backwater_types::{ControlFrame, Extension, FlowName, Frame, Instant, Kind, PortId, QueueId};
use std::any::Any;
use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const MARKS: u8 = state::MARK_NORMAL | state::MARK_ISOLATED;

/// A frame that took effect at a switch.
pub struct Applied {
    pub at: Instant,
    pub port: PortId,
    pub frame: ControlFrame,
    /// False for a pause that found no room for a record.
    pub accepted: bool,
}

/// Observations of one switch.
#[derive(Default)]
pub struct Sheet {
    /// Flow frames applied since the audit last took them.
    pub applied: Vec<Applied>,
    /// Number of flow records in use.
    pub records: u32,
    /// A copy of the empty table, which tells the fingerprint of a flow.
    pub names: Option<FlowTable>,
    pub counts: Counts,
    /// First rule that the switch broke.
    pub wrong: Option<String>,
}

/// Sheets of all switches, in the order of the graph.
pub struct Sheets {
    sheets: Vec<Mutex<Sheet>>,
    built: AtomicUsize,
    /// Whether frames are duplicated and delayed.
    pub mishaps: bool,
    /// Whether routes never change, so that each flow has one egress and one record per switch.
    steady: bool,
}

impl Sheets {
    pub fn new(scenario: &Scenario, graph: &Graph, mishaps: bool) -> Arc<Sheets> {
        let sheets = (graph.hosts..graph.nodes.len()).map(|_| Mutex::default()).collect();
        let steady = scenario.fault.iter().all(|fault| fault.down.is_empty());
        Arc::new(Sheets { sheets, built: AtomicUsize::new(0), mishaps, steady })
    }

    /// Calls `look` with the sheet of one switch.
    pub fn with<T>(&self, switch: usize, look: impl FnOnce(&mut Sheet) -> T) -> T {
        look(&mut self.sheets[switch].lock().unwrap())
    }

    /// Returns a switch that still has flow records, if any.
    pub fn with_records(&self) -> Option<usize> {
        (0..self.sheets.len()).find(|switch| self.with(*switch, |sheet| sheet.records > 0))
    }

    /// Adds the counts and broken rules of all sheets to `report`.
    pub fn conclude(&self, report: &mut Report) {
        for (number, sheet) in self.sheets.iter().enumerate() {
            let mut sheet = sheet.lock().unwrap();
            sheet.counts.iter().for_each(|(what, n)| *report.counts.entry(what).or_default() += n);
            if let Some(text) = sheet.wrong.take() {
                report.fault(Fault::Protocol, format!("switch {number}: {text}"));
            }
        }
    }

    /// Makes watched switches, which the engine builds in the order of the graph.
    pub fn planes(self: &Arc<Sheets>, mishaps: Option<u64>) -> AllWatched {
        AllWatched { sheets: self.clone(), mishaps }
    }

    /// Wraps the switches that `build` makes.
    pub fn plane_of<D: Tabled>(
        self: &Arc<Sheets>,
        build: impl Fn(&Shape, &Table) -> D,
    ) -> impl Fn(&Shape, &Table) -> Watched<D> {
        let sheets = self.clone();
        move |shape, params| sheets.watch(build(shape, params), None)
    }

    /// Wraps the next switch.
    fn watch<D: Tabled>(self: &Arc<Sheets>, inner: D, mishaps: Option<u64>) -> Watched<D> {
        let number = self.built.fetch_add(1, Ordering::Relaxed);
        self.with(number, |sheet| sheet.names = inner.table().cloned());
        Watched {
            inner,
            sheets: self.clone(),
            number,
            dice: mishaps.map(|seed| Stream::new(seed, 0x6d69_7368, number as u64)),
            kept: Vec::new(),
            told: HashSet::new(),
        }
    }
}

/// Maker of watched switches for any network.
pub struct AllWatched {
    sheets: Arc<Sheets>,
    mishaps: Option<u64>,
}

impl Planes for AllWatched {
    type Plane<E: Extension> = Watched<AnySwitch<E>>;

    fn make<E: Extension>(&self, shape: &Shape, table: &Table) -> Self::Plane<E> {
        self.sheets.watch(any(Memory::Exact, shape, table), self.mishaps)
    }
}

/// A data plane that shows its flow records.
pub trait Tabled: DataPlane {
    /// Returns the flow table, if the plane has one.
    fn table(&self) -> Option<&FlowTable>;
    /// Whether the plane is ideal flow control.
    fn is_ideal(&self) -> bool {
        false
    }
}

/// A watched switch.
pub struct Watched<D> {
    inner: D,
    sheets: Arc<Sheets>,
    number: usize,
    dice: Option<Stream>,
    /// Frames to deliver late or again: frames still to come at this port before it, port, frame.
    kept: Vec<(u32, PortId, ControlFrame)>,
    /// Ports and flows that the switch has paused at its neighbours.
    told: HashSet<(PortId, u32)>,
}

impl<E: Extension> Tabled for AnySwitch<E> {
    fn table(&self) -> Option<&FlowTable> {
        let any: &dyn Any = &**self;
        let own = any.downcast_ref().map(|s: &FlowSailSwitch<E>| s.policy().table());
        let own = own.or_else(|| any.downcast_ref().map(|s: &FlowSailWide<E>| s.policy().table()));
        let own = own.or_else(|| any.downcast_ref().map(|s: &FlowSailPfc<E>| s.policy().policy().table()));
        let own = own.or_else(|| any.downcast_ref().map(|s: &FlowSailPfcWide<E>| s.policy().policy().table()));
        let own = own.or_else(|| any.downcast_ref().map(|s: &IdealFc<E>| s.policy().table()));
        own.or_else(|| any.downcast_ref().map(|s: &BfcFlowId<E>| s.policy().table()))
    }

    fn is_ideal(&self) -> bool {
        let any: &dyn Any = &**self;
        any.is::<IdealFc<E>>() || any.is::<BfcFlowId<E>>()
    }
}

impl<D: Tabled> Watched<D> {
    fn look(&self, port: PortId, name: FlowName) -> Option<Record> {
        let table = self.inner.table()?;
        table.find(port, name).map(|slot| table[slot])
    }

    fn count(&self, what: &'static str) {
        self.sheets.with(self.number, |sheet| *sheet.counts.entry(what).or_default() += 1);
    }

    fn having(&self, mask: u8) -> usize {
        self.inner.table().map_or(0, |table| table.iter().filter(|(_, record)| record.is(mask)).count())
    }

    /// Notes the number of records after a change and, with `marks`, the state of order marks.
    fn note(&self, marks: bool) {
        let Some(table) = self.inner.table() else { return };
        self.sheets.with(self.number, |sheet| sheet.records = table.used());
        if !marks {
            return;
        }
        let marked = || table.iter().filter(|(_, record)| record.is(MARKS));
        if marked().next().is_none() {
            return;
        }
        let mut bytes: BTreeMap<(PortId, QueueId), u32> = BTreeMap::new();
        for (_, record) in table.iter() {
            *bytes.entry((record.port(), record.normal_queue())).or_default() += record.normal;
            *bytes.entry((record.port(), record.isolation_queue())).or_default() += record.isolated;
        }
        for (_, record) in marked() {
            let normal = record.is(state::MARK_NORMAL);
            // Behind packets of its own flow, the mark would have left with the last of them.
            if normal && bytes[&(record.port(), record.normal_queue())] == 0 {
                self.count("order mark behind packets without a record");
            }
            if record.is(state::MARK_ISOLATED) && bytes[&(record.port(), record.isolation_queue())] == 0 {
                self.count("order mark alone in a queue");
            }
            if normal && !record.is(state::MARK_ISOLATED) {
                self.count("isolation queue waits for the twin mark");
            }
        }
    }

    /// Counts an eviction if fewer records are in use than `before`, plus one if a record is `fresh`.
    fn evicted(&self, before: u32, fresh: bool) {
        let Some(table) = self.inner.table() else { return };
        if table.used() < before + fresh as u32 {
            self.count("record evicted");
        }
    }

    fn used(&self) -> u32 {
        self.inner.table().map_or(0, |table| table.used())
    }

    fn apply(&mut self, now: Instant, port: PortId, frame: ControlFrame) {
        let (ControlFrame::PauseFlow(name) | ControlFrame::ResumeFlow(name)) = frame else {
            return self.inner.control(now, port, frame);
        };
        let (before, used) = (self.look(port, name), self.used());
        let refused = self.inner.table().map_or(0, FlowTable::refused);
        let ideal = self.inner.is_ideal();
        self.inner.control(now, port, frame);
        let after = self.look(port, name);
        let pause = matches!(frame, ControlFrame::PauseFlow(_));
        if self.inner.table().is_some() {
            if before.is_some_and(|record| record.name().flow != name.flow) {
                self.count("frame for a flow that shares its record");
            }
            self.count(match before {
                _ if ideal => "frame under ideal flow control",
                None if pause && after.is_none() => "PAUSE without room for a record",
                None if pause && after.is_some_and(|record| record.is(state::MARK_NORMAL)) => {
                    "PAUSE of a flow that had no record, and may have packets"
                }
                None if pause => "PAUSE of a flow without packets",
                None => "RESUME of a flow without a record",
                Some(r) if pause && r.is(state::PAUSED) => "pause repeated",
                Some(r) if pause && r.is(MARKS) => "paused again while its mark is outstanding",
                Some(r) if pause && r.is(state::CONGESTED) => "paused again while isolated",
                Some(_) if pause => "PAUSE of a flow with packets",
                Some(r) if !r.is(state::PAUSED) => "RESUME of a flow not paused",
                Some(r) if r.is(MARKS) => "resumed while its mark is outstanding",
                Some(_) => "resumed",
            });
            self.evicted(used, before.is_none() && after.is_some());
        }
        let accepted = !pause || after.is_some();
        self.sheets.with(self.number, |sheet| {
            let full = self.inner.table().is_some_and(|table| table.refused() > refused);
            if !accepted && self.inner.table().is_some() && !full {
                sheet.wrong.get_or_insert(format!("ignores {frame:?} by port {port}, with room for a record"));
            }
            sheet.applied.push(Applied { at: now, port, frame, accepted });
        });
        self.note(true);
    }

    /// Checks the frames that leave by `port`. Control frames go first, so a port without a waiting frame has sent all
    /// pauses of its flagged records. The check needs steady routes: after a move, the old egress may resume a flow
    /// that the new one pauses.
    fn told(&mut self, port: PortId, frame: Option<ControlFrame>) {
        match frame {
            Some(ControlFrame::PauseFlow(name)) => {
                self.told.insert((port, name.flow));
            }
            Some(ControlFrame::ResumeFlow(name)) => {
                self.told.remove(&(port, name.flow));
            }
            Some(_) => {}
            None if !self.sheets.steady => {}
            None => {
                let flagged = |record: &&Record| record.flagged > 0 && record.ingress as PortId == port;
                let mut records =
                    self.inner.table().into_iter().flat_map(|table| table.iter().map(|(_, record)| record));
                let untold = |record: &&Record| flagged(record) && !self.told.contains(&(port, record.name().flow));
                if let Some(record) = records.find(untold) {
                    let text = format!("port {port} was last told that it may send: {record:?}");
                    self.sheets.with(self.number, |sheet| _ = sheet.wrong.get_or_insert(text));
                }
            }
        }
    }

    /// Returns true with probability `n` percent, and never without mishaps.
    fn percent(&mut self, n: u32) -> bool {
        self.dice.as_mut().is_some_and(|dice| dice.next_u32() % 100 < n)
    }
}

impl<D: Tabled> DataPlane for Watched<D> {
    type Extension = D::Extension;

    fn receive(&mut self, now: Instant, packet: &Frame<D::Extension>, ingress: PortId, egress: PortId) -> Received {
        let (before, used) = (self.look(egress, packet.flow_name()), self.used());
        let received = self.inner.receive(now, packet, ingress, egress);
        if self.inner.table().is_none() || received.dropped.is_some() || !self.inner.queues_as_data(packet.kind) {
            return received;
        }
        let after = self.look(egress, packet.flow_name());
        match (before, after) {
            (_, None) => self.count("packet without a record"),
            (Some(before), Some(after)) => {
                if before.is(state::CONGESTED) && !after.is(state::CONGESTED) {
                    self.count("released at enqueue");
                }
                if before.name().flow != packet.flow {
                    self.count("packet of a flow that shares its record");
                }
            }
            (None, Some(_)) => {}
        }
        self.evicted(used, before.is_none() && after.is_some());
        self.note(false);
        received
    }

    fn pass(
        &mut self,
        now: Instant,
        packet: &mut Frame<D::Extension>,
        ingress: PortId,
        egress: PortId,
    ) -> Option<QueueId> {
        let before = self.look(egress, packet.flow_name());
        let passed = self.inner.pass(now, packet, ingress, egress);
        if passed.is_some() && self.inner.queues_as_data(packet.kind) {
            let after = self.look(egress, packet.flow_name());
            if before.is_some() {
                self.count(match after.is_some_and(|record| record.is(state::CONGESTED)) {
                    true => "passes while isolated",
                    false => "released in passing",
                });
            }
            self.note(false);
        }
        passed
    }

    fn transmit(&mut self, now: Instant, port: PortId) -> Option<Sent<D::Extension>> {
        let sent = self.inner.transmit(now, port);
        self.told(port, sent.and_then(|sent| sent.packet.control()));
        self.note(true);
        sent
    }

    fn transmit_to(
        &mut self,
        now: Instant,
        port: PortId,
        out: impl FnOnce(&Frame<D::Extension>, &Departed),
    ) -> Option<Departed> {
        let mut frame = None;
        let departed = self.inner.transmit_to(now, port, |packet, departed| {
            frame = packet.control();
            out(packet, departed);
        });
        self.told(port, frame);
        self.note(true);
        departed
    }

    fn queues_as_data(&self, kind: Kind) -> bool {
        self.inner.queues_as_data(kind)
    }

    fn sendable(&self, port: PortId) -> bool {
        self.inner.sendable(port)
    }

    fn due(&self, port: PortId) -> Instant {
        self.inner.due(port)
    }

    fn control(&mut self, now: Instant, port: PortId, frame: ControlFrame) {
        if !matches!(frame, ControlFrame::PauseFlow(_) | ControlFrame::ResumeFlow(_)) {
            return self.inner.control(now, port, frame);
        }
        let (late, twice) = (self.percent(6), self.percent(6));
        if late {
            self.count("frame that comes late");
        } else {
            self.apply(now, port, frame);
        }
        if twice {
            self.count("frame that comes twice");
            self.apply(now, port, frame);
        }
        // After this event the engine polls only `port`.
        for kept in self.kept.iter_mut().filter(|kept| kept.1 == port) {
            kept.0 -= 1;
        }
        while let Some(at) = self.kept.iter().position(|kept| kept.0 == 0) {
            let (_, port, frame) = self.kept.remove(at);
            self.apply(now, port, frame);
        }
        if late || self.percent(6) {
            let after = self.dice.as_mut().map_or(1, |dice| 1 + dice.next_u32() % 6);
            self.kept.push((after, port, frame));
        }
    }

    fn next_timer(&self) -> Instant {
        self.inner.next_timer()
    }

    fn timer(&mut self, now: Instant, to_poll: &mut Vec<PortId>) {
        let (paused, congested) = (self.having(state::PAUSED), self.having(state::CONGESTED));
        self.inner.timer(now, to_poll);
        if self.having(state::PAUSED) < paused {
            self.count("pause lapsed");
        }
        if self.having(state::CONGESTED) < congested {
            self.count("released by the sweep");
        }
        self.note(true);
    }

    fn link_down(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>) {
        if self.having(state::PAUSED) > 0 {
            self.count("link fails or comes back under pauses");
        }
        self.inner.link_down(now, port, to_poll);
        self.note(true);
    }

    fn link_up(&mut self, now: Instant, port: PortId, to_poll: &mut Vec<PortId>) {
        self.inner.link_up(now, port, to_poll);
        self.note(true);
    }

    fn discarded(&mut self) -> &mut Vec<Discarded<Self::Extension>> {
        self.inner.discarded()
    }

    fn readings(&self) -> &dyn Readings {
        self.inner.readings()
    }
}
