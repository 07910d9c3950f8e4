//! Followed flows at their sources: the delays of each flow until the packet that completes it leaves.

use crate::record::breakdown::Breakdown;
use crate::record::breakdown::by_flow::ByFlow;
use crate::record::breakdown::path_trace::PathTrace;
use crate::record::breakdown::port_clock::{PortClock, Reading, Turn};
use crate::record::label::Label;
use crate::record::waits::{Parts, Wait, Why, part};
use backwater_engine::observe::{SendState, Transmission};
use backwater_traffic::Flow;
use backwater_types::{ControlFrame, Duration, Effect, Instant, QueueId, Target};

/// Port of a host.
const NIC: u16 = 0;

/// Followed flow at its source. It fits one cache line, as it is read often.
#[derive(Clone, Debug)]
pub(super) struct Source {
    flow: u32,
    slot: u32,
    /// State of the flow at the last look: whether it may send, and if not, why.
    state: SendState,
    /// Whether the last packet has been sent at least once.
    all_sent: bool,
    /// Whether a pause in force names the flow.
    named: bool,
    /// Whether the NIC's clock has to run, because the flow waits for its turn at the NIC, or may do so when its pace
    /// is due. Set exactly if the state is [`SendState::Ready`] or [`SendState::Paced`], and not everything was sent.
    counts: bool,
    delays: Box<Delays>,
    /// Time that the flow's data took on the link, to the end of the last transmission, ps.
    own: u64,
    /// End of the flow's last transmission.
    own_end: Instant,
    /// Time that the flow's data had taken on the link at `delays.reading.at`, ps.
    own_seen: u64,
}

const _: () = assert!(size_of::<Source>() == 64);

/// Delays of a flow at its source so far.
#[derive(Clone, Debug)]
struct Delays {
    reading: Reading,
    parts: Parts,
}

impl Source {
    /// Creates the state of a flow that starts.
    fn new(flow: &Flow, slot: u32) -> Source {
        Source {
            flow: flow.id,
            slot,
            state: SendState::Blocked,
            all_sent: false,
            named: false,
            counts: false,
            delays: Box::new(Delays { reading: Reading::none_until(flow.at), parts: Parts::default() }),
            own: 0,
            own_end: Instant::ZERO,
            own_seen: 0,
        }
    }

    fn is_held(&self) -> bool {
        matches!(self.state, SendState::Held(_))
    }

    /// Whether a pause holds the flow without naming it.
    fn is_held_unnamed(&self) -> bool {
        self.is_held() && !self.named
    }

    /// Instant at which the pace that the flow awaits is due; never, if it awaits none.
    fn due(&self) -> Instant {
        if let SendState::Paced(due) = self.state { due } else { Instant::NEVER }
    }

    /// Time that the flow's data had taken on the link at `at`, ps. `at` must not be before its last transmission
    /// began.
    fn own_by(&self, at: Instant) -> u64 {
        self.own - if self.own_end > at { self.own_end.since(at).0 } else { 0 }
    }

    /// Time that the flow's data took on the link from the last call to `at`, ps.
    fn own_until(&mut self, at: Instant) -> u64 {
        let own = self.own_by(at);
        own - std::mem::replace(&mut self.own_seen, own)
    }

    /// Ends the transmission of the flow's data at `at`, since the NIC sends something else.
    fn interrupt(&mut self, at: Instant) {
        if self.own_end > at {
            (self.own, self.own_end) = (self.own_by(at), at);
        }
    }

    /// Accounts for the time up to `now`: the flow waited for `wait`, except while the NIC sent its data.
    fn add_wait(&mut self, now: Instant, own_class: u8, wait: Wait) {
        let own = Duration(self.own_until(now));
        let Delays { reading, parts } = &mut *self.delays;
        let since = std::mem::replace(&mut reading.at, now);
        let rest = Duration(now.since(since).0 - own.0);
        let own_packets = part(wait.flow, 0, (wait.node as usize, wait.port), wait.queue, Why::OwnPackets);
        parts.add(Wait { whose: Some(own_class), span: own, ..own_packets });
        parts.add(Wait { span: rest, ..wait });
    }

