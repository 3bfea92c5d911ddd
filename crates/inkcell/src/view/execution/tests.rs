//! Executions as frames: snapshots at three widths, and laws for any text at any width.

use inkcell_engine::api::{CellReport, EndReport, State};
use inkcell_engine::kernel::{
    Death, DisplayId, ExecEvent, MimeBundle, MimeData, Outcome, PyError, StreamName,
};
use inkcell_engine::output::{
    ArtifactRef, ImageItem, JsonItem, Mark, ModelOutput, Notice, Part, RichItem, RichKind,
    Truncation,
};
use inkcell_engine::session::KernelFate;
use proptest::prelude::*;

use super::interactive::Interactive;
use super::*;
use crate::view::paint::{Span, ansi, plain};
use crate::view::tests::samples::{self, call, source};

mod failing;
mod laws;
mod live;

const COLLAPSED: Area = Area { width: 80, expansion: Expansion::Collapsed };
const EXPANDED: Area = Area { width: 80, expansion: Expansion::Expanded };

fn titled(code: &str, title: &str) -> CellSource {
    CellSource { title: Some(title.to_owned()), ..source(code) }
}

fn cell(source: CellSource, state: State, millis: u64) -> CellReport {
    CellReport { duration: Duration::from_millis(millis), ..samples::cell(source, state) }
}

fn text(text: &str) -> ModelOutput {
    ModelOutput { parts: vec![Part::Text(text.to_owned())], ..ModelOutput::default() }
}

fn report(cells: Vec<CellReport>) -> PythonReport {
    call(State::Running, cells)
}

fn execution(cells: Vec<CellReport>) -> Execution {
    let mut execution = Execution::new(cells.iter().map(|cell| cell.source.clone()).collect());
    execution.report(&report(cells));
    execution
}

fn one(output: ModelOutput) -> Execution {
    execution(vec![CellReport { output, ..cell(source("f()"), State::Done, 500) }])
}

fn printed(text: &str) -> ExecEvent {
    ExecEvent::Stream { name: StreamName::Stdout, data: text.as_bytes().to_vec().into() }
}

fn bundle(mime: &str, data: MimeData) -> MimeBundle {
    MimeBundle { data: vec![(mime.to_owned(), data)], metadata: String::new() }
}

fn numbered(first: usize, last: usize) -> String {
    (first..=last).map(|n| format!("line {n}\n")).collect()
}

fn rich(number: u64, kind: RichKind) -> RichItem {
    RichItem { number, kind, digest: "digest".to_owned() }
}

fn json(number: u64, raw: &str) -> RichItem {
    let (raw, shown) = (Some(raw.to_owned()), raw.to_owned());
    let item = JsonItem { raw, shown, is_in_text: false, artifact: None };
    rich(number, RichKind::Json(item))
}

fn with_rich(items: Vec<RichItem>) -> ModelOutput {
    let parts = items.iter().map(|item| Part::Mark(Mark::Rich { number: item.number })).collect();
    ModelOutput { parts, rich: items, ..ModelOutput::default() }
}

fn truncated() -> Notice {
    let truncation = Truncation {
        head: Some((1, 2)),
        tail: Some((989, 1000)),
        total_lines: 1000,
        limit_bytes: 51200,
        partial_line: None,
        scattered_lines: None,
    };
    Notice::Truncated { truncation, artifact: Some("abcd1234abcd1234".to_owned()) }
}

fn error() -> PyError {
    let plain = ["Traceback (most recent call last):", "ZeroDivisionError: division by zero"];
    PyError {
        name: "ZeroDivisionError".to_owned(),
        value: "division by zero".to_owned(),
        traceback: Vec::new(),
        plain: plain.map(str::to_owned).to_vec(),
    }
}

fn several() -> Execution {
    let load = "import csv\n\ndef load(path):  # all of it\n    return open(path).read()";
    let load =
        CellReport { output: text("3 rows\n"), ..cell(titled(load, "load"), State::Done, 2512) };
    let fail = CellReport {
        output: text("1\n2\n"),
        end: Some(EndReport::Exception(error())),
        ..cell(titled("1 / 0", "divide the rows by nothing"), State::Error, 12)
    };
    let last = cell(source("print('never')"), State::NeverRun, 0);
    execution(vec![load, fail, last]).with_timeout(Some(Duration::from_secs(30)))
}

