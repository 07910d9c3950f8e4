//! Contents of the module `backwater._core`: conversions between Python and the simulator, and nothing else.

mod capture;
mod control;
mod critical;
mod export;
mod fluid;
#[cfg(target_os = "linux")]
mod lab;
mod replay;

use backwater_deadlock::{self as deadlock, Backpressure, Failures};
use backwater_scenario as scenario;
use backwater_sim::measure::phases::Early;
use backwater_sim::measure::{columns, estimate, preview, summary, tables};
use backwater_sim::record::Wanted;
use backwater_sim::record::capture::CaptureWanted;
use backwater_sim::shortened;
use backwater_sim::{Simulation, Watch};
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

create_exception!(
    _core,
    InputError,
    PyValueError,
    "Refuses bad input. The message names the place, the value and what is allowed."
);

/// Attributes of an `InputError` beside its message; `None` where an error has none.
const ATTRIBUTES: [&str; 6] = ["place", "file", "key", "value", "problem", "run"];

fn refused(error: scenario::Error) -> PyErr {
    let refusal = InputError::new_err(error.to_string());
    let file = error.file().map(String::from);
    let key = Some(error.key).filter(|key| !key.is_empty());
    let values = [Some(error.place), file, key, error.value, Some(error.problem), error.run];
    set_attributes(&refusal, values);
    refusal
}

fn set_attributes(refusal: &PyErr, values: [Option<String>; 6]) {
    Python::attach(|py| {
        for (name, value) in ATTRIBUTES.into_iter().zip(values) {
            // An exception takes any attribute; if it ever does not, its message says the same.
            let _ = refusal.value(py).setattr(name, value);
        }
    });
}

fn json<T: serde::Serialize>(value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// Reads a scenario file into a plan, as JSON. Other Python threads run meanwhile, as in every function that may take
/// long. `computations` are the kinds that `[compute]` may name.
#[pyfunction]
#[pyo3(signature = (path, sets, scale=None, computations=None))]
fn load(
    py: Python<'_>,
    path: &str,
    sets: Vec<String>,
    scale: Option<&str>,
    computations: Option<&str>,
) -> PyResult<String> {
    let known = known(computations)?;
    py.detach(|| json(&scenario::load_any(Path::new(path), &sets, scale, &known).map_err(refused)?))
}

/// Reads a scenario from text, which messages call `name`; file names in it are relative to `dir`.
#[pyfunction]
#[pyo3(signature = (text, dir, name, sets, scale=None, computations=None))]
fn load_text(
    py: Python<'_>,
    text: &str,
    dir: &str,
    name: &str,
    sets: Vec<String>,
    scale: Option<&str>,
    computations: Option<&str>,
) -> PyResult<String> {
    let known = known(computations)?;
    py.detach(|| json(&scenario::load_any_str(text, Path::new(dir), name, &sets, scale, &known).map_err(refused)?))
}

fn known(computations: Option<&str>) -> PyResult<scenario::Computations> {
    computations
        .map_or(Ok(scenario::Computations::default()), |text| scenario::Computations::from_json(text).map_err(refused))
}

/// Starts a run on its own threads, with the requested recordings. `explain`: flows, each with its completion time at
/// the receiver; the run then has one thread. `events`: start, end (picoseconds) and largest number. `capture`: ports,
/// each a node of the graph and its port, and the largest number of packets. `control`: what `host.transport =
/// "callback"` calls; the run then has one thread.
#[pyfunction]
#[pyo3(signature = (scenario_json, threads, explain=Vec::new(), events=None, capture=None, control=None))]
fn start(
    py: Python<'_>,
    scenario_json: &str,
    threads: usize,
    explain: Vec<(u32, u64)>,
    events: Option<(u64, u64, usize)>,
    capture: Option<(Vec<(u32, u16)>, usize)>,
    control: Option<Py<PyAny>>,
) -> PyResult<Run> {
    let threads = if explain.is_empty() && control.is_none() { threads } else { 1 };
    let capture = capture.map(|(ports, at_most)| CaptureWanted { ports, at_most });
    let wanted = Wanted { capture, ..Wanted::in_ps(explain, events) };
    py.detach(|| begin(scenario_json, threads, wanted, control))
}

fn begin(scenario_json: &str, threads: usize, wanted: Wanted, control: Option<Py<PyAny>>) -> PyResult<Run> {
    let mut scenario = scenario::from_json(scenario_json).map_err(refused)?;
    let has_jobs = scenario.workload.iter().any(scenario::model::Workload::is_closed_loop);
    let watch = Arc::new(Watch { spans: has_jobs.then(Mutex::default), ..Watch::default() });
    let code = control::bind(&mut scenario, control, &watch)?;
    let (send, done) = mpsc::channel();
    let shared = watch.clone();
    let until = shortened(&scenario, &scenario::topology::expand(&scenario.topology)).run.counted_until().0;
    let own = has_jobs.then(|| scenario.clone());
    std::thread::spawn(move || {
        let run = || {
            let simulation = Simulation::new(&scenario, threads);
            if wanted.is_nothing() { simulation.run(&shared) } else { simulation.record(&wanted, &shared) }
        };
        let outcome = caught(run);
        // The receiving end is gone only if Python dropped the run and needs no outcome.
        let _ = send.send(outcome);
    });
    Ok(Run { code, ..Run::new(watch, until, done, own) })
}

type Ended = Result<backwater_sim::Outcome, String>;

/// Calls `f`; a panic becomes its message.
fn caught<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).map_err(|e| match e.downcast::<String>() {
        Ok(text) => *text,
        Err(e) => e.downcast::<&str>().map_or("a panic without a message".to_string(), |text| text.to_string()),
    })
}