    /// Accounts for the time up to `until` by the NIC's turns. While the flow was `blocked`, turns of other flows do
    /// not count.
    fn add_turns(&mut self, until: Instant, host: usize, clock: &PortClock, own_class: u8, blocked: bool) {
        let own = [0, self.own_until(until)];
        let here = part(self.flow, 0, (host, NIC), 0, Why::Idle);
        let Delays { reading, parts } = &mut *self.delays;
        clock.split(reading, None, (own, own_class), until, |turn, span| {
            let (why, whose) = match turn {
                Turn::Own => (Why::OwnPackets, Some(own_class)),
                _ if blocked => (Why::Transport, None),
                Turn::Queue(class) | Turn::Others(class) => (Why::OtherFlows, Some(class)),
                Turn::Frames => (Why::AcksAndFrames, None),
                Turn::Idle => (Why::Idle, None),
            };
            parts.add(Wait { why, whose, span, ..here });
        });
    }
}

/// Followed flows at one host. The fields read at each transmission of the host share a cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct AtSource {
    /// First instant at which the pace of a flow may be due; never, if no flow awaits its pace. May be early, never
    /// late.
    due: Instant,
    /// Start of the flow that starts last.
    starts: Instant,
    /// Flow of the current or last transmission, if it is data of a followed flow.
    sends: Option<u32>,
    /// Whether a pause that does not name a flow may hold one, so that any pause may change the cause. Never `false` if
    /// one does.
    unnamed: bool,
    of: ByFlow<Source>,
}

impl AtSource {
    /// Builds the state of a host without followed flows.
    pub(super) const fn new() -> AtSource {
        AtSource { of: ByFlow::new(), due: Instant::NEVER, starts: Instant::ZERO, sends: None, unnamed: false }
    }

    /// Whether no followed flow is at this host.
    pub(super) fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Whether the NIC's clock has to run.
    fn counts(&self) -> bool {
        self.of.iter().any(|source| source.counts)
    }

    /// Whether a flow may await a pace that is due at `now`.
    pub(super) fn may_be_due(&self, now: Instant) -> bool {
        self.due <= now
    }

    /// Ends the transmission of a followed flow, since the host sends something else.
    fn interrupt(&mut self, now: Instant) {
        if let Some(flow) = self.sends.take() {
            self.of.of_mut(flow).for_each(|source| source.interrupt(now));
        }
    }

    /// Ends all pauses.
    fn release(&mut self) {
        self.of.iter_mut().for_each(|source| source.named = false);
        self.unnamed = true;
    }

    /// Adds a flow that starts.
    pub(super) fn start(&mut self, flow: &Flow, slot: u32) {
        self.starts = self.starts.max(flow.at);
        self.of.push(flow.id, Source::new(flow, slot));
    }

    /// Place of a flow in the list.
    fn find(&self, flow: u32) -> Option<usize> {
        self.of.position(flow, |_| true)
    }
}

/// Followed flows whose [`SendState`] the current event may change, besides those whose pace has become due.
#[derive(Clone, Debug, Default)]
pub(super) struct Concern {
    /// Whether the fields below name all flows that the event concerns: packets that arrived or left, a flow that
    /// started. After an event without such a note, any flow may have another state.
    pub(super) heard: bool,
    /// Whether one of the fields below is set.
    pub(super) some: bool,
    /// Flows of the packets.
    flows: Vec<u32>,
    /// Queue that was paused (`true`) or resumed.
    pause: Option<(QueueId, bool)>,
    /// Whether any flow may be concerned, since a pause of another kind arrived or a timer ran.
    all: bool,
}

impl Concern {
    /// Adds a followed flow.
    pub(super) fn add(&mut self, flow: u32) {
        (self.heard, self.some) = (true, true);
        self.flows.push(flow);
    }

    /// Adds all flows.
    pub(super) fn add_all(&mut self) {
        (self.all, self.some) = (true, true);
    }

    /// Adds the flows that a pause (`true`) or a resume of this queue may hold or release.
    fn add_queue(&mut self, queue: QueueId, holds: bool) {
        (self.pause, self.some) = (Some((queue, holds)), true);
    }
}

impl Breakdown {
    /// Looks at the flows at this host that the current event concerns. `send_state` gives the present state of each.
    #[inline(never)]
    pub(super) fn settle_host(
        &mut self,
        now: Instant,
        host: usize,
        last: &Transmission,
        send_state: &dyn Fn(u32, u32) -> SendState,
    ) {
        let Concern { heard, flows, pause, all, .. } = std::mem::take(&mut self.concern);
        let everyone = all || !heard || !self.rules[host].steady;
        let some_due = self.sources[host].may_be_due(now);
        if everyone || some_due || pause.is_some() || cfg!(debug_assertions) {
            for at in 0..self.sources[host].of.len() {
                let source = &self.sources[host].of[at];
                let by_pause = pause.is_some_and(|pause| may_change(pause, source.state));
                let concerned = everyone || source.due() <= now || by_pause || flows.contains(&source.flow);
                self.look_at(now, host, at, concerned, (last, send_state));
            }
        } else {
            for flow in &flows {
                if let Some(at) = self.sources[host].find(*flow) {
                    self.look_at(now, host, at, true, (last, send_state));
                }
            }
        }
        if some_due {
            let sources = &mut self.sources[host];
            sources.due = sources.of.iter().map(Source::due).min().unwrap_or(Instant::NEVER);
        }
        self.concern.flows = flows;
        self.concern.flows.clear();
    }

