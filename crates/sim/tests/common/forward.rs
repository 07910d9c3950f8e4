//! What a data plane around another answers just as that does.

/// The readings of [`backwater_sim::any_switch::DataPlane`], inside its implementation, as the field of this name has them.
macro_rules! forward_readings {
    ($inner:tt) => {
        fn buffered(&self) -> u64 {
            self.$inner.buffered()
        }
        fn active_flows(&self, port: ::backwater_types::PortId) -> Option<u32> {
            self.$inner.active_flows(port)
        }
        fn assigned(&self, port: ::backwater_types::PortId) -> ::backwater_dataplane::assign::Assigned {
            self.$inner.assigned(port)
        }
        fn isolated_flows(&self) -> u32 {
            self.$inner.isolated_flows()
        }
        fn discarded(&mut self) -> &mut Vec<(::backwater_types::Packet, ::backwater_types::Instant)> {
            self.$inner.discarded()
        }
        fn queued(&self, port: ::backwater_types::PortId) -> u64 {
            self.$inner.queued(port)
        }
        fn visit(
            &self,
            see: &mut dyn FnMut(
                ::backwater_types::PortId,
                ::backwater_types::QueueId,
                &::backwater_types::Packet,
                ::backwater_dataplane::cells::Held,
            ),
        ) {
            self.$inner.visit(see)
        }
        fn pools(&self) -> &[::backwater_dataplane::Pool] {
            self.$inner.pools()
        }
        fn mmu(&self, port: ::backwater_types::PortId) -> u8 {
            self.$inner.mmu(port)
        }
        fn audit(&self) -> Result<(), String> {
            self.$inner.audit()
        }
    };
}

pub(crate) use forward_readings;
