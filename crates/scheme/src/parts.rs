//! Parts by the names that scenarios have for them: those that a scheme of your own can be combined with, and your own.
//!
//! Implement the trait of your part. Its parameters are taken from the table `mine.NAME` unless you say otherwise.

pub use backwater_dataplane::{Bfc, ByClass, Dynamic, NoBackpressure, PerFlow, Pfc, SingleFifo, Stochastic};
pub use backwater_transport::{Dcqcn, Dctcp, Hpcc, LineRate, Swift, Timely, Window};

use backwater_dataplane::queues::Queues;
use backwater_dataplane::queues::by_number::PausableByNumber;
use backwater_dataplane::{Assignment, Backpressure, BfcParams};
use backwater_nic::{Nic, Rings};
use backwater_schemes::mine::Parameters;
use backwater_schemes::{Host, Stated, Switch};
use backwater_transport::{Control, Site, Transport};

/// A congestion control with a name, for `host.transport`.
pub trait ControlPart: Control<Params: 'static> {
    /// Name in scenarios, `mine/NAME`.
    const NAME: &'static str;
    /// Its parameters in the table `[host]`.
    fn params(host: &Host) -> Self::Params {
        host.mine.named::<Self::Params>(Self::NAME).clone()
    }
}

/// A transport with a name, for `host.transport`, over a NIC with queues. Its packets carry nothing but their headers.
pub trait TransportPart: Transport<Extension = ()> {
    /// Name in scenarios, `mine/NAME`.
    const NAME: &'static str;
    /// Its table in scenarios.
    type Table: Parameters + Stated + Clone;
    /// Its NIC.
    type Nic: Nic<Self::Sender>;
    /// Parameters of its flows; `sites` are the properties of the paths that flows start at.
    fn params(table: &Self::Table, host: &Host, sites: &[Site]) -> Self::Params;
}

/// NIC that sends flows in turn from queues, which a switch may pause.
pub type Queued = Rings<()>;

/// A queue assignment with a name, for `switch.assignment`.
pub trait AssignmentPart: Assignment<Params: 'static> {
    /// Name in scenarios, `mine/NAME`.
    const NAME: &'static str;
    /// Its parameters in the table `[switch]`.
    fn params(table: &Switch) -> Self::Params {
        table.mine.named::<Self::Params>(Self::NAME).clone()
    }
}

/// A backpressure with a name, for `switch.backpressure`, over queues of type `Q`.
pub trait BackpressurePart<Q: Queues>: Backpressure<Q, Params: 'static> {
    /// Name in scenarios, `mine/NAME`.
    const NAME: &'static str;
    /// Its parameters in the table `[switch]`.
    fn params(table: &Switch) -> Self::Params {
        table.mine.named::<Self::Params>(Self::NAME).clone()
    }
}

impl ControlPart for LineRate {
    const NAME: &'static str = "line-rate";
    fn params(_: &Host) {}
}

impl ControlPart for Window {
    const NAME: &'static str = "window";
    fn params(_: &Host) -> Self::Params {
        Default::default()
    }
}

macro_rules! controls {
    ($($name:ident $word:literal $table:ident;)*) => {
        $(impl ControlPart for $name {
            const NAME: &'static str = $word;
            fn params(host: &Host) -> Self::Params {
                host.$table
            }
        })*
    };
}

controls! {
    Dctcp "dctcp" dctcp;
    Dcqcn "dcqcn" dcqcn;
    Hpcc "hpcc" hpcc;
    Timely "timely" timely;
    Swift "swift" swift;
}

impl AssignmentPart for SingleFifo {
    const NAME: &'static str = "single";
    fn params(_: &Switch) {}
}

impl AssignmentPart for PerFlow {
    const NAME: &'static str = "per-flow";
    fn params(_: &Switch) {}
}

impl AssignmentPart for Stochastic<1> {
    const NAME: &'static str = "stochastic";
    fn params(_: &Switch) {}
}

impl AssignmentPart for ByClass {
    const NAME: &'static str = "class";
    fn params(_: &Switch) {}
}

impl AssignmentPart for Dynamic<1> {
    const NAME: &'static str = "dynamic";
    fn params(table: &Switch) -> BfcParams {
        table.bfc.clone()
    }
}

impl<Q: Queues> BackpressurePart<Q> for NoBackpressure {
    const NAME: &'static str = "none";
    fn params(_: &Switch) {}
}

impl<Q: Queues> BackpressurePart<Q> for Pfc {
    const NAME: &'static str = "pfc";
    fn params(table: &Switch) -> Self::Params {
        table.pfc.clone()
    }
}

impl<Q: Queues + PausableByNumber> BackpressurePart<Q> for Bfc {
    const NAME: &'static str = "bfc";
    fn params(table: &Switch) -> BfcParams {
        table.bfc.clone()
    }
}
