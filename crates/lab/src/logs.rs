//! Logs of switches, for `backwater replay`, and captures of ports.

use backwater_nic::Nic;
use backwater_replay::{Error, Head, Log, Recorded, number_of};
use backwater_scenario::model::Scenario;
use backwater_scenario::topology::Graph;
use backwater_schemes::{AnySwitch, planes};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use crate::captures::Captures;
use crate::fabric::Fabric;
use crate::frames::Frames;

/// Logs of some switches of a network, in files.
#[derive(Debug, Default)]
pub struct Logs {
    switches: Vec<OneLog>,
    captures: Captures,
}

#[derive(Debug)]
struct OneLog {
    /// Number of the switch in the graph.
    number: usize,
    path: PathBuf,
    log: Log<BufWriter<File>>,
}

impl Logs {
    /// Starts a log for each switch that `wanted` names, in its file, which is replaced.
    ///
    /// # Errors
    /// If there is no switch of this name, or the file cannot be written.
    pub fn create(scenario: &Scenario, graph: &Graph, wanted: BTreeMap<String, PathBuf>) -> Result<Logs, Error> {
        let one = |(name, path): (String, PathBuf)| {
            let number = number_of(graph, &name)?;
            let written = Head::new(scenario, &name).map_err(Into::into).and_then(|head| Log::create(&path, &head));
            let log = written.map_err(|error| unwritten(&path, &error))?;
            Ok(OneLog { number, path, log })
        };
        let switches = wanted.into_iter().map(one).collect::<Result<_, _>>()?;
        Ok(Logs { switches, captures: Captures::default() })
    }

    /// The same logs, and captures of ports.
    pub fn with(self, captures: Captures) -> Logs {
        Logs { captures, ..self }
    }

    /// Builds the fabric of a scenario, as [`Fabric::new`], with these logs and captures.
    pub fn fabric<N: Nic<Frames>>(&self, scenario: &Scenario, graph: &Graph, frames: usize) -> Fabric<AnySwitch, N> {
        // Switches are built in order of their numbers.
        let (memory, next) = (scenario.conventions.memory, Cell::new(graph.hosts));
        let plane = |shape: &_, table: &_| {
            let (plane, number) = (planes::any(memory, shape, table), next.get());
            next.set(number + 1);
            match self.switches.iter().find(|one| one.number == number) {
                Some(one) => Box::new(Recorded::new(plane, one.log.clone())) as AnySwitch,
                None => plane,
            }
        };
        let mut fabric = Fabric::new(scenario, graph, plane, frames);
        fabric.capture(&self.captures);
        fabric
    }

    /// Ends all logs and captures, after the last event of the fabric.
    ///
    /// # Errors
    /// The first error in writing.
    pub fn finish(&self) -> Result<(), Error> {
        let mut logs = self.switches.iter();
        logs.try_for_each(|one| one.log.finish().map(|_| ()).map_err(|error| unwritten(&one.path, &error)))?;
        self.captures.finish()
    }
}

fn unwritten(path: &Path, error: &std::io::Error) -> Error {
    Error::whole(format!("{}: cannot be written: {error}", path.display()))
}
