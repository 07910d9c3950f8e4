//! A long job leaves its operations in a temporary file, whatever it was read from.

use backwater_jobs::chakra::node::Node;
use backwater_jobs::{Job, chakra, csv};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::fmt::Write;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// More than stay in memory. They would take 38 MB there.
const OPERATIONS: u64 = 1_200_000;
/// For the pages that were used last, and dependencies, of which there are fewer.
const MOST: usize = 16 << 20;

/// Returns the job, and the bytes that it holds in memory.
fn held(read: impl FnOnce() -> Job) -> (Job, usize) {
    let region = Region::new(ALLOCATOR);
    let job = read();
    let change = region.change();
    (job, change.bytes_allocated - change.bytes_deallocated)
}

#[test]
fn a_long_job_lies_in_a_file() {
    let mut rows = String::from("id,src,dst,bytes,compute_ns\n");
    (0..OPERATIONS / 3).for_each(|id| writeln!(rows, "{id},{},{},8,5", id % 2, 1 - id % 2).expect("memory"));
    let (job, bytes) = held(|| csv::read(&rows, "m.csv", None).expect("valid"));
    assert_eq!(job.operations(), OPERATIONS);
    assert!(bytes < MOST, "{bytes} B");
    drop(job);

    let nodes = |_| (0..OPERATIONS / 2).map(|id| Node { id, kind: 4, micros: 1, ..Node::default() }).collect();
    let ranks: Vec<(String, Vec<Node>)> = (0..2).map(|rank| (format!("t.{rank}.et"), nodes(rank))).collect();
    let read = || chakra::job(&ranks, chakra::Groups::default(), chakra::Options::default());
    let (job, bytes) = held(|| read().expect("valid"));
    assert_eq!(job.operations(), OPERATIONS);
    assert!(bytes < MOST, "{bytes} B");
}
