//! The order of requests: requests for one session or one file begin in the order in which they were sent.
//!
//! Owns the queues. A request takes its place when its message is read, before anything is waited for. Code leaves
//! the queue when it has a place in its session. A request that works on a file leaves it when that work is done;
//! while the cells of a notebook run, requests for its session may begin, so that an interrupt reaches them.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use inkcell_engine::is_notebook_path;
use inkcell_engine::notebook::split_selector;
use inkcell_engine::registry::SessionName;
use serde_json::{Map, Value};
use tokio::sync::Notify;

use super::Desk;

/// The arguments that name a file, in every tool.
const PATHS: [&str; 4] = ["path", "notebook_path", "file_path", "output"];
/// The arguments that name a session.
const SESSIONS: [&str; 2] = ["session", "kernelId"];

/// Which calls of a tool are kept in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// None: the calls concern neither a session nor a file.
    None,
    /// Calls for one file. The session of a notebook has the name of the file.
    File,
    /// Calls in one session, and calls for one file.
    Session,
    /// Like `Session`, but a call does not wait for requests that wait for the end of code: it may end that code.
    Control,
}

/// A queue: for a file, with links followed, or for a session.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Lane {
    File(PathBuf),
    Session(String),
}

/// The unfinished requests of one client. Clones share them.
#[derive(Clone)]
pub(crate) struct Turns {
    /// The base of relative paths.
    cwd: PathBuf,
    home: Option<PathBuf>,
    lanes: Arc<Mutex<HashMap<Lane, VecDeque<Arc<Place>>>>>,
}

/// The place of one request. Dropping it lets the next one begin.
pub(crate) struct Turn {
    place: Arc<Place>,
    turns: Turns,
}

struct Place {
    lanes: Vec<Lane>,
    waits_for: Progress,
    has_begun: AtomicBool,
    /// Notified when the request may have its turn.
    moved: Notify,
}

/// How far the earlier requests must have come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Progress {
    /// Begun, unless they wait for the end of code.
    BegunOrHeld,
    Begun,
    Done,
}

impl Place {
    /// Returns whether a request with this requirement may begin behind these.
    fn may_begin(&self, before: &[&Arc<Place>]) -> bool {
        match self.waits_for {
            Progress::Done => before.is_empty(),
            Progress::Begun => before.iter().all(|place| place.has_begun()),
            Progress::BegunOrHeld => before
                .iter()
                .enumerate()
                .all(|(at, place)| place.has_begun() || place.is_held(&before[..at])),
        }
    }

    /// Whether running code holds this place up, behind these. A request that ends or replaces a kernel is short.
    fn is_held(&self, before: &[&Arc<Place>]) -> bool {
        match self.waits_for {
            Progress::Done => before.iter().any(|place| place.waits_for != Progress::BegunOrHeld),
            Progress::Begun | Progress::BegunOrHeld => {
                let is_open = |(at, place): (usize, &&Arc<Place>)| {
                    !place.has_begun() && place.is_held(&before[..at])
                };
                before.iter().enumerate().any(is_open)
            }
        }
    }

    fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::SeqCst)
    }
}

/// Wakes the requests of a queue that may begin.
fn wake(queue: &VecDeque<Arc<Place>>) {
    let places: Vec<&Arc<Place>> = queue.iter().collect();
    for (at, place) in places.iter().enumerate() {
        if place.may_begin(&places[..at]) {
            place.moved.notify_one();
        }
    }
}

impl Turns {
    /// The order for a client that works at this desk.
    pub(crate) fn at(desk: &Desk) -> Turns {
        Turns::new(&desk.cwd, desk.settings.home.as_deref())
    }

    pub(crate) fn new(cwd: &Path, home: Option<&Path>) -> Turns {
        let (cwd, home) = (cwd.to_owned(), home.map(Path::to_owned));
        Turns { cwd, home, lanes: Arc::default() }
    }

