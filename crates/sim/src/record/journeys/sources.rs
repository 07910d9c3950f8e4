//! Flows at their sources: what keeps each from sending, until the packet leaves that completes it.

use crate::observe::Stand;
use crate::record::journeys::turns::{Seen, Turn};
use crate::record::journeys::{Journey, Journeys};
use crate::record::pausers::Sake;
use crate::record::waits::{Parts, Wait, Why, add, part};
use backwater_types::{Instant, Packet, QueueId, flags};

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

/// Which flows an event at their host may have stand otherwise, beside those whose pace has become due.
#[derive(Clone, Debug, Default)]
pub(super) struct Concern {
    /// Those of packets that came or went.
    pub(super) flows: Vec<u32>,
    /// A timer ran, or what holds flows changed.
    pub(super) all: bool,
}

impl Journeys {
    /// An event at a host is over: flows that it concerns may stand otherwise.
    #[inline(never)]
    pub(super) fn sources_settled(&mut self, now: Instant, host: usize, stand: &dyn Fn(u32, u32) -> Stand) {
        let Concern { flows, all } = std::mem::take(&mut self.concern);
        for at in 0..self.sources[host].len() {
            let Source { flow, slot, stand: stood, .. } = self.sources[host][at];
            let due = matches!(stood, Stand::Paced(due) if due <= now);
            let concerned = due || all || flows.is_empty() || flows.contains(&flow) || !self.nodes[host].steady;
            if !concerned && !cfg!(debug_assertions) {
                continue;
            }
            let stands = stand(slot, flow);
            assert!(concerned || stands == stood, "flow {flow}: {stood:?}, then {stands:?}, unheard");
            if concerned && stands != stood {
                self.settle_source(now, host, at);
                self.sources[host][at].stand = stands;
            }
        }
        self.concern.flows = flows;
        self.concern.flows.clear();
    }

    /// What holds flows at a host changes.
    pub(super) fn all_concerned(&mut self, now: Instant, host: usize) {
        self.concern.all = true;
        for at in 0..self.sources[host].len() {
            self.settle_source(now, host, at);
        }
    }

    /// A flow asked for sends.
    #[inline(never)]
    pub(super) fn source_sent(&mut self, now: Instant, host: usize, packet: &Packet) {
        let followed = self.is_followed(packet);
        let Some(at) = self.sources[host].iter().position(|source| source.flow == packet.flow) else { return };
        if followed || packet.has(flags::LAST) {
            self.settle_source(now, host, at);
        }
        let number = self.number(host, 0);
        let source = &mut self.sources[host][at];
        source.all_sent |= packet.has(flags::LAST);
        if followed {
            self.lines[number].flying.push(Journey {
                name: packet.flow_name(),
                seq: packet.seq,
                hop: 0,
                queue: packet.upstream_queue,
                seen: Seen::nothing_until(now.max(source.seen.at)),
                held: None,
                parts: source.parts.clone(),
            });
        }
    }

    /// Flows that await their pace, as their host sends: so at most one transmission goes on in what is told of them,
    /// and it is known how far it was when the pace was due.
    pub(super) fn settle_paced(&mut self, now: Instant, host: usize) {
        for at in 0..self.sources[host].len() {
            if matches!(self.sources[host][at].stand, Stand::Paced(_)) {
                self.settle_source(now, host, at);
            }
        }
    }

    /// Accounts for the time that a flow waited at its source.
    fn settle_source(&mut self, now: Instant, host: usize, at: usize) {
        let Source { flow, stand, seen: Seen { at: since, .. }, .. } = self.sources[host][at];
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
        let source = &mut self.sources[host][at];
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
        let source = &mut self.sources[host][at];
        (source.seen, source.parts) = (seen, parts);
    }
}
