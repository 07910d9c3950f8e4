//! Links that lose frames or go down.

use std::collections::HashSet;

use super::{Doc, Net};
use crate::error::Error;

pub(super) fn check(doc: &Doc, net: &Net) -> Result<(), Error> {
    let links: HashSet<(usize, usize)> = net.graph.links.iter().map(|link| ordered(link.a, link.b)).collect();
    let mut faulty = HashSet::new();
    let mut common = None;
    for (i, fault) in doc.scenario.fault.iter().enumerate() {
        let key = |field: &str| format!("fault.{i}.{field}");
        let mut ends = [0; 2];
        for (end, name) in fault.link.iter().enumerate() {
            ends[end] = net.node(name).map_err(|problem| doc.wrong(&key(&format!("link.{end}")), problem))?;
        }
        let link = ordered(ends[0], ends[1]);
        doc.need(links.contains(&link), &key("link"), || {
            "no link joins these two: expected the two ends of a link".into()
        })?;
        doc.need(faulty.insert(link), &key("link"), || {
            "an earlier [[fault]] is about this link: expected one per link".into()
        })?;
        for (field, share) in [("loss", fault.loss), ("control_loss", fault.control_loss)] {
            doc.need((0.0..1.0).contains(&share), &key(field), || "expected 0 to below 1".into())?;
        }
        let one = !fault.common || *common.get_or_insert(fault.loss) == fault.loss;
        doc.need(one, &key("loss"), || {
            format!("links with common = true share one loss: expected {}", common.unwrap_or_default())
        })?;
        for (n, [down, up]) in fault.down.iter().enumerate() {
            let key = key(&format!("down.{n}"));
            doc.need(down < up, &key, || "expected [down, up] with down before up".into())?;
            let clear = n == 0 || fault.down[n - 1][1] <= *down;
            doc.need(clear, &key, || "expected intervals in order that do not overlap".into())?;
        }
    }
    Ok(())
}

fn ordered(a: usize, b: usize) -> (usize, usize) {
    (a.min(b), a.max(b))
}
