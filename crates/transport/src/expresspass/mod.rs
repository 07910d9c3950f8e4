//! ExpressPass: a receiver sends credits, each of which lets its sender send one packet, and ports limit credits instead of data.
//!
//! Sources: Cho et al., "Credit-scheduled delay-bounded congestion control for datacenters", SIGCOMM 2017; the authors' public ns-2
//! code, and that of the BFC paper's comparison (baselines 6).
//!
//! ```text
//! sender:    REQUEST, again every `retry` until a credit comes ; a packet for each credit, which brings back its number and time ;
//!            REQUEST for no more when all is sent, or once a round trip when as many credits came in it as packets are left
//! receiver:  credits of 76 to 92 B, the mean gap (credit + data) / line, over the rate c, times 1 +- jitter      [rate.rs]
//! port:      credits wait, `credit_queue` at most, until a bucket of two of them has filled at
//!            line x credit / (credit + data) ; until then data goes                                             [credit.rs]
//! ```
//!
//! Credits acknowledge what has come in order. A gap is answered by a NACK, from which the sender goes on; what is lost last is
//! found by a timer, which asks for credits again.
//!
//! Differs from the sources: requests travel as acknowledgements do, before data; the receiver knows the last packet by its flag, and
//! answers it with an acknowledgement, so that the sender knows too; a sender that hears nothing for `host.rto` asks again, which in
//! the public code only one does that has heard nothing yet. Ports of the public code leave a credit's data the place of its largest
//! frame, 1538 B; here that of a full packet, the same with `host.payload` 1460 B and `host.header` 78 B.

mod credit;
mod params;
mod rate;
mod receiver;
mod sender;

pub use credit::{Credit, CreditPort};
pub use params::{ExpressPassFlowParams, ExpressPassParams, ExpressPassReceiverParams};
pub use rate::CreditRate;
pub use receiver::ExpressPassReceiver;
pub use sender::ExpressPassSender;

use crate::flow::{Start, Transport};
use backwater_types::Instant;

/// The transport.
pub struct ExpressPass;

impl Transport for ExpressPass {
    type Extension = Credit;
    type Params = ExpressPassFlowParams;
    type Sender = ExpressPassSender;
    type Receiver = ExpressPassReceiver;
    type Peers = ();

    fn open(_params: &ExpressPassFlowParams, _peers: &mut (), now: Instant, start: Start) -> ExpressPassSender {
        ExpressPassSender::new(now, start)
    }

    fn receiving(params: &ExpressPassFlowParams) -> &ExpressPassReceiverParams {
        &params.receiver
    }
}