    /// Takes a place for a call with these arguments, behind all earlier places.
    pub(crate) fn take(&self, order: Order, arguments: &Map<String, Value>) -> Turn {
        let mut wanted = self.wanted(order, arguments);
        wanted.sort();
        wanted.dedup();
        let waits_for = match order {
            // The session itself keeps its work in order.
            Order::Session => Progress::Begun,
            Order::Control => Progress::BegunOrHeld,
            Order::File | Order::None => Progress::Done,
        };
        let (has_begun, moved) = (AtomicBool::new(false), Notify::new());
        let place = Arc::new(Place { lanes: wanted, waits_for, has_begun, moved });
        let mut lanes = self.lanes();
        for lane in &place.lanes {
            lanes.entry(lane.clone()).or_default().push_back(Arc::clone(&place));
        }
        drop(lanes);
        Turn { place, turns: self.clone() }
    }

    fn lanes(&self) -> MutexGuard<'_, HashMap<Lane, VecDeque<Arc<Place>>>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wanted(&self, order: Order, arguments: &Map<String, Value>) -> Vec<Lane> {
        if order == Order::None {
            return Vec::new();
        }
        let given = |name: &&str| arguments.get(*name).and_then(Value::as_str);
        let mut wanted: Vec<Lane> =
            PATHS.iter().filter_map(given).map(|path| Lane::File(self.file(path))).collect();
        if matches!(order, Order::Session | Order::Control) {
            wanted.push(match SESSIONS.iter().find_map(given) {
                Some(path) if is_notebook_path(path) => Lane::File(self.file(path)),
                name => Lane::Session(name.unwrap_or(SessionName::DEFAULT).to_owned()),
            });
        }
        wanted
    }

    /// The canonical path of a file, by whatever name it is given. A file that does not exist yet is found by its
    /// folder.
    fn file(&self, given: &str) -> PathBuf {
        let given = split_selector(given).map_or(given, |(path, _)| path);
        let path = match (given.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.cwd.join(given),
        };
        if let Ok(real) = path.canonicalize() {
            return real;
        }
        match (path.parent().map(Path::canonicalize), path.file_name()) {
            (Some(Ok(folder)), Some(name)) => folder.join(name),
            _ => path,
        }
    }
}

impl Turn {
    /// Waits until every earlier request for the same session has begun, and for the same file is done.
    pub(crate) async fn comes(&self) {
        while !self.has_come() {
            // `Notify` keeps a wake-up that came before this.
            self.place.moved.notified().await;
        }
    }

    fn has_come(&self) -> bool {
        let lanes = self.turns.lanes();
        let is_other = |place: &&Arc<Place>| !Arc::ptr_eq(place, &self.place);
        let mut queues = self.place.lanes.iter().filter_map(|lane| lanes.get(lane));
        queues.all(|queue| {
            let before: Vec<&Arc<Place>> = queue.iter().take_while(is_other).collect();
            self.place.may_begin(&before)
        })
    }

