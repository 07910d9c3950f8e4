//! Loss of frames on links by the error models of HPCC's simulator.
//!
//! Each link with an individual error rate has one error model for both directions. All other links share one error
//! model. A model draws for every frame that arrives, including pause frames, unless the link is down. Every model
//! draws from its own copy of stream 2^63 + 50, from the start.

use backwater_dataplane::{Ns3Stream, Ns3Streams};
use backwater_scenario::model::Fault;
use backwater_types::PortId;

/// Number of the random stream of every error model.
const STREAM: u64 = (1 << 63) + 50;

/// Error models of a network.
#[derive(Debug)]
pub struct Errors {
    /// Loss rate and random stream of each model.
    models: Vec<(f64, Ns3Stream)>,
    /// `[node][port]`: index of the model; [`NONE`] for links without loss.
    of: Vec<Vec<u32>>,
}

/// Index for links without loss.
const NONE: u32 = u32::MAX;

impl Errors {
    /// Creates the models of a network. `ports` has the link of each port, `[node][port]`, and `fault` returns the
    /// fault of a link. `None` if no link loses frames.
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
