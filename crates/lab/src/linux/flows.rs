//! The lab's own programs: one that sends the flows of a scenario from all hosts, and one that receives them.
//!
//! A flow is datagrams at the rate of its workload, or of its host's link, as an application without a transport sends
//! them. Each has a port of its own, so that switches tell flows apart.

use crate::fabric::address;
use crate::linux::clock::Clock;
use crate::linux::lateness::Lateness;
use crate::linux::namespace::Namespace;
use crate::linux::{During, LabError, Network, payload};
use crate::own::{Own, PORT};
use backwater_scenario::model::{Scenario, Workload};
use backwater_scenario::topology::Graph;
use backwater_traffic::{ENDLESS, Flow, counted_window};
use backwater_types::{Instant, SerTime};
use nix::cmsg_space;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::io::IoSliceMut;
use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Bytes of received datagrams that a host's socket may hold while the receiver waits for a processor. By default it
/// holds some 90 datagrams, which come in 7 ms at 100 Mb/s.
const RECEIVED_MAX: usize = 16 << 20;
/// Time between two looks at the request to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Results of the flows.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    /// `[flow]`: arrival of its last missing packet; [`Instant::NEVER`] before that.
    pub received: Vec<Instant>,
    /// `[workload]`: payload received in the counted window.
    pub goodput: Vec<u64>,
    /// `[workload]`: the part of `goodput` in the earlier half of the window.
    pub early_goodput: Vec<u64>,
    /// Datagrams that were not as they were sent.
    pub altered: u64,
    /// Datagrams that came after a later one of their flow.
    pub reordered: u64,
    /// Datagrams that came twice.
    pub duplicated: u64,
    /// Datagrams sent, and received.
    pub datagrams: [u64; 2],
    /// How late datagrams were sent.
    pub late: Lateness,
    /// Flows started, and finite flows that have arrived whole.
    pub counts: [u64; 2],
}

/// A flow that is being sent.
struct Sending {
    flow: Flow,
    socket: UdpSocket,
    next: u32,
    packets: u32,
    last: u64,
    pace: SerTime,
}

/// A flow that is being received.
struct Receiving {
    /// Packets that have not come.
    left: u32,
    /// Number after the highest that has come.
    next: u32,
    /// Numbers below that which have not come.
    missing: HashSet<u32>,
    class: u8,
    last: u64,
    packets: u32,
}

/// State that both programs share.
struct Shared {
    flows: Mutex<Flows>,
    receiving: Mutex<HashMap<u32, Receiving>>,
    stop: AtomicBool,
}

/// Both programs.
pub struct Programs {
    shared: Arc<Shared>,
    /// Number of the first flow that starts after the counted window.
    counted: u32,
    threads: Vec<JoinHandle<()>>,
}

