//! Transports: how fast an end host sends a flow, and how it recovers lost packets.
//!
//! Constraints are those of the data plane: no I/O, no clock, no threads; allocation only while a loss is repaired.
//! Positions in a flow count packets.

#![no_std]
extern crate alloc;

pub mod datagrams;
pub mod due;
pub mod expresspass;
pub mod flow;
pub mod go_back_n;
pub mod homa;
mod notifier;
mod paced;
mod packet_set;
pub mod rate;
pub mod selective;
pub mod tcp;

pub use datagrams::{Datagrams, Source};
pub use due::Due;
pub use expresspass::{
    ExpressPass, ExpressPassFlowParams, ExpressPassHeader, ExpressPassParams, ExpressPassReceiverParams,
};
pub use flow::{Next, Outgoing, Receiver, Reply, Sender, Start, Transport};
pub use go_back_n::{
    Acknowledged, GoBackN, GoBackNParams, GoBackNReceiver, GoBackNReceiverParams, GoBackNRules, GoBackNSender,
    HpccGoBackN, HpccSimRules, Repaired,
};
pub use homa::{
    Homa, HomaFlowParams, HomaHeader, HomaLevels, HomaParams, HomaReceiver, HomaReceiverParams, HomaSender, Inbox,
};
pub use paced::PacedParams;
pub use rate::*;
pub use selective::{
    Selective, SelectiveFlowParams, SelectiveParams, SelectiveReceiver, SelectiveReceiverParams, SelectiveSender,
};
pub use tcp::{
    AckPolicy, Congestion, Connections, Marks, Recovery, Tcp, TcpAck, TcpAnswers, TcpFlow, TcpFlowParams,
    TcpFlowReceiver, TcpParams, TcpReceiver, TcpSender, TimeoutReason,
};
