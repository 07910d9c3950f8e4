//! Flows at their sources: what keeps each from sending, until the packet leaves that completes it.

use crate::record::journeys::by_flow::ByFlow;
use crate::record::journeys::turns::{Seen, Turn};
use crate::record::journeys::{Journey, Journeys};
use crate::record::label::Label;
use crate::record::waits::{Parts, Wait, Why, part};
use crate::workload::Flow;
use backwater_engine::observe::{Stand, Transmission};
use backwater_types::{ControlFrame, Duration, Effect, Instant, QueueId, Target};

/// A flow at its source: what is looked at as it may stand otherwise, which is often, in a cache line.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) flow: u32,
    pub(super) slot: u32,
    pub(super) stand: Stand,
    /// Each of its packets was sent.
    pub(super) all_sent: bool,
    /// A neighbour holds it by its name.
    named: bool,
    /// It matters whose turn it is: something else than its sender may keep it waiting.
    counts: bool,
    pub(super) told: Box<Told>,
    /// How long its data have been sent in all, to the end of the last; that end; and how long at `seen.at`.
    own: u64,
    own_end: Instant,
    own_seen: u64,
}

const _: () = assert!(size_of::<Source>() == 64);

/// What is told of a flow.
#[derive(Clone, Debug)]
pub(super) struct Told {
    /// Up to when its time is accounted for.
    pub(super) seen: Seen,
    pub(super) parts: Parts,
}

impl Source {
    /// It starts.
    pub(super) fn new(flow: &Flow, slot: u32) -> Source {
        Source {
            flow: flow.id,
            slot,
            stand: Stand::Blocked,
            all_sent: false,
            named: false,
            counts: false,
            told: Box::new(Told { seen: Seen::nothing_until(flow.at), parts: Parts::default() }),
            own: 0,
            own_end: Instant::ZERO,
            own_seen: 0,
        }
    }

    fn is_held(&self) -> bool {
        matches!(self.stand, Stand::Held(_))
    }

    /// How long its data had been sent by `at`, which is not before the last began.
    fn own_by(&self, at: Instant) -> u64 {
        self.own - if self.own_end > at { self.own_end.since(at).0 } else { 0 }
    }

    /// How long its data were sent up to `at` since it was asked last.
    fn own_until(&mut self, at: Instant) -> u64 {
        let own = self.own_by(at);
        own - std::mem::replace(&mut self.own_seen, own)
    }
}

/// The flows asked for at one host: what is looked at whenever it sends is in one cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Sources {
    /// The first instant at which a pace that one awaits may be due; never, if none awaits any.
    pub(super) due: Instant,
    /// When the last of them started.
    pub(super) starts: Instant,
    /// One of them sends, or was the last that did.
    sends: Option<u32>,
    /// One of them may be held though no pause names it: for the sake of others, which may change with any.
    unnamed: bool,
    pub(super) of: ByFlow<Source>,
}

impl Sources {
    pub(super) const fn new() -> Sources {
        Sources { of: ByFlow::new(), due: Instant::NEVER, starts: Instant::ZERO, sends: None, unnamed: false }
    }

    /// Whether it matters to any whose turn it is.
    pub(super) fn counts(&self) -> bool {
        self.of.iter().any(|source| source.counts)
    }

    /// The host sends something else: what one of them sent has ended.
    pub(super) fn interrupt(&mut self, now: Instant) {
        let Some(flow) = self.sends.take() else { return };
        for source in self.of.of_mut(flow).filter(|source| source.own_end > now) {
            (source.own, source.own_end) = (source.own_by(now), now);
        }
    }

    /// No neighbour holds any.
    pub(super) fn release(&mut self) {
        self.of.iter_mut().for_each(|source| source.named = false);
        self.unnamed = true;
    }

    /// One starts.
    pub(super) fn push(&mut self, source: Source) {
        self.starts = self.starts.max(source.told.seen.at);
        self.of.push(source.flow, source);
    }
}

/// Which flows an event at their host may have stand otherwise, beside those whose pace has become due.
#[derive(Clone, Debug, Default)]
pub(super) struct Concern {
    /// Packets came or went, or a flow started. If nothing was heard of any flow, all may stand otherwise.
    pub(super) heard: bool,
    /// Any of what follows.
    pub(super) some: bool,
    /// Those of them that are asked for.
    flows: Vec<u32>,
    /// This queue was paused (`true`) or resumed.
    pause: Option<(QueueId, bool)>,
    /// What holds flows changed, or a timer ran.
    all: bool,
}

impl Concern {
    /// Something was heard of a flow that is asked for.
    pub(super) fn hears(&mut self, flow: u32) {
        (self.heard, self.some) = (true, true);
        self.flows.push(flow);
    }

    /// All may stand otherwise.
    pub(super) fn is_all(&mut self) {
        (self.all, self.some) = (true, true);
    }
}

