//! The trace of a backend: each message by its type, and never the content of one.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inkcell_kernel::{
    Death, Direction, ForkServer, KernelInfo, KernelTrace, Message, Messages, RunnerBackend,
    RunnerConfig, ZygoteState,
};

use crate::bench::{Bench, LIMIT, Start, state_dir};

/// Records the trace of a backend.
struct Notes {
    messages: Messages,
    told: Mutex<Vec<String>>,
}

impl Notes {
    fn of(messages: Messages) -> Arc<Notes> {
        Arc::new(Notes { messages, told: Mutex::default() })
    }

    fn add(&self, note: String) {
        self.told.lock().expect("nobody failed").push(note);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.told.lock().expect("nobody failed"))
    }

    /// The notes without the deaths of replaced kernels, which may come late.
    fn take_living(&self) -> Vec<String> {
        self.take().into_iter().filter(|note| !note.starts_with("died")).collect()
    }
}

impl KernelTrace for Notes {
    fn messages(&self) -> Messages {
        self.messages
    }

    fn message(&self, message: &Message<'_>) {
        assert!(message.pid.is_some());
        let way = match message.direction {
            Direction::Sent => ">",
            Direction::Received => "<",
        };
        let id = message.id.map(|id| format!(" {id}")).unwrap_or_default();
        self.add(format!("{way} {} {}{id}", message.channel, message.kind));
    }

    fn started(&self, info: &KernelInfo, _took: Duration) {
        assert!(info.pid.is_some());
        self.add("started".to_owned());
    }

    fn died(&self, pid: Option<u32>, death: &Death) {
        assert!(pid.is_some());
        self.add(format!("died: {}", death.cause));
    }

    fn fork_server(&self, _python: &Path, state: &ZygoteState) {
        if matches!(state, ZygoteState::Refused(_)) {
            self.add(format!("{state:?}"));
        }
    }
}

fn traced(bench: &mut Bench, start: Start, notes: &Arc<Notes>) {
    let (on, off) = (ForkServer::On { wait: LIMIT }, ForkServer::Off);
    let fork_server = if start == Start::Forked { on } else { off };
    let config = RunnerConfig { state_dir: state_dir(), fork_server, spares: 0 };
    let trace = Arc::clone(notes);
    bench.backend = RunnerBackend::traced(config, Some(trace)).expect("a backend");
}

crate::on_every_backend!(each_message_is_told_by_its_type, without_messages_only_lives_are_told);

/// B:C-05: type, id, channel and direction, in the order of the messages.
async fn each_message_is_told_by_its_type(start: Start) {
    let notes = Notes::of(Messages::Told);
    let mut bench = Bench::empty(start);
    traced(&mut bench, start, &notes);
    bench.begin(start).await;
    notes.take();
    bench.relaunch().await;
    let told: Vec<String> = notes
        .take()
        .into_iter()
        .filter(|note| note.contains("hello") || note == "started")
        .collect();
    assert_eq!(told, ["> control hello", "started"]);
    bench.run("print('a secret')").await.ok();
    assert_eq!(
        notes.take_living(),
        ["> control run 1", "< control started 1", "< control stream 1", "< control done 1"]
    );
    bench.run("import os\nos.write(2, b'a secret')\n1/0").await;
    let told = notes.take_living();
    let wanted = ["> control run 2", "< stderr bytes 2", "< control error 2", "< control done 2"];
    let places = wanted.map(|wanted| told.iter().position(|note| note == wanted));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{told:?}");
    bench.kernel().interrupt().expect("it is there");
    assert_eq!(notes.take_living(), ["> signal interrupt"]);
    let kernel = bench.kernel.take().expect("a kernel");
    kernel.shutdown(Duration::from_secs(5)).await;
    let told = notes.take();
    assert!(told.contains(&"> control exit".to_owned()), "{told:?}");
    assert!(told.iter().any(|note| note.starts_with("died: ")), "{told:?}");
}

/// A log that wants no messages is asked once and gets none.
async fn without_messages_only_lives_are_told(start: Start) {
    let notes = Notes::of(Messages::Untold);
    let mut bench = Bench::empty(start);
    traced(&mut bench, start, &notes);
    bench.relaunch().await;
    bench.run("print(1)").await.ok();
    let kernel = bench.kernel.take().expect("a kernel");
    let death = kernel.shutdown(Duration::from_secs(5)).await;
    assert_eq!(notes.take(), ["started".to_owned(), format!("died: {}", death.cause)]);
}
