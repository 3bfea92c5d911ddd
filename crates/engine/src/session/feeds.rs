//! Events of sessions for watchers: code that begins, its output, how it ends, and changes to the notebook that the
//! session belongs to.
//!
//! Owns one journal for each session, found by the session's name and folder, and the limit on their number. A late
//! watcher learns how many events it missed; it never delays a session. The frontends render the events.

mod edits;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use inkcell_kernel::ExecEvent;
use inkcell_notebook::CellKind;
use serde::{Deserialize, Serialize};

use crate::api::{CellReport, CellSource, NotebookCell};
use crate::session::journal::{Journal, JournalItem, Seq, Watch};
use crate::session::registry::Watching;
use crate::session::weight;
use crate::types::{ExecutionId, SessionName};

pub(crate) use edits::edits;

/// How many bytes of a session's events are kept for watchers that come late.
const KEPT_BYTES: usize = 1 << 20;

/// The limit for all sessions together. The sessions that have been quiet for longest lose their events first.
const ALL_BYTES: usize = 8 << 20;

/// The bytes that an event takes in addition to its texts.
const EVENT_BYTES: usize = 256;

/// How many sessions have a journal. The session whose last event is oldest loses its journal first.
const MOST: usize = 64;

/// An event of a session.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionEvent {
    /// A cell of a call begins.
    Began {
        /// The call to which the cell belongs.
        execution: ExecutionId,
        /// The index of the cell among the call's cells, from 0.
        cell: usize,
        /// The number of cells in the call.
        of: usize,
        /// The cell as it was requested.
        source: CellSource,
        /// The cell of a notebook that this is, if it is one.
        notebook: Option<NotebookCell>,
    },
    /// The running cell reports an event.
    Happened {
        /// The call to which the cell belongs.
        execution: ExecutionId,
        /// The index of the cell among the call's cells, from 0.
        cell: usize,
        /// The event, as the kernel reported it.
        event: ExecEvent,
    },
    /// A cell of a call is over.
    Ended {
        /// The call to which the cell belongs.
        execution: ExecutionId,
        /// The index of the cell among the call's cells, from 0.
        cell: usize,
        /// The final report of the cell.
        report: Box<CellReport>,
    },
    /// A cell of the notebook was changed on disk.
    Edited(NotebookEdit),
    /// A requested change of a notebook failed; the file is as it was.
    EditFailed(FailedEdit),
    /// The session's kernel was replaced, interrupted or stopped.
    Kernel(KernelChange),
}

/// A change of one cell of a notebook, on disk.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NotebookEdit {
    /// The changed file, absolute.
    #[serde(with = "crate::types::encoding::path")]
    pub path: PathBuf,
    /// The kind of change.
    pub action: EditAction,
    /// The position of the cell now, or its last position if it was deleted.
    pub index: usize,
    /// The kind of the cell, if it is known.
    #[serde(with = "crate::types::encoding::kind_option")]
    pub kind: Option<CellKind>,
    /// The source of the cell, or its last source if it was deleted.
    pub source: String,
    /// The number of cells in the notebook after the change.
    pub total: usize,
}

/// A change of a notebook that was requested and failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FailedEdit {
    /// The file that was to be changed, absolute.
    #[serde(with = "crate::types::encoding::path")]
    pub path: PathBuf,
    /// The cell that the request was about.
    #[serde(flatten)]
    pub asked: EditAsked,
    /// Why the change failed.
    pub error: String,
}

/// The part of an edit request that is about one cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct EditAsked {
    /// Edit, insert or delete the cell.
    pub action: Option<EditAction>,
    /// The position of the cell, from 0.
    pub index: Option<usize>,
    /// The kind that the cell gets.
    #[serde(with = "crate::types::encoding::kind_option")]
    pub kind: Option<CellKind>,
}

/// The name of a notebook's own session.
fn session_of(notebook: &Path) -> SessionName {
    SessionName(notebook.display().to_string())
}

/// The kind of change to a cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditAction {
    /// The source, kind, metadata or outputs of the cell changed.
    Edit,
    /// The cell was added to the notebook.
    Insert,
    /// The cell was removed from the notebook.
    Delete,
    /// The cell changed its place.
    Move,
}

/// The kind of change to a session's kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelChange {
    /// The kernel is new; variables are gone.
    Restarted,
    /// The running code was interrupted.
    Interrupted,
    /// The session was closed.
    Stopped,
}

