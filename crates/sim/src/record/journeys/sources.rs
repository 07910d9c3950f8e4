//! Flows at their sources: what keeps each from sending, until the packet leaves that completes it.

use crate::observe::Stand;
use crate::record::journeys::by_flow::ByFlow;
use crate::record::journeys::turns::{Seen, Turn};
use crate::record::journeys::{Journey, Journeys};
use crate::record::label::Label;
use crate::record::pausers::Sake;
use crate::record::waits::{Parts, Wait, Why, add, part};
use backwater_types::{ControlFrame, Instant, QueueId};

/// A flow at its source.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) flow: u32,
    pub(super) slot: u32,
    /// Up to when its time is accounted for.
    pub(super) seen: Seen,
    pub(super) stand: Stand,
    /// Each of its packets was sent.
    pub(super) all_sent: bool,
    pub(super) parts: Parts,
}

/// The flows asked for at one host.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    pub(super) of: ByFlow<Source>,
    /// The first instant at which a pace that one awaits may be due; never, if none awaits any.
    pub(super) due: Instant,
    /// When the last of them started.
    pub(super) starts: Instant,
}

impl Sources {
    pub(super) const fn new() -> Sources {
        Sources { of: ByFlow::new(), due: Instant::NEVER, starts: Instant::ZERO }
    }

    /// One starts.
    pub(super) fn push(&mut self, source: Source) {
        self.starts = self.starts.max(source.seen.at);
        self.of.push(source.flow, source);
    }
}

/// Which flows an event at their host may have stand otherwise, beside those whose pace has become due.
#[derive(Clone, Debug, Default)]
pub(super) struct Concern {
    /// Packets came or went, or a flow started.
    pub(super) heard: bool,
    /// Those of them that are asked for.
    flows: Vec<u32>,
    /// What holds flows of one queue changed.
    pause: Option<ControlFrame>,
    /// What holds flows changed, or a timer ran.
    pub(super) all: bool,
}

impl Concern {
    /// Something was heard of a flow.
    #[inline(always)]
    pub(super) fn hears(&mut self, flow: u32, asked: bool) {
        self.heard = true;
        if asked {
            self.flows.push(flow);
        }
    }

    /// Whether flows that are asked for may stand otherwise: any of them, if nothing was heard of any flow.
    #[inline(always)]
    pub(super) fn is_any(&self) -> bool {
        self.all || !self.heard || self.pause.is_some() || !self.flows.is_empty()
    }
}

