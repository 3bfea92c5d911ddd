//! A save that is killed, or fails, at every one of its system calls.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use inkcell_testkit::env::{CommandOutput, TestEnv, finish};
use inkcell_testkit::need;
use inkcell_testkit::notebooks::small;

use crate::env;
use crate::trace::{self, Call};

/// A command that saves, its preparation, and a later command.
struct Scenario {
    name: &'static str,
    args: &'static [&'static str],
    /// The notebook before; none if the command creates it.
    old: Option<String>,
    later: &'static [&'static str],
    /// The files that may be in the folder at the end.
    names: &'static [&'static str],
}

fn scenarios() -> Vec<Scenario> {
    const EDIT: &[&str] = &["edit", "nb.ipynb", "replace", "aaaa1111", "--source", "z = 26"];
    const BACKUP: &[&str] =
        &["edit", "nb.ipynb", "replace", "aaaa1111", "--source", "z = 26", "--backup"];
    const LATER: &[&str] = &["edit", "nb.ipynb", "replace", "bbbb2222", "--source", "later"];
    const NEW: &[&str] = &["new", "nb.ipynb"];
    const LATER_NEW: &[&str] = &["write", "nb.ipynb"];
    vec![
        Scenario {
            name: "edit",
            args: EDIT,
            old: Some(small()),
            later: LATER,
            names: &["nb.ipynb"],
        },
        Scenario {
            name: "backup",
            args: BACKUP,
            old: Some(small()),
            later: LATER,
            names: &["nb.ipynb", "nb.ipynb.bak"],
        },
        Scenario { name: "new", args: NEW, old: None, later: LATER_NEW, names: &["nb.ipynb"] },
    ]
}

const BYSTANDERS: [(&str, &str); 3] = [
    ("other.ipynb", "{\"cells\": []}"),
    (".inkcell-notes.tmp", "not one of ours"),
    ("nb.ipynb~", "an editor's backup"),
];

impl Scenario {
    fn env(&self) -> TestEnv {
        let env = env();
        for (name, text) in BYSTANDERS {
            env.put(name, text);
        }
        // The state folder has been used before, as is usual.
        env.run(&["read", "other.ipynb"]).ok();
        if let Some(old) = &self.old {
            env.put("nb.ipynb", old);
            env.run(&["read", "nb.ipynb"]).ok();
        }
        env
    }

    /// The content that the command writes if nothing goes wrong.
    fn new_bytes(&self) -> Vec<u8> {
        let env = self.env();
        env.run(self.args).ok();
        env.get("nb.ipynb")
    }

    /// The calls of the save, from the one that opens its lock.
    fn calls(&self) -> Vec<Call> {
        let env = self.env();
        let calls = trace::record(&env, self.args, trace::FILE_CALLS);
        let start = calls.iter().position(|call| call.line.contains("/locks/"));
        let start = start.expect("the save takes a lock");
        assert!(calls[start..].iter().any(|call| call.name.starts_with("rename")), "it renames");
        calls[start..].iter().filter(|call| call.name != "exit_group").cloned().collect()
    }

    /// Runs the command with a fault and checks the files afterwards. Returns whether the fault occurred: a file
    /// that is some milliseconds older is checked with fewer calls.
    fn check(&self, fault: &str, new: &[u8]) -> bool {
        let env = self.env();
        let ran = trace::inject(&env, self.args, fault);
        let shown = format!("{} with {fault}: {ran:?}", self.name);
        assert!(!ran.stderr.contains("panicked"), "{shown}");
        let is_kill = fault.contains("signal=KILL");
        assert!(ran.signal.is_none_or(|signal| is_kill && signal == 9), "{shown}");
        self.check_files(&env, &ran, new, &shown);
        let later = match self.old {
            Some(_) => env.run(self.later),
            None if env.path("nb.ipynb").exists() => env.run(&["new", "nb.ipynb"]),
            None => env.run_with(self.later, "# %% [raw]\nlater"),
        };
        let expected = if self.old.is_none() && later.code == Some(4) { Some(4) } else { Some(0) };
        assert_eq!(later.code, expected, "the next one after {shown}: {later:?}");
        let names = env.names();
        let ours = |name: &&String| !BYSTANDERS.iter().any(|(other, _)| other == name);
        for name in names.iter().filter(ours) {
            assert!(self.names.contains(&name.as_str()), "{name} is left after {shown}");
        }
        check_bystanders(&env, &shown);
        !is_kill || ran.signal.is_some()
    }

    fn check_files(&self, env: &TestEnv, ran: &CommandOutput, new: &[u8], shown: &str) {
        let now = std::fs::read(env.path("nb.ipynb")).ok();
        let is_old = now.as_deref() == self.old.as_deref().map(str::as_bytes);
        let is_new = now.as_deref() == Some(new);
        assert!(is_old || is_new, "neither old nor new after {shown}");
        if ran.code == Some(0) {
            assert!(is_new, "success was reported, but it is not new after {shown}");
        }
        if let Ok(backup) = std::fs::read(env.path("nb.ipynb.bak")) {
            assert_eq!(
                Some(backup),
                self.old.clone().map(String::into_bytes),
                "the backup after {shown}"
            );
        }
        check_bystanders(env, shown);
    }
}

fn check_bystanders(env: &TestEnv, shown: &str) {
    for (name, text) in BYSTANDERS {
        assert_eq!(env.get(name), text.as_bytes(), "{name} was touched by {shown}");
    }
}

