//! Returns memory of this process to the system, and counts how often the system ran out.

/// Larger blocks come straight from the system, and return to it when freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BYTES: i32 = 128 << 10;

/// Makes freed large blocks go back to the system from now on. The allocator would otherwise learn from the first of
/// them to keep the next: tens of megabytes for each thread that ever had one.
#[allow(unsafe_code, reason = "the allocator has no safe door")]
pub fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the calls take numbers, and the allocator locks what it touches.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, LARGE_BYTES);
    }
}

/// Returns the free memory between small blocks to the system. The allocator keeps it otherwise: each thread that built
/// a notebook of many small outputs would hold as much again.
#[allow(unsafe_code, reason = "the allocator has no safe door")]
pub fn return_free_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call takes a number, and the allocator locks what it touches.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// How often the system has ended a process because memory ran out: in our own control group if the system counts that,
/// else anywhere.
pub(crate) fn oom_kills() -> u64 {
    let count = |text: String, name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    let group = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = group.lines().find_map(|line| line.strip_prefix("0::/"));
    let own = group.and_then(|group| {
        std::fs::read_to_string(format!("/sys/fs/cgroup/{group}/memory.events")).ok()
    });
    own.and_then(|text| count(text, "oom_kill "))
        .or_else(|| count(std::fs::read_to_string("/proc/vmstat").ok()?, "oom_kill "))
        .unwrap_or(0)
}
