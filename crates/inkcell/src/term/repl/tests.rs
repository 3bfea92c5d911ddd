//! The loop with a scripted user and scripted kernels.

use std::collections::VecDeque;

use inkcell_engine::kernel::{BackendKind, InputReply};
use inkcell_engine::{Backends, Engine};
use inkcell_testkit::scripted::{
    Script, ScriptRequest as KernelAsked, ScriptedBackend, Step as Does,
};
use tempfile::TempDir;

use super::*;
use crate::client::Client;
use crate::host::{Attention, HostEvent, KernelOptions, Life};
use crate::settings::{Profile, Settings, Surroundings, engine_config};
use crate::term::screen::{Echo, Reply, Watcher, Wish};

/// A user who types these entries, gives these replies, and records the screen.
#[derive(Default)]
struct Typist {
    entries: VecDeque<Entry>,
    replies: VecDeque<Reply>,
    /// Stops the running cell as soon as it has shown this text.
    stops_at: Option<&'static str>,
    seen: Vec<String>,
}

impl Typist {
    fn typing(texts: &[&str]) -> Typist {
        let entries = texts.iter().map(|text| Entry::Text((*text).to_owned())).collect();
        Typist { entries, ..Typist::default() }
    }
}

impl Watcher for Typist {
    fn event(&mut self, event: HostEvent) -> Result<(), Failure> {
        if let HostEvent::Exec { event: ExecEvent::Stream { data, .. }, .. } = event {
            self.seen.push(format!("shows {}", String::from_utf8_lossy(&data)));
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<Wish, Failure> {
        let is_it =
            self.stops_at.is_some_and(|text| self.seen.iter().any(|seen| seen.contains(text)));
        if is_it {
            self.stops_at = None;
            return Ok(Wish::Stop);
        }
        Ok(Wish::GoOn)
    }

    fn ask(
        &mut self,
        prompt: &str,
        echo: Echo,
        _is_wanted: &mut dyn FnMut() -> bool,
    ) -> Result<Reply, Failure> {
        self.seen.push(format!("asked {prompt:?} {echo:?}"));
        Ok(self.replies.pop_front().unwrap_or(Reply::Interrupted))
    }
}

impl Face for Typist {
    fn read(&mut self) -> Result<Entry, Failure> {
        Ok(self.entries.pop_front().unwrap_or(Entry::End))
    }

    fn began(&mut self, source: &CellSource) -> Result<(), Failure> {
        self.seen.push(format!("began {}", source.code));
        Ok(())
    }

    fn ended(&mut self, summary: Option<&Summary>) -> Result<(), Failure> {
        let state = summary.map(|summary| summary.report.state);
        self.seen.push(format!("ended {state:?}"));
        Ok(())
    }

    fn say(&mut self, text: &str) -> Result<(), Failure> {
        self.seen.push(format!("says {text}"));
        Ok(())
    }

    fn warn(&mut self, text: &str) -> Result<(), Failure> {
        self.seen.push(format!("warns {text}"));
        Ok(())
    }
}

struct Bench {
    backend: ScriptedBackend,
    talk: Shared,
    dir: TempDir,
}

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let settings = Settings::of(Surroundings::of_process(&[], Some(dir.path()))).ok().unwrap();
        let settings = Arc::new(settings);
        let mut config = engine_config(&settings, Profile::CommandLine);
        config.kernels.state_dir = dir.path().join("state");
        config.artifacts.state_dir = dir.path().join("state");
        let python = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        config.kernels.interpreter = Some(python);
        let backend = ScriptedBackend::new();
        let engine = Engine::new(config, Backends::only(Arc::new(backend.clone())));
        let talk = Talk {
            client: Client::local(engine, &settings, Life::Long).ok().unwrap(),
            settings,
            session: None,
            cwd: dir.path().to_owned(),
            wanted: Default::default(),
            kernel: KernelOptions::default(),
            attention: Attention::Quiet,
        };
        Bench { backend, talk: Arc::new(Mutex::new(talk)), dir }
    }

    fn run(&self, typist: &mut Typist) -> Option<Exit> {
        Repl::new(Arc::clone(&self.talk), typist).run().ok().unwrap()
    }
}

fn line(text: &str) -> Reply {
    Reply::Given(InputReply::Line(text.to_owned()))
}

/// Issue 9: cells, questions and commands in turn. The prompt continues after any result.
#[test]
fn cells_are_run_and_shown_one_after_the_other() {
    let bench = Bench::new();
    assert_eq!(locked(&bench.talk).reference().wanted.backend, None::<BackendKind>);
    bench.backend.plan_code("a", Script::new([Does::print("one")]));
    bench.backend.plan_code("b", Script::new([Does::fail("ValueError", "no")]));
    let mut typist = Typist::typing(&["a", "", ":nothing", "b", "a"]);
    let exit = bench.run(&mut typist);
    assert_eq!(
        typist.seen,
        [
            "began a",
            "shows one",
            "ended Some(Done)",
            "warns error: unknown command ':nothing'\nhint: list the commands with ':help'",
            "began b",
            "ended Some(Error)",
            "began a",
            "shows one",
            "ended Some(Done)",
        ]
    );
    assert_eq!(exit, Some(Exit::Failed));
}

