//! Everything that has a name in a scenario: backpressures, transports and schemes, one line each.
//!
//! A line gives its name, its table of parameters with defaults, ranges and schema, and a place among all others in whatever goes
//! through a list of them: `backwater schemes`, the conformance tests, the benchmark. Which assignments a backpressure goes with is
//! said in [`planes`](crate::planes), a line for each product.

use crate::any_control::{any_carried, any_control, of_each};
use crate::conventions::AckClass;
use crate::host::{ExtensionVisitor, LossRecovery, Of, Stated, Visitor, transports};
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
    /// Not at all.
    None => nothing
    /// Priority flow control, per ingress port.
    Pfc {
        /// Used when `backpressure = "pfc"`.
        pfc: PfcParams
    }
    /// Per upstream queue, with pause counters (spec A.3 to A.5).
    Bfc {
        /// Used when `assignment = "dynamic"` or `"homa-dynamic"`, or `backpressure = "bfc"`.
        bfc: BfcParams
    }
    /// Per flow by name, those with more than their share of a long queue (spec F).
    Flowsail {
        /// Used when `assignment = "flowsail"`; `ql`, `hrtt`, `refresh` and `nic_obeys` also when `backpressure = "per-flow"`.
        flowsail: FlowSailParams
    }
    /// Per flow by name, those whose queue is long: ideal flow control with a queue for each flow (spec D), BFC by flow id with
    /// assignment `dynamic` (spec B.2).
    PerFlow => by_flow
}

transports! {
    controls {
        /// None: as fast as the NIC and backpressure let it.
        LineRate
        /// A fixed window.
        Window
        /// Rate-based DCTCP (baselines 1.1).
        Dctcp { dctcp }
        /// DCQCN, in either published form (baselines 2).
        Dcqcn { dcqcn }
    }
    carrying {
        /// HPCC: rates from what switches write into packets (baselines 4).
        Hpcc { hpcc }
        /// TIMELY: rates from how long round trips are and how they change (baselines 3).
        Timely { timely }
        /// A window that keeps round trips at a target: end-to-end control on top of BFC (spec B, algorithm 1).
        Rtt { rtt }
        /// Swift: a window that keeps round trips below a target that follows hops and window (baselines 5).
        Swift { swift }
        /// HPCC from one number that switches write into packets: how much of the most used link is (PINT).
        Pint { pint }
    }
    others {
        /// TCP with SACK, and what [`TcpParams`] says of marks: DCTCP and ECN* among them (baselines 1.2 and 1.3).
        Tcp { tcp: TcpParams }
        /// ExpressPass: packets for credits, which receivers send and ports limit (baselines 6).
        Expresspass { expresspass: ExpressPassParams, carries ExpressPassHeader }
        /// Homa: receivers grant to the messages with the least left, and choose priorities (baselines 7).
        Homa { homa: HomaParams, carries HomaHeader }
        /// Shortest remaining flow first: a window or none, a NIC that sends the flow with the least left, and packets that say what
        /// that is (spec B and D).
        Srf { srf: SrfParams, carries Left }
    }
}

impl Host {
    /// The transport that its flows run: its own, but line rate with a cap on bytes in flight is a window.
    pub fn paced(&self) -> Transport {
        match (self.transport, self.window) {
            (Transport::LineRate, Some(Window::Size(_))) => Transport::Window,
            (transport, _) => transport,
        }
    }

    /// What a flow alone takes beyond store and forward, on a path its window covers, as its transport states.
    pub fn startup(&self, path: &IdlePath) -> Duration {
        self.stated().1.startup(self, path)
    }

    /// The first packets of a flow are not sent back to back, as its control states.
    pub fn starts_paced(&self) -> bool {
        self.stated().1.starts_paced()
    }

    /// How long its flows take to have back what they gave up, as their control states; zero: a few round trips.
    pub fn recovery(&self, site: Site) -> Duration {
        self.stated().1.recovery(site)
    }

    /// Share of an idle path that a flow alone takes in the long run, as its control states.
    pub fn share(&self) -> f64 {
        self.stated().1.share(self)
    }

    /// The lowest rate that its control goes to, and the table that has it.
    pub fn min_rate(&self) -> Option<(&'static str, BitsPerSec)> {
        let (table, stated) = self.stated();
        stated.min_rate().map(|rate| (table, rate))
    }

    /// Its control asks for base round trips.
    pub fn asks_base_rtt(&self) -> bool {
        self.stated().1.asks_base_rtt()
    }

    /// Flows that meet share what they meet at, as their transport states; else, where switches know priorities or what is left, that
    /// with the least left goes first.
    pub fn shares(&self) -> bool {
        self.stated().1.shares()
    }

    /// Each packet is answered, as their transport states; else, of what a window covers, only the last.
    pub fn answers_each(&self) -> bool {
        self.stated().1.answers_each()
    }

    /// Bytes on the wire that data packets carry beside their headers.
    pub fn carried(&self) -> Bytes {
        self.stated().1.carried()
    }

    /// Telemetry counts bytes in units as many times as large as at 25 Gb/s, where the fastest NIC has this rate.
    pub fn int_unit(&self, fastest_nic: BitsPerSec) -> u32 {
        self.hpcc.int_unit.unwrap_or((fastest_nic.0 / 25_000_000_000).max(1) as u32)
    }

    /// Headers of a data packet, and what it carries beside them.
    pub fn headers(&self) -> Bytes {
        Bytes(self.header.0 + self.carried().0)
    }

    /// The smallest data packet on the wire: one byte of payload, or none where TCP opens connections.
    pub fn smallest_packet(&self) -> Bytes {
        let opens = self.transport == Transport::Tcp && self.tcp.handshake;
        Bytes(self.headers().0 + !opens as u64)
    }

    /// A full packet on the wire.
    pub fn full_packet(&self) -> Bytes {
        Bytes(self.payload.0 + self.headers().0)
    }
}

/// Schemes that ship, in the order they are listed: each a fragment of scenario of its name in `presets/`.
macro_rules! presets {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../presets/", $name, ".toml")))),*]
    };
}

/// Name and text of every scheme, in the order they are listed.
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
    "flowsail+dctcp"
    "bcc"
    "dctcp"
    "dctcp+ss"
    "dcqcn"
    "dcqcn+win"
    "dcqcn-vendor"
    "hpcc"
    "hpcc-pfc"
    "hpcc-pfc+sfq"
    "hpcc-pfc+dqa"
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
