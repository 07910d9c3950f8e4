//! Delegation from a wrapping policy to the wrapped one.

/// Implements the methods of [`Policy`](super::Policy) that a wrapper delegates to the policy in its field `$policy`,
/// whose queues it uses.
///
/// Wrappers write the other methods themselves: they extend enqueue and dequeue decisions, timers and link changes.
macro_rules! leave_to {
    ($policy:ident) => {
        #[inline(always)]
        fn choose(
            &self,
            now: Instant,
            packet: &Packet,
            ingress: PortId,
            port: PortId,
            queues: &P::Queues,
            rng: &mut Stream,
        ) -> Choice {
            self.$policy.choose(now, packet, ingress, port, queues, rng)
        }

        #[inline(always)]
        fn adjust(&self, choice: Choice, left: u64, queues: &P::Queues) -> Choice {
            self.$policy.adjust(choice, left, queues)
        }

        #[inline(always)]
        fn prefetch(&self, packet: &Packet, ingress: PortId, port: PortId) -> u32 {
            self.$policy.prefetch(packet, ingress, port)
        }

        #[inline(always)]
        fn samples(&self, rng: &mut Stream) -> bool {
            self.$policy.samples(rng)
        }

        fn on_joined(
            &mut self,
            port: PortId,
            queue: QueueId,
            queues: &mut P::Queues,
            cells: &mut Cells<impl Extension>,
        ) {
            self.$policy.on_joined(port, queue, queues, cells);
        }

        fn on_gone(&mut self, port: PortId, queue: QueueId, queues: &mut P::Queues, cells: &mut Cells<impl Extension>) {
            self.$policy.on_gone(port, queue, queues, cells);
        }

        #[inline(always)]
        fn lets_pass(&self, choice: Choice) -> bool {
            self.$policy.lets_pass(choice)
        }

        fn on_pass(
            &mut self,
            now: Instant,
            packet: &Packet,
            held: &Meta,
            port: PortId,
            choice: Choice,
            queues: &P::Queues,
        ) {
            self.$policy.on_pass(now, packet, held, port, choice, queues);
        }

        fn on_control(
            &mut self,
            now: Instant,
            port: PortId,
            frame: ControlFrame,
            queues: &mut P::Queues,
            cells: &mut Cells<impl Extension>,
        ) {
            self.$policy.on_control(now, port, frame, queues, cells);
        }

        #[inline(always)]
        fn may_send(&self, port: PortId) -> bool {
            self.$policy.may_send(port)
        }

        fn on_sent(&mut self, now: Instant, port: PortId, queue: QueueId, packet: &Packet, queues: &mut P::Queues) {
            self.$policy.on_sent(now, port, queue, packet, queues);
        }

        fn record_of(&self, port: PortId, flow: FlowName) -> u32 {
            self.$policy.record_of(port, flow)
        }

        fn on_link_down(&mut self, now: Instant, port: PortId, ports: &mut Ports<'_, P::Queues, impl Extension>) {
            self.$policy.on_link_down(now, port, ports);
        }

        fn active_flows(&self, port: PortId) -> Option<u32> {
            self.$policy.active_flows(port)
        }

        fn assigned(&self, port: PortId) -> Assigned {
            self.$policy.assigned(port)
        }

        fn isolated_flows(&self) -> u32 {
            self.$policy.isolated_flows()
        }
    };
}