impl Journeys {
    /// An event at a host is over: flows that it concerns may stand otherwise.
    #[inline(never)]
    pub(super) fn sources_settled(&mut self, now: Instant, host: usize, stand: &dyn Fn(u32, u32) -> Stand) {
        let Concern { heard, flows, pause, all } = std::mem::take(&mut self.concern);
        let everyone = all || !heard || !self.nodes[host].steady;
        let some_due = self.sources[host].due <= now;
        if everyone || some_due || pause.is_some() || cfg!(debug_assertions) {
            for at in 0..self.sources[host].of.len() {
                let Source { flow, stand: stood, .. } = self.sources[host].of[at];
                let due = matches!(stood, Stand::Paced(due) if due <= now);
                let by_pause = pause.is_some_and(|frame| may_hold(frame, stood));
                self.source_settled(now, host, at, everyone || due || by_pause || flows.contains(&flow), stand);
            }
        } else {
            for flow in &flows {
                if let Some(at) = self.sources[host].of.position(*flow, |_| true) {
                    self.source_settled(now, host, at, true, stand);
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
        stand: &dyn Fn(u32, u32) -> Stand,
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
        if let Stand::Paced(due) = stands {
            sources.due = sources.due.min(due);
        }
    }

    /// A neighbour's frame reaches a host.
    pub(super) fn held_at_host(&mut self, now: Instant, host: usize, frame: ControlFrame) {
        if self.sources[host].of.is_empty() {
            return;
        }
        self.concern.heard = true;
        match frame {
            ControlFrame::Pause(_) | ControlFrame::Resume(_) if self.nodes[host].steady => {
                self.concern.pause = Some(frame);
                for at in 0..self.sources[host].of.len() {
                    let stood = self.sources[host].of[at].stand;
                    if matches!(stood, Stand::Held(_)) && may_hold(frame, stood) {
                        self.settle_source(now, host, at);
                    }
                }
            }
            _ => self.all_concerned(now, host),
        }
    }

    /// What holds flows at a host changes.
    pub(super) fn all_concerned(&mut self, now: Instant, host: usize) {
        self.concern.all = true;
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
        let number = self.number(host, 0);
        let source = &mut self.sources[host].of[at];
        source.all_sent |= packet.last;
        if followed {
            let journey = Journey {
                name: packet.name,
                seq: packet.seq,
                hop: 0,
                queue: packet.upstream_queue,
                seen: Seen::nothing_until(now.max(source.seen.at)),
                held: None,
                parts: source.parts.clone(),
            };
            self.lines[number].flying.push(packet.name.flow, journey);
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
        let Source { flow, stand, seen: Seen { at: since, .. }, .. } = self.sources[host].of[at];
        if now <= since {
            return;
        }
        let held = match stand {
            Stand::Held(queue) => Some((queue, self.pausers.sake(host, 0, queue, flow))),
            _ => None,
        };
        match stand {
            Stand::Ready | Stand::Held(_) => self.tell_source(now, host, at, false, held),
            Stand::Blocked => self.tell_source(now, host, at, true, None),
            Stand::Paced(due) => {
                let due = due.clamp(since, now);
                self.tell_source(due, host, at, true, None);
                self.tell_source(now, host, at, false, None);
            }
        }
    }

    /// The same up to `until`, of a flow that might not send, that was held or neither.
    fn tell_source(&mut self, until: Instant, host: usize, at: usize, blocked: bool, held: Option<(QueueId, Sake)>) {
        let number = self.number(host, 0);
        let source = &mut self.sources[host].of[at];
        let (flow, all_sent) = (source.flow, source.all_sent);
        let (mut seen, mut parts) = (
            std::mem::replace(&mut source.seen, Seen::nothing_until(Instant::ZERO)),
            std::mem::take(&mut source.parts),
        );
        let here = |why: Why| part(flow, 0, (host, 0), held.map_or(0, |(queue, _)| queue), why);
        let by = self.lines[number].peer.0;
        let last = self.last(number);
        let (own, own_class) = (last.0.is_data_of(flow), self.class(flow).unwrap_or(0));
        self.lines[number].turns.tell(&mut seen, None, last, (own, own_class), until, |turn, span| {
            let part = match (turn, held) {
                (Turn::Own, _) => Wait { whose: Some(own_class), ..here(Why::OwnPackets) },
                _ if all_sent => here(Why::Recovery),
                _ if blocked => here(Why::Transport),
                (_, Some((_, sake))) => {
                    let (by, towards) = (Some(by as u32), self.towards(by, sake));
                    let whose = sake.flow.and_then(|flow| self.class(flow));
                    Wait { whose, sake: sake.flow, by, towards, ..here(Why::Paused) }
                }
                (Turn::Queue(class) | Turn::Others(class), _) => Wait { whose: Some(class), ..here(Why::OtherFlows) },
                (Turn::Frames, _) => here(Why::AcksAndFrames),
                (Turn::Idle, _) => here(Why::Idle),
            };
            add(&mut parts, Wait { span, ..part });
        });
        let source = &mut self.sources[host].of[at];
        (source.seen, source.parts) = (seen, parts);
    }
}

/// Whether one that stood so may stand otherwise after a pause or a resume of a queue.
fn may_hold(frame: ControlFrame, stood: Stand) -> bool {
    match frame {
        ControlFrame::Pause(_) => stood == Stand::Ready,
        ControlFrame::Resume(queue) => stood == Stand::Held(queue),
        _ => true,
    }
}
