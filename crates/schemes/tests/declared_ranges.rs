//! The bounds of numbers in the schema are those that [`Ranges`] checks: the schema declares no range of its own.

use backwater_schemes::{Host, Switch};
use backwater_types::{OutOfRange, Ranges};
use serde_json::{Map, Value as Json, json};

/// A declared bound: its dotted key, a value beside it that is allowed, and the first value that is not.
#[derive(Debug)]
struct Bound {
    key: String,
    allowed: Json,
    refused: Json,
}

/// Collects the bounds of all numbers below a node of a schema. The widths of integer types are no bounds.
fn bounds(root: &Json, node: &Json, key: &str, found: &mut Vec<Bound>) {
    let choices = node.get("anyOf").and_then(Json::as_array).into_iter().flatten();
    choices.filter(|choice| choice["type"] != "null").for_each(|choice| bounds(root, choice, key, found));
    if let Some(name) = node["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        bounds(root, &root["$defs"][name], key, found);
    }
    for (name, inner) in node["properties"].as_object().unwrap_or(&Map::new()) {
        bounds(root, inner, &if key.is_empty() { name.clone() } else { format!("{key}.{name}") }, found);
    }
    let is = |name: &str| node["type"] == name || node["type"].as_array().is_some_and(|all| all[0] == name);
    let mut add = |allowed: Json, refused: Json| found.push(Bound { key: key.into(), allowed, refused });
    if is("integer") {
        let at = |name: &str| node[name].as_i64();
        let widths = [u8::MAX.into(), u16::MAX.into(), u32::MAX.into()];
        at("minimum").filter(|least| *least > 0).into_iter().for_each(|least| add(json!(least), json!(least - 1)));
        let most = at("maximum").filter(|most| !widths.contains(most));
        most.into_iter().for_each(|most| add(json!(most), json!(most + 1)));
    } else if is("number") {
        let at = |name: &str| node[name].as_f64().into_iter();
        at("minimum").for_each(|least| add(json!(least), json!(least - 1e-4)));
        at("maximum").for_each(|most| add(json!(most), json!(most + 1e-4)));
        at("exclusiveMinimum").for_each(|above| add(json!(above + 1e-4), json!(above)));
        at("exclusiveMaximum").for_each(|below| add(json!(below - 1e-4), json!(below)));
    }
}

/// Checks each bound of `schema` by replacing one value of `base`.
fn agree(schema: &Json, base: &Json, check: impl Fn(Json) -> Result<(), OutOfRange>) -> Vec<String> {
    let mut found = Vec::new();
    bounds(schema, schema, "", &mut found);
    for Bound { key, allowed, refused } in &found {
        let with = |value: &Json| {
            let mut changed = base.clone();
            let place = key.split('.').fold(&mut changed, |at, step| &mut at[step]);
            *place = value.clone();
            check(changed)
        };
        let Err(wrong) = with(refused) else { panic!("{key} = {refused}: the schema refuses it") };
        assert_eq!(wrong.key, *key, "{key} = {refused}");
        // A value that its own range allows may still be too large or too small beside another.
        let fits = with(allowed);
        assert!(fits.is_ok() || fits.as_ref() != Err(&wrong), "{key} = {allowed}: the schema allows it; {fits:?}");
    }
    found.into_iter().map(|bound| bound.key).collect()
}

#[test]
fn hosts_are_checked_as_their_schema_says() {
    let base = serde_json::to_value(Host::default()).unwrap();
    let check = |json| serde_json::from_value::<Host>(json).unwrap().check_tables();
    let keys = agree(&schemars::schema_for!(Host).to_value(), &base, check);
    for key in ["dctcp.g", "hpcc.hops", "hpcc.utilization", "swift.max_cut", "tcp.g", "homa.levels"] {
        assert_eq!(keys.iter().filter(|one| *one == key).count(), 2, "{key}: two ends");
    }
}

#[test]
fn switches_are_checked_as_their_schema_says() {
    let mut base = serde_json::to_value(Switch::default()).unwrap();
    base["ecn"] = json!({ "kmin": "1 KB", "kmax": "2 KB", "pmax": 1.0 });
    base["pool_ecn"] = base["ecn"].clone();
    base["bfc"]["credits"] = json!({});
    base["bfc"]["tofino"] = json!({});
    base["flowsail"]["sketch"] = json!({ "rows": 2, "columns": 1024 });
    let check = |json| {
        let switch: Switch = serde_json::from_value(json).unwrap();
        switch.check_tables()?;
        switch.ecn.iter().try_for_each(|ecn| ecn.check().map_err(|wrong| wrong.within("ecn")))?;
        switch.pool_ecn.iter().try_for_each(|ecn| ecn.check().map_err(|wrong| wrong.within("pool_ecn")))
    };
    let keys = agree(&schemars::schema_for!(Switch).to_value(), &base, check);
    for key in ["bfc.sampling", "bfc.credits.alpha", "bfc.tofino.recirc_share", "ecn.pmax", "flowsail.sketch.rows"] {
        assert_eq!(keys.iter().filter(|one| *one == key).count(), 2, "{key}: two ends");
    }
}