/// F-060: killed at every call, and every call failing with a disk error or with a full disk.
#[test]
fn a_save_survives_a_fault_at_every_call() {
    if !need::strace("a_save_survives_a_fault_at_every_call") {
        return;
    }
    let scenarios = scenarios();
    let mut cases: Vec<(&Scenario, String)> = Vec::new();
    for scenario in &scenarios {
        for call in scenario.calls() {
            let (name, when) = (&call.name, call.nth);
            cases.push((scenario, format!("{name}:signal=KILL:when={when}")));
            cases.push((scenario, format!("{name}:error=EIO:when={when}")));
            cases.push((scenario, format!("{name}:error=ENOSPC:when={when}")));
        }
    }
    assert!(cases.len() > 300, "only {} cases were found", cases.len());
    let news: Vec<(&str, Vec<u8>)> =
        scenarios.iter().map(|one| (one.name, one.new_bytes())).collect();
    // Three faults a call: a stride of two or four tries each of them at different calls.
    let stride = need::stride(4, 2) as usize;
    let (next, missed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((scenario, fault)) =
                    cases.get(next.fetch_add(stride, Ordering::Relaxed))
                {
                    let new = news.iter().find(|(name, _)| *name == scenario.name);
                    if !scenario.check(fault, &new.expect("every scenario has one").1) {
                        missed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let missed = missed.into_inner();
    assert!(
        missed * 10 < cases.len() / stride,
        "{missed} faults of {} never came",
        cases.len() / stride
    );
}

/// F-084: a rename that a file system refuses leaves the old file and nothing beside it.
#[test]
fn a_rename_that_is_refused_is_an_error() {
    if !need::strace("a_rename_that_is_refused_is_an_error") {
        return;
    }
    for error in ["EXDEV", "EBUSY", "EPERM", "ESTALE"] {
        for scenario in scenarios() {
            let env = scenario.env();
            let rename = scenario.calls().into_iter().find(|call| call.name.starts_with("rename"));
            let rename = rename.expect("it renames");
            let fault = format!("{}:error={error}:when={}", rename.name, rename.nth);
            let ran = trace::inject(&env, scenario.args, &fault);
            assert!(ran.code.is_some_and(|code| code != 0), "{fault}: {ran:?}");
            assert!(
                ran.stderr.contains("cannot put the new content in its place"),
                "{}",
                ran.stderr
            );
            assert_eq!(std::fs::read_to_string(env.path("nb.ipynb")).ok(), scenario.old);
            assert_eq!(temp_files(&env.dir()), [".inkcell-notes.tmp"]);
        }
    }
}

/// F-084: a file system that cannot sync a folder, or rename without replacing, still works.
#[test]
fn what_some_file_systems_lack_is_made_do_with() {
    if !need::strace("what_some_file_systems_lack_is_made_do_with") {
        return;
    }
    let scenarios = scenarios();
    for error in ["EINVAL", "EOPNOTSUPP"] {
        let edit = &scenarios[0];
        let env = edit.env();
        trace::inject(&env, edit.args, &format!("fsync:error={error}:when=2")).ok();
        assert_eq!(env.get("nb.ipynb"), edit.new_bytes());
    }
    for error in ["EINVAL", "ENOSYS"] {
        let new = &scenarios[2];
        let env = new.env();
        trace::inject(&env, new.args, &format!("renameat2:error={error}")).ok();
        assert_eq!(env.get("nb.ipynb"), new.new_bytes());
        assert_eq!(temp_files(&env.dir()), [".inkcell-notes.tmp"]);
        // The check that nothing is replaced works there, too.
        let again = trace::inject(&env, new.args, &format!("renameat2:error={error}"));
        again.exits(4);
    }
}

/// F-084: if only the last step fails, the answer says that the content is in place.
#[test]
fn a_folder_that_cannot_be_synced_is_told_as_it_is() {
    if !need::strace("a_folder_that_cannot_be_synced_is_told_as_it_is") {
        return;
    }
    let edit = &scenarios()[0];
    let env = edit.env();
    let ran = trace::inject(&env, edit.args, "fsync:error=EIO:when=2").exits(70);
    assert!(ran.stderr.contains("survives a power cut (it is in place)"), "{}", ran.stderr);
    assert_eq!(env.get("nb.ipynb"), edit.new_bytes());
    let env = edit.env();
    let ran = trace::inject(&env, edit.args, "fsync:error=EIO:when=1").exits(70);
    assert!(ran.stderr.contains("cannot write the new content to disk"), "{}", ran.stderr);
    assert_eq!(env.get("nb.ipynb"), small().into_bytes());
}

/// F-060: a killed writer does not keep others out.
#[test]
fn a_killed_writer_does_not_keep_others_out() {
    if !need::strace("a_killed_writer_does_not_keep_others_out") {
        return;
    }
    let edit = &scenarios()[0];
    let env = edit.env();
    let rename =
        edit.calls().into_iter().find(|call| call.name.starts_with("rename")).expect("a rename");
    trace::inject(&env, edit.args, &format!("{}:signal=KILL:when={}", rename.name, rename.nth));
    assert_eq!(temp_files(&env.dir()).len(), 2, "it was killed with its file in place");
    let mut next = env.inkcell();
    next.args(edit.later);
    // A lock held by a dead process would cause a wait, and then an error.
    finish(next, b"").ok();
    assert_eq!(temp_files(&env.dir()), [".inkcell-notes.tmp"]);
}

fn temp_files(folder: &Path) -> Vec<String> {
    let names = inkcell_testkit::env::names_in(folder);
    names.into_iter().filter(|name| name.ends_with(".tmp")).collect()
}
