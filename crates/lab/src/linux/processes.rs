//! The network as processes: one for the NICs of all hosts, and one for each switch. A process that ends before the lab is
//! started again, with nothing of before, as a switch that reboots. Its log begins anew in another file, since a replay
//! begins with a switch that holds nothing. Its captures go on.

use crate::captures::Wanted;
use crate::fabric::outside::Part;
use crate::fabric::watchdog;
use crate::linux::clock::Clock;
use crate::linux::node::{Captured, Order, Said, Word};
use crate::linux::running::{Carrier, Counts, ProcessCounts};
use crate::linux::{During, LabError, Network};
use crate::logs::Logs;
use crate::meter::Measured;
use backwater_scenario::topology::{Graph, expand};
use backwater_types::Instant;
use backwater_wire::HEADER;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Time that a process has to start and to greet its neighbours, or to end.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time after which all processes begin together.
const TOGETHER: Duration = Duration::from_millis(20);
/// Starts of one process in a row that do not become ready.
const ATTEMPTS: u32 = 5;

/// Processes of a lab, and how they start.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Command that runs [`serve`](crate::linux::node::serve) on its input and output. The name of the part follows, so
    /// that a list of processes shows it.
    pub command: Vec<String>,
    /// The scenario, as JSON.
    pub scenario: String,
    /// Seconds of the machine for a second of the network.
    pub divisor: u32,
    /// Whether to keep the scenario's measurements.
    pub measured: bool,
    /// Whether hosts send the scenario's own flows.
    pub own_flows: bool,
    /// Watchdogs over pauses by neighbours.
    pub watchdog: Option<watchdog::Settings>,
    /// Whether their threads have real-time priority.
    pub realtime: bool,
    /// A file for the log of each switch that it names. One that starts again has a log for each start, in files with
    /// `.2`, `.3` and so on at their ends.
    pub logs: BTreeMap<String, PathBuf>,
    /// Captures, whose files were started. The ports of a file belong to one process, which goes on with it when it
    /// starts again.
    pub captures: Vec<Wanted>,
}

/// A network that runs as processes.
pub struct Processes {
    parts: Vec<Arc<Process>>,
    threads: Vec<JoinHandle<()>>,
    clock: Clock,
}

/// One of the processes.
struct Process {
    part: Part,
    name: String,
    asked: Asked,
    /// Number of the other processes.
    beside: usize,
    /// Its captures.
    captures: Vec<Captured>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    input: Option<ChildStdin>,
    ready: bool,
    /// Starts in a row that did not become ready, and starts after the first that did.
    attempts: u32,
    restarts: u64,
    /// Logs so far, one for each start.
    logs: Vec<PathBuf>,
    /// First error in writing logs and captures, whether or not the process that met it lives.
    unwritten: Option<String>,
    /// Start of the lab's clock.
    start: Option<Duration>,
    counts: Counts,
    measured: Vec<Measured>,
    ending: bool,
    /// Set when the process is not started again, with the error of the system, if there was one.
    over: Option<Option<String>>,
}

impl Process {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Runs the process, and runs it again when it ends too early.
    fn keep(&self) {
        loop {
            let refused = self.run().err().map(|why| why.to_string());
            let mut state = self.state();
            state.input = None;
            if refused.is_some() || state.ending || state.attempts >= ATTEMPTS {
                let gave_up = || format!("it ended {ATTEMPTS} times before its neighbours had answered");
                let refused = refused.or_else(|| (!state.ending).then(gave_up));
                state.over = Some(refused);
                self.changed.notify_all();
                return;
            }
            state.restarts += u64::from(state.ready);
            state.ready = false;
        }
    }

