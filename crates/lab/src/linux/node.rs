//! A process of the lab that runs one part of the network. It reads orders from a pipe, and answers by another, a line of
//! JSON each.

use crate::fabric::Fabric;
use crate::fabric::outside::Part;
use crate::fabric::watchdog;
use crate::linux::clock::Clock;
use crate::linux::network::{rings_of_ends, rings_of_hosts};
use crate::linux::running::{Carrier, Counts, FRAMES, Running};
use crate::linux::{During, LabError};
use crate::meter::{Measured, Meter};
use crate::own::{Own, own_flows};
use backwater_nic::Rings;
use backwater_scenario::topology::expand;
use backwater_schemes::{AnySwitch, planes};
use backwater_wire::HEADER;
use serde::{Deserialize, Serialize};
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
}

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

/// Runs a part of the network until the input ends. Returns whether the system refused nothing.
///
/// # Errors
/// If the input or the output fails, or the first line is no order.
pub fn serve(mut input: impl BufRead + Send + 'static, mut output: impl Write) -> io::Result<bool> {
    let mut first = String::new();
    input.read_line(&mut first)?;
    let order: Order = serde_json::from_str(&first)?;
    let mut running = match start(&order) {
        Ok(running) => running,
        Err(why) => return say(&mut output, &Said::Refused(why.to_string())).map(|()| false),
    };
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
                return say(&mut output, &Said::Ended(Box::new(counts), measured)).map(|()| true);
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(true),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if running.is_greeted() && !ready {
            ready = true;
            say(&mut output, &Said::Ready)?;
        }
        say(&mut output, &Said::Counts(Box::new(running.counts())))?;
    }
}

fn say(output: &mut impl Write, said: &Said) -> io::Result<()> {
    serde_json::to_writer(&mut *output, said)?;
    output.write_all(b"\n")?;
    output.flush()
}

fn start(order: &Order) -> Result<Running, LabError> {
    let scenario = backwater_scenario::from_json(&order.scenario).map_err(io::Error::other);
    let scenario = scenario.during("the lab gave a scenario that cannot be read", "")?;
    let graph = expand(&scenario.topology);
    let memory = scenario.conventions.memory;
    let plane = |shape: &_, table: &_| planes::any(memory, shape, table);
    let mut fabric: Fabric<AnySwitch, Rings> =
        Fabric::part(&scenario, &graph, (order.part, order.watchdog), plane, FRAMES);
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
    Running::carry(fabric, meter, clock, rings)
}
