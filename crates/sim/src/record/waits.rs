//! Parts of a flow's completion time.

pub use backwater_measure::records::waits::{Wait, Why};
use backwater_types::{Duration, PortId, QueueId};

/// Parts of one flow so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    list: Vec<Wait>,
    /// `[why][whose modulo 2]`: place in `list` of the newest such part.
    latest: [[u8; 2]; Why::ALL.len()],
}

impl Parts {
    /// Adds a part. It joins the newest part of its kind if that is of the same place and cause; other equal parts
    /// become one when the list is full, and at the end.
    pub(super) fn add(&mut self, part: Wait) {
        if part.span == Duration::ZERO {
            return;
        }
        let latest = &mut self.latest[part.why as usize][usize::from(part.whose.unwrap_or(0) % 2)];
        match self.list.get_mut(usize::from(*latest)) {
            Some(other) if key(other) == key(&part) => other.span = other.span + part.span,
            _ => {
                if self.list.len() == self.list.capacity() {
                    make_room(&mut self.list);
                }
                *latest = self.list.len().min(u8::MAX.into()) as u8;
                self.list.push(part);
            }
        }
    }

    /// All parts from the source on, equal ones as one.
    pub(super) fn into_waits(mut self) -> Vec<Wait> {
        merge(&mut self.list);
        self.list
    }
}

/// Merges equal parts of a full list, and reserves room for more.
#[inline(never)]
fn make_room(parts: &mut Vec<Wait>) {
    merge(parts);
    parts.reserve(parts.len() + 4);
}

/// Sorts parts, and makes equal ones one.
fn merge(parts: &mut Vec<Wait>) {
    parts.sort_unstable_by_key(key);
    parts.dedup_by(|other, first| {
        let same = key(other) == key(first);
        first.span = if same { first.span + other.span } else { first.span };
        same
    });
}

/// Sort key of a part in tables: parts of one key are one.
#[inline(always)]
fn key(part: &Wait) -> impl Ord + use<> {
    let Wait { flow: _, hop, node, port, queue, why, whose, sake, by, towards, span: _ } = *part;
    (hop, why as u8, sake, whose, by, towards, node, port, queue)
}

/// Part of no length at a place.
pub(super) fn part(flow: u32, hop: u8, (node, port): (usize, PortId), queue: QueueId, why: Why) -> Wait {
    let (whose, sake, by, towards) = (None, None, None, None);
    Wait { flow, hop, node: node as u32, port, queue, why, whose, sake, by, towards, span: Duration::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_once_from_the_source_on() {
        let (mut parts, mut spans) = (Parts::default(), std::collections::BTreeMap::new());
        let whys = [Why::OwnPackets, Why::Queue, Why::Paused];
        for i in 0..10_000u32 {
            let (hop, why) = ((i / 4000) as u8, whys[i as usize % 3]);
            let sake = (why == Why::Paused).then_some(i * i % 40);
            let whose = Some((i % 5) as u8);
            parts.add(Wait { sake, whose, span: Duration(i.into()), ..part(7, hop, (hop.into(), 1), 2, why) });
            *spans.entry((hop, why as u8, sake, whose)).or_insert(0) += u64::from(i);
        }
        assert!(parts.list.len() <= 2 * spans.len(), "{} of {}", parts.list.len(), spans.len());
        let waits = parts.into_waits();
        let told = waits.iter().map(|wait| ((wait.hop, wait.why as u8, wait.sake, wait.whose), wait.span.0));
        assert!(told.eq(spans), "{waits:?}");
    }
}
