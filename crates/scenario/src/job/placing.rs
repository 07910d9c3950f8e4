//! Jobs on hosts.

use crate::job::generated;
use crate::model::{
    COLLECTIVE_FLOWS_MAX, Conventions, JobFormat, JobOverheads, JobPlacement, Scenario, Time, Workload,
};
use crate::topology::Graph;
use backwater_jobs::placed::{Local, Overheads};
use backwater_jobs::{Job, Placed, Placement};
use backwater_types::Duration;
use backwater_types::hash::{self, Stream};
use std::collections::HashMap;
use std::sync::Arc;

/// Places the job of a workload on the network, or returns where it was placed before.
///
/// # Errors
/// Why the job does not fit, in the words of a message about the scenario.
///
/// # Panics
/// If the workload has no job, or names hosts that do not exist.
pub fn placed(scenario: &Scenario, workload: &Workload, graph: &Graph) -> Result<Arc<Placed>, String> {
    let (Workload::Job { loaded, .. } | Workload::Collective { loaded, .. }) = workload else {
        unreachable!("a workload with a job")
    };
    let (job, placement) = placement(scenario, workload, graph)?;
    let same = |placed: &&Arc<Placed>| Arc::ptr_eq(placed.job(), &job) && *placed.placement() == placement;
    if let Some(placed) = loaded.placed.get().filter(same) {
        return Ok(placed.clone());
    }
    let placed = Placed::new(job.clone(), placement, graph.hosts, COLLECTIVE_FLOWS_MAX);
    let placed = Arc::new(placed.map_err(|problem| problem.to_string())?);
    // A scenario that was changed since shares the place with the one before, which keeps it.
    _ = loaded.placed.set(placed.clone());
    Ok(placed)
}

/// Checks that the job of a workload fits on the network, without the work of placing it.
///
/// # Errors
/// Those of [`placed`].
///
/// # Panics
/// As [`placed`] does.
pub(crate) fn check(scenario: &Scenario, workload: &Workload, graph: &Graph) -> Result<(), String> {
    let (job, placement) = placement(scenario, workload, graph)?;
    placement.check(&job, graph.hosts, COLLECTIVE_FLOWS_MAX).map_err(|problem| problem.to_string())
}

/// Returns the job of a workload, and where it runs.
fn placement(scenario: &Scenario, workload: &Workload, graph: &Graph) -> Result<(Arc<Job>, Placement), String> {
    match workload {
        Workload::Job { .. } => of_job(scenario, workload, graph),
        Workload::Collective { .. } => of_collective(scenario, workload, graph),
        _ => unreachable!("a workload with a job"),
    }
}

/// Numbers of the hosts with these names; all hosts if there is none.
fn numbers(graph: &Graph, names: &[String]) -> Vec<usize> {
    if names.is_empty() {
        return (0..graph.hosts).collect();
    }
    let numbers: HashMap<&str, usize> =
        graph.nodes[..graph.hosts].iter().map(|host| host.name.as_str()).zip(0..).collect();
    names.iter().map(|name| numbers[name.as_str()]).collect()
}

fn of_job(scenario: &Scenario, workload: &Workload, graph: &Graph) -> Result<(Arc<Job>, Placement), String> {
    let Workload::Job {
        hosts,
        placement,
        skip,
        ranks_per_host,
        format,
        iterations,
        eager,
        control,
        queue_pairs,
        overheads,
        local,
        loaded,
        ..
    } = workload
    else {
        unreachable!("a job")
    };
    let job = loaded.job.as_ref().expect("the job was read");
    let order = order_of(scenario, graph, numbers(graph, hosts), *placement);
    let free = &order[(*skip as usize).min(order.len())..];
    if free.len() * (*ranks_per_host as usize) < job.ranks() as usize {
        let ranks = job.ranks();
        let places = free.len() as u64 * u64::from(*ranks_per_host);
        let after = if *skip > 0 { format!(" after skip = {skip}") } else { String::new() };
        return Err(format!(
            "the job has {ranks} ranks, and its hosts take {places}{after}: expected hosts that take {ranks}"
        ));
    }
    let placement = Placement {
        hosts: (0..job.ranks()).map(|rank| free[(rank / ranks_per_host) as usize] as u16).collect(),
        // The iterations of a text workload are in the job: gradients of one overlap with the next.
        repetitions: if *format == Some(JobFormat::Simai) { 1 } else { *iterations },
        eager: eager.map_or(u64::MAX, |eager| eager.0),
        control: control.0,
        queue_pairs: *queue_pairs,
        overheads: overheads_of(overheads, &scenario.conventions),
        local: Local { latency: local.latency, rate: local.rate },
    };
    Ok((job.clone(), placement))
}