    /// Looks at one flow after an event that `concerned` it. After other events, checks that nothing changed.
    fn look_at(
        &mut self,
        now: Instant,
        host: usize,
        at: usize,
        concerned: bool,
        (last, send_state): (&Transmission, &dyn Fn(u32, u32) -> SendState),
    ) {
        if !concerned && !cfg!(debug_assertions) {
            return;
        }
        let Source { flow, slot, state: before, .. } = self.sources[host].of[at];
        let after = send_state(slot, flow);
        assert!(concerned || after == before, "flow {flow}: {before:?}, then {after:?}, unheard");
        if after == before {
            return;
        }
        self.account(now, host, at);
        let sources = &mut self.sources[host];
        let source = &mut sources.of[at];
        source.state = after;
        sources.unnamed |= source.is_held_unnamed();
        sources.due = sources.due.min(source.due());
        self.update_counts(host, at, last);
    }

    /// Starts or stops the NIC's clock as one flow's need changes; `last` is the host's last transmission.
    fn update_counts(&mut self, host: usize, at: usize, last: &Transmission) {
        let source = &mut self.sources[host].of[at];
        let counts = !source.all_sent && matches!(source.state, SendState::Ready | SendState::Paced(_));
        if std::mem::replace(&mut source.counts, counts) == counts {
            return;
        }
        if counts {
            self.start_clock(host, NIC, last);
            let reading = &mut self.sources[host].of[at].delays.reading;
            let from = reading.at;
            self.ports.at(host, NIC).clock.read(reading, None, from);
        } else {
            self.stop_idle_clock(host);
        }
    }

    /// Stops the NIC's clock if no flow needs it.
    fn stop_idle_clock(&mut self, host: usize) {
        if !self.sources[host].counts() {
            self.ports.stop(host, NIC);
        }
    }

    /// Ends the transmission of a followed flow, before the host sends.
    #[inline(always)]
    pub(super) fn before_send(&mut self, host: usize, now: Instant) {
        self.sources[host].interrupt(now);
        if self.sources[host].due != Instant::NEVER && self.ports.runs(host, NIC) {
            self.account_paced(now, host);
        }
    }

    /// Advances the NIC's clock, after the host has sent.
    #[inline(always)]
    pub(super) fn after_send(&mut self, host: usize, sent: Transmission) {
        if self.ports.runs(host, NIC) {
            let class = self.class_or_first(sent.flow());
            self.ports.at_mut(host, NIC).clock.advance(sent, class);
        }
        // In ns-3's order a flow may start later within the present nanosecond.
        if self.sources[host].starts > sent.at {
            self.read_anew(sent.at, host);
        }
    }

    /// Has the flows that start at a host later than `now` read the clock at their start.
    #[cold]
    fn read_anew(&mut self, now: Instant, host: usize) {
        for source in self.sources[host].of.iter_mut() {
            let from = source.delays.reading.at;
            if from > now {
                source.own_seen = source.own_by(from);
                if source.counts {
                    self.ports.at(host, NIC).clock.read(&mut source.delays.reading, None, from);
                }
            }
        }
    }

    /// Accounts for the flows whose pause, or its cause, a frame may change, before the frame takes effect.
    pub(super) fn host_controlled(&mut self, now: Instant, host: usize, frame: ControlFrame) {
        if self.sources[host].is_empty() {
            return;
        }
        self.concern.heard = true;
        let steady = self.rules[host].steady;
        match frame.effect() {
            Effect::Set { target: Target::Flow(name), holds } if steady => self.flow_named(now, host, name.flow, holds),
            Effect::Set { target: Target::Queue(queue), holds } if steady => {
                self.concern.add_queue(queue, holds);
                if !holds {
                    self.account_held(now, host, |source| source.state == SendState::Held(queue));
                }
            }
            Effect::Set { .. } | Effect::SetQueues(_) | Effect::Limit(_) | Effect::Ask(_) => {
                self.host_changes(now, host)
            }
        }
    }

