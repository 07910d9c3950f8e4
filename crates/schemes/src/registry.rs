//! Everything that has a name in a scenario: backpressures, transports and schemes, one line each.
//!
//! A line gives a name, a table of parameters with defaults, ranges and schema, and a place in every list:
//! `backwater list schemes`, the conformance tests, the benchmark. [`planes`](crate::planes) lists which assignments go with
//! a backpressure, a line for each product.

use crate::any_control::{any_carried, any_control, of_each};
use crate::conventions::AckClass;
use crate::host::{ExtensionVisitor, LossRecovery, Of, Stated, Visitor, transports};
use crate::mine::{self, Mine, MineTables};
use crate::pausing::{by_flow, nothing};
use crate::switch::{Assignment, LoadBalancing, Scheduler, WhenPaused, backpressures};
use crate::window::Window;
use backwater_dataplane::{
    BfcParams, BufferSize, Ecn, FlowSailParams, Mmu, NotEct, Pauses, Pausing, PfcParams, PoolEcn,
};
use backwater_transport as control;
use backwater_transport::{
    Ack, Control, ExpressPassHeader, ExpressPassParams, HomaHeader, HomaParams, IdlePath, Left, Loss, SelectiveParams,
    SendTimes, Site, SrfParams, TcpParams, Times,
};
use backwater_types::{BitsPerSec, Bytes, Duration, Extension, Instant, LibraryRand, LinkShape, OutOfRange, Ranges};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::any::TypeId;

backpressures! {
    /// No backpressure.
    None => nothing
    /// PFC: pauses per ingress port.
    Pfc {
        /// Used when `backpressure = "pfc"`.
        pfc: PfcParams
    }
    /// BFC: pauses per upstream queue, with pause counters (spec A.3 to A.5).
    Bfc {
        /// Used when `assignment = "dynamic"` or `"homa-dynamic"`, or `backpressure = "bfc"`.
        bfc: BfcParams
    }
    /// FlowSail: pauses of flows that have more than their share of a long queue (spec F).
    Flowsail {
        /// Used when `assignment = "flowsail"`; `ql`, `hrtt`, `refresh` and `nic_obeys` also when `backpressure =
        /// "per-flow"`.
        flowsail: FlowSailParams
    }
    /// Pauses of each flow whose queue is long: ideal flow control with a queue per flow (spec D), BFC by flow id with
    /// assignment `dynamic` (spec B.2).
    PerFlow => by_flow
}

transports! {
    controls {
        /// No control: flows send as fast as the NIC and backpressure allow.
        LineRate
        /// A fixed window.
        Window
        /// Rate-based DCTCP (baselines 1.1).
        Dctcp { dctcp }
        /// DCQCN, in either published form (baselines 2).
        Dcqcn { dcqcn }
    }
    carrying {
        /// HPCC: rates from the telemetry (INT) that switches write into packets (baselines 4).
        Hpcc { hpcc }
        /// TIMELY: rates from round-trip times and their gradient (baselines 3).
        Timely { timely }
        /// A window that keeps round trips at a target: end-to-end control on top of BFC (spec B, algorithm 1).
        Rtt { rtt }
        /// Swift: a window that keeps round trips below a target that follows hops and window (baselines 5).
        Swift { swift }
        /// PINT: HPCC by one number that switches write into packets, the utilization of the most used link.
        Pint { pint }
        /// Control by a class in Python, which is called once per round trip or per some ACKs. It runs from Python only.
        Callback { callback, unless "control::CallbackParams::is_default" }
    }
    others {
        /// TCP with SACK. [`TcpParams`] says how it reacts to marks, as DCTCP or ECN* for example (baselines 1.2 and
        /// 1.3).
        Tcp { tcp: TcpParams }
        /// ExpressPass: a packet for each credit. Receivers send credits, and ports limit their rate (baselines 6).
        Expresspass { expresspass: ExpressPassParams, carries ExpressPassHeader }
        /// Homa: receivers grant to the messages with the fewest bytes left, and choose priorities (baselines 7).
        Homa { homa: HomaParams, carries HomaHeader }
        /// Shortest remaining flow first: the NIC sends the flow with the fewest bytes left, and packets carry that
        /// number. With or without a window (spec B and D).
        Srf { srf: SrfParams, carries Left }
    }
}

impl Host {
    /// Completes the table of a transport of the user's own, and drops those of others.
    pub fn settle(&mut self) {
        let used = match self.transport {
            Transport::Mine(mine) => Some(mine),
            _ => None,
        };
        self.mine.settle(used);
    }

    /// Transport of the flows. `line-rate` with a cap on bytes in flight is `window`.
    pub fn paced(&self) -> Transport {
        match (self.transport, self.window) {
            (Transport::LineRate, Some(Window::Size(_))) => Transport::Window,
            (transport, _) => transport,
        }
    }

