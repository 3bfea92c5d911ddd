//! Faults of input: any request for a line gets an answer at once, and never a command of the host.

use inkcell_kernel::{ExecEvent, Outcome};

use crate::bench::{Bench, Start};

/// F-044 B:R-38: without a user at the keyboard, no request waits.
async fn whatever_wants_a_line_gets_an_answer_at_once(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("import getpass, os, pdb, subprocess, sys").await.ok();
    // The code, and the error that ends it; `None` if it sees the end of a file instead.
    let table = [
        ("input()", "StdinNotImplementedError"),
        ("input('name? ')", "StdinNotImplementedError"),
        ("getpass.getpass()", "StdinNotImplementedError"),
        ("sys.stdin.read()", "StdinNotImplementedError"),
        ("sys.stdin.readline()", "StdinNotImplementedError"),
        ("list(sys.stdin)", "StdinNotImplementedError"),
        ("sys.stdin.buffer.read()", "StdinNotImplementedError|AttributeError|UnsupportedOperation"),
        ("os.read(0, 10)", ""),
        ("open(0).read()", ""),
        ("subprocess.run(['cat'], check=True)", ""),
        ("subprocess.run('read x; echo got $x', shell=True)", ""),
        ("os.system('cat')", ""),
        ("subprocess.run([sys.executable, '-c', 'input()']).returncode", ""),
        ("import fileinput\nlist(fileinput.input())", "StdinNotImplementedError|AttributeError"),
        ("open('/dev/tty').read()", "OSError"),
    ];
    for (code, errors) in table {
        let ran = bench.run(code).await;
        let found = match ran.outcome() {
            Outcome::Error(error) => error.name.as_str(),
            _ => "",
        };
        assert!(errors.split('|').any(|error| error == found), "{code}: {found:?}");
        assert_eq!(bench.value("'sound'").await, "'sound'", "{code}");
    }
    for code in [
        "pdb.set_trace()",
        "breakpoint()",
        "pdb.run('1')",
        "try: 1 / 0\nexcept Exception: pdb.post_mortem()",
    ] {
        let ran = bench.run(code).await;
        let asked =
            ran.events.iter().any(|event| matches!(event, ExecEvent::InputRequested { .. }));
        let left = matches!(ran.outcome(), Outcome::Error(_)) || ran.stdout().contains("(Pdb)");
        assert!(asked || left, "{code}: {:?}", ran.events);
        assert_eq!(bench.value("'sound'").await, "'sound'", "{code}");
    }
}

/// Issue 21, 7: code that catches the refusal goes on without a line; the caller still learns of the request.
async fn a_refusal_that_is_caught_is_told(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("import getpass").await.ok();
    for (asking, wanted) in [("input('name? ')", "name? "), ("getpass.getpass('word? ')", "word? ")]
    {
        let code = format!("try: {asking}\nexcept Exception: print('went on')");
        let ran = bench.run(&code).await.ok();
        assert_eq!(ran.stdout(), "went on\n", "{asking}");
        let asked = ran.events.iter().filter_map(|event| match event {
            ExecEvent::InputRequested { prompt, password } => Some((prompt.as_str(), *password)),
            _ => None,
        });
        let asked: Vec<(&str, bool)> = asked.collect();
        assert_eq!(asked, [(wanted, asking.starts_with("getpass"))], "{asking}");
    }
}

crate::on_every_backend!(
    whatever_wants_a_line_gets_an_answer_at_once,
    a_refusal_that_is_caught_is_told,
);

crate::on_ipc!(a_refusal_that_is_caught_is_told);

crate::on_gateways!(a_refusal_that_is_caught_is_told);
