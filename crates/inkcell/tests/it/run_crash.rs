//! A run that is killed, or whose disk fails, at every system call that touches files.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use inkcell_testkit::env::{CommandOutput, TestEnv, finish};
use inkcell_testkit::need;
use inkcell_testkit::wait::until;
use rustix::process::Signal;
use serde_json::Value;

use crate::env;
use crate::notebook_runs::{notebook, ran, run};
use crate::running::Running;
use crate::trace::FILE_CALLS;

const CELLS: usize = 5;

/// How outputs are made safe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// The file is replaced after every cell.
    Saves,
    /// A replacement takes so long that outputs go into the journal, and the file comes last.
    Journal,
}

impl Way {
    /// Makes a save slow: the call that puts the new content in place is delayed.
    fn slow_down(self, command: &mut Command) {
        if self == Way::Journal {
            command.args(["-e", "inject=?renameat:delay_enter=60000"]);
        }
    }
}

/// A notebook whose cells record their start, independent of any file that inkcell writes. The state folder has
/// been used before, as is usual: it is that of another environment.
fn book(used: Option<&TestEnv>) -> (TestEnv, Vec<String>) {
    let env = env();
    let source = |at| format!("_ = open('log', 'a').write('{at}\\n')\nprint('shown by {at}')");
    let sources: Vec<String> = (0..CELLS).map(source).collect();
    if let Some(used) = used {
        let mut copy = env.command("cp");
        copy.arg("-a").arg(used.state()).arg(env.state());
        finish(copy, b"").ok();
    }
    let texts: Vec<&str> = sources.iter().map(String::as_str).collect();
    env.put("nb.ipynb", notebook(&texts));
    (env, sources)
}

/// An environment in which a notebook was run before.
fn used() -> TestEnv {
    let (env, _) = book(None);
    ran(&env, &["nb.ipynb"]).ok();
    env
}

/// The calls by which the runtime waits for work.
const WAITS: &str = "?epoll_wait,?epoll_pwait";

/// The run under strace. strace detaches from children when they become another program.
///
/// Work on files goes to a pool of threads, and strace counts the calls of each thread by itself. The pool starts a
/// second thread if it gets work before the first thread is idle. So waking the runtime is slowed down: the first
/// thread does all the work, and a number names the same call in every run.
fn traced(env: &TestEnv, calls: &str, more: impl FnOnce(&mut Command)) -> CommandOutput {
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let mut command = env.command("strace");
    command.args(["-f", "-b", "execve", "-qq"]).env("INKCELL_PYTHON_INTERPRETER", python);
    command.arg("-e").arg(format!("trace={calls},{WAITS}"));
    command.arg("-e").arg(format!("inject={WAITS}:delay_exit=2000"));
    more(&mut command);
    command.arg(env.program()).args(["run", "nb.ipynb"]);
    finish(command, b"")
}

/// The calls by which the run works on files, each by its name and its number among those of the same name in its
/// thread. A fault hits the first thread that reaches a number, so a call counts if its thread is that one: mostly
/// the calls of the later cells. On a very busy machine the pool may have more than one thread after all; the calls
/// of each of them count.
fn calls(way: Way, used: &TestEnv) -> Vec<(String, usize)> {
    let (env, _) = book(Some(used));
    let log = env.outside("trace.log");
    let names: Vec<String> = FILE_CALLS.split(',').map(|name| format!("?{name}")).collect();
    traced(&env, &names.join(","), |command| {
        command.arg("-o").arg(&log);
        way.slow_down(command);
    })
    .ok();
    let text = std::fs::read_to_string(&log).expect("a log");
    let mut counts: HashMap<(&str, &str), usize> = HashMap::new();
    let mut found: Vec<(&str, &str, usize)> = Vec::new();
    let mut workers: HashSet<&str> = HashSet::new();
    for line in text.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        // A resumed call was counted when it began.
        let Some((name, rest)) = call.trim_start().split_once('(') else { continue };
        if name == "exit_group" || !FILE_CALLS.split(',').any(|known| known == name) {
            continue;
        }
        let nth = counts.entry((thread, name)).or_default();
        *nth += 1;
        found.push((thread, name, *nth));
        if rest.contains("/runs/") {
            workers.insert(thread);
        }
    }
    assert!(!workers.is_empty(), "the run takes its record");
    let mut reached: HashMap<&str, usize> = HashMap::new();
    let mut own = Vec::new();
    for (thread, name, nth) in found {
        let reached = reached.entry(name).or_default();
        if nth <= *reached {
            continue;
        }
        *reached = nth;
        // With the journal, a rename is slow already.
        if workers.contains(thread) && (way == Way::Saves || name != "renameat") {
            own.push((name.to_owned(), nth));
        }
    }
    own
}

