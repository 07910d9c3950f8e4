//! What a host does: sizes, times and windows that every transport has, and a table for each transport that has parameters.
//!
//! The tables come from the list of transports in [`registry`](crate::registry).

use crate::registry::Host;
use backwater_transport::{ClosedForm, Control, ExpressPassParams, HomaParams, IdlePath, Site, SrfParams, TcpParams};
use backwater_types::{BitsPerSec, Bytes, Duration, Extension};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is sent again of what was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossRecovery {
    /// All from the first packet that is missing on (baselines 0.3).
    GoBackN,
    /// What is missing (baselines 4.1 and 8).
    Selective,
}

/// Is shown a control by its type.
pub trait Visitor {
    /// What comes of it.
    type Out;
    /// The control, whose parameters `at` gives for flows that start at a site.
    fn control<C: Control>(self, at: impl Fn(Site) -> C::Params) -> Self::Out;
}

/// Is shown what packets carry beside their headers, by its type.
pub trait ExtensionVisitor {
    /// What comes of it.
    type Out;
    /// The type.
    fn extension<E: Extension>(self) -> Self::Out;
}

/// What a transport states of itself.
pub(crate) trait Stated {
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
    /// Flows that meet share what they meet at; else, where switches know priorities or what is left, that with the least left goes
    /// first.
    fn shares(&self) -> bool {
        true
    }
    /// Each packet is answered; else, of what a window covers, only the last.
    fn answers_each(&self) -> bool {
        true
    }
}

/// The parameters of a control, as a table has them.
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

/// RTTbytes are sent unasked, and while they are on their way the rest is asked for.
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

