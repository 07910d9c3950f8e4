//! Files of jobs: read, and read again when a run repeats.

use crate::error::Error;
use crate::job::generated::algorithm_of;
use crate::job::recent::Recent;
use crate::model::{JobFormat, JobModel, JobSource, StartUnit};
use crate::sizes::{plain_file, read_text};
use backwater_jobs::chakra::{self, Groups, Survey};
use backwater_jobs::collective::Kind;
use backwater_jobs::htsim::{Unit, matrix};
use backwater_jobs::job::RANKS_MAX;
use backwater_jobs::{Job, Refused, csv, goal, simai};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Longest text that a resolved scenario holds itself, bytes. Of a longer file it holds the path and a hash.
const ROWS_MAX: u64 = 1 << 20;

/// What a resolved scenario keeps of a file.
pub(crate) enum Kept {
    Rows(String),
    Source(JobSource),
}

/// How a file is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) format: JobFormat,
    /// Unit of the starts in a connection matrix.
    pub(crate) start_unit: Option<StartUnit>,
    /// Bytes of the message by which a trigger reaches another host.
    pub(crate) signal: Option<u64>,
    /// What traces and text workloads leave open.
    pub(crate) model: JobModel,
    /// Iterations of a text workload.
    pub(crate) iterations: u32,
}

/// Format of a file by its name, where the scenario does not say.
pub(crate) fn format_of(name: &str) -> Option<JobFormat> {
    let (_, extension) = name.rsplit_once('.')?;
    match extension {
        "goal" => Some(JobFormat::Goal),
        "bin" => Some(JobFormat::GoalBinary),
        "csv" => Some(JobFormat::Csv),
        "cm" | "tm" => Some(JobFormat::Htsim),
        _ => None,
    }
}

/// Reads a job's file. `name` is its name in messages.
///
/// # Errors
/// If the file cannot be read, or at a place that is not valid.
pub(crate) fn read(path: &Path, name: &str, reading: &Reading) -> Result<(Kept, Arc<Job>), Error> {
    let whole = !matches!(reading.format, JobFormat::GoalBinary | JobFormat::Chakra);
    if whole && plain_file(path, name)? <= ROWS_MAX {
        let rows = read_text(path, name)?;
        let job = parse(&rows, name, reading)?;
        return Ok((Kept::Rows(rows), job));
    }
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let files = files(path, name, reading.format)?;
    let source = JobSource { path: absolute.display().to_string(), blake3: hash_of(&files)? };
    let job = read_files(&files, &source.blake3, reading)?;
    Ok((Kept::Source(source), job))
}

/// Reads the rows that a resolved scenario holds.
pub(crate) fn parse(rows: &str, name: &str, reading: &Reading) -> Result<Arc<Job>, Error> {
    let hash = blake3::hash(rows.as_bytes()).to_hex().to_string();
    READ.get((hash, reading.clone()), || read_rows(rows, name, reading))
}

/// Reads the file that a resolved scenario names, if it is what it was.
pub(crate) fn read_again(source: &JobSource, reading: &Reading) -> Result<Arc<Job>, Error> {
    let files = files(Path::new(&source.path), &source.path, reading.format)?;
    if hash_of(&files)? != source.blake3 {
        let problem = format!("has changed: expected contents with the BLAKE3 hash {}", source.blake3);
        return Err(Error::at(&source.path, problem));
    }
    read_files(&files, &source.blake3, reading)
}

/// A file and its name in messages.
pub(super) type Named = (PathBuf, String);

/// Lists the files of a job: one, or of a Chakra trace one for each rank.
pub(super) fn files(path: &Path, name: &str, format: JobFormat) -> Result<Vec<Named>, Error> {
    if format != JobFormat::Chakra {
        plain_file(path, name)?;
        return Ok(vec![(path.to_path_buf(), name.into())]);
    }
    let of_rank = |rank: u32| {
        let with = |text: &str| format!("{text}.{rank}.et");
        (PathBuf::from(with(&path.display().to_string())), with(name))
    };
    let files: Vec<Named> = (0..RANKS_MAX).map(of_rank).take_while(|(path, _)| path.is_file()).collect();
    if files.is_empty() {
        return Err(Error::at(name, format!("there is no {}: expected a file for each rank, from 0", of_rank(0).1)));
    }
    Ok(files)
}

