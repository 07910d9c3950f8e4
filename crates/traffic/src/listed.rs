//! Flows listed before the run: long-lived flows and flow lists.

use crate::flow::{Arrival, ENDLESS};
use crate::hosts::{Hosts, numbers};
use crate::process::Process;
use backwater_scenario::flow_list::{self, Row};
use backwater_scenario::model::{BACKGROUND_PORT, Workload};
use backwater_scenario::topology::Graph;
use backwater_types::Instant;

/// Listed flows in order of arrival.
#[derive(Clone, Debug)]
pub struct Listed(std::vec::IntoIter<Arrival>);

impl Listed {
    /// Lists the flows of a long-lived workload.
    pub fn long_lived(workload: &Workload, graph: &Graph) -> Listed {
        let Workload::LongLived { count, from, to, size, start, stagger, .. } = workload else {
            unreachable!("built from a long-lived workload")
        };
        let to = Hosts::named(graph, to).list;
        let from = match from.is_empty() {
            true => (0..graph.hosts as u16).filter(|h| !to.contains(h)).collect(),
            false => Hosts::named(graph, from).list,
        };
        let flow = |i: usize| Arrival {
            at: Instant(start.0 + stagger.0 * i as u64),
            src: from[i % from.len()],
            dst: to[i % to.len()],
            size: size.map_or(ENDLESS, |s| s.0),
            port: BACKGROUND_PORT,
            priority: None,
            own: None,
        };
        Listed((0..*count as usize).map(flow).collect::<Vec<_>>().into_iter())
    }

    /// Lists the flows of a flow-list workload.
    pub fn flow_list(workload: &Workload, graph: &Graph) -> Listed {
        let Workload::FlowList { rows, flows, .. } = workload else { unreachable!("built from a flow list") };
        let hosts = numbers(graph);
        let flow = |row: Row| Arrival {
            at: Instant(row.start.0),
            src: hosts[row.src],
            dst: hosts[row.dst],
            size: row.bytes.0,
            port: row.port,
            priority: row.priority,
            own: None,
        };
        let listed = flows.iter().map(|listed| flow(Row::of(0, listed)));
        let mut flows: Vec<Arrival> = match rows.is_empty() {
            true => listed.collect(),
            false => {
                let rows = flow_list::parse(rows, "").expect("scenario checked: lists of flows are well-formed");
                rows.into_iter().map(flow).collect()
            }
        };
        flows.sort_by_key(|f| f.at);
        Listed(flows.into_iter())
    }
}

impl Process for Listed {
    fn next(&mut self) -> Option<Arrival> {
        self.0.next()
    }
}
