//! Configuration of hosts: sizes, times and windows of every transport, and one table for each transport with
//! parameters.
//!
//! The tables come from the list of transports in [`registry`](crate::registry).

use crate::registry::Host;
use backwater_transport::{ClosedForm, Control, ExpressPassParams, HomaParams, IdlePath, Site, SrfParams, TcpParams};
use backwater_types::{BitsPerSec, Bytes, Duration, Extension};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Packets that a sender sends again after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossRecovery {
    /// Go-back-N: the first missing packet and every packet after it (baselines 0.3).
    GoBackN,
    /// Selective retransmission: only the missing packets (baselines 4.1 and 8).
    Selective,
}

/// Code that is generic over the type of a congestion control.
pub trait Visitor {
    /// Result of the visit.
    type Out;
    /// Visits the control `C`; `at` gives its parameters for flows that start at a site.
    fn control<C: Control>(self, at: impl Fn(Site) -> C::Params) -> Self::Out;
}

/// Code that is generic over the type of packet metadata.
pub trait ExtensionVisitor {
    /// Result of the visit.
    type Out;
    /// Visits the metadata type `E`.
    fn extension<E: Extension>(self) -> Self::Out;
}

/// Properties that a transport states: closed forms, and facts that scenarios are checked against.
pub trait Stated {
    /// See [`ClosedForm::startup`].
    fn startup(&self, host: &Host, path: &IdlePath) -> Duration;
    /// See [`ClosedForm::starts_paced`].
    fn starts_paced(&self) -> bool {
        false
    }
    /// See [`ClosedForm::recovery`].
    fn recovery(&self, _site: Site) -> Duration {
        Duration::ZERO
    }
    /// See [`ClosedForm::share`].
    fn share(&self, _host: &Host) -> f64 {
        1.0
    }
    /// See [`ClosedForm::min_rate`].
    fn min_rate(&self) -> Option<BitsPerSec> {
        None
    }
    /// See [`ClosedForm::carried`].
    fn carried(&self) -> Bytes {
        Bytes(0)
    }
    /// See [`ClosedForm::ASKS_BASE_RTT`].
    fn asks_base_rtt(&self) -> bool {
        false
    }
    /// Whether flows that meet at a port share its rate. If not, the flow with the fewest bytes left goes first where
    /// switches know priorities or remaining sizes.
    fn shares(&self) -> bool {
        true
    }
    /// Whether the receiver answers each packet. If not, it answers only the last packet of a window.
    fn answers_each(&self) -> bool {
        true
    }
}

/// Parameters of a control as its table has them.
pub(crate) struct Of<C: ClosedForm>(pub C::Params);

impl<C: ClosedForm> Stated for Of<C> {
    fn startup(&self, _host: &Host, path: &IdlePath) -> Duration {
        let site = Site { line_rate: path.line.0 as f64, window: u64::MAX, ..Site::default() };
        C::startup(&C::at(&self.0, site), path)
    }

    fn starts_paced(&self) -> bool {
        C::starts_paced(&self.0)
    }

    fn recovery(&self, site: Site) -> Duration {
        C::recovery(&C::at(&self.0, site))
    }

    fn share(&self, _host: &Host) -> f64 {
        C::share(&self.0)
    }

    fn min_rate(&self) -> Option<BitsPerSec> {
        C::min_rate(&self.0)
    }

    fn carried(&self) -> Bytes {
        C::carried(&self.0)
    }

    fn asks_base_rtt(&self) -> bool {
        C::ASKS_BASE_RTT
    }
}

impl Stated for TcpParams {
    fn startup(&self, _host: &Host, path: &IdlePath) -> Duration {
        TcpParams::startup(self, path)
    }
}

impl Stated for ExpressPassParams {
    fn startup(&self, host: &Host, path: &IdlePath) -> Duration {
        ExpressPassParams::startup(self, path, host.full_packet())
    }

    fn share(&self, host: &Host) -> f64 {
        ExpressPassParams::share(self, host.full_packet())
    }
}

/// The sender sends RTTbytes unscheduled. The grants for the rest arrive before these are sent.
impl Stated for HomaParams {
    fn startup(&self, _host: &Host, _path: &IdlePath) -> Duration {
        Duration::ZERO
    }

    fn shares(&self) -> bool {
        false
    }

    fn answers_each(&self) -> bool {
        false
    }
}

impl Stated for SrfParams {
    fn startup(&self, _host: &Host, _path: &IdlePath) -> Duration {
        Duration::ZERO
    }

