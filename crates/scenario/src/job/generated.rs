//! Collectives as jobs.

use crate::job::recent::Recent;
use crate::model::{CollectiveAlgorithm, NcclProtocol, Pattern, Workload};
use backwater_jobs::Job;
use backwater_jobs::collective::nccl::{Latency, Protocol, latency};
use backwater_jobs::collective::{Algorithm, Collective, Kind, pipeline};
use backwater_types::Duration;
use std::sync::Arc;

/// Makes the job of one iteration of a collective, or returns it if it was made before; also whether it is repeated. A
/// pipeline is not: its iterations are microbatches, which may overtake one another.
///
/// # Errors
/// If the algorithm cannot do this, in the words of a message about the scenario.
pub(crate) fn job(workload: &Workload, ranks: u32, tick: u64) -> Result<(Arc<Job>, bool), String> {
    let Workload::Collective { pattern, .. } = workload else { unreachable!("a collective") };
    let from = format!("{workload:?}, {ranks} ranks, {tick}");
    let job = GENERATED.get(from, || generate(workload, ranks, tick))?;
    Ok((job, *pattern != Pattern::Pipeline))
}

/// Jobs by what they were made from.
static GENERATED: Recent<String> = Recent::new();

fn generate(workload: &Workload, n: u32, tick: u64) -> Result<Job, String> {
    let Workload::Collective {
        pattern,
        algorithm,
        bytes,
        iterations,
        compute,
        reduce_rate,
        launch,
        launch_once,
        nccl,
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
    let Some(kind) = kind_of(*pattern) else {
        return pipeline(n, bytes.0, *iterations, compute).map_err(|problem| problem.to_string());
    };
    let ranks: Vec<u32> = (0..n).collect();
    let algorithm = algorithm_of(kind, *algorithm);
    let latency = latency_of(algorithm, *nccl, (*launch, *launch_once), tick);
    let collective = Collective {
        channels: *channels,
        chunks: *chunks,
        slots: *slots,
        launch: latency.once,
        compute,
        reduce_rate: *reduce_rate,
        ..Collective::new(kind, algorithm, &ranks, bytes.0)
    };
    collective.job(*by_steps).map_err(|problem| problem.to_string())
}

/// Latency of each message of a collective, and before its first step.
///
/// # Panics
/// If NCCL has none for the algorithm.
pub(crate) fn latency_of(
    algorithm: Algorithm,
    nccl: Option<NcclProtocol>,
    (each, once): (Duration, Duration),
    tick: u64,
) -> Latency {
    let latency = nccl.map(|protocol| nccl_of(algorithm, protocol).expect("it was checked"));
    let Latency { once, each } = latency.unwrap_or(Latency { once, each });
    Latency { once: Duration(once.0.next_multiple_of(tick)), each: Duration(each.0.next_multiple_of(tick)) }
}

/// Latency of NCCL; `None` if it has none for the algorithm.
pub(crate) fn nccl_of(algorithm: Algorithm, protocol: NcclProtocol) -> Option<Latency> {
    let protocol = match protocol {
        NcclProtocol::Ll => Protocol::LowLatency,
        NcclProtocol::Ll128 => Protocol::LowLatency128,
        NcclProtocol::Simple => Protocol::Simple,
    };
    latency(algorithm, protocol)
}

/// Kind of a pattern; `None`: a pipeline is no collective.
pub(crate) fn kind_of(pattern: Pattern) -> Option<Kind> {
    match pattern {
        Pattern::Pipeline => None,
        Pattern::Ring | Pattern::AllReduce => Some(Kind::AllReduce),
        Pattern::AllToAll => Some(Kind::AllToAll),
        Pattern::ReduceScatter => Some(Kind::ReduceScatter),
        Pattern::AllGather => Some(Kind::AllGather),
        Pattern::Broadcast => Some(Kind::Broadcast),
        Pattern::Reduce => Some(Kind::Reduce),
        Pattern::Barrier => Some(Kind::Barrier),
    }
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
