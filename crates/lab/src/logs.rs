//! Logs of switches, for `backwater replay`, and captures of ports.

use backwater_nic::Nic;
use backwater_replay::{Error, Head, Log, Recorded, number_of};
use backwater_scenario::model::Scenario;
use backwater_scenario::topology::Graph;
use backwater_schemes::AnySwitch;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use crate::captures::Captures;
use crate::fabric::outside::Part;
use crate::fabric::{Fabric, watchdog};
use crate::frames::Frames;

/// Logs of some switches of a network, in files. Copies write the same files.
#[derive(Clone, Debug, Default)]
pub struct Logs {
    switches: Vec<OneLog>,
    captures: Captures,
}

#[derive(Clone, Debug)]
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
        self.part(scenario, graph, (Part::All, None), frames)
    }

    /// Builds a part of it, as [`Fabric::part`].
    pub fn part<N: Nic<Frames>>(
        &self,
        scenario: &Scenario,
        graph: &Graph,
        (part, watchdog): (Part, Option<watchdog::Settings>),
        frames: usize,
    ) -> Fabric<AnySwitch, N> {
        // Switches are built in order of their numbers.
        let (memory, next) = (scenario.conventions.memory, Cell::new(part.nodes(graph).start.max(graph.hosts)));
        let plane = |shape: &_, table: &_| {
            let (plane, number) = (backwater_planes::any(memory, shape, table), next.get());
            next.set(number + 1);
            match self.switches.iter().find(|one| one.number == number) {
                Some(one) => Box::new(Recorded::new(plane, one.log.clone())) as AnySwitch,
                None => plane,
            }
        };
        let mut fabric = Fabric::part(scenario, graph, (part, watchdog), plane, frames);
        fabric.capture(&self.captures);
        fabric
    }

    /// Writes what waits in memory, between two events of the fabric.
    ///
    /// # Errors
    /// The first error in writing. A file has nothing that came after it.
    pub fn flush(&self) -> Result<(), Error> {
        self.each(|log| log.flush())
    }

    /// Ends all logs and captures, after the last event of the fabric.
    ///
    /// # Errors
    /// The first error in writing.
    pub fn finish(&self) -> Result<(), Error> {
        self.each(|log| log.finish().map(|_| ()))
    }

    /// Lets `write` act on each log, and flushes the captures: all of them, also after an error.
    fn each(&self, write: impl Fn(&Log<BufWriter<File>>) -> io::Result<()>) -> Result<(), Error> {
        let logs = self.switches.iter();
        let logs = logs.map(|one| write(&one.log).map_err(|error| unwritten(&one.path, &error)));
        logs.fold(Ok(()), Result::and).and(self.captures.flush())
    }
}

fn unwritten(path: &Path, error: &io::Error) -> Error {
    Error::whole(format!("{}: cannot be written: {error}", path.display()))
}
