//! A flow alone in the network takes exactly the closed form, to the picosecond.

use backwater_scenario::load_str;
use backwater_sim::{Simulation, Watch};
use std::path::Path;

/// Slowdown of one flow of `bytes` from the first to the last host of `topology`.
fn slowdown(scheme: &str, topology: &str, bytes: u64) -> f64 {
    let text = format!(
        "scheme = \"{scheme}\"\n{topology}\n[run]\nduration = \"10 us\"\nwarmup = \"0 us\"\ndrain = 1000.0\n\
         [[workload]]\nkind = \"long-lived\"\ncount = 1\nfrom = [\"host0\"]\nto = [\"host5\"]\nsize = \"{bytes} B\"\n"
    );
    let plan = load_str(&text, Path::new("."), "lone", &[], None).unwrap();
    let outcome = Simulation::new(&plan.runs[0].scenario, 1).run(&Watch::default());
    outcome.flows().next().unwrap().slowdown
}

#[test]
fn takes_the_closed_form_over_one_to_six_switches() {
    for switches in 1..=6 {
        let hosts = if switches == 1 { 6 } else { 6usize.div_ceil(switches).max(if switches == 2 { 3 } else { 1 }) };
        let topology = format!(
            "[topology]\nkind = \"chain\"\nswitches = {switches}\nhosts_per_switch = {hosts}\nrate = \"100 Gbps\"\ndelay = \"1 us\""
        );
        for scheme in ["bfc", "dctcp", "ideal-fq", "pfc", "fifo"] {
            // A window below the path's bandwidth-delay product would be the bound, rightly.
            let topology = format!("{topology}\n[host]\nwindow = \"1 MB\"\n");
            for bytes in [1, 999, 1000, 1001, 20_500, 10_000_000] {
                assert_eq!(slowdown(scheme, &topology, bytes), 1.0, "{scheme}, {switches} switches, {bytes} B");
            }
        }
    }
}