    /// The code of this request has a place in its session: later requests for that session may take theirs.
    pub(crate) fn begin(&self) {
        self.place.has_begun.store(true, Ordering::SeqCst);
        let lanes = self.turns.lanes();
        self.place.lanes.iter().filter_map(|lane| lanes.get(lane)).for_each(wake);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut lanes = self.turns.lanes();
        for lane in &self.place.lanes {
            let Some(queue) = lanes.get_mut(lane) else { continue };
            queue.retain(|place| !Arc::ptr_eq(place, &self.place));
            match queue.is_empty() {
                false => wake(queue),
                true => drop(lanes.remove(lane)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    fn named(given: &[(&str, &str)]) -> Map<String, Value> {
        given.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect()
    }

    fn turns() -> (tempfile::TempDir, Turns) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.ipynb"), "").unwrap();
        std::os::unix::fs::symlink("a.ipynb", folder.path().join("link.ipynb")).unwrap();
        let turns = Turns::new(folder.path(), Some(folder.path()));
        (folder, turns)
    }

    fn has_come(turn: &Turn) -> bool {
        turn.comes().now_or_never().is_some()
    }

    /// Issue 21, 1: requests for the same session or file begin in order, and no others wait.
    #[test]
    fn requests_wait_for_those_that_mean_the_same() {
        let (_folder, turns) = turns();
        let edit = |path: &str| turns.take(Order::File, &named(&[("path", path)]));
        let python = |session: &str| turns.take(Order::Session, &named(&[("session", session)]));
        let first = edit("a.ipynb");
        let by_link = edit("./link.ipynb");
        let from_home = edit("~/a.ipynb");
        let in_its_session = python("a.ipynb");
        let other = [edit("b.ipynb"), python("x"), turns.take(Order::Session, &named(&[]))];
        let new = [edit("b.ipynb"), python("x"), python("default")];
        let nothing = turns.take(Order::None, &named(&[("path", "a.ipynb")]));
        assert!(has_come(&first) && has_come(&nothing));
        assert!(other.iter().all(has_come) && !new.iter().any(has_come));
        assert!(!has_come(&by_link) && !has_come(&from_home) && !has_come(&in_its_session));
        drop(first);
        assert!(has_come(&by_link) && !has_come(&from_home));
        // A request that is given up in the middle changes nothing for the others.
        drop(from_home);
        assert!(!has_come(&in_its_session));
        drop(by_link);
        assert!(has_come(&in_its_session));
        drop(other);
        assert!(new.iter().all(has_come));
        drop((new, in_its_session, nothing));
        assert!(turns.lanes().is_empty());
    }

    /// While a notebook runs, edits of it wait, requests for its session do not, and an interrupt passes the
    /// waiting requests.
    #[test]
    fn a_run_holds_its_file_and_not_its_session() {
        let (_folder, turns) = turns();
        let of_file = || turns.take(Order::File, &named(&[("path", "a.ipynb")]));
        let of_session = |order| turns.take(order, &named(&[("session", "a.ipynb")]));
        let (run, code, edit) = (of_file(), of_session(Order::Session), of_file());
        let (late, interrupt) = (of_session(Order::Session), of_session(Order::Control));
        assert!(has_come(&run) && !has_come(&code) && !has_come(&interrupt));
        run.begin();
        assert!(has_come(&code) && !has_come(&edit) && !has_come(&interrupt));
        drop(code);
        assert!(!has_come(&edit) && !has_come(&late) && has_come(&interrupt));
        drop(run);
        assert!(has_come(&edit) && !has_come(&late));
        drop(edit);
        assert!(has_come(&late));
    }

    /// An interrupt that is sent behind a restart and a call means that call.
    #[test]
    fn an_interrupt_waits_for_a_call_behind_a_restart() {
        let (_folder, turns) = turns();
        let take = |order| turns.take(order, &named(&[]));
        let (restart, code, interrupt) =
            (take(Order::Control), take(Order::Session), take(Order::Control));
        assert!(has_come(&restart) && !has_come(&code) && !has_come(&interrupt));
        drop(restart);
        assert!(has_come(&code) && !has_come(&interrupt));
        drop(code);
        assert!(has_come(&interrupt));
    }

    /// A request for several things waits for all of them, and holds back others in all of them.
    #[test]
    fn one_request_may_stand_in_several_queues() {
        let (_folder, turns) = turns();
        let edit = turns.take(Order::File, &named(&[("path", "a.ipynb")]));
        let python = turns.take(Order::Session, &named(&[("session", "x")]));
        let both = turns.take(Order::Session, &named(&[("session", "x"), ("path", "a.ipynb")]));
        let next = turns.take(Order::Session, &named(&[("session", "x")]));
        drop(edit);
        assert!(has_come(&python) && !has_come(&both));
        drop(python);
        assert!(has_come(&both) && !has_come(&next));
        drop(both);
        assert!(has_come(&next));
    }

    /// Each waiting request is woken, even if the wake-up comes before it sleeps.
    #[tokio::test]
    async fn a_thousand_requests_take_their_turns() {
        let (_folder, turns) = turns();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for number in 0..1000 {
            let session = format!("s{}", number % 3);
            let turn = turns.take(Order::Session, &named(&[("session", &session)]));
            let seen = Arc::clone(&seen);
            tasks.push(tokio::spawn(async move {
                turn.comes().await;
                tokio::task::yield_now().await;
                seen.lock().unwrap().push(number);
            }));
        }
        futures_util::future::join_all(tasks).await;
        let seen = seen.lock().unwrap();
        for lane in 0..3 {
            let one: Vec<i32> = seen.iter().copied().filter(|number| number % 3 == lane).collect();
            assert!(one.is_sorted(), "{one:?}");
        }
        assert_eq!(seen.len(), 1000);
    }
}
