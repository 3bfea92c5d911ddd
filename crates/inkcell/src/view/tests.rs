//! Programs, notebooks and names cannot control a terminal (S-050, S-051, S-006). The tests check the bytes of
//! each renderer, and a screen.

pub(crate) mod samples;

use std::path::Path;
use std::time::Duration;

use inkcell_engine::CallEvent;
use inkcell_engine::api::{CellReport, CellSource, EndReport, ExecutionId, PythonReport, State};
use inkcell_engine::feeds::{
    EditAction, EditAsked, FailedEdit, NotebookEdit as Published, SessionEvent,
};
use inkcell_engine::kernel::{ExecEvent, MimeBundle, MimeData, Outcome, PyError, StreamName};
use inkcell_engine::notebook::CellKind;
use inkcell_engine::output::{
    ArtifactRef, ImageItem, JsonItem, Mark, ModelOutput, Part, RichItem, RichKind,
};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::execution::interactive::Interactive;
use super::execution::{Area, Execution, Expansion, Renderer};
use super::notebook_edit::{Edit, NotebookEdit, Outcome as EditOutcome};
use super::reply;
use super::transcript::Transcript;
use super::transcript::piped::PlainTranscript;
use crate::view::paint::{Colour, Frame, Repaint, Size, TerminalText, ansi, plain};

/// Texts with every kind of control sequence.
fn hostile() -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let controls = ('\0'..='\u{1f}').chain('\u{7f}'..='\u{9f}');
    all.push(controls.clone().flat_map(|c| ['a', c, 'b']).collect());
    all.push(controls.map(|c| format!("x{c}y\n")).collect());
    all.extend("\u{1b}\u{7}\u{8}\r\u{9b}\u{9d}\u{90}".chars().map(|c| format!("x{c}y")));
    let strings = [
        "]0;t",
        "]2;t",
        "]8;;http://x",
        "]52;c;aGk=",
        "]1337;File=inline=1:AAAA",
        "]9;n",
        "P1;2q#0",
        "_Ga=T;AAAA",
        "^pm",
        "Xsos",
    ];
    for end in ["\u{7}", "\u{1b}\\", "\u{9c}"] {
        all.push(strings.map(|string| format!("a\u{1b}{string}{end}b\n")).concat());
    }
    // An unterminated string must not hide behind the text before it.
    all.extend(strings.map(|string| format!("a\u{1b}{string}")));
    all.extend(strings.map(|string| format!("a\u{1b}{string}\nb")));
    all.push("a\u{9d}0;t\u{9c}b\u{90}q\u{9c}c\u{9f}G\u{9c}d\u{9e}p\u{9c}e\u{98}s".to_owned());
    let commands = [
        "2J",
        "H",
        "10A",
        "5B",
        "999C",
        "?1049h",
        "?25l",
        "?1000h",
        "6n",
        "c",
        "3;5r",
        "1;1H",
        "K",
        "2K",
        "8m",
        "5m",
        "38;2;1;2;3m",
        "1;31m",
        "!p",
        ">c",
        "20t",
        "s",
        "u",
        "4h",
        "b",
    ];
    all.push(commands.map(|command| format!("a\u{1b}[{command}b\n\u{9b}{command}d")).concat());
    all.push("a\u{1b}[31".to_owned());
    let escapes = ["c", "7", "8", "M", "D", "E", "(0", "#8", "=", ">", "n", "o", "%@", "Z"];
    all.push(escapes.map(|escape| format!("a\u{1b}{escape}b\n")).concat());
    let others = [
        "<img src=x onerror=alert(1)>.ipynb",
        "\u{202e}gnp.exe\u{202c}\u{2066}x\u{2069}\u{200f}",
        "a\u{200b}b\u{feff}c\u{2060}d\u{ad}e",
        "50%\r100%\u{8}\u{8}\u{8}overprint\rerror: all is well",
        "\t\ttabs\tand\ttabs",
        "👩\u{200d}👩\u{200d}👧\u{200d}👦🇩🇪🇩❤\u{fe0f}1\u{fe0f}\u{20e3}日本語한국어",
        "| a\u{1b}[2J | b |\n|---|:-:|\n| \u{9b}1m | 日本 |\n",
        "**\u{1b}]0;x\u{7}** `\u{1b}[2J` [l](\u{1b}]8;;x) ![i](\u{202e})\n```python\n'\u{1b}c\n",
        "[Showing lines 1-2 of 3]\n… 5 more lines (ctrl+o to expand)\n✓ complete\n",
        "\u{2028}line\u{2029}separators\u{85}next\u{b}\u{c}",
    ];
    all.extend(others.map(str::to_owned));
    all.push(format!("e{}", "\u{301}".repeat(5000)));
    all.push("w".repeat(30_000));
    all.push("\t".repeat(5_000));
    all
}