impl Programs {
    /// Opens the sockets of all hosts, and starts to send the flows of the scenario, `own`, at time 0 of `clock`.
    ///
    /// # Errors
    /// If the system refuses a socket or a thread.
    pub fn start(
        network: &Network,
        scenario: &Scenario,
        graph: &Graph,
        own: &[Own],
        clock: Clock,
    ) -> Result<Programs, LabError> {
        let mut sockets = Vec::new();
        for host in 0..graph.hosts as u16 {
            let open = || {
                let socket = UdpSocket::bind((address(host), PORT))?;
                socket.set_nonblocking(true)?;
                setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
                // Only root gets more than `net.core.rmem_max`; others get that.
                setsockopt(&socket, sockopt::RcvBufForce, &RECEIVED_MAX)
                    .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &RECEIVED_MAX))?;
                Ok(socket)
            };
            sockets.push(network.within(host, open).during(format!("cannot open a socket on host {host}"), "")?);
        }
        let none = vec![0; scenario.workload.len()];
        let flows = Flows { goodput: none.clone(), early_goodput: none, ..Flows::default() };
        let shared =
            Arc::new(Shared { flows: Mutex::new(flows), receiving: Mutex::default(), stop: AtomicBool::new(false) });
        let window = counted_window(scenario);
        let counted = own.partition_point(|one| one.flow.at < window.1) as u32;
        let namespaces = network.namespaces().during("cannot keep the hosts", "")?;
        let sender = Sender {
            traffic: own.to_vec(),
            namespaces,
            rates: (0..graph.hosts).map(|host| SerTime::of(graph.links[host].rate)).collect(),
            paces: scenario.workload.iter().map(|w: &Workload| w.rate().map(SerTime::of)).collect(),
            payload: scenario.host.payload.0,
            headers: scenario.host.headers().0,
            until: Instant::ZERO + scenario.run.duration,
            clock,
            shared: shared.clone(),
        };
        let receiver = Receiver { sockets, window, payload: scenario.host.payload.0, clock, shared: shared.clone() };
        let start = |name: &str, work: Box<dyn FnOnce() + Send>| thread::Builder::new().name(name.into()).spawn(work);
        let threads =
            [start("receive", Box::new(move || receiver.work())), start("send", Box::new(move || sender.work()))];
        let threads: Result<Vec<_>, _> = threads.into_iter().collect();
        Ok(Programs { shared, counted, threads: threads.during("cannot start the programs", "")? })
    }

    /// Flows started so far, and finite flows that have arrived whole.
    pub fn counts(&self) -> [u64; 2] {
        self.shared.flows.lock().map(|flows| flows.counts).unwrap_or_default()
    }

    /// Whether a finite flow that started in the counted window, or before, has not arrived whole.
    pub fn waits(&self) -> bool {
        let waits = |(id, flow): (&u32, &Receiving)| *id < self.counted && flow.packets != u32::MAX;
        self.shared.receiving.lock().is_ok_and(|flows| flows.iter().any(waits))
    }

    /// Ends both programs, and returns what has become of the flows.
    pub fn stop(mut self) -> Flows {
        self.end();
        self.shared.flows.lock().map(|mut flows| std::mem::take(&mut *flows)).unwrap_or_default()
    }

    fn end(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // A program that failed has no more to say.
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        self.end();
    }
}

/// The program that sends.
struct Sender {
    traffic: Vec<Own>,
    namespaces: Vec<Namespace>,
    /// `[host]`.
    rates: Vec<SerTime>,
    /// `[workload]`.
    paces: Vec<Option<SerTime>>,
    payload: u64,
    headers: u64,
    until: Instant,
    clock: Clock,
    shared: Arc<Shared>,
}

impl Sender {
    fn work(self) {
        let mut sending: Vec<Sending> = Vec::new();
        let mut due: BinaryHeap<Reverse<(Instant, usize)>> = BinaryHeap::new();
        let mut coming = self.traffic.iter().peekable();
        let mut bytes = Vec::new();
        if let Some(start) = self.clock.wall(Instant::ZERO) {
            thread::sleep(start.saturating_duration_since(self.clock.now().wall()));
        }
        while !self.shared.stop.load(Ordering::Relaxed) {
            let now = self.clock.now().network();
            while let Some(own) = coming.next_if(|own| own.flow.at <= now) {
                if let Some(new) = self.open(own) {
                    due.push(Reverse((own.flow.at, sending.len())));
                    sending.push(new);
                }
            }
            while let Some(Reverse((at, number))) = due.peek().copied().filter(|Reverse((at, _))| *at <= now) {
                due.pop();
                if let Some(next) = self.send(&mut sending[number], at, &mut bytes) {
                    due.push(Reverse((next, number)));
                }
            }
            let next = due.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at);
            let next = coming.peek().map_or(next, |own| next.min(own.flow.at));
            if next == Instant::NEVER {
                return;
            }
            let wait = self.clock.wall(next).map_or(LOOK, |at| at.saturating_duration_since(self.clock.now().wall()));
            thread::sleep(wait.min(LOOK));
        }
    }

    fn open(&self, own: &Own) -> Option<Sending> {
        let flow = &own.flow;
        let (packets, last) = flow.packets(self.payload);
        // The thread stays in the host; a socket belongs to the host in which it was made.
        self.namespaces[usize::from(flow.src)].join().ok()?;
        let socket = UdpSocket::bind((address(flow.src), own.port.unwrap_or(0))).ok()?;
        socket.set_nonblocking(true).ok()?;
        let missing = HashSet::new();
        let receiving = Receiving { left: packets, next: 0, missing, class: flow.class, last, packets };
        self.shared.receiving.lock().ok()?.insert(flow.id, receiving);
        let mut flows = self.shared.flows.lock().ok()?;
        let index = flow.id as usize;
        if flows.received.len() <= index {
            flows.received.resize(index + 1, Instant::NEVER);
        }
        flows.counts[0] += 1;
        let pace = self.paces[usize::from(flow.class)].unwrap_or(self.rates[usize::from(flow.src)]);
        Some(Sending { flow: *flow, socket, next: 0, packets, last, pace })
    }

    /// Sends the next datagram, which was due at `at`. Returns when the one after it is due, if there is one.
    fn send(&self, one: &mut Sending, at: Instant, bytes: &mut Vec<u8>) -> Option<Instant> {
        if one.flow.size == ENDLESS && at >= self.until {
            return None;
        }
        let content = if one.next + 1 == one.packets { one.last } else { self.payload };
        let wire = content + self.headers;
        let length = (wire as usize).max(payload::SMALLEST) - payload::HEADERS;
        payload::write(bytes, one.flow.id, one.next, length);
        let late = self.clock.now().wall().saturating_duration_since(self.clock.wall(at)?);
        // A datagram that the system does not take is lost, as that of any program.
        let taken = one.socket.send_to(bytes, (address(one.flow.dst), PORT)).is_ok();
        if let Ok(mut flows) = self.shared.flows.lock() {
            flows.datagrams[0] += u64::from(taken);
            flows.late.count(late);
        }
        one.next += 1;
        (one.next < one.packets).then(|| at + one.pace.of_bytes(wire))
    }
}