fn growing() -> Execution {
    let mut execution = Execution::new(vec![source("work()"), titled("more()", "more")]);
    execution.event(&(0, ExecEvent::Started { count: Some(1) }));
    for n in 1..=12 {
        execution.event(&(0, printed(&format!("line {n}\n"))));
    }
    execution.event(&(0, printed("\u{1b}[31m 10%\r")));
    execution.event(&(0, printed(" 20%\r\u{1b}[3")));
    execution.event(&(0, printed("2m 30%")));
    execution
}

fn statuses() -> Execution {
    let ops = [
        r#"{"op":"cd","path":"/tmp"}"#,
        r#"{"op":"read","path":"data.csv","chars":1234,"preview":"a,b\n1,2\n3,4\n5,6"}"#,
        r#"{"op":"rm","path":"x","error":"missing"}"#,
        r#"{"op":"ls","path":".","count":7,"items":["a","b","c","d","e","f","g"]}"#,
        r#"{"op":"sh","cmd":"make all","code":2,"output":"cc -c a.c"}"#,
    ];
    let ops = ops.iter().zip(1..).map(|(op, n)| rich(n, RichKind::Status((*op).to_owned())));
    one(ModelOutput { rich: ops.collect(), ..text("done\n") })
}

fn cut() -> Execution {
    let elided = Mark::Elided { bytes: 8888, lines: 986 };
    let parts = vec![
        Part::Text(numbered(1, 2)),
        Part::Mark(elided),
        Part::Text(numbered(989, 1000)),
        Part::Mark(Mark::Repeated { times: 3 }),
    ];
    let artifact = Some(ArtifactRef { id: "abcd1234abcd1234".to_owned(), bytes: 9999 });
    let notices = vec![truncated()];
    one(ModelOutput { parts, notices, artifact, is_truncated: true, ..ModelOutput::default() })
}

fn markdown_output() -> ModelOutput {
    let markdown = "# Result\nThe **mean** is *not* `0`, see [the docs](https://x.y/z).\n\n- one\n  - \
                    two\n\n```python\nx = 1\n```\n> quoted\n";
    ModelOutput { has_markdown: true, ..text(markdown) }
}

fn timed_out() -> Execution {
    let after = Some(Duration::from_secs(5));
    let end = EndReport::Stopped { after, fate: KernelFate::Kept, exception: None };
    let limited = CellSource { timeout: after, ..titled("while True: pass", "spin") };
    execution(vec![CellReport {
        output: text("so far\n"),
        end: Some(end),
        ..cell(limited, State::TimedOut, 5004)
    }])
}

fn pictures() -> Execution {
    let artifact = Some(ArtifactRef { id: "abcd1234abcd1234".to_owned(), bytes: 12345 });
    let image = |data: Option<&'static [u8]>, artifact| {
        let data = data.map(Into::into);
        RichKind::Image(ImageItem {
            mime: "image/png".to_owned(),
            data,
            pixels: Some((640, 480)),
            artifact,
        })
    };
    let mut output = with_rich(vec![
        rich(1, image(Some(&[0; 2048]), artifact)),
        rich(2, image(None, None)),
        rich(3, RichKind::Digest { mime: "application/vnd.vega".to_owned(), artifact: None }),
    ]);
    output.parts.insert(1, Part::Text("<Figure size 640x480>\n".to_owned()));
    one(output)
}

fn trees() -> Execution {
    let long = format!(
        r#"{{"name":"{}","list":[1,2,3,4,5,6,[7]],"deep":{{"a":{{"b":1}}}}}}"#,
        "n".repeat(90)
    );
    one(with_rich(vec![json(1, &long), json(2, "[true, null, \"日本語\"]"), json(3, "broken")]))
}

fn pictured(execution: &mut dyn Renderer) -> String {
    let mut out = String::new();
    for width in [20, 80, 200] {
        for expansion in [Expansion::Collapsed, Expansion::Expanded] {
            let frame = execution.frame(Area { width, expansion });
            out.push_str(&format!("──── {width} {expansion:?}\n{}", plain(&frame)));
        }
    }
    out
}

fn check(name: &str, mut execution: impl Renderer) {
    insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!(name, pictured(&mut execution));
    });
}

/// B:T-10, B:T-11, B:T-16
#[test]
fn several_cells_with_one_that_failed() {
    check("several", several());
}

