//! Layers of one run's document, lowest first: preset of the scheme, profile, chip, keys of the file with variant,
//! point of the sweep and `--set` in this order; and the same again for the switches of each region.

use crate::document::{Node, Place, Table, Value};
use crate::error::Error;
use crate::plan::sources::{Override, refuse_plan_key};
use crate::suggest::expected;
use crate::{chips, merge, presets, validate};

/// Sets the keys of `overrides` in turn.
pub(super) fn overridden<'a>(
    mut table: Table,
    overrides: impl Iterator<Item = (&'a str, &'a Node)>,
) -> Result<Table, Error> {
    for (key, node) in overrides {
        refuse_plan_key(key, node)?;
        merge::assign(&mut table, key, node.clone())?;
    }
    Ok(table)
}

/// Borrows overrides as pairs of key and value.
pub(super) fn pairs(overrides: &[Override]) -> impl Iterator<Item = (&str, &Node)> {
    overrides.iter().map(|(key, node)| (key.as_str(), node))
}

/// Lays the keys of a run over the preset of their scheme, with the profile and the chip between, and does so for each
/// region.
pub(super) fn over_preset(own: Table, scheme: &str) -> Result<Table, Error> {
    validate::check_scheme(scheme).map_err(|problem| own["scheme"].error("scheme", problem))?;
    let profile = own.get("compat").and_then(Node::text).map(String::from);
    let mut table = preset(scheme, profile.as_deref());
    let below =
        table.entry("switch".into()).or_insert_with(|| Node { value: Value::Table(Table::new()), place: Place::Json });
    let chip = chip_of(&[own.get("switch").and_then(|own| own.get("chip")), below.get("chip")], "switch")?;
    if let Value::Table(below) = &mut below.value {
        merge::merge(below, chip);
    }
    merge::merge(&mut table, own);
    lay_regions(&mut table, scheme, profile.as_deref())?;
    Ok(table)
}

/// Keys of a scheme that is known, with those of the profile on top.
fn preset(scheme: &str, profile: Option<&str>) -> Table {
    let mut keys = presets::preset(scheme).expect("just checked").clone();
    if let Some(profile) = profile.and_then(|profile| presets::profile(profile, scheme)) {
        merge::merge(&mut keys, profile);
    }
    keys
}

/// Keys of the first chip that is named, in the table `key`; no keys without a chip.
fn chip_of(named: &[Option<&Node>], key: &str) -> Result<Table, Error> {
    let named = named.iter().find_map(|node| *node);
    let Some((node, name)) = named.and_then(|node| Some((node, node.text()?))) else { return Ok(Table::new()) };
    chips::chip(name).cloned().ok_or_else(|| {
        let names: Vec<&str> = chips::chips().iter().map(|chip| chip.name).collect();
        node.error(format!("{key}.chip"), format!("unknown chip; {}", expected(name, &names, "backwater list chips")))
    })
}

/// Lays the switch of each region over that of its scheme; where this is the scenario's, over the scenario's own
/// switch.
fn lay_regions(table: &mut Table, scheme: &str, profile: Option<&str>) -> Result<(), Error> {
    let switch = table.get("switch").and_then(Node::table).cloned().unwrap_or_default();
    let Some(Value::Array(regions)) = table.get_mut("region").map(|node| &mut node.value) else { return Ok(()) };
    for (i, region) in regions.iter_mut().enumerate() {
        let place = region.place.clone();
        let Value::Table(region) = &mut region.value else { continue };
        let scheme_of = Node { value: Value::Text(scheme.into()), place: place.clone() };
        let scheme_of = region.entry("scheme".into()).or_insert(scheme_of).clone();
        let Some(name) = scheme_of.text() else { continue };
        let mut below = if name == scheme {
            switch.clone()
        } else {
            let key = format!("region.{i}.scheme");
            validate::check_scheme(name).map_err(|problem| scheme_of.error(key, problem))?;
            preset(name, profile).remove("switch").map(Node::into_table).unwrap_or_default()
        };
        let own = match region.get("switch") {
            None => Table::new(),
            Some(node) => match node.table() {
                Some(own) => own.clone(),
                None => continue,
            },
        };
        let chip = chip_of(&[own.get("chip"), below.get("chip")], &format!("region.{i}.switch"))?;
        merge::merge(&mut below, chip);
        merge::merge(&mut below, own);
        let place = region.get("switch").map_or(place, |node| node.place.clone());
        region.insert("switch".into(), Node { value: Value::Table(below), place });
    }
    Ok(())
}