/// A run in progress.
#[pyclass]
struct Run {
    watch: Arc<Watch>,
    until: u64,
    /// The control in Python, if there is one.
    code: Option<Arc<control::Code>>,
    done: Mutex<mpsc::Receiver<Ended>>,
    outcome: Mutex<Option<Ended>>,
    /// The scenario, if iterations of jobs are told while the run goes on.
    scenario: Option<scenario::Scenario>,
    /// These iterations, once some have ended at a rank.
    early: Mutex<Option<Early>>,
}

impl Run {
    fn new(watch: Arc<Watch>, until: u64, done: mpsc::Receiver<Ended>, scenario: Option<scenario::Scenario>) -> Run {
        let (done, outcome, early) = (Mutex::new(done), Mutex::new(None), Mutex::new(None));
        Run { watch, until, code: None, done, outcome, scenario, early }
    }
}

#[pymethods]
impl Run {
    /// Returns the progress of the run.
    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let get = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let now = get(&self.watch.now);
        let ended = self.outcome.lock().map_or(true, |o| o.is_some());
        let state = match (ended, self.watch.cancel.load(Ordering::Relaxed)) {
            (_, true) => "cancelled",
            (true, _) => "done",
            _ if now < self.until => "running",
            _ => "draining",
        };
        let dict = PyDict::new(py);
        dict.set_item("now_ps", now)?;
        dict.set_item("end_ps", self.until)?;
        dict.set_item("packet_hops", get(&self.watch.packet_hops))?;
        dict.set_item("flows_started", get(&self.watch.started))?;
        dict.set_item("flows_finished", get(&self.watch.finished))?;
        dict.set_item("counted_left", get(&self.watch.counted_left))?;
        dict.set_item("state", state)?;
        Ok(dict)
    }

    /// Returns the iterations of jobs that have ended since the last call, as JSON: rows as in the summary.
    fn iterations(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            let (Some(spans), Some(scenario)) = (&self.watch.spans, &self.scenario) else {
                return Ok("[]".to_string());
            };
            let spans = std::mem::take(&mut *spans.lock().unwrap_or_else(PoisonError::into_inner));
            if spans.is_empty() {
                return Ok("[]".to_string());
            }
            let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
            json(&early.get_or_insert_with(|| Early::new(scenario)).add(&spans))
        })
    }

    /// Stops the run at the next window; results so far are kept.
    fn cancel(&self) {
        self.watch.cancel.store(true, Ordering::Relaxed);
    }

    /// Returns the number of calls of a control in Python, and the seconds that they took.
    fn calls(&self) -> (u64, f64) {
        self.code.as_ref().map_or((0, 0.0), |code| code.calls())
    }

    /// Waits up to `seconds`, and returns whether the run has ended.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        py.detach(|| {
            let failed = || PyRuntimeError::new_err("another thread failed while it waited for this run");
            let outcome = || self.outcome.lock().map_err(|_| failed());
            let done = self.done.lock().map_err(|_| failed())?;
            if outcome()?.is_none() {
                // Without the lock of the outcome, for which `progress` would wait and stop all of Python.
                let ended = done.recv_timeout(Duration::from_secs_f64(seconds.clamp(0.0, 1e6))).ok();
                *outcome()? = ended;
            }
            Ok(outcome()?.is_some())
        })
    }

    /// Takes the outcome; once, after `wait` has returned true.
    ///
    /// # Errors
    /// The exception that a control in Python raised.
    fn outcome(&self) -> PyResult<Outcome> {
        if let Some(error) = self.code.as_ref().and_then(|code| code.take_error()) {
            return Err(error);
        }
        let taken = self.outcome.lock().ok().and_then(|mut o| o.take());
        match taken {
            Some(Ok(outcome)) => Ok(Outcome { inner: Arc::new(outcome) }),
            Some(Err(panic)) => Err(PyRuntimeError::new_err(format!("the simulator failed: {panic}"))),
            None => Err(PyRuntimeError::new_err("the run has not ended, or its outcome was taken")),
        }
    }
}

