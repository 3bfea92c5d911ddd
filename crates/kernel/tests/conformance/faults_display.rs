//! Faults of displays and errors: storms, giants, and objects that misreport themselves.

use std::time::Duration;

use inkcell_kernel::{ExecEvent, History, Ladder, MimeData, Outcome, PyError};

use crate::bench::{Bench, Start};
use crate::ran::plain;

/// The largest size of an error, in bytes.
const BOUND: usize = 2 << 20;

/// F-040: many displays, updates and frames of an animation arrive in order, and the last state is right.
async fn storms_of_displays_arrive_in_order(start: Start) {
    let mut bench = Bench::start(start).await;
    let ran = bench.run("for n in range(5000): display(n)").await.ok();
    let shown: Vec<String> = ran.order();
    let wanted: Vec<String> = (0..5000).map(|n| format!("display {n}")).collect();
    assert!(shown == wanted, "{} displays", shown.len());

    let code = "h = display(0, display_id=True)\nfor n in range(1, 2001): h.update(n)";
    let ran = bench.run(code).await.ok();
    let updates: Vec<String> = ran.events.iter().filter_map(updated).collect();
    let wanted: Vec<String> = (1..=2000).map(|n| n.to_string()).collect();
    assert!(updates == wanted, "{} updates", updates.len());

    let code = "from IPython.display import clear_output\nfor n in range(2000):\n    \
                clear_output(wait=True)\n    print('frame', n)";
    let ran = bench.run(code).await.ok();
    let clears = ran.events.iter().filter(|e| matches!(e, ExecEvent::ClearOutput { wait: true }));
    assert_eq!(clears.count(), 2000);
    // Each frame follows the command to clear the previous one.
    let last = ran.events.iter().rposition(|e| matches!(e, ExecEvent::ClearOutput { .. }));
    let tail = crate::ran::written(
        &ran.events[last.expect("a clear")..],
        inkcell_kernel::StreamName::Stdout,
    );
    assert_eq!(tail, b"frame 1999\n");
}

fn updated(event: &ExecEvent) -> Option<String> {
    match event {
        ExecEvent::UpdateDisplay { data, .. } => Some(plain(data)),
        _ => None,
    }
}

/// F-041: a giant output arrives whole, in its own form.
async fn giants_arrive_whole(start: Start) {
    let mut bench = Bench::start(start).await;
    let size = 20 << 20;
    let code = format!(
        "png = b'\\x89PNG\\r\\n\\x1a\\n' + bytes(range(256)) * {}\n\
         display({{'image/png': png, 'text/plain': 'big'}}, raw=True)",
        size / 256
    );
    let ran = bench.run(&code).await.ok();
    let shown = ran.events.iter().find_map(|event| match event {
        ExecEvent::Display { data, .. } => data.get("image/png").cloned(),
        _ => None,
    });
    match shown {
        Some(MimeData::Binary(bytes)) => {
            assert_eq!(bytes.len(), size + 8);
            assert!(bytes[8..].chunks(256).all(|chunk| chunk[0] == 0 && chunk[255] == 255));
        }
        other => panic!("{:?}", other.is_some()),
    }
    let code = "display({'application/json': {'rows': ['x' * 1000] * 20_000}}, raw=True)";
    let ran = bench.run(code).await.ok();
    let json = ran.events.iter().find_map(|event| match event {
        ExecEvent::Display { data, .. } => data.get("application/json").cloned(),
        _ => None,
    });
    match json {
        Some(MimeData::Json(text)) => assert!(text.len() > 20_000_000, "{}", text.len()),
        other => panic!("{:?}", other.is_some()),
    }
    let code = "class Table:\n    def _repr_html_(self): return '<tr>' * 1_000_000\nTable()";
    let ran = bench.run(code).await.ok();
    assert!(ran.result().is_some());
    assert_eq!(bench.value("1 + 1").await, "2");
}

/// F-042 B:R-34: an object with a broken representation gives an error or plain text, never the kernel's end.
async fn objects_that_lie_about_themselves_harm_nothing(start: Start) {
    let mut bench = Bench::start(start).await;
    let bodies = [
        "__repr__ = lambda self: 1 / 0",
        "__repr__ = lambda self: repr(self)",
        "__repr__ = lambda self: 7",
        "__repr__ = None",
        "__repr__ = lambda self: '\\ud800\\x00'",
        "def __repr__(self): raise SystemExit(3)",
        "def __repr__(self): raise KeyboardInterrupt",
        "def __repr__(self): print('said'); return 'shown'",
        "def __getattr__(self, name): raise RuntimeError(name)",
        "def __getattr__(self, name): return self",
        "_repr_html_ = lambda self: 1 / 0",
        "_repr_html_ = lambda self: b'bytes'",
        "_repr_html_ = 'no method'",
        "_repr_png_ = lambda self: 'not base64!'",
        "_repr_png_ = lambda self: 7",
        "_repr_json_ = lambda self: {'n': float('nan'), 'o': object()}",
        "_repr_mimebundle_ = lambda self, **k: 'garbage'",
        "_repr_mimebundle_ = lambda self, **k: {1: 'x', None: 'y', ('t',): 'z'}",
        "_repr_mimebundle_ = lambda self, **k: {'text/plain': b'bytes', 'a/b': float('nan'), 'c/d': object()}",
        "_repr_mimebundle_ = lambda self, **k: ({'text/plain': 'x'}, 'no metadata')",
        "_repr_mimebundle_ = lambda self, **k: ({'text/plain': 'x'}, {'k': object(), 2: float('inf')})",
        "_repr_mimebundle_ = lambda self, **k: {'image/png': 'not base64!', 'text/plain': None}",
        "_repr_mimebundle_ = lambda self: {}",
        "_ipython_display_ = lambda self: 1 / 0",
        "__class__ = property(lambda self: 1 / 0)",
    ];
    // A foreign kernel formats its objects itself, so fewer combinations suffice to test our part.
    for body in bodies {
        for show in ["Odd()", "display(Odd())", "[Odd()]", "{Odd(): Odd()}", "print(Odd())"]
            .into_iter()
            .take(start.times(5))
        {
            let code = format!("class Odd:\n    {body}\n{show}");
            let ran = bench.run(&code).await;
            assert!(ran.death.is_none(), "{code}: {:?}", ran.death);
            if let Outcome::Error(error) = ran.outcome() {
                assert!(size(error) < BOUND, "{code}");
            }
            assert_eq!(bench.value("'sound'").await, "'sound'", "{code}");
        }
    }
    // The ladder applies to a slow representation as to any code.
    let slow = "import time\nclass Slow:\n    def __repr__(self):\n        print('go')\n        time.sleep(60)\nSlow()";
    let exec = bench.post(slow, History::Store);
    bench.wait_for_output("go").await;
    let (ran, _) = bench.climb(exec, Ladder::new(Duration::from_secs(60))).await;
    assert!(ran.death.is_none(), "{:?}", ran.death);
    assert_eq!(bench.value("1 + 1").await, "2");
}

