//! The set of sessions, on scripted kernels with a simulated clock.

use std::path::Path;
use std::time::Duration;

use inkcell_engine::kernel::BackendKind;
use inkcell_engine::registry::{
    AttachError, IdleRule, Keep, Limits, OwnerId, Registry, SessionKey, SessionName,
};
use inkcell_engine::session::{CallNote, CellEnd, CloseReason, Loss, Retry, Session};
use inkcell_testkit::scripted::{ScriptRequest, ScriptedBackend, Step};

use crate::sessions::{run, session};

const ME: OwnerId = OwnerId(1);
const NOW: Duration = Duration::ZERO;
const HOUR: Duration = Duration::from_secs(3600);

fn key(name: &str) -> SessionKey {
    SessionKey {
        name: SessionName(name.to_owned()),
        cwd: "/".into(),
        interpreter: None,
        backend: BackendKind::Runner,
        kernel: None,
    }
}

struct Desk {
    registry: Registry,
    backend: ScriptedBackend,
}

impl Desk {
    fn new(sessions: usize, idle: IdleRule) -> Desk {
        let limits = Limits { sessions, idle, sweep: Duration::from_secs(30) };
        Desk { registry: Registry::new(limits), backend: ScriptedBackend::new() }
    }

    async fn attach(
        &self,
        name: &str,
        owner: OwnerId,
        wait: Duration,
    ) -> Result<Session, AttachError> {
        let make = |loss| session(&self.backend, Retry::IfNotStarted, loss);
        self.registry.attach(&key(name), owner, wait, make).await
    }

    /// Uses a session for one cell and returns the notes for its reader.
    async fn use_it(&self, name: &str) -> Vec<CallNote> {
        let session = self.attach(name, ME, NOW).await.expect("a session");
        let mut turn = session.turn().await.expect("a turn");
        let (ran, _) = run(&mut turn, "1").await;
        assert!(matches!(ran.end.end, CellEnd::Ok), "{ran:?}");
        ran.end.notes
    }

    fn names(&self) -> Vec<String> {
        self.registry.list().into_iter().map(|listed| listed.key.name.0).collect()
    }

    fn count(&self, wanted: fn(&ScriptRequest) -> bool) -> usize {
        self.backend.asked().iter().filter(|(_, asked)| wanted(asked)).count()
    }
}