/// Returns which cells of the file have outputs. Checks that it is a notebook with the same sources, and that the
/// outputs are their own.
fn shown(env: &TestEnv, sources: &[String], when: &str) -> Vec<bool> {
    let bytes = env.get("nb.ipynb");
    let notebook: Value =
        serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{when}: {error}"));
    let cells = notebook["cells"].as_array().unwrap_or_else(|| panic!("{when}: {notebook}"));
    assert_eq!(cells.len(), CELLS, "{when}");
    let one = |(at, cell): (usize, &Value)| {
        assert_eq!(cell["source"], sources[at].as_str(), "{when}");
        let text = cell["outputs"][0]["text"][0].as_str();
        assert!(text.is_none_or(|text| text == format!("shown by {at}\n")), "{when}: {cell}");
        text.is_some()
    };
    cells.iter().enumerate().map(one).collect()
}

/// How often each cell began.
fn begun(env: &TestEnv) -> BTreeMap<usize, usize> {
    let log = std::fs::read_to_string(env.path("log")).unwrap_or_default();
    let mut times = BTreeMap::new();
    for at in log.lines().filter_map(|line| line.parse().ok()) {
        *times.entry(at).or_default() += 1;
    }
    times
}

/// Runs the notebook with a fault and checks the files afterwards. Returns whether the fault occurred.
fn check(way: Way, fault: &str, used: &TestEnv) -> bool {
    let (env, sources) = book(Some(used));
    let call = fault.split(':').next().expect("a call");
    let hurt = traced(&env, &format!("{call},?renameat"), |command| {
        command.args(["-o", "/dev/null", "-e", &format!("inject={fault}")]);
        way.slow_down(command);
    });
    let when = format!("{way:?} with {fault}: {:?} {}", hurt.code, hurt.stderr);
    let is_kill = fault.contains("signal=KILL");
    assert!(!hurt.stderr.contains("panicked"), "{when}");
    assert!(hurt.signal.is_none_or(|signal| is_kill && signal == 9), "{when}");
    let before = shown(&env, &sources, &when);
    if hurt.code == Some(0) {
        assert_eq!(before, [true; CELLS], "it said that all is well: {when}");
    } else if !is_kill {
        assert!(hurt.stderr.contains("error: "), "{when}");
    }
    // The next command merges the outputs that are missing from the file, and says so. After that, every begun cell
    // but the last has its outputs.
    let read = env.run(&["read", "nb.ipynb"]);
    assert_eq!(read.code, Some(0), "{when}, then {read:?}");
    let after = shown(&env, &sources, &when);
    let is_told = (read.stdout + &read.stderr).contains("an earlier run was cut off");
    assert_eq!(after != before, is_told, "{when}");
    let last = begun(&env).keys().max().copied().unwrap_or(0);
    assert!(after[..last].iter().all(|is_there| *is_there), "{after:?} of {last} after {when}");
    // The run goes on: at most the running cell is run again.
    let resumed = ran(&env, &["nb.ipynb", "--resume"]);
    assert_eq!(resumed.code, Some(0), "{when}, then {resumed:?}");
    assert_eq!(shown(&env, &sources, &when), [true; CELLS], "{when}, then {resumed:?}");
    let times = begun(&env);
    assert!(times.values().sum::<usize>() <= CELLS + 1, "{times:?} after {when}");
    assert_eq!(env.names(), ["log", "nb.ipynb"], "{when}");
    !is_kill || hurt.signal.is_some()
}

