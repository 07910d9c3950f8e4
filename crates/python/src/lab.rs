//! The lab: real packets between programs, through the switches of a scenario.

use crate::{InputError, Run, caught, json, refused};
use backwater_lab::fabric::address;
use backwater_lab::ip::Refused;
use backwater_lab::linux::clock::Clock;
use backwater_lab::linux::lateness::Lateness;
use backwater_lab::linux::whole::{self, Progress, Whole};
use backwater_lab::linux::{Counts, HostCounts, LabError, Network, Running, namespace};
use backwater_lab::{Logs, Pace, check, check_flows};
use backwater_nic::Rings;
use backwater_scenario as scenario;
use backwater_scenario::topology::expand;
use backwater_sim::Watch;
use pyo3::prelude::*;
use serde_json::{Value, json as value};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, mpsc};

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

/// Says why the lab cannot carry a scenario, or cannot send its own flows if `own_flows`; `None` if it can.
#[pyfunction]
pub(crate) fn lab_check(scenario_json: &str, own_flows: bool) -> PyResult<Option<String>> {
    let scenario = scenario::from_json(scenario_json).map_err(refused)?;
    let flows = if own_flows { check_flows(&scenario) } else { Ok(()) };
    Ok(check(&scenario, expand(&scenario.topology).hosts).and(flows).err())
}

/// Divisor of time, and seconds of the machine for the shortest hop and for the run, if the fastest link has `rate` bits
/// per second.
#[pyfunction]
pub(crate) fn lab_pace(scenario_json: &str, rate: u64) -> PyResult<(u32, f64, f64)> {
    let scenario = scenario::from_json(scenario_json).map_err(refused)?;
    let pace = Pace::new(&scenario, &expand(&scenario.topology), rate);
    let run_s = scenario.run.duration.0 as f64 / 1e12 * f64::from(pace.divisor);
    Ok((pace.divisor, pace.hop.as_secs_f64(), run_s))
}

/// Puts `text` in the place of `/etc/hosts`, in this process's mount namespace.
#[pyfunction]
pub(crate) fn lab_name_hosts(text: &str) -> PyResult<()> {
    namespace::name_hosts(text).map_err(failed)
}

/// What a run in the lab says beside its outcome, when it has ended.
#[pyclass(frozen)]
pub(crate) struct LabReport {
    found: Arc<Mutex<Option<Result<Value, String>>>>,
}

#[pymethods]
impl LabReport {
    /// Lateness of each host's frames, and counts of datagrams, as JSON; `None` if the run failed by a bug.
    ///
    /// # Errors
    /// `InputError` if the system refused a part of the lab.
    fn counts(&self) -> PyResult<Option<String>> {
        let found = self.found.lock().map_err(|_| InputError::new_err("another thread of the lab failed"))?;
        match found.as_ref() {
            Some(Ok(counts)) => json(counts).map(Some),
            Some(Err(why)) => Err(InputError::new_err(why.clone())),
            None => Ok(None),
        }
    }
}

/// Starts to run the flows of a scenario in the lab, on threads of its own.
#[pyfunction]
pub(crate) fn lab_start(scenario_json: &str, divisor: u32) -> PyResult<(Run, LabReport)> {
    let scenario = scenario::from_json(scenario_json).map_err(refused)?;
    let graph = expand(&scenario.topology);
    let names: Vec<String> = graph.nodes[..graph.hosts].iter().map(|node| node.name.clone()).collect();
    let (watch, until) = (Arc::new(Watch::default()), scenario.run.duration.0);
    let (send, done) = mpsc::channel();
    let (shared, found) = (watch.clone(), Arc::new(Mutex::new(None)));
    let report = found.clone();
    std::thread::spawn(move || {
        let mut goes_on = |so_far: Progress| {
            shared.now.store(so_far.now.0, Ordering::Relaxed);
            shared.packet_hops.store(so_far.packet_hops, Ordering::Relaxed);
            shared.started.store(so_far.flows[0], Ordering::Relaxed);
            shared.finished.store(so_far.flows[1], Ordering::Relaxed);
            !shared.cancel.load(Ordering::Relaxed)
        };
        let (ended, counts) = match caught(|| whole::run(&scenario, divisor, &mut goes_on)) {
            Err(panic) => (Err(panic), None),
            Ok(Err(why)) => (Err(why.to_string()), Some(Err(why.to_string()))),
            Ok(Ok(Whole { outcome, counts, flows })) => {
                let mut told = to_json(&names, &counts);
                told["datagrams"] = value!({
                    "sent": flows.datagrams[0],
                    "received": flows.datagrams[1],
                    "altered": flows.altered,
                    "reordered": flows.reordered,
                    "duplicated": flows.duplicated,
                    "late": lateness(&flows.late),
                });
                (Ok(outcome), Some(Ok(told)))
            }
        };
        if let Ok(mut report) = report.lock() {
            *report = counts;
        }
        // The receiving end is gone only if Python dropped the run and needs no outcome.
        let _ = send.send(ended);
    });
    Ok((Run { watch, until, done: Mutex::new(done), outcome: Mutex::new(None) }, LabReport { found }))
}