/// B:K-05 F-093
#[tokio::test(start_paused = true)]
async fn the_one_that_was_idle_longest_makes_room_and_its_next_user_is_told() {
    let desk = Desk::new(2, IdleRule::Never);
    for name in ["a", "b"] {
        desk.use_it(name).await;
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    desk.use_it("a").await;
    desk.use_it("c").await;
    assert_eq!(desk.names(), ["a", "c"]);
    let notes = desk.use_it("b").await;
    let [CallNote::StateLost(Loss::Closed { reason: CloseReason::Evicted, .. })] = notes[..] else {
        panic!("{notes:?}")
    };
    assert_eq!(desk.use_it("b").await, [], "once is enough");
}

/// B:K-05 F-093 Issue 21, 21: a busy session is never closed; the next session waits for it.
#[tokio::test(start_paused = true)]
async fn a_busy_session_is_never_closed_for_another() {
    let desk = Desk::new(1, IdleRule::Never);
    desk.backend.plan([Step::Take(Duration::from_secs(5))]);
    let busy = desk.attach("a", ME, NOW).await.expect("a session");
    let work = tokio::spawn(async move {
        let mut turn = busy.turn().await.expect("a turn");
        run(&mut turn, "long").await.0
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let refused = desk.attach("b", ME, Duration::from_secs(1)).await.err();
    let busy = vec![SessionName("a".to_owned())];
    assert_eq!(refused, Some(AttachError::Full { limit: 1, busy, is_watched: false }));
    desk.attach("b", ME, HOUR).await.expect("a place when the work is done");
    assert!(matches!(work.await.expect("the work").end.end, CellEnd::Ok));
    assert_eq!(desk.names(), ["b"]);
}

/// B:K-05 F-093 Issue 21, 21: the caller learns which session was closed for its own.
#[tokio::test(start_paused = true)]
async fn whoever_takes_the_place_of_another_is_told() {
    let desk = Desk::new(1, IdleRule::Never);
    desk.use_it("a").await;
    tokio::time::advance(Duration::from_secs(1)).await;
    let make = |loss| session(&desk.backend, Retry::IfNotStarted, loss);
    let b = key("b");
    let attach = || desk.registry.attach_with(&b, ME, NOW, make, Session::clone);
    let room =
        CallNote::MadeRoom { session: SessionName("a".to_owned()), reason: CloseReason::Evicted };
    assert_eq!(attach().await.expect("a place").notes, [room]);
    assert_eq!(attach().await.expect("the same session").notes, [], "nobody was closed for it");
}

/// F-093 Issue 21, 21: a watched session is not closed for another until its last watcher leaves.
#[tokio::test(start_paused = true)]
async fn a_watched_session_is_never_closed_for_another() {
    let desk = Desk::new(2, IdleRule::Never);
    desk.use_it("watched").await;
    tokio::time::advance(Duration::from_secs(1)).await;
    desk.use_it("a").await;
    tokio::time::advance(Duration::from_secs(1)).await;
    let name = SessionName("watched".to_owned());
    let watching = [(); 2].map(|()| desk.registry.watching(&name, Path::new("/")));
    desk.use_it("b").await;
    assert_eq!(desk.names(), ["b", "watched"], "the other one was used later, and went");
    let also = desk.registry.watching(&SessionName("b".to_owned()), Path::new("/"));
    let refused = desk.attach("c", ME, Duration::from_secs(1)).await.err();
    assert!(matches!(refused, Some(AttachError::Full { limit: 2, .. })), "{refused:?}");
    let [one, other] = watching;
    drop(one);
    let (got, ()) = tokio::join!(desk.attach("c", ME, HOUR), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop(other);
    });
    got.expect("a place when nobody watches it any more");
    assert_eq!(desk.names(), ["b", "c"]);
    drop(also);
}

/// B:K-06 F-094
#[tokio::test(start_paused = true)]
async fn an_idle_session_is_closed_and_its_next_user_is_told() {
    let desk = Desk::new(4, IdleRule::Always(HOUR));
    desk.use_it("a").await;
    desk.use_it("kept").await;
    desk.registry.keep(&key("kept"), Keep::Always);
    tokio::time::sleep(HOUR - Duration::from_secs(60)).await;
    assert_eq!(desk.names(), ["a", "kept"]);
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(desk.names(), ["kept"]);
    assert_eq!(desk.count(|asked| matches!(asked, ScriptRequest::Shutdown(_))), 1);
    let notes = desk.use_it("a").await;
    assert!(
        matches!(notes[..], [CallNote::StateLost(Loss::Closed { reason: CloseReason::Idle, .. })]),
        "{notes:?}"
    );
}

/// B:K-06: a client that stays keeps its session.
#[tokio::test(start_paused = true)]
async fn a_session_with_an_owner_stays() {
    let desk = Desk::new(4, IdleRule::WithoutOwner(HOUR));
    desk.use_it("a").await;
    tokio::time::sleep(10 * HOUR).await;
    assert_eq!(desk.names(), ["a"]);
}

/// B:K-04
#[tokio::test(start_paused = true)]
async fn a_session_ends_with_its_last_owner() {
    let desk = Desk::new(4, IdleRule::Never);
    let other = OwnerId(2);
    desk.use_it("shared").await;
    desk.attach("shared", other, NOW).await.expect("the same session");
    desk.registry.detach(ME).await;
    assert_eq!(desk.names(), ["shared"]);
    desk.registry.detach(other).await;
    assert!(desk.names().is_empty());
    assert_eq!(desk.count(|asked| matches!(asked, ScriptRequest::Shutdown(_))), 1);
}

/// B:K-16
#[tokio::test(start_paused = true)]
async fn callers_that_come_at_once_share_one_start() {
    let desk = Desk::new(4, IdleRule::Never);
    let uses = (0..20).map(|_| desk.use_it("a"));
    futures_util::future::join_all(uses).await;
    assert_eq!(desk.count(|asked| matches!(asked, ScriptRequest::Launch(_))), 1);
}

/// B:K-17
#[tokio::test(start_paused = true)]
async fn ending_everything_leaves_no_kernel_and_takes_nobody_new() {
    let desk = Desk::new(4, IdleRule::Never);
    for name in ["a", "b", "c"] {
        desk.use_it(name).await;
    }
    desk.registry.shutdown().await;
    assert_eq!(desk.count(|asked| matches!(asked, ScriptRequest::Shutdown(_))), 3);
    assert_eq!(desk.attach("d", ME, NOW).await.err(), Some(AttachError::Ending));
}