/// F-078: the run is killed at every call, and every call fails with a disk error or a full disk. The file is a
/// whole notebook, only the running cell is lost, the next command reports what it merged, and the run goes on
/// where it was.
#[test]
fn a_run_survives_a_fault_at_every_call() {
    if !need::strace("a_run_survives_a_fault_at_every_call") {
        return;
    }
    let used = used();
    let mut cases: Vec<(Way, String)> = Vec::new();
    for way in [Way::Saves, Way::Journal] {
        let calls = calls(way, &used);
        for needed in ["openat", "write", "fsync", "unlink"] {
            assert!(calls.iter().any(|(name, _)| name == needed), "{way:?} does not {needed}");
        }
        let by = if way == Way::Saves { "renameat" } else { "fdatasync" };
        assert!(calls.iter().any(|(name, _)| name == by), "{way:?} does not {by}");
        for (at, (name, nth)) in calls.into_iter().enumerate() {
            cases.push((way, format!("{name}:signal=KILL:when={nth}")));
            // A failing close leaves nothing to be done about it. By writing, threads also wake each other, and no
            // disk makes that fail; full disks are tested with real ones.
            if name != "close" && name != "write" {
                let error = if at % 2 == 0 { "EIO" } else { "ENOSPC" };
                cases.push((way, format!("{name}:error={error}:when={nth}")));
            }
        }
    }
    assert!(cases.len() > 200, "only {} cases were found", cases.len());
    let stride = need::stride(17, 5) as usize;
    let (next, missed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((way, fault)) = cases.get(next.fetch_add(stride, Ordering::Relaxed))
                {
                    if !check(*way, fault, &used) {
                        missed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let missed = missed.into_inner();
    assert!(
        missed * 4 < cases.len() / stride,
        "{missed} faults of {} never came",
        cases.len() / stride
    );
}

/// Issue 21, 2: a run is killed at every event, while writes to the disk are slow. Output that an event calls kept
/// or saved survives.
#[test]
fn what_an_event_calls_safe_is_safe() {
    if !need::strace("what_an_event_calls_safe_is_safe") {
        return;
    }
    let used = used();
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    for way in [Way::Saves, Way::Journal] {
        // One event for the beginning of each cell and one for its end, and one for the end of the run.
        for last in 1..=2 * CELLS + 1 {
            let (env, sources) = book(Some(&used));
            let mut command = env.command("strace");
            // With -D the child is the program, which is to be killed, and not strace.
            command.args(["-D", "-f", "-b", "execve", "-qq", "-o", "/dev/null"]);
            command.args(["-e", "trace=?fsync,?fdatasync,?renameat"]);
            command.args(["-e", "inject=?fsync,?fdatasync:delay_enter=50000"]);
            way.slow_down(&mut command);
            command.arg(env.program()).args(["run", "nb.ipynb", "--json"]);
            command.env("INKCELL_PYTHON_INTERPRETER", &python);
            let mut running = Running::start(command);
            let mut safe = [false; CELLS];
            for _ in 0..last {
                let event: Value = serde_json::from_str(&running.line()).expect("an event");
                if event["event"] == "cell_finished" {
                    assert_ne!(event["written"], "not_yet", "{event}");
                    assert_eq!(event["outputs"], 1, "{event}");
                    let at = event["index"].as_u64().expect("an index") as usize;
                    safe[at] = true;
                }
            }
            running.signal(Signal::KILL);
            running.end();
            env.run(&["read", "nb.ipynb"]).ok();
            let there = shown(&env, &sources, &format!("{way:?} after event {last}"));
            let is_lost = safe.iter().zip(&there).any(|(said, there)| *said && !there);
            assert!(!is_lost, "{way:?} after event {last}: {safe:?} was said, {there:?} is there");
        }
    }
}

/// F-078, F-027: killed in each of the cells. The cells before it are in the file, and the run goes on with it at
/// once: it does not wait for the dead process.
#[test]
fn a_run_that_is_killed_in_any_cell_goes_on_there() {
    let used = used();
    for at in 0..CELLS {
        let (env, mut sources) = book(Some(&used));
        // The cell waits the first time, and not once the test has made the file.
        let wait = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.005)";
        sources[at] = format!("open('at', 'w').close()\n{wait}\n{}", sources[at]);
        let texts: Vec<&str> = sources.iter().map(String::as_str).collect();
        env.put("nb.ipynb", notebook(&texts));
        let running = Running::start(run(&env, &["nb.ipynb"]));
        until("the file at", || env.path("at").exists());
        running.signal(Signal::KILL);
        running.end();
        let before: Vec<bool> = (0..CELLS).map(|cell| cell < at).collect();
        // If saves are slow, outputs wait in the journal, and the next command merges them.
        env.run(&["read", "nb.ipynb"]).ok();
        assert_eq!(shown(&env, &sources, &format!("killed in {at}")), before);
        env.put("go", "");
        let resumed = ran(&env, &["nb.ipynb", "--resume"]).ok();
        assert!(resumed.stdout.contains(&format!("Ran {} in", counted(CELLS - at))), "{resumed:?}");
        assert_eq!(shown(&env, &sources, "resumed"), [true; CELLS]);
    }
}

/// F-027: a cell that had ended well before, and was killed when it ran again, is not fresh: a run of stale cells
/// includes it, even if it uses nothing of the others.
#[test]
fn a_cell_that_was_cut_off_is_stale() {
    let env = env();
    let half = "import os, time\nopen('part', 'w').write('half')\nwhile os.path.exists('hold'): time.sleep(0.005)\n\
                open('part', 'w').write('whole')";
    env.put("nb.ipynb", notebook(&["a = 1", half, "print(a)"]));
    ran(&env, &["nb.ipynb"]).ok();
    env.put("hold", "");
    let part = || std::fs::read_to_string(env.path("part")).unwrap_or_default();
    let running = Running::start(run(&env, &["nb.ipynb"]));
    until("half of the output", || part() == "half");
    running.signal(Signal::KILL);
    running.end();
    std::fs::remove_file(env.path("hold")).unwrap();
    let outline = env.run(&["read", "nb.ipynb", "--outline"]).ok().stdout;
    assert!(outline.contains("cut off"), "{outline}");
    ran(&env, &["nb.ipynb", "--cells", "stale"]).ok();
    assert_eq!(part(), "whole");
    let outline = env.run(&["read", "nb.ipynb", "--outline"]).ok().stdout;
    assert_eq!(outline.matches(" fresh ").count(), 3, "{outline}");
}

fn counted(cells: usize) -> String {
    if cells == 1 { "1 cell".to_owned() } else { format!("{cells} cells") }
}
