//! Files of htsim: connection matrices (`.cm`, `.tm`) and fat trees (`.topo`).
//!
//! | file | contents |
//! |---|---|
//! | [`matrix`] | flows, triggers and failures of a connection matrix, read and written |
//! | [`job`] | the job that a matrix describes |
//! | `express` | a job as a connection matrix |
//! | [`fat_tree`] | a fat tree, read, checked and written |

mod express;
pub mod fat_tree;
pub mod job;
pub mod matrix;

pub use express::matrix_of;
pub use fat_tree::FatTree;
pub use matrix::{Matrix, Unit};
