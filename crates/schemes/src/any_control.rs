//! Several controls as one type, for combinations of schemes that have no engine of their own. A flow's state, its
//! parameters and the extension of its packets are enums with one variant for each control.

/// Calls one of the controls with the state of a flow and its parameters.
macro_rules! of_each {
    ($any:ident $params:ident [$($name:ident)*] ($state:expr, $given:expr) |$flow:ident, $p:ident| $what:expr) => {
        match ($state, $given) {
            $(($any::$name($flow), $params::$name($p)) => $what,)*
            _ => unreachable!("a flow has parameters of its own kind"),
        }
    };
}

/// One control of several, whose packets carry one type and which keep one kind of [`Due`](backwater_transport::Due).
macro_rules! any_control {
    (
        $(#[$doc:meta])* $any:ident,
        $(#[$params_doc:meta])* $params:ident,
        carries $carried:tt, due $due:ty, of $($name:ident)*
    ) => {
        $(#[$params_doc])*
        #[derive(Clone, Debug)]
        pub enum $params {
            $(#[doc = concat!("[`control::", stringify!($name), "`]")] $name(<control::$name as Control>::Params),)*
        }

        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub enum $any {
            $(#[doc = concat!("[`control::", stringify!($name), "`]")] $name(control::$name),)*
        }

        impl Control for $any {
            type Params = $params;
            type Extension = $carried;
            type Due = $due;
            type Times = Option<SendTimes>;

            fn times(params: &$params) -> Option<SendTimes> {
                let kept = match params {
                    $($params::$name(_) => <<control::$name as Control>::Times as Times>::KEPT,)*
                };
                kept.then(SendTimes::default)
            }

            #[inline]
            fn moves(&self) -> bool {
                match self { $($any::$name(flow) => flow.moves(),)* }
            }

            fn at(params: &$params, site: Site) -> $params {
                match params { $($params::$name(p) => $params::$name(<control::$name as Control>::at(p, site)),)* }
            }

            fn draw_from(params: &mut $params, seed: u64, rand: Option<&LibraryRand>) {
                match params { $($params::$name(p) => <control::$name as Control>::draw_from(p, seed, rand),)* }
            }

            fn new(params: &$params) -> $any {
                match params { $($params::$name(p) => $any::$name(<control::$name as Control>::new(p)),)* }
            }

            #[inline]
            fn window(&self, params: &$params) -> u64 {
                of_each!($any $params [$($name)*] (self, params) |flow, p| flow.window(p))
            }

            #[inline]
            fn gap(&self, params: &$params, wire: u64) -> Duration {
                of_each!($any $params [$($name)*] (self, params) |flow, p| flow.gap(p, wire))
            }

            #[inline]
            fn spacing(&self, params: &$params, wire: u64) -> Duration {
                of_each!($any $params [$($name)*] (self, params) |flow, p| flow.spacing(p, wire))
            }

            #[inline]
            fn on_sent(&mut self, params: &$params, now: Instant, wire: u64) {
                of_each!($any $params [$($name)*] (self, params) |flow, p| flow.on_sent(p, now, wire))
            }

            fn on_cnp(&mut self, params: &$params, now: Instant) -> bool {
                of_each!($any $params [$($name)*] (self, params) |flow, p| flow.on_cnp(p, now))
            }

            fn on_loss(&mut self, params: &$params, now: Instant, loss: Loss) -> bool {
                of_each!($any $params [$($name)*] (self, params) |flow, p| flow.on_loss(p, now, loss))
            }

            fn to_min_rate(&mut self, params: &$params) -> bool {
                of_each!($any $params [$($name)*] (self, params) |flow, p| flow.to_min_rate(p))
            }

            const TIMED: bool = true;

            #[inline]
            fn timer(&self, params: &$params) -> Instant {
                of_each!($any $params [$($name)*] (self, params) |flow, p| flow.timer(p))
            }

            fn on_timer(&mut self, params: &$params, now: Instant) -> bool {
                of_each!($any $params [$($name)*] (self, params) |flow, p| flow.on_timer(p, now))
            }

            #[inline]
            fn take_armed(&mut self) -> Option<(Instant, u8)> {
                match self { $($any::$name(flow) => flow.take_armed(),)* }
            }

            fn on_expiry(&mut self, params: &$params, now: Instant, timer: u8) -> bool {
                of_each!($any $params [$($name)*] (self, params) |flow, p| flow.on_expiry(p, now, timer))
            }

            fn notifies(params: &$params) -> Option<Duration> {
                match params { $($params::$name(p) => <control::$name as Control>::notifies(p),)* }
            }

            #[inline]
            fn outgoing(&self, now: Instant, left: u64) -> $carried {
                match self {
                    $($any::$name(flow) => any_control!(@close $carried $name flow.outgoing(now, left)),)*
                }
            }

            #[inline]
            fn on_ack(&mut self, params: &$params, ack: Ack<$carried>) -> bool {
                match (self, params) {
                    $(($any::$name(flow), $params::$name(p)) => {
                        flow.on_ack(p, ack.with(any_control!(@open $carried $name ack.extension)))
                    })*
                    _ => unreachable!("a flow has parameters of its own kind"),
                }
            }
        }
    };
    (@close () $name:ident $carried:expr) => { $carried };
    (@close $any:ident $name:ident $carried:expr) => { $any::$name($carried) };
    (@open () $name:ident $carried:expr) => { $carried };
    (@open $any:ident $name:ident $carried:expr) => {
        match $carried {
            $any::$name(own) => own,
            _ => Default::default(),
        }
    };
}

/// Extension of packets under one of several controls. A packet without an extension, such as a datagram, counts at a
/// port as one with the default extension of the control there. The port knows the control by [`LinkShape::transport`].
macro_rules! any_carried {
    ($any:ident, $port:ident, of $($name:ident)*) => {
        /// Extension of the packets of any of the controls.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub enum $any {
            /// No extension; the default of any control.
            #[default]
            Nothing,
            $(#[doc = concat!("Of [`control::", stringify!($name), "`]")] $name(<control::$name as Control>::Extension),)*
        }

        /// State of a port for the extension.
        #[derive(Clone, Debug)]
        pub enum $port {
            /// Nothing.
            Nothing,
            $(
                #[doc = concat!("For [`control::", stringify!($name), "`]")]
                $name(<<control::$name as Control>::Extension as Extension>::Port),
            )*
        }

        impl Extension for $any {
            type Port = $port;
            const STAMPED: bool = true;

            fn port(link: &LinkShape) -> $port {
                $(if link.transport == Transport::$name.number() {
                    return $port::$name(<<control::$name as Control>::Extension as Extension>::port(link));
                })*
                $port::Nothing
            }

            fn stamp(&mut self, port: &mut $port, now: Instant, queued: u64) {
                match port {
                    $($port::$name(port) => {
                        let mut own = any_control!(@open $any $name *self);
                        own.stamp(port, now, queued);
                        *self = $any::$name(own);
                    })*
                    $port::Nothing => {}
                }
            }

            fn sent(port: &mut $port, now: Instant, wire: u16) {
                match port {
                    $($port::$name(port) => <<control::$name as Control>::Extension as Extension>::sent(port, now, wire),)*
                    $port::Nothing => {}
                }
            }
        }
    };
}

pub(crate) use {any_carried, any_control, of_each};
