//! The lab: real packets between programs, through the switches of a scenario.

use crate::{InputError, Outcome, Run, caught, json, refused};
use backwater_lab::fabric::address;
use backwater_lab::fabric::watchdog::{Action, Settings};
use backwater_lab::ip::Refused;
use backwater_lab::linux::bpf::KernelDctcp;
use backwater_lab::linux::clock::Clock;
use backwater_lab::linux::lateness::Lateness;
use backwater_lab::linux::namespace::Namespace;
use backwater_lab::linux::node;
use backwater_lab::linux::processes::Asked;
use backwater_lab::linux::running::{FRAMES, LinkCounts};
use backwater_lab::linux::whole::{self, Progress, Watcher, Whole};
use backwater_lab::linux::{
    Carrier, Counts, HostCounts, LabError, Network, PortReading, Processes, Running, namespace,
};
use backwater_lab::meter::{Measured, Meter};
use backwater_lab::{Captures, Logs, Pace, captures, check, check_flows};
use backwater_nic::Rings;
use backwater_scenario as scenario;
use backwater_scenario::model::Scenario;
use backwater_scenario::topology::{Graph, expand};
use backwater_sim::Watch;
use backwater_sim::measure::digest::conclude;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde_json::{Value, json as value};
use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant as Wall};

/// Time between two readings that a run publishes.
const PUBLISHED: Duration = Duration::from_millis(100);

fn failed(error: LabError) -> PyErr {
    InputError::new_err(error.to_string())
}

/// Moves this process, which must have one thread, into namespaces of its own. Its next child is their first process.
#[pyfunction]
pub(crate) fn lab_enter() -> PyResult<()> {
    namespace::enter().map_err(failed)
}

/// Ends this process by SIGKILL when its parent ends.
#[pyfunction]
pub(crate) fn lab_follow_parent() -> PyResult<()> {
    namespace::follow_parent().map_err(failed)
}

/// Runs a part of a network as a process of the lab, by orders on the standard input. `hurry` gives its thread real-time
/// priority, if that is ordered. Returns whether the system refused nothing.
///
/// # Errors
/// `OSError` if the input or the output fails.
#[pyfunction]
pub(crate) fn lab_node(py: Python<'_>, hurry: Py<PyAny>) -> PyResult<bool> {
    let told = |py: Python<'_>, error: PyErr| error.value(py).to_string();
    let hurry = || Python::attach(|py| hurry.call0(py).map(|_| ()).map_err(|error| told(py, error)));
    Ok(py.detach(|| node::serve(BufReader::new(io::stdin()), io::stdout(), hurry))?)
}

/// A network that runs as processes: the command that starts one, whether their threads have real-time priority, and the
/// watchdog.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Apart {
    command: Vec<String>,
    realtime: bool,
    /// Longest time that a neighbour may hold a queue, a flow or a class, time between two looks, both in seconds of the
    /// network, and whether to drop what is held longer.
    watchdog: Option<(f64, f64, bool)>,
}

impl Apart {
    fn asked(self, scenario_json: &str, divisor: u32, [measured, own_flows]: [bool; 2], files: Files) -> Asked {
        let settings = |(span, poll, drops): (f64, f64, bool)| {
            Settings::from_seconds(span, poll, if drops { Action::Drop } else { Action::Forward })
        };
        let watchdog = self.watchdog.and_then(settings);
        Asked {
            command: self.command,
            scenario: scenario_json.into(),
            divisor,
            measured,
            own_flows,
            watchdog,
            realtime: self.realtime,
            logs: files.logs,
            captures: files.captures,
        }
    }
}

/// Files that a lab writes: the log of each switch that it names, and captures with their ports: name, node and port.
#[derive(Clone)]
struct Files {
    logs: BTreeMap<String, PathBuf>,
    captures: Vec<captures::Wanted>,
}

impl Files {
    /// Starts them, for one process that runs the whole network.
    fn create(self, scenario: &Scenario, graph: &Graph) -> PyResult<Logs> {
        let refused = |error: backwater_replay::Error| InputError::new_err(error.to_string());
        let captures = Captures::create(graph, self.captures).map_err(refused)?;
        Ok(Logs::create(scenario, graph, self.logs).map_err(refused)?.with(captures))
    }
}

