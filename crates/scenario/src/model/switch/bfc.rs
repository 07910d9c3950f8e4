//! Parameters of BFC.

use backwater_types::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Elide, ElideRule};

/// BFC's parameters and knobs (spec A and B).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bfc {
    /// Flow-table entries per hardware queue.
    pub table_entries_per_queue: u32,
    /// A flow idle no longer than this keeps its queue. Absent: 2 HRTT.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sticky: Option<Duration>,
    /// Round trip to a neighbour that sets the pause threshold. Absent: twice the largest propagation delay of the switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hrtt: Option<Duration>,
    /// A fixed pause threshold instead of HRTT x rate / active queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed_threshold: Option<Bytes>,
    /// Use each ingress port's own HRTT instead of the largest (BFC-A12).
    pub per_ingress_threshold: bool,
    /// Period of the bitmap that repairs lost frames.
    pub refresh: Duration,
    /// The control queue comes on top of `queues` (BFC-A5).
    pub extra_control_queue: bool,
    /// Look for an empty queue without regard to whether it is paused (BFC-A9).
    pub literal_empty: bool,
    /// An empty queue that a flow may return to is not given to others within the sticky time (BFC-A8).
    pub sticky_reserve: bool,
    /// Share of packets that take part in bookkeeping, 0 to 1 (spec B, sampling).
    pub sampling: f64,
    /// A flow's last packet counts towards a pause, as in the printed pseudo-code (BFC-A29).
    pub count_last: bool,
    /// Labelled incast flows of an egress share one queue (spec B, incast label).
    pub incast_label: bool,
    /// Data queues of a NIC on the switch, 1 to 128. Absent: as many as the switch has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nic_queues: Option<u16>,
    /// NICs obey PAUSE (false: BFC - NIC, which wants a window at the host).
    pub nic_obeys: bool,
    /// Turns on which no backpressure is sent (spec C.1).
    pub elide: Elide,
}

impl Default for Bfc {
    fn default() -> Bfc {
        Bfc {
            table_entries_per_queue: 100,
            sticky: None,
            hrtt: None,
            fixed_threshold: None,
            per_ingress_threshold: false,
            refresh: Duration::from_us(10),
            extra_control_queue: false,
            literal_empty: false,
            sticky_reserve: false,
            sampling: 1.0,
            count_last: false,
            incast_label: false,
            nic_queues: None,
            nic_obeys: true,
            elide: Elide::Rule(ElideRule::None),
        }
    }
}
