//! Frames per second of the lab, beside a plain copy loop over the same rings.
//!
//! `bench_lab [--out FILE] [--seconds S] [--pairs N]`. Frames of 1000 B enter by one veth link and leave by another. A
//! generator in the first host sends as fast as it can, and the interface of the second host counts what arrives. The
//! copy loop sends each frame out of the receive ring. The lab runs in turn with it, and a goal is a ratio of medians.
//! The generator has one processor, and the loop has the other. Frames go to a hardware address that the second host
//! does not have, so its network stack drops them at once: it adds as little as possible to both loops.
//!
//! Ratios of processor time are less disturbed by other programs than those of frames per second.

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("the lab runs on Linux");
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    linux::main()
}

#[cfg(target_os = "linux")]
mod linux {
    use backwater_lab::Fabric;
    use backwater_lab::fabric::address;
    use backwater_lab::linux::clock::Clock;
    use backwater_lab::linux::lateness::Lateness;
    use backwater_lab::linux::running::FRAMES;
    use backwater_lab::linux::{Carrier, Counts, Network, Ring, Running, namespace};
    use backwater_nic::Rings;
    use backwater_scenario::model::Scenario;
    use backwater_scenario::topology::expand;
    use backwater_schemes::AnySwitch;
    use etherparse::PacketBuilder;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use nix::sched::{CpuSet, sched_setaffinity};
    use nix::unistd::Pid;
    use serde_json::{Value as Json, json};
    use std::os::fd::AsFd;
    use std::path::{Path, PathBuf};
    use std::process::{Command, ExitCode};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};
    use std::{fs, io};

    /// Bytes of a frame, with its Ethernet header.
    const FULL: usize = 1000;
    /// Frames that one call sends. The copy loop waits for no more.
    const BATCH: usize = 64;
    /// Flows of the generator.
    const FLOWS: u16 = 16;
    /// Time before each measurement.
    const WARM: Duration = Duration::from_millis(300);
    /// Processors of the loop and of the generator.
    const LOOP: usize = 0;
    const GENERATOR: usize = 1;

    /// Errors of the bench, which end it.
    type Failed = Box<dyn std::error::Error>;

    struct Arguments {
        out: Option<PathBuf>,
        seconds: f64,
        pairs: usize,
    }

    pub(crate) fn main() -> ExitCode {
        match arguments().and_then(|arguments| if inside() { bench(&arguments) } else { enter() }) {
            Ok(code) => code,
            Err(why) => {
                eprintln!("bench_lab: {why}");
                ExitCode::from(2)
            }
        }
    }

    fn arguments() -> Result<Arguments, Failed> {
        let mut arguments = Arguments { out: None, seconds: 2.0, pairs: 5 };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let value = words.next().ok_or(format!("{word} needs a value"))?;
            match word.as_str() {
                "--out" => arguments.out = Some(value.into()),
                "--seconds" => {
                    let seconds = value.parse().ok().filter(|seconds| (0.1..=1000.0).contains(seconds));
                    arguments.seconds = seconds.ok_or(format!("--seconds {value}: expected 0.1 to 1000"))?;
                }
                "--pairs" => {
                    let pairs = value.parse().ok().filter(|pairs| (1..=1000).contains(pairs));
                    arguments.pairs = pairs.ok_or(format!("--pairs {value}: expected 1 to 1000"))?;
                }
                _ => return Err(format!("{word}: expected --out, --seconds or --pairs").into()),
            }
        }
        Ok(arguments)
    }

    fn inside() -> bool {
        std::env::var_os("BACKWATER_INSIDE").is_some()
    }

    /// Starts this program again in namespaces of its own.
    fn enter() -> Result<ExitCode, Failed> {
        namespace::enter()?;
        let mut again = Command::new(std::env::current_exe()?);
        let status = again.args(std::env::args_os().skip(1)).env("BACKWATER_INSIDE", "1").status()?;
        Ok(ExitCode::from(status.code().map_or(2, |code| code as u8)))
    }

    fn bench(arguments: &Arguments) -> Result<ExitCode, Failed> {
        let rows = [("bfc", 1, 0.8), ("flowsail", 1, 0.75)];
        let mut results = Vec::new();
        for (scheme, switches, goal) in rows {
            let name = format!("{scheme} / copy loop");
            let [copy, lab] = in_turn(arguments, &|| copy_loop(arguments), &|| forward(arguments, scheme, switches))?;
            results.push(compared(&name, &copy, &lab, goal));
        }
        let [one, eight] = in_turn(arguments, &|| forward(arguments, "bfc", 1), &|| forward(arguments, "bfc", 8))?;
        results.push(compared("bfc, 8 switches / 1 switch", &one, &eight, 0.6));
        let ten = ten_hosts(arguments)?;
        let document = json!({ "compared": results, "ten_hosts": ten });
        if let Some(out) = &arguments.out {
            fs::write(out, format!("{document:#}\n")).map_err(|why| format!("{}: {why}", out.display()))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Speed of a loop.
    #[derive(Clone, Copy, Debug)]
    struct Speed {
        /// Frames that arrived per second.
        per_second: f64,
        /// Processor time of the loop per frame that arrived, nanoseconds.
        nanos: f64,
        /// Share of the frames that found no room in the ring. If there are none, the generator was too slow.
        overflowed: f64,
    }

    type Measured<'a> = dyn Fn() -> Result<Speed, Failed> + 'a;

    fn in_turn(arguments: &Arguments, one: &Measured, other: &Measured) -> Result<[Vec<Speed>; 2], Failed> {
        let mut speeds = [Vec::new(), Vec::new()];
        for _ in 0..arguments.pairs {
            speeds[0].push(one()?);
            speeds[1].push(other()?);
        }
        Ok(speeds)
    }

    fn compared(name: &str, base: &[Speed], measured: &[Speed], goal: f64) -> Json {
        let rates = [base, measured].map(|speeds| median(speeds, |speed| speed.per_second));
        let nanos = [base, measured].map(|speeds| median(speeds, |speed| speed.nanos));
        let (ratio, by_time) = (rates[1] / rates[0], nanos[0] / nanos[1]);
        let overflowed = [base, measured].map(|speeds| median(speeds, |speed| speed.overflowed));
        println!(
            "{name}: {ratio:.2} of the frames per second ({:.0} of {:.0}), goal {goal}; by processor time {by_time:.2} \
             ({:.0} and {:.0} ns); {:.0} and {:.0} % found no room",
            rates[1],
            rates[0],
            nanos[0],
            nanos[1],
            100.0 * overflowed[0],
            100.0 * overflowed[1]
        );
        let rows = |speeds: &[Speed]| -> Json {
            let row = |s: &Speed| json!({ "per_second": s.per_second, "nanos": s.nanos, "overflowed": s.overflowed });
            speeds.iter().map(row).collect()
        };
        json!({
            "name": name, "ratio": ratio, "ratio_by_processor_time": by_time, "goal": goal,
            "runs": { "base": rows(base), "measured": rows(measured) },
        })
    }

    fn median(speeds: &[Speed], of: impl Fn(&Speed) -> f64) -> f64 {
        let mut values: Vec<f64> = speeds.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    /// Speed of a copy loop: it sends frames out of the receive ring, and gives their room back.
    fn copy_loop(arguments: &Arguments) -> Result<Speed, Failed> {
        let mut network = Network::new(2, FULL)?;
        let mut rings = network.take_rings();
        let (Some(mut to), Some(mut from)) = (rings.pop(), rings.pop()) else { return Err("two hosts".into()) };
        let stop = &AtomicBool::new(false);
        thread::scope(|scope| {
            let work = move || {
                pin(LOOP)?;
                while !stop.load(Ordering::Relaxed) {
                    let count = to.send(from.pending().take(BATCH).map(|(bytes, _)| bytes)).unwrap_or(0);
                    from.release(count);
                    if count == 0 {
                        let mut wait = [PollFd::new(from.as_fd(), PollFlags::POLLIN)];
                        poll(&mut wait, PollTimeout::from(10u8))?;
                    }
                }
                from.overflowed()
            };
            let copies = thread::Builder::new().name("copy".into()).spawn_scoped(scope, work)?;
            let measured = measure(&network, arguments, "copy");
            stop.store(true, Ordering::Relaxed);
            let overflowed = copies.join().map_err(|_| "the copy loop failed")??;
            let (speed, sent) = measured?;
            Ok(Speed { overflowed: f64::from(overflowed) / sent as f64, ..speed })
        })
    }

    /// Speed of the lab, with a chain of switches between the hosts.
    fn forward(arguments: &Arguments, scheme: &str, switches: usize) -> Result<Speed, Failed> {
        let mut network = Network::new(2, FULL)?;
        let mut running = start(&mut network, &scenario(scheme, &chain(switches), "b"), 1)?;
        let (speed, sent) = measure(&network, arguments, "fabric")?;
        let (counts, _) = running.stop();
        let overflowed: u64 = counts.hosts.iter().map(|host| host.overflowed).sum();
        Ok(Speed { overflowed: overflowed as f64 / sent as f64, ..speed })
    }

    /// Share of a processor that the lab takes to carry 100 Mb/s from each of ten hosts to the next. While it waits awake
    /// for an event it does no work, and others may run.
    fn ten_hosts(arguments: &Arguments) -> Result<Json, Failed> {
        const HOSTS: u16 = 10;
        let topology = "topology = { kind = \"single-switch\", hosts = 10, rate = \"100 Gbps\", delay = \"1 us\" }\n";
        let mut network = Network::new(HOSTS, FULL)?;
        let rings: Result<Vec<Ring>, _> = (0..HOSTS).map(|host| network.host_ring(host, FULL)).collect();
        let mut rings = rings?;
        // 100 Gbps are 100 Mb/s.
        let mut running = start(&mut network, &scenario("bfc", topology, "host1"), 1000)?;
        let frames: Vec<Vec<u8>> = (0..HOSTS).map(|host| frame(host, (host + 1) % HOSTS, 0)).collect();
        let stop = &AtomicBool::new(false);
        let (took, [before, after]) = thread::scope(|scope| -> Result<_, Failed> {
            let sender = scope.spawn(move || -> io::Result<()> {
                pin(GENERATOR)?;
                let mut next = Instant::now();
                while !stop.load(Ordering::Relaxed) {
                    for (ring, frame) in rings.iter_mut().zip(&frames) {
                        ring.send(std::iter::repeat_n(&frame[..], 5))?;
                    }
                    next += Duration::from_micros(400); // 5 * 8000 bit / 100 Mb/s
                    thread::sleep(next.saturating_duration_since(Instant::now()));
                }
                Ok(())
            });
            let reading = || Ok::<_, Failed>((running.counts(), processor_time("fabric")?));
            thread::sleep(WARM);
            let (start, before) = (Instant::now(), reading()?);
            thread::sleep(Duration::from_secs_f64(arguments.seconds));
            let (took, after) = (start.elapsed().as_secs_f64(), reading()?);
            stop.store(true, Ordering::Relaxed);
            sender.join().map_err(|_| "the sender failed")??;
            Ok((took, [before, after]))
        })?;
        let carried = |counts: &Counts| counts.hosts.iter().map(|host| host.frames[1]).sum::<u64>();
        let rate = (carried(&after.0) - carried(&before.0)) as f64 * FULL as f64 * 8e-6 / took / f64::from(HOSTS);
        let awake = (after.0.awake - before.0.awake).as_secs_f64() / took;
        let share = ((after.1 - before.1).as_secs_f64() / took - awake).max(0.0);
        let mut late = Lateness::default();
        running.stop().0.hosts.iter().for_each(|host| late.add(&host.late[1]));
        let [half, most] = [0.5, 0.99].map(|share| late.quantile(share).as_secs_f64() * 1e6);
        println!(
            "ten hosts, {rate:.1} Mb/s arrive at each: {share:.2} of a processor, goal 0.5; {awake:.2} of the time waits \
             awake; frames out are late by {half:.0} us (median) and {most:.0} us (p99)"
        );
        Ok(json!({ "mbps": rate, "processor": share, "goal": 0.5, "awake": awake, "late_us": [half, most] }))
    }

    fn start(network: &mut Network, scenario: &Scenario, divisor: u32) -> Result<Running, Failed> {
        let graph = expand(&scenario.topology);
        let memory = scenario.conventions.memory;
        let plane = |shape: &_, table: &_| backwater_planes::any(memory, shape, table);
        let fabric: Fabric<AnySwitch, Rings> = Fabric::new(scenario, &graph, plane, FRAMES);
        pin(LOOP)?;
        Ok(Running::start(network, fabric, None, Clock::start(divisor))?)
    }

    /// Lets the generator send through a loop, whose thread has this name. Returns its speed, and the frames sent in all.
    fn measure(network: &Network, arguments: &Arguments, name: &str) -> Result<(Speed, u64), Failed> {
        let stop = &AtomicBool::new(false);
        let mut ring = network.host_ring(0, FULL)?;
        thread::scope(|scope| {
            let generator = scope.spawn(move || -> io::Result<u64> {
                pin(GENERATOR)?;
                let frames: Vec<Vec<u8>> = (0..BATCH as u16).map(|number| frame(0, 1, number % FLOWS)).collect();
                let mut sent = 0;
                while !stop.load(Ordering::Relaxed) {
                    sent += ring.send(frames.iter().map(|frame| &frame[..]))? as u64;
                }
                Ok(sent)
            });
            let measured = (|| -> Result<Speed, Failed> {
                thread::sleep(WARM);
                let (start, before) = (Instant::now(), (arrived(network)?, processor_time(name)?));
                thread::sleep(Duration::from_secs_f64(arguments.seconds));
                let (took, after) = (start.elapsed(), (arrived(network)?, processor_time(name)?));
                let frames = (after.0 - before.0) as f64;
                let nanos = (after.1 - before.1).as_nanos() as f64 / frames;
                Ok(Speed { per_second: frames / took.as_secs_f64(), nanos, overflowed: 0.0 })
            })();
            stop.store(true, Ordering::Relaxed);
            let sent = generator.join().map_err(|_| "the generator failed")??;
            Ok((measured?, sent))
        })
    }

    /// Frames that arrived at host 1.
    fn arrived(network: &Network) -> Result<u64, Failed> {
        let table = network.within(1, || fs::read_to_string("/proc/thread-self/net/dev"))?;
        let row = table.lines().find_map(|line| line.trim_start().strip_prefix("eth0:"));
        let packets = row.and_then(|row| row.split_whitespace().nth(1)?.parse().ok());
        packets.ok_or_else(|| "the kernel does not say what arrived at eth0".into())
    }

    /// Processor time of the thread of this name.
    fn processor_time(name: &str) -> Result<Duration, Failed> {
        for task in fs::read_dir("/proc/self/task")? {
            let task = task?.path();
            if fs::read_to_string(task.join("comm"))?.trim_end() == name {
                let times = fs::read_to_string(task.join("schedstat"))?;
                let nanos = times.split(' ').next().and_then(|nanos| nanos.parse().ok());
                return Ok(Duration::from_nanos(nanos.ok_or("the kernel does not say how long a thread ran")?));
            }
        }
        Err(format!("the thread {name} has ended").into())
    }

    /// Keeps the calling thread, and those that it starts, on a processor. One processor is shared.
    fn pin(processor: usize) -> io::Result<()> {
        let count = thread::available_parallelism().map_or(1, |count| count.get().max(2));
        let mut set = CpuSet::new();
        set.set(processor % count)?;
        match sched_setaffinity(Pid::from_raw(0), &set) {
            Err(nix::errno::Errno::EINVAL) => Ok(()), // A processor that this system does not have.
            other => Ok(other?),
        }
    }

    /// A UDP frame of a flow.
    fn frame(from: u16, to: u16, flow: u16) -> Vec<u8> {
        let mut bytes = Vec::new();
        let ip = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4(address(from).octets(), address(to).octets(), 64);
        ip.udp(5000 + flow, 5001).write(&mut bytes, &[0; FULL - 42]).expect("memory takes a frame");
        bytes
    }

    /// Two hosts with a chain of switches between them.
    fn chain(switches: usize) -> String {
        let names: Vec<String> = (1..=switches).map(|number| format!("\"sw{number}\"")).collect();
        let ends = [vec!["\"a\"".into()], names.clone(), vec!["\"b\"".into()]].concat();
        let link = |two: &[String]| format!("{{ ends = [{}], rate = \"100 Gbps\", delay = \"1 us\" }}", two.join(", "));
        let links: Vec<String> = ends.windows(2).map(link).collect();
        format!(
            "[topology]\nkind = \"graph\"\nhosts = [\"a\", \"b\"]\nswitches = [{}]\nlinks = [{}]\n",
            names.join(", "),
            links.join(", ")
        )
    }

    fn scenario(scheme: &str, topology: &str, to: &str) -> Scenario {
        let text = format!(
            "scheme = \"{scheme}\"\n{topology}[host]\npayload = \"958 B\"\nheader = \"42 B\"\n[run]\nduration = \"1 ms\"\n\
             [[workload]]\nkind = \"long-lived\"\ncount = 1\nto = [\"{to}\"]\n"
        );
        let plan = backwater_scenario::load_str(&text, Path::new("."), "bench", &[], None).expect("a valid scenario");
        plan.runs[0].scenario.clone()
    }
}