/// Moves this process, which must have one thread, into the namespaces that these descriptors are of, in their order.
#[pyfunction]
pub(crate) fn lab_join(descriptors: Vec<i32>) -> PyResult<()> {
    namespace::join_all(&descriptors).map_err(failed)
}

/// Says why the lab cannot carry a scenario, or cannot send its own flows if `own_flows`; `None` if it can.
#[pyfunction]
pub(crate) fn lab_check(scenario_json: &str, own_flows: bool) -> PyResult<Option<String>> {
    let scenario = scenario::from_json(scenario_json).map_err(refused)?;
    let flows = if own_flows { check_flows(&scenario) } else { Ok(()) };
    Ok(check(&scenario, expand(&scenario.topology).hosts).and(flows).err())
}

/// Divisor of time, and seconds of the machine for the shortest hop, to the counted window and to the last arrival, if the fastest
/// link has `rate` bits per second.
#[pyfunction]
pub(crate) fn lab_pace(scenario_json: &str, rate: u64) -> PyResult<(u32, f64, f64, f64)> {
    let scenario = scenario::from_json(scenario_json).map_err(refused)?;
    let pace = Pace::new(&scenario, &expand(&scenario.topology), rate);
    let [warm_s, run_s] =
        [scenario.run.warmup(), scenario.run.duration].map(|span| span.0 as f64 / 1e12 * f64::from(pace.divisor));
    Ok((pace.divisor, pace.hop.as_secs_f64(), warm_s, run_s))
}

/// Puts names and addresses of a scenario's hosts in the place of `/etc/hosts`, in this process's mount namespace.
/// Meanwhile no other process of that namespace may use temporary files.
#[pyfunction]
pub(crate) fn lab_name_hosts(scenario_json: &str) -> PyResult<()> {
    let scenario = scenario::from_json(scenario_json).map_err(refused)?;
    let hosts = addresses(&Names::of(&expand(&scenario.topology)));
    let lines: String = hosts.iter().map(|(name, address)| format!("{address} {name}\n")).collect();
    namespace::name_hosts(&format!("127.0.0.1 localhost\n{lines}")).map_err(failed)
}

/// Nodes and ports of a network, by name.
struct Names {
    hosts: Vec<String>,
    /// Node and neighbour of each port, in the order of its readings, and the rate of its link, bits per second.
    ports: Vec<(String, String, u64)>,
    /// Both ends of each link.
    links: Vec<(String, String)>,
}

impl Names {
    fn of(graph: &Graph) -> Names {
        let name = |node: usize| graph.nodes[node].name.clone();
        let all = (0..graph.nodes.len()).flat_map(|node| {
            let links = graph.links.iter().filter(move |link| link.a == node || link.b == node);
            links.map(move |link| (node, if link.a == node { link.b } else { link.a }, link.rate.0))
        });
        let ports = all.map(|(node, peer, rate)| (name(node), name(peer), rate)).collect();
        let links = graph.links.iter().map(|link| (name(link.a), name(link.b))).collect();
        Names { hosts: (0..graph.hosts).map(name).collect(), ports, links }
    }
}

/// Report of a run in the lab, beside its outcome.
#[pyclass(frozen)]
pub(crate) struct LabReport {
    known: Arc<Known>,
}

/// State that the thread of a run shares.
struct Known {
    names: Names,
    logs: Logs,
    /// Counts at the end, or what the system refused.
    found: Mutex<Option<Result<Value, String>>>,
    /// The hosts' namespaces, from the start on.
    hosts: Mutex<Vec<Namespace>>,
    counts: Mutex<Counts>,
}

#[pymethods]
impl LabReport {
    /// Lateness of each host's frames, and counts of datagrams, as JSON, when the run has ended; `None` if it failed by
    /// a bug.
    ///
    /// # Errors
    /// `InputError` if the system refused a part of the lab.
    fn counts(&self) -> PyResult<Option<String>> {
        match locked(&self.known.found)?.as_ref() {
            Some(Ok(counts)) => json(counts).map(Some),
            Some(Err(why)) => Err(InputError::new_err(why.clone())),
            None => Ok(None),
        }
    }

    /// State of every port a moment ago, as JSON.
    fn reading(&self) -> PyResult<String> {
        json(&reading(&self.known.names, &*locked(&self.known.counts)?))
    }

    /// Names and addresses of the hosts.
    fn hosts(&self) -> Vec<(String, String)> {
        addresses(&self.known.names)
    }