    fn run(&self) -> io::Result<()> {
        let mut child = self.start()?;
        let Some(output) = child.stdout.take() else { return Ok(()) };
        let mut refused = None;
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let Ok(said) = serde_json::from_str(&line) else { break };
            let mut state = self.state();
            match said {
                Said::Ready => (state.ready, state.attempts) = (true, 0),
                Said::Counts(counts) => state.take(*counts),
                Said::Ended(counts, measured) => {
                    state.take(*counts);
                    state.measured = measured;
                }
                Said::Refused(why) => refused = Some(why),
            }
            self.changed.notify_all();
        }
        child.wait()?;
        refused.map_or(Ok(()), |why| Err(io::Error::other(why)))
    }

    fn start(&self) -> io::Result<Child> {
        let mut state = self.state();
        state.attempts += 1;
        let log = self.next_log(&mut state).map(PathBuf::into_os_string);
        let Asked { command, scenario, divisor, measured, own_flows, watchdog, realtime, .. } = self.asked.clone();
        let [program, arguments @ ..] = &command[..] else { return Err(io::Error::other("no command is given")) };
        let mut child = Command::new(program)
            .args(arguments)
            .arg(&self.name)
            // Keys of the terminal, such as Ctrl-C, are for the lab, which ends its processes itself.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (part, start, beside, captures) = (self.part, state.start, self.beside, self.captures.clone());
        let order =
            Order { scenario, part, divisor, measured, own_flows, watchdog, start, beside, realtime, log, captures };
        state.input = child.stdin.take();
        tell(&mut state, &order);
        Ok(child)
    }

    /// Returns the file for the log of the next start, which nobody else has.
    fn next_log(&self, state: &mut State) -> Option<PathBuf> {
        let first = self.asked.logs.get(&self.name).filter(|_| self.part != Part::Hosts)?;
        let mut path = first.clone().into_os_string();
        if !state.logs.is_empty() {
            path.push(format!(".{}", state.logs.len() + 1));
            if let Err(why) = self.start_log(Path::new(&path)) {
                state.unwritten.get_or_insert(why);
                return None;
            }
        }
        state.logs.push(path.clone().into());
        Some(path.into())
    }

    /// Starts a log in a new file. So it is one, however early the process that goes on with it ends.
    fn start_log(&self, path: &Path) -> Result<(), String> {
        File::create_new(path).map_err(|error| format!("{}: cannot be written: {error}", path.display()))?;
        let scenario = backwater_scenario::from_json(&self.asked.scenario).map_err(|error| error.to_string())?;
        let wanted = BTreeMap::from([(self.name.clone(), path.to_path_buf())]);
        Logs::create(&scenario, &expand(&scenario.topology), wanted).map(drop).map_err(|error| error.to_string())
    }

    fn word(&self, word: Word) {
        tell(&mut self.state(), &word);
    }

    /// Waits until the state is as wanted. Returns whether it is.
    fn wait(&self, patience: Duration, wanted: impl Fn(&State) -> bool) -> bool {
        let waited = self.changed.wait_timeout_while(self.state(), patience, |state| !wanted(state));
        waited.is_ok_and(|(state, _)| wanted(&state))
    }
}

impl State {
    fn take(&mut self, counts: Counts) {
        if self.unwritten.is_none() {
            self.unwritten.clone_from(&counts.unwritten);
        }
        self.counts = counts;
    }
}

/// Writes a line to the process. One that has ended reads nothing, and is started again.
fn tell(state: &mut State, line: &impl serde::Serialize) {
    let Some(input) = &mut state.input else { return };
    let written =
        serde_json::to_writer(&mut *input, line).map_err(io::Error::from).and_then(|()| input.write_all(b"\n"));
    if written.is_err() {
        state.input = None;
    }
}

