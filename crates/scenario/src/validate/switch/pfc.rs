//! PFC: headroom and reserve of the ports whose neighbours are paused by PFC fit into the buffer.

use backwater_dataplane::hpcc_memory;
use backwater_schemes::build::headroom;
use backwater_types::Bytes;

use super::Part;
use crate::error::Error;
use crate::model::{Backpressure, BufferSize, Memory};

pub(super) fn check(part: &Part) -> Result<(), Error> {
    let (doc, switch, graph) = (part.doc, part.switch, &part.net.graph);
    let pfc = &switch.pfc;
    // Those that it pauses by PFC: all neighbours, or beside another backpressure those that obey nothing finer.
    let paused = |peer: usize| {
        let paused = match peer >= graph.hosts {
            true => switch.pauses(doc.scenario.switch_at(&graph.nodes[peer].name)),
            false => switch.pauses_hosts(),
        };
        paused.by == Backpressure::Pfc
    };
    let (mut set_aside, mut pauses) = (vec![0u64; graph.nodes.len()], vec![false; graph.nodes.len()]);
    for link in &graph.links {
        let room = pfc.headroom.unwrap_or_else(|| match doc.scenario.conventions.memory {
            Memory::Exact => headroom(&doc.scenario.host, &doc.scenario.conventions, link.rate, link.delay),
            Memory::HpccSim => Bytes(hpcc_memory::headroom(link.delay, link.rate)),
        });
        for (end, peer) in [(link.a, link.b), (link.b, link.a)].into_iter().filter(|(end, _)| part.here[*end]) {
            let room = if paused(peer) { room.0 } else { 0 };
            set_aside[end] = set_aside[end].saturating_add(room).saturating_add(pfc.reserve.0);
            pauses[end] |= paused(peer);
        }
    }
    for ((node, bytes), _) in graph.nodes.iter().zip(set_aside).zip(pauses).filter(|(_, pauses)| *pauses) {
        let speaks_it = switch.backpressure == Backpressure::Pfc || !switch.flowsail.as_printed;
        part.need(speaks_it, "flowsail.as_printed", || {
            format!(
                "{} has neighbours that use PFC, which the pseudo-code as printed does not know; expected false",
                node.name
            )
        })?;
        let BufferSize::Shared(buffer) = switch.buffer else {
            let by = if switch.backpressure == Backpressure::Pfc {
                "backpressure = \"pfc\""
            } else {
                "neighbours that use PFC"
            };
            let problem = format!(
                "not with {by}, which pauses at a share of the free buffer; expected a size, such as \"12 MB\""
            );
            return Err(part.wrong("buffer", problem));
        };
        let field = if pfc.headroom.is_some() { "pfc.headroom" } else { "buffer" };
        part.need(bytes < buffer.0, field, || {
            format!(
                "headroom and reserve of all ports of {} add up to {}: expected less than {}.buffer = {buffer}",
                node.name,
                Bytes(bytes),
                part.key
            )
        })?;
    }
    Ok(())
}
