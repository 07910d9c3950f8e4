//! DCTCP as a congestion control of the kernel: registered, for the programs on the lab's hosts.
//!
//! | module | contents |
//! |---|---|
//! | `dctcp.bpf` | the algorithm, as programs for the kernel |
//! | `assembly` | the kernel's instructions, from that text |
//! | `btf` | where the running kernel has its fields |
//!
//! The kernel takes the programs from its root, after it has verified that they end and read nothing else.

mod assembly;
mod btf;
#[cfg(test)]
mod machine;

use crate::linux::sys::bpf;
use crate::linux::{During, LabError};
use assembly::{Program, Symbol, assemble};
use btf::{FILE, Field, Missing, Types};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

const TEXT: &str = include_str!("dctcp.bpf");
/// The kernel's structure of a congestion control.
const OPERATIONS: &str = "tcp_congestion_ops";
/// The kernel's wrapper of that structure, which a BPF map holds.
const VALUE: &str = "bpf_struct_ops_tcp_congestion_ops";
/// Room that the kernel has in each connection for its congestion control.
const ROOM: &str = "tcp_sock.inet_conn.icsk_ca_priv";
/// Fields that we keep there, of 4 bytes each.
const OURS: [&str; 6] = ["alpha", "end", "delivered", "marked", "received", "ce"];
/// Any user, and any network namespace, may choose it (`TCP_CONG_NON_RESTRICTED`). All its packets are ECN-capable
/// (`TCP_CONG_NEEDS_ECN`).
const FLAGS: u32 = 1 | 2;
/// Bytes for what the verifier says.
const LOG: usize = 1 << 18;
/// Last lines of that which an error has.
const LINES: usize = 3;

const ROOT: &str = "--dctcp needs the machine's own root, with CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN; leave it out \
                    elsewhere";
const KERNEL: &str = "use Linux 6.4 or later, built with CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT and CONFIG_DEBUG_INFO_BTF";

/// DCTCP in the kernel, while this exists and its process lives. The kernel removes it at the end of either. Connections
/// that use it then keep it until they end.
#[derive(Debug)]
pub struct KernelDctcp {
    name: String,
    /// The kernel removes the congestion control when this link closes.
    _link: OwnedFd,
}

impl KernelDctcp {
    /// Registers DCTCP under a name that no other lab of this machine has: that of the network namespace of the caller,
    /// which has [entered](super::namespace::enter) one of its own.
    ///
    /// # Errors
    /// If the kernel refuses it, or has no room for programs.
    pub fn register() -> Result<KernelDctcp, LabError> {
        let own = fs::metadata("/proc/thread-self/ns/net").during("cannot read the lab's network namespace", "")?;
        // Numbers of namespaces count from 0xf0000000. Nine letters and six digits are as many as the kernel takes.
        register(&format!("bw_dctcp_{:x}", own.ino() & 0xff_ffff), TEXT)
    }

    /// Its name, by which programs can choose it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl From<Missing> for LabError {
    fn from(missing: Missing) -> LabError {
        LabError { what: "this kernel does not take our DCTCP".into(), help: KERNEL, why: io::Error::other(missing.0) }
    }
}

fn register(name: &str, text: &str) -> Result<KernelDctcp, LabError> {
    let types = Types::of_kernel().during(format!("cannot read the kernel's types from {FILE}"), KERNEL)?;
    let programs = assemble(text, |name| symbol(&types, name))?;
    let mut value = vec![0; types.size(VALUE)? as usize];
    let mut fill = |field: &str, bytes: &[u8]| {
        let at = types.field(&format!("{VALUE}.data.{field}"))?.offset as usize;
        let place = value.get_mut(at..at + bytes.len());
        place.ok_or_else(|| Missing(format!("{VALUE} is too short")))?.copy_from_slice(bytes);
        Ok::<(), Missing>(())
    };
    fill("name", name.as_bytes())?;
    fill("flags", &FLAGS.to_ne_bytes())?;
    let mut loaded = Vec::new();
    for program in &programs {
        let descriptor = load(&types, program)?;
        fill(program.name, &u64::from(descriptor.as_raw_fd() as u32).to_ne_bytes())?;
        loaded.push(descriptor);
    }
    let number = types.structure(VALUE)?;
    let link = bpf::load_types(&one_type()).and_then(|own| {
        let operations = bpf::Operations::new(name, own.as_fd(), number, value.len())?;
        operations.fill(&value)?;
        operations.begin()
    });
    let link = link.map_err(|why| refused(format!("cannot register the congestion control {name}"), why))?;
    Ok(KernelDctcp { name: name.to_owned(), _link: link })
}

