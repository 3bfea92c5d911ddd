//! What a caller lends to the code of one call: variables that come and go with it, and word of its being stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use inkcell_engine::Lent;
use inkcell_engine::api::{ExecutionId, PythonRequest, State, Wanted};
use tokio_util::sync::CancellationToken;

use crate::faults_kit::{Desk, LONG, ME, text, told};

const NAMES: [&str; 4] =
    ["PI_TOOL_BRIDGE_URL", "PI_TOOL_BRIDGE_TOKEN", "PI_TOOL_BRIDGE_SESSION", "PI_TOOL_BRIDGE_RUN"];

/// What a cell sees of the variables.
const SEEN: &str = "import os\nprint([os.environ.get('PI_TOOL_BRIDGE_' + name) \
                    for name in 'URL TOKEN SESSION RUN'.split()])";

const NONE: &str = "[None, None, None, None]";

fn lent(values: [&str; 4]) -> Lent {
    let env = NAMES.iter().zip(values).map(|(name, value)| ((*name).to_owned(), value.to_owned()));
    Lent { env: env.collect(), ..Lent::default() }
}

async fn begin(desk: &Desk, request: PythonRequest, lent: Lent) -> ExecutionId {
    let chosen = desk.engine.choose(&request.cwd, &Wanted::default()).await.expect("a Python");
    desk.engine.start_with(request, &chosen, ME, None, lent).await.expect("it begins")
}

/// B:E-30, B:X-40: the bridge's variables are those of one run. Each cell of it has them, also when the one before
/// changed them; no other session has them, and the next run of the same session does not.
#[tokio::test]
async fn the_variables_of_a_run_come_and_go_with_it() {
    let desk = Desk::new();
    assert_eq!(told(&desk.run(&[SEEN]).await), NONE);
    let spoil = "os.environ['PI_TOOL_BRIDGE_URL'] = 'x'; del os.environ['PI_TOOL_BRIDGE_RUN']";
    let shell = "import subprocess\nsubprocess.run('echo $PI_TOOL_BRIDGE_TOKEN', shell=True);";
    let request = desk.request(&[SEEN, spoil, SEEN, shell]);
    let id = begin(&desk, request, lent(["u", "t", "s", "r"])).await;
    let report = desk.engine.settled(&id).await.expect("a report");
    assert_eq!(report.state, State::Done, "{report:?}");
    let all = "['u', 't', 's', 'r']\n";
    assert_eq!((text(&report, 0).as_str(), text(&report, 2).as_str()), (all, all));
    assert_eq!(text(&report, 3), "t\n");
    assert_eq!(told(&desk.ask(desk.named("other", &[SEEN])).await), NONE);
    assert_eq!(told(&desk.run(&[SEEN]).await), NONE);
    desk.engine.shutdown().await;
}

/// B:E-30: only what is set anew before every cell can be taken back, so nothing else is lent.
#[tokio::test]
async fn other_variables_are_not_lent() {
    let desk = Desk::new();
    let env = vec![("SOMETHING".to_owned(), "x".to_owned())];
    let request = desk.request(&["import os\nprint(os.environ.get('SOMETHING'))"]);
    let id = begin(&desk, request, Lent { env, ..Lent::default() }).await;
    assert_eq!(told(&desk.engine.settled(&id).await.expect("a report")), "None");
    desk.engine.shutdown().await;
}

/// Says whether it was dropped.
struct Held(Arc<AtomicBool>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// B:X-41: what is held for a run is there for all of it and gone before anybody hears that it is over. Code that
/// ends by itself, well or not, was not made to stop.
#[tokio::test]
async fn what_is_held_goes_with_the_run() {
    let desk = Desk::new();
    for (last, state) in [("1", State::Done), ("1/0", State::Error)] {
        let wait = crate::faults_kit::wait_for("gate");
        let request = desk.request(&["1", &format!("open('begun', 'w')\n{wait}"), last]);
        let (dropped, stopping) = (Arc::new(AtomicBool::new(false)), CancellationToken::new());
        let held: Option<Box<dyn std::any::Any + Send>> = Some(Box::new(Held(dropped.clone())));
        let lent = Lent { held, stopping: stopping.clone(), ..Lent::default() };
        let id = begin(&desk, request, lent).await;
        desk.seen("begun").await;
        assert!(!dropped.load(Ordering::SeqCst), "the run goes on");
        desk.touch("gate");
        let report = desk.engine.settled(&id).await.expect("a report");
        assert_eq!(report.state, state);
        assert!(dropped.load(Ordering::SeqCst), "the run is over");
        assert!(!stopping.is_cancelled());
        for name in ["begun", "gate"] {
            std::fs::remove_file(desk.dir.path().join(name)).expect("it is there");
        }
    }
    desk.engine.shutdown().await;
}

/// B:X-41: whoever lent something hears at once that code is made to stop, whoever wants that, and also while the
/// code does not care.
#[tokio::test]
async fn that_code_is_made_to_stop_is_told_before_it_has() {
    let desk = Desk::new();
    let stubborn = "import os, time\nopen('begun', 'w')\nwhile not os.path.exists('gate'):\n    \
                    try: time.sleep(0.01)\n    except KeyboardInterrupt: pass";
    for way in ["taken back", "interrupted", "out of time", "restarted"] {
        let stopping = CancellationToken::new();
        let limit = if way == "out of time" { Duration::from_millis(300) } else { LONG };
        let request = PythonRequest { timeout: Some(limit), ..desk.request(&[stubborn]) };
        let lent = Lent { stopping: stopping.clone(), ..Lent::default() };
        let id = begin(&desk, request, lent).await;
        desk.seen("begun").await;
        let restart = async {
            if way == "restarted" {
                desk.engine.restart(&desk.key()).await.expect("a new kernel");
            }
        };
        match way {
            "taken back" => desk.engine.cancel(&id).expect("it is known"),
            "interrupted" => desk.engine.interrupt(&desk.key()).expect("it is known"),
            _ => {}
        }
        let heard = async {
            tokio::time::timeout(LONG, stopping.cancelled()).await.expect("it is told");
            if way != "restarted" {
                let report = desk.engine.result(&id, Duration::ZERO).await.expect("it is known");
                assert_eq!(report.state, State::Running, "{way}");
            }
            desk.touch("gate");
        };
        tokio::join!(restart, heard);
        let report = desk.engine.settled(&id).await.expect("a report");
        assert!(report.state.is_end(), "{way}: {report:?}");
        for name in ["begun", "gate"] {
            std::fs::remove_file(desk.dir.path().join(name)).expect("it is there");
        }
    }
    desk.engine.shutdown().await;
}
