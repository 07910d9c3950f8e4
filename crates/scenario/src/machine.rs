//! Memory of the machine.

use std::fs;

/// Bytes that this process may use: the lesser limit of the machine and its control group. `None` where the system does
/// not tell.
pub(crate) fn memory() -> Option<u64> {
    let group = read("/sys/fs/cgroup/memory.max").trim().parse().ok();
    [kib(&read("/proc/meminfo"), "MemTotal:"), group].into_iter().flatten().min()
}

/// Bytes of memory that are free now: the lesser of the machine's available memory and the control group's rest. `None`
/// where the system does not tell.
pub fn free_memory() -> Option<u64> {
    let number = |path: &str| read(path).trim().parse::<u64>().ok();
    let most = number("/sys/fs/cgroup/memory.max");
    let group = most.map(|most| most.saturating_sub(number("/sys/fs/cgroup/memory.current").unwrap_or(0)));
    [kib(&read("/proc/meminfo"), "MemAvailable:"), group].into_iter().flatten().min()
}

/// Bytes of address space that this process may still take, used or not. `None` without a limit.
pub(crate) fn address_space() -> Option<u64> {
    let limits = read("/proc/self/limits");
    let space = limits.lines().find_map(|line| line.strip_prefix("Max address space")?.split_whitespace().next());
    let taken = kib(&read("/proc/self/status"), "VmSize:").unwrap_or(0);
    space?.parse::<u64>().ok().map(|bytes| bytes.saturating_sub(taken))
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Reads the number of a key, in bytes.
fn kib(text: &str, key: &str) -> Option<u64> {
    let number = text.lines().find_map(|line| line.strip_prefix(key)?.strip_suffix("kB"))?;
    number.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn a_machine_has_some() {
        let all = super::memory().expect("Linux says");
        assert!(all > 1 << 20);
        assert!((1..all).contains(&super::free_memory().expect("Linux says")));
    }
}
