//! The lab: the data plane of the simulator between real network stacks.
//!
//! | module | contents |
//! |---|---|
//! | [`fabric`] | switches and NICs of a scenario in virtual time, without clock or sockets |
//! | [`frames`] | the frames of a flow, as a sender of the shipped NICs |
//! | [`slab`] | the store of frames |
//! | [`ip`] | what the lab reads of a frame |

pub mod fabric;
pub mod frames;
pub mod ip;
pub mod slab;

pub use fabric::Fabric;
