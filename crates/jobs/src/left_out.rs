//! Jobs without what a format cannot say.

use crate::job::Job;
use crate::op::{Op, Work};
use backwater_types::Duration;

/// What a job is to be without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Phases: names of its parts, which change nothing of what happens.
    pub phases: bool,
    /// Sends end when they are handed to the NIC, and not when they are acknowledged.
    pub acknowledgements: bool,
    /// Computations take whole nanoseconds: the nearest, and the longer of two.
    pub fractions: bool,
}

impl LeftOut {
    /// Returns a job without these.
    pub fn of(self, job: &Job) -> Job {
        let mut left = job.with_ops(|op| {
            let work = match op.work {
                Work::Calc(time) if self.fractions => Work::Calc(Duration((time.0 + 500) / 1000 * 1000)),
                work => work,
            };
            Op { work, acknowledged: op.acknowledged && !self.acknowledgements, ..op }
        });
        if self.phases {
            left.forget_phases();
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal;
    use crate::job::JobBuilder;

    #[test]
    fn goal_takes_a_job_without_what_it_cannot_say() {
        let mut builder = JobBuilder::default();
        let phase = builder.phase("forward", 0);
        let first = builder.op(Op::calc(Duration(2_500)).of(phase));
        let send = Op { acknowledged: true, ..Op::send(1, 7, 3) };
        builder.op_after(send.of(phase), &[first]);
        builder.end_rank().expect("no cycle");
        builder.op(Op::recv(0, 3).of(phase));
        builder.end_rank().expect("one operation");
        let job = builder.finish().expect("matched");
        let said = |left: LeftOut| goal::write::write(&left.of(&job), Vec::new()).map_err(|error| error.to_string());
        let all = LeftOut { phases: true, acknowledgements: true, fractions: true };
        said(all).expect("nothing is left that GOAL cannot say");
        assert!(said(LeftOut { phases: false, ..all }).expect_err("phases").starts_with("phase \"forward\""));
        let error = said(LeftOut { acknowledgements: false, ..all }).expect_err("acknowledged");
        assert!(error.contains("ends when it is acknowledged"), "{error}");
        let error = said(LeftOut { fractions: false, ..all }).expect_err("2.5 ns");
        assert!(error.contains("takes 2500 ps, not whole ns"), "{error}");
        let left = all.of(&job);
        assert_eq!((left.op(0, 0), left.op(0, 1)), (Op::calc(Duration(3_000)), Op::send(1, 7, 3)));
        assert!(left.edges(0, 0).eq(job.edges(0, 0)));
        assert_eq!(LeftOut::default().of(&job), job);
    }
}