/// Outcome of a run.
#[pyclass(frozen)]
struct Outcome {
    inner: Arc<backwater_sim::Outcome>,
}

#[pymethods]
impl Outcome {
    /// Digest of everything measured, 256 bits in hex.
    #[getter]
    fn digest(&self) -> &str {
        &self.inner.digest.whole
    }

    /// `{table: digest}`, as JSON; `run` is the digest of results that are in no table.
    fn digests(&self) -> String {
        self.inner.digest.to_json().to_string()
    }

    /// Number of events in the span for which there was no room.
    #[getter]
    fn events_left_out(&self) -> u64 {
        self.inner.recorded.events_left_out
    }

    /// Number of packets that crossed the captured ports, and for which there was no room.
    #[getter]
    fn captures_left_out(&self) -> u64 {
        self.inner.recorded.captured.left_out
    }

    /// Writes captured packets to a pcapng file. `ports` are its interfaces: name, number in the request, node and port.
    /// Returns the number of packets.
    fn write_capture(&self, py: Python<'_>, path: &str, ports: Vec<(String, u32, u32, u16)>) -> PyResult<usize> {
        // With its number, by which Python tells a full disk.
        py.detach(|| capture::write(&self.inner, Path::new(path), &ports)).map_err(|error| match error.raw_os_error() {
            Some(number) => PyOSError::new_err((number, error.to_string())),
            None => error.into(),
        })
    }

    /// Summary of the run, as JSON.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| json(&summary::summary(&self.inner)))
    }

    /// Names of the tables that every run writes.
    fn tables(&self) -> Vec<&'static str> {
        tables::names(&self.inner)
    }

    /// Iterates over the columns of a table, at most `rows` rows at a time.
    fn batches(&self, py: Python<'_>, table: &str, rows: usize) -> PyResult<Batches> {
        let columns = match table {
            "flows" => {
                // The rows borrow the outcome, so a thread that shares its ownership makes them.
                let inner = self.inner.clone();
                return Ok(Batches::drawn(move |send| tables::flow_batches(&inner, rows.max(1)).all(send)));
            }
            name => py.detach(|| tables::table(&self.inner, name)),
        };
        let columns = columns.ok_or_else(|| PyKeyError::new_err(format!("no table is called {table}")))?;
        Ok(Batches { source: Mutex::new(Source::Whole(Some(columns))) })
    }

    /// Names that the codes of a column stand for, or `None` for numbers.
    fn categories(&self, table: &str, column: &str) -> Option<Vec<String>> {
        let columns = tables::schema().iter().chain(tables::RECORDED).find(|(name, _)| *name == table)?.1;
        columns.iter().find(|(name, kind, ..)| *name == column && *kind == "cat")?;
        tables::categories(&self.inner, column)
    }
}

