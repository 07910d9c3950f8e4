//! ExpressPass: a receiver sends credits, each of which lets its sender send one packet, and ports limit credits
//! instead of data.
//!
//! Sources: Cho et al., "Credit-Scheduled Delay-Bounded Congestion Control for Datacenters", SIGCOMM 2017; the authors'
//! public ns-2 code, and that of the BFC paper's comparison (baselines 6).
//!
//! ```text
//! sender:    REQUEST, again every `retry` until a credit comes ;
//!            a packet for each credit, which echoes its number and time ;
//!            REQUEST for no more when all is sent, or once a round trip when as many credits came in it
//!            as packets are left
//! receiver:  credits of 76 to 92 B, with a mean gap of (credit + data) / line, over the rate c,
//!            times 1 +- jitter                                                                 [rate.rs]
//! port:      credits wait, `credit_queue` at most, for a token bucket of two credits that fills at
//!            line x credit / (credit + data) ; meanwhile data goes                           [credit.rs]
//! ```
//!
//! Credits acknowledge data that has arrived in order. A gap is answered by a NACK, from which the sender goes on. The
//! sender's timer finds a loss at the end and requests credits again.
//!
//! Differs from the sources:
//!
//! * Requests have the priority of acknowledgements, before data.
//! * The receiver knows the last packet by its flag and acknowledges it, so the sender learns that it has finished.
//! * A sender that receives nothing for `host.rto` repeats its request. In the public code only a sender that has
//!   received nothing so far does.
//! * Ports reserve a full packet for the data of a credit. Ports of the public code reserve its largest frame, 1538 B.
//!   Both are equal with `host.payload` 1460 B and `host.header` 78 B.

mod credit;
mod params;
mod rate;
mod receiver;
mod sender;

pub use credit::{CreditPort, ExpressPassHeader};
pub use params::{ExpressPassFlowParams, ExpressPassParams, ExpressPassReceiverParams};
pub use rate::CreditRate;
pub use receiver::ExpressPassReceiver;
pub use sender::ExpressPassSender;

use crate::flow::{Start, Transport};
use backwater_types::Instant;

/// ExpressPass.
pub struct ExpressPass;

impl Transport for ExpressPass {
    type Extension = ExpressPassHeader;
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
