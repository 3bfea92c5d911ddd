//! Checks after every test that it left nothing behind; the test itself does nothing for this.
//!
//! Owns the mark that every process of a test carries in its environment, whichever process started it,
//! and the search for those that remain after the test.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use inkcell_testkit::wait::holds_in_time;
use tempfile::TempDir;

/// The variable that every process of a test carries.
const MARK: &str = "INKCELL_TEST_MARK";

thread_local! {
    /// The mark of the test that runs on this thread, and the folders it used.
    static OPEN: RefCell<Option<(String, Vec<TempDir>)>> = const { RefCell::new(None) };
}

/// Runs a test, then checks that nothing remains of it.
pub(crate) async fn leaving_nothing(test: impl Future<Output = ()>) {
    let mut random = [0u8; 8];
    rustix::rand::getrandom(&mut random[..], rustix::rand::GetRandomFlags::empty())
        .expect("randomness");
    let mark: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    OPEN.set(Some((mark.clone(), Vec::new())));
    test.await;
    let (_, folders) = OPEN.take().expect("a test that is still open");
    assert!(nothing_carries(&mark).await, "processes are left: {:?}", carriers(&mark));
    assert!(no_zombie().await, "children are left that nobody waited for: {:?}", zombies());
    for folder in folders {
        // A process that ends has lost its environment some time before it becomes a zombie.
        let left = || names(&folder.path().join("tmp"));
        let is_clean = holds_in_time(|| left().is_empty()).await;
        assert!(is_clean, "temporary files are left: {:?}", left());
    }
    let own = format!(".new-{}-", std::process::id());
    let state = crate::bench::state_dir();
    assert_eq!(names(&state), ["runner"], "in the state folder");
    let left: Vec<String> = names(&state.join("runner"));
    assert!(!left.iter().any(|name| name.starts_with(&own)), "in the runner's folder: {left:?}");
}

/// Runs a host for another test, which set the mark and checks what the host leaves.
pub(crate) async fn adopting(host: impl Future<Output = ()>) {
    let mark = std::env::var(MARK).expect("the mark of the test that started this host");
    OPEN.set(Some((mark, Vec::new())));
    host.await;
}

/// The variable that identifies a process of this test.
pub(crate) fn variable() -> (String, String) {
    let mark = OPEN.with_borrow(|open| open.as_ref().map(|(mark, _)| mark.clone()));
    let why =
        "a kernel outside of `on_every_backend!` or `alone!`: nobody would check what it leaves";
    (MARK.to_owned(), mark.expect(why))
}

/// Registers a folder to check and remove after the test.
pub(crate) fn keep(folder: TempDir) {
    OPEN.with_borrow_mut(|open| {
        if let Some((_, folders)) = open {
            folders.push(folder);
        }
    });
}

/// Waits until no process carries this mark; false if one still does at the end.
pub(crate) async fn nothing_carries(mark: &str) -> bool {
    holds_in_time(|| carriers(mark).is_empty()).await
}

/// The processes with this mark, each with its command line.
pub(crate) fn carriers(mark: &str) -> Vec<(u32, String)> {
    let wanted = format!("{MARK}={mark}");
    let carries = |pid: &u32| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
    };
    let command = |pid: u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        (pid, String::from_utf8_lossy(&line).replace('\0', " "))
    };
    let me = std::process::id();
    pids().filter(|pid| *pid != me).filter(carries).map(command).collect()
}

async fn no_zombie() -> bool {
    holds_in_time(|| zombies().is_empty()).await
}

/// Ended children of this process that were not reaped, as their lines in the process table.
fn zombies() -> Vec<String> {
    let me = std::process::id().to_string();
    let entry = |pid: u32| fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    let is_ours = |stat: &String| {
        let mut fields = stat.rsplit(')').next().unwrap_or("").split_whitespace();
        fields.next() == Some("Z") && fields.next() == Some(&me)
    };
    pids().filter_map(entry).filter(is_ours).collect()
}

fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// True if this process exists and has not become a zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or("").trim_start().starts_with('Z'))
}

/// Waits for the end of this process; false if it still lives at the end.
pub(crate) async fn is_gone_soon(pid: u32) -> bool {
    holds_in_time(|| !is_alive(pid)).await
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
