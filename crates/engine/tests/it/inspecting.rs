//! Inspection of a session's names through the engine, on real kernels.

use std::time::Duration;

use inkcell_engine::api::{
    Inspect, InspectRequest, InspectionAnswer, KernelRequest, RunningReport, State, TableDigest,
    Variable, VariableDigest,
};
use inkcell_engine::kernel::Shell;
use inkcell_engine::registry::SessionName;
use inkcell_engine::session::Loss;
use inkcell_engine::{EngineError, InspectError, Kind, SessionError};

use crate::faults_kit::{Desk, LONG, answer, text, told, wait_for};

impl Desk {
    fn question(&self, what: Inspect, wait: Duration) -> InspectRequest {
        InspectRequest { session: self.here(), what, wait: Some(wait), behind: None }
    }

    async fn look(&self, what: Inspect) -> Result<InspectionAnswer, EngineError> {
        let report = answer(&self.engine, self.question(what, LONG)).await?;
        assert_eq!(report.session, SessionName("default".to_owned()));
        Ok(report.seen)
    }

    async fn look_behind(
        &self,
        what: Inspect,
        limit: Duration,
    ) -> Result<InspectionAnswer, EngineError> {
        let request = InspectRequest { behind: Some(limit), ..self.question(what, LONG) };
        Ok(answer(&self.engine, request).await?.seen)
    }

    async fn refused(&self, what: Inspect) -> InspectError {
        match self.look(what).await {
            Err(EngineError::Inspect(error)) => error,
            other => panic!("{other:?}"),
        }
    }

    async fn variables(&self) -> Vec<Variable> {
        match self.look(Inspect::Variables { limit: None }).await.expect("an answer") {
            InspectionAnswer::Variables(list) => {
                assert!(list.complete && list.total == list.variables.len() as u64, "{list:?}");
                list.variables
            }
            other => panic!("{other:?}"),
        }
    }

    async fn digest(&self, name: &str) -> VariableDigest {
        match self.look(named(name)).await.expect("an answer") {
            InspectionAnswer::Name(digest) => *digest,
            other => panic!("{other:?}"),
        }
    }

    async fn table(&self, name: &str) -> TableDigest {
        match self.look(Inspect::Table { name: name.to_owned() }).await.expect("an answer") {
            InspectionAnswer::Table(digest) => *digest,
            other => panic!("{other:?}"),
        }
    }
}

fn named(name: &str) -> Inspect {
    Inspect::Name { name: name.to_owned() }
}

/// Returns true if the Python of the tests has pandas, which makes the test data.
fn has_pandas(test: &str) -> bool {
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    inkcell_testkit::need::python_package(test, &python, "pandas")
}

const DATA: &str = "import numpy as np, pandas as pd\n\
    text, count, rows = 'hello', 41, [{'a': 1, 'b': 'x'}, {'a': None, 'b': 'yyy'}]\n\
    grid = np.zeros((3, 4)); nothing = None; pairs = {'k': [1, 2]}\n\
    df = pd.DataFrame({'n': [3, 1, None], 's': ['a', 'bb', 'bb'], 't': pd.to_datetime(['2024-01-02'] * 3)})\n\
    def area(width, height=2):\n    'The area of a box.'\n    return width * height";

#[tokio::test]
async fn variables_have_type_shape_size_and_preview() {
    if !has_pandas("variables_have_type_shape_size_and_preview") {
        return;
    }
    let desk = Desk::new();
    told(&desk.run(&[DATA]).await);
    let all = desk.variables().await;
    let seen = |name: &str| {
        let found = all.iter().find(|variable| variable.name == name);
        found.unwrap_or_else(|| panic!("no {name} in {all:?}")).clone()
    };
    let df = seen("df");
    assert_eq!((df.kind.as_str(), df.shape), ("table", Some(vec![3, 3])));
    assert!(df.type_name.ends_with("DataFrame") && df.bytes > Some(0), "{df:?}", df = seen("df"));
    let grid = seen("grid");
    assert_eq!((grid.kind.as_str(), grid.shape, grid.bytes), ("array", Some(vec![3, 4]), Some(96)));
    let text = seen("text");
    assert_eq!((text.length, text.preview.as_deref()), (Some(5), Some("'hello'")));
    assert_eq!(seen("count").preview.as_deref(), Some("41"));
    assert_eq!(seen("area").kind, "function");
    assert_eq!(seen("np").kind, "module");
    let kinds: Vec<&str> = all.iter().map(|variable| variable.kind.as_str()).collect();
    let first_module = kinds.iter().position(|kind| *kind == "module");
    assert!(
        first_module > kinds.iter().position(|kind| *kind == "scalar"),
        "data first: {kinds:?}"
    );

    let limited = desk.look(Inspect::Variables { limit: Some(2) }).await.expect("an answer");
    let InspectionAnswer::Variables(list) = limited else { panic!("{limited:?}") };
    assert_eq!((list.variables.len(), list.total), (2, all.len() as u64));
    desk.engine.shutdown().await;
}