enum Source {
    Flows(mpsc::Receiver<Vec<columns::Column>>),
    Whole(Option<Vec<columns::Column>>),
}

/// Iterates over the batches of a table.
#[pyclass]
struct Batches {
    source: Mutex<Source>,
}

impl Batches {
    /// Makes an iterator of the batches that `draw` hands over, on its own thread, one batch ahead. The callback of
    /// `draw` returns false when no more are wanted.
    fn drawn(draw: impl FnOnce(&mut dyn FnMut(Vec<columns::Column>) -> bool) -> bool + Send + 'static) -> Batches {
        let (send, receive) = mpsc::sync_channel(1);
        std::thread::spawn(move || draw(&mut |batch| send.send(batch).is_ok()));
        Batches { source: Mutex::new(Source::Flows(receive)) }
    }
}

#[pymethods]
impl Batches {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let next = py.detach(|| match &mut *self.source.lock().ok()? {
            Source::Flows(batches) => batches.recv().ok(),
            Source::Whole(columns) => columns.take(),
        });
        let Some(columns) = next else { return Ok(None) };
        let dict = PyDict::new(py);
        for (name, values) in columns {
            let (kind, bytes) = values.to_bytes();
            dict.set_item(name, (kind, PyBytes::new(py, &bytes)))?;
        }
        Ok(Some(dict))
    }
}

/// Estimates the cost of a run, as JSON.
#[pyfunction(name = "estimate")]
fn estimate_run(py: Python<'_>, scenario_json: &str) -> PyResult<String> {
    py.detach(|| json(&estimate::estimate(&scenario::from_json(scenario_json).map_err(refused)?)))
}

/// Returns the name of the engine that runs a scenario: its types.
#[pyfunction]
fn engine(py: Python<'_>, scenario_json: &str) -> PyResult<&'static str> {
    py.detach(|| Ok(Simulation::new(&scenario::from_json(scenario_json).map_err(refused)?, 1).engine()))
}

/// Returns nodes and links, as JSON.
#[pyfunction]
fn network(py: Python<'_>, scenario_json: &str) -> PyResult<String> {
    py.detach(|| json(&preview::network(&scenario::from_json(scenario_json).map_err(refused)?)))
}

/// Iterates over the flows in order of arrival, at most `rows` at a time.
#[pyfunction]
fn flows(py: Python<'_>, scenario_json: &str, rows: usize) -> PyResult<Batches> {
    let scenario = py.detach(|| scenario::from_json(scenario_json).map_err(refused))?;
    Ok(Batches::drawn(move |send| preview::flow_batches(&scenario, rows.max(1)).all(send)))
}

/// Starts a search for cyclic buffer dependencies in a scenario's network; `failures` is "0", "1", "2" or "all".
#[pyfunction(name = "deadlock")]
fn start_deadlock(py: Python<'_>, scenario_json: &str, failures: &str) -> PyResult<Deadlock> {
    let failures = match failures {
        "0" => Failures::None,
        "1" => Failures::One,
        "2" => Failures::Two,
        "all" => Failures::All,
        other => return Err(InputError::new_err(format!("failures = {other}: expected 0, 1, 2 or all"))),
    };
    let scenario = py.detach(|| scenario::from_json(scenario_json).map_err(refused))?;
    let watch = Arc::new(deadlock::Watch::default());
    let (send, done) = mpsc::channel();
    let shared = watch.clone();
    std::thread::spawn(move || {
        let check = || deadlock::check(&scenario, failures, &shared);
        // Sending fails only if no one waits for the result; a panic drops this end.
        let _ = send.send(check());
    });
    Ok(Deadlock { watch, done: Mutex::new(done) })
}

/// A search in progress.
#[pyclass]
struct Deadlock {
    watch: Arc<deadlock::Watch>,
    done: Mutex<mpsc::Receiver<Option<Backpressure>>>,
}

#[pymethods]
impl Deadlock {
    /// Returns the failures examined and their number; 0 of 0 before that is known.
    fn progress(&self) -> (u64, u64) {
        (self.watch.done.load(Ordering::Relaxed), self.watch.of.load(Ordering::Relaxed))
    }

    /// Stops the search.
    fn cancel(&self) {
        self.watch.cancel.store(true, Ordering::Relaxed);
    }

    /// Waits up to `seconds`, and returns the result, once.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<Option<Cycles>> {
        py.detach(|| {
            let lock = |_| PyRuntimeError::new_err("another thread failed while it waited");
            let done = self.done.lock().map_err(|_| lock(()))?;
            match done.recv_timeout(Duration::from_secs_f64(seconds.clamp(0.0, 1e6))) {
                Ok(Some(found)) => Ok(Some(Cycles { found })),
                Err(mpsc::RecvTimeoutError::Timeout) => Ok(None),
                Ok(None) => Err(PyRuntimeError::new_err("it was cancelled")),
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    Err(PyRuntimeError::new_err("the search failed, or what it found was taken"))
                }
            }
        })
    }
}

