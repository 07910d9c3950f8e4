//! Files of htsim: connection matrices (`.cm`, `.tm`) and fat trees (`.topo`).
//!
//! | file | contents |
//! |---|---|
//! | [`matrix`] | flows, triggers and failures of a connection matrix, read and written |
//! | [`job`] | the job that a matrix describes |
//! | [`fat_tree`] | a fat tree, read, checked and written |

pub mod fat_tree;
pub mod job;
pub mod matrix;

pub use fat_tree::FatTree;
pub use matrix::{Matrix, Unit};