#[tokio::test]
async fn a_table_has_its_columns_nulls_ranges_and_first_rows() {
    if !has_pandas("a_table_has_its_columns_nulls_ranges_and_first_rows") {
        return;
    }
    let desk = Desk::new();
    told(&desk.run(&[DATA]).await);
    let digest = desk.digest("df").await;
    assert_eq!((digest.inside.as_deref(), digest.total), (Some("columns"), 3));
    let table = digest.table.expect("its figures");
    assert_eq!((table.rows, table.width, table.head.len()), (3, 3, 3));
    assert_eq!(table.index.as_ref().map(|index| index.head.len()), Some(3));
    let [n, s, t] = &table.columns[..] else { panic!("{table:?}") };
    assert_eq!((n.name.as_str(), n.nulls, n.min.as_deref()), ("n", Some(1), Some("1.0")));
    assert_eq!((n.max.as_deref(), n.distinct), (Some("3.0"), Some(2)));
    assert_eq!((s.lengths, s.distinct), (Some((1, 2)), Some(2)));
    assert!(t.min.as_deref().is_some_and(|min| min.starts_with("2024-01-02")), "{t:?}");
    assert_eq!(table, desk.table("df").await);
    // A list of dicts is a table only on request.
    assert_eq!(desk.digest("rows").await.table, None);
    let rows = desk.table("rows").await;
    assert_eq!((rows.rows, rows.columns[0].nulls), (2, Some(1)));
    let Err(EngineError::Inspect(InspectError::Unseen { problem })) =
        desk.look(Inspect::Table { name: "count".to_owned() }).await
    else {
        panic!("a number is no table")
    };
    assert!(problem.starts_with("count is no table"), "{problem}");
    desk.engine.shutdown().await;
}

#[tokio::test]
async fn help_and_completion() {
    if !has_pandas("help_and_completion") {
        return;
    }
    let desk = Desk::new();
    told(&desk.run(&[DATA]).await);
    let help = desk.look(Inspect::Help { name: "area".to_owned() }).await.expect("an answer");
    let InspectionAnswer::Help(help) = help else { panic!("{help:?}") };
    assert_eq!(help.signature.as_deref(), Some("area(width, height=2)"));
    assert_eq!(help.doc.as_deref(), Some("The area of a box."));
    assert!(help.source.is_some_and(|source| source.contains("return width * height")));
    let helpers = desk.look(Inspect::Help { name: "prelude".to_owned() }).await.expect("an answer");
    let InspectionAnswer::Helpers(list) = helpers else { panic!("{helpers:?}") };
    assert!(list.helpers.iter().any(|helper| helper.installed && helper.doc.is_some()), "{list:?}");

    let complete = |code: &str, cursor| Inspect::Complete { code: code.to_owned(), cursor };
    for (code, cursor, start, wanted) in [
        ("'ä'; coun", None, 5, "count"),
        ("df.iloc + 1", Some(5), 3, "iloc"),
        ("rows[0]['", None, 9, "a"),
    ] {
        let found = desk.look(complete(code, cursor)).await.expect("an answer");
        let InspectionAnswer::Completions(found) = found else { panic!("{found:?}") };
        assert_eq!(found.start, start, "{code}");
        assert!(found.matches.iter().any(|one| one.text == wanted), "{code}: {found:?}");
    }
    let Err(EngineError::Inspect(InspectError::Unseen { problem })) =
        desk.look(complete("x", Some(9))).await
    else {
        panic!("there is no such place")
    };
    assert!(problem.contains("`cursor` is 9"), "{problem}");
    desk.engine.shutdown().await;
}

