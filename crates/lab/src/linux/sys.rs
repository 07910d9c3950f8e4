//! The calls that need `unsafe`: a ring of received frames that the kernel shares with us, many frames sent by one
//! call, and settings of an interface. In [`bpf`], operations that the kernel takes from us. Nothing else in the lab is
//! `unsafe`.

#![allow(unsafe_code)]

pub(super) mod bpf;

use nix::libc;
use std::io;
use std::mem::{self, size_of};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Frames that fit in a ring.
const FRAMES: u32 = 4096;
/// Bytes of a ring's blocks, a multiple of the page size and of any frame's room.
const BLOCK: u32 = 1 << 16;
/// Offset of a frame's bytes in its room, at least the kernel's header.
const HEADER: usize = 128;

/// State of a frame beside its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    /// Time at which the kernel received it, since the epoch.
    pub at: Duration,
    /// Whether it had a VLAN tag, which the kernel has taken off.
    pub vlan: bool,
    /// Whether its checksum is left to hardware that does not exist.
    pub unfinished: bool,
    /// Bytes of the frame on the link, more than the ring holds if it was cut.
    pub length: usize,
}

/// A packet socket on one interface, with a ring of received frames.
pub struct Ring {
    socket: OwnedFd,
    map: NonNull<u8>,
    bytes: usize,
    /// Room of a frame.
    room: usize,
    next: u32,
    /// Arguments of the call that sends.
    headers: Vec<libc::mmsghdr>,
    slices: Vec<libc::iovec>,
}

// SAFETY: the map belongs to the ring alone, and pointers in `headers` and `slices` are set before each call.
unsafe impl Send for Ring {}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn set<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` is valid for `length` bytes, and the kernel only reads it.
    check(unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, option, (&raw const *value).cast(), length)
    })?;
    Ok(())
}

impl Ring {
    /// Opens a ring on an interface, for frames of up to `longest` bytes. Frames sent on the interface by others do not
    /// enter it.
    pub(super) fn open(interface: u32, longest: usize) -> io::Result<Ring> {
        // SAFETY: a plain call; the descriptor is checked and then owned once.
        let socket = unsafe {
            let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
            OwnedFd::from_raw_fd(check(libc::socket(libc::AF_PACKET, kind, 0))?)
        };
        set(&socket, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as libc::c_int))?;
        set(&socket, libc::PACKET_IGNORE_OUTGOING, &1i32)?;
        set(&socket, libc::PACKET_QDISC_BYPASS, &1i32)?;
        let room = (longest + HEADER).next_power_of_two();
        let request = libc::tpacket_req {
            tp_block_size: BLOCK,
            tp_block_nr: FRAMES * room as u32 / BLOCK,
            tp_frame_size: room as u32,
            tp_frame_nr: FRAMES,
        };
        set(&socket, libc::PACKET_RX_RING, &request)?;
        let bytes = FRAMES as usize * room;
        // SAFETY: a new mapping of the socket's ring, of exactly its size.
        let map = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, socket.as_raw_fd(), 0)
        };
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let map = NonNull::new(map.cast()).ok_or_else(|| io::Error::other("the ring is mapped at 0"))?;
        let ring = Ring { socket, map, bytes, room, next: 0, headers: Vec::new(), slices: Vec::new() };
        // SAFETY: zero is a valid address, whose fields are then set.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = interface as i32;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the address is valid for `length` bytes.
        check(unsafe { libc::bind(ring.socket.as_raw_fd(), (&raw const address).cast(), length) })?;
        Ok(ring)
    }

    /// Whether a frame has come.
    pub fn has_frame(&self) -> bool {
        self.status(self.next).load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// State of a frame's room, which the kernel shares with us.
    fn status(&self, number: u32) -> &AtomicU32 {
        // SAFETY: numbers are below FRAMES, so the room lies inside the map, aligned to a power of two above 16.
        unsafe { AtomicU32::from_ptr(self.map.as_ptr().add(number as usize * self.room).cast()) }
    }

    /// Frames that have come, in order. They stay until [`Ring::release`].
    pub fn pending(&self) -> impl Iterator<Item = (&[u8], Stamp)> {
        (0..FRAMES).map_while(|ahead| self.frame((self.next + ahead) % FRAMES))
    }

    /// Frame in a room, if the kernel has handed one over.
    fn frame(&self, number: u32) -> Option<(&[u8], Stamp)> {
        let state = self.status(number).load(Ordering::Acquire);
        if state & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the kernel has handed the frame over, and says where its bytes are. They are kept inside its room, and
        // nothing changes them until the room is given back, which needs the ring alone.
        unsafe {
            let room = self.map.as_ptr().add(number as usize * self.room);
            let header = &*room.cast::<libc::tpacket2_hdr>();
            let start = usize::from(header.tp_mac).min(self.room);
            let length = (header.tp_snaplen as usize).min(self.room - start);
            let stamp = Stamp {
                at: Duration::new(header.tp_sec.into(), header.tp_nsec.min(999_999_999)),
                vlan: state & libc::TP_STATUS_VLAN_VALID != 0,
                unfinished: state & libc::TP_STATUS_CSUMNOTREADY != 0,
                length: header.tp_len as usize,
            };
            Some((std::slice::from_raw_parts(room.add(start), length), stamp))
        }
    }

    /// Gives the rooms of the first `count` pending frames back to the kernel.
    pub fn release(&mut self, count: usize) {
        for _ in 0..count {
            let status = self.status(self.next);
            if status.load(Ordering::Relaxed) & libc::TP_STATUS_USER == 0 {
                return;
            }
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % FRAMES;
        }
    }

    /// Frames that found no room in the ring since the last call.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn overflowed(&self) -> io::Result<u32> {
        // SAFETY: zero is a valid value, and the kernel writes at most `length` bytes.
        unsafe {
            let mut stats: libc::tpacket_stats = mem::zeroed();
            let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
            let at = (&raw mut stats).cast();
            check(libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                at,
                &mut length,
            ))?;
            Ok(stats.tp_drops)
        }
    }

    /// Sends frames by as few calls as the kernel allows. Returns how many it took.
    ///
    /// # Errors
    /// If it takes not even the first.
    pub fn send<'a>(&mut self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        self.slices.clear();
        self.headers.clear();
        let slice = |frame: &[u8]| libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
        self.slices.extend(frames.map(slice));
        for slice in &mut self.slices {
            // SAFETY: zero is a valid header, whose fields are then set.
            let mut header: libc::mmsghdr = unsafe { mem::zeroed() };
            header.msg_hdr.msg_iov = slice;
            header.msg_hdr.msg_iovlen = 1;
            self.headers.push(header);
        }
        let mut sent = 0;
        while sent < self.headers.len() {
            let rest = &mut self.headers[sent..];
            // SAFETY: every header points to a slice, and every slice to bytes that live for `'a` and that the kernel only reads.
            let result = unsafe { libc::sendmmsg(self.socket.as_raw_fd(), rest.as_mut_ptr(), rest.len() as u32, 0) };
            match check(result) {
                Ok(0) => break,
                Ok(count) => sent += count as usize,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(_) if sent > 0 => break,
                Err(why) => return Err(why),
            }
        }
        Ok(sent)
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the map is the ring's own, and nothing points into it any more.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.bytes) };
    }
}