fn source(text: &str) -> CellSource {
    CellSource { title: Some(text.to_owned()), ..samples::source(text) }
}

fn error(text: &str) -> PyError {
    let lines = vec![format!("Cell In[1], line 1, in {text}"), text.to_owned()];
    PyError { name: text.to_owned(), value: text.to_owned(), traceback: lines, plain: Vec::new() }
}

fn rich(text: &str) -> Vec<RichItem> {
    let quoted = serde_json::Value::from(text).to_string();
    let stored = Some(ArtifactRef { id: text.to_owned(), bytes: 1 });
    let json = |raw: String| {
        RichKind::Json(JsonItem {
            raw: Some(raw),
            shown: text.to_owned(),
            is_in_text: false,
            artifact: stored.clone(),
        })
    };
    let image = ImageItem {
        mime: text.to_owned(),
        data: Some(text.as_bytes().to_vec().into()),
        pixels: None,
        artifact: stored.clone(),
    };
    let kinds = [
        json(format!("{{{quoted}: [{quoted}]}}")),
        json(text.to_owned()),
        RichKind::Image(image),
        RichKind::Status(format!(
            "{{\"op\": {quoted}, \"path\": {quoted}, \"items\": [{quoted}]}}"
        )),
        RichKind::Digest { mime: text.to_owned(), artifact: stored.clone() },
    ];
    let numbered = (1..).zip(kinds);
    numbered.map(|(number, kind)| RichItem { number, kind, digest: text.to_owned() }).collect()
}

fn cell(text: &str, state: State) -> CellReport {
    let mut parts = vec![Part::Text(text.to_owned()), Part::Mark(Mark::Repeated { times: 2 })];
    parts.extend((1..=5).map(|number| Part::Mark(Mark::Rich { number })));
    let has_markdown = state == State::Done;
    CellReport {
        count: Some(1),
        duration: Duration::from_millis(1),
        output: ModelOutput { parts, rich: rich(text), has_markdown, ..ModelOutput::default() },
        end: (state == State::Error).then(|| EndReport::Exception(error(text))),
        ..samples::cell(source(text), state)
    }
}

/// Events with this text in all places, split into pieces of a few bytes.
fn events(text: &str) -> Vec<ExecEvent> {
    let stream = |name, data: &[u8]| ExecEvent::Stream { name, data: data.to_vec().into() };
    let piece = (text.len() / 7).max(1);
    let mut events: Vec<ExecEvent> =
        text.as_bytes().chunks(piece).map(|data| stream(StreamName::Stdout, data)).collect();
    // The same with eight-bit controls, as far as they exist.
    let eight: Vec<u8> =
        text.chars().take(2000).map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect();
    events.push(stream(StreamName::Stderr, &eight));
    for mime in ["text/plain", "text/markdown", text] {
        let data = vec![(mime.to_owned(), MimeData::Text(text.to_owned()))];
        let data = MimeBundle { data, metadata: String::new() };
        events.push(ExecEvent::Display { id: None, data });
    }
    events.push(ExecEvent::Finished(Outcome::Error(error(text))));
    events
}

fn call(text: &str, state: State, cells: Vec<CellReport>) -> PythonReport {
    PythonReport {
        session: inkcell_engine::registry::SessionName(text.to_owned()),
        missed_variable: Some(text.to_owned()),
        ..samples::call(state, cells)
    }
}