/// Issue 9: a cell's question gets the typed line, and a password stays hidden.
#[test]
fn lines_that_a_cell_asks_for_are_typed() {
    let bench = Bench::new();
    let ask = |prompt: &str, password| Does::Ask { prompt: prompt.to_owned(), password };
    bench.backend.plan_code("a", Script::new([ask("name? ", false), ask("key? ", true)]));
    let mut typist = Typist::typing(&["a"]);
    typist.replies = [line("Ada"), line("secret")].into();
    bench.run(&mut typist);
    let wanted = [
        "began a",
        "asked \"name? \" Shown",
        "shows Ada",
        "asked \"key? \" Hidden",
        "shows secret",
        "ended Some(Done)",
    ];
    assert_eq!(typist.seen, wanted);
    // Without a reply the cell is stopped, and the next one runs.
    let mut typist = Typist::typing(&["a", "b"]);
    bench.run(&mut typist);
    let wanted = [
        "began a",
        "asked \"name? \" Shown",
        "ended Some(Cancelled)",
        "began b",
        "ended Some(Done)",
    ];
    assert_eq!(typist.seen, wanted);
}

/// Issue 9: a stop interrupts the running cell, once, and not the prompt.
#[test]
fn a_wish_to_stop_interrupts_the_cell_alone() {
    let bench = Bench::new();
    bench.backend.plan_code("a", Script::new([Does::print("go"), Does::Hang]));
    let mut typist = Typist { stops_at: Some("go"), ..Typist::typing(&["a", "b"]) };
    bench.run(&mut typist);
    let wanted = ["began a", "shows go", "ended Some(Cancelled)", "began b", "ended Some(Done)"];
    assert_eq!(typist.seen, wanted);
    let asked = bench.backend.asked();
    let interrupts = asked.iter().filter(|(_, asked)| *asked == KernelAsked::Interrupt).count();
    assert_eq!(interrupts, 1, "{asked:?}");
}

/// Issue 9: the cells are saved as a notebook with outputs. An existing file is not overwritten by
/// accident.
#[test]
fn what_was_run_is_saved_as_a_notebook() {
    let bench = Bench::new();
    bench.backend.plan_code("a", Script::new([Does::print("one\n"), Does::display("d", "old")]));
    let change = ExecEvent::UpdateDisplay {
        id: inkcell_engine::kernel::DisplayId("d".into()),
        data: inkcell_testkit::scripted::plain_text("new"),
    };
    bench.backend.plan_code("b", Script::new([Does::Emit(change), Does::fail("E", "no")]));
    let path = bench.dir.path().join("work.ipynb").display().to_string();
    let save = format!(":save {path}");
    let over = format!(":save! {path}");
    let mut typist = Typist::typing(&["a", "b", &save, &save, "c", &over]);
    bench.run(&mut typist);
    let said: Vec<&str> =
        typist.seen.iter().filter(|seen| seen.contains("ipynb")).map(String::as_str).collect();
    assert_eq!(said[0], format!("says Saved 2 cells to {path}."));
    assert!(said[1].starts_with("warns error: ") && said[1].contains(":save! "), "{said:?}");
    assert_eq!(said[2], format!("says Saved 3 cells to {path}."));
    let file: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let cells = file["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 3);
    assert_eq!(cells[0]["source"], serde_json::json!(["a"]));
    assert_eq!(cells[0]["execution_count"], 1);
    let outputs = cells[0]["outputs"].as_array().unwrap();
    assert_eq!(outputs[0]["text"], serde_json::json!(["one\n"]));
    assert_eq!(
        outputs[1]["data"]["text/plain"],
        serde_json::json!(["new"]),
        "changed by a later cell"
    );
    assert_eq!(cells[1]["outputs"][0]["ename"], "E");
}

/// Issue 9: a cell from a pipe runs as soon as it is complete. Its questions read from the same pipe.
#[test]
fn cells_are_read_from_a_pipe() {
    struct Nothing;
    impl crate::view::live::Show for Nothing {
        fn end(&mut self, _: &Summary) -> std::io::Result<()> {
            Ok(())
        }
    }
    let text = "\n\nx = 1\ndef f():\n    y\n\nf()\nif x:\n    y\nz\nAda\r\n%%bash\n(\n\nlast(";
    let mut piped = piped::PipeRepl::new(text.as_bytes(), Nothing);
    let mut next = || match piped.read().ok().unwrap() {
        Entry::Text(text) => text,
        other => format!("{other:?}"),
    };
    assert_eq!(next(), "x = 1");
    assert_eq!(next(), "def f():\n    y\n");
    assert_eq!(next(), "f()");
    assert_eq!(next(), "if x:\n    y\nz");
    let reply = piped.ask("", Echo::Shown, &mut || true).ok().unwrap();
    assert_eq!(reply, line("Ada"));
    let mut next = || piped.read().ok().unwrap();
    assert_eq!(next(), Entry::Text("%%bash\n(\n".to_owned()));
    assert_eq!(next(), Entry::Text("last(".to_owned()), "Python says what is wrong with it");
    assert_eq!(next(), Entry::End);
    assert_eq!(
        piped.ask("", Echo::Shown, &mut || true).ok().unwrap(),
        Reply::Given(InputReply::End)
    );
}
