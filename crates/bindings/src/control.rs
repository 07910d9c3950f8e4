//! A congestion control that is code in Python: `host.transport = "callback"`.

use crate::InputError;
use backwater_scenario::Scenario;
use backwater_schemes::Transport;
use backwater_sim::Watch;
use backwater_transport::{Event, Reaction, Reactions, Setting, Signals};
use backwater_types::Duration;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A callable of Python that reacts to signals. The first exception stops the run, and is kept.
#[derive(Debug)]
pub(crate) struct Code {
    react: Py<PyAny>,
    watch: Arc<Watch>,
    error: Mutex<Option<PyErr>>,
    calls: AtomicU64,
    nanoseconds: AtomicU64,
}

/// A callable returns a rate (bit/s), a window (bytes) and a timer (seconds). Each may be `None`, and so may all.
type Returned = Option<(Option<f64>, Option<f64>, Option<f64>)>;

impl Code {
    /// Takes the exception that stopped the run.
    pub(crate) fn take_error(&self) -> Option<PyErr> {
        self.error.lock().ok().and_then(|mut error| error.take())
    }

    /// Calls so far, and the seconds that they took.
    pub(crate) fn calls(&self) -> (u64, f64) {
        (self.calls.load(Ordering::Relaxed), self.nanoseconds.load(Ordering::Relaxed) as f64 * 1e-9)
    }

    fn call(&self, signals: &Signals) -> PyResult<Setting> {
        Python::attach(|py| {
            let hops = signals.hops[..signals.hop_count].iter().map(|hop| (hop.queued, hop.sent, hop.rate));
            let event = match signals.event {
                Event::Ack => 0,
                Event::Cnp => 1,
                Event::Missed => 2,
                Event::Timeout => 3,
                Event::Timer => 4,
            };
            let window = (signals.window != u64::MAX).then_some(signals.window);
            let returned = self.react.bind(py).call1((
                event,
                signals.flow,
                seconds(signals.now.0),
                (signals.acks, signals.marked, signals.seq, signals.next),
                signals.rtt.map(|rtt| seconds(rtt.0)),
                (signals.rate, window),
                (signals.site.line_rate, seconds(signals.site.base_rtt.0), signals.site.payload),
                PyTuple::new(py, hops)?,
            ))?;
            let Some((rate, window, timer)) = returned.extract::<Returned>()? else { return Ok(Setting::default()) };
            Ok(Setting {
                rate,
                window: window.map(|bytes| bytes as u64),
                timer: timer.map(|after| Duration((after * 1e12) as u64)),
            })
        })
    }
}

fn seconds(ps: u64) -> f64 {
    ps as f64 * 1e-12
}

impl Reaction for Code {
    fn react(&self, signals: &Signals) -> Setting {
        let Ok(mut error) = self.error.lock() else { return Setting::default() };
        if error.is_some() {
            return Setting::default();
        }
        let began = Instant::now();
        let setting = self.call(signals).unwrap_or_else(|raised| {
            *error = Some(raised);
            self.watch.cancel.store(true, Ordering::Relaxed);
            Setting::default()
        });
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        setting
    }
}

/// Has the scenario's transport call `control`.
///
/// # Errors
/// `InputError` if there is a control and the transport is another, or the other way round.
pub(crate) fn bind(
    scenario: &mut Scenario,
    control: Option<Py<PyAny>>,
    watch: &Arc<Watch>,
) -> PyResult<Option<Arc<Code>>> {
    match (scenario.host.transport == Transport::Callback, control) {
        (true, Some(react)) => {
            let (error, calls, nanoseconds) = Default::default();
            let code = Arc::new(Code { react, watch: watch.clone(), error, calls, nanoseconds });
            scenario.host.callback.reactions = Reactions(Some(code.clone()));
            Ok(Some(code))
        }
        (false, None) => Ok(None),
        (true, None) => Err(InputError::new_err(format!(
            "host.transport = \"callback\": its control \"{}\" is a class in Python: expected Experiment(..., control=...)",
            scenario.host.callback.name
        ))),
        (false, Some(_)) => Err(InputError::new_err("control: expected host.transport = \"callback\"")),
    }
}
