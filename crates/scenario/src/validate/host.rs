//! Hosts.

use backwater_types::{Duration, PERIOD_MIN, TIMER_MAX};

use super::{Doc, Net, PRIORITIES};
use crate::error::Error;
use crate::model::{AckClass, Connections, Grain, Hosts, LossRecovery, Switch, Transport, Window};

/// Longest timeout: RFC 6298 allows a minute and more.
const RTO_MAX: Duration = Duration(64_000_000_000_000);
/// Most hosts with a window for each pair, which take some 20 bytes a pair while a network is built.
const PAIRED_HOSTS_MAX: usize = 8192;

pub(super) fn check(doc: &Doc, net: &Net) -> Result<(), Error> {
    let host = &doc.scenario.host;
    doc.need((64..=9000).contains(&host.payload.0), "host.payload", || "expected 64 B to 9000 B".into())?;
    doc.need((1..=512).contains(&host.header.0), "host.header", || "expected 1 B to 512 B".into())?;
    doc.need((20..=1500).contains(&host.ack.0), "host.ack", || "expected 20 B to 1500 B".into())?;
    if let Some(Window::Size(window)) = host.window {
        let within = (host.payload.0..=1 << 40).contains(&window.0);
        doc.need(within, "host.window", || {
            format!("expected at least host.payload ({}) and at most 1 TiB", host.payload)
        })?;
    }
    let paired = host.window != Some(Window::PairBdp) || net.graph.hosts <= PAIRED_HOSTS_MAX;
    doc.need(paired, "host.window", || {
        format!("a window for each pair of {} hosts takes too much memory; expected at most {PAIRED_HOSTS_MAX} hosts, or \"base-bdp\"", net.graph.hosts)
    })?;
    let used = host.ack_class == AckClass::High || doc.scenario.conventions.hosts == Hosts::HpccSim;
    doc.need(used, "host.ack_class", || "a NIC whose ACKs are paused needs conventions.hosts = \"hpcc-sim\"".into())?;
    doc.need(host.ack_priority < PRIORITIES, "host.ack_priority", || format!("expected 0 to {}", PRIORITIES - 1))?;
    let early = host.ack_from.0 <= 1 || doc.scenario.conventions.hosts == Hosts::HpccSim;
    doc.need(early, "host.ack_from", || {
        "receivers that do not acknowledge every packet need conventions.hosts = \"hpcc-sim\"; expected \"1 B\"".into()
    })?;
    doc.need(host.ack_chunk.0 > 0, "host.ack_chunk", || "expected more than 0 B".into())?;
    let timer = |key: &str, value: Duration, least: u64| {
        let within = (least..=TIMER_MAX.0).contains(&value.0);
        let low = if least == 0 { "0" } else { "more than 0" };
        doc.need(within, key, || format!("expected {low} and at most {TIMER_MAX}"))
    };
    timer("host.rto", host.rto, 1)?;
    timer("host.nack_guard", host.nack_guard, 0)?;
    timer("host.delay", host.delay, 0)?;

    host.check_tables().map_err(|wrong| doc.wrong(&format!("host.{}", wrong.key), wrong.problem()))?;
    check_tcp(doc)?;
    check_fifo(doc)?;
    check_homa(doc)?;
    check_srf(doc)?;
    check_recovery(doc)?;
    let dctcp = &host.dctcp;
    let slowest = net.graph.links[..net.graph.hosts].iter().map(|link| link.rate).min().unwrap_or_default();
    // Parameters of transports that are not in use may be out of range for a slow link.
    let used = host.transport == Transport::Dctcp;
    let within = dctcp.min_rate.0 > 0 && (dctcp.min_rate <= slowest || !used);
    let expected = || format!("expected more than 0 and at most the slowest host link, {slowest}");
    doc.need(within, "host.dctcp.min_rate", expected)?;
    match host.min_rate() {
        Some((table, rate)) => doc.need(rate <= slowest, &format!("host.{table}.min_rate"), expected),
        None => Ok(()),
    }
}

/// Checks TCP, and its combinations.
fn check_tcp(doc: &Doc) -> Result<(), Error> {
    let (host, tcp) = (&doc.scenario.host, &doc.scenario.host.tcp);
    let full = doc.full_packet();
    doc.need(host.nic_buffer >= full, "host.nic_buffer", || format!("expected at least one full packet, {full}"))?;
    if host.transport != Transport::Tcp {
        return doc.need(!host.nic_marks, "host.nic_marks", || {
            "the NIC of this transport takes packets from flows and has no queue; expected false, or transport = \"tcp\"".into()
        });
    }
    let rto_max = (host.rto..=RTO_MAX).contains(&tcp.rto_max);
    doc.need(rto_max, "host.tcp.rto_max", || format!("expected host.rto = {} to {RTO_MAX}", host.rto))?;
    let delay = tcp.ack_delay > Duration::ZERO && tcp.ack_delay < host.rto;
    doc.need(delay, "host.tcp.ack_delay", || format!("expected more than 0 and less than host.rto = {}", host.rto))?;
    let opens = tcp.handshake || tcp.connections == Connections::PerFlow || tcp.open == 2;
    doc.need(opens, "host.tcp.open", || {
        "without a handshake connections are not opened; expected the default, 2".into()
    })
}