    /// Time that a flow alone takes beyond store and forward, on a path that its window covers.
    pub fn startup(&self, path: &IdlePath) -> Duration {
        self.stated().1.startup(self, path)
    }

    /// Whether the first packets of a flow are spaced.
    pub fn starts_paced(&self) -> bool {
        self.stated().1.starts_paced()
    }

    /// Upper bound of the time that two flows take to fill a port after both cut their rates too far. Zero: a few round
    /// trips.
    pub fn recovery(&self, site: Site) -> Duration {
        self.stated().1.recovery(site)
    }

    /// Share of an idle path that a flow alone takes in the long run.
    pub fn share(&self) -> f64 {
        self.stated().1.share(self)
    }

    /// Lowest rate of the control, and the table that has it.
    pub fn min_rate(&self) -> Option<(&'static str, BitsPerSec)> {
        let (table, stated) = self.stated();
        stated.min_rate().map(|rate| (table, rate))
    }

    /// Whether the control reads base round-trip times.
    pub fn asks_base_rtt(&self) -> bool {
        self.stated().1.asks_base_rtt()
    }

    /// Whether flows that meet at a port share its rate. If not, the flow with the fewest bytes left goes first where
    /// switches know priorities or remaining sizes.
    pub fn shares(&self) -> bool {
        self.stated().1.shares()
    }

    /// Whether the receiver answers each packet. If not, it answers only the last packet of a window.
    pub fn answers_each(&self) -> bool {
        self.stated().1.answers_each()
    }

    /// Wire bytes of the metadata on each data packet.
    pub fn carried(&self) -> Bytes {
        self.stated().1.carried()
    }

    /// Unit of telemetry's byte counts, in multiples of the unit at 25 Gb/s, where `fastest_nic` is the rate of the
    /// fastest NIC.
    pub fn int_unit(&self, fastest_nic: BitsPerSec) -> u32 {
        self.hpcc.int_unit.unwrap_or((fastest_nic.0 / 25_000_000_000).max(1) as u32)
    }

    /// Bytes of a data packet's headers and metadata.
    pub fn headers(&self) -> Bytes {
        Bytes(self.header.0 + self.carried().0)
    }

    /// Wire size of the smallest data packet: one byte of payload, or none where TCP opens connections.
    pub fn smallest_packet(&self) -> Bytes {
        let opens = self.transport == Transport::Tcp && self.tcp.handshake;
        Bytes(self.headers().0 + !opens as u64)
    }

    /// Wire size of a full packet.
    pub fn full_packet(&self) -> Bytes {
        Bytes(self.payload.0 + self.headers().0)
    }
}

/// Schemes that ship, in the order of lists. Each is a fragment of a scenario in `presets/` with its name.
macro_rules! presets {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../presets/", $name, ".toml")))),*]
    };
}

/// Former names of schemes, which scenarios may still use, and the present ones. "hpcc-pfc" was read as HPCC with PFC.
pub const FORMER_NAMES: &[(&str, &str)] =
    &[("hpcc-pfc", "hpcc-nopfc"), ("hpcc-pfc+sfq", "hpcc-nopfc+sfq"), ("hpcc-pfc+dqa", "hpcc-nopfc+dqa")];

/// Name and text of every scheme, in the order of lists: those of the registry, and those of the user's own.
pub fn all_presets() -> impl Iterator<Item = (&'static str, &'static str)> {
    PRESETS.iter().chain(mine::presets()).copied()
}

/// Name and text of every scheme of the registry.
pub const PRESETS: &[(&str, &str)] = presets! {
    "bfc"
    "bfc-flow-id"
    "bfc-stochastic"
    "bfc-single"
    "bfc-srf"
    "bfc-credit"
    "bfc-tofino2"
    "bfc+cc"
    "flowsail"
    "flowsail-drain"
    "flowsail-drain4"
    "flowsail+dctcp"
    "bcc"
    "dctcp"
    "dctcp+ss"
    "dcqcn"
    "dcqcn+win"
    "dcqcn-vendor"
    "hpcc"
    "hpcc-nopfc"
    "hpcc-nopfc+sfq"
    "hpcc-nopfc+dqa"
    "hpcc-pint"
    "timely"
    "timely+win"
    "swift"
    "irn"
    "irn+dcqcn"
    "expresspass"
    "homa"
    "homa-ecmp"
    "homa+dqa"
    "dctcp-tcp"
    "ecn-star-tcp"
    "ideal-fc"
    "ideal-fq"
    "ideal-srf"
    "dqa"
    "pfc"
    "fifo-window"
    "fifo"
};