/// Sleep that ends when something comes at one of some descriptors.
pub(super) struct Sleep(Vec<libc::pollfd>);

impl Sleep {
    /// Prepares sleeps over these descriptors, which stay open.
    pub(super) fn over<'a>(descriptors: impl Iterator<Item = BorrowedFd<'a>>) -> Sleep {
        Sleep(descriptors.map(|one| libc::pollfd { fd: one.as_raw_fd(), events: libc::POLLIN, revents: 0 }).collect())
    }

    /// Sleeps for `span`. Returns whether nothing came. A signal ends the sleep too.
    pub(super) fn sleep(&mut self, span: Duration) -> bool {
        let span =
            libc::timespec { tv_sec: span.as_secs() as libc::time_t, tv_nsec: span.subsec_nanos() as libc::c_long };
        // SAFETY: the list and the time are valid for the call; the kernel writes `revents` alone.
        unsafe { libc::ppoll(self.0.as_mut_ptr(), self.0.len() as libc::nfds_t, &span, std::ptr::null()) == 0 }
    }
}

/// Offloads that would make frames longer than the link's, or leave their checksums to hardware: commands of the
/// kernel that read and set each.
const OFFLOADS: [(&str, u32, u32); 4] = [
    ("transmit checksums", 0x16, 0x17),
    ("TCP segmentation", 0x1e, 0x1f),
    ("generic segmentation", 0x23, 0x24),
    ("generic receive", 0x2b, 0x2c),
];

/// Value of an offload.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// Turns the offloads of an interface of this thread's namespace off, and checks that they are.
pub(super) fn turn_offloads_off(interface: &str) -> io::Result<()> {
    // SAFETY: a plain call; the descriptor is checked and then owned once.
    let socket =
        unsafe { OwnedFd::from_raw_fd(check(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0))?) };
    for (name, get, set) in OFFLOADS {
        let call = |command: u32| {
            let mut value = Value { command, data: 0 };
            // SAFETY: zero is a valid request, whose name and data are then set; the kernel writes `value` alone.
            unsafe {
                let mut request: libc::ifreq = mem::zeroed();
                for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(interface.bytes()) {
                    *to = from as libc::c_char;
                }
                request.ifr_ifru.ifru_data = (&raw mut value).cast();
                check(libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request))?;
            }
            Ok::<u32, io::Error>(value.data)
        };
        call(set)?;
        if call(get)? != 0 {
            return Err(io::Error::other(format!("{name} offload cannot be turned off")));
        }
    }
    Ok(())
}