/// From a list of controls, of controls whose packets carry something beside their headers, and of transports: the `[host]` table,
/// the names that `transport` takes, and types for all controls.
macro_rules! transports {
    (
        controls { $($(#[$doc:meta])* $name:ident $({ $table:ident })?)* }
        carrying { $($(#[$own_doc:meta])* $own:ident { $own_table:ident })* }
        others { $($(#[$other_doc:meta])* $other:ident {
            $other_table:ident: $other_params:ty $(, carries $carried:ty)?
        })* }
    ) => {
        /// End-to-end control.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum Transport {
            $($(#[$doc])* $name,)*
            $($(#[$own_doc])* $own,)*
            $($(#[$other_doc])* $other,)*
        }

        impl Transport {
            /// All of them.
            pub const ALL: &[Transport] = &[$(Transport::$name,)* $(Transport::$own,)* $(Transport::$other,)*];
        }

        /// What every host does.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct Host {
            /// End-to-end control.
            pub transport: Transport,
            /// Bytes of payload in a full packet.
            pub payload: Bytes,
            /// Bytes of headers on every data packet.
            pub header: Bytes,
            /// Wire size of an ACK or NACK.
            pub ack: Bytes,
            /// Cap on a flow's bytes in flight (payload). Absent: `"bdp"`; `line-rate` has none but a size given here.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub window: Option<Window>,
            /// What is sent again of what was lost, where a control has windows and rates; other transports have ways of their own.
            pub recovery: LossRecovery,
            /// Used when `recovery = "selective"`.
            pub selective: SelectiveParams,
            /// No progress for this long: go back to the last byte acknowledged.
            pub rto: Duration,
            /// A second NACK for the same packet waits this long.
            pub nack_guard: Duration,
            /// Time a received packet spends in the host before it counts and is answered.
            pub delay: Duration,
            /// With `transport = "tcp"`: bytes that wait for the link, first in, first out; more are dropped.
            pub nic_buffer: Bytes,
            /// With `transport = "tcp"`: the NIC marks as `switch.ecn` has it, by the length of its queue.
            pub nic_marks: bool,
            /// Used with `conventions.hosts = "hpcc-sim"`: whether a pause of the data class holds the NIC's ACKs too. Either way
            /// they go before data.
            pub ack_class: AckClass,
            /// With `ack_class = "data"` and `assignment = "class"`: of which class a pause does.
            pub ack_priority: u8,
            /// Used with `conventions.hosts = "hpcc-sim"`: packets are acknowledged that end here in their flow, or beyond.
            pub ack_from: Bytes,
            /// Others are if they end at a multiple of this.
            pub ack_chunk: Bytes,
            $($(
                #[doc = concat!("Used when `transport = \"", stringify!($table), "\"`.")]
                pub $table: <control::$name as Control>::Params,
            )?)*
            $(
                #[doc = concat!("Used when `transport = \"", stringify!($own_table), "\"`.")]
                pub $own_table: <control::$own as Control>::Params,
            )*
            $(
                #[doc = concat!("Used when `transport = \"", stringify!($other_table), "\"`.")]
                pub $other_table: $other_params,
            )*
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
                }
            }
        }

        impl Host {
            /// The first value of a table that is out of its range, by its dotted key.
            ///
            /// # Errors
            /// If there is one.
            pub fn check_tables(&self) -> Result<(), OutOfRange> {
                self.selective.check().map_err(|wrong| wrong.within("selective"))?;
                $($(self.$table.check().map_err(|wrong| wrong.within(stringify!($table)))?;)?)*
                $(self.$own_table.check().map_err(|wrong| wrong.within(stringify!($own_table)))?;)*
                $(self.$other_table.check().map_err(|wrong| wrong.within(stringify!($other_table)))?;)*
                Ok(())
            }

            /// What its transport states of itself, and the name of its table if it has one.
            fn stated(&self) -> (&'static str, Box<dyn Stated>) {
                match self.transport {
                    $(Transport::$name => {
                        let params = Clone::clone(transports!(@own self $($table)?));
                        (concat!($(stringify!($table))?), Box::new(Of::<control::$name>(params)))
                    })*
                    $(Transport::$own => (stringify!($own_table), Box::new(Of::<control::$own>(self.$own_table.clone()))),)*
                    $(Transport::$other => (stringify!($other_table), Box::new(self.$other_table.clone())),)*
                }
            }

            /// The control of its flows, which start at `site`, if their packets carry nothing beside their headers.
            pub fn control(&self, site: Site) -> Option<AnyParams> {
                Some(match self.paced() {
                    $(Transport::$name => {
                        AnyParams::$name(<control::$name as Control>::at(transports!(@own self $($table)?), site))
                    })*
                    _ => return None,
                })
            }

            /// Shows `visitor` the control of its flows: by one type for all, and another for those whose packets carry something. `None`
            /// for transports that are more than a control.
            pub fn visit<V: Visitor>(&self, visitor: V) -> Option<V::Out> {
                match self.transport {
                    $(Transport::$own => Some(visitor.control::<AnyCarrying>(|site| {
                        AnyCarryingParams::$own(<control::$own as Control>::at(&self.$own_table, site))
                    })),)*
                    $(Transport::$other => None,)*
                    _ => Some(visitor.control::<AnyControl>(|site| self.control(site).expect("it is one"))),
                }
            }
        }

        /// Shows `visitor` what packets carry whose type has this name in a running program; `None` if no transport's do under
        /// [`Host::visit`].
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
            /// State of one flow under whichever control it is whose packets carry nothing beside their headers.
            AnyControl,
            /// Parameters of whichever control it is.
            AnyParams,
            carries (), due (), of $($name)*
        }

        any_control! {
            /// State of one flow under whichever control it is whose packets carry something beside their headers.
            AnyCarrying,
            /// Parameters of whichever control it is.
            AnyCarryingParams,
            carries AnyCarried, due Instant, of $($own)*
        }

        any_carried! { AnyCarried, AnyCarriedPort, of $($own)* }
    };
    (@own $host:ident) => { &Default::default() };
    (@own $host:ident $table:ident) => { &$host.$table };
}

pub(crate) use transports;