    /// Notes that a frame holds a flow by name, or releases it.
    fn flow_named(&mut self, now: Instant, host: usize, flow: u32, holds: bool) {
        if self.sources[host].unnamed {
            self.sources[host].unnamed = self.account_held(now, host, Source::is_held_unnamed);
        }
        if self.followed.has(flow) {
            self.concern.add(flow);
            if let Some(at) = self.sources[host].find(flow) {
                if self.sources[host].of[at].is_held() {
                    self.account(now, host, at);
                }
                let sources = &mut self.sources[host];
                sources.of[at].named = holds;
                sources.unnamed |= sources.of[at].is_held_unnamed();
            }
        }
    }

    /// Accounts for the flows of a host that pass `is`. Returns whether there are any.
    fn account_held(&mut self, now: Instant, host: usize, is: impl Fn(&Source) -> bool) -> bool {
        let mut any = false;
        for at in 0..self.sources[host].of.len() {
            if is(&self.sources[host].of[at]) {
                any = true;
                self.account(now, host, at);
            }
        }
        any
    }

    /// Ends all pauses of a host, whose link failed or recovered.
    pub(super) fn release_host(&mut self, now: Instant, host: usize) {
        self.host_changes(now, host);
        self.sources[host].release();
    }

    /// Accounts for all flows of a host, before their pauses change.
    fn host_changes(&mut self, now: Instant, host: usize) {
        self.concern.add_all();
        self.account_held(now, host, |_| true);
    }

    /// Notes that a host sends data of a followed flow, and follows the packet if it may complete the flow.
    #[inline(never)]
    pub(super) fn source_sent(&mut self, now: Instant, host: usize, packet: Label) {
        let Some(at) = self.sources[host].find(packet.name.flow) else { return };
        let completes = self.followed.may_complete(packet);
        if completes || packet.last {
            self.account(now, host, at);
        }
        let port = self.ports.at_mut(host, NIC);
        let span = port.clock.ser().of_bytes(packet.wire.into());
        let AtSource { of, sends, .. } = &mut self.sources[host];
        let source = &mut of[at];
        (source.own, source.own_end) = (source.own + span.0, now + span);
        *sends = Some(packet.name.flow);
        if completes {
            let Delays { reading, parts } = &*source.delays;
            port.link.push(PathTrace::new(packet, now.max(reading.at), parts.clone()));
        }
        if packet.last && !source.all_sent {
            source.all_sent = true;
            self.update_counts(host, at, &Transmission::NONE);
        }
    }

    /// Forgets a flow that is complete.
    pub(super) fn source_done(&mut self, host: usize, flow: u32) {
        self.sources[host].of.remove_flow(flow);
        self.sends[host] = !self.sources[host].is_empty();
        self.stop_idle_clock(host);
    }

    /// Accounts for the flows that await their pace, before their host sends. Their next reading then spans at most one
    /// transmission, whose progress at the due time is known.
    fn account_paced(&mut self, now: Instant, host: usize) {
        self.account_held(now, host, |source| matches!(source.state, SendState::Paced(_)));
    }

    /// Accounts for the time that a flow waited at its source, up to `now`.
    fn account(&mut self, now: Instant, host: usize, at: usize) {
        let Source { flow, state, all_sent, ref delays, .. } = self.sources[host].of[at];
        let since = delays.reading.at;
        if now <= since {
            return;
        }
        let own_class = self.class_or_first(flow);
        let waits = |why: Why| part(flow, 0, (host, NIC), 0, why);
        let wait = match state {
            _ if all_sent => waits(Why::Recovery),
            SendState::Blocked => waits(Why::Transport),
            SendState::Held(queue) => {
                let cause = self.causes.of(host, NIC, queue, flow);
                self.paused(cause, part(flow, 0, (host, NIC), queue, Why::Paused))
            }
            SendState::Ready | SendState::Paced(_) => {
                let (source, clock) = (&mut self.sources[host].of[at], &self.ports.at(host, NIC).clock);
                if let SendState::Paced(due) = state {
                    source.add_turns(due.clamp(since, now), host, clock, own_class, true);
                }
                return source.add_turns(now, host, clock, own_class, false);
            }
        };
        self.sources[host].of[at].add_wait(now, own_class, wait);
    }
}

/// Whether a pause or a resume of a queue may change the state of a flow that was in `state`.
fn may_change((queue, holds): (QueueId, bool), state: SendState) -> bool {
    state == if holds { SendState::Ready } else { SendState::Held(queue) }
}
