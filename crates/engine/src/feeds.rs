//! What happens in sessions, for whoever watches: code that begins, what it says, how it ends, and what is done to
//! the notebook it belongs to.
//!
//! Owns one journal a session, found by its name and folder, and how many there are. A watcher that is late is told how
//! much it missed and holds up nobody. How events are shown is for the faces.

mod edits;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use inkcell_kernel::ExecEvent;
use inkcell_notebook::CellKind;
use serde::{Deserialize, Serialize};

use crate::api::{CellReport, CellSource, ExecutionId, NotebookCell};
use crate::journal::{Item, Journal, Seq, Watch};
use crate::registry::{SessionName, Watching};
use crate::weight;

pub(crate) use edits::edits;

/// How much of what happened in a session is kept for watchers that come late.
const KEPT_BYTES: usize = 1 << 20;

/// The same for all sessions together. Sessions that have been quiet for longest are forgotten first.
const ALL_BYTES: usize = 8 << 20;

/// The bytes that an event takes besides its texts.
const EVENT_BYTES: usize = 256;

/// How many sessions have a journal; the one in which nothing has happened for longest goes first.
const MOST: usize = 64;

/// Something that happened in a session.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionEvent {
    /// A cell of a call begins.
    Began {
        /// The call.
        execution: ExecutionId,
        /// Which of its cells, counted from 0.
        cell: usize,
        /// How many it has.
        of: usize,
        /// What is run.
        source: CellSource,
        /// Which cell of a notebook it is.
        notebook: Option<NotebookCell>,
    },
    /// Something happened in it.
    Happened {
        /// The call.
        execution: ExecutionId,
        /// Which of its cells.
        cell: usize,
        /// What.
        event: ExecEvent,
    },
    /// It has ended.
    Ended {
        /// The call.
        execution: ExecutionId,
        /// Which of its cells.
        cell: usize,
        /// How.
        report: Box<CellReport>,
    },
    /// A cell of the notebook was changed.
    Edited(NotebookEdit),
    /// A change of the notebook failed.
    EditFailed(FailedEdit),
    /// Its kernel is another one, or gone.
    Kernel(KernelChange),
}

/// A change of one cell of a notebook, on disk.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NotebookEdit {
    /// The notebook.
    #[serde(with = "crate::encoding::path")]
    pub path: PathBuf,
    /// What was done.
    pub action: EditAction,
    /// Where the cell is now, or was before it was deleted.
    pub index: usize,
    /// What it is; none where that is not known.
    #[serde(with = "crate::encoding::kind_option")]
    pub kind: Option<CellKind>,
    /// Its source, or what it was.
    pub source: String,
    /// How many cells the notebook has now.
    pub total: usize,
}

/// A change of a notebook that was requested and failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FailedEdit {
    /// The path of the notebook.
    #[serde(with = "crate::encoding::path")]
    pub path: PathBuf,
    /// What was asked for.
    #[serde(flatten)]
    pub asked: EditAsked,
    /// Why it was not made.
    pub error: String,
}

/// The part of an edit request that is about one cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct EditAsked {
    /// Whether to edit, insert or delete it.
    pub action: Option<EditAction>,
    /// The position of the cell.
    pub index: Option<usize>,
    /// The kind that the cell gets.
    #[serde(with = "crate::encoding::kind_option")]
    pub kind: Option<CellKind>,
}

/// A notebook's own session.
fn session_of(notebook: &Path) -> SessionName {
    SessionName(notebook.display().to_string())
}

/// What was done to a cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditAction {
    /// Its source, kind, metadata or outputs are others.
    Edit,
    /// It is new.
    Insert,
    /// It is gone.
    Delete,
    /// It is elsewhere.
    Move,
}

/// What became of a session's kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelChange {
    /// It is a new one; variables are gone.
    Restarted,
    /// What ran was interrupted.
    Interrupted,
    /// The session was ended.
    Stopped,
}

/// Somebody besides who is told of changes of notebooks: sessions of theirs may be elsewhere.
pub trait Elsewhere: std::fmt::Debug + Send + Sync {
    /// A notebook was changed; what was done is only worked out where somebody wants to know.
    fn edited(&self, edits: &mut dyn FnMut() -> Vec<NotebookEdit>);
    /// A change was not made.
    fn failed(&self, failure: &FailedEdit);
}

/// The journal of one session. Clones are the same.
#[derive(Clone)]
pub struct Feed {
    journal: Journal<SessionEvent>,
    /// When something was last published, by the clock of the feeds.
    used: Arc<AtomicU64>,
    clock: Arc<AtomicU64>,
}

impl Feed {
    pub(crate) fn publish(&self, event: SessionEvent) {
        let size_bytes = size_bytes(&event);
        self.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        self.journal.push(event, size_bytes);
    }