/// Buffer dependencies in a scenario's network.
#[pyclass(frozen)]
struct Cycles {
    found: Backpressure,
}

#[pymethods]
impl Cycles {
    /// Returns the dependencies as JSON.
    fn report(&self) -> String {
        self.found.report.to_string()
    }

    /// Returns cycles of edges that weigh less than 1 together, each edge by its index in the report.
    fn light(&self, py: Python<'_>, weights: Vec<f64>) -> PyResult<Vec<Vec<u32>>> {
        self.check(weights.len())?;
        Ok(py.detach(|| self.found.cycles.light_cycles(&weights)))
    }

    /// Completes `chosen` to a set of edges whose removal breaks all cycles; `None` if edges of infinite cost form a
    /// cycle.
    fn complete(&self, py: Python<'_>, chosen: Vec<u32>, costs: Vec<f64>) -> PyResult<Option<Vec<u32>>> {
        self.check(costs.len())?;
        if let Some(edge) = chosen.iter().find(|edge| **edge as usize >= costs.len()) {
            return Err(PyValueError::new_err(format!("there is no edge {edge}")));
        }
        Ok(py.detach(|| self.found.cycles.complete(&chosen, &costs)))
    }
}

impl Cycles {
    fn check(&self, given: usize) -> PyResult<()> {
        let edges = self.found.cycles.edges().len();
        let wrong = || PyValueError::new_err(format!("{given} numbers for {edges} edges"));
        if given == edges { Ok(()) } else { Err(wrong()) }
    }
}

/// Counts the processors that this process may use: its affinity, and the quota of its control group.
#[pyfunction]
fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// Returns the bytes of memory that are free now; `None` where the system does not tell.
#[pyfunction]
fn free_memory() -> Option<u64> {
    scenario::machine::free_memory()
}

/// Lists the schemes, as JSON.
#[pyfunction]
fn schemes() -> PyResult<String> {
    json(&scenario::schemes())
}

/// Lists the switching chips, as JSON.
#[pyfunction]
fn chips() -> PyResult<String> {
    json(&scenario::chips::chips())
}

/// Lists the columns of every table, as JSON.
#[pyfunction]
fn tables_schema() -> PyResult<String> {
    json(&tables::schema_json())
}

/// Returns a table of flow sizes, as JSON: a shipped one, or one read from a file. With it the means of the drawn sizes
/// and of their squares.
#[pyfunction]
fn size_table(table: &str) -> PyResult<String> {
    let read = || scenario::sizes::read(Path::new(table), table);
    let found = scenario::sizes::table(table).cloned().map_or_else(read, Ok).map_err(refused)?;
    json(&(&found, found.drawn_moments()))
}

/// Returns what a file of a job holds, as JSON; `asked` says how to read it, as JSON.
#[pyfunction]
fn job_facts(py: Python, path: PathBuf, asked: &str) -> PyResult<String> {
    json(&py.detach(|| scenario::job::facts(&path, asked)).map_err(refused)?)
}

