//! Conventions of other simulators, where they are more than a parameter.

pub(crate) mod hpcc;
