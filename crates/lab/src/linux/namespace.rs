//! Network namespaces: one for the fabric, in which the lab runs, and one for each host.
//!
//! No namespace has a name outside, and none is held by anything but a descriptor. So all are gone with the lab's last
//! process, however that ends.

use crate::linux::{During, LabError};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Uid, getgid, getuid};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::thread;

const NEEDED: &str = "the lab needs user namespaces for ordinary users, or root: see `make lab-doctor`";

/// Moves this process, which must have one thread, into a network namespace of its own, whose interfaces it may set up.
/// Its next child is the first process of a process namespace: when that one ends, so do all others in it.
///
/// An ordinary user is root in the namespace, and nobody else there exists.
///
/// # Errors
/// If the system does not allow it.
pub fn enter() -> Result<(), LabError> {
    let (user, group) = (getuid(), getgid());
    let mut flags = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID;
    if user != Uid::from_raw(0) {
        flags |= CloneFlags::CLONE_NEWUSER;
    }
    unshare(flags).during("cannot make namespaces", NEEDED)?;
    if user != Uid::from_raw(0) {
        let map = |file: &str, text: String| {
            fs::write(format!("/proc/self/{file}"), text).during(format!("cannot write {file}"), NEEDED)
        };
        map("setgroups", "deny".into())?;
        map("uid_map", format!("0 {user} 1"))?;
        map("gid_map", format!("0 {group} 1"))?;
    }
    Ok(())
}

/// Lets programs of the lab find addresses by the names of hosts: `text` takes the place of `/etc/hosts` in this
/// process's mount namespace, and nowhere else. Meanwhile no other process of that namespace may use temporary files.
///
/// # Errors
/// If the system does not allow it.
pub fn name_hosts(text: &str) -> Result<(), LabError> {
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).during("cannot keep mounts to the lab", "")?;
    // A file system of the lab's own has the file. So it has no name outside, and is gone with the namespace.
    let place = std::env::temp_dir();
    let tmpfs = mount(Some("tmpfs"), &place, Some("tmpfs"), MsFlags::empty(), Some("mode=755"));
    tmpfs.during(format!("cannot mount a file system at {}", place.display()), "")?;
    let own = place.join("hosts");
    let written = fs::write(&own, text).during(format!("cannot write {}", own.display()), "");
    let mounted = written.and_then(|()| {
        mount(Some(&own), "/etc/hosts", none, MsFlags::MS_BIND, none).during("cannot name the hosts", "")
    });
    // The second mount keeps the file.
    umount2(&place, MntFlags::MNT_DETACH).during(format!("cannot unmount {}", place.display()), "")?;
    mounted
}

/// Lets this process end, by SIGKILL, when its parent ends.
///
/// # Errors
/// If the system does not allow it.
pub fn follow_parent() -> Result<(), LabError> {
    set_pdeathsig(Signal::SIGKILL).during("cannot follow the parent process", "")
}

/// Moves this process, which must have one thread, into the namespaces that these descriptors of its own are of, in
/// their order. One of users has to be the first.
///
/// # Errors
/// If the system does not allow it.
pub fn join_all(descriptors: &[i32]) -> Result<(), LabError> {
    for number in descriptors {
        let join =
            || setns(File::open(format!("/proc/self/fd/{number}"))?, CloneFlags::empty()).map_err(io::Error::from);
        join().during("cannot enter the lab's namespaces", "")?;
    }
    Ok(())
}

/// A network namespace.
#[derive(Debug)]
pub struct Namespace(File);

impl Namespace {
    /// Makes a new namespace.
    ///
    /// # Errors
    /// If the system does not allow it.
    pub fn new() -> io::Result<Namespace> {
        on_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            File::open("/proc/thread-self/ns/net").map(Namespace)
        })
    }

    /// Returns another descriptor of the namespace.
    pub(super) fn again(&self) -> io::Result<Namespace> {
        self.0.try_clone().map(Namespace)
    }

    /// Moves the calling thread into the namespace.
    ///
    /// # Errors
    /// If the system does not allow it.
    pub fn join(&self) -> io::Result<()> {
        Ok(setns(&self.0, CloneFlags::CLONE_NEWNET)?)
    }

    /// Calls `f` on a thread inside the namespace. Sockets and processes that it makes stay inside.
    ///
    /// # Errors
    /// Those of `f`, and if the namespace cannot be entered.
    pub fn within<T: Send>(&self, f: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        on_thread(|| {
            self.join()?;
            f()
        })
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn on_thread<T: Send>(f: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let failed = |_| Err(io::Error::other("a thread of the lab failed"));
    thread::scope(|scope| scope.spawn(f).join().unwrap_or_else(failed))
}