    fn carried(&self) -> Bytes {
        self.field_bytes
    }

    fn shares(&self) -> bool {
        false
    }
}

/// Makes the `[host]` table, the values of `transport` and one type for all controls from three lists: controls,
/// controls whose packets carry metadata, and other transports.
macro_rules! transports {
    (
        controls { $($(#[$doc:meta])* $name:ident $({ $table:ident })?)* }
        carrying { $($(#[$own_doc:meta])* $own:ident { $own_table:ident $(, unless $unused:literal)? })* }
        others { $($(#[$other_doc:meta])* $other:ident {
            $other_table:ident: $other_params:ty $(, carries $carried:ty)?
        })* }
    ) => {
        /// Transport: congestion control end to end.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum Transport {
            $($(#[$doc])* $name,)*
            $($(#[$own_doc])* $own,)*
            $($(#[$other_doc])* $other,)*
            /// A transport of the user's own.
            #[serde(untagged)]
            #[schemars(skip)]
            Mine(Mine),
        }

        impl Transport {
            /// Every transport of the registry.
            pub const ALL: &[Transport] = &[$(Transport::$name,)* $(Transport::$own,)* $(Transport::$other,)*];

            /// Number of the transport, by which ports know the metadata of its packets ([`LinkShape::transport`]).
            pub const fn number(self) -> u8 {
                #[allow(clippy::enum_variant_names)]
                enum Number { $($name,)* $($own,)* $($other,)* Mine }
                match self {
                    $(Transport::$name => Number::$name as u8,)*
                    $(Transport::$own => Number::$own as u8,)*
                    $(Transport::$other => Number::$other as u8,)*
                    Transport::Mine(_) => Number::Mine as u8,
                }
            }
        }

        /// Hosts: their transport, and the parameters of each transport.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct Host {
            /// Transport: congestion control end to end.
            pub transport: Transport,
            /// Bytes of payload in a full packet.
            pub payload: Bytes,
            /// Bytes of headers on every data packet.
            pub header: Bytes,
            /// Wire size of an ACK or NACK.
            pub ack: Bytes,
            /// Cap on a flow's payload bytes in flight. Absent: `"bdp"`; no cap for `line-rate`, which takes only a
            /// size.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub window: Option<Window>,
            /// Loss recovery of transports with a window or a rate. Other transports have their own.
            pub recovery: LossRecovery,
            /// Used when `recovery = "selective"`.
            pub selective: SelectiveParams,
            /// Retransmission timeout: without progress for this long the sender goes back to the last byte
            /// acknowledged.
            pub rto: Duration,
            /// Least time between two NACKs for the same packet.
            pub nack_guard: Duration,
            /// Processing time of a received packet before it counts and is acknowledged.
            pub delay: Duration,
            /// With `transport = "tcp"`: size of the NIC's FIFO. Packets beyond it are dropped.
            pub nic_buffer: Bytes,
            /// With `transport = "tcp"`: whether the NIC marks by the length of its queue, with the thresholds of
            /// `switch.ecn`.
            pub nic_marks: bool,
            /// Used with `conventions.hosts = "hpcc-sim"`: class of a NIC's ACKs. A pause of the data class stops ACKs
            /// of that class. The NIC always sends ACKs before data.
            pub ack_class: AckClass,
            /// With `ack_class = "data"` and `assignment = "class"`: class whose pause stops ACKs.
            pub ack_priority: u8,
            /// Used with `conventions.hosts = "hpcc-sim"`: the receiver acknowledges each packet that ends at or beyond
            /// this byte of its flow.
            pub ack_from: Bytes,
            /// Used with `conventions.hosts = "hpcc-sim"`: before `ack_from`, the receiver acknowledges packets that
            /// end at a multiple of this.
            pub ack_chunk: Bytes,
            $($(
                #[doc = concat!("Used when `transport = \"", stringify!($table), "\"`.")]
                pub $table: <control::$name as Control>::Params,
            )?)*
            $(
                #[doc = concat!("Used when `transport = \"", stringify!($own_table), "\"`.")]
                $(#[serde(skip_serializing_if = $unused)])?
                pub $own_table: <control::$own as Control>::Params,
            )*
            $(
                #[doc = concat!("Used when `transport = \"", stringify!($other_table), "\"`.")]
                pub $other_table: $other_params,
            )*
            /// Parameters of transports of the user's own.
            #[serde(skip_serializing_if = "MineTables::is_empty")]
            #[schemars(skip)]
            pub mine: MineTables,
        }

        impl Default for Host {
            fn default() -> Host {
                Host {
                    transport: Transport::LineRate,
                    payload: Bytes(1000),
                    header: Bytes(48),
                    ack: Bytes(64),
                    window: None,
                    recovery: LossRecovery::GoBackN,
                    selective: SelectiveParams::default(),
                    rto: Duration::from_us(5_000),
                    nack_guard: Duration::from_us(500),
                    delay: Duration::ZERO,
                    nic_buffer: Bytes(10_000_000),
                    nic_marks: false,
                    ack_class: AckClass::High,
                    ack_priority: 3,
                    ack_from: Bytes(1),
                    ack_chunk: Bytes(4000),
                    $($($table: Default::default(),)?)*
                    $($own_table: Default::default(),)*
                    $($other_table: Default::default(),)*
                    mine: MineTables::default(),
                }
            }
        }

        impl Host {
            /// Returns the first value of a table that is out of its range, with its dotted key.
            ///
            /// # Errors
            /// If a value is out of its range.
            pub fn check_tables(&self) -> Result<(), OutOfRange> {
                self.selective.check().map_err(|wrong| wrong.within("selective"))?;
                $($(self.$table.check().map_err(|wrong| wrong.within(stringify!($table)))?;)?)*
                $(self.$own_table.check().map_err(|wrong| wrong.within(stringify!($own_table)))?;)*
                $(self.$other_table.check().map_err(|wrong| wrong.within(stringify!($other_table)))?;)*
                self.mine.check().map_err(|wrong| wrong.within("mine"))
            }

            /// Properties that the transport states, and the name of its table if it has one.
            fn stated(&self) -> (&'static str, Box<dyn Stated>) {
                match self.transport {
                    $(Transport::$name => {
                        let params = Clone::clone(transports!(@own self $($table)?));
                        (concat!($(stringify!($table))?), Box::new(Of::<control::$name>(params)))
                    })*
                    $(Transport::$own => (stringify!($own_table), Box::new(Of::<control::$own>(self.$own_table.clone()))),)*
                    $(Transport::$other => (stringify!($other_table), Box::new(self.$other_table.clone())),)*
                    Transport::Mine(mine) => (mine.part().key(), self.mine.stated(mine)),
                }
            }

            /// Parameters of the control of flows that start at `site`, if their packets carry no metadata.
            pub fn control(&self, site: Site) -> Option<AnyParams> {
                Some(match self.paced() {
                    $(Transport::$name => {
                        AnyParams::$name(<control::$name as Control>::at(transports!(@own self $($table)?), site))
                    })*
                    _ => return None,
                })
            }

            /// Calls `visitor` with the control of the flows: one type for all controls without metadata, another for
            /// those with it. `None` for transports that are more than a control.
            pub fn visit<V: Visitor>(&self, visitor: V) -> Option<V::Out> {
                match self.transport {
                    $(Transport::$own => Some(visitor.control::<AnyCarrying>(|site| {
                        AnyCarryingParams::$own(<control::$own as Control>::at(&self.$own_table, site))
                    })),)*
                    $(Transport::$other => None,)*
                    Transport::Mine(_) => None,
                    _ => Some(visitor.control::<AnyControl>(|site| self.control(site).expect("it is one"))),
                }
            }
        }

        /// Calls `visitor` with the metadata type `id`. `None` if no transport has it
        /// under [`Host::visit`].
        pub fn visit_extension<V: ExtensionVisitor>(id: TypeId, visitor: V) -> Option<V::Out> {
            if id == TypeId::of::<()>() {
                return Some(visitor.extension::<()>());
            }
            if id == TypeId::of::<AnyCarried>() {
                return Some(visitor.extension::<AnyCarried>());
            }
            $($(if id == TypeId::of::<$carried>() {
                return Some(visitor.extension::<$carried>());
            })?)*
            None
        }

        any_control! {
            /// State of one flow under any of the controls without packet metadata.
            AnyControl,
            /// Parameters of that control.
            AnyParams,
            carries (), due (), of $($name)*
        }

        any_control! {
            /// State of one flow under any of the controls with packet metadata.
            AnyCarrying,
            /// Parameters of that control.
            AnyCarryingParams,
            carries AnyCarried, due Instant, of $($own)*
        }

        any_carried! { AnyCarried, AnyCarriedPort, of $($own)* }
    };
    (@own $host:ident) => { &Default::default() };
    (@own $host:ident $table:ident) => { &$host.$table };
}

pub(crate) use transports;