/// Returns a fat tree of htsim, as JSON.
#[pyfunction]
fn htsim_tree(path: PathBuf) -> PyResult<String> {
    json(&scenario::job::htsim_tree(&path).map_err(refused)?)
}

/// Names the shipped tables of flow sizes.
#[pyfunction]
fn size_tables() -> Vec<&'static str> {
    scenario::sizes::names().collect()
}

/// Returns the JSON schema of scenario files, with these computations.
#[pyfunction]
#[pyo3(signature = (computations=None))]
fn scenario_schema(computations: Option<&str>) -> PyResult<String> {
    json(&scenario::file_schema(&known(computations)?))
}

/// Returns the JSON schema of claims files.
#[pyfunction]
fn claims_schema() -> PyResult<String> {
    json(&scenario::claims_schema())
}

/// Fills the module.
///
/// # Errors
/// Python refuses a name or a type.
pub fn fill(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("version", env!("CARGO_PKG_VERSION"))?;
    m.add("commit", env!("BACKWATER_COMMIT"))?;
    let input_error = m.py().get_type::<InputError>();
    for name in ATTRIBUTES {
        input_error.setattr(name, m.py().None())?;
    }
    m.add("InputError", input_error)?;
    m.add_class::<Run>()?;
    m.add_class::<Outcome>()?;
    m.add_class::<Batches>()?;
    m.add_class::<Deadlock>()?;
    m.add_class::<Cycles>()?;
    m.add_function(wrap_pyfunction!(load, m)?)?;
    m.add_function(wrap_pyfunction!(load_text, m)?)?;
    m.add_function(wrap_pyfunction!(start, m)?)?;
    m.add_function(wrap_pyfunction!(estimate_run, m)?)?;
    m.add_function(wrap_pyfunction!(engine, m)?)?;
    m.add_function(wrap_pyfunction!(network, m)?)?;
    m.add_function(wrap_pyfunction!(flows, m)?)?;
    m.add_function(wrap_pyfunction!(start_deadlock, m)?)?;
    m.add_function(wrap_pyfunction!(replay::replay, m)?)?;
    m.add_function(wrap_pyfunction!(critical::critical_path, m)?)?;
    m.add_function(wrap_pyfunction!(fluid::fluid_trajectory, m)?)?;
    m.add_function(wrap_pyfunction!(processors, m)?)?;
    m.add_function(wrap_pyfunction!(free_memory, m)?)?;
    m.add_function(wrap_pyfunction!(schemes, m)?)?;
    m.add_function(wrap_pyfunction!(chips, m)?)?;
    m.add_function(wrap_pyfunction!(tables_schema, m)?)?;
    m.add_function(wrap_pyfunction!(size_table, m)?)?;
    m.add_function(wrap_pyfunction!(size_tables, m)?)?;
    m.add_function(wrap_pyfunction!(job_facts, m)?)?;
    m.add_function(wrap_pyfunction!(htsim_tree, m)?)?;
    m.add_function(wrap_pyfunction!(export::job_export, m)?)?;
    m.add_function(wrap_pyfunction!(export::job_file_export, m)?)?;
    m.add_function(wrap_pyfunction!(scenario_schema, m)?)?;
    m.add_function(wrap_pyfunction!(claims_schema, m)?)?;
    #[cfg(target_os = "linux")]
    {
        m.add_class::<lab::Lab>()?;
        m.add_class::<lab::LabReport>()?;
        m.add_function(wrap_pyfunction!(lab::lab_start, m)?)?;
        m.add_function(wrap_pyfunction!(lab::lab_node, m)?)?;
        m.add_function(wrap_pyfunction!(lab::lab_enter, m)?)?;
        m.add_function(wrap_pyfunction!(lab::lab_follow_parent, m)?)?;
        m.add_function(wrap_pyfunction!(lab::lab_join, m)?)?;
        m.add_function(wrap_pyfunction!(lab::lab_check, m)?)?;
        m.add_function(wrap_pyfunction!(lab::lab_pace, m)?)?;
        m.add_function(wrap_pyfunction!(lab::lab_name_hosts, m)?)?;
    }
    Ok(())
}
