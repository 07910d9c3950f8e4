//! A line is a message, and names the messages that it waits for. Write such a file if you have no trace.
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
//! | `id` | a name without blanks, of at most 64 characters, that no other line has |
//! | `src`, `dst` | sending and receiving rank, from 0 |
//! | `bytes` | payload. A line without `dst` and `bytes` is a computation of `src`, which other lines can wait for |
//! | `after` | ids that the line waits for, separated by blanks |
//! | `compute_ns` | how long `src` computes after that, before it sends |
//! | `start_ns` | earliest time at which `src` computes, or sends if it does not compute |
//! | `stream` | 0 to 253, 0 if empty. The computations of a rank on one stream run one after another |
//! | `phase` | a name, such as `forward`. The answers give the time of each phase |
//! | `iteration` | number of the iteration that the line belongs to, 0 if empty |
//!
//! `src` must send or receive each message in `after`, and run each computation in it. A message that `src` receives
//! counts when all of it has arrived. A message that `src` sends counts when all of it is acknowledged. A rank sends
//! messages that are ready in the order of their lines, so messages of one rank need no dependency to keep that order.
//! A line may name later lines. A cycle is refused, whichever ranks it passes.
//!
//! A send waits for computations only if they are in `after` or in its own `compute_ns`. Times have at most three
//! decimals. Blank lines and lines that start with `#` are skipped. There is no quoting, so no field may contain a comma.

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