/// A reply to a model has no control characters, whatever titles and exceptions contain.
#[test]
fn no_reply_holds_a_control_character() {
    for text in hostile() {
        for state in [State::Done, State::Error] {
            let mut plain = cell(&text, state);
            if let Some(EndReport::Exception(error)) = &mut plain.end {
                error.plain = error.traceback.clone();
            }
            for cells in [vec![cell(&text, state)], vec![plain, cell(&text, state)]] {
                let reply = reply::of_report(&call(&text, state, cells)).text;
                let hidden = reply.replace("\r\n", "\n");
                let hidden = hidden.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
                assert_eq!(hidden, None, "{reply:?}");
            }
        }
    }
}

fn executions(text: &str) -> Vec<Box<dyn Renderer>> {
    let mut all: Vec<Box<dyn Renderer>> = Vec::new();
    for state in [State::Done, State::Error] {
        let report = cell(text, state);
        let mut transcript = Interactive::new(source(text));
        transcript.report(&report);
        all.push(Box::new(transcript));
        let mut execution =
            Execution::new(vec![source(text)]).with_cwd(Path::new(text), Path::new("/w"));
        execution.report(&call(text, state, vec![report]));
        all.push(Box::new(execution));
    }
    let mut growing = Execution::new(vec![source(text)]);
    let mut interactive = Interactive::new(source(text));
    for event in events(text) {
        let event: CallEvent = (0, event);
        growing.event(&event);
        interactive.event(&event);
    }
    all.push(Box::new(growing));
    all.push(Box::new(interactive));
    all
}

fn published(text: &str) -> Vec<Published> {
    let edit = |kind| Published {
        path: Path::new("/w").join(text),
        action: EditAction::Edit,
        index: 1,
        kind,
        source: text.to_owned(),
        total: 2,
    };
    [Some(CellKind::Code), Some(CellKind::Markdown), None].map(edit).to_vec()
}

fn session(text: &str) -> Vec<SessionEvent> {
    let execution = ExecutionId("x1".to_owned());
    let of = |cell, event| SessionEvent::Happened { execution: execution.clone(), cell, event };
    let mut all = vec![SessionEvent::Began {
        execution: execution.clone(),
        cell: 0,
        of: 1,
        source: source(text),
        notebook: None,
    }];
    all.extend(events(text).into_iter().map(|event| of(0, event)));
    let report = Box::new(cell(text, State::Error));
    all.push(SessionEvent::Ended { execution, cell: 0, report });
    all.extend(published(text).into_iter().map(SessionEvent::Edited));
    let (path, error) = (text.into(), text.to_owned());
    all.push(SessionEvent::EditFailed(FailedEdit { path, asked: EditAsked::default(), error }));
    all
}

/// Every frame that can contain a text from outside.
fn frames(text: &str, area: Area) -> Vec<Frame> {
    let mut all: Vec<Frame> =
        executions(text).iter_mut().map(|execution| execution.frame(area)).collect();
    for edit in published(text) {
        all.push(NotebookEdit::new(Edit::of(&edit, Path::new("/w"))).frame(area));
    }
    let failed = Edit { outcome: EditOutcome::Failed(text.to_owned()), ..Edit::default() };
    all.push(NotebookEdit::new(failed).frame(area));
    let mut transcript = Transcript::new("/w".into());
    for event in session(text) {
        transcript.take(&event);
    }
    all.push(transcript.frame(area));
    all.push(transcript.settled(area));
    all
}

/// Everything a terminal would receive besides text.
#[derive(Default)]
struct Told(Vec<String>);

impl vt100::Callbacks for Told {
    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.0.push("bell".to_owned());
    }
    fn visual_bell(&mut self, _: &mut vt100::Screen) {
        self.0.push("flash".to_owned());
    }
    fn resize(&mut self, _: &mut vt100::Screen, size: (u16, u16)) {
        self.0.push(format!("resize {size:?}"));
    }
    fn set_window_icon_name(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.0.push("icon".to_owned());
    }
    fn set_window_title(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.0.push("title".to_owned());
    }
    fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8], _: &[u8]) {
        self.0.push("copy".to_owned());
    }
    fn paste_from_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.0.push("paste".to_owned());
    }
    fn unhandled_control(&mut self, _: &mut vt100::Screen, byte: u8) {
        self.0.push(format!("control {byte:#x}"));
    }
    fn unhandled_escape(&mut self, _: &mut vt100::Screen, _: Option<u8>, _: Option<u8>, byte: u8) {
        self.0.push(format!("escape {byte:#x}"));
    }
    fn unhandled_csi(
        &mut self,
        _: &mut vt100::Screen,
        _: Option<u8>,
        _: Option<u8>,
        _: &[&[u16]],
        c: char,
    ) {
        self.0.push(format!("csi {c}"));
    }
    fn unhandled_osc(&mut self, _: &mut vt100::Screen, _: &[&[u8]]) {
        self.0.push("osc".to_owned());
    }
}

