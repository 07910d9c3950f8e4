//! Configuration of switches: five choices, each with its parameters. The tables of backpressures come from the list in
//! [`registry`](crate::registry).

use crate::mine::Mine;
use crate::registry::{Backpressure, Switch};
use backwater_types::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Makes the `[switch]` table and the values of `backpressure` from a list of backpressures, each with the way it
/// pauses: stated by its parameters, or by a function if it has no table.
macro_rules! backpressures {
    ($(
        $(#[$doc:meta])* $name:ident $(=> $pausing:ident)? $({ $(#[$table_doc:meta])* $table:ident: $params:ty })?
    )*) => {
        /// Backpressure: how a switch slows its neighbours.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum Backpressure {
            $($(#[$doc])* $name,)*
            /// A backpressure of the user's own.
            #[serde(untagged)]
            #[schemars(skip)]
            Mine(Mine),
        }

        impl Backpressure {
            /// Every backpressure of the registry.
            pub const ALL: &[Backpressure] = &[$(Backpressure::$name),*];

            /// Table in `[switch]`, if the backpressure has one of its own.
            pub const fn table(self) -> Option<&'static str> {
                let name = match self {
                    $(Backpressure::$name => concat!($(stringify!($table))?),)*
                    Backpressure::Mine(_) => "mine",
                };
                if name.is_empty() { None } else { Some(name) }
            }
        }

        /// Switches: the five choices that make a switch, and their parameters.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct Switch {
            /// Queues per port as hardware counts them; one of them is the control queue unless
            /// `bfc.extra_control_queue`. 2 to 129. With FlowSail, data queues: the control queue comes on top
            /// (FS-A12). 2 to 128.
            pub queues: u16,
            /// Queue assignment: which queue a packet joins.
            pub assignment: Assignment,
            /// Backpressure: how a switch slows its neighbours.
            pub backpressure: Backpressure,
            /// Chip (`backwater list chips`). It gives `buffer`, `alpha` and `mmu` where these are absent.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub chip: Option<String>,
            /// Shared buffer of a switch; with several MMUs, that of each MMU.
            pub buffer: BufferSize,
            /// Dynamic threshold of a queue: it may hold at most `alpha` times the free buffer. Absent: no threshold.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub alpha: Option<f64>,
            /// Memory reserved to queues, and division of ports among memory management units (spec G.1).
            pub mmu: Mmu,
            /// Deficit round robin quantum; at least one full packet on the wire.
            pub quantum: Bytes,
            /// Scheduler: which queue of a port is served.
            pub scheduler: Scheduler,
            /// Marking of ECN-capable packets. Absent: none.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub ecn: Option<Ecn>,
            /// Marking by the occupancy of the shared buffer, beside `ecn`: a packet is marked if either rule marks it
            /// (spec G.2). Absent: none.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub pool_ecn: Option<PoolEcn>,
            /// Fate of a packet that is not ECN-capable where a rule would mark it.
            pub not_ect: NotEct,
            /// Whether the hash over equal-cost paths gives the same path in both directions.
            pub symmetric_ecmp: bool,
            /// Unit that keeps to one of several equal-cost paths: a flow, a flowlet or a packet.
            pub load_balancing: LoadBalancing,
            /// Number of groups of a port's data queues, with strict priority between groups. A workload's `priority`
            /// picks the group (spec B.2 and F.11). With assignment `single` each group is one FIFO.
            pub priority_groups: u8,
            /// Whether the switch sends a notice to the sender of a data packet that finds no room. The notice goes
            /// before data and has the size of an ACK. Needs `host.recovery = "selective"`.
            pub drop_notice: bool,
            /// Fate of a packet whose queue is paused.
            pub when_paused: WhenPaused,
            $($(
                $(#[$table_doc])*
                pub $table: $params,
            )?)*
            /// Parameters of assignments and backpressures of the user's own.
            #[serde(skip_serializing_if = "MineTables::is_empty")]
            #[schemars(skip)]
            pub mine: MineTables,
        }

        impl Default for Switch {
            fn default() -> Switch {
                Switch {
                    queues: 32,
                    assignment: Assignment::Single,
                    backpressure: Backpressure::None,
                    chip: None,
                    buffer: BufferSize::Shared(Bytes(12_000_000)),
                    alpha: None,
                    mmu: Mmu::default(),
                    quantum: Bytes(1048),
                    scheduler: Scheduler::Drr,
                    ecn: None,
                    pool_ecn: None,
                    not_ect: NotEct::Pass,
                    symmetric_ecmp: false,
                    load_balancing: LoadBalancing::Flow,
                    priority_groups: 1,
                    drop_notice: false,
                    when_paused: WhenPaused::Hold,
                    $($($table: Default::default(),)?)*
                    mine: MineTables::default(),
                }
            }
        }

        impl Switch {
            /// How the switch pauses its neighbours, as its backpressure states.
            pub fn pausing(&self) -> Pausing<'_> {
                match self.backpressure {
                    $(Backpressure::$name => { $($pausing(self))? $(Pauses::pausing(&self.$table))? })*
                    Backpressure::Mine(mine) => self.mine.pausing(mine),
                }
            }

            /// Returns the first value of a backpressure's table that is out of its range, with its dotted key.
            ///
            /// # Errors
            /// If a value is out of its range.
            pub fn check_tables(&self) -> Result<(), OutOfRange> {
                $($(self.$table.check().map_err(|wrong| wrong.within(stringify!($table)))?;)?)*
                self.mine.check().map_err(|wrong| wrong.within("mine"))
            }
        }
    };
}

