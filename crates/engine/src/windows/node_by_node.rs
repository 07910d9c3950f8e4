//! Windows node by node: one node after another runs through the whole window.

use crate::host::params::{HostParams, Report};
use crate::host::port::{ARRIVAL, EndHost, EventContext, LINK, PORT};
use crate::link::Transit;
use crate::node_by_node::NodeByNode;
use crate::nodes::Nodes;
use crate::observe::Observer;
use crate::switch_node::SwitchNode;
use crate::windows::Windows;
use backwater_dataplane::DataPlane;
use backwater_fabric::flow::Flow;
use backwater_types::{Extension, Instant, PortId};

impl<E: Extension, H, D, O: Observer> Windows<H, D, O> for NodeByNode<E>
where
    H: EndHost<Schedule = NodeByNode<E>>,
    D: DataPlane<Extension = E>,
{
    fn begin(nodes: &mut Nodes<H, D>) {
        let hosts = nodes.hosts.iter().map(|host| host.port().agenda.next());
        let switches = nodes.switches.iter().map(|switch| switch.links.agenda.next());
        nodes.transit.schedule.next = hosts.chain(switches).collect();
    }

    fn announce(nodes: &mut Nodes<H, D>, flow: Flow) {
        let host = nodes.announce_at_source(flow);
        nodes.transit.schedule.wake(host, flow.at);
    }

    fn next(nodes: &Nodes<H, D>) -> Instant {
        nodes.transit.schedule.next_event()
    }

    fn run_window(
        nodes: &mut Nodes<H, D>,
        end: Instant,
        params: &HostParams<H::Params>,
        report: &mut dyn FnMut(Instant, Report),
        observer: &mut O,
    ) {
        let (hosts, transit) = (nodes.hosts.len(), &mut nodes.transit);
        for (i, host) in nodes.hosts.iter_mut().enumerate() {
            if transit.schedule.next[i] < end {
                let port = host.port_mut();
                if !transit.schedule.woken[i].is_empty() {
                    transit.schedule.woken[i].clear();
                    port.agenda.set(LINK, transit.schedule.head(port.link_in));
                }
                run_host(host, end, params, transit, report, observer);
                transit.schedule.next[i] = host.port().agenda.next();
            }
        }
        for (i, switch) in nodes.switches.iter_mut().enumerate() {
            let i = hosts + i;
            if transit.schedule.next[i] < end {
                while let Some(port) = transit.schedule.woken[i].pop() {
                    let link = switch.links.ports[port as usize].link_in;
                    switch.links.agenda.set(port as usize, transit.schedule.head(link));
                }
                run_switch(switch, end, transit, observer);
                transit.schedule.next[i] = switch.links.agenda.next();
            }
        }
    }
}

#[inline]
fn run_host<E: Extension, H: EndHost<Schedule = NodeByNode<E>>, O: Observer>(
    host: &mut H,
    end: Instant,
    params: &HostParams<H::Params>,
    transit: &mut Transit<NodeByNode<E>>,
    report: &mut dyn FnMut(Instant, Report),
    observer: &mut O,
) {
    host.prefetch(transit.schedule.in_flight[host.port().link_in as usize].before(end));
    let w = &mut EventContext { now: Instant::ZERO, params, transit, report, observer };
    while let Some((now, leaf)) = host.port().agenda.first_before(end) {
        w.now = now;
        match leaf {
            LINK => {
                let port = host.port_mut();
                let ((), packet, next) = w.transit.schedule.take(port.link_in);
                port.agenda.set(LINK, next);
                host.arrive(w, packet);
            }
            PORT => host.free(w),
            ARRIVAL => {
                while let Some(flow) = host.port_mut().arrival(now) {
                    host.start(w, flow);
                }
                host.port_mut().await_arrival();
                host.started(w);
            }
            _ => host.timer(w, 0),
        }
        w.observer.host_settled(now, host.port().id as usize, &host.port().last, &|slot, flow| {
            host.send_state(params, now, slot, flow)
        });
    }
}

#[inline]
fn run_switch<D: DataPlane, O: Observer>(
    switch: &mut SwitchNode<D, NodeByNode<D::Extension>>,
    end: Instant,
    transit: &mut Transit<NodeByNode<D::Extension>>,
    observer: &mut O,
) {
    let ports = switch.links.ports.len();
    switch.prefetch(end, &transit.schedule.in_flight);
    while let Some((now, leaf)) = switch.links.agenda.first_before(end) {
        if leaf < ports {
            let link = switch.links.ports[leaf].link_in;
            let ((), packet, next) = transit.schedule.take(link);
            switch.links.agenda.set(leaf, next);
            switch.arrive(now, leaf as PortId, packet, transit, observer);
        } else if leaf < 2 * ports {
            switch.free(now, (leaf - ports) as PortId, transit, observer);
        } else {
            switch.timer(now, transit, observer);
        }
        observer.settled(now, switch.id(), switch.plane.readings());
    }
}
