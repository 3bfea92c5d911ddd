//! Tier 5: questions between cells.

use inkcell_kernel::{
    Answer, AskId, CodeNames, CodeRequest, ExecEvent, History, KernelEvent, Name, NamesWanted,
    Outcome, Question,
};

use crate::bench::{Bench, LIMIT, Start};

fn variable(name: &str) -> Question {
    Question::Variable { name: name.to_owned() }
}

/// Posts a question and waits for its answer; any other event fails the test.
async fn ask(bench: &mut Bench, id: u64, question: Question) -> Answer {
    bench.kernel().ask(AskId(id), question).expect("the kernel is there");
    answer(bench, id).await
}

async fn answer(bench: &mut Bench, id: u64) -> Answer {
    loop {
        let next =
            tokio::time::timeout(LIMIT, bench.events.next()).await.expect("an event in time");
        match next {
            Some(KernelEvent::Answer { id: of, answer }) => {
                assert_eq!(of, AskId(id), "the answer to another question: {answer:?}");
                return answer;
            }
            Some(KernelEvent::Orphan(_)) => {}
            other => panic!("no answer, but {other:?}"),
        }
    }
}

fn json(answer: &Answer) -> serde_json::Value {
    match answer {
        Answer::Json(text) => serde_json::from_str(text).expect("JSON"),
        other => panic!("no answer: {other:?}"),
    }
}

/// Rule 7: each question gets one answer, before the first cell and after.
async fn every_question_is_answered(start: Start) {
    let mut bench = Bench::start(start).await;
    let found = json(&ask(&mut bench, 1, Question::Variables { limit: None }).await);
    assert_eq!(found["total"], 0, "{found}");
    bench.run("rows = [{'a': 1}, {'a': None}]\ndef f(x, y=2): 'Doc.'").await.ok();
    let found = json(&ask(&mut bench, 2, Question::Variables { limit: Some(1) }).await);
    assert_eq!((&found["total"], &found["variables"][0]["name"]), (&2.into(), &"rows".into()));
    let found = json(&ask(&mut bench, 3, variable("rows[0]['a']")).await);
    assert_eq!((&found["type"], &found["preview"]), (&"int".into(), &"1".into()));
    let found = json(&ask(&mut bench, 4, Question::Table { name: "rows".to_owned() }).await);
    assert_eq!((&found["rows"], &found["columns"][0]["nulls"]), (&2.into(), &1.into()));
    let found = json(&ask(&mut bench, 5, Question::Help { name: "f".to_owned() }).await);
    assert_eq!((&found["signature"], &found["doc"]), (&"f(x, y=2)".into(), &"Doc.".into()));
    // Positions count characters, whatever their size in bytes.
    let complete = Question::Complete { code: "'äöü'; ro".to_owned(), cursor: 9 };
    let found = json(&ask(&mut bench, 6, complete).await);
    assert_eq!((&found["start"], &found["end"]), (&7.into(), &9.into()), "{found}");
    let names: Vec<_> = found["matches"].as_array().expect("a list").iter().collect();
    assert!(names.iter().any(|name| name["text"] == "rows"), "{found}");
    match ask(&mut bench, 7, variable("nothing")).await {
        Answer::Failed(text) => assert!(text.starts_with("nothing is not defined"), "{text}"),
        other => panic!("{other:?}"),
    }
}

/// Rule 7: a question changes neither the count nor the history.
async fn a_question_leaves_no_trace(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("kept = 1\nkept").await.ok();
    for id in 0..20 {
        ask(&mut bench, id, Question::Variables { limit: None }).await;
        ask(&mut bench, id, variable("kept.nothing")).await;
    }
    let ran = bench.run("_, len(In), list(Out)").await.ok();
    assert_eq!(ran.result().as_deref(), Some("(1, 3, [1])"));
    assert_eq!(ran.events.first(), Some(&ExecEvent::Started { count: Some(2) }));
    assert_eq!(ran.orphaned(), "");
}

/// Rule 7: while code runs the answer is `Busy`, at once; afterwards the kernel answers again.
async fn a_kernel_that_runs_code_is_busy(start: Start) {
    let mut bench = Bench::start(start).await;
    // A signal right before a long sleep would take effect only at its end; short sleeps have no such gap.
    let code = "import time\nx = 1\nprint('go', flush=True)\nwhile True: time.sleep(0.01)";
    let exec = bench.post(code, History::Store);
    bench.wait_for_output("go").await;
    assert_eq!(ask(&mut bench, 1, variable("x")).await, Answer::Busy);
    bench.kernel().interrupt().expect("the kernel is there");
    assert_eq!(bench.collect(exec).await.error().name, "KeyboardInterrupt");
    assert_eq!(json(&ask(&mut bench, 2, variable("x")).await)["preview"], "1");
}

/// A cell may be posted behind a question: the kernel answers the question first.
async fn a_cell_can_follow_without_waiting_for_the_answer(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("x = 1").await.ok();
    for id in 0..50 {
        bench.kernel().ask(AskId(id), variable("x")).expect("the kernel is there");
        let exec = bench.post("x += 1", History::Store);
        let seen = answer(&mut bench, id).await;
        assert_eq!(json(&seen)["preview"], (id + 1).to_string());
        assert_eq!(bench.collect(exec).await.outcome(), &Outcome::Ok);
    }
}

