//! A process of the lab that runs one part of the network. It reads orders from a pipe, and answers by another, a line of
//! JSON each.

use crate::fabric::Fabric;
use crate::fabric::outside::Part;
use crate::fabric::watchdog;
use crate::linux::clock::Clock;
use crate::linux::network::{rings_of_ends, rings_of_hosts};
use crate::linux::running::{Carrier, Counts, FRAMES, Process, Running};
use crate::linux::{During, LabError};
use crate::meter::{Measured, Meter};
use crate::own::{Own, own_flows};
use crate::{Captures, Logs};
use backwater_nic::Rings;
use backwater_replay::Error;
use backwater_scenario::model::Scenario;
use backwater_scenario::topology::{Graph, expand};
use backwater_schemes::AnySwitch;
use backwater_types::PortId;
use backwater_wire::HEADER;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Time between two looks at whether the neighbours have answered, and then between two reports.
const LOOKED: Duration = Duration::from_millis(10);
const REPORTED: Duration = Duration::from_millis(200);

/// Part that the process runs: the first line of its input.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// The scenario, as JSON.
    pub scenario: String,
    /// Part of its network.
    pub part: Part,
    /// Seconds of the machine for a second of the network.
    pub divisor: u32,
    /// Whether to keep the scenario's measurements.
    pub measured: bool,
    /// Whether hosts send the scenario's own flows.
    pub own_flows: bool,
    /// Watchdogs over pauses by neighbours.
    pub watchdog: Option<watchdog::Settings>,
    /// Start of the lab's clock on the machine's monotonic clock. `None`: it comes later.
    pub start: Option<Duration>,
    /// Number of the network's other processes.
    pub beside: usize,
    /// Whether its thread is to have real-time priority.
    pub realtime: bool,
    /// File for the log of its switch, which is replaced.
    pub log: Option<OsString>,
    /// Captures of its ports. Their files were started before.
    pub captures: Vec<Captured>,
}

/// As [`Wanted`](crate::captures::Wanted), with the name of the file as it is.
pub type Captured = (OsString, Vec<(String, u32, PortId)>);

/// A later line of its input.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Word {
    /// Start of the lab's clock, on the machine's monotonic clock.
    Begin(Duration),
    /// Count lateness anew.
    CountAnew,
    /// End, and report the measurements. The end of the pipe ends the process too.
    End,
}

/// A line of its output.
#[derive(Serialize, Deserialize)]
pub enum Said {
    /// All neighbours have answered.
    Ready,
    /// Counters so far.
    Counts(Box<Counts>),
    /// The last word.
    Ended(Box<Counts>, Vec<Measured>),
    /// Error of the system. The process ends.
    Refused(String),
}

/// Runs a part of the network until the input ends. `hurry` gives the thread that runs it real-time priority, if that is
/// ordered. Returns whether the system refused nothing.
///
/// # Errors
/// If the input or the output fails, or the first line is no order.
pub fn serve(
    mut input: impl BufRead + Send + 'static,
    mut output: impl Write,
    hurry: impl Fn() -> Result<(), String>,
) -> io::Result<bool> {
    let mut first = String::new();
    input.read_line(&mut first)?;
    let order: Order = serde_json::from_str(&first)?;
    let started = start(&order).map_err(|why| why.to_string());
    let started = started.and_then(|started| if order.realtime { hurry().map(|()| started) } else { Ok(started) });
    let (mut running, files, unopened) = match started {
        Ok(started) => started,
        Err(why) => return say(&mut output, &Said::Refused(why)).map(|()| false),
    };
    // Only the first error is reported, and an error in opening a file is earlier than one in writing.
    let told = |counts: Counts| Counts { unwritten: unopened.clone().or(counts.unwritten), ..counts };
    let (send, words) = mpsc::channel();
    thread::spawn(move || {
        for line in input.lines().map_while(Result::ok) {
            let Ok(word) = serde_json::from_str::<Word>(&line) else { return };
            if send.send(word).is_err() {
                return;
            }
        }
    });
    let mut ready = false;
    loop {
        match words.recv_timeout(if ready { REPORTED } else { LOOKED }) {
            Ok(Word::Begin(start)) => running.begin(Clock::at(order.divisor, start)),
            Ok(Word::CountAnew) => running.count_lateness_anew(),
            Ok(Word::End) => {
                let (counts, measured) = running.stop();
                let unwritten = files.finish().err().map(|error| error.to_string());
                let counts = told(Counts { unwritten: counts.unwritten.or(unwritten), ..counts });
                return say(&mut output, &Said::Ended(Box::new(counts), measured)).map(|()| true);
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(true),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if !running.runs() {
            // The loop failed, and so does this process: the lab starts it again.
            running.stop();
        }
        if running.is_greeted() && !ready {
            ready = true;
            say(&mut output, &Said::Ready)?;
        }
        say(&mut output, &Said::Counts(Box::new(told(running.counts()))))?;
    }
}

fn say(output: &mut impl Write, said: &Said) -> io::Result<()> {
    serde_json::to_writer(&mut *output, said)?;
    output.write_all(b"\n")?;
    output.flush()
}

/// Starts the part. Returns it with its files, and what could not be opened: as an error in writing, that ends no switch.
fn start(order: &Order) -> Result<(Running, Logs, Option<String>), LabError> {
    let scenario = backwater_scenario::from_json(&order.scenario).map_err(io::Error::other);
    let scenario = scenario.during("the lab gave a scenario that cannot be read", "")?;
    let graph = expand(&scenario.topology);
    let (files, unopened) = open(order, &scenario, &graph);
    let mut fabric: Fabric<AnySwitch, Rings> = files.part(&scenario, &graph, (order.part, order.watchdog), FRAMES);
    if order.own_flows && order.part == Part::Hosts {
        fabric.name_flows(own_flows(&scenario, &graph).iter().filter_map(Own::name));
    }
    let longest = scenario.host.full_packet().0 as usize;
    let hosts = if order.part == Part::Hosts { graph.hosts } else { 0 };
    let rings = rings_of_hosts(hosts, longest).and_then(|hosts| {
        let links = rings_of_ends(fabric.ends(), longest + HEADER)?;
        Ok([hosts, links])
    });
    let rings = rings.during("cannot open the ends of its links", "")?;
    let meter = order.measured.then(|| Meter::new(&scenario, &graph, &mut fabric));
    let clock = order.start.map_or_else(|| Clock::standing(order.divisor), |start| Clock::at(order.divisor, start));
    let process = Process { rings, files: files.clone(), beside: order.beside };
    Ok((Running::carry(fabric, meter, clock, process)?, files, unopened))
}

/// Opens the log and the captures of the part. Returns those that could be opened, and the first error.
fn open(order: &Order, scenario: &Scenario, graph: &Graph) -> (Logs, Option<String>) {
    let log = match (order.part, &order.log) {
        (Part::Switch(number), Some(path)) => Some((graph.nodes[number].name.clone(), path.into())),
        _ => None,
    };
    let captures = order.captures.iter().map(|(path, ports)| (path.into(), ports.clone())).collect();
    let logs = Logs::create(scenario, graph, log.into_iter().collect());
    let captures = Captures::append(graph, captures);
    let first = [logs.as_ref().err(), captures.as_ref().err()].into_iter().flatten().next().map(Error::to_string);
    (logs.unwrap_or_default().with(captures.unwrap_or_default()), first)
}