/// Finds what a name in the text of the programs stands for.
fn symbol(types: &Types, name: &str) -> Result<Symbol, Missing> {
    let Some((first, rest)) = name.split_once('.') else { return types.function(name).map(Symbol::Function) };
    if first == "dctcp" {
        let room = types.field(ROOM)?;
        let place = 4 * OURS.iter().position(|own| *own == rest).ok_or_else(|| Missing(format!("no {name}")))? as u32;
        if place + 4 > room.size {
            return Err(Missing(format!("the kernel has {} bytes for a congestion control", room.size)));
        }
        return Ok(Symbol::Field(Field { offset: room.offset + place, size: 4 }));
    }
    types.field(name).map(Symbol::Field).or_else(|why| types.value(name).map(Symbol::Value).map_err(|_| why))
}

/// Loads a program for the operation that has its name.
fn load(types: &Types, program: &Program) -> Result<OwnedFd, LabError> {
    let (operations, member) = (types.structure(OPERATIONS)?, types.member(OPERATIONS, program.name)?);
    let program = bpf::Program { name: program.name, instructions: &program.code, operations, member };
    bpf::load_program(&program, &mut []).map_err(|why| {
        let mut log = vec![0; LOG];
        let again = bpf::load_program(&program, &mut log);
        let said = if again.is_err() { last_lines(&log) } else { String::new() };
        let what = format!("the kernel does not load the program {}{said}", program.name);
        refused(what, why)
    })
}

fn refused(what: String, why: io::Error) -> LabError {
    let help = if why.kind() == io::ErrorKind::PermissionDenied { ROOT } else { KERNEL };
    LabError { what, help, why }
}

/// Returns the last lines of what the verifier wrote, without those that say how much it did.
fn last_lines(log: &[u8]) -> String {
    let text = log.split(|byte| *byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with("processed ")).collect();
    let last = lines[lines.len().saturating_sub(LINES)..].join(" | ");
    if last.is_empty() { last } else { format!(" ({last})") }
}

/// Description of one type. The kernel asks for types of ours, and we have none to tell of.
fn one_type() -> Vec<u8> {
    let names = b"\0int\0\0\0\0";
    // Header: magic number and version 1, length, types and their length, names and their length. Type: name, kind 1
    // (an integer), bytes, and that it has a sign and 32 bits.
    let words = [0x0001_eb9f, 24, 0, 16, 16, names.len() as u32, 1, 1 << 24, 4, 1 << 24 | 32];
    words.into_iter().flat_map(u32::to_ne_bytes).chain(names.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(name: &str) -> bool {
        let all = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("a list");
        all.split_whitespace().any(|one| one == name)
    }

    /// Registers a text, unless this machine does not allow it.
    fn registered(name: &str, text: &str) -> Option<Result<KernelDctcp, LabError>> {
        match register(name, text) {
            Err(error) if error.help == ROOT || error.why.kind() == io::ErrorKind::NotFound => {
                println!("skipped: {error}");
                None
            }
            other => Some(other),
        }
    }

    #[test]
    fn the_kernel_lists_it_while_it_lives() {
        let Some(own) = registered("bw_dctcp_test", TEXT) else { return };
        let own = own.expect("registered");
        assert!(listed(own.name()));
        let twice = register("bw_dctcp_test", TEXT).expect_err("the name is taken");
        assert!(twice.to_string().starts_with("cannot register the congestion control bw_dctcp_test: "), "{twice}");
        assert!(listed(own.name()));
        drop(own);
        assert!(!listed("bw_dctcp_test"));
    }

    #[test]
    fn a_program_that_the_kernel_refuses_is_told_with_the_reason() {
        let text = "ssthresh:\n    mov r0, r5\n    exit\n";
        let Some(tried) = registered("bw_dctcp_bad", text) else { return };
        let said = tried.expect_err("it reads what is not there").to_string();
        assert!(said.starts_with("the kernel does not load the program ssthresh ("), "{said}");
        assert!(said.contains("R5 !read_ok"), "{said}");
        assert!(!listed("bw_dctcp_bad"));
        let lacks = registered("bw_dctcp_bad", &TEXT.replace("tcp_reno_undo_cwnd", "tcp_reno_do_cwnd"));
        let said = lacks.expect("allowed").expect_err("there is no such function").to_string();
        assert!(said.contains("the kernel has no function tcp_reno_do_cwnd; use Linux 6.4"), "{said}");
    }
}
