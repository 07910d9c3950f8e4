//! A pipeline: the first rank sends microbatches, and each rank passes on to the next what it receives.

use super::{COMPUTING, SENDING};
use crate::job::Problem;
use crate::job::{Job, JobBuilder};
use crate::op::Op;
use backwater_types::Duration;

/// Makes a pipeline of `ranks` ranks and `batches` microbatches of `bytes`. A rank computes for `compute` before it sends,
/// on one microbatch after another, as they come. Each microbatch is an iteration.
///
/// # Errors
/// If there are too many operations.
pub fn pipeline(ranks: u32, bytes: u64, batches: u32, compute: Duration) -> Result<Job, Problem> {
    let mut builder = JobBuilder::default();
    // The phase that is there from the start is that of the first microbatch.
    (1..batches).for_each(|batch| _ = builder.phase("", batch));
    for rank in 0..ranks {
        for batch in 0..batches {
            let received = (rank > 0).then(|| builder.op(Op::recv(rank - 1, batch).of(batch)));
            if rank + 1 < ranks {
                let mut waits = received;
                if compute > Duration::ZERO {
                    waits = Some(builder.op_after(Op::calc(compute).on(COMPUTING).of(batch), waits.as_slice()));
                }
                builder.op_after(Op::send(rank + 1, bytes, batch).on(SENDING).of(batch), waits.as_slice());
            }
        }
        builder.end_rank()?;
    }
    builder.finish()
}