/// Checks transports whose NIC is a FIFO that takes all their packets.
fn check_fifo(doc: &Doc) -> Result<(), Error> {
    let (name, nic, in_its_place) = match doc.scenario.host.transport {
        Transport::Tcp => ("TCP", "the NIC of a TCP host is one FIFO", "TCP uses host.tcp.max_window instead"),
        Transport::Expresspass => {
            ("ExpressPass", "the NIC of an ExpressPass host is one FIFO", "credits limit what a host may send")
        }
        _ => return Ok(()),
    };
    doc.need(doc.scenario.host.window.is_none(), "host.window", || format!("{in_its_place}; expected none"))?;
    check_nic(doc, name, nic)
}

/// Checks Homa, and its combinations.
fn check_homa(doc: &Doc) -> Result<(), Error> {
    if doc.scenario.host.transport != Transport::Homa {
        return Ok(());
    }
    doc.need(doc.scenario.host.window != Some(Window::PairBdp), "host.window", || {
        "receivers grant the same amount to every message, however long its path; expected \"base-bdp\", \"bdp\" or a size".into()
    })?;
    let rto = doc.scenario.host.rto;
    doc.need(rto >= PERIOD_MIN, "host.rto", || {
        format!("receivers ask for missing packets once in this period; expected {PERIOD_MIN} or more")
    })?;
    check_nic(doc, "Homa", "the NIC of a Homa host chooses the message with the fewest bytes left")
}

/// Checks shortest remaining flow first, and its combinations.
fn check_srf(doc: &Doc) -> Result<(), Error> {
    if doc.scenario.host.transport != Transport::Srf {
        return Ok(());
    }
    check_rings(doc, "shortest remaining flow first")?;
    let by_flow = |switch: &Switch| switch.grain() == Grain::Flow;
    let all = std::iter::once(&doc.scenario.switch).chain(doc.scenario.region.iter().map(|region| &region.switch));
    doc.need(!all.into_iter().any(by_flow), "host.transport", || {
        "its NIC obeys pauses of queues, and not pauses of single flows; expected another transport, or switch.backpressure = \"none\", \
         \"pfc\" or \"bfc\""
            .into()
    })
}

/// Checks selective retransmission, and its combinations.
fn check_recovery(doc: &Doc) -> Result<(), Error> {
    let host = &doc.scenario.host;
    if host.recovery == LossRecovery::GoBackN {
        return Ok(());
    }
    let own = matches!(host.transport, Transport::Tcp | Transport::Expresspass | Transport::Homa | Transport::Srf);
    doc.need(!own, "host.recovery", || {
        "this transport has its own way to recover from loss; expected \"go-back-n\", or another transport".into()
    })?;
    doc.need(doc.scenario.conventions.hosts == Hosts::Rings, "host.recovery", || {
        "hosts of HPCC's simulator have no selective retransmission; expected \"go-back-n\"".into()
    })?;
    let sized = matches!(host.window, Some(Window::Size(_)));
    let capped = host.window != Some(Window::None) && (host.transport != Transport::LineRate || sized);
    doc.need(capped, "host.window", || {
        let problem = "host.recovery = \"selective\" keeps a bit for each packet of a window; expected ";
        let line_rate = host.transport == Transport::LineRate;
        problem.to_string() + if line_rate { "a size, or transport = \"window\"" } else { "a window" }
    })
}

/// Refuses hosts of HPCC's simulator, which have no NIC for this transport.
fn check_rings(doc: &Doc, name: &str) -> Result<(), Error> {
    let rings = doc.scenario.conventions.hosts == Hosts::Rings;
    doc.need(rings, "host.transport", || {
        format!("hosts of HPCC's simulator do not speak {name}; expected another transport")
    })
}

/// Refuses pauses finer than PFC's, which the transport's own NIC does not obey.
fn check_nic(doc: &Doc, name: &str, nic: &str) -> Result<(), Error> {
    check_rings(doc, name)?;
    let fine = |switch: &Switch| switch.grain().is_fine();
    doc.need(!fine(&doc.scenario.switch), "host.transport", || {
        format!(
            "{nic}, which only PFC can pause; expected another transport, or switch.backpressure = \"none\" or \
             \"pfc\""
        )
    })?;
    let region = doc.scenario.region.iter().position(|region| fine(&region.switch));
    doc.need(region.is_none(), "host.transport", || {
        let region = region.unwrap_or(0);
        format!("region {region} pauses queues or flows, which the NIC of a {name} host does not obey; expected another transport")
    })
}
