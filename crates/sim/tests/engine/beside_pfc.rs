//! BFC on some switches and PFC on others: BFC pauses a PFC neighbour by PFC frames, and obeys its frames.

use crate::common::{audited, run, scenario};
use backwater_scenario::Scenario;
use backwater_sim::Outcome;
use backwater_types::DropReason;

/// Returns a scenario of 6 MB to one of 32 hosts in 24 flows, with BFC at the leaves, another scheme at the spines, and
/// small buffers.
fn incast(scheme: &str, spines: &str) -> Scenario {
    let text = format!(
        "{scheme}\nswitch.buffer = \"600 KB\"\nhost.rto = \"1 ms\"\n\
         [topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 8\n\
         host_rate = \"100 Gbps\"\ncore_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\ncore_delay = \"1 us\"\n\
         [run]\nduration = \"100 us\"\nwarmup = \"0 s\"\ndrain = 300.0\n[measure]\nsample = \"10 us\"\n\
         [[workload]]\nkind = \"incast\"\ndegree = 24\naggregate = \"6 MB\"\nperiod = \"1 s\"\nstart = \"0 ns\"\n\
         to = [\"host0\"]\nfrom = [\"host8..host31\"]\n\
         [[region]]\nat = [\"spine*\"]\nscheme = \"{spines}\"\nswitch = {{ buffer = \"600 KB\" }}\n"
    );
    scenario(&text)
}

fn dropped(outcome: &Outcome) -> u64 {
    outcome.drops.iter().map(|drops| drops.packets[DropReason::Buffer as usize]).sum()
}

/// Whether PFC paused some port between the layers, at a node whose name starts with `from`.
fn holds(scenario: &Scenario, outcome: &Outcome, from: &str) -> bool {
    let graph = backwater_scenario::topology::expand(&scenario.topology);
    let name = |node: u32| graph.nodes[node as usize].name.as_str();
    outcome.ports.iter().any(|row| {
        let between = name(row.node).starts_with(from) && !name(row.peer).starts_with("host");
        between && row.total.held.pfc_paused > 0
    })
}

#[test]
fn a_neighbour_of_pfc_is_paused_and_obeyed_and_nothing_is_lost() {
    for scheme in [
        "scheme = \"bfc\"",
        "scheme = \"bfc\"\nswitch.queues = 100",
        "scheme = \"bfc-single\"",
        "scheme = \"bfc-stochastic\"",
        "scheme = \"bfc-stochastic\"\nswitch.queues = 100",
    ] {
        let of = |spines| incast(scheme, spines);
        assert!(dropped(&run(&of("fifo"))) > 0, "{scheme}: spines that obey nobody overflow or overrun the leaf");
        let scenario = of("pfc");
        let (outcome, report) = audited(&scenario, 1);
        assert!(report.faults.is_empty(), "{scheme}: {:?}", report.faults);
        assert_eq!(dropped(&outcome), 0, "{scheme}");
        assert!(holds(&scenario, &outcome, "spine"), "{scheme}: a leaf pauses the spines");
        assert!(holds(&scenario, &outcome, "leaf"), "{scheme}: and obeys them");
    }
}
