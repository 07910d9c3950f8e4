//! The reader of logs: records in order, each checked before it is handed over.

use crate::bytes::{Fault, Field, Source};
use crate::calls::{Answer, Call, Dropped, END, Step};
use crate::log::{Head, MAGIC, VERSION};
use backwater_types::{Instant, PortId};
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;

/// Why a log is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", self.place().map_or(String::new(), |place| place + ": "))]
pub struct Error {
    /// Number of the record, from 1; `None` before the records.
    pub record: Option<u64>,
    /// Where the file is wrong, bytes from its start; `None` if this is about the whole file.
    pub byte: Option<u64>,
    /// What is wrong, and what was allowed.
    pub problem: String,
}

impl Error {
    /// Makes an error about the whole file, or about no file.
    pub fn whole(problem: impl ToString) -> Error {
        Error { record: None, byte: None, problem: problem.to_string() }
    }

    /// Place in the file, such as `byte 812, record 7`.
    pub fn place(&self) -> Option<String> {
        let record = self.record.map_or(String::new(), |record| format!(", record {record}"));
        self.byte.map(|byte| format!("byte {byte}{record}"))
    }
}

/// How a log ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ending {
    /// With its end record: the log is complete.
    Complete,
    /// Between two records, without an end: its writer was interrupted.
    Interrupted,
    /// Inside a record: its writer was interrupted as it wrote it, or the call never returned.
    Torn {
        /// Number of the record.
        record: u64,
        /// Where the record starts, bytes from the start of the file.
        byte: u64,
        /// The call, if all of its arguments are there.
        call: Option<Call>,
    },
}

/// A log that is being read.
#[derive(Debug)]
pub struct Reader<R> {
    from: Checked<R>,
    head: Head,
    /// Number of ports of the switch.
    ports: PortId,
    /// Records read.
    records: u64,
    now: Instant,
}

impl Reader<BufReader<File>> {
    /// Opens the log of this name.
    ///
    /// # Errors
    /// As [`Reader::new`], and if the file cannot be opened.
    pub fn open(path: &Path) -> Result<Reader<BufReader<File>>, Error> {
        if path.is_dir() {
            return Err(Error::whole("is a directory: expected the log of a switch"));
        }
        let file = File::open(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::whole("no such file"),
            _ => Error::whole(format!("cannot be read: {error}")),
        })?;
        Reader::new(BufReader::with_capacity(1 << 16, file))
    }
}

impl<R: Read> Reader<R> {
    /// Reads the head of a log.
    ///
    /// # Errors
    /// If it is no log of this version, or its head is damaged.
    pub fn new(from: R) -> Result<Reader<R>, Error> {
        let mut from = Checked { from, check: crc32fast::Hasher::new(), at: 0 };
        let head = read_head(&mut from).map_err(|fault| match fault {
            Fault::Ends => Error { byte: Some(from.at), ..Error::whole("the file ends inside the head of the log") },
            fault => refusal(fault, &from, None),
        })?;
        Ok(Reader { from, head, ports: PortId::MAX, records: 0, now: Instant::ZERO })
    }

    /// Head of the log.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Refuses calls for ports from `ports` on.
    pub fn limit_ports(&mut self, ports: PortId) {
        self.ports = ports;
    }

    /// Number of records read.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Reads the next record; at the end of the log, how it ends.
    ///
    /// # Errors
    /// If the record is damaged, or no call of this switch.
    pub fn read(&mut self) -> Result<Result<Step, Ending>, Error> {
        let (record, start) = (self.records + 1, self.from.at);
        let tag = match u8::get(&mut self.from) {
            Ok(tag) => tag,
            Err(Fault::Ends) => return Ok(Err(Ending::Interrupted)),
            Err(fault) => return Err(refusal(fault, &self.from, Some(record))),
        };
        let mut call = None;
        let read = if tag == END { self.end().map(Err) } else { self.step(tag, &mut call).map(Ok) };
        match read {
            Ok(Ok(step)) => {
                self.records = record;
                Ok(Ok(step))
            }
            Ok(Err(ending)) => Ok(Err(ending)),
            Err(Fault::Ends) => Ok(Err(Ending::Torn { record, byte: start, call })),
            Err(fault) => Err(refusal(fault, &self.from, Some(record))),
        }
    }

