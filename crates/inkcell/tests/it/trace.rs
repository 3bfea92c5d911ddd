//! Runs the executable under strace: to see its calls, or to make one of them fail.

use std::collections::HashMap;

use inkcell_testkit::env::{CommandOutput, TestEnv, finish};

/// Every call by which a save touches files.
pub(crate) const FILE_CALLS: &str = "openat,read,write,pwrite64,lseek,fsync,fdatasync,syncfs,fchmod,\
    fchown,rename,renameat,renameat2,linkat,unlink,unlinkat,ftruncate,flock,close,fstat,newfstatat,statx,\
    flistxattr,fgetxattr,fsetxattr,mkdir,mkdirat,getdents64,copy_file_range,exit_group";

/// One call of the main thread.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// The number of the call among those with this name, from 1.
    pub(crate) nth: usize,
    /// The arguments and the result as strace shows them.
    pub(crate) line: String,
}

impl Call {
    /// The result of the call, if it is a number.
    pub(crate) fn result(&self) -> Option<i64> {
        self.line.rsplit_once(" = ")?.1.split(' ').next()?.parse().ok()
    }

    /// The first argument, if it is a number.
    pub(crate) fn fd(&self) -> Option<i64> {
        self.line.split([',', ')']).next()?.parse().ok()
    }
}

/// The calls of a command that must succeed, in order.
pub(crate) fn record(env: &TestEnv, args: &[&str], calls: &str) -> Vec<Call> {
    let log = env.outside("trace.log");
    let mut command = env.command("strace");
    command.arg("-qq").arg("-o").arg(&log).arg("-e").arg(format!("trace={}", known(calls)));
    command.arg(env.program()).args(args);
    finish(command, b"").ok();
    let text = std::fs::read_to_string(&log).expect("a log");
    let mut counts: HashMap<String, usize> = HashMap::new();
    text.lines()
        .filter_map(|line| {
            let (name, rest) = line.split_once('(')?;
            let nth = counts.entry(name.to_owned()).or_default();
            *nth += 1;
            Some(Call { name: name.to_owned(), nth: *nth, line: rest.to_owned() })
        })
        .collect()
}

/// Runs a command while one of its calls fails.
pub(crate) fn inject(env: &TestEnv, args: &[&str], fault: &str) -> CommandOutput {
    let call = fault.split(':').next().expect("a call");
    let mut command = env.command("strace");
    command.args(["-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e"]);
    command.arg(format!("inject={fault}")).arg(env.program()).args(args);
    finish(command, b"")
}

/// Marks the calls as optional, since this machine may not have all of them.
fn known(calls: &str) -> String {
    calls.split(',').map(|name| format!("?{name}")).collect::<Vec<_>>().join(",")
}
