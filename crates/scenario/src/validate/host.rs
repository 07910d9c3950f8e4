//! What every host does.

use backwater_types::Duration;

use super::{Doc, Net};
use crate::error::Error;
use crate::model::{AckClass, Hosts, Window};

/// No timer of a host is longer: ten seconds.
const TIMER_MAX: Duration = Duration(10_000_000_000_000);

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
    let used = host.ack_class == AckClass::High || doc.scenario.conventions.hosts == Hosts::HpccSim;
    doc.need(used, "host.ack_class", || "a NIC whose ACKs are paused needs conventions.hosts = \"hpcc-sim\"".into())?;
    let timer = |key: &str, value: Duration, least: u64| {
        let within = (least..=TIMER_MAX.0).contains(&value.0);
        let low = if least == 0 { "0" } else { "more than 0" };
        doc.need(within, key, || format!("expected {low} and at most {TIMER_MAX}"))
    };
    timer("host.rto", host.rto, 1)?;
    timer("host.nack_guard", host.nack_guard, 0)?;
    timer("host.delay", host.delay, 0)?;

    let dctcp = &host.dctcp;
    doc.need(dctcp.g > 0.0 && dctcp.g <= 1.0, "host.dctcp.g", || "expected more than 0 and at most 1".into())?;
    doc.need(dctcp.additive_increase.0 > 0, "host.dctcp.additive_increase", || "expected more than 0 bps".into())?;
    let slowest = net.graph.links[..net.graph.hosts].iter().map(|link| link.rate).min().unwrap_or_default();
    let within = dctcp.min_rate.0 > 0 && dctcp.min_rate <= slowest;
    doc.need(within, "host.dctcp.min_rate", || {
        format!("expected more than 0 and at most the slowest host link, {slowest}")
    })
}