/// B:T-10
#[test]
fn a_cell_that_runs_shows_what_it_has_written() {
    check("growing", growing());
}

/// B:T-14
#[test]
fn json_is_shown_as_trees() {
    check("trees", trees());
}

/// B:T-13
#[test]
fn status_events_are_shown_after_the_output() {
    check("statuses", statuses());
}

/// B:T-15
#[test]
fn truncated_output_says_so_once_and_names_the_artifact() {
    check("truncated", cut());
    let frame = plain(&cut().frame(EXPANDED));
    assert_eq!(frame.matches("[Showing lines").count(), 1, "{frame}");
}

/// B:T-11
#[test]
fn markdown_is_rendered() {
    check("markdown", one(markdown_output()));
}

/// B:T-11: the output of a failed cell is shown as written.
#[test]
fn markdown_of_a_failed_cell_is_text() {
    let failed = CellReport { output: markdown_output(), ..cell(source("f()"), State::Error, 1) };
    let frame = execution(vec![failed]).frame(EXPANDED);
    let line = frame.lines.iter().find(|line| line.text().contains("**mean**"));
    let roles: Vec<Role> = line.unwrap().spans()[1..].iter().map(Span::role).collect();
    assert_eq!(roles, [Role::Error]);
}

/// B:T-16, B:X-22, B:X-23
#[test]
fn a_timeout_is_told_after_what_was_written() {
    check("timeout", timed_out());
}

/// B:T-17
#[test]
fn pictures_have_a_place() {
    check("pictures", pictures());
}

/// B:X-08
#[test]
fn nothing_written_is_said() {
    check("empty", one(ModelOutput::default()));
    let waiting = Execution::new(vec![source("x = 1")]).frame(COLLAPSED);
    assert_eq!(plain(&waiting), "○ pending\n  x = 1\n");
}

/// The same frames in colours: failures are red, remarks are dim, and code is highlighted.
#[test]
fn colours_follow_roles() {
    let coloured = ansi(&several().frame(COLLAPSED)).replace('\u{1b}', "␛");
    insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!("several_in_colours", coloured);
    });
}

/// B:T-11
#[test]
fn a_preview_is_ten_rows_from_the_end() {
    let frame = plain(&one(text(&numbered(1, 10))).frame(COLLAPSED));
    assert!(!frame.contains("more line"), "{frame}");
    let frame = plain(&one(text(&numbered(1, 11))).frame(COLLAPSED));
    assert!(frame.contains("Output\n… 1 more line (ctrl+o to expand)\n  line 2\n"), "{frame}");
    let frame = plain(&one(text(&numbered(1, 500))).frame(EXPANDED));
    assert!(frame.contains("  line 1\n") && frame.contains("  line 500\n"), "{frame}");
}

/// B:T-11: the expanded view can show pages of stored output.
#[test]
fn pages_of_the_artifact_are_shown_when_expanded() {
    let mut shown = Interactive::new(source("1"));
    let mut stored = cell(source("1"), State::Done, 10);
    stored.output = text("kept");
    stored.output.artifact = Some(ArtifactRef { id: "abcd1234abcd1234".to_owned(), bytes: 9 });
    shown.report(&stored);
    assert_eq!(shown.artifact(), Some("abcd1234abcd1234"));
    let collapsed = shown.frame(COLLAPSED);
    shown.turn_to(Some(Page { first_line: 3, total_lines: 1000, text: numbered(3, 5) }));
    let frame = plain(&shown.frame(EXPANDED));
    assert_eq!(frame, ">>> 1\nLines 3-5 of 1000\n  line 3\n  line 4\n  line 5\n");
    assert_eq!(shown.frame(COLLAPSED), collapsed);
    shown.turn_to(None);
    assert!(plain(&shown.frame(EXPANDED)).contains("  kept\n"));
}