    /// Moves the calling thread into a host.
    fn join(&self, host: u16) -> PyResult<()> {
        let hosts = locked(&self.known.hosts)?;
        let there = hosts.get(usize::from(host)).ok_or_else(|| InputError::new_err("the host is not there yet"))?;
        there.join().map_err(|why| InputError::new_err(format!("cannot enter host {host}: {why}")))
    }
}

fn locked<T>(of: &Mutex<T>) -> PyResult<std::sync::MutexGuard<'_, T>> {
    of.lock().map_err(|_| InputError::new_err("another thread of the lab failed"))
}

fn addresses(names: &Names) -> Vec<(String, String)> {
    names.hosts.iter().zip(0..).map(|(name, host)| (name.clone(), address(host).to_string())).collect()
}

/// Follows a run for Python.
struct Follower {
    watch: Arc<Watch>,
    known: Arc<Known>,
    looked: Wall,
}

impl Watcher for Follower {
    fn on_start(&mut self, hosts: Vec<Namespace>) {
        if let Ok(mut known) = self.known.hosts.lock() {
            *known = hosts;
        }
    }

    fn goes_on(&mut self, so_far: Progress, running: &dyn Carrier) -> bool {
        self.watch.now.store(so_far.now.0, Ordering::Relaxed);
        self.watch.packet_hops.store(so_far.packet_hops, Ordering::Relaxed);
        self.watch.started.store(so_far.flows[0], Ordering::Relaxed);
        self.watch.finished.store(so_far.flows[1], Ordering::Relaxed);
        if self.looked.elapsed() >= PUBLISHED
            && let Ok(mut counts) = self.known.counts.lock()
        {
            (*counts, self.looked) = (running.counts(), Wall::now());
        }
        !self.watch.cancel.load(Ordering::Relaxed)
    }
}

/// Starts to run the flows of a scenario in the lab, on threads of its own. `logs` has a file for the log of each switch
/// that it names; `captures` has files, and the ports of each: name, node and port.
#[pyfunction]
#[pyo3(signature = (scenario_json, divisor, logs=BTreeMap::new(), apart=None, captures=Vec::new()))]
pub(crate) fn lab_start(
    scenario_json: &str,
    divisor: u32,
    logs: BTreeMap<String, PathBuf>,
    apart: Option<Apart>,
    captures: Vec<captures::Wanted>,
) -> PyResult<(Run, LabReport)> {
    let scenario = scenario::from_json(scenario_json).map_err(refused)?;
    let graph = expand(&scenario.topology);
    let files = Files { logs, captures };
    let logs = files.clone().create(&scenario, &graph)?;
    let asked = apart.map(|apart| apart.asked(scenario_json, divisor, [true, true], files));
    // Processes go on with the files themselves.
    let logs = if asked.is_some() { Logs::default() } else { logs };
    let (watch, until) = (Arc::new(Watch::default()), scenario.run.duration.0);
    let (send, done) = mpsc::channel();
    let known = Arc::new(Known {
        names: Names::of(&graph),
        logs,
        found: Mutex::default(),
        hosts: Mutex::default(),
        counts: Mutex::default(),
    });
    let report = known.clone();
    let mut follower = Follower { watch: watch.clone(), known: known.clone(), looked: Wall::now() };
    std::thread::spawn(move || {
        let run = || whole::run(&scenario, &graph, divisor, &report.logs, asked.clone(), &mut follower);
        let (ended, counts) = match caught(run) {
            Err(panic) => (Err(panic), None),
            Ok(Err(why)) => (Err(why.to_string()), Some(Err(why.to_string()))),
            Ok(Ok(Whole { outcome, counts, flows })) => {
                let mut told = to_json(&report.names, &counts);
                told["datagrams"] = value!({
                    "sent": flows.datagrams[0],
                    "received": flows.datagrams[1],
                    "altered": flows.altered,
                    "reordered": flows.reordered,
                    "duplicated": flows.duplicated,
                    "late": lateness(&flows.late),
                });
                told["unlogged"] = unlogged(&counts, &report.logs);
                (Ok(outcome), Some(Ok(told)))
            }
        };
        if let Ok(mut found) = report.found.lock() {
            *found = counts;
        }
        // The receiving end is gone only if Python dropped the run and needs no outcome.
        let _ = send.send(ended);
    });
    Ok((Run::new(watch, until, done, None), LabReport { known }))
}

