//! Tests of the engine on whole networks. One binary compiles the checkers only once.

#![allow(unreachable_pub, reason = "a test binary exports nothing")]

mod common;

mod beside_pfc;
mod captured;
mod collectives;
mod conformance;
mod cooldown;
mod deadlock;
mod determinism;
mod explain;
mod expresspass;
mod flaps;
mod healing;
mod homa;
mod hpcc_model;
mod hpcc_side_by_side;
mod hpcc_sim;
mod jobs;
mod links;
mod load_balancing;
mod lossless;
mod metering;
mod pause_threshold_model;
mod pauses;
mod planted_bugs;
mod planted_memory_bugs;
mod priority_classes;
mod processor_sharing;
mod random_networks;
mod selective;
mod shared_memory;
mod srf;
mod standstill;
mod tcp;
mod ties;
mod timers;
mod traffic_statistics;
mod under_test;
