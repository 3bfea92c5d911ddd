//! Extras that a caller lends to the code of one call: variables that come and go with it, and a notice when it is
//! stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use inkcell_engine::api::{ExecutionId, KernelRequest, KernelWishes, PythonRequest, State};
use inkcell_engine::{CallExtras, CallOptions};
use tokio_util::sync::CancellationToken;

use crate::faults_kit::{Desk, LONG, ME, text, told};

const NAMES: [&str; 4] =
    ["PI_TOOL_BRIDGE_URL", "PI_TOOL_BRIDGE_TOKEN", "PI_TOOL_BRIDGE_SESSION", "PI_TOOL_BRIDGE_RUN"];

/// The variables as a cell sees them.
const SEEN: &str = "import os\nprint([os.environ.get('PI_TOOL_BRIDGE_' + name) \
                    for name in 'URL TOKEN SESSION RUN'.split()])";

const NONE: &str = "[None, None, None, None]";

fn lent(values: [&str; 4]) -> CallExtras {
    let env = NAMES.iter().zip(values).map(|(name, value)| ((*name).to_owned(), value.to_owned()));
    CallExtras { env: env.collect(), ..CallExtras::default() }
}

async fn begin(desk: &Desk, request: PythonRequest, lent: CallExtras) -> ExecutionId {
    let chosen =
        desk.engine.choose(&request.cwd, &KernelWishes::default()).await.expect("a Python");
    let options = CallOptions { lent, ..CallOptions::of(ME) };
    let call = desk.engine.submit(request.on(&chosen), options).await.expect("it begins");
    call.id().clone()
}

/// B:E-30, B:X-40: the bridge's variables belong to one run. Each cell of it has them, even if the one before changed
/// them. Other sessions and the next run of the same session do not have them.
#[tokio::test]
async fn the_variables_of_a_run_come_and_go_with_it() {
    let desk = Desk::new();
    assert_eq!(told(&desk.run(&[SEEN]).await), NONE);
    let spoil = "os.environ['PI_TOOL_BRIDGE_URL'] = 'x'; del os.environ['PI_TOOL_BRIDGE_RUN']";
    let shell = "import subprocess\nsubprocess.run('echo $PI_TOOL_BRIDGE_TOKEN', shell=True);";
    let request = desk.request(&[SEEN, spoil, SEEN, shell]);
    let id = begin(&desk, request, lent(["u", "t", "s", "r"])).await;
    let report = desk.engine.find_call(&id).expect("a report").settled().await;
    assert_eq!(report.state, State::Done, "{report:?}");
    let all = "['u', 't', 's', 'r']\n";
    assert_eq!((text(&report, 0).as_str(), text(&report, 2).as_str()), (all, all));
    assert_eq!(text(&report, 3), "t\n");
    assert_eq!(told(&desk.ask(desk.named("other", &[SEEN])).await), NONE);
    assert_eq!(told(&desk.run(&[SEEN]).await), NONE);
    desk.engine.shutdown().await;
}

/// B:E-30: only variables that are set again before every cell can be taken back, so no others are lent.
#[tokio::test]
async fn other_variables_are_not_lent() {
    let desk = Desk::new();
    let env = vec![("SOMETHING".to_owned(), "x".to_owned())];
    let request = desk.request(&["import os\nprint(os.environ.get('SOMETHING'))"]);
    let id = begin(&desk, request, CallExtras { env, ..CallExtras::default() }).await;
    assert_eq!(told(&desk.engine.find_call(&id).expect("a report").settled().await), "None");
    desk.engine.shutdown().await;
}

/// Reports when it is dropped.
struct Held(Arc<AtomicBool>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// B:X-41: a held value exists during the whole run and is dropped before any reader hears of the end. Code that ends
/// by itself, well or not, was not stopped.
#[tokio::test]
async fn what_is_held_goes_with_the_run() {
    let desk = Desk::new();
    for (last, state) in [("1", State::Done), ("1/0", State::Error)] {
        let wait = crate::faults_kit::wait_for("gate");
        let request = desk.request(&["1", &format!("open('begun', 'w')\n{wait}"), last]);
        let (dropped, stopping) = (Arc::new(AtomicBool::new(false)), CancellationToken::new());
        let held: Option<Box<dyn std::any::Any + Send>> = Some(Box::new(Held(dropped.clone())));
        let lent = CallExtras { held, stopping: stopping.clone(), ..CallExtras::default() };
        let id = begin(&desk, request, lent).await;
        desk.seen("begun").await;
        assert!(!dropped.load(Ordering::SeqCst), "the run goes on");
        desk.touch("gate");
        let report = desk.engine.find_call(&id).expect("a report").settled().await;
        assert_eq!(report.state, state);
        assert!(dropped.load(Ordering::SeqCst), "the run is over");
        assert!(!stopping.is_cancelled());
        for name in ["begun", "gate"] {
            std::fs::remove_file(desk.dir.path().join(name)).expect("it is there");
        }
    }
    desk.engine.shutdown().await;
}

/// B:X-41: the lender hears at once that code is being stopped, whatever the cause, even while the code ignores it.
#[tokio::test]
async fn that_code_is_made_to_stop_is_told_before_it_has() {
    let desk = Desk::new();
    let stubborn = "import os, time\nopen('begun', 'w')\nwhile not os.path.exists('gate'):\n    \
                    try: time.sleep(0.01)\n    except KeyboardInterrupt: pass";
    for way in ["taken back", "interrupted", "out of time", "restarted"] {
        let stopping = CancellationToken::new();
        let limit = if way == "out of time" { Duration::from_millis(300) } else { LONG };
        let request = PythonRequest { timeout: Some(limit), ..desk.request(&[stubborn]) };
        let lent = CallExtras { stopping: stopping.clone(), ..CallExtras::default() };
        let id = begin(&desk, request, lent).await;
        desk.seen("begun").await;
        let restart = async {
            if way == "restarted" {
                desk.act(KernelRequest::Restart).await.expect("a new kernel");
            }
        };
        match way {
            "taken back" => desk.engine.find_call(&id).expect("it is known").cancel(),
            "interrupted" => desk.act(KernelRequest::Interrupt).await.expect("it is known"),
            _ => {}
        }
        let heard = async {
            tokio::time::timeout(LONG, stopping.cancelled()).await.expect("it is told");
            if way != "restarted" {
                let report =
                    desk.engine.find_call(&id).expect("it is known").wait(Duration::ZERO).await;
                assert_eq!(report.state, State::Running, "{way}");
            }
            desk.touch("gate");
        };
        tokio::join!(restart, heard);
        let report = desk.engine.find_call(&id).expect("a report").settled().await;
        assert!(report.state.is_end(), "{way}: {report:?}");
        for name in ["begun", "gate"] {
            std::fs::remove_file(desk.dir.path().join(name)).expect("it is there");
        }
    }
    desk.engine.shutdown().await;
}
