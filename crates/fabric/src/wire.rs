//! One direction of a link.

use backwater_types::hash::Stream;
use backwater_types::{DropReason, Duration, Instant, Kind, SerTime};
use std::collections::VecDeque;

/// The sending side of one direction of a link.
#[derive(Clone, Debug)]
pub struct Wire {
    /// Serialisation time per byte.
    pub ser: SerTime,
    /// Propagation delay.
    pub delay: Duration,
    /// Receiving side.
    pub target: Target,
    /// Faults; `None` for a link without faults.
    pub faults: Option<Box<Faults>>,
}

/// The receiving side of a link.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Partition of the receiving node.
    pub partition: u16,
    /// Port of the receiving node.
    pub port: u16,
    /// Number of the receiving node within the partition.
    pub node: u32,
    /// Number of this direction of the link within the partition.
    pub link: u32,
}

/// Faults of one direction of a link.
#[derive(Clone, Debug)]
pub struct Faults {
    /// Frames with a 32-bit draw below this are lost.
    loss_below: u64,
    /// Control frames (not ACKs) with a 32-bit draw below this are lost.
    control_loss_below: u64,
    /// Intervals without service, in order of their starts. Intervals that ended before the last frame are removed.
    down: VecDeque<[Instant; 2]>,
    /// Random stream of this direction.
    rng: Stream,
}

impl Faults {
    /// Creates faults with loss rate `loss` of all frames, an additional loss rate `control_loss` of control frames,
    /// and intervals without service in any order.
    pub fn new(loss: f64, control_loss: f64, mut down: Vec<[Instant; 2]>, rng: Stream) -> Faults {
        let below = |share: f64| (share * 4_294_967_296.0) as u64;
        down.sort();
        Faults {
            loss_below: below(loss),
            control_loss_below: below(loss) + below(control_loss),
            down: down.into(),
            rng,
        }
    }

    /// Decides whether a frame sent from `start` to `arrival` is lost, and returns the reason. Called once per frame,
    /// in order of `start`.
    pub fn strike(&mut self, kind: Kind, start: Instant, arrival: Instant) -> Option<DropReason> {
        while self.down.pop_front_if(|[_, up]| *up <= start).is_some() {}
        if self.down.iter().take_while(|[down, _]| *down <= arrival).any(|[_, up]| start < *up) {
            return Some(DropReason::LinkDown);
        }
        let below = if kind == Kind::Control { self.control_loss_below } else { self.loss_below };
        (below > 0 && (self.rng.next_u32() as u64) < below).then_some(DropReason::LinkLoss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame is lost in an interval that it overlaps, whether intervals overlap one another or not.
    #[test]
    fn a_frame_is_lost_if_the_link_is_down_at_any_moment_of_its_transfer() {
        let mut draws = Stream::new(1, 2, 3);
        for _ in 0..300 {
            let mut draw = |below: u32| u64::from(draws.next_u32() % below);
            let interval = |from: u64, length: u64| [Instant(from), Instant(from + 1 + length)];
            let down: Vec<[Instant; 2]> = (0..draw(8)).map(|_| interval(draw(200), draw(40))).collect();
            let mut faults = Faults::new(0.0, 0.0, down.clone(), Stream::new(1, 2, 3));
            let mut start = 0;
            while start < 250 {
                let arrival = start + 1 + draw(10);
                let lost = down.iter().any(|[down, up]| down.0 <= arrival && start < up.0);
                let struck = faults.strike(Kind::Data, Instant(start), Instant(arrival));
                assert_eq!(struck, lost.then_some(DropReason::LinkDown), "{start} to {arrival}: {down:?}");
                start += draw(9);
            }
        }
    }
}
