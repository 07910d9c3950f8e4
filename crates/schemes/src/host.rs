//! What a host does: sizes, times and windows that every transport has, and a table for each transport that has parameters.
//!
//! The tables come from the list of transports in [`registry`](crate::registry).

use backwater_transport::{Control, Site};

/// Is shown a control by its type.
pub trait Visitor {
    /// What comes of it.
    type Out;
    /// The control, whose parameters `at` gives for flows that start at a site.
    fn control<C: Control>(self, at: impl Fn(Site) -> C::Params) -> Self::Out;
}

/// From a list of controls, of controls whose packets carry something beside their headers, and of transports: the `[host]` table, the names that `transport` takes, and one type for all controls.
macro_rules! transports {
    (
        controls { $($(#[$doc:meta])* $name:ident $({ $table:ident })?)* }
        carrying { $($(#[$own_doc:meta])* $own:ident { $own_table:ident })* }
        others { $($(#[$other_doc:meta])* $other:ident { $other_table:ident: $other_params:ty })* }
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
                    rto: Duration::from_us(5_000),
                    nack_guard: Duration::from_us(500),
                    delay: Duration::ZERO,
                    nic_buffer: Bytes(10_000_000),
                    nic_marks: false,
                    ack_class: AckClass::High,
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
                $($(self.$table.check().map_err(|wrong| wrong.within(stringify!($table)))?;)?)*
                $(self.$own_table.check().map_err(|wrong| wrong.within(stringify!($own_table)))?;)*
                $(self.$other_table.check().map_err(|wrong| wrong.within(stringify!($other_table)))?;)*
                Ok(())
            }

            /// What a flow alone takes beyond store and forward, on a path its window covers, as its transport states.
            pub fn startup(&self, path: &IdlePath) -> Duration {
                match self.transport {
                    $(Transport::$name => {
                        let params = <control::$name as Control>::at(transports!(@own self $($table)?), Site::default());
                        <control::$name as Control>::startup(&params, path)
                    })*
                    $(Transport::$own => {
                        let params = <control::$own as Control>::at(&self.$own_table, Site::default());
                        <control::$own as Control>::startup(&params, path)
                    })*
                    $(Transport::$other => self.$other_table.startup(path),)*
                }
            }

            /// How long its flows take to have back what they gave up, as their control states; zero: a few round trips.
            pub fn recovery(&self, site: Site) -> Duration {
                match self.transport {
                    $(Transport::$name => {
                        let params = <control::$name as Control>::at(transports!(@own self $($table)?), site);
                        <control::$name as Control>::recovery(&params)
                    })*
                    $(Transport::$own => {
                        let params = <control::$own as Control>::at(&self.$own_table, site);
                        <control::$own as Control>::recovery(&params)
                    })*
                    $(Transport::$other => Duration::ZERO,)*
                }
            }

            /// Bytes on the wire that data packets carry beside their headers.
            pub fn carried(&self) -> Bytes {
                match self.transport {
                    $(Transport::$own => <control::$own as Control>::carried(&self.$own_table),)*
                    _ => Bytes(0),
                }
            }

            /// Share of an idle path that a flow alone takes in the long run, as its control states.
            pub fn share(&self) -> f64 {
                match self.transport {
                    $(Transport::$name => <control::$name as Control>::share(transports!(@own self $($table)?)),)*
                    $(Transport::$own => <control::$own as Control>::share(&self.$own_table),)*
                    $(Transport::$other => 1.0,)*
                }
            }

            /// The lowest rate that its control goes to, and the table that has it.
            pub fn min_rate(&self) -> Option<(&'static str, BitsPerSec)> {
                match self.transport {
                    $(Transport::$name => {
                        let rate = <control::$name as Control>::min_rate(transports!(@own self $($table)?));
                        rate.map(|rate| (concat!($(stringify!($table))?), rate))
                    })*
                    $(Transport::$own => {
                        <control::$own as Control>::min_rate(&self.$own_table).map(|rate| (stringify!($own_table), rate))
                    })*
                    $(Transport::$other => None,)*
                }
            }

            /// Its control asks for base round trips.
            pub fn asks_base_rtt(&self) -> bool {
                match self.transport {
                    $(Transport::$name => <control::$name as Control>::ASKS_BASE_RTT,)*
                    $(Transport::$own => <control::$own as Control>::ASKS_BASE_RTT,)*
                    $(Transport::$other => false,)*
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

            /// Shows `visitor` the control of its flows; `None` for transports that are more than a control.
            pub fn visit<V: Visitor>(&self, visitor: V) -> Option<V::Out> {
                match self.transport {
                    $(Transport::$own => {
                        Some(visitor.control::<control::$own>(|site| <control::$own as Control>::at(&self.$own_table, site)))
                    })*
                    $(Transport::$other => None,)*
                    _ => Some(visitor.control::<AnyControl>(|site| self.control(site).expect("it is one"))),
                }
            }
        }

        /// Parameters of whichever control it is.
        #[derive(Clone, Debug)]
        pub enum AnyParams {
            $(#[doc = concat!("[`control::", stringify!($name), "`]")] $name(<control::$name as Control>::Params),)*
        }

        /// State of one flow under whichever control it is, for combinations that have no type of their own.
        #[derive(Clone, Copy, Debug)]
        pub enum AnyControl {
            $(#[doc = concat!("[`control::", stringify!($name), "`]")] $name(control::$name),)*
        }

        impl Control for AnyControl {
            type Params = AnyParams;
            type Extension = ();
            type Due = ();
            type Times = Option<SendTimes>;

            fn times(params: &AnyParams) -> Option<SendTimes> {
                let kept = match params {
                    $(AnyParams::$name(_) => <<control::$name as Control>::Times as Times>::KEPT,)*
                };
                kept.then(SendTimes::default)
            }

            fn at(params: &AnyParams, site: Site) -> AnyParams {
                match params { $(AnyParams::$name(p) => AnyParams::$name(<control::$name as Control>::at(p, site)),)* }
            }

            fn new(params: &AnyParams) -> AnyControl {
                match params { $(AnyParams::$name(p) => AnyControl::$name(<control::$name as Control>::new(p)),)* }
            }

            #[inline]
            fn window(&self, params: &AnyParams) -> u64 {
                match (self, params) {
                    $((AnyControl::$name(flow), AnyParams::$name(p)) => flow.window(p),)*
                    _ => unreachable!("a flow has parameters of its own kind"),
                }
            }

            #[inline]
            fn gap(&self, params: &AnyParams, wire: u64) -> Duration {
                match (self, params) {
                    $((AnyControl::$name(flow), AnyParams::$name(p)) => flow.gap(p, wire),)*
                    _ => unreachable!("a flow has parameters of its own kind"),
                }
            }

            #[inline]
            fn on_sent(&mut self, params: &AnyParams, now: Instant, wire: u64) {
                match (self, params) {
                    $((AnyControl::$name(flow), AnyParams::$name(p)) => flow.on_sent(p, now, wire),)*
                    _ => unreachable!("a flow has parameters of its own kind"),
                }
            }

            fn on_cnp(&mut self, params: &AnyParams, now: Instant) -> bool {
                match (self, params) {
                    $((AnyControl::$name(flow), AnyParams::$name(p)) => flow.on_cnp(p, now),)*
                    _ => unreachable!("a flow has parameters of its own kind"),
                }
            }

            const TIMED: bool = true;

            #[inline]
            fn timer(&self, params: &AnyParams) -> Instant {
                match (self, params) {
                    $((AnyControl::$name(flow), AnyParams::$name(p)) => flow.timer(p),)*
                    _ => unreachable!("a flow has parameters of its own kind"),
                }
            }

            fn on_timer(&mut self, params: &AnyParams, now: Instant) -> bool {
                match (self, params) {
                    $((AnyControl::$name(flow), AnyParams::$name(p)) => flow.on_timer(p, now),)*
                    _ => unreachable!("a flow has parameters of its own kind"),
                }
            }


            fn notifies(params: &AnyParams) -> Option<Duration> {
                match params { $(AnyParams::$name(p) => <control::$name as Control>::notifies(p),)* }
            }

            #[inline]
            fn on_ack(&mut self, params: &AnyParams, ack: Ack) -> bool {
                match (self, params) {
                    $((AnyControl::$name(flow), AnyParams::$name(p)) => flow.on_ack(p, ack),)*
                    _ => unreachable!("a flow has parameters of its own kind"),
                }
            }
        }
    };
    (@own $host:ident) => { &Default::default() };
    (@own $host:ident $table:ident) => { &$host.$table };
}

pub(crate) use transports;