/// B:T-20: while keys work, a key shows the rest; afterwards a command does. Each hint names the right
/// one.
#[test]
fn what_is_left_out_is_found_as_it_is_said() {
    let much = |shown: &mut Interactive| {
        let data = numbered(1, 30).into_bytes().into();
        shown.event(&(0, ExecEvent::Stream { name: StreamName::Stdout, data }));
        plain(&shown.frame(COLLAPSED))
    };
    let mut shown = Interactive::new(source("f()"));
    let frame = much(&mut shown);
    assert!(frame.contains("… 10 more lines (ctrl+o to expand)\n  line 11\n"), "{frame}");
    assert!(frame.ends_with("⠋ Running… (esc to cancel)\n"), "{frame}");
    shown.seen_later("show them with 'inkcell result x1'".to_owned());
    let frame = plain(&shown.still(COLLAPSED));
    assert!(frame.contains("… 10 more lines (show them with 'inkcell result x1')\n"), "{frame}");
    let frame = much(&mut Interactive::new(source("f()")).without_keys());
    assert!(frame.contains("… 10 more lines (show everything with --view stream)"), "{frame}");
    assert!(frame.ends_with("Running… (ctrl+c to cancel)\n"), "{frame}");
}

/// B:T-04: rows are rendered once for a width and a state, and only changed rows are rendered again.
#[test]
fn frames_are_made_once() {
    let mut execution = growing();
    let first = execution.frame(COLLAPSED);
    assert_eq!(execution.renders(), 2);
    assert_eq!(execution.frame(COLLAPSED), first);
    assert_eq!(execution.renders(), 2);
    execution.event(&(0, printed("more\n")));
    assert_ne!(execution.frame(COLLAPSED), first);
    assert_eq!(execution.renders(), 3);
    execution.frame(EXPANDED);
    execution.frame(Area { width: 81, ..EXPANDED });
    assert_eq!(execution.renders(), 7);
    let told =
        report(vec![cell(source("work()"), State::Done, 1), cell(source("b"), State::Queued, 0)]);
    execution.report(&told);
    execution.frame(EXPANDED);
    execution.report(&told);
    execution.frame(EXPANDED);
    assert_eq!(execution.renders(), 9);
}

/// The report of a running cell holds only the end of its text.
#[test]
fn a_preview_says_what_came_before_it() {
    let mut output = text("b\nc");
    (output.counts.total_bytes, output.counts.total_lines) = (1003, 12);
    let mut execution =
        execution(vec![CellReport { output, ..cell(source("f()"), State::Running, 100) }]);
    let frame = plain(&execution.frame(COLLAPSED));
    assert!(frame.contains("Output\n[… 10 lines elided (1000B) …]\n  b\n  c\n"), "{frame}");
}

/// B:T-20
#[test]
fn code_at_a_prompt() {
    let code = "for i in range(30):\n    print(i)";
    let mut running = Interactive::new(source(code));
    running.event(&(0, printed(&numbered(1, 22))));
    let frame = plain(&running.frame(COLLAPSED));
    let head =
        ">>> for i in range(30):\n        print(i)\n… 2 more lines (ctrl+o to expand)\n  line 3\n";
    assert!(frame.starts_with(head), "{frame}");
    assert!(frame.ends_with("  line 22\n⠋ Running… (esc to cancel)\n"), "{frame}");
    running.tick();
    assert!(plain(&running.frame(COLLAPSED)).ends_with("⠙ Running… (esc to cancel)\n"));
    assert_eq!(running.renders(), 1);
    let table = [
        (State::Done, "  x\n"),
        (State::Cancelled, "  x\n(cancelled)\n"),
        (State::TimedOut, "  x\n(cancelled)\n"),
        (State::Error, "  x\n(exit 1)\n"),
        (State::KernelDied, "  x\n(exit 1)\n"),
    ];
    for (state, wanted) in table {
        let mut ended = Interactive::new(source("f()"));
        ended.report(&CellReport { output: text("x\n"), ..cell(source("f()"), state, 1) });
        assert_eq!(plain(&ended.frame(COLLAPSED)), format!(">>> f()\n{wanted}"));
    }
    let mut output = text("x\n");
    output.notices.push(truncated());
    running.report(&CellReport { output, ..cell(source("f()"), State::Done, 1) });
    let frame = plain(&running.frame(Area { width: 120, ..COLLAPSED }));
    assert!(frame.ends_with(&format!("  x\n{}\n", truncated())), "{frame}");
}

/// A margin keeps program output distinct from remarks of inkcell.
#[test]
fn remarks_cannot_be_forged() {
    let forged = "[Showing lines 1-2 of 3]\n… 5 more lines (ctrl+o to expand)\nTimeout: 1s\n";
    for line in plain(&one(text(forged)).frame(COLLAPSED)).lines().skip(3) {
        assert!(line.starts_with("  "), "{line}");
    }
}
