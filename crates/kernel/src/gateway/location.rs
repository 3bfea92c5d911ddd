//! The location of a kernel on a gateway: this machine, or another one.
//!
//! Owns the questions by which a kernel proves where it runs. One that does not prove to be here
//! counts as elsewhere, and gets nothing of this machine.

use crate::gateway::local_process::ProcessClaim;

/// Location of the kernels of a gateway.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GatewayLocation {
    /// On this machine, with the same folders.
    Here,
    /// On another machine, or without the folders of this one.
    Elsewhere,
    /// Unknown. A kernel is asked, and counts as elsewhere unless it proves to be here.
    Unknown,
}

/// Expression by which a kernel describes its location: process, start time, machine, process
/// namespace, interpreter.
pub(crate) const WHERE: &str = "(lambda os, sys: '|'.join([str(os.getpid()), \
    open('/proc/self/stat').read().rpartition(')')[2].split()[19], \
    open('/proc/sys/kernel/random/boot_id').read().strip(), os.readlink('/proc/self/ns/pid'), \
    sys.executable]) if os.path.exists('/proc/self/ns/pid') else '||||' + sys.executable)\
    (__import__('os'), __import__('sys'))";

/// Expression for a kernel that may see the files of this machine: boot of the machine, file
/// system, user.
pub(crate) const WHOSE: &str = "(lambda os: '|'.join([\
    open('/proc/sys/kernel/random/boot_id').read().strip(), os.readlink('/proc/self/ns/mnt'), \
    str(os.geteuid())]) if os.path.exists('/proc/self/ns/mnt') else '')(__import__('os'))";

/// Reads the answer to [`WHOSE`]. A kernel of another user counts as elsewhere and gets nothing of
/// ours.
pub(crate) fn locate(shown: &str) -> GatewayLocation {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let files = std::fs::read_link("/proc/self/ns/mnt").unwrap_or_default();
    let user = rustix::process::geteuid().as_raw();
    let ours = format!("{}|{}|{user}", boot.trim(), files.display());
    let is_known = !boot.trim().is_empty() && !files.as_os_str().is_empty();
    let is_here = is_known && shown.trim_matches(['\'', '"']) == ours;
    if is_here { GatewayLocation::Here } else { GatewayLocation::Elsewhere }
}

/// Reads the answer to [`WHERE`]: the process, if it is visible here, and the interpreter.
pub(crate) fn parse_process_claim(shown: &str, ours: &Namespace) -> (Option<ProcessClaim>, String) {
    let shown = shown.trim_matches(['\'', '"']);
    let mut parts = shown.splitn(5, '|');
    let mut part = || parts.next().unwrap_or("");
    let (pid, began, boot) = (part(), part(), part());
    let (namespace, executable) = (part(), part());
    let is_ours = !boot.is_empty() && boot == ours.boot && namespace == ours.pids;
    let claim = pid.parse().ok().map(|pid| ProcessClaim { pid, began: began.to_owned() });
    (claim.filter(|_| is_ours), executable.to_owned())
}

/// The process namespace of this process, which decides which processes it sees.
pub(crate) struct Namespace {
    boot: String,
    pids: String,
}

impl Namespace {
    pub(crate) fn ours() -> Namespace {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let pids = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        Namespace { boot: boot.trim().to_owned(), pids: pids.display().to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S-022: a kernel that does not prove to be here counts as elsewhere, and gets nothing of
    /// ours.
    #[test]
    fn a_place_is_proven() {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let files = std::fs::read_link("/proc/self/ns/mnt").unwrap();
        let user = rustix::process::geteuid().as_raw();
        let shown = |user: u32| format!("'{}|{}|{user}'", boot.trim(), files.display());
        assert_eq!(locate(&shown(user)), GatewayLocation::Here);
        for other in [shown(user + 1), String::new(), "''".to_owned(), "'||0'".to_owned()] {
            assert_eq!(locate(&other), GatewayLocation::Elsewhere, "{other}");
        }
    }

    /// S-022: only a visible process has a process id that we may use.
    #[test]
    fn a_process_is_ours_only_on_our_machine() {
        let ours = Namespace { boot: "b".to_owned(), pids: "pid:[1]".to_owned() };
        let check = |shown: &str, wanted: (Option<u32>, &str)| {
            let (claim, executable) = parse_process_claim(shown, &ours);
            let pid = claim.map(|ProcessClaim { pid, began }| (pid, began));
            let wanted = (wanted.0.map(|pid| (pid, "99".to_owned())), wanted.1);
            assert_eq!((pid, executable.as_str()), wanted, "{shown}");
        };
        check("'12|99|b|pid:[1]|/usr/bin/py'", (Some(12), "/usr/bin/py"));
        check("'12|99|other|pid:[1]|/usr/bin/py'", (None, "/usr/bin/py"));
        check("'12|99|b|pid:[2]|/usr/bin/py'", (None, "/usr/bin/py"));
        check("'||||C:/py'", (None, "C:/py"));
        check("", (None, ""));
    }
}
