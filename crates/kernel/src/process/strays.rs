//! Finds and ends processes that a kernel's cells started and that left its group.
//!
//! Owns the marks that identify them: a variable in their environment, which every program started
//! from a cell inherits, and the pipes and the channel, which a bare fork keeps. A process that sheds
//! both on purpose escapes. Only processes that began after the kernel are checked.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions};

use crate::event::{Stray, StrayFate};

/// The time a stray has to end after SIGTERM.
const GRACE: Duration = Duration::from_millis(500);

/// How many times to search for strays that other strays started.
const ROUNDS: usize = 10;

/// A kernel that lived longer may have seen process ids wrap around and pass its own again.
const LONG: Duration = Duration::from_secs(60);

/// How many times to read an empty environment of a process, a millisecond apart.
const LOOKS: usize = 5;

/// The mark on the processes of one kernel.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    value: String,
    leader: u32,
    inodes: Vec<u64>,
    born: Instant,
}

impl Mark {
    /// The variable in the environment of everything a kernel starts.
    pub(crate) const VARIABLE: &str = "INKCELL_KERNEL";

    pub(crate) fn new(leader: u32, inodes: &[u64]) -> io::Result<Mark> {
        let mut bytes = [0u8; 8];
        rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())?;
        let value = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Mark { value, leader, inodes: inodes.to_vec(), born: Instant::now() })
    }

    pub(crate) fn with_leader(self, leader: u32) -> Mark {
        Mark { leader, ..self }
    }

    pub(crate) fn value(&self) -> &str {
        &self.value
    }

    /// Ends the strays of a kernel that has ended, and reports the fate of each.
    pub(crate) async fn end_strays(&self) -> Vec<Stray> {
        let mut strays = self.find_beside().await;
        if strays.is_empty() {
            return Vec::new();
        }
        for (pid, _) in &strays {
            let _ = rustix::process::kill_process(*pid, Signal::TERM);
        }
        wait_for_end(&strays).await;
        for _ in 0..ROUNDS {
            for (pid, _) in strays.iter().filter(|(pid, _)| is_running(*pid)) {
                let _ = rustix::process::kill_process(*pid, Signal::KILL);
            }
            wait_for_end(&strays).await;
            // Until its end, each stray could start more.
            let mut more = self.find_beside().await;
            more.retain(|(pid, _)| strays.iter().all(|(known, _)| known != pid));
            if more.is_empty() {
                break;
            }
            strays.append(&mut more);
        }
        let stray = |(pid, program): (Pid, String)| {
            let fate = if is_running(pid) { StrayFate::Alive } else { StrayFate::Ended };
            Stray { pid: pid.as_raw_nonzero().get().unsigned_abs(), program, fate }
        };
        strays.into_iter().map(stray).collect()
    }

    /// Searches on a blocking thread: reading all processes of the machine takes time.
    async fn find_beside(&self) -> Vec<(Pid, String)> {
        let mark = self.clone();
        let found = tokio::task::spawn_blocking(move || mark.find()).await;
        // A runtime that shuts down takes no more work.
        found.unwrap_or_else(|_| self.find())
    }

    fn find(&self) -> Vec<(Pid, String)> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let me = std::process::id();
        let has_wrapped =
            self.born.elapsed() > LONG || last_pid().is_none_or(|last| last < self.leader);
        let mut pids = BTreeSet::new();
        for entry in entries.flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let pid: u32 = pid;
            if pid != me && pid != self.leader && (pid > self.leader || has_wrapped) {
                pids.insert(pid);
            }
        }
        let own_program = fs::read_link("/proc/self/exe").ok();
        let mut found = Vec::new();
        for pid in pids {
            // A child of ours between fork and exec holds everything we hold. Before exec its program is still
            // this one, and after exec it has let go of everything. So check the program first, and check what
            // it holds twice, in case the first check hit the middle of exec.
            let is_ours = || fs::read_link(format!("/proc/{pid}/exe")).ok() == own_program;
            let holds = || !is_ours() && self.holds_a_wire(pid) && self.holds_a_wire(pid);
            if (self.is_in_environment(pid) || holds())
                && let Some(raw) = i32::try_from(pid).ok().and_then(Pid::from_raw)
            {
                found.push((raw, program(pid)));
            }
        }
        found
    }

    fn is_in_environment(&self, pid: u32) -> bool {
        let wanted = format!("{}={}", Mark::VARIABLE, self.value);
        // In the middle of exec a process has let go of its pipes and has no environment yet. A zombie and a
        // program without variables have none either, so the wait is short.
        for _ in 0..LOOKS {
            let Ok(environ) = fs::read(format!("/proc/{pid}/environ")) else { return false };
            if !environ.is_empty() || fs::read_link(format!("/proc/{pid}/exe")).is_err() {
                return environ.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    }

    fn holds_a_wire(&self, pid: u32) -> bool {
        let Ok(fds) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
        fds.flatten().any(|fd| {
            let Ok(target) = fs::read_link(fd.path()) else { return false };
            let target = target.as_os_str().as_bytes();
            let inode = target.strip_prefix(b"pipe:[").or(target.strip_prefix(b"socket:["));
            let inode = inode.and_then(|rest| rest.strip_suffix(b"]"));
            let inode = inode.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
            inode.is_some_and(|inode: u64| self.inodes.contains(&inode))
        })
    }
}

/// The id of the latest process of the system.
fn last_pid() -> Option<u32> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().nth(4)?.parse().ok()
}

/// Waits until none of them runs, for at most [`GRACE`].
async fn wait_for_end(strays: &[(Pid, String)]) {
    let deadline = Instant::now() + GRACE;
    while Instant::now() < deadline && strays.iter().any(|(pid, _)| is_running(*pid)) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Checks that it runs and has not become a zombie. Orphans of a kernel become our children; this takes their status.
fn is_running(pid: Pid) -> bool {
    let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
    let Ok(stat) = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())) else {
        return false;
    };
    let state = stat.rsplit(')').next().unwrap_or("").trim_start();
    !state.starts_with(['Z', 'X'])
}

fn program(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-010: process ids wrap around, so a stray may have a lower id than its kernel.
    #[tokio::test]
    async fn a_stray_with_a_lower_number_is_found() {
        let mark = Mark::new(u32::MAX, &[]).expect("a mark");
        let mut sleep = std::process::Command::new("sleep");
        let mut child =
            sleep.arg("600").env(Mark::VARIABLE, mark.value()).spawn().expect("a process");
        let strays = mark.end_strays().await;
        let _ = child.kill();
        let _ = child.wait();
        let [stray] = &strays[..] else { panic!("{strays:?}") };
        assert_eq!((stray.pid, stray.fate), (child.id(), StrayFate::Ended));
    }
}
