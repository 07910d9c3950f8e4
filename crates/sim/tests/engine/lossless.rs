//! BFC with credits drops nothing for lack of buffer, where plain BFC does.

use crate::common::{audited, cases, run, scenario};
use backwater_scenario::Scenario;
use backwater_sim::Outcome;
use backwater_types::DropReason;

/// Returns a scenario of 10 MB to one of 32 hosts in 2000 simultaneous flows, with switches of 1 MB.
fn incast(scheme: &str, more: &str) -> Scenario {
    let text = format!(
        "scheme = \"{scheme}\"\nhost.rto = \"20 ms\"\nswitch.buffer = \"1 MB\"\n{more}\
         [topology]\nkind = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 8\n\
         host_rate = \"100 Gbps\"\ncore_rate = \"100 Gbps\"\nhost_delay = \"1 us\"\ncore_delay = \"1 us\"\n\
         [run]\nduration = \"100 us\"\nwarmup = \"0 s\"\ndrain = 300.0\n[measure]\nsample = \"10 us\"\n\
         [[workload]]\nkind = \"incast\"\ndegree = 2000\naggregate = \"10 MB\"\nperiod = \"1 s\"\nstart = \"0 ns\"\n"
    );
    scenario(&text)
}

fn dropped(outcome: &Outcome) -> u64 {
    outcome.drops.iter().map(|drops| drops.packets[DropReason::Buffer as usize]).sum()
}

#[test]
fn two_thousand_to_one_loses_nothing_with_credits() {
    assert!(dropped(&run(&incast("bfc", ""))) > 100, "plain BFC does");
    let more = [
        "",
        "switch.bfc.early_resume = true\n",
        "switch.bfc.pipelines = 4\nswitch.bfc.tofino = { tail_fifo = \"0 B\" }\n",
    ];
    // Auditing thousands of packets at every event takes seconds each.
    for more in &more[..cases(1, 3) as usize] {
        let (outcome, report) = audited(&incast("bfc-credit", more), 1);
        assert!(report.faults.is_empty(), "{more}: {:?}", report.faults);
        assert_eq!(dropped(&outcome), 0, "{more}");
        let packets: u64 = outcome.retransmitted.iter().map(u64::from).sum();
        assert_eq!(packets, 0, "{more}: nothing is sent again");
        let most = outcome.samples.buffers.0.iter().map(|sample| sample.bytes).max();
        assert!(most > Some(500_000), "{more}: the buffer is used, {most:?}");
    }
}
