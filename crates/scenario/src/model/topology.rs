//! Hosts, switches and links.

use backwater_types::{BitsPerSec, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hosts, switches and links. Nodes are named `host0`, `leaf0`, `spine0`, `switch0`, ... or as in the graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Topology {
    /// Two tiers, every leaf linked once to every spine.
    LeafSpine {
        /// Top-of-rack switches.
        leaves: u16,
        /// Spine switches.
        spines: u16,
        /// Hosts under each leaf.
        hosts_per_leaf: u16,
        /// Rate of host links.
        host_rate: BitsPerSec,
        /// Rate of leaf-spine links.
        core_rate: BitsPerSec,
        /// Propagation delay of host links.
        host_delay: Duration,
        /// Propagation delay of leaf-spine links.
        core_delay: Duration,
    },
    /// Three tiers in pods. Every ToR is linked once to every aggregation switch of its pod. There are as many groups of
    /// cores as a pod has aggregation switches. Aggregation switch `j` of each pod is linked once to every core of group
    /// `j`.
    FatTree {
        /// Pods.
        pods: u16,
        /// Top-of-rack switches of a pod.
        tors_per_pod: u16,
        /// Aggregation switches of a pod.
        aggs_per_pod: u16,
        /// Core switches; a multiple of `aggs_per_pod`.
        cores: u16,
        /// Hosts under each ToR.
        hosts_per_tor: u16,
        /// Rate of host links.
        host_rate: BitsPerSec,
        /// Rate of links between switches.
        core_rate: BitsPerSec,
        /// Propagation delay of host links.
        host_delay: Duration,
        /// Propagation delay of links between switches.
        core_delay: Duration,
    },
    /// Two data centers, each two tiers with every leaf linked once to every spine, and a gateway linked once to every
    /// spine; the gateways are joined. The nodes of the first come before those of the second, kind by kind.
    TwoClos {
        /// Top-of-rack switches of a data center.
        leaves: u16,
        /// Spine switches of a data center.
        spines: u16,
        /// Hosts under each leaf.
        hosts_per_leaf: u16,
        /// Rate of host links.
        host_rate: BitsPerSec,
        /// Rate of leaf-spine and of spine-gateway links.
        core_rate: BitsPerSec,
        /// Propagation delay of host links.
        host_delay: Duration,
        /// Propagation delay of leaf-spine and of spine-gateway links.
        core_delay: Duration,
        /// Rate of the link between the gateways.
        wan_rate: BitsPerSec,
        /// Propagation delay of the link between the gateways.
        wan_delay: Duration,
    },
    /// One switch.
    SingleSwitch {
        /// Hosts of the switch.
        hosts: u16,
        /// Rate of each link.
        rate: BitsPerSec,
        /// Propagation delay of each link.
        delay: Duration,
    },
    /// Two switches joined by one link; hosts `0..left` on the first, the rest on the second.
    Dumbbell {
        /// Hosts on the first switch.
        left: u16,
        /// Hosts on the second switch.
        right: u16,
        /// Rate of host links.
        rate: BitsPerSec,
        /// Propagation delay of host links.
        delay: Duration,
        /// Rate of the joining link.
        bottleneck_rate: BitsPerSec,
        /// Propagation delay of the joining link.
        bottleneck_delay: Duration,
    },
    /// Switches in a row, each with its hosts.
    Chain {
        /// Switches.
        switches: u16,
        /// Hosts on each switch.
        hosts_per_switch: u16,
        /// Rate of every link.
        rate: BitsPerSec,
        /// Propagation delay of every link.
        delay: Duration,
    },
    /// Any graph. Every host has exactly one link.
    Graph {
        /// Host names.
        hosts: Vec<String>,
        /// Switch names.
        switches: Vec<String>,
        /// Links, each in both directions.
        links: Vec<GraphLink>,
        /// Numbers of the hosts, then of the switches, in files of other simulators. Empty: 0, 1, ... in this order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ids: Vec<u16>,
    },
}

/// A link of a [`Topology::Graph`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphLink {
    /// The two nodes of the link.
    pub ends: [String; 2],
    /// Rate of each direction.
    pub rate: BitsPerSec,
    /// Propagation delay.
    pub delay: Duration,
}
