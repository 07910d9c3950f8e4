//! The writer of logs.
//!
//! ```text
//! file    = "BWREPLAY", version u32, length u32, head (JSON), check, records
//! record  = kind u8, arguments, result, drops u32, ports u32, check, drops times (packet, time, check),
//!           ports times (port u16, check)
//! end     = 0 u8, records u64, check
//! check   = CRC-32 of all bytes before it, without the checks, u32
//! ```
//!
//! The arguments are written before the call and the rest after it. So a call that never returned is the last in its
//! log, without a result.

use crate::bytes::Field;
use crate::calls::{Answer, Call, Dropped, END, Step};
use backwater_scenario::Scenario;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

/// First bytes of a log.
pub const MAGIC: [u8; 8] = *b"BWREPLAY";
/// Version of the format.
pub const VERSION: u32 = 1;

/// Head of a log: what it takes to build the same switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Version of Backwater that wrote the log.
    pub backwater: String,
    /// Name of the switch in the scenario's network.
    pub switch: String,
    /// The resolved scenario.
    pub scenario: serde_json::Value,
}

impl Head {
    /// Makes the head of a log of the switch `switch` in the network of `scenario`.
    ///
    /// # Errors
    /// If the scenario has no form in JSON.
    pub fn new(scenario: &Scenario, switch: &str) -> serde_json::Result<Head> {
        let scenario = serde_json::to_value(scenario)?;
        Ok(Head { backwater: env!("CARGO_PKG_VERSION").into(), switch: switch.into(), scenario })
    }
}

/// A log that is being written. Copies write the same log: one goes into [`Recorded`](crate::Recorded), and another
/// lets its holder [`finish`](Log::finish) the log.
#[derive(Debug)]
pub struct Log<W: Write>(Arc<Mutex<Writer<W>>>);

impl<W: Write> Clone for Log<W> {
    fn clone(&self) -> Log<W> {
        Log(self.0.clone())
    }
}

impl Log<BufWriter<File>> {
    /// Starts a log in a new file, which replaces one of that name.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create(path: &Path, head: &Head) -> io::Result<Log<BufWriter<File>>> {
        Log::new(BufWriter::with_capacity(1 << 16, File::create(path)?), head)
    }
}

impl<W: Write> Log<W> {
    /// Starts a log. `out` should have a buffer, since every call is written by itself.
    ///
    /// # Errors
    /// If the head cannot be written.
    pub fn new(out: W, head: &Head) -> io::Result<Log<W>> {
        let (check, line) = (crc32fast::Hasher::new(), Vec::with_capacity(256));
        let mut writer = Writer { out, check, line, records: 0, failed: None };
        let json = serde_json::to_vec(head)?;
        let length = u32::try_from(json.len()).map_err(|_| io::Error::other("the scenario has more than 4 GB"))?;
        writer.line.extend_from_slice(&MAGIC);
        VERSION.put(&mut writer.line);
        length.put(&mut writer.line);
        writer.line.extend_from_slice(&json);
        writer.write(true);
        if let Some(error) = writer.failed.take() {
            return Err(error);
        }
        // A process that is killed early leaves a log that can be read.
        writer.out.flush()?;
        Ok(Log(Arc::new(Mutex::new(writer))))
    }

    fn writer(&self) -> MutexGuard<'_, Writer<W>> {
        // No holder of the lock panics halfway through a record but out of memory.
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Writes a call that was made elsewhere, with what came of it.
    pub fn write(&self, step: &Step) {
        self.call(&step.call);
        self.answer(&step.answer, step.dropped.iter().copied(), &step.to_poll);
    }

    /// Writes a call that is about to be made.
    pub(crate) fn call(&self, call: &Call) {
        let mut writer = self.writer();
        call.put(&mut writer.line);
        writer.write(false);
    }

    /// Writes what came of the last call.
    pub(crate) fn answer(&self, answer: &Answer, dropped: impl ExactSizeIterator<Item = Dropped>, to_poll: &[u16]) {
        let mut writer = self.writer();
        answer.put(&mut writer.line);
        (dropped.len() as u32).put(&mut writer.line);
        (to_poll.len() as u32).put(&mut writer.line);
        writer.write(true);
        for Dropped { packet, entered } in dropped {
            (packet, entered).put(&mut writer.line);
            writer.write(true);
        }
        for port in to_poll {
            port.put(&mut writer.line);
            writer.write(true);
        }
        writer.records += 1;
    }

    /// Number of records so far.
    pub fn records(&self) -> u64 {
        self.writer().records
    }

    /// Writes the bytes that wait in memory, between two calls. A process that is killed later loses none of them.
    ///
    /// # Errors
    /// The first error in writing. Nothing is written after it.
    pub fn flush(&self) -> io::Result<()> {
        let mut writer = self.writer();
        if writer.failed.is_none() {
            writer.failed = writer.out.flush().err();
        }
        writer.failed.as_ref().map_or(Ok(()), |error| Err(io::Error::new(error.kind(), error.to_string())))
    }

    /// Ends the log, after its last call. A log without an end counts as interrupted. Returns the number of records.
    ///
    /// # Errors
    /// The first error in writing. The log has nothing that came after it.
    pub fn finish(&self) -> io::Result<u64> {
        let mut writer = self.writer();
        let records = writer.records;
        END.put(&mut writer.line);
        records.put(&mut writer.line);
        writer.write(true);
        match writer.failed.take() {
            Some(error) => Err(error),
            None => writer.out.flush().map(|()| records),
        }
    }
}

#[derive(Debug)]
struct Writer<W: Write> {
    out: W,
    /// Sum of all bytes so far, without the checks.
    check: crc32fast::Hasher,
    /// Bytes to write next. Their room is kept.
    line: Vec<u8>,
    records: u64,
    /// First error. Nothing is written after it.
    failed: Option<io::Error>,
}

impl<W: Write> Writer<W> {
    /// Writes the line, with a check behind it if it ends a part.
    fn write(&mut self, ends: bool) {
        self.check.update(&self.line);
        if ends {
            self.check.clone().finalize().put(&mut self.line);
        }
        if self.failed.is_none() {
            self.failed = self.out.write_all(&self.line).err();
        }
        self.line.clear();
    }
}
