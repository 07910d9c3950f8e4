//! Whether the lab can carry a scenario.

use backwater_scenario::model::{Scenario, Transport};
use backwater_scenario::topology::Graph;
use backwater_schemes::{Hosts, Memory, Scheduler, Ties};
use backwater_types::SerTime;

/// Largest number of hosts of a lab.
const HOSTS_MAX: usize = 512;

/// Smallest full packet: an Ethernet header and the smallest MTU of IPv4, bytes.
const SMALLEST_FULL: u64 = 14 + 68;

/// Checks that real frames can do what the scenario asks of its packets.
///
/// # Errors
/// The reason, and what to do.
pub fn check(scenario: &Scenario, hosts: usize) -> Result<(), String> {
    let carried = match scenario.host.transport {
        Transport::Callback => {
            return Err("host.transport = \"callback\": a control in Python runs in the simulator only".into());
        }
        Transport::Mine(_) => {
            return Err("host.transport: a transport of your own runs in the simulator only".into());
        }
        Transport::Hpcc => Some(("hpcc", "telemetry")),
        Transport::Pint => Some(("pint", "telemetry")),
        Transport::Expresspass => Some(("expresspass", "credits")),
        Transport::Homa => Some(("homa", "grants")),
        Transport::Srf => Some(("srf", "the bytes left of their flow")),
        // The lab's hosts have transports of their own, and the switches have no part in these.
        Transport::LineRate
        | Transport::Window
        | Transport::Dctcp
        | Transport::Dcqcn
        | Transport::Timely
        | Transport::Rtt
        | Transport::Swift
        | Transport::Tcp => None,
    };
    if let Some((name, carried)) = carried {
        return Err(format!(
            "host.transport = \"{name}\": its packets carry {carried}, for which IP packets have no room; choose a scheme whose \
             switches work alone, such as bfc, flowsail, pfc or dctcp"
        ));
    }
    let conventions = &scenario.conventions;
    if conventions.hosts == Hosts::HpccSim || conventions.memory == Memory::HpccSim || conventions.ties == Ties::Ns3 {
        return Err("compat = \"hpcc-sim\": the lab has no hosts of that simulator; leave the key out".into());
    }
    let switches = scenario.region.iter().map(|region| &region.switch).chain([&scenario.switch]);
    for switch in switches {
        if switch.scheduler == Scheduler::Srf {
            return Err("switch.scheduler = \"srf\": IP packets do not say how much is left of their flow".into());
        }
        if switch.flowsail.as_printed {
            return Err("switch.flowsail.as_printed = true: the printed pseudo-code holds packets for ever".into());
        }
        if switch.drop_notice {
            return Err("switch.drop_notice = true: hosts would not understand such a notice; leave the key out".into());
        }
    }
    let full = scenario.host.full_packet().0;
    if full < SMALLEST_FULL {
        return Err(format!(
            "host.payload and host.header: a full packet has {full} B: too short for IPv4, which needs {SMALLEST_FULL} B"
        ));
    }
    if hosts > HOSTS_MAX {
        return Err(format!("topology: {hosts} hosts; the lab has up to {HOSTS_MAX}"));
    }
    Ok(())
}

/// Checks that the lab's own programs can send the flows of the scenario.
///
/// # Errors
/// The reason, and what to do.
pub fn check_flows(scenario: &Scenario) -> Result<(), String> {
    match scenario.workload.iter().find(|workload| workload.is_closed_loop()) {
        Some(workload) => Err(format!(
            "workload {}: its flows start when others end, which the lab's sender does not learn; give programs \
             to run by --exec, or simulate it",
            workload.class()
        )),
        None => Ok(()),
    }
}

/// Describes how the lab runs a scenario's network.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Seconds of the machine for a second of the network.
    pub divisor: u32,
    /// Time of the machine that a full frame needs for the shortest hop: transmission and propagation.
    pub hop: std::time::Duration,
}

impl Pace {
    /// Slows a network down so that its fastest link has `rate` bits per second, or slightly less.
    pub fn new(scenario: &Scenario, graph: &Graph, rate: u64) -> Pace {
        let fastest = graph.links.iter().map(|link| link.rate.0).max().unwrap_or(1);
        let divisor = fastest.div_ceil(rate.max(1)).clamp(1, u32::MAX.into()) as u32;
        let full = scenario.host.full_packet().0;
        let hop =
            graph.links.iter().map(|link| link.delay.0 + SerTime::of(link.rate).of_bytes(full).0).min().unwrap_or(0);
        Pace { divisor, hop: std::time::Duration::from_nanos((u128::from(hop) * u128::from(divisor) / 1000) as u64) }
    }
}