    /// Watches from this entry on: first what is there, then what comes.
    pub fn watch(&self, from: Seq) -> Watch<SessionEvent> {
        self.journal.watch(from)
    }

    /// The number the next entry will have.
    pub fn end(&self) -> Seq {
        self.journal.end()
    }
}

/// A watch on one session. While it exists, the session is not closed to make room for another.
pub struct SessionWatch {
    watch: Watch<SessionEvent>,
    _watching: Watching,
}

impl SessionWatch {
    pub(crate) fn new(watch: Watch<SessionEvent>, watching: Watching) -> SessionWatch {
        SessionWatch { watch, _watching: watching }
    }

    /// The next thing that happens. Cancel-safe.
    pub async fn next(&mut self) -> Option<Item<SessionEvent>> {
        self.watch.next().await
    }

    /// The next thing, if it has happened already.
    pub fn ready(&mut self) -> Option<Item<SessionEvent>> {
        self.watch.ready()
    }
}

/// The journals of all sessions. Clones are the same.
#[derive(Clone, Default)]
pub struct Feeds {
    feeds: Arc<Mutex<HashMap<(SessionName, PathBuf), Feed>>>,
    clock: Arc<AtomicU64>,
}

impl Feeds {
    fn feeds(&self) -> MutexGuard<'_, HashMap<(SessionName, PathBuf), Feed>> {
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The one of this session, made when there is none.
    pub fn of(&self, name: &SessionName, cwd: &Path) -> Feed {
        let mut feeds = self.feeds();
        forget_quiet(&feeds);
        let key = (name.clone(), cwd.to_owned());
        if let Some(feed) = feeds.get(&key) {
            return feed.clone();
        }
        if feeds.len() >= MOST {
            let oldest = feeds.iter().min_by_key(|(_, feed)| feed.used.load(Ordering::Relaxed));
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                feeds.remove(&oldest);
            }
        }
        let used = AtomicU64::new(self.clock.fetch_add(1, Ordering::Relaxed));
        let feed = Feed {
            journal: Journal::new(KEPT_BYTES),
            used: Arc::new(used),
            clock: Arc::clone(&self.clock),
        };
        feeds.insert(key, feed.clone());
        feed
    }

    /// About how many bytes all journals take.
    pub(crate) fn size_bytes(&self) -> usize {
        self.feeds().values().map(|feed| feed.journal.size_bytes()).sum()
    }

    /// Tells whoever watches the sessions of a notebook that it was changed.
    pub fn edited(&self, edit: &NotebookEdit) {
        if !self.edited_elsewhere(edit) {
            let own = edit.path.parent().map_or_else(PathBuf::new, Path::to_owned);
            self.of(&session_of(&edit.path), &own).publish(SessionEvent::Edited(edit.clone()));
        }
    }

    /// Tells the watchers of a notebook's sessions that a change failed, wherever it was tried.
    pub fn edit_failed(&self, failure: &FailedEdit) {
        self.tell(&failure.path, &SessionEvent::EditFailed(failure.clone()));
    }

    /// The same for a change that another process made: a notebook without a session here gets none by that. Whether
    /// there was somebody to tell.
    pub fn edited_elsewhere(&self, edit: &NotebookEdit) -> bool {
        self.tell(&edit.path, &SessionEvent::Edited(edit.clone()))
    }

    /// Publishes an event to the sessions of a notebook. Returns whether it has any.
    fn tell(&self, notebook: &Path, event: &SessionEvent) -> bool {
        let name = session_of(notebook);
        let all = self.feeds();
        let told: Vec<Feed> = (all.iter())
            .filter(|((named, _), _)| *named == name)
            .map(|(_, feed)| feed.clone())
            .collect();
        drop(all);
        for feed in &told {
            feed.publish(event.clone());
        }
        !told.is_empty()
    }
}

/// Forgets the events of quiet sessions until the rest fits. Their watchers are told how much they missed.
fn forget_quiet(feeds: &HashMap<(SessionName, PathBuf), Feed>) {
    let mut total: usize = feeds.values().map(|feed| feed.journal.size_bytes()).sum();
    if total <= ALL_BYTES {
        return;
    }
    let mut quiet: Vec<&Feed> = feeds.values().collect();
    quiet.sort_by_key(|feed| feed.used.load(Ordering::Relaxed));
    for feed in quiet {
        if total <= ALL_BYTES {
            break;
        }
        total -= feed.journal.size_bytes().min(total);
        feed.journal.forget();
    }
}

impl std::fmt::Debug for Feeds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feeds").field("sessions", &self.feeds().len()).finish()
    }
}