impl Journeys {
    /// An event at a host is over: flows that it concerns may stand otherwise.
    #[inline(never)]
    pub(super) fn sources_settled(
        &mut self,
        now: Instant,
        host: usize,
        last: &Transmission,
        stand: &dyn Fn(u32, u32) -> Stand,
    ) {
        let Concern { heard, flows, pause, all, .. } = std::mem::take(&mut self.concern);
        let everyone = all || !heard || !self.nodes[host].steady;
        let some_due = self.sources[host].due <= now;
        if everyone || some_due || pause.is_some() || cfg!(debug_assertions) {
            for at in 0..self.sources[host].of.len() {
                let Source { flow, stand: stood, .. } = self.sources[host].of[at];
                let due = matches!(stood, Stand::Paced(due) if due <= now);
                let by_pause = pause.is_some_and(|pause| may_change(pause, stood));
                self.source_settled(now, host, at, everyone || due || by_pause || flows.contains(&flow), (last, stand));
            }
        } else {
            for flow in &flows {
                if let Some(at) = self.sources[host].of.position(*flow, |_| true) {
                    self.source_settled(now, host, at, true, (last, stand));
                }
            }
        }
        if some_due {
            let due = |source: &Source| if let Stand::Paced(due) = source.stand { due } else { Instant::NEVER };
            self.sources[host].due = self.sources[host].of.iter().map(due).min().unwrap_or(Instant::NEVER);
        }
        self.concern.flows = flows;
        self.concern.flows.clear();
    }

    /// How one stands after an event that concerned it, or did not.
    fn source_settled(
        &mut self,
        now: Instant,
        host: usize,
        at: usize,
        concerned: bool,
        (last, stand): (&Transmission, &dyn Fn(u32, u32) -> Stand),
    ) {
        if !concerned && !cfg!(debug_assertions) {
            return;
        }
        let Source { flow, slot, stand: stood, .. } = self.sources[host].of[at];
        let stands = stand(slot, flow);
        assert!(concerned || stands == stood, "flow {flow}: {stood:?}, then {stands:?}, unheard");
        if stands == stood {
            return;
        }
        self.settle_source(now, host, at);
        let sources = &mut self.sources[host];
        sources.of[at].stand = stands;
        sources.unnamed |= sources.of[at].is_held() && !sources.of[at].named;
        if let Stand::Paced(due) = stands {
            sources.due = sources.due.min(due);
        }
        self.source_counts(host, at, last);
    }

    /// Whether it matters to one whose turn it is may have changed; `last` is what the host sent last.
    fn source_counts(&mut self, host: usize, at: usize, last: &Transmission) {
        let source = &mut self.sources[host].of[at];
        let counts = !source.all_sent && matches!(source.stand, Stand::Ready | Stand::Paced(_));
        if std::mem::replace(&mut source.counts, counts) == counts {
            return;
        }
        if counts {
            self.begin(host, 0, last);
            let seen = &mut self.sources[host].of[at].told.seen;
            let from = seen.at;
            self.turns[host].show(seen, None, from);
        } else {
            self.set_counts(host, 0, self.sources[host].counts());
        }
    }

    /// What starts at a host later than `now` looks at what is sent from then on.
    #[cold]
    pub(super) fn look_again(&mut self, now: Instant, host: usize) {
        for at in 0..self.sources[host].of.len() {
            let source = &mut self.sources[host].of[at];
            let from = source.told.seen.at;
            if from > now {
                source.own_seen = source.own_by(from);
                if source.counts {
                    self.turns[host].show(&mut source.told.seen, None, from);
                }
            }
        }
    }

    /// A neighbour's frame reaches a host.
    pub(super) fn held_at_host(&mut self, now: Instant, host: usize, frame: ControlFrame) {
        if self.sources[host].of.is_empty() {
            return;
        }
        self.concern.heard = true;
        match frame.effect() {
            Effect::Set { target: Target::Flow(name), holds } if self.nodes[host].steady => {
                let asked = self.asked.has(name.flow);
                self.hears(name.flow, asked);
                if self.sources[host].unnamed {
                    self.settle_unnamed(now, host);
                }
                if asked && let Some(at) = self.sources[host].of.position(name.flow, |_| true) {
                    if self.sources[host].of[at].is_held() {
                        self.settle_source(now, host, at);
                    }
                    let Sources { of, unnamed, .. } = &mut self.sources[host];
                    of[at].named = holds;
                    *unnamed |= of[at].is_held() && !of[at].named;
                }
            }
            Effect::Set { target: Target::Queue(queue), holds } if self.nodes[host].steady => {
                (self.concern.pause, self.concern.some) = (Some((queue, holds)), true);
                if !holds {
                    for at in 0..self.sources[host].of.len() {
                        if self.sources[host].of[at].stand == Stand::Held(queue) {
                            self.settle_source(now, host, at);
                        }
                    }
                }
            }
            Effect::Set { .. } | Effect::SetQueues(_) | Effect::Limit(_) | Effect::Ask(_) => {
                self.all_concerned(now, host)
            }
        }
    }

    /// Those that are held though no pause names them.
    fn settle_unnamed(&mut self, now: Instant, host: usize) {
        let mut some = false;
        for at in 0..self.sources[host].of.len() {
            let source = &self.sources[host].of[at];
            if source.is_held() && !source.named {
                some = true;
                self.settle_source(now, host, at);
            }
        }
        self.sources[host].unnamed = some;
    }