/// Ends all logs and captures, and says what could not be written, here or by a process of the lab.
fn unlogged(counts: &Counts, logs: &Logs) -> Value {
    counts.unwritten.clone().or(logs.finish().err().map(|error| error.to_string())).into()
}

/// A lab that runs.
#[pyclass]
pub(crate) struct Lab {
    running: Mutex<Box<dyn Carrier>>,
    network: Mutex<Network>,
    scenario: scenario::model::Scenario,
    graph: Graph,
    names: Names,
    logs: Logs,
    outcome: Mutex<Option<backwater_sim::Outcome>>,
    dctcp: Option<KernelDctcp>,
}

#[pymethods]
impl Lab {
    /// Sets the hosts of a scenario up and starts its switches. `divisor` seconds of the machine are a second of the
    /// network. `logs` has a file for the log of each switch that it names. `measured` keeps the scenario's measurements.
    /// `captures` has files, and the ports of each: name, node and port.
    /// With `dctcp`, the TCP of all hosts is a DCTCP that this registers in the kernel.
    #[new]
    #[allow(clippy::too_many_arguments)] // what a lab can be asked for, by name in Python
    #[pyo3(signature = (scenario_json, divisor, logs=BTreeMap::new(), measured=false, dctcp=false, apart=None, captures=Vec::new()))]
    fn new(
        py: Python<'_>,
        scenario_json: &str,
        divisor: u32,
        logs: BTreeMap<String, PathBuf>,
        measured: bool,
        dctcp: bool,
        apart: Option<Apart>,
        captures: Vec<captures::Wanted>,
    ) -> PyResult<Lab> {
        let scenario = scenario::from_json(scenario_json).map_err(refused)?;
        let graph = expand(&scenario.topology);
        py.detach(|| {
            let longest = scenario.host.full_packet().0 as usize;
            let dctcp = dctcp.then(KernelDctcp::register).transpose().map_err(failed)?;
            let mut network = Network::new(graph.hosts as u16, longest).map_err(failed)?;
            if let Some(dctcp) = &dctcp {
                network.use_congestion_control(dctcp.name()).map_err(failed)?;
            }
            let files = Files { logs, captures };
            let mut logs = files.clone().create(&scenario, &graph)?;
            let running: Box<dyn Carrier> = match apart {
                Some(apart) => {
                    // The processes go on with the files themselves.
                    logs = Logs::default();
                    let asked = apart.asked(scenario_json, divisor, [measured, false], files);
                    Box::new(Processes::start(&mut network, &graph, longest, asked, Duration::ZERO).map_err(failed)?)
                }
                None => {
                    let mut fabric = logs.fabric::<Rings>(&scenario, &graph, FRAMES);
                    let meter = measured.then(|| Meter::new(&scenario, &graph, &mut fabric));
                    Box::new(Running::start(&mut network, fabric, meter, Clock::start(divisor)).map_err(failed)?)
                }
            };
            let (running, network, names) = (Mutex::new(running), Mutex::new(network), Names::of(&graph));
            Ok(Lab { running, network, scenario, graph, names, logs, outcome: Mutex::new(None), dctcp })
        })
    }

    /// Names and addresses of the hosts.
    fn hosts(&self) -> Vec<(String, String)> {
        addresses(&self.names)
    }

    /// Name of the DCTCP that this lab registered in the kernel.
    fn congestion_control(&self) -> Option<&str> {
        self.dctcp.as_ref().map(KernelDctcp::name)
    }

    /// Moves the calling thread into a host. Its sockets and its processes are there from then on.
    fn join(&self, host: u16) -> PyResult<()> {
        locked(&self.network)?.join(host).map_err(failed)
    }

    /// Seconds of the machine since time 0 of the network.
    fn age(&self) -> PyResult<f64> {
        Ok(locked(&self.running)?.clock().age().as_secs_f64())
    }

    /// Counts lateness anew: that of frames up to now does not matter.
    fn count_lateness_anew(&self) -> PyResult<()> {
        locked(&self.running)?.count_lateness_anew();
        Ok(())
    }

    /// Counters of the lab so far, as JSON.
    fn counts(&self) -> PyResult<String> {
        json(&to_json(&self.names, &locked(&self.running)?.counts()))
    }

