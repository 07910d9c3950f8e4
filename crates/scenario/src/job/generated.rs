//! Collectives as jobs.

use crate::model::{CollectiveAlgorithm, Pattern, Workload};
use backwater_jobs::Job;
use backwater_jobs::collective::{Algorithm, Collective, Kind, pipeline};
use backwater_types::Duration;
use std::sync::Arc;

/// Makes the job of one iteration of a collective, or returns it if it was made before; also whether it is repeated. A
/// pipeline is not: its iterations are microbatches, which may overtake one another.
///
/// # Errors
/// If the algorithm cannot do this, in the words of a message about the scenario.
pub(crate) fn job(workload: &Workload, ranks: u32, tick: u64) -> Result<(Arc<Job>, bool), String> {
    let Workload::Collective { pattern, loaded, .. } = workload else { unreachable!("a collective") };
    let repeats = *pattern != Pattern::Pipeline;
    let from = format!("{workload:?}, {ranks} ranks, {tick}");
    if let Some((_, job)) = loaded.generated.get().filter(|(made_from, _)| *made_from == from) {
        return Ok((job.clone(), repeats));
    }
    let job = Arc::new(generate(workload, ranks, tick)?);
    _ = loaded.generated.set((from, job.clone()));
    Ok((job, repeats))
}

fn generate(workload: &Workload, n: u32, tick: u64) -> Result<Job, String> {
    let Workload::Collective {
        pattern,
        algorithm,
        bytes,
        iterations,
        compute,
        reduce_rate,
        channels,
        chunks,
        slots,
        by_steps,
        ..
    } = workload
    else {
        unreachable!("a collective")
    };
    let compute = Duration(compute.0.next_multiple_of(tick));
    let kind = match pattern {
        Pattern::Pipeline => return pipeline(n, bytes.0, *iterations, compute).map_err(|problem| problem.to_string()),
        Pattern::Ring | Pattern::AllReduce => Kind::AllReduce,
        Pattern::AllToAll => Kind::AllToAll,
        Pattern::ReduceScatter => Kind::ReduceScatter,
        Pattern::AllGather => Kind::AllGather,
        Pattern::Broadcast => Kind::Broadcast,
        Pattern::Reduce => Kind::Reduce,
        Pattern::Barrier => Kind::Barrier,
    };
    let ranks: Vec<u32> = (0..n).collect();
    let algorithm = algorithm_of(kind, *algorithm);
    let collective = Collective {
        channels: *channels,
        chunks: *chunks,
        slots: *slots,
        compute,
        reduce_rate: *reduce_rate,
        ..Collective::new(kind, algorithm, &ranks, bytes.0)
    };
    collective.job(*by_steps).map_err(|problem| problem.to_string())
}

/// Algorithm of a collective, by default the usual one.
pub(crate) fn algorithm_of(kind: Kind, named: Option<CollectiveAlgorithm>) -> Algorithm {
    match named {
        Some(CollectiveAlgorithm::Ring) => Algorithm::Ring,
        Some(CollectiveAlgorithm::BidirectionalRing) => Algorithm::BidirectionalRing,
        Some(CollectiveAlgorithm::RecursiveDoubling) => Algorithm::RecursiveDoubling,
        Some(CollectiveAlgorithm::HalvingDoubling) => Algorithm::HalvingDoubling,
        Some(CollectiveAlgorithm::DoubleBinaryTree) => Algorithm::DoubleBinaryTree,
        Some(CollectiveAlgorithm::Binomial) => Algorithm::Binomial,
        Some(CollectiveAlgorithm::Direct) => Algorithm::Direct,
        Some(CollectiveAlgorithm::Pairwise) => Algorithm::Pairwise,
        None => match kind {
            Kind::Broadcast | Kind::Reduce => Algorithm::Binomial,
            Kind::AllToAll => Algorithm::Direct,
            Kind::Barrier => Algorithm::RecursiveDoubling,
            Kind::AllReduce | Kind::ReduceScatter | Kind::AllGather => Algorithm::Ring,
        },
    }
}