    /// What holds flows at a host changes.
    pub(super) fn all_concerned(&mut self, now: Instant, host: usize) {
        self.concern.is_all();
        for at in 0..self.sources[host].of.len() {
            self.settle_source(now, host, at);
        }
    }

    /// A flow asked for sends.
    #[inline(never)]
    pub(super) fn source_sent(&mut self, now: Instant, host: usize, packet: Label) {
        let followed = !self.in_order || packet.last;
        let Some(at) = self.sources[host].of.position(packet.name.flow, |_| true) else { return };
        if followed || packet.last {
            self.settle_source(now, host, at);
        }
        let span = self.turns[host].ser().of_bytes(packet.wire.into());
        let Sources { of, sends, .. } = &mut self.sources[host];
        let source = &mut of[at];
        (source.own, source.own_end) = (source.own + span.0, now + span);
        *sends = Some(packet.name.flow);
        if followed {
            let journey = Journey {
                name: packet.name,
                seq: packet.seq,
                hop: 0,
                queue: packet.upstream_queue,
                seen: Seen::nothing_until(now.max(source.told.seen.at)),
                own: [0; 2],
                held: None,
                parts: source.told.parts.clone(),
            };
            self.lines[host].flying.push(packet.name.flow, journey);
        }
        if packet.last && !source.all_sent {
            source.all_sent = true;
            self.source_counts(host, at, &Transmission::NONE);
        }
    }

    /// Flows that await their pace, as their host sends: so at most one transmission goes on in what is told of them,
    /// and it is known how far it was when the pace was due.
    pub(super) fn settle_paced(&mut self, now: Instant, host: usize) {
        for at in 0..self.sources[host].of.len() {
            if matches!(self.sources[host].of[at].stand, Stand::Paced(_)) {
                self.settle_source(now, host, at);
            }
        }
    }

    /// Accounts for the time that a flow waited at its source.
    fn settle_source(&mut self, now: Instant, host: usize, at: usize) {
        let Source { flow, stand, all_sent, ref told, .. } = self.sources[host].of[at];
        let since = told.seen.at;
        if now <= since {
            return;
        }
        let waiting = |queue: QueueId, why: Why| part(flow, 0, (host, 0), queue, why);
        match stand {
            _ if all_sent => self.tell_waiting(now, host, at, waiting(0, Why::Recovery)),
            Stand::Blocked => self.tell_waiting(now, host, at, waiting(0, Why::Transport)),
            Stand::Held(queue) => {
                let sake = self.pausers.sake(host, 0, queue, flow);
                let (whose, by) = (sake.flow.and_then(|flow| self.class(flow)), self.lines[host].peer.0);
                let (by, towards) = (Some(by as u32), self.towards(by, sake));
                let paused = Wait { whose, sake: sake.flow, by, towards, ..waiting(queue, Why::Paused) };
                self.tell_waiting(now, host, at, paused);
            }
            Stand::Ready => self.tell_source(now, host, at, false),
            Stand::Paced(due) => {
                let due = due.clamp(since, now);
                self.tell_source(due, host, at, true);
                self.tell_source(now, host, at, false);
            }
        }
    }

    /// The same of a flow that waits for this, whoever sends.
    fn tell_waiting(&mut self, now: Instant, host: usize, at: usize, waits: Wait) {
        let whose = Some(self.class(waits.flow).unwrap_or(0));
        let source = &mut self.sources[host].of[at];
        let own = source.own_until(now);
        let Told { seen, parts } = &mut *source.told;
        let since = std::mem::replace(&mut seen.at, now);
        let (own, rest) = (Duration(own), Duration(now.since(since).0 - own));
        parts.add(Wait { whose, span: own, ..part(waits.flow, 0, (host, 0), waits.queue, Why::OwnPackets) });
        parts.add(Wait { span: rest, ..waits });
    }

    /// The same up to `until`, of a flow that might not send, or might.
    fn tell_source(&mut self, until: Instant, host: usize, at: usize, blocked: bool) {
        let flow = self.sources[host].of[at].flow;
        let here = |why: Why| part(flow, 0, (host, 0), 0, why);
        let own_class = self.class(flow).unwrap_or(0);
        let source = &mut self.sources[host].of[at];
        let own = [0, source.own_until(until)];
        let Told { seen, parts } = &mut *source.told;
        self.turns[host].tell(seen, None, (own, own_class), until, |turn, span| {
            let part = match turn {
                Turn::Own => Wait { whose: Some(own_class), ..here(Why::OwnPackets) },
                _ if blocked => here(Why::Transport),
                Turn::Queue(class) | Turn::Others(class) => Wait { whose: Some(class), ..here(Why::OtherFlows) },
                Turn::Frames => here(Why::AcksAndFrames),
                Turn::Idle => here(Why::Idle),
            };
            parts.add(Wait { span, ..part });
        });
    }
}

/// Whether a flow that stood so may stand otherwise after a pause or a resume of a queue.
fn may_change((queue, holds): (QueueId, bool), stood: Stand) -> bool {
    stood == if holds { Stand::Ready } else { Stand::Held(queue) }
}
