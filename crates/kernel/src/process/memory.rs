//! The memory of this process.

/// Larger blocks are the system's own: they go back to it when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BYTES: i32 = 1 << 20;

/// From now on, large blocks that are freed go back to the system. The allocator would otherwise learn from the first
/// of them to keep the next: tens of megabytes for each thread that ever had one.
#[allow(unsafe_code, reason = "the allocator has no safe door")]
pub fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the calls take numbers, and the allocator locks what it touches.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, LARGE_BYTES);
    }
}