impl Processes {
    /// Starts the processes of a network with these hosts. Time 0 comes `later` than the moment when all are ready.
    ///
    /// # Errors
    /// If the system refuses links or processes, or one does not become ready.
    pub fn start(
        network: &mut Network,
        graph: &Graph,
        longest: usize,
        asked: Asked,
        later: Duration,
    ) -> Result<Processes, LabError> {
        let captures = captures_of(graph, &asked.captures)?;
        // The process of the hosts has ends of its own.
        drop(network.take_rings());
        network.add_links(graph.links.len(), longest + HEADER)?;
        let name = |part: Part| match part {
            Part::Switch(number) => graph.nodes[number].name.clone(),
            Part::All | Part::Hosts => "hosts".into(),
        };
        let beside = graph.nodes.len() - graph.hosts;
        let process = |part: Part| {
            let (state, changed) = Default::default();
            let captures = captures.iter().filter(|(of, _)| *of == part).map(|(_, one)| one.clone()).collect();
            Arc::new(Process { part, name: name(part), asked: asked.clone(), beside, captures, state, changed })
        };
        let parts: Vec<Arc<Process>> = Part::each(graph).map(process).collect();
        let mut processes = Processes { parts, threads: Vec::new(), clock: Clock::standing(asked.divisor) };
        for part in processes.parts.clone() {
            let thread = thread::Builder::new().name("process".into()).spawn(move || part.keep());
            processes.threads.push(thread.during("cannot start a thread", "")?);
        }
        for part in &processes.parts {
            let ready = part.wait(PATIENCE, |state| state.ready || state.over.is_some());
            let why = match &part.state().over {
                Some(over) => over.clone().unwrap_or_default(),
                None if ready => continue,
                None => format!("it was not ready after {} s", PATIENCE.as_secs()),
            };
            return Err(io::Error::other(why)).during(format!("cannot start the process of {}", part.name), "");
        }
        processes.clock = Clock::start(asked.divisor).later(TOGETHER + later);
        let start = processes.clock.monotonic();
        for part in &processes.parts {
            part.state().start = Some(start);
            part.word(Word::Begin(start));
        }
        Ok(processes)
    }

    fn end(&mut self) {
        for part in &self.parts {
            part.state().ending = true;
            part.word(Word::End);
        }
        for part in &self.parts {
            part.wait(PATIENCE, |state| state.over.is_some());
            part.state().input = None;
        }
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Assigns captures to the part whose process writes them.
///
/// # Errors
/// If the ports of a file belong to several.
fn captures_of(graph: &Graph, wanted: &[Wanted]) -> Result<Vec<(Part, Captured)>, LabError> {
    let part = |node: u32| if (node as usize) < graph.hosts { Part::Hosts } else { Part::Switch(node as usize) };
    let one = |(path, ports): &Wanted| {
        let mut parts = ports.iter().map(|(_, node, _)| part(*node));
        let first = parts.next().unwrap_or(Part::Hosts);
        let same = if parts.all(|part| part == first) { Ok(()) } else { Err(io::Error::other("its ports differ")) };
        same.during(format!("{}: one process writes a file", path.display()), "expected a file for each process")?;
        Ok((first, (path.clone().into_os_string(), ports.clone())))
    };
    wanted.iter().map(one).collect()
}

impl Carrier for Processes {
    fn clock(&self) -> Clock {
        self.clock
    }

    fn now(&self) -> Instant {
        self.clock.now().network()
    }

    fn runs(&self) -> bool {
        self.parts.iter().all(|part| part.state().over.is_none())
    }

    fn packet_hops(&self) -> u64 {
        self.parts.iter().map(|part| part.state().counts.packet_hops).sum()
    }

    fn counts(&self) -> Counts {
        let mut sum = Counts::default();
        for part in &self.parts {
            let state = part.state();
            let counts = state.counts.clone();
            sum.now = sum.now.max(counts.now);
            sum.inside += counts.inside;
            sum.dropped += counts.dropped;
            sum.packet_hops += counts.packet_hops;
            sum.hosts.extend(counts.hosts);
            sum.ports.extend(counts.ports);
            sum.links.extend(counts.links);
            let logs = state.logs.iter().map(|path| path.display().to_string()).collect();
            sum.processes.push(ProcessCounts { name: part.name.clone(), restarts: state.restarts, logs });
            sum.unwritten = sum.unwritten.or(state.unwritten.clone());
        }
        sum
    }

    fn count_lateness_anew(&self) {
        self.parts.iter().for_each(|part| part.word(Word::CountAnew));
    }

    fn stop(&mut self) -> (Counts, Vec<Measured>) {
        self.end();
        let measured = self.parts.iter().flat_map(|part| std::mem::take(&mut part.state().measured)).collect();
        (self.counts(), measured)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.end();
    }
}