/// Names are followed and never evaluated, so that an inspection changes nothing and cannot hang.
#[tokio::test]
async fn code_of_the_user_is_not_run_by_a_look() {
    for shell in [Shell::Lite, Shell::IPython] {
        let desk = Desk::with(|config| config.kernels.shell = shell);
        let code = "import time\ncalls = []\nclass Odd:\n    kept = 1\n    @property\n    def counted(self): calls.append(1)\n    \
            @property\n    def raises(self): raise SystemExit(3)\n    @property\n    def sleeps(self): time.sleep(3600)\n    \
            def __repr__(self): calls.append(2); time.sleep(3600)\n    def __len__(self): calls.append(3); return 1\n    \
            def __getattr__(self, name): calls.append(4); time.sleep(3600)\n    def __dir__(self): calls.append(5); return []\n\
            odd = Odd()\nmany = [odd, odd]\n41 + 1";
        assert_eq!(told(&desk.run(&[code]).await), "42");
        for name in ["odd.counted", "odd.raises", "odd.sleeps", "odd.nothing"] {
            let error = desk.refused(named(name)).await;
            assert!(matches!(error, InspectError::Unseen { .. }), "{name}: {error:?}");
        }
        desk.variables().await;
        desk.digest("odd").await;
        desk.digest("many").await;
        for code in ["odd.", "many[0].", "odd.kept"] {
            let complete = Inspect::Complete { code: code.to_owned(), cursor: None };
            desk.look(complete).await.expect("an answer");
        }
        desk.look(Inspect::Help { name: "odd.sleeps".to_owned() }).await.expect("an answer");
        let after = desk.run(&["calls, _, len(In), list(Out)"]).await;
        assert_eq!((told(&after).as_str(), after.cells[0].count), ("([], 42, 3, [1])", Some(2)));
        desk.engine.shutdown().await;
    }
}

#[tokio::test]
async fn a_name_that_is_not_there_has_a_nearest() {
    let desk = Desk::new();
    told(&desk.run(&["training_rows = 1\nother = 2"]).await);
    for (asked, wanted) in [
        ("trainig_rows", Some("training_rows")),
        ("trainig_rows[0].shape", Some("training_rows")),
        ("zzz", None),
    ] {
        for what in [named(asked), Inspect::Help { name: asked.to_owned() }] {
            let error = desk.refused(what).await;
            let InspectError::Undefined { nearest, .. } = &error else { panic!("{error:?}") };
            assert_eq!(nearest.as_deref(), wanted);
            assert_eq!(
                error.to_string().contains("The nearest is training_rows."),
                wanted.is_some()
            );
            assert_eq!(EngineError::from(error).kind(), Kind::NotFound);
        }
    }
    desk.engine.shutdown().await;
}

/// A question does not wait for the running cell, and does not harm it.
#[tokio::test]
async fn a_session_that_runs_a_cell_says_what_it_runs() {
    let desk = Desk::new();
    let code = format!("x = 7\nopen('begun', 'w').close()\n{}\n'over'", wait_for("gate"));
    let mut request = desk.request(&[&code]);
    request.cells[0].title = Some("the long one".to_owned());
    request.wait = Some(Duration::ZERO);
    let begun = desk.ask(request).await;
    desk.seen("begun").await;
    let error = desk.refused(named("x")).await;
    let InspectError::Busy { running: Some(RunningReport { execution, title, .. }), .. } = &error
    else {
        panic!("{error:?}")
    };
    assert_eq!((execution.as_ref(), title.as_str()), (Some(&begun.execution), "the long one"));
    assert_eq!(EngineError::from(error).kind(), Kind::Busy);
    desk.touch("gate");
    let ended = desk.end(&begun).await;
    assert_eq!((ended.state, text(&ended, 0).as_str()), (State::Done, "'over'\n"));
    assert_eq!(desk.digest("x").await.variable.preview.as_deref(), Some("7"));
    desk.engine.shutdown().await;
}

