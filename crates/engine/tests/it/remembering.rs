//! Memory for finished calls, and the error for a forgotten one.

use std::time::Duration;

use inkcell_engine::api::{ResultRequest, State};
use inkcell_engine::{EngineError, Kind, NextStep, SessionError};
use inkcell_testkit::scripted::{Script, ScriptedBackend, Step};

use crate::faults_kit::Desk;

/// The bound, for any number of calls.
const BOUND: usize = 32 << 20;

/// Issue 21, 23: thousands of calls in several sessions, some with much output and most with little, leave at most the
/// bound. The first call is forgotten with a clear error, and the last is there.
#[tokio::test]
async fn what_is_remembered_does_not_grow_with_the_calls() {
    let backend = ScriptedBackend::new();
    let shared = std::sync::Arc::new(backend.clone());
    let desk = Desk::on(|_| {}, |_| shared);
    let line = format!("{}\n", "x".repeat(99));
    backend.plan_code("much", Script::new([Step::print(&line.repeat(400))]));
    backend.plan_code("little", Script::new([Step::print("2\n")]));
    let mut ids = Vec::new();
    for n in 0..3000 {
        let code = if n % 4 == 0 { "much" } else { "little" };
        let report = desk.ask(desk.named(&format!("s{}", n % 6), &[code])).await;
        assert_eq!(report.state, State::Done);
        assert!(!report.cells[0].output.text().is_empty());
        ids.push(report.execution);
        let bytes = desk.engine.remembered_bytes();
        assert!(bytes < BOUND, "{bytes} bytes after {n} calls");
    }
    let ask = |n: usize| {
        let (id, wait) = (ids[n].clone(), Some(Duration::ZERO));
        desk.engine.stored(ResultRequest::Execution { id, wait })
    };
    let gone = ask(0).await.expect_err("it was let go of");
    assert!(matches!(gone, EngineError::Session(SessionError::LetGo { .. })), "{gone:?}");
    assert_eq!((gone.kind(), gone.next_step()), (Kind::NotFound, Some(NextStep::SeeArtifacts)));
    let said = gone.to_string();
    assert!(said.contains(&ids[0].0) && said.contains("run the code again"), "{said}");
    ask(2999).await.expect("the last one");
    ask(2500).await.expect("many others");
    desk.engine.shutdown().await;
}