/// A lab that runs.
#[pyclass]
pub(crate) struct Lab {
    running: Mutex<Running>,
    network: Mutex<Network>,
    names: Vec<String>,
    logs: Logs,
}

#[pymethods]
impl Lab {
    /// Sets the hosts of a scenario up and starts its switches. `divisor` seconds of the machine are a second of the
    /// network. `logs` has a file for the log of each switch that it names.
    #[new]
    #[pyo3(signature = (scenario_json, divisor, logs=BTreeMap::new()))]
    fn new(py: Python<'_>, scenario_json: &str, divisor: u32, logs: BTreeMap<String, PathBuf>) -> PyResult<Lab> {
        let scenario = scenario::from_json(scenario_json).map_err(refused)?;
        let graph = expand(&scenario.topology);
        py.detach(|| {
            let longest = scenario.host.full_packet().0 as usize;
            let mut network = Network::new(graph.hosts as u16, longest).map_err(failed)?;
            let logs = Logs::create(&scenario, &graph, logs).map_err(|error| InputError::new_err(error.to_string()))?;
            let fabric = logs.fabric::<Rings>(&scenario, &graph, whole::FRAMES);
            let running = Running::start(&mut network, fabric, None, Clock::start(divisor)).map_err(failed)?;
            let names = graph.nodes[..graph.hosts].iter().map(|node| node.name.clone()).collect();
            Ok(Lab { running: Mutex::new(running), network: Mutex::new(network), names, logs })
        })
    }

    /// Names and addresses of the hosts.
    fn hosts(&self) -> Vec<(String, String)> {
        self.names.iter().zip(0..).map(|(name, host)| (name.clone(), address(host).to_string())).collect()
    }

    /// Moves the calling thread into a host. Its sockets and its processes are there from then on.
    fn join(&self, host: u16) -> PyResult<()> {
        let network = self.network.lock().map_err(|_| InputError::new_err("another thread of the lab failed"))?;
        network.join(host).map_err(failed)
    }

    /// What the lab has counted so far, as JSON.
    fn counts(&self) -> PyResult<String> {
        let running = self.running.lock().map_err(|_| InputError::new_err("another thread of the lab failed"))?;
        json(&to_json(&self.names, &running.counts()))
    }

    /// Ends the lab and its logs, and returns what it has counted, as JSON.
    fn stop(&self, py: Python<'_>) -> PyResult<String> {
        let counts = py.detach(|| {
            let mut running =
                self.running.lock().map_err(|_| InputError::new_err("another thread of the lab failed"))?;
            Ok::<Counts, PyErr>(running.stop().0)
        })?;
        let mut told = to_json(&self.names, &counts);
        told["unlogged"] = self.logs.finish().err().map(|error| error.to_string()).into();
        json(&told)
    }
}

fn to_json(names: &[String], counts: &Counts) -> Value {
    let hosts: Vec<Value> = names.iter().zip(&counts.hosts).map(|(name, host)| of_host(name, host)).collect();
    value!({
        "network_s": counts.now.0 as f64 / 1e12,
        "frames_inside": counts.inside,
        "frames_dropped": counts.dropped,
        "packet_hops": counts.packet_hops,
        "hosts": hosts,
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
