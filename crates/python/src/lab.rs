//! The lab: real packets between programs, through the switches of a scenario.

use crate::{InputError, json, refused};
use backwater_lab::fabric::address;
use backwater_lab::ip::Refused;
use backwater_lab::linux::running::HostCounts;
use backwater_lab::linux::{Counts, LabError, Network, Running, namespace};
use backwater_lab::{Fabric, Pace, check};
use backwater_nic::Rings;
use backwater_scenario as scenario;
use backwater_scenario::topology::expand;
use backwater_schemes::{AnySwitch, planes};
use pyo3::prelude::*;
use serde_json::{Value, json as value};
use std::sync::Mutex;

/// Frames that fit into the lab's store.
const FRAMES: usize = 1 << 16;

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

/// Says why the lab cannot carry a scenario; `None` if it can.
#[pyfunction]
pub(crate) fn lab_check(scenario_json: &str) -> PyResult<Option<String>> {
    let scenario = scenario::from_json(scenario_json).map_err(refused)?;
    Ok(check(&scenario, expand(&scenario.topology).hosts).err())
}

/// Divisor of time and seconds of the machine for the shortest hop, if the fastest link has `rate` bits per second.
#[pyfunction]
pub(crate) fn lab_pace(scenario_json: &str, rate: u64) -> PyResult<(u32, f64)> {
    let scenario = scenario::from_json(scenario_json).map_err(refused)?;
    let pace = Pace::new(&scenario, &expand(&scenario.topology), rate);
    Ok((pace.divisor, pace.hop.as_secs_f64()))
}

/// Puts `text` in the place of `/etc/hosts`, in this process's mount namespace.
#[pyfunction]
pub(crate) fn lab_name_hosts(text: &str) -> PyResult<()> {
    namespace::name_hosts(text).map_err(failed)
}

/// A lab that runs.
#[pyclass]
pub(crate) struct Lab {
    running: Mutex<Running>,
    network: Mutex<Network>,
    names: Vec<String>,
}

#[pymethods]
impl Lab {
    /// Sets the hosts of a scenario up and starts its switches. `divisor` seconds of the machine are a second of the
    /// network.
    #[new]
    fn new(py: Python<'_>, scenario_json: &str, divisor: u32) -> PyResult<Lab> {
        let scenario = scenario::from_json(scenario_json).map_err(refused)?;
        let graph = expand(&scenario.topology);
        py.detach(|| {
            let longest = scenario.host.full_packet().0 as usize;
            let mut network = Network::new(graph.hosts as u16, longest).map_err(failed)?;
            let memory = scenario.conventions.memory;
            let fabric: Fabric<AnySwitch, Rings> =
                Fabric::new(&scenario, &graph, |shape, table| planes::any(memory, shape, table), FRAMES);
            let running = Running::start(&mut network, fabric, divisor).map_err(failed)?;
            let names = graph.nodes[..graph.hosts].iter().map(|node| node.name.clone()).collect();
            Ok(Lab { running: Mutex::new(running), network: Mutex::new(network), names })
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
        json(&self.to_json(&running.counts()))
    }

    /// Ends the lab, and returns what it has counted, as JSON.
    fn stop(&self, py: Python<'_>) -> PyResult<String> {
        let counts = py.detach(|| {
            let mut running =
                self.running.lock().map_err(|_| InputError::new_err("another thread of the lab failed"))?;
            Ok::<Counts, PyErr>(running.stop())
        })?;
        json(&self.to_json(&counts))
    }
}

impl Lab {
    fn to_json(&self, counts: &Counts) -> Value {
        let hosts: Vec<Value> = self.names.iter().zip(&counts.hosts).map(|(name, host)| of_host(name, host)).collect();
        value!({
            "network_s": counts.now.0 as f64 / 1e12,
            "frames_inside": counts.inside,
            "frames_dropped": counts.dropped,
            "packet_hops": counts.packet_hops,
            "hosts": hosts,
        })
    }
}

fn of_host(name: &str, host: &HostCounts) -> Value {
    let late = |direction: usize| {
        let late = &host.late[direction];
        let seconds = |share| late.quantile(share).as_secs_f64();
        value!({ "p50_s": seconds(0.5), "p99_s": seconds(0.99), "p99.9_s": seconds(0.999), "max_s": late.max().as_secs_f64() })
    };
    let reasons = Refused::ALL.iter().zip(host.refused).filter(|(_, count)| *count > 0);
    let refused: serde_json::Map<String, Value> =
        reasons.map(|(why, count)| (why.name().into(), count.into())).collect();
    value!({
        "host": name,
        "frames_in": host.frames[0],
        "frames_out": host.frames[1],
        "late_in": late(0),
        "late_out": late(1),
        "refused": refused,
        "overflowed": host.overflowed,
        "unsent": host.unsent,
    })
}
