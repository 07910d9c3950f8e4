//! Frames that are lost on links, by the draws of HPCC's simulator.
//!
//! Each link with an error rate of its own has an error model of its own, for both directions; all others share one. A model draws for
//! every frame that arrives, pause frames too, but not where the link is down. All draw from stream 2^63 + 50, each from its start.

use backwater_dataplane::{Ns3Stream, Ns3Streams};
use backwater_scenario::model::Fault;
use backwater_types::PortId;

const STREAM: u64 = (1 << 63) + 50;

/// The error models of a network.
#[derive(Debug)]
pub struct Errors {
    models: Vec<(f64, Ns3Stream)>,
    /// `[node][port]`: which of them; [`NONE`] of links that lose nothing.
    of: Vec<Vec<u32>>,
}

const NONE: u32 = u32::MAX;

impl Errors {
    /// Of these links: `fault` says what a link does, `ports` are `[node][port]`, its link. `None`: none of them loses anything.
    pub fn new<'a>(ports: &[Vec<usize>], fault: impl Fn(usize) -> Option<&'a Fault>) -> Option<Errors> {
        let links = ports.iter().flatten().max().map_or(0, |link| link + 1);
        let (mut models, mut common) = (Vec::new(), None);
        let stream = Ns3Streams::after(0).numbered(STREAM);
        let mut add = |share: f64| {
            models.push((share, stream.clone()));
            models.len() as u32 - 1
        };
        let of_link: Vec<u32> = (0..links)
            .map(|link| match fault(link) {
                Some(fault) if fault.loss > 0.0 && fault.common => *common.get_or_insert_with(|| add(fault.loss)),
                Some(fault) if fault.loss > 0.0 => add(fault.loss),
                _ => NONE,
            })
            .collect();
        let of = ports.iter().map(|links| links.iter().map(|link| of_link[*link]).collect()).collect();
        (!models.is_empty()).then_some(Errors { models, of })
    }

    /// Whether the frame that arrives at a port is lost.
    #[inline]
    pub fn strike(&mut self, node: usize, port: PortId) -> bool {
        let model = self.of[node][port as usize];
        if model == NONE {
            return false;
        }
        let (share, stream) = &mut self.models[model as usize];
        stream.draw() < *share
    }
}