/// The program that receives.
struct Receiver {
    sockets: Vec<UdpSocket>,
    window: (Instant, Instant),
    payload: u64,
    clock: Clock,
    shared: Arc<Shared>,
}

impl Receiver {
    fn work(self) {
        let mut bytes = vec![0; 1 << 16];
        let mut space = cmsg_space!(nix::sys::time::TimeSpec);
        while !self.shared.stop.load(Ordering::Relaxed) {
            let mut polled: Vec<PollFd> =
                self.sockets.iter().map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN)).collect();
            // An interrupted wait is a short one.
            let _ = poll(&mut polled, PollTimeout::from(LOOK.as_millis() as u8));
            let ready: Vec<bool> = polled.iter().map(|fd| fd.any().unwrap_or(false)).collect();
            for (socket, _) in self.sockets.iter().zip(ready).filter(|(_, ready)| *ready) {
                while let Some((length, stamp)) = receive(socket, &mut bytes, &mut space) {
                    let came = stamp.map_or(self.clock.now().wall(), |stamp| self.clock.now().stamped(stamp));
                    self.take(self.clock.network(came), &bytes[..length]);
                }
            }
        }
    }

    fn take(&self, now: Instant, bytes: &[u8]) {
        let (Ok(mut flows), Ok(mut receiving)) = (self.shared.flows.lock(), self.shared.receiving.lock()) else {
            return;
        };
        flows.datagrams[1] += 1;
        let known = payload::read(bytes).and_then(|(flow, number)| Some((flow, number, receiving.get_mut(&flow)?)));
        let Some((flow, number, one)) = known else {
            flows.altered += 1;
            return;
        };
        if number >= one.next {
            one.missing.extend(one.next..number);
            one.next = number + 1;
        } else if one.missing.remove(&number) {
            flows.reordered += 1;
        } else {
            flows.duplicated += 1;
            return;
        }
        one.left -= 1;
        let content = if number + 1 == one.packets { one.last } else { self.payload };
        let (warm, until) = self.window;
        if now >= warm && now < until {
            flows.goodput[usize::from(one.class)] += content;
            if now.0 < u64::midpoint(warm.0, until.0) {
                flows.early_goodput[usize::from(one.class)] += content;
            }
        }
        if one.left == 0 {
            flows.received[flow as usize] = now;
            flows.counts[1] += 1;
            receiving.remove(&flow);
        }
    }
}

/// Receives a datagram, with the time at which the kernel got it.
fn receive(socket: &UdpSocket, bytes: &mut [u8], space: &mut [u8]) -> Option<(usize, Option<Duration>)> {
    let mut slices = [IoSliceMut::new(bytes)];
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut slices, Some(space), MsgFlags::MSG_DONTWAIT).ok()?;
    let stamp = message.cmsgs().ok()?.find_map(|one| match one {
        ControlMessageOwned::ScmTimestampns(at) => Some(Duration::new(at.tv_sec() as u64, at.tv_nsec() as u32)),
        _ => None,
    });
    Some((message.bytes, stamp))
}
