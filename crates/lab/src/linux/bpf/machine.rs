//! The programs of DCTCP against RFC 8257, in an interpreter: no kernel takes part, and no root is needed.

use super::TEXT;
use super::assembly::{Program, Symbol, assemble};
use super::btf::Field;
use rbpf::EbpfVmRaw;
use std::cell::RefCell;
use std::collections::HashMap;

/// Bytes of the arguments, before those of a connection.
const ARGUMENTS: usize = 32;
/// Alpha of 1.
const ONE: f64 = 1_048_576.0;
const RECOVERY: u32 = 3;
const LOSS: u32 = 4;
const CE: u32 = 6;
const NO_CE: u32 = 5;
const SEND_ACK: u32 = 116;
/// The flag that makes a receiver say that it saw marks, and another one.
const DEMAND_CWR: u32 = 4;
const OK: u32 = 1;

thread_local! {
    static ACKS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

fn send_ack(_: u64, number: u64, _: u64, _: u64, _: u64) -> u64 {
    ACKS.with_borrow_mut(|acks| acks.push(number));
    0
}

/// The programs, with a connection in a memory of ours.
struct Machine {
    programs: Vec<Program<'static>>,
    places: HashMap<String, usize>,
    memory: Vec<u8>,
}

impl Machine {
    fn new() -> Machine {
        let places = RefCell::new(HashMap::new());
        let symbol = |name: &str| {
            let value = match name {
                "tcp_ca_state.TCP_CA_Recovery" => RECOVERY,
                "tcp_ca_event.CA_EVENT_LOSS" => LOSS,
                "tcp_ca_event.CA_EVENT_ECN_IS_CE" => CE,
                "tcp_ca_event.CA_EVENT_ECN_NO_CE" => NO_CE,
                "inet_csk_ack_state_t.ICSK_ACK_TIMER" => 2,
                "bpf_func_id.BPF_FUNC_tcp_send_ack" => SEND_ACK,
                "tcp_reno_cong_avoid" | "tcp_reno_undo_cwnd" => 1,
                field => {
                    let mut places = places.borrow_mut();
                    let next = 8 * places.len();
                    let offset = *places.entry(field.to_owned()).or_insert(next) as u32;
                    let size = if field.ends_with("pending") || field.ends_with("ecn_flags") { 1 } else { 4 };
                    return Ok(Symbol::Field(Field { offset, size }));
                }
            };
            Ok(Symbol::Value(value))
        };
        let programs = assemble(TEXT, symbol).expect("programs");
        let places = places.into_inner();
        let memory = vec![0; ARGUMENTS + 8 * places.len()];
        let mut machine = Machine { programs, places, memory };
        machine.run("init", &[]);
        machine
    }

    fn place(&self, field: &str) -> usize {
        ARGUMENTS + self.places[field]
    }

    fn set(&mut self, field: &str, value: u32) {
        let at = self.place(field);
        self.memory[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    fn get(&self, field: &str) -> u32 {
        let at = self.place(field);
        u32::from_le_bytes(self.memory[at..at + 4].try_into().expect("4 bytes"))
    }

    fn run(&mut self, name: &str, arguments: &[u64]) -> u64 {
        let connection = self.memory.as_ptr() as u64 + ARGUMENTS as u64;
        for (at, value) in [connection].iter().chain(arguments).enumerate() {
            self.memory[8 * at..8 * at + 8].copy_from_slice(&value.to_le_bytes());
        }
        let program = self.programs.iter().find(|one| one.name == name).expect("a program of this name");
        let mut machine = EbpfVmRaw::new(Some(&program.code)).expect("a program");
        machine.register_helper(SEND_ACK, send_ack).expect("a helper");
        machine.execute_program(&mut self.memory).expect("it ends")
    }

    /// The end of a window, in which `marked` of `packets` were marked.
    fn window(&mut self, packets: u32, marked: u32) {
        self.set("tcp_sock.delivered", self.get("tcp_sock.delivered").wrapping_add(packets));
        self.set("tcp_sock.delivered_ce", self.get("tcp_sock.delivered_ce").wrapping_add(marked));
        let end = self.get("dctcp.end");
        self.set("tcp_sock.snd_una", end);
        self.set("tcp_sock.snd_nxt", end.wrapping_add(1000 * packets.max(1)));
        self.run("in_ack_event", &[0]);
    }

    fn alpha(&self) -> f64 {
        f64::from(self.get("dctcp.alpha")) / ONE
    }
}

#[test]
fn alpha_follows_the_marks_of_each_window() {
    let mut machine = Machine::new();
    // The counters of the kernel go round.
    machine.set("tcp_sock.delivered", u32::MAX - 1000);
    machine.set("tcp_sock.snd_nxt", u32::MAX - 100_000);
    machine.run("init", &[]);
    assert_eq!(machine.alpha(), 1.0);
    let mut alpha = 1.0;
    for number in 0..2000u32 {
        let packets = 1 + number * 7919 % 97;
        let marked = if number % 3 == 0 { number * 31 % (packets + 1) } else { 0 };
        machine.window(packets, marked);
        alpha = alpha * (1.0 - 1.0 / 16.0) + f64::from(marked) / f64::from(packets) / 16.0;
        assert!((machine.alpha() - alpha).abs() < 1e-4, "window {number}: {} for {alpha}", machine.alpha());
    }
    for _ in 0..500 {
        machine.window(10, 10);
    }
    assert!(machine.alpha() > 0.9999 && machine.alpha() <= 1.0);
}

#[test]
fn within_a_window_and_without_packets_alpha_stays() {
    let mut machine = Machine::new();
    machine.window(10, 0);
    let before = machine.alpha();
    machine.set("tcp_sock.delivered", machine.get("tcp_sock.delivered") + 5);
    machine.set("tcp_sock.snd_una", machine.get("dctcp.end").wrapping_sub(1));
    machine.run("in_ack_event", &[0]);
    assert_eq!(machine.alpha(), before);
    let mut idle = Machine::new();
    idle.window(0, 0);
    assert_eq!(idle.alpha(), 1.0);
}

#[test]
fn marks_reduce_the_window_by_half_of_alpha() {
    let mut machine = Machine::new();
    for alpha in [0, 1, 1 << 10, 1 << 17, 1 << 19, 1 << 20] {
        for window in [1, 2, 3, 10, 100, 100_000] {
            machine.set("tcp_sock.snd_cwnd", window);
            machine.set("dctcp.alpha", alpha);
            let exact = f64::from(window) * (1.0 - f64::from(alpha) / ONE / 2.0);
            assert_eq!(machine.run("ssthresh", &[]), (exact.ceil() as u64).max(2), "{window} at {alpha}");
        }
    }
}

#[test]
fn a_loss_halves_the_window_whatever_alpha_is() {
    let mut machine = Machine::new();
    machine.set("dctcp.alpha", 0);
    for (before, after) in [(1, 2), (5, 2), (100, 50)] {
        for (program, argument) in [("set_state", RECOVERY), ("cwnd_event", LOSS)] {
            machine.set("tcp_sock.prior_cwnd", before);
            machine.set("tcp_sock.snd_ssthresh", 7);
            // The kernel promises nothing about the bits above an argument's own.
            let noise = if program == "set_state" { 0xabcd00 } else { 0xabcd << 32 };
            machine.run(program, &[u64::from(argument) | noise]);
            assert_eq!(machine.get("tcp_sock.snd_ssthresh"), after);
            machine.set("tcp_sock.snd_ssthresh", 7);
            machine.run(program, &[0]);
            assert_eq!(machine.get("tcp_sock.snd_ssthresh"), 7);
        }
    }
}

#[test]
fn the_receiver_answers_at_once_when_marks_begin_or_end() {
    let mut machine = Machine::new();
    let [pending, flags] = ["tcp_sock.inet_conn.icsk_ack.pending", "tcp_sock.ecn_flags"];
    // Each packet: its end, whether it is marked, whether an acknowledgement is delayed, and what goes at once.
    for (end, marked, delayed, sent) in [
        (1000, false, false, None),
        (2000, true, true, Some(1000)),
        (3000, true, true, None),
        (4000, false, true, Some(3000)),
        (5000, false, true, None),
        (6000, true, false, None),
        (7000, false, false, None),
    ] {
        // The kernel demands an answer to a mark by itself, after the event.
        machine.set(pending, if delayed { 3 } else { 1 });
        machine.set("tcp_sock.rcv_nxt", end);
        machine.run("cwnd_event", &[u64::from(if marked { CE } else { NO_CE })]);
        if marked {
            machine.set(flags, OK | DEMAND_CWR);
        }
        assert_eq!(ACKS.take(), sent.into_iter().collect::<Vec<u64>>(), "packet that ends at {end}");
        assert_eq!(machine.get(flags) & DEMAND_CWR != 0, marked);
        assert_eq!((machine.get("dctcp.ce"), machine.get("dctcp.received")), (u32::from(marked), end));
    }
    assert_eq!(machine.get(flags), OK);
}
