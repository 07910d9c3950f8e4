//! TCP: a window that grows until marks or losses cut it, selective acknowledgements, and a retransmission timer.
//!
//! Sources: RFC 5681 (slow start, congestion avoidance), RFC 2018 and 6675 (selective acknowledgement and loss
//! recovery), RFC 6298 (timer), RFC 3168 and Wu et al., CoNEXT 2012 (ECN*), RFC 8257 and Alizadeh et al., SIGCOMM 2010
//! (DCTCP).
//!
//! ```text
//! slow start, W < ssthresh:    W += segments acknowledged            avoidance:  W += segments acknowledged / W
//! once a window:               F = marked / acknowledged ; alpha = (1 - g) alpha + g F                       (DCTCP)
//! a mark, once a window:       ssthresh = W = max(min, W (1 - alpha / 2)), ECN* with alpha = 1
//! dup_acks segments above a hole:  ssthresh = W = max(2, W / 2) ; lost segments go first, in flight at most W
//! no acknowledgement for RTO:  ssthresh = max(2, W / 2) ; W = 1 ; all segments not acknowledged are lost ; RTO doubles
//! in flight = sent - acknowledged - selectively acknowledged - lost and not retransmitted
//! ```
//!
//! Differs from the sources:
//!
//! * An acknowledgement carries one SACK block: the block of the segment that it answers, the first of RFC 2018.
//! * Marks are echoed segment by segment, also for ECN*. The bit that lasts until CWR would cause the same cuts.
//! * The window grows by segments acknowledged (RFC 3465 without a limit, as in Linux), only while it limits the
//!   sender.
//!
//! Positions count segments. Floating point: additions, multiplications and divisions only.

mod congestion;
mod flow;
mod params;
mod receiver;
mod sender;

pub use congestion::Congestion;
pub use flow::{Tcp, TcpAnswers, TcpFlow, TcpFlowParams, TcpFlowReceiver};
pub use params::{Connections, Marks, Recovery, TcpParams};
pub use receiver::{AckPolicy, Answers, TcpAck, TcpReceiver};
pub use sender::{TcpSender, TimeoutReason};