fn of_collective(scenario: &Scenario, workload: &Workload, graph: &Graph) -> Result<(Arc<Job>, Placement), String> {
    let Workload::Collective { pattern, algorithm, hosts, iterations, launch, launch_once, nccl, queue_pairs, .. } =
        workload
    else {
        unreachable!("a collective")
    };
    let hosts: Vec<u16> = numbers(graph, hosts).into_iter().map(|host| host as u16).collect();
    let tick = tick(&scenario.conventions);
    let (job, repeats) = generated::job(workload, hosts.len() as u32, tick)?;
    let algorithm = generated::kind_of(*pattern).map(|kind| generated::algorithm_of(kind, *algorithm));
    let latency = match algorithm {
        Some(algorithm) => generated::latency_of(algorithm, *nccl, (*launch, *launch_once), tick).each,
        None => Duration(launch.0.next_multiple_of(tick)),
    };
    let placement = Placement {
        hosts,
        repetitions: if repeats { *iterations } else { 1 },
        eager: u64::MAX,
        control: 1,
        queue_pairs: *queue_pairs,
        overheads: Overheads { latency, ..Overheads::default() },
        local: Local::default(),
    };
    Ok((job, placement))
}

/// Returns hosts in the order in which ranks take them.
fn order_of(scenario: &Scenario, graph: &Graph, mut hosts: Vec<usize>, placement: JobPlacement) -> Vec<usize> {
    match placement {
        JobPlacement::Packed => {}
        JobPlacement::Strided => {
            // `[switch]`: hosts taken from it.
            let mut taken = vec![0; graph.nodes.len()];
            let mut turns: Vec<(u32, usize)> = Vec::with_capacity(hosts.len());
            for host in &hosts {
                let turn = &mut taken[graph.switch_of(*host)];
                turns.push((*turn, *host));
                *turn += 1;
            }
            turns.sort_by_key(|(turn, _)| *turn);
            hosts = turns.into_iter().map(|(_, host)| host).collect();
        }
        JobPlacement::Random => {
            let mut draws = Stream::new(scenario.seed, 0x706c_6163, 0);
            for left in (1..hosts.len()).rev() {
                hosts.swap(left, hash::range32(draws.next_u32(), left as u32 + 1) as usize);
            }
        }
    }
    hosts
}

fn overheads_of(of: &JobOverheads, conventions: &Conventions) -> Overheads {
    let whole = |time: Duration| Duration(time.0.next_multiple_of(tick(conventions)));
    let JobOverheads { message, message_byte, gap, gap_byte, latency, gap_at_receiver } = *of;
    Overheads {
        message: whole(message),
        byte: message_byte,
        gap: whole(gap),
        gap_byte,
        latency: whole(latency),
        gap_at_receiver,
    }
}

/// Shortest time that hosts tell apart, picoseconds.
pub fn tick(conventions: &Conventions) -> u64 {
    if conventions.time == Time::WholeNs { 1000 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology;
    use backwater_jobs::Work;
    use std::path::Path;

    /// The collective of a scenario on its hosts, with these keys.
    fn collective(keys: &str) -> Result<Arc<Placed>, String> {
        let text = format!(
            "scheme = \"bfc\"\n[topology]\nkind = \"single-switch\"\nhosts = 4\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\
             [run]\nduration = \"1 ms\"\n[[workload]]\nkind = \"collective\"\nbytes = \"4 KB\"\n{keys}\n"
        );
        let plan = crate::load_str(&text, Path::new("."), "s.toml", &[], None).map_err(|error| error.to_string())?;
        let scenario = &plan.runs[0].scenario;
        placed(scenario, &scenario.workload[0], &topology::expand(&scenario.topology))
    }

    #[test]
    fn a_protocol_of_nccl_has_a_latency_once_and_one_for_each_message() {
        let latencies = |keys: &str| {
            let placed = collective(keys).expect(keys);
            let first = placed.job().op(0, 0).work;
            let once = if let Work::Calc(time) = first { time } else { Duration::ZERO };
            (once, placed.placement().overheads.latency)
        };
        let us = |once: u64, each: u64| (Duration::from_ns(once), Duration::from_ns(each));
        let tree = "pattern = \"all-reduce\"\nalgorithm = \"double-binary-tree\"\n";
        assert_eq!(latencies("pattern = \"ring\"\nnccl = \"ll\""), us(6_600, 2_700));
        assert_eq!(latencies("pattern = \"all-gather\"\nnccl = \"ll128\""), us(14_000, 4_000));
        assert_eq!(latencies(&format!("{tree}nccl = \"simple\"")), us(8_400, 14_000));
        let own = format!("{tree}launch = \"3 us\"\nlaunch_once = \"2500 ns\"");
        assert_eq!(latencies(&own), us(2_500, 3_000));
        let refused = |keys: &str, said: &str| {
            let error = collective(keys).expect_err(keys);
            assert!(error.contains(said), "{error}");
        };
        refused(
            "pattern = \"ring\"\nnccl = \"ll\"\nlaunch = \"1 us\"",
            "workload.0.launch = \"1 us\": expected none beside nccl",
        );
        refused("pattern = \"all-to-all\"\nnccl = \"ll\"", "NCCL has latencies of rings and double binary trees");
        refused("pattern = \"pipeline\"\nlaunch_once = \"1 us\"", "a pipeline has no first step: expected none");
        refused("pattern = \"ring\"\nlaunch_once = \"2 s\"", "workload.0.launch_once = \"2 s\": expected at most 1 s");
    }
}
