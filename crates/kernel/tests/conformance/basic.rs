//! Tier 1: code runs, state stays, results and errors arrive, and every execution ends once.

use inkcell_kernel::{ExecEvent, History, Outcome};

use crate::bench::{Bench, Start};

/// B:R-04 B:R-09 B:R-30 B:R-31
async fn a_cell_starts_shows_its_value_and_ends(start: Start) {
    let mut bench = Bench::start(start).await;
    let ran = bench.run("x = 20\nx + 22").await.ok();
    assert!(matches!(ran.events[0], ExecEvent::Started { count: Some(1) }), "{:?}", ran.events);
    assert_eq!(ran.result().as_deref(), Some("42"));
    let ends = ran.events.iter().filter(|event| matches!(event, ExecEvent::Finished(_)));
    assert_eq!(ends.count(), 1);
    for (code, value) in [
        ("x", Some("20")),
        ("x;", None),
        ("y = 1", None),
        ("", None),
        ("# only", None),
        ("None", None),
    ] {
        let ran = bench.run(code).await.ok();
        assert_eq!(ran.result().as_deref(), value, "{code:?}");
    }
    let ran = bench.run("_, __, In[1], Out[1]").await.ok();
    assert!(ran.result().expect("a result").starts_with("(20, 42, 'x = 20"), "{:?}", ran.result());
}

async fn what_is_done_on_the_side_has_no_number(start: Start) {
    let mut bench = Bench::start(start).await;
    let exec = bench.post("side = 5\nside", History::Silent);
    let ran = bench.collect(exec).await.ok();
    assert!(matches!(ran.events[0], ExecEvent::Started { count: None }));
    assert_eq!(ran.result(), None);
    let ran = bench.run("side").await.ok();
    assert!(matches!(ran.events[0], ExecEvent::Started { count: Some(1) }));
    assert_eq!(ran.result().as_deref(), Some("5"));
}

/// B:R-33
async fn an_exception_is_an_outcome_and_state_stays(start: Start) {
    let mut bench = Bench::start(start).await;
    let ran = bench.run("kept = 1\ndef fail():\n    return 1 / 0\nfail()").await;
    let error = ran.error();
    assert_eq!(
        (error.name.as_str(), error.value.as_str()),
        ("ZeroDivisionError", "division by zero")
    );
    let text = error.plain.join("\n");
    for part in
        ["Cell In[1], line 4", "Cell In[1], line 3, in fail()", "----> 4 fail()", "return 1 / 0"]
    {
        assert!(text.contains(part), "{part:?} in\n{text}");
    }
    assert!(error.traceback.join("").contains('\u{1b}'), "the form for the file is coloured");
    assert!(!text.contains('\u{1b}'), "the form for the reader is not");
    assert_eq!(bench.run("kept").await.ok().result().as_deref(), Some("1"));
    assert_eq!(bench.run("x = )").await.error().name, "SyntaxError");
    let ran = bench.run("raise SystemExit(3)").await;
    assert_eq!((ran.error().name.as_str(), ran.error().value.as_str()), ("SystemExit", "3"));
    assert_eq!(bench.run("kept").await.outcome(), &Outcome::Ok);
}

/// B:R-32
async fn await_works_at_the_top_level_on_one_loop(start: Start) {
    let mut bench = Bench::start(start).await;
    let code = "import asyncio\nloop = asyncio.get_running_loop()\nawait asyncio.sleep(0)\n7";
    let ran = bench.run(code).await.ok();
    assert_eq!(ran.result().as_deref(), Some("7"));
    let same = "async def same():\n    return asyncio.get_running_loop() is loop\nawait same()";
    assert_eq!(bench.run(same).await.ok().result().as_deref(), Some("True"));
}

/// B:R-38 B:X-25 F-044
async fn input_is_refused_at_once(start: Start) {
    let mut bench = Bench::start(start).await;
    for code in
        ["input('name? ')", "import sys\nsys.stdin.readline()", "import getpass\ngetpass.getpass()"]
    {
        let ran = bench.run(code).await;
        let asked =
            ran.events.iter().any(|event| matches!(event, ExecEvent::InputRequested { .. }));
        assert!(asked, "{code}: {:?}", ran.events);
        assert_eq!(ran.error().name, "StdinNotImplementedError", "{code}");
    }
    let ran = bench.run("import subprocess\nsubprocess.run(['cat']).returncode").await.ok();
    assert_eq!(ran.result().as_deref(), Some("0"));
}

crate::on_gateways!(
    a_cell_starts_shows_its_value_and_ends,
    what_is_done_on_the_side_has_no_number,
    an_exception_is_an_outcome_and_state_stays,
    await_works_at_the_top_level_on_one_loop,
);
crate::on_another_machine!(
    a_cell_starts_shows_its_value_and_ends,
    an_exception_is_an_outcome_and_state_stays,
);

crate::on_every_shell!(
    a_cell_starts_shows_its_value_and_ends,
    what_is_done_on_the_side_has_no_number,
    an_exception_is_an_outcome_and_state_stays,
    await_works_at_the_top_level_on_one_loop,
    input_is_refused_at_once
);

crate::on_jupyter!(
    a_cell_starts_shows_its_value_and_ends,
    what_is_done_on_the_side_has_no_number,
    an_exception_is_an_outcome_and_state_stays,
    await_works_at_the_top_level_on_one_loop,
);
