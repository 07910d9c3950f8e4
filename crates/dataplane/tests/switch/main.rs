//! Switches and their queues by hand and under random packets. One program, so that each switch is compiled once.

#![allow(unreachable_pub, reason = "a test binary exports nothing")]

mod bfc;
mod bfc_extended;
#[path = "../../../sim/tests/engine/common/cases.rs"]
mod cases;
mod driver;
mod drop_notice;
mod fairness;
mod flowsail;
mod homa_dynamic;
mod incast_label;
mod priority_classes;
mod srf;
mod telemetry;
mod upstream;