fn size_bytes(event: &SessionEvent) -> usize {
    match event {
        SessionEvent::Began { source, .. } => EVENT_BYTES + source.code.len(),
        SessionEvent::Happened { event, .. } => 64 + weight::of_event(event),
        SessionEvent::Ended { report, .. } => 512 + weight::of_value(report),
        SessionEvent::Edited(edit) => EVENT_BYTES + edit.source.len(),
        SessionEvent::EditFailed(failure) => EVENT_BYTES + failure.error.len(),
        SessionEvent::Kernel(_) => EVENT_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(path: &str, source: &str) -> NotebookEdit {
        NotebookEdit {
            path: path.into(),
            action: EditAction::Edit,
            index: 0,
            kind: Some(CellKind::Code),
            source: source.to_owned(),
            total: 1,
        }
    }

    /// A change of a notebook is seen by those who watch its session, in whichever folder that works, and by nobody
    /// else.
    #[tokio::test]
    async fn a_change_is_told_to_its_notebooks_sessions() {
        let feeds = Feeds::default();
        let name = SessionName("/work/a.ipynb".to_owned());
        let elsewhere = feeds.of(&name, Path::new("/elsewhere"));
        let other = feeds.of(&SessionName("default".to_owned()), Path::new("/work"));
        feeds.edited(&edit("/work/a.ipynb", "x = 1"));
        let wanted = SessionEvent::Edited(edit("/work/a.ipynb", "x = 1"));
        assert_eq!(elsewhere.watch(Seq(0)).next().await, Some(Item::Entry(Seq(0), wanted)));
        assert_eq!(other.end(), Seq(0));
        feeds.edited(&edit("/work/b.ipynb", "y"));
        let own = feeds.of(&SessionName("/work/b.ipynb".to_owned()), Path::new("/work"));
        assert_eq!(own.end(), Seq(1), "also before it has a session");
        assert!(feeds.edited_elsewhere(&edit("/work/b.ipynb", "y")));
        assert_eq!(own.end(), Seq(2));
        assert!(!feeds.edited_elsewhere(&edit("/work/c.ipynb", "z")), "nobody has it here");
    }

    /// However much the sessions publish, what is kept of all of them has a bound. The session that published last is
    /// kept whole, and watchers of the others are told what they missed.
    #[tokio::test]
    async fn all_together_have_a_bound() {
        let feeds = Feeds::default();
        let of = |n: usize| feeds.of(&SessionName(format!("s{n}")), Path::new("/"));
        let mut first = of(0).watch(Seq(0));
        for n in 0..MOST {
            let feed = of(n);
            for _ in 0..4 {
                feed.publish(SessionEvent::Edited(edit("/a.ipynb", &"x".repeat(KEPT_BYTES / 5))));
            }
            assert!(feeds.size_bytes() <= ALL_BYTES + KEPT_BYTES, "{}", feeds.size_bytes());
        }
        assert_eq!(first.next().await, Some(Item::Gap { missed: 4 }));
        let last = of(MOST - 1).watch(Seq(0)).next().await;
        assert!(matches!(last, Some(Item::Entry(Seq(0), _))));
    }

    /// Watchers are told of a change that failed; other notebooks get no journal for it.
    #[tokio::test]
    async fn a_failed_change_is_told_to_its_notebooks_sessions() {
        let feeds = Feeds::default();
        let asked = EditAsked { action: Some(EditAction::Delete), index: Some(7), kind: None };
        let failed =
            |path: &str| FailedEdit { path: path.into(), asked, error: "no cell".to_owned() };
        let watched = feeds.of(&SessionName("/work/a.ipynb".to_owned()), Path::new("/work"));
        feeds.edit_failed(&failed("/work/a.ipynb"));
        feeds.edit_failed(&failed("/work/b.ipynb"));
        let wanted = SessionEvent::EditFailed(failed("/work/a.ipynb"));
        let text = serde_json::to_string(&wanted).expect("JSON");
        assert_eq!(serde_json::from_str::<SessionEvent>(&text).expect("an event"), wanted);
        assert_eq!(watched.watch(Seq(0)).next().await, Some(Item::Entry(Seq(0), wanted)));
        assert_eq!(feeds.feeds().len(), 1);
    }

    /// Sessions come and go; the journals of those in which nothing happens any more go first.
    #[test]
    fn there_are_only_so_many() {
        let feeds = Feeds::default();
        let of = |n: usize| feeds.of(&SessionName(format!("s{n}")), Path::new("/"));
        of(0).publish(SessionEvent::Kernel(KernelChange::Stopped));
        for n in 1..MOST {
            of(n);
        }
        of(0).publish(SessionEvent::Kernel(KernelChange::Stopped));
        of(MOST);
        assert_eq!(of(0).end(), Seq(2), "it was used last");
        assert_eq!(feeds.feeds().len(), MOST);
        assert!(!feeds.feeds().contains_key(&(SessionName("s1".to_owned()), "/".into())));
    }
}
