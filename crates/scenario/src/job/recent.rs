//! Jobs that were made lately. The runs of a sweep share one, and a command loads a scenario several times: to check it,
//! to estimate it and to run it.

use backwater_jobs::Job;
use std::sync::{Arc, Mutex, Weak};

/// Most jobs that are kept in memory though nothing uses them.
const KEPT: usize = 4;
/// A job with so many operations takes about 40 megabytes. It is not kept while another is made.
const LARGE: u64 = 1_000_000;

/// Jobs by what they were made from.
pub(super) struct Recent<K>(Mutex<Jobs<K>>);

struct Jobs<K> {
    /// Jobs that are in use or kept, and some that are gone.
    known: Vec<(K, Weak<Job>)>,
    /// Jobs that are kept, the newest last.
    kept: Vec<Arc<Job>>,
}

impl<K: PartialEq> Recent<K> {
    pub(super) const fn new() -> Recent<K> {
        Recent(Mutex::new(Jobs { known: Vec::new(), kept: Vec::new() }))
    }

    /// Returns the job that was made from `key`, or makes it.
    ///
    /// # Errors
    /// Those of `make`.
    pub(super) fn get<E>(&self, key: K, make: impl FnOnce() -> Result<Job, E>) -> Result<Arc<Job>, E> {
        let lock = || self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let find =
            |jobs: &Jobs<K>| jobs.known.iter().find(|(known, _)| *known == key).and_then(|(_, job)| job.upgrade());
        if let Some(job) = find(&lock()) {
            return Ok(job);
        }
        lock().kept.retain(|job| job.operations() < LARGE);
        let job = Arc::new(make()?);
        let mut jobs = lock();
        if jobs.kept.len() == KEPT {
            jobs.kept.remove(0);
        }
        jobs.kept.push(job.clone());
        jobs.known.retain(|(_, job)| job.strong_count() > 0);
        jobs.known.push((key, Arc::downgrade(&job)));
        Ok(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn a_job_that_was_made_lately_is_not_made_again() {
        let recent = Recent::new();
        let mut made = 0;
        let mut get = |key: usize| {
            let make = || {
                made += 1;
                Ok::<Job, Infallible>(Job::default())
            };
            recent.get(key, make).unwrap_or_else(|never| match never {})
        };
        let used = get(0);
        (1..=KEPT).for_each(|key| _ = get(key));
        // The first is in use, and the others are kept.
        assert!(Arc::ptr_eq(&used, &get(0)));
        (1..=KEPT).for_each(|key| _ = get(key));
        drop(used);
        _ = get(0);
        assert_eq!(made, 2 + KEPT);
    }
}