pub(super) fn read_files(files: &[Named], hash: &str, reading: &Reading) -> Result<Arc<Job>, Error> {
    READ.get((hash.into(), reading.clone()), || {
        let (path, name) = &files[0];
        match reading.format {
            JobFormat::Goal => goal::text::read(open(path, name)?, name).map_err(refused),
            JobFormat::GoalBinary => goal::binary::read(open(path, name)?, name).map_err(refused),
            JobFormat::Chakra => read_chakra(files, &reading.model),
            JobFormat::Csv | JobFormat::Htsim | JobFormat::Simai => read_rows(&read_text(path, name)?, name, reading),
        }
    })
}

fn open(path: &Path, name: &str) -> Result<BufReader<File>, Error> {
    let file = File::open(path).map_err(|error| Error::at(name, format!("cannot be read: {error}")))?;
    Ok(BufReader::with_capacity(1 << 16, file))
}

fn read_rows(rows: &str, name: &str, reading: &Reading) -> Result<Job, Error> {
    let Reading { format, start_unit, signal, model, iterations } = reading;
    let job = match format {
        JobFormat::Goal => goal::text::read(rows.as_bytes(), name),
        JobFormat::Csv => csv::read(rows, name, None),
        JobFormat::Htsim => {
            let unit = match start_unit {
                Some(StartUnit::Ps) => Unit::Picoseconds,
                Some(StartUnit::Us) => Unit::Microseconds,
                None => unreachable!("the reader of scenarios asks for it"),
            };
            matrix::read(rows, name, unit).and_then(|matrix| matrix.job(name, *signal))
        }
        JobFormat::Simai => {
            let options = simai::Options {
                ranks: model.ranks,
                first_dimension: model.first_dimension,
                stages: model.stages,
                microbatches: model.microbatches,
                stage_bytes: model.stage_bytes.map(|bytes| bytes.0),
                iterations: *iterations,
                parts: model.virtual_stages,
                shrink: model.shrink,
                all_reduce: algorithm_of(Kind::AllReduce, Some(model.all_reduce)),
                channels: model.channels,
            };
            simai::read(rows, name).and_then(|read| simai::job(&read, options, name))
        }
        JobFormat::GoalBinary | JobFormat::Chakra => {
            return Err(Error::at(name, "expected a file: this format is no text"));
        }
    };
    job.map_err(refused)
}

/// Reads the traces of all ranks twice, one after the other: large ones do not fit into memory together.
fn read_chakra(files: &[Named], model: &JobModel) -> Result<Job, Error> {
    let options = chakra::Options {
        all_reduce: algorithm_of(Kind::AllReduce, Some(model.all_reduce)),
        channels: model.channels,
        control_dependencies: model.control_dependencies,
    };
    let nodes = |(path, name): &Named| chakra::node::read(open(path, name)?, name).map_err(refused);
    let mut survey = Survey::new(Groups::from(model.groups.clone()), options);
    for file in files {
        survey.add(&file.1, &nodes(file)?);
    }
    let mut traces = survey.begin().map_err(refused)?;
    for file in files {
        traces.add(&file.1, &nodes(file)?).map_err(refused)?;
    }
    traces.finish().map_err(refused)
}

pub(super) fn refused(Refused { place, problem }: Refused) -> Error {
    Error::at(place, problem)
}

/// Hashes the contents of files, one behind another.
pub(super) fn hash_of(files: &[Named]) -> Result<String, Error> {
    let (mut hasher, mut block) = (blake3::Hasher::new(), vec![0; 1 << 16]);
    for (path, name) in files {
        let refuse = |error: std::io::Error| Error::at(name, format!("cannot be read: {error}"));
        let mut file = File::open(path).map_err(refuse)?;
        loop {
            match file.read(&mut block).map_err(refuse)? {
                0 => break,
                len => _ = hasher.update(&block[..len]),
            }
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// Jobs by the hash of their file and how it was read.
static READ: Recent<(String, Reading)> = Recent::new();