/// An interrupt ends a question that hangs, and nothing more.
async fn an_interrupt_ends_a_question(start: Start) {
    let mut bench = Bench::start(start).await;
    // The search for modules stands in for a file system that does not answer.
    let code = "import os, pkgutil, time\nkept = pkgutil.iter_modules\n\
        def wait():\n    os.write(1, b'waiting\\n')\n    while True: time.sleep(0.01)\n\
        pkgutil.iter_modules = wait";
    bench.run(code).await.ok();
    let question = Question::Complete { code: "import nu".to_owned(), cursor: 9 };
    bench.kernel().ask(AskId(1), question).expect("the kernel is there");
    let next = tokio::time::timeout(LIMIT, bench.events.next()).await.expect("an event in time");
    assert!(matches!(next, Some(KernelEvent::Orphan(ExecEvent::Stream { .. }))), "{next:?}");
    bench.kernel().interrupt().expect("the kernel is there");
    let seen = answer(&mut bench, 1).await;
    assert_eq!(seen, Answer::Failed("The question was interrupted.".to_owned()));
    assert_eq!(bench.value("pkgutil.iter_modules = kept\n5").await, "5");
}

/// Rules 3 and 7: a kernel that a question kills reports its death, and takes no more questions.
async fn a_kernel_can_die_of_a_question(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("import os, pkgutil\npkgutil.iter_modules = lambda: os._exit(7)").await.ok();
    let question = Question::Complete { code: "import nu".to_owned(), cursor: 9 };
    bench.kernel().ask(AskId(1), question).expect("the kernel is there");
    let next = tokio::time::timeout(LIMIT, bench.events.next()).await.expect("an event in time");
    assert!(matches!(next, Some(KernelEvent::Died(_))), "{next:?}");
    assert!(bench.kernel().ask(AskId(2), variable("x")).is_err());
}

/// Names that a cell uses, and names that it makes.
type Names = (&'static [&'static str], &'static [&'static str]);

/// The names that a cell uses and makes come right before its end, however it ends, to those who want them.
async fn a_cell_tells_its_names(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("xs, n = [1], 2").await.ok();
    let table: [(&str, Option<Names>); 7] = [
        ("y = xs[0] + n", Some((&["n", "xs"], &["y"]))),
        ("xs.append(n)", Some((&["n", "xs"], &["xs"]))),
        ("def f(): return n", Some((&[], &["f"]))),
        ("import asyncio\nawait asyncio.sleep(0)\nz = xs", Some((&["xs"], &["asyncio", "z"]))),
        ("w = xs\n1 / 0", Some((&["xs"], &["w"]))),
        ("w = (", Some((&[], &[]))),
        ("exec('v = n')", None),
    ];
    for (code, wanted) in table {
        let request = CodeRequest { names: NamesWanted::Yes, ..bench.request(code) };
        let ran = bench.run_request(request).await;
        let told: Vec<&CodeNames> = ran.events.iter().filter_map(names_in).collect();
        match wanted {
            Some((uses, makes)) => {
                let [names] = told[..] else { panic!("{code}: {:?}", ran.events) };
                assert_eq!(
                    (&*names.uses, &*names.makes),
                    (&*texts(uses), &*texts(makes)),
                    "{code}"
                );
                let last = ran.events.iter().rev().nth(1).and_then(names_in);
                assert_eq!(last, Some(names), "{code}: {:?}", ran.events);
            }
            None => assert!(told.is_empty(), "{code}: {told:?}"),
        }
    }
    let request = CodeRequest { names: NamesWanted::Yes, ..bench.request("def g(): return f()") };
    let ran = bench.run_request(request).await.ok();
    let later = ran.events.iter().find_map(names_in).map(|names| &names.later);
    assert_eq!(later.and_then(|later| later.get("g")).expect("a body").uses, texts(&["f"]));
    let ran = bench.run("u = n").await.ok();
    assert!(ran.events.iter().all(|event| names_in(event).is_none()), "{:?}", ran.events);
}

fn names_in(event: &ExecEvent) -> Option<&CodeNames> {
    match event {
        ExecEvent::Names(names) => Some(names),
        _ => None,
    }
}

fn texts(names: &[&str]) -> Vec<Name> {
    names.iter().map(|name| Name::from(*name)).collect()
}

crate::on_gateways!(
    a_cell_tells_its_names,
    every_question_is_answered,
    a_question_leaves_no_trace,
    a_kernel_that_runs_code_is_busy,
    a_cell_can_follow_without_waiting_for_the_answer,
    an_interrupt_ends_a_question,
    a_kernel_can_die_of_a_question,
);
crate::on_another_machine!(
    a_cell_tells_its_names,
    every_question_is_answered,
    a_question_leaves_no_trace,
);

crate::on_every_shell!(
    a_cell_tells_its_names,
    every_question_is_answered,
    a_question_leaves_no_trace,
    a_kernel_that_runs_code_is_busy,
    a_cell_can_follow_without_waiting_for_the_answer,
    an_interrupt_ends_a_question,
    a_kernel_can_die_of_a_question
);

crate::on_ipc!(
    a_cell_tells_its_names,
    every_question_is_answered,
    a_question_leaves_no_trace,
    a_kernel_that_runs_code_is_busy,
    a_cell_can_follow_without_waiting_for_the_answer,
    an_interrupt_ends_a_question,
    a_kernel_can_die_of_a_question,
);