pub(crate) use backpressures;

impl Switch {
    /// Completes the tables of an assignment and a backpressure of the user's own, and drops those of others.
    pub fn settle(&mut self) {
        let assignment = match self.assignment {
            Assignment::Mine(mine) => Some(mine),
            _ => None,
        };
        let backpressure = match self.backpressure {
            Backpressure::Mine(mine) => Some(mine),
            _ => None,
        };
        self.mine.settle(assignment.into_iter().chain(backpressure));
    }

    /// Assignment that is built: `single` with several groups is one FIFO for each priority.
    pub fn built_as(&self) -> Assignment {
        match self.assignment {
            Assignment::Single if self.priority_groups > 1 => Assignment::Priority,
            assignment => assignment,
        }
    }

    /// Whether neighbours may send only what the switch has granted by credits.
    pub fn grants_credits(&self) -> bool {
        self.credits().is_some()
    }

    /// Number of a port's data queues, without the control queue.
    pub fn data_queues(&self) -> u16 {
        match self.assignment {
            Assignment::Single => self.priority_groups.into(),
            Assignment::Flowsail | Assignment::Class | Assignment::Priority | Assignment::HomaDynamic => self.queues,
            _ if self.bfc.extra_control_queue => self.queues,
            _ => self.queues - 1,
        }
    }
}

/// Queue assignment: which queue a packet joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Assignment {
    /// One FIFO.
    Single,
    /// A hash of the flow.
    Stochastic,
    /// BFC: an empty queue for each newly active flow, which keeps it while it is active (spec A.3).
    Dynamic,
    /// A queue for every flow, without a bound on their number.
    PerFlow,
    /// FlowSail: an empty queue for each newly active flow, and an isolation queue for flows that a neighbour paused
    /// (spec F).
    Flowsail,
    /// The queue of its workload's `priority`: traffic classes, served in turn.
    Class,
    /// The queue of the packet's priority, served in strict priority. The workload gives the priority, or with Homa the
    /// host.
    Priority,
    /// Homa's unscheduled packets by BFC's dynamic assignment, to as many queues as they have levels. Scheduled packets
    /// as with `priority`, below all of these (BFC, appendix A.2).
    HomaDynamic,
    /// An assignment of the user's own.
    #[serde(untagged)]
    #[schemars(skip)]
    Mine(Mine),
}

/// Scheduler: which queue of a port is served, among those that hold data and are not paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Deficit round robin; with assignment `priority` the first queue.
    Drr,
    /// Shortest remaining flow first: the queue whose first packet carries the smallest remaining size. With assignment
    /// `homa-dynamic` this concerns the queues of unscheduled packets; if these are empty, the first of the others.
    Srf,
}

/// Fate of a packet whose queue is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenPaused {
    /// The packet waits.
    Hold,
    /// The packet is dropped on arrival, as FlowSail's testbed imitates pausing (its section V).
    Discard,
}

/// Unit that keeps to one of several equal-cost paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum LoadBalancing {
    /// A flow: ECMP by the hash that `conventions.paths` names.
    Flow,
    /// A packet: each takes a random path.
    Packet,
    /// A flowlet: packets of a flow less than this apart at the switch. Each flowlet takes a random path.
    Flowlet(Duration),
}

impl LoadBalancing {
    /// Whether a flow may take several paths.
    pub fn splits_flows(self) -> bool {
        self != LoadBalancing::Flow
    }
}