    /// State of every port a moment ago, as JSON.
    fn reading(&self) -> PyResult<String> {
        json(&reading(&self.names, &locked(&self.running)?.counts()))
    }

    /// Ends the lab and its logs, and returns what it has counted, as JSON.
    fn stop(&self, py: Python<'_>) -> PyResult<String> {
        let counts = py.detach(|| {
            let (counts, measured) = locked(&self.running)?.stop();
            if !measured.is_empty() {
                *locked(&self.outcome)? = Some(Measured::outcome(measured, &self.scenario, &self.graph));
            }
            Ok::<Counts, PyErr>(counts)
        })?;
        let mut told = to_json(&self.names, &counts);
        told["unlogged"] = unlogged(&counts, &self.logs);
        json(&told)
    }

    /// Takes the scenario's measurements after the end, without flows; once. `complete` says whether it ran to its end.
    fn outcome(&self, complete: bool) -> PyResult<Outcome> {
        let outcome = locked(&self.outcome)?.take();
        let mut outcome = outcome.ok_or_else(|| PyRuntimeError::new_err("this lab measures nothing"))?;
        outcome.complete = complete;
        Ok(Outcome { inner: Arc::new(conclude(outcome)) })
    }
}

fn to_json(names: &Names, counts: &Counts) -> Value {
    let hosts: Vec<Value> = names.hosts.iter().zip(&counts.hosts).map(|(name, host)| of_host(name, host)).collect();
    value!({
        "network_s": counts.now.0 as f64 / 1e12,
        "frames_inside": counts.inside,
        "frames_dropped": counts.dropped,
        "packet_hops": counts.packet_hops,
        "hosts": hosts,
        "processes": counts.processes,
        "links": counts.links.iter().map(|link| of_link(names, link)).collect::<Vec<Value>>(),
    })
}

fn of_link(names: &Names, link: &LinkCounts) -> Value {
    let (a, b) = &names.links[link.end.link];
    let (node, peer) = if link.end.b { (b, a) } else { (a, b) };
    value!({
        "node": node,
        "peer": peer,
        "late_in": lateness(&link.late[0]),
        "late_out": lateness(&link.late[1]),
        "frames_in": link.late[0].frames(),
        "frames_out": link.late[1].frames(),
        "refused": link.refused,
        "restarts": link.restarts,
        "watchdog": link.watchdog,
    })
}

fn reading(names: &Names, counts: &Counts) -> Value {
    let ports: Vec<Value> = names.ports.iter().zip(&counts.ports).map(|(name, port)| of_port(name, port)).collect();
    value!({
        "network_s": counts.now.0 as f64 / 1e12,
        "frames_inside": counts.inside,
        "frames_dropped": counts.dropped,
        "ports": ports,
    })
}

fn of_port((node, peer, rate): &(String, String, u64), port: &PortReading) -> Value {
    let held = &port.stats.held;
    value!({
        "node": node,
        "peer": peer,
        "rate_bps": rate,
        "sent_bytes": port.stats.sent.wire_bytes(),
        "dropped": port.stats.dropped,
        "queued_bytes": port.queued,
        "active_flows": port.active_flows,
        "pauses": held.bfc_pauses + held.pfc_pauses + held.flow_pauses,
        "queues_paused_s": held.bfc_paused as f64 / 1e12,
        "port_paused_s": held.pfc_paused as f64 / 1e12,
    })
}

fn lateness(late: &Lateness) -> Value {
    let seconds = |share| late.quantile(share).as_secs_f64();
    let max = late.max().as_secs_f64();
    value!({ "p50_s": seconds(0.5), "p99_s": seconds(0.99), "p99.9_s": seconds(0.999), "max_s": max })
}

fn of_host(name: &str, host: &HostCounts) -> Value {
    let reasons = Refused::ALL.iter().zip(host.refused).filter(|(_, count)| *count > 0);
    let refused: serde_json::Map<String, Value> =
        reasons.map(|(why, count)| (why.name().into(), count.into())).collect();
    value!({
        "host": name,
        "frames_in": host.frames[0],
        "frames_out": host.frames[1],
        "late_in": lateness(&host.late[0]),
        "late_out": lateness(&host.late[1]),
        "refused": refused,
        "overflowed": host.overflowed,
        "unsent": host.unsent,
    })
}
