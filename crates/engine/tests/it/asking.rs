//! Code that asks for lines: the caller types them, on real kernels of both kinds.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use inkcell_engine::api::{ExecutionId, KernelWishes, PythonReport, PythonRequest, State};
use inkcell_engine::kernel::{
    Backend, ExecEvent, InputMode, InputReply, KernelEvent, Transport, ZmqBackend, ZmqConfig,
};
use inkcell_engine::{CallOptions, Kind, TapEvent};
use inkcell_testkit::need;
use tokio::sync::mpsc;

use crate::faults_kit::{Desk, LONG, ME, text, told};

/// A desk with IPython's kernels.
fn jupyter() -> Desk {
    let backend = |dir: &Path| -> Arc<dyn Backend> {
        let config = ZmqConfig {
            state_dir: dir.join("state"),
            runtime_dir: dir.join("run"),
            transport: Transport::Ipc,
            pool: 0,
        };
        Arc::new(ZmqBackend::new(config).expect("a backend"))
    };
    Desk::on(|_| {}, backend)
}

fn has_ipykernel(test: &str) -> bool {
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    need::python_package(test, &python, "ipykernel")
}

/// A call that may ask, with the caller's end of it.
struct Asker<'a> {
    desk: &'a Desk,
    id: ExecutionId,
    events: mpsc::Receiver<TapEvent>,
}

impl<'a> Asker<'a> {
    async fn begin(desk: &'a Desk, request: PythonRequest) -> Asker<'a> {
        let request = PythonRequest { input: InputMode::Ask, ..request };
        let chosen =
            desk.engine.choose(&request.cwd, &KernelWishes::default()).await.expect("a kernel");
        let (tap, events) = mpsc::channel(16);
        let options = CallOptions { tap: Some(tap), ..CallOptions::of(ME) };
        let call = desk.engine.submit(request.on(&chosen), options).await.expect("it begins");
        let id = call.id().clone();
        Asker { desk, id, events }
    }

    /// The next question, or `None` when the call is over.
    async fn asked(&mut self) -> Option<(String, bool)> {
        loop {
            let next = tokio::time::timeout(LONG, self.events.recv()).await.expect("in time");
            let (_, KernelEvent::Exec { event, .. }) = next? else { continue };
            if let ExecEvent::InputRequested { prompt, password } = event {
                return Some((prompt, password));
            }
        }
    }

    fn reply(&self, line: &str) {
        let reply = InputReply::Line(line.to_owned());
        self.desk
            .engine
            .find_call(&self.id)
            .expect("it is known")
            .reply_input(reply)
            .expect("it waits");
    }

    async fn end(mut self) -> PythonReport {
        assert_eq!(self.asked().await, None);
        self.desk.engine.find_call(&self.id).expect("it is known").settled().await
    }
}

async fn lines_come_from_the_caller(desk: Desk) {
    let cells = ["a = input('a? ')\nprint(a + input('b? '))", "import getpass\ngetpass.getpass()"];
    let mut asker = Asker::begin(&desk, desk.request(&cells)).await;
    assert_eq!(asker.asked().await, Some(("a? ".to_owned(), false)));
    // The call stays running, and watchers see the question.
    let seen = desk.engine.find_call(&asker.id).expect("it is known").wait(Duration::ZERO).await;
    assert_eq!((seen.state, seen.cells[0].state), (State::Running, State::Running));
    asker.reply("x");
    assert_eq!(asker.asked().await, Some(("b? ".to_owned(), false)));
    asker.reply("y");
    let Some((_, true)) = asker.asked().await else { panic!("a password is hidden") };
    asker.reply("z");
    let report = asker.end().await;
    assert_eq!(report.state, State::Done, "{report:?}");
    assert_eq!(text(&report, 0), "xy\n");
    let late = desk
        .engine
        .find_call(&report.execution)
        .expect("it is known")
        .reply_input(InputReply::End)
        .expect_err("late");
    assert_eq!(late.kind(), Kind::Invalid, "{late}");

    let code = "def work():\n    x = 41\n    breakpoint()\n    return x\nprint(work())";
    let mut asker = Asker::begin(&desk, desk.request(&[code])).await;
    for line in ["p x + 1", "c"] {
        asker.asked().await.expect("the debugger asks");
        asker.reply(line);
    }
    let report = asker.end().await;
    assert_eq!(report.state, State::Done, "{report:?}");
    assert!(text(&report, 0).contains("42"), "{}", text(&report, 0));
    desk.engine.shutdown().await;
}

/// Issue 9, on the runner's kernel.
#[tokio::test]
async fn lines_come_from_the_caller_on_the_runner() {
    lines_come_from_the_caller(Desk::new()).await;
}

/// Issue 9, on IPython's kernel.
#[tokio::test]
async fn lines_come_from_the_caller_on_ipykernel() {
    if !has_ipykernel("lines_come_from_the_caller_on_ipykernel") {
        return;
    }
    lines_come_from_the_caller(jupyter()).await;
}

async fn a_wait_for_a_line_ends_as_everything_does(desk: Desk) {
    // The call is cancelled.
    let mut asker = Asker::begin(&desk, desk.request(&["kept = 1\ninput('never? ')"])).await;
    asker.asked().await.expect("a question");
    desk.engine.find_call(&asker.id).expect("it is known").cancel();
    assert_eq!(asker.end().await.state, State::Cancelled);
    // The end of input.
    let mut asker = Asker::begin(&desk, desk.request(&["input('end? ')"])).await;
    asker.asked().await.expect("a question");
    desk.engine
        .find_call(&asker.id)
        .expect("it is known")
        .reply_input(InputReply::End)
        .expect("it waits");
    assert_eq!(asker.end().await.state, State::Error);
    // The caller is gone.
    let mut asker = Asker::begin(&desk, desk.request(&["input('anybody? ')"])).await;
    asker.asked().await.expect("a question");
    let (id, events) = (asker.id, asker.events);
    drop(events);
    let report = desk.engine.find_call(&id).expect("it is known").settled().await;
    assert_eq!(report.state, State::InputRefused, "{report:?}");
    // A time limit; waiting counts, too.
    let limited =
        PythonRequest { timeout: Some(Duration::from_secs(1)), ..desk.request(&["input()"]) };
    let mut asker = Asker::begin(&desk, limited).await;
    asker.asked().await.expect("a question");
    assert_eq!(asker.end().await.state, State::TimedOut);
    // The kernel lives, and a call that may not ask is still refused.
    assert_eq!(told(&desk.run(&["print(kept)"]).await), "1");
    assert_eq!(desk.run(&["input()"]).await.state, State::InputRefused);
    let unheard = PythonRequest { input: InputMode::Ask, ..desk.request(&["input()"]) };
    assert_eq!(desk.ask(unheard).await.state, State::InputRefused, "nobody can be asked");
    desk.engine.shutdown().await;
}

/// Issue 9 B:X-25, on the runner's kernel.
#[tokio::test]
async fn a_wait_for_a_line_ends_as_everything_does_on_the_runner() {
    a_wait_for_a_line_ends_as_everything_does(Desk::new()).await;
}

/// Issue 9 B:X-25, on IPython's kernel.
#[tokio::test]
async fn a_wait_for_a_line_ends_as_everything_does_on_ipykernel() {
    if !has_ipykernel("a_wait_for_a_line_ends_as_everything_does_on_ipykernel") {
        return;
    }
    a_wait_for_a_line_ends_as_everything_does(jupyter()).await;
}