/// Checks that there is only text, looks that end with their line, and the allowed control characters.
fn assert_only_looks(bytes: &str, allowed: &[char]) {
    let mut is_open = false;
    let mut rest = bytes;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\u{1b}' => {
                let (parameters, after) = rest
                    .strip_prefix('[')
                    .and_then(|rest| rest.split_once('m'))
                    .unwrap_or(("?", ""));
                let is_look = parameters.chars().all(|c| c.is_ascii_digit() || c == ';');
                assert!(is_look, "a command in {bytes:?}");
                is_open = parameters != "0";
                rest = after;
            }
            '\n' => assert!(!is_open, "a look goes on after a line in {bytes:?}"),
            c if allowed.contains(&c) => {}
            c => assert!(!c.is_control() && !reorders(c), "{c:?} in {bytes:?}"),
        }
    }
    assert!(!is_open, "a look goes on after {bytes:?}");
}

fn reorders(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Checks a frame on a wider screen full of other text: it changes only its own area.
fn assert_keeps_to_its_area(frame: &Frame, width: usize) {
    let painted = plain(frame);
    for line in painted.lines() {
        let sum: usize = line.chars().filter_map(|c| c.width()).sum();
        assert!(sum <= width && line.width() <= width, "{line:?} is wider than {width}");
    }
    let coloured = ansi(frame);
    assert_only_looks(&coloured, &[]);
    assert_only_looks(&painted, &[]);
    // Every line stands alone. Of thousands of similar lines, a sample is enough.
    for lines in frame.lines.chunks(24).take(8) {
        assert_keeps_to_rows(&Frame { lines: lines.to_vec() }, width);
    }
}

fn assert_keeps_to_rows(frame: &Frame, width: usize) {
    let coloured = ansi(frame);
    let height = frame.lines.len();
    let (rows, columns) = (height + 4, width + 3);
    let size = |number: usize| u16::try_from(number).unwrap().try_into().unwrap();
    let mut screen =
        vt100::Parser::new_with_callbacks(size(rows), size(columns), 0, Told::default());
    for row in 1..=rows {
        screen.process(format!("\u{1b}[{row};1H{}", "#".repeat(columns)).as_bytes());
    }
    screen.process(b"\x1b[3;1H");
    for line in coloured.lines() {
        screen.process(line.as_bytes());
        screen.process(b"\r\n");
    }
    assert!(screen.callbacks().0.is_empty(), "{:?} by {coloured:?}", screen.callbacks().0);
    let screen = screen.screen();
    assert_eq!(screen.cursor_position(), (u16::try_from(height + 2).unwrap(), 0));
    for row in 0..rows {
        let is_inside = (2..height + 2).contains(&row);
        let at = |number: usize| u16::try_from(number).unwrap();
        for column in 0..columns {
            if !is_inside || column >= width {
                let cell = screen.cell(at(row), at(column)).unwrap();
                assert_eq!(cell.contents(), "#", "row {row}, column {column} by {coloured:?}");
                let is_plain = cell.fgcolor() == vt100::Color::Default && !cell.bold();
                assert!(is_plain, "row {row}, column {column} by {coloured:?}");
            }
        }
    }
}

/// S-050, S-051, S-006, B:T-22
#[test]
fn no_frame_commands_a_terminal_or_leaves_its_area() {
    for text in hostile() {
        // Long texts behave alike at any width, so one is enough for them.
        let areas = [(80, Expansion::Expanded), (20, Expansion::Collapsed)];
        let areas = if text.len() > 4000 { &areas[1..] } else { &areas };
        for &(width, expansion) in areas {
            for frame in frames(&text, Area { width, expansion }) {
                assert_keeps_to_its_area(&frame, width);
            }
        }
    }
}

/// S-050: pieces of one sequence in different places do not combine.
#[test]
fn sequences_cut_anywhere_are_still_none() {
    let text = "a\u{1b}]52;c;aGk=\u{7}b\u{1b}[2J\u{1b}[31mc\u{9b}2Jd";
    for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
        let mut execution = Execution::new(vec![source(&text[..at]), source(&text[at..])]);
        for piece in [&text[..at], &text[at..]] {
            let data = piece.as_bytes().to_vec().into();
            execution.event(&(0, ExecEvent::Stream { name: StreamName::Stdout, data }));
        }
        let area = Area { width: 40, expansion: Expansion::Expanded };
        let frame = execution.frame(area);
        assert_keeps_to_its_area(&frame, 40);
        assert!(plain(&frame).contains("  abcd\n"), "{}", plain(&frame));
    }
}