    fn end(&mut self) -> Result<Ending, Fault> {
        let records = u64::get(&mut self.from)?;
        self.from.check()?;
        if records != self.records {
            return Err(Fault::Invalid(format!("the log ends after {} records, and has {records}", self.records)));
        }
        match u8::get(&mut self.from) {
            Err(Fault::Ends) => Ok(Ending::Complete),
            Err(fault) => Err(fault),
            Ok(_) => Err(Fault::Invalid("there are bytes behind the end of the log".into())),
        }
    }

    fn step(&mut self, tag: u8, seen: &mut Option<Call>) -> Result<Step, Fault> {
        let from = &mut self.from;
        let call = Call::get(tag, from)?;
        *seen = Some(call);
        let answer = Answer::get(&call, from)?;
        let counts = (u32::get(from)?, u32::get(from)?);
        from.check()?;
        let (mut dropped, mut to_poll) = (Vec::new(), Vec::new());
        for _ in 0..counts.0 {
            let (packet, entered) = Field::get(from)?;
            from.check()?;
            dropped.push(Dropped { packet, entered });
        }
        for _ in 0..counts.1 {
            to_poll.push(Field::get(from)?);
            from.check()?;
        }
        self.allows(&call).map_err(Fault::Invalid)?;
        self.now = call.now().unwrap_or(self.now);
        Ok(Step { call, answer, dropped, to_poll })
    }

    /// Whether a switch may be called so.
    fn allows(&self, call: &Call) -> Result<(), String> {
        if let Some(port) = call.ports().into_iter().flatten().find(|port| *port >= self.ports) {
            return Err(format!("port = {port}: expected 0 to {}", self.ports - 1));
        }
        if call.packet().is_some_and(|packet| packet.wire == 0) {
            return Err("wire = 0: a packet has bytes".into());
        }
        match call.now() {
            Some(now) if now < self.now => Err(format!("time = {} ps: expected {} ps or later", now.0, self.now.0)),
            _ => Ok(()),
        }
    }
}

fn read_head<R: Read>(from: &mut Checked<R>) -> Result<Head, Fault> {
    let expected = || Fault::Invalid("not a log of a switch, which begins with BWREPLAY".into());
    let magic = from.take().map_err(|fault| if matches!(fault, Fault::Ends) { expected() } else { fault })?;
    if magic != MAGIC {
        return Err(expected());
    }
    let version = u32::get(from)?;
    if version != VERSION {
        return Err(Fault::Invalid(format!("version of the log = {version}: expected {VERSION}")));
    }
    let length = u32::get(from)?;
    let json = from.take_many(length)?;
    from.check()?;
    serde_json::from_slice(&json).map_err(|error| Fault::Invalid(format!("head of the log: {error}")))
}

fn refusal<R>(fault: Fault, from: &Checked<R>, record: Option<u64>) -> Error {
    let problem = match fault {
        Fault::Ends => "the file ends".into(),
        Fault::Unreadable(error) => error.to_string(),
        Fault::Invalid(problem) => problem,
    };
    Error { record, byte: Some(from.at), problem }
}

/// Bytes with the sum of those read so far.
#[derive(Debug)]
struct Checked<R> {
    from: R,
    check: crc32fast::Hasher,
    /// Bytes read.
    at: u64,
}

impl<R: Read> Checked<R> {
    fn fill<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Fault::Ends,
            _ => Fault::Unreadable(error),
        })?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn take_many(&mut self, count: u32) -> Result<Vec<u8>, Fault> {
        let mut bytes = Vec::new();
        self.from.by_ref().take(count.into()).read_to_end(&mut bytes).map_err(Fault::Unreadable)?;
        self.at += bytes.len() as u64;
        self.check.update(&bytes);
        if bytes.len() < count as usize { Err(Fault::Ends) } else { Ok(bytes) }
    }

    /// Reads a check, and compares it.
    fn check(&mut self) -> Result<(), Fault> {
        let expected = self.check.clone().finalize();
        let found = u32::from_le_bytes(self.fill()?);
        let damaged =
            || Fault::Invalid(format!("damaged: its check is {found:08x}, and its bytes give {expected:08x}"));
        if found == expected { Ok(()) } else { Err(damaged()) }
    }
}

impl<R: Read> Source for Checked<R> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let bytes = self.fill()?;
        self.check.update(&bytes);
        Ok(bytes)
    }
}
