//! Whether pauses can go round in a scenario's network: its backpressure graph, the circles in it, and which turns to
//! elide.
//!
//! Source: Goyal et al., "Backpressure Flow Control", NSDI 2022, appendix B (spec C.1): with an edge from each egress
//! port to those that it may have paused, no queue stays paused for ever where the graph has no cycle.
//!
//! | module | what is in it |
//! |---|---|
//! | `switches` | switches and their ports |
//! | `ways` | shortest paths towards one switch, and the links that carry packets there |
//! | `turns` | the turns that routes take: as the links are, with links failed, or all that there are |
//! | `pauses` | by which of them a switch pauses its neighbour |
//! | `digraph` | components and circles of a graph |
//! | `check` | all of it for a scenario |
//!
//! Edges are kept here from the port that waits to the one that it waits for, the other way round than in the source:
//! the circles are the same.
//!
//! The graph is one of ports, not of queues: any flow may be in any queue of a port, so what could wait for what is all
//! that it has. A scenario without a circle never stands still; one with a circle need not.

mod check;
mod digraph;
mod pauses;
mod switches;
mod turns;
mod ways;

pub use check::{Backpressure, Failures, Watch, check, components, turns};
pub use digraph::Digraph;
