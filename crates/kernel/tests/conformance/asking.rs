//! Tier 5: code that may ask for lines gets them, and nothing else makes it wait.

use inkcell_kernel::{InputReply, Outcome};

use crate::bench::{Bench, Start};

fn lines(lines: &[&str]) -> Vec<InputReply> {
    lines.iter().map(|line| InputReply::Line((*line).to_owned())).collect()
}

/// Issue 9: each request arrives with its prompt, and gets its own answer.
async fn code_gets_the_lines_it_asks_for(start: Start) {
    let mut bench = Bench::start(start).await;
    let (ran, asked) =
        bench.converse("name = input('name? ')\nname", &lines(&["Ada \u{e9}"])).await;
    assert_eq!(ran.ok().result().as_deref(), Some("'Ada \u{e9}'"));
    assert_eq!(asked, [("name? ".to_owned(), false)]);
    let two = "print('before')\na = input('a? ')\nprint('between')\nint(a) + int(input('b? '))";
    let (ran, asked) = bench.converse(two, &lines(&["20", "22"])).await;
    assert_eq!((ran.stdout().as_str(), ran.result().as_deref()), ("before\nbetween\n", Some("42")));
    assert_eq!(asked.len(), 2);
    let secret = "import getpass\ngetpass.getpass('key: ')";
    let (ran, asked) = bench.converse(secret, &lines(&["s3cret"])).await;
    assert_eq!(ran.ok().result().as_deref(), Some("'s3cret'"));
    assert_eq!(asked, [("key: ".to_owned(), true)]);
    // The next cell, which may not ask, is refused as usual.
    assert_eq!(bench.run("input('x')").await.error().name, "StdinNotImplementedError");
    let (ran, _) = bench.converse("input()", &[InputReply::End]).await;
    assert_eq!(ran.error().name, "EOFError");
    assert_eq!(bench.value("'sound'").await, "'sound'");
}

/// Issue 9: Python's debugger works if a user can type.
async fn a_debugger_can_be_used(start: Start) {
    let mut bench = Bench::start(start).await;
    let code = "def work():\n    x = 41\n    breakpoint()\n    return x\nwork()";
    let (ran, asked) = bench.converse(code, &lines(&["p x + 1", "c"])).await;
    assert!(ran.stdout().contains("42"), "{:?} {asked:?}", ran.events);
    assert_eq!(ran.ok().result().as_deref(), Some("41"));
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert_eq!(bench.value("'sound'").await, "'sound'");
}

/// Issue 9 B:R-20: an interrupt ends the wait for a line, and a later line reaches no code.
async fn an_interrupt_ends_the_wait(start: Start) {
    let mut bench = Bench::start(start).await;
    for _ in 0..5 {
        let (ran, asked) = bench.converse("input('never? ')", &[]).await;
        assert_eq!(ran.error().name, "KeyboardInterrupt");
        assert_eq!(asked.len(), 1);
        let exec = inkcell_kernel::ExecId(1);
        let late = InputReply::Line("late".to_owned());
        bench.kernel().reply_input(exec, late).expect("the kernel is there");
        let (ran, _) = bench.converse("input('now? ')", &lines(&["now"])).await;
        assert_eq!(ran.ok().result().as_deref(), Some("'now'"));
    }
}

/// Issue 9: the user can no longer type; the code gets an error if the backend has one for this.
async fn who_cannot_type_any_more_refuses(start: Start) {
    let mut bench = Bench::start(start).await;
    let (ran, _) = bench.converse("input('name? ')", &[InputReply::Refused]).await;
    let names = ["StdinNotImplementedError", "EOFError"];
    match ran.outcome() {
        Outcome::Error(error) => assert!(names.contains(&error.name.as_str()), "{error:?}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(bench.value("'sound'").await, "'sound'");
}

/// Issue 9: standard input reads the typed lines, one by one, up to the end.
async fn standard_input_is_what_is_typed(start: Start) {
    let mut bench = Bench::start(start).await;
    let typed = [lines(&["one", "two"]), vec![InputReply::End]].concat();
    let (ran, _) = bench.converse("import sys\nlist(sys.stdin)", &typed).await;
    assert_eq!(ran.ok().result().as_deref(), Some("['one\\n', 'two\\n']"));
    let (ran, _) = bench.converse("sys.stdin.read()", &typed).await;
    assert_eq!(ran.ok().result().as_deref(), Some("'one\\ntwo\\n'"));
    let parts = "[sys.stdin.readline(2), sys.stdin.read(3), sys.stdin.readline()]";
    let (ran, _) = bench.converse(parts, &lines(&["abc", "de"])).await;
    assert_eq!(ran.ok().result().as_deref(), Some("['ab', 'c\\nd', 'e\\n']"));
    // Threads and copies of the process cannot ask, and wait for no answer.
    let thread = "import threading\nseen = []\ndef ask():\n    try:\n        input()\n    \
        except Exception as error:\n        seen.append(type(error).__name__)\n\
        asker = threading.Thread(target=ask)\nasker.start()\nasker.join()\nseen";
    let (ran, asked) = bench.converse(thread, &[]).await;
    assert_eq!(ran.ok().result().as_deref(), Some("['StdinNotImplementedError']"));
    assert_eq!(asked, []);
}

crate::on_every_shell!(
    code_gets_the_lines_it_asks_for,
    a_debugger_can_be_used,
    an_interrupt_ends_the_wait,
    who_cannot_type_any_more_refuses,
    standard_input_is_what_is_typed,
);

crate::on_ipc!(
    code_gets_the_lines_it_asks_for,
    a_debugger_can_be_used,
    an_interrupt_ends_the_wait,
    who_cannot_type_any_more_refuses,
);

crate::on_gateways!(
    code_gets_the_lines_it_asks_for,
    a_debugger_can_be_used,
    an_interrupt_ends_the_wait,
    who_cannot_type_any_more_refuses,
);
