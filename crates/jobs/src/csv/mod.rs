//! Messages that depend on messages, in CSV, for who has no trace.
//!
//! ```text
//! id,src,dst,bytes,after,compute_ns
//! a,0,1,1000000,,500
//! b,1,2,1000000,a,0
//! c,0,2,4096,a,0
//! d,2,0,4096,b c,1200.5
//! ```
//!
//! Columns are named in the first line and may have any order. `id`, `src`, `dst` and `bytes` are required.
//!
//! | column | contents |
//! |---|---|
//! | `id` | a name without blanks, of at most 64 characters, that no other message has |
//! | `src`, `dst` | sending and receiving rank, from 0 |
//! | `bytes` | payload. A line without `dst` and `bytes` is a computation of `src` that others come after |
//! | `after` | ids, separated by blanks, of messages that come first |
//! | `compute_ns` | how long `src` computes after that, before it sends |
//! | `start_ns` | earliest time at which `src` computes, or sends if it does not compute |
//! | `stream` | 0 to 253, 0 if empty: the computations of a rank on one stream run one after another |
//! | `phase` | a name; answers are given for each phase |
//! | `iteration` | the iteration of the job that the message belongs to, 0 if empty |
//!
//! Each message in `after` must arrive at `src` or leave it, and each computation must be one of `src`. A message that
//! arrives has come when it has arrived in full. One that leaves has come when it was acknowledged in full: messages that only follow each other onto the link need no
//! dependency, as a rank sends what is ready in the order of the lines. A message may name later lines. A cycle is
//! refused, whichever ranks it passes.
//!
//! Sends do not wait for computations of others: they have a stream of their own. Times have at most three decimals.
//! Blank lines and lines that start with `#` are skipped. There is no quoting.
//!
//! | file | contents |
//! |---|---|
//! | `read` | reads a file |
//! | `write` | writes a job, if it has nothing else |

mod read;
mod write;

pub use read::read;
pub use write::write;

use crate::starts;

const COLUMNS: [&str; 10] =
    ["id", "src", "dst", "bytes", "after", "compute_ns", "start_ns", "stream", "phase", "iteration"];
/// Columns that are required: the first.
const NEEDED: usize = 4;
/// Longest id or name of a phase, characters.
const NAME_MAX: usize = 64;
/// Iterations are below this.
const ITERATIONS_MAX: u32 = 1 << 20;
/// Stream of sends and receives.
const MESSAGES: u8 = 1;
/// Streams that are not those of computations: [`MESSAGES`] and that of [`Starts`](starts::Starts).
const OTHERS: u8 = 2;

const _: () = assert!(MESSAGES == 1 && starts::STREAM == 2, "computations are on 0 and on 3 to 255");
