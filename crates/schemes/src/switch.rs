//! What a switch does: five choices. The parameters of each stand beside its algorithm; the tables of backpressures come from the
//! list in [`registry`](crate::registry).

use crate::registry::Switch;
use backwater_types::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// From a list of backpressures: the `[switch]` table, the names that `backpressure` takes, and how each pauses: as its parameters state,
/// or, where it has no table, as a function does.
macro_rules! backpressures {
    ($(
        $(#[$doc:meta])* $name:ident $(=> $pausing:ident)? $({ $(#[$table_doc:meta])* $table:ident: $params:ty })?
    )*) => {
        /// How a switch slows its neighbours.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum Backpressure {
            $($(#[$doc])* $name,)*
        }

        impl Backpressure {
            /// All of them.
            pub const ALL: &[Backpressure] = &[$(Backpressure::$name),*];

            /// Its table in `[switch]`, if it has one of its own.
            pub const fn table(self) -> Option<&'static str> {
                let name = match self {
                    $(Backpressure::$name => concat!($(stringify!($table))?),)*
                };
                if name.is_empty() { None } else { Some(name) }
            }
        }

        /// The five choices a switch is made of, and their parameters.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct Switch {
            /// Queues per port as hardware counts them; one of them is the control queue unless `bfc.extra_control_queue`. 2 to 129.
            /// With FlowSail, data queues: the control queue comes on top (FS-A12). 2 to 128.
            pub queues: u16,
            /// Which queue a packet joins.
            pub assignment: Assignment,
            /// How a switch slows its neighbours.
            pub backpressure: Backpressure,
            /// A chip (`backwater chips`) whose `buffer`, `alpha` and `mmu` these are, in all that is not said here.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub chip: Option<String>,
            /// Shared buffer of a switch; with several MMUs, of each.
            pub buffer: BufferSize,
            /// Dynamic threshold of a queue: it may hold at most `alpha` times the free buffer. Absent: no threshold.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub alpha: Option<f64>,
            /// What is reserved to queues, and how ports are divided among memory management units (spec G.1).
            pub mmu: Mmu,
            /// Deficit round robin quantum; at least one full packet on the wire.
            pub quantum: Bytes,
            /// Which of a port's queues is served.
            pub scheduler: Scheduler,
            /// Marking of ECN-capable packets. Absent: none.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub ecn: Option<Ecn>,
            /// Marking by the occupancy of the shared pool, beside `ecn`: a packet is marked if either says so (spec G.2). Absent: none.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub pool_ecn: Option<PoolEcn>,
            /// What becomes of a packet that is not ECN-capable where a rule would mark it.
            pub not_ect: NotEct,
            /// Equal-cost paths: hash the same path in both directions.
            pub symmetric_ecmp: bool,
            /// What keeps to one of several equal-cost paths: a flow, a flowlet, or nothing beyond a packet.
            pub load_balancing: LoadBalancing,
            /// Groups that the data queues of a port are divided into, strict priority between them; a workload's `priority`
            /// picks the group (spec B.2 and F.11). With assignment `single` each is one FIFO.
            pub priority_groups: u8,
            /// Senders are told of their data packets that do not find room: the switch sends a notice back, before data and as large
            /// as an ACK. Needs `host.recovery = "selective"`.
            pub drop_notice: bool,
            /// What becomes of a packet whose queue is paused.
            pub when_paused: WhenPaused,
            $($(
                $(#[$table_doc])*
                pub $table: $params,
            )?)*
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
                }
            }
        }

        impl Switch {
            /// How it pauses its neighbours, as its backpressure states.
            pub fn pausing(&self) -> Pausing<'_> {
                match self.backpressure {
                    $(Backpressure::$name => { $($pausing(self))? $(Pauses::pausing(&self.$table))? })*
                }
            }

            /// The first value of a backpressure's table that is out of its range, by its dotted key.
            ///
            /// # Errors
            /// If there is one.
            pub fn check_tables(&self) -> Result<(), OutOfRange> {
                $($(self.$table.check().map_err(|wrong| wrong.within(stringify!($table)))?;)?)*
                Ok(())
            }
        }
    };
}

pub(crate) use backpressures;

impl Switch {
    /// Its assignment as it is built: a FIFO for each of several groups is one for each priority.
    pub fn built_as(&self) -> Assignment {
        match self.assignment {
            Assignment::Single if self.priority_groups > 1 => Assignment::Priority,
            assignment => assignment,
        }
    }

    /// Its neighbours may send it no more than it has granted them.
    pub fn grants_credits(&self) -> bool {
        self.credits().is_some()
    }

    /// Data queues of a port: the control queue taken off.
    pub fn data_queues(&self) -> u16 {
        match self.assignment {
            Assignment::Single => self.priority_groups.into(),
            Assignment::Flowsail | Assignment::Class | Assignment::Priority | Assignment::HomaDynamic => self.queues,
            _ if self.bfc.extra_control_queue => self.queues,
            _ => self.queues - 1,
        }
    }
}

/// Which queue a packet joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Assignment {
    /// One FIFO.
    Single,
    /// A hash of the flow.
    Stochastic,
    /// BFC: an empty queue for each newly active flow, kept while it is active (spec A.3).
    Dynamic,
    /// A queue of its own for every flow; unbounded number of queues.
    PerFlow,
    /// FlowSail: an empty queue for each newly active flow, and an isolation queue for flows that a neighbour paused (spec F).
    Flowsail,
    /// The queue of its workload's `priority`: traffic classes, served in turn.
    Class,
    /// The queue of its packet's priority, served in strict priority: that of its workload, or with Homa the level that its host gave it.
    Priority,
    /// Homa's unscheduled packets by BFC's dynamic assignment, to as many queues as they have levels; scheduled ones as by
    /// `priority`, below all of these (BFC, appendix A.2).
    HomaDynamic,
}

/// Which of a port's queues is served, of those that hold data and are not paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// They take turns by deficit round robin; with assignment `priority` the first.
    Drr,
    /// That whose first packet says the least is left of its flow: shortest remaining flow first. With assignment
    /// `homa-dynamic` of the queues of unscheduled packets; the first of the others if these are empty.
    Srf,
}

/// What becomes of a packet whose queue is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenPaused {
    /// It waits.
    Hold,
    /// It is dropped on arrival: how FlowSail's testbed imitates pausing (its section V).
    Discard,
}

/// What keeps to one of several equal-cost paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum LoadBalancing {
    /// A flow: ECMP by a hash, as `conventions.paths` says.
    Flow,
    /// Nothing beyond a packet: each takes a path drawn for it.
    Packet,
    /// A flowlet: packets of a flow less than this apart at the switch. The next takes a path drawn for it.
    Flowlet(Duration),
}

impl LoadBalancing {
    /// A flow may have several paths.
    pub fn splits_flows(self) -> bool {
        self != LoadBalancing::Flow
    }
}