fn size(error: &PyError) -> usize {
    let lines = error.traceback.iter().chain(&error.plain).map(String::len).sum::<usize>();
    error.name.len() + error.value.len() + lines
}

/// F-043 B:R-33: every exception is reported, in bounded size.
async fn exceptions_of_every_kind_are_told(start: Start) {
    let mut bench = Bench::start(start).await;
    bench.run("import sys, types").await.ok();
    let table = [
        ("class E(Exception):\n    def __str__(self): return 1 / 0\nraise E", "E"),
        ("class E(Exception):\n    def __str__(self): return 7\nraise E", "E"),
        (
            "class E(Exception):\n    def __repr__(self): raise SystemExit\n    __str__ = __repr__\nraise E",
            "E",
        ),
        ("class E(BaseException): pass\nraise E('base')", "E"),
        ("class E(Exception):\n    __module__ = None\nraise E", "E"),
        ("raise ValueError('x' * 10_000_000)", "ValueError"),
        ("raise ValueError(*range(10))", "ValueError"),
        ("def f(): f()\nf()", "RecursionError"),
        (
            "sys.setrecursionlimit(12_000)\ndef f(n): return n and f(n - 1) or 1 / 0\nf(10_000)",
            "ZeroDivisionError",
        ),
        (
            "sys.setrecursionlimit(1_000)\nx = 'a\\x00b'\ncompile('1 +\\x00', 'f', 'exec')",
            "SyntaxError|ValueError",
        ),
        (
            "e = None\nfor n in range(1000):\n    try:\n        raise ValueError(n) from e\n    except ValueError as x: e = x\nraise e",
            "ValueError",
        ),
        (
            "a, b = ValueError('a'), ValueError('b')\na.__cause__, b.__cause__ = b, a\nraise a",
            "ValueError",
        ),
        ("raise ExceptionGroup('g', [ValueError(1), TypeError(2)])", "ExceptionGroup|NameError"),
        (
            "e = ValueError(0)\nfor n in range(300): e = ExceptionGroup('g', [e])\nraise e",
            "ExceptionGroup|NameError",
        ),
        ("raise SyntaxError('bad', ('f', 10 ** 9, -5, None))", "SyntaxError"),
        ("raise SyntaxError('bad', (None, None, None, 'x\\x00y'))", "SyntaxError"),
        ("x = 1 +", "SyntaxError"),
        ("x = '\0'", "SyntaxError|ValueError"),
        ("exec('\\n' * 100_000 + '1 / 0')", "ZeroDivisionError"),
        ("exec(compile('1 / 0', '/dev/tty', 'exec'))", "ZeroDivisionError"),
        ("raise KeyError('\\x1b]0;title\\x07')", "KeyError"),
        ("raise StopIteration(3)", "StopIteration"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("raise", "RuntimeError"),
        ("sys.excepthook = None\n1 / 0", "ZeroDivisionError"),
        ("1 / 0\n", "ZeroDivisionError"),
    ];
    for (code, names) in table {
        let ran = bench.run(code).await;
        assert!(ran.death.is_none(), "{code}: {:?}", ran.death);
        let Outcome::Error(error) = ran.outcome() else { panic!("{code}: it must not seem well") };
        assert!(names.split('|').any(|name| name == error.name), "{code}: {}", error.name);
        assert!(size(error) < BOUND, "{code}: {} bytes", size(error));
        assert!(!error.plain.is_empty() && !error.traceback.is_empty(), "{code}");
        assert_eq!(bench.value("'sound'").await, "'sound'", "{code}");
    }
}

crate::on_gateways!(
    storms_of_displays_arrive_in_order,
    giants_arrive_whole,
    objects_that_lie_about_themselves_harm_nothing,
);

crate::on_every_backend!(
    storms_of_displays_arrive_in_order,
    giants_arrive_whole,
    objects_that_lie_about_themselves_harm_nothing,
    exceptions_of_every_kind_are_told,
);

crate::on_ipc!(
    storms_of_displays_arrive_in_order,
    giants_arrive_whole,
    objects_that_lie_about_themselves_harm_nothing,
);