/// An inspection starts no kernel: an unknown session is an error that names existing ones, and a dead kernel is
/// reported.
#[tokio::test]
async fn there_must_be_something_to_look_at() {
    let desk = Desk::new();
    let Err(EngineError::Session(SessionError::NoSession { known, .. })) =
        desk.look(named("x")).await
    else {
        panic!("there is no session")
    };
    assert!(known.is_empty());
    desk.ask(desk.named("other", &["1"])).await;
    let Err(error) = desk.look(named("x")).await else { panic!("there is no such session") };
    assert_eq!(error.to_string(), "no session named 'default'; the nearest is other (idle)");
    assert_eq!(error.kind(), Kind::NotFound);

    let died = desk.run(&["import os\nos._exit(3)"]).await;
    assert_eq!(died.state, State::KernelDied);
    let error = desk.refused(named("x")).await;
    assert!(matches!(error, InspectError::Lost { loss: Loss::Died(_), .. }), "{error:?}");
    assert!(
        error.to_string().contains("lost its kernel and its variables: it exited with code 3"),
        "{error}"
    );
    // An inspection does not deliver the note: the next call still does.
    assert_eq!(desk.run(&["1"]).await.cells[0].notes.len(), 1);
    desk.act(KernelRequest::Restart).await.expect("it is there");
    assert!(matches!(desk.refused(named("x")).await, InspectError::NoKernel { .. }));
    desk.engine.shutdown().await;
}

/// Issue 21, 1: an inspection after a call sees the results of the call, or that it still runs.
#[tokio::test]
async fn a_look_waits_for_the_calls_before_it() {
    let desk = Desk::new();
    told(&desk.run(&["import os, time\nzz = 0"]).await);
    let code = "open('begun', 'w').close()\n\
        while not os.path.exists('go'): time.sleep(0.01)\nzz = 1";
    let what = || Inspect::Name { name: "zz".to_owned() };
    let codes = [code];
    let (ran, (busy, seen)) = tokio::join!(desk.run(&codes), async {
        desk.seen("begun").await;
        let busy = desk.look_behind(what(), Duration::from_millis(1)).await;
        let (seen, written) = tokio::join!(desk.look_behind(what(), LONG), async {
            std::fs::write(desk.dir.path().join("go"), "")
        });
        written.expect("a file");
        (busy, seen)
    });
    told(&ran);
    let is_busy = matches!(busy, Err(EngineError::Inspect(InspectError::Busy { .. })));
    assert!(is_busy, "{busy:?}");
    let Ok(InspectionAnswer::Name(digest)) = seen else { panic!("{seen:?}") };
    assert_eq!(digest.variable.preview.as_deref(), Some("1"));
    desk.engine.shutdown().await;
}

/// A question that hangs is given up, and one that ends the kernel is answered; the session goes on.
#[tokio::test]
async fn a_question_that_hangs_or_kills_is_answered() {
    let desk = Desk::new();
    // The search for modules stands for a file system that does not respond.
    let code = "import os, pkgutil, time\nkept, kept_too = pkgutil.iter_modules, 1\n\
        def hang():\n    while True: time.sleep(0.01)\npkgutil.iter_modules = hang";
    told(&desk.run(&[code]).await);
    let what = Inspect::Complete { code: "import nu".to_owned(), cursor: None };
    let question = desk.question(what.clone(), Duration::from_millis(300));
    let hung = answer(&desk.engine, question).await;
    assert!(matches!(hung, Err(EngineError::Inspect(InspectError::TimedOut { .. }))), "{hung:?}");
    let die = "pkgutil.iter_modules = lambda: os._exit(7)\nkept_too";
    assert_eq!(told(&desk.run(&[die]).await), "1");
    let error = desk.refused(what).await;
    assert!(matches!(error, InspectError::Ended { death: Some(_), .. }), "{error:?}");
    let next = desk.run(&["'again'"]).await;
    assert_eq!((told(&next).as_str(), next.cells[0].notes.len()), ("'again'", 1));
    desk.engine.shutdown().await;
}
