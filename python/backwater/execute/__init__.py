"""Runs experiments: which runs, how many at once, on which machines, and what is reused.

```text
Experiment.run
    making.make                  one call for one or several experiments
        making.Making            one for each directory: its runs, its manifest, what the store has
            writer.Writer        writes complete runs, then the manifest that lists them
                staging.Staging  the unfinished directory, which takes its name at the end
        sweep.Sweep              all runs of all directories: which is next, while processors and memory allow
            job.Job              one for each run
                job.start        begins it, here or on a cluster
                job.follow       waits for it on a thread of its own, and writes it
```
"""
