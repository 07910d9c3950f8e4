//! Search for cyclic buffer dependencies, which let pauses deadlock: the backpressure graph of a scenario, the cycles
//! in it, and the turns on which to elide backpressure. A turn is a pair of an ingress and an egress at a switch; to
//! elide is to send no pause for it.
//!
//! Source: Goyal et al., "Backpressure Flow Control", NSDI 2022, appendix B (spec C.1). The graph has an edge from each
//! egress port to those that it may have paused. Where it has no cycle, no queue stays paused for ever.
//!
//! | module | contents |
//! |---|---|
//! | `switches` | switches and their ports |
//! | `ways` | shortest paths towards one switch, and the links that carry packets there |
//! | `turns` | turns that routes take as the links are, or with links failed, and all possible turns |
//! | `pauses` | pauses of a neighbour, turn by turn |
//! | `digraph` | strong components and cycles of a graph |
//! | `check` | check of a whole scenario |
//!
//! Edges lead here from the port that waits to the port that it waits for, which is the reverse of the source. The
//! cycles are the same.
//!
//! The vertices are ports, not queues: any flow may be in any queue of a port. The graph therefore has every dependency
//! that may occur. A scenario without a cycle never deadlocks; a scenario with a cycle need not deadlock.

mod check;
mod digraph;
mod pauses;
mod switches;
mod turns;
mod ways;

pub use check::{Backpressure, Failures, Watch, check, components, turns};
pub use digraph::Digraph;
