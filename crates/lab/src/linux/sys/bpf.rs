//! The calls of bpf(2) that give the kernel operations of ours, such as a congestion control. Every descriptor that
//! they return closes when a process runs another program.

use super::check;
use nix::libc;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const MAP_CREATE: libc::c_int = 0;
const MAP_UPDATE_ELEM: libc::c_int = 2;
const PROG_LOAD: libc::c_int = 5;
const BTF_LOAD: libc::c_int = 18;
const LINK_CREATE: libc::c_int = 28;

/// Kind of a program, of a map, and of a link of operations.
const PROGRAM_KIND: u32 = 27;
const MAP_KIND: u32 = 26;
const LINK_KIND: u32 = 44;
/// The operations of a map begin with a link to it, and end with the link.
const BY_LINK: u32 = 1 << 13;
/// Licence of our programs. The kernel takes operations only from programs that may be used under the GPL too.
const LICENCE: &std::ffi::CStr = c"Dual MIT/GPL";
/// Tries to load a program if signals interrupt its verification.
const TRIES: u32 = 5;

/// Calls bpf(2).
///
/// # Safety
/// Addresses in `attributes` are valid for what the command does with them. `T` has the layout of the command.
unsafe fn call<T>(command: libc::c_int, attributes: &mut T) -> io::Result<libc::c_int> {
    // SAFETY: the attributes are valid for their size; the caller answers for what they contain.
    check(unsafe { libc::syscall(libc::SYS_bpf, command, &raw mut *attributes, size_of::<T>()) } as libc::c_int)
}

/// Calls bpf(2) for a new descriptor.
///
/// # Safety
/// As for [`call`], and the command returns a descriptor.
unsafe fn open<T>(command: libc::c_int, attributes: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: the caller's; the descriptor is checked and then owned once.
    unsafe { call(command, attributes).map(|fd| OwnedFd::from_raw_fd(fd)) }
}

fn number(descriptor: BorrowedFd) -> u32 {
    descriptor.as_raw_fd() as u32
}

/// Gives the kernel descriptions of types. Every map of operations needs some, even if it uses none.
pub(in crate::linux) fn load_types(btf: &[u8]) -> io::Result<OwnedFd> {
    #[repr(C)]
    #[derive(Default)]
    struct Attributes {
        btf: u64,
        log: u64,
        size: u32,
        log_size: u32,
        log_level: u32,
        log_used: u32,
    }
    let mut attributes = Attributes { btf: btf.as_ptr() as u64, size: btf.len() as u32, ..Attributes::default() };
    // SAFETY: the kernel reads `size` bytes, which are there.
    unsafe { open(BTF_LOAD, &mut attributes) }
}

/// A program for one of the kernel's operations.
pub(in crate::linux) struct Program<'a> {
    /// Name of at most 15 letters.
    pub(in crate::linux) name: &'a str,
    /// Instructions, of 8 bytes each.
    pub(in crate::linux) instructions: &'a [u8],
    /// Number of the structure of operations among the kernel's types.
    pub(in crate::linux) operations: u32,
    /// Number of the operation in it.
    pub(in crate::linux) member: u32,
}

/// Loads a program. The kernel's verifier writes into `log`, if it has any bytes.
pub(in crate::linux) fn load_program(program: &Program, log: &mut [u8]) -> io::Result<OwnedFd> {
    #[repr(C)]
    #[derive(Default)]
    struct Attributes {
        kind: u32,
        count: u32,
        instructions: u64,
        licence: u64,
        log_level: u32,
        log_size: u32,
        log: u64,
        kernel_version: u32,
        flags: u32,
        name: [u8; 16],
        interface: u32,
        member: u32,
        btf: u32,
        function_size: u32,
        functions: u64,
        function_count: u32,
        line_size: u32,
        lines: u64,
        line_count: u32,
        operations: u32,
    }
    let mut attributes = Attributes {
        kind: PROGRAM_KIND,
        count: (program.instructions.len() / 8) as u32,
        instructions: program.instructions.as_ptr() as u64,
        licence: LICENCE.as_ptr() as u64,
        log_level: u32::from(!log.is_empty()),
        log_size: log.len() as u32,
        log: if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 },
        name: name(program.name),
        member: program.member,
        operations: program.operations,
        ..Attributes::default()
    };
    for _ in 1..TRIES {
        // SAFETY: instructions and licence are there and only read; the kernel writes at most `log_size` bytes.
        match unsafe { open(PROG_LOAD, &mut attributes) } {
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
            done => return done,
        }
    }
    // SAFETY: the same.
    unsafe { open(PROG_LOAD, &mut attributes) }
}

/// A map for one set of operations.
pub(in crate::linux) struct Operations {
    map: OwnedFd,
    /// Bytes of its structure.
    size: usize,
}

impl Operations {
    /// Makes a map. `value` is the number of its structure among the kernel's types, and `size` the bytes of it. `types`
    /// are descriptions of types that were loaded.
    pub(in crate::linux) fn new(map_name: &str, types: BorrowedFd, value: u32, size: usize) -> io::Result<Operations> {
        #[repr(C)]
        #[derive(Default)]
        struct Attributes {
            kind: u32,
            key_size: u32,
            value_size: u32,
            entries: u32,
            flags: u32,
            inner: u32,
            node: u32,
            name: [u8; 16],
            interface: u32,
            btf: u32,
            key_type: u32,
            value_type: u32,
            kernel_value_type: u32,
        }
        let mut attributes = Attributes {
            kind: MAP_KIND,
            key_size: size_of::<u32>() as u32,
            value_size: size as u32,
            entries: 1,
            flags: BY_LINK,
            name: name(map_name),
            btf: number(types),
            kernel_value_type: value,
            ..Attributes::default()
        };
        // SAFETY: the attributes have no address.
        let map = unsafe { open(MAP_CREATE, &mut attributes)? };
        Ok(Operations { map, size })
    }

    /// Fills the map's structure, with the descriptors of programs at the places of functions.
    ///
    /// # Panics
    /// If `value` has not the size of the structure.
    pub(in crate::linux) fn fill(&self, value: &[u8]) -> io::Result<()> {
        #[repr(C)]
        struct Attributes {
            map: u64,
            key: u64,
            value: u64,
            flags: u64,
        }
        assert_eq!(value.len(), self.size, "the kernel reads as many bytes");
        let key = 0u32;
        let mut attributes = Attributes {
            map: number(self.map.as_fd()).into(),
            key: (&raw const key) as u64,
            value: value.as_ptr() as u64,
            flags: 0,
        };
        // SAFETY: the kernel reads the key and `size` bytes of the value, which are there, and writes neither.
        unsafe { call(MAP_UPDATE_ELEM, &mut attributes) }.map(drop)
    }

    /// Begins the operations. They end when the descriptor that is returned closes, however that comes about.
    pub(in crate::linux) fn begin(&self) -> io::Result<OwnedFd> {
        #[repr(C)]
        struct Attributes {
            map: u32,
            target: u32,
            kind: u32,
            flags: u32,
        }
        let mut attributes = Attributes { map: number(self.map.as_fd()), target: 0, kind: LINK_KIND, flags: 0 };
        // SAFETY: the attributes have no address.
        unsafe { open(LINK_CREATE, &mut attributes) }
    }
}

/// Returns a name with the zeros that end it.
fn name(text: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes.iter_mut().take(15).zip(text.bytes()).for_each(|(to, from)| *to = from);
    bytes
}