/// A second receiver of notebook changes: other processes may have sessions of the same notebook.
pub trait Elsewhere: std::fmt::Debug + Send + Sync {
    /// Called after a notebook was changed. `edits` computes the changes, so call it only if a watcher needs them.
    fn edited(&self, edits: &mut dyn FnMut() -> Vec<NotebookEdit>);
    /// Called after a change failed.
    fn failed(&self, failure: &FailedEdit);
}

/// The journal of one session. Clones share it.
#[derive(Clone)]
pub struct Feed {
    journal: Journal<SessionEvent>,
    /// When an event was last published, by the clock of the feeds.
    used: Arc<AtomicU64>,
    clock: Arc<AtomicU64>,
}

impl Feed {
    pub(crate) fn publish(&self, event: SessionEvent) {
        let size_bytes = size_bytes(&event);
        self.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        self.journal.push(event, size_bytes);
    }

    /// Watches from this entry on: first the stored entries, then new ones.
    pub fn watch(&self, from: Seq) -> Watch<SessionEvent> {
        self.journal.watch(from)
    }

    /// The number of the next entry.
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

    /// Waits for the next event. Cancel-safe.
    pub async fn next(&mut self) -> Option<JournalItem<SessionEvent>> {
        self.watch.next().await
    }

    /// The next event, if there is one already.
    pub fn ready(&mut self) -> Option<JournalItem<SessionEvent>> {
        self.watch.ready()
    }
}

/// The journals of all sessions. Clones share them.
#[derive(Clone, Default)]
pub struct Feeds {
    feeds: Arc<Mutex<HashMap<(SessionName, PathBuf), Feed>>>,
    clock: Arc<AtomicU64>,
}

impl Feeds {
    fn feeds(&self) -> MutexGuard<'_, HashMap<(SessionName, PathBuf), Feed>> {
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The journal of this session. Creates it if there is none.
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

    /// The approximate size of all journals in bytes.
    pub(crate) fn size_bytes(&self) -> usize {
        self.feeds().values().map(|feed| feed.journal.size_bytes()).sum()
    }

    /// Publishes a change of a notebook to the watchers of its sessions.
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

    /// Publishes a change that another process made. A notebook without a session here does not get one. Returns
    /// whether the notebook has a session here.
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

/// Drops the events of quiet sessions until the rest fits. Their watchers learn how many events they missed.
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
        SessionEvent::Happened { event, .. } => 64 + weight::event_bytes(event),
        SessionEvent::Ended { report, .. } => 512 + weight::value_bytes(report),
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

    /// A change of a notebook reaches the watchers of its sessions, whatever their folder, and no other watchers.
    #[tokio::test]
    async fn a_change_is_told_to_its_notebooks_sessions() {
        let feeds = Feeds::default();
        let name = SessionName("/work/a.ipynb".to_owned());
        let elsewhere = feeds.of(&name, Path::new("/elsewhere"));
        let other = feeds.of(&SessionName("default".to_owned()), Path::new("/work"));
        feeds.edited(&edit("/work/a.ipynb", "x = 1"));
        let wanted = SessionEvent::Edited(edit("/work/a.ipynb", "x = 1"));
        assert_eq!(elsewhere.watch(Seq(0)).next().await, Some(JournalItem::Entry(Seq(0), wanted)));
        assert_eq!(other.end(), Seq(0));
        feeds.edited(&edit("/work/b.ipynb", "y"));
        let own = feeds.of(&SessionName("/work/b.ipynb".to_owned()), Path::new("/work"));
        assert_eq!(own.end(), Seq(1), "also before it has a session");
        assert!(feeds.edited_elsewhere(&edit("/work/b.ipynb", "y")));
        assert_eq!(own.end(), Seq(2));
        assert!(!feeds.edited_elsewhere(&edit("/work/c.ipynb", "z")), "nobody has it here");
    }

    /// The total of the journals stays within its limit, however much the sessions publish. The session that published
    /// last keeps its events, and watchers of the others learn how many events they missed.
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
        assert_eq!(first.next().await, Some(JournalItem::Gap { missed: 4 }));
        let last = of(MOST - 1).watch(Seq(0)).next().await;
        assert!(matches!(last, Some(JournalItem::Entry(Seq(0), _))));
    }

    /// Watchers learn of a change that failed; other notebooks get no journal for it.
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
        assert_eq!(watched.watch(Seq(0)).next().await, Some(JournalItem::Entry(Seq(0), wanted)));
        assert_eq!(feeds.feeds().len(), 1);
    }

    /// When there are too many journals, the one whose last event is oldest is dropped first.
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