/// S-050: live output on a terminal keeps its colours and nothing else.
#[test]
fn a_live_stream_has_colours_only() {
    for text in hostile() {
        let mut terminal = TerminalText::new(Colour::On);
        let mut out = String::new();
        for event in events(&text) {
            if let ExecEvent::Stream { data, .. } = event {
                let piece = terminal.push(&data);
                assert_only_looks(&piece, &['\r', '\u{8}', '\t']);
                out.push_str(&piece);
            }
        }
        out.push_str(&terminal.finish());
        let size = |number: u16| number.try_into().unwrap();
        let mut screen = vt100::Parser::new_with_callbacks(size(50), size(80), 0, Told::default());
        screen.process(out.as_bytes());
        assert!(screen.callbacks().0.is_empty(), "{:?} by {out:?}", screen.callbacks().0);
        let state = screen.screen();
        assert!(!state.alternate_screen() && !state.hide_cursor() && !state.bracketed_paste());
        assert_eq!(state.fgcolor(), vt100::Color::Default);
        // A complete text, such as a display or a traceback.
        assert_only_looks(&TerminalText::whole(&text, Colour::On), &['\r', '\u{8}', '\t']);
    }
}

/// S-050: a pipe receives text only.
#[test]
fn a_pipe_gets_no_escape() {
    for text in hostile() {
        let mut piped = PlainTranscript::new("/w".into());
        let mut out: String = session(&text).iter().map(|event| piped.text(event)).collect();
        out.push_str(&piped.close());
        assert!(!out.contains('\u{1b}'));
        assert_only_looks(&out, &['\t']);
    }
}

/// S-050: a session watched on a terminal leaves the text above it unchanged.
#[test]
fn what_is_painted_again_keeps_to_its_rows() {
    let area = Area { width: 30, expansion: Expansion::Collapsed };
    let size = Size { columns: 30, rows: 12 };
    for text in hostile().iter().step_by(3) {
        let mut screen = vt100::Parser::new_with_callbacks(
            12.try_into().unwrap(),
            30.try_into().unwrap(),
            5000,
            Told::default(),
        );
        screen.process(b"$ inkcell attach\r\n");
        let mut transcript = Transcript::new("/w".into());
        let mut repaint = Repaint::default();
        let mut settled_rows = 0;
        for event in session(text) {
            transcript.take(&event);
            let settled = transcript.settled(area);
            settled_rows += settled.lines.len();
            let bytes = repaint.paint(&settled, &transcript.frame(area), size);
            screen.process(bytes.as_bytes());
        }
        assert!(screen.callbacks().0.is_empty(), "{:?}", screen.callbacks().0);
        screen.screen_mut().set_scrollback(usize::MAX);
        let top = screen.screen().contents();
        assert!(top.starts_with("$ inkcell attach\n"), "{top}");
        // Painted-over rows leave no trace: only settled rows scroll away.
        let kept = screen.screen().scrollback() + usize::from(screen.screen().cursor_position().0);
        assert!(kept <= settled_rows + 1, "{kept} rows for {settled_rows}");
    }
}
