//! Traces of messages in every possible order, and in some that should not occur.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::event::MimeData;
use crate::jupyter::message::Header;

const EXEC: ExecId = ExecId(7);

fn message_of(session: &str, parent: Option<&str>, kind: &str, content: &Value) -> Message {
    let header = |msg_id: &str, msg_type: &str, session: &str| Header {
        msg_id: msg_id.to_owned(),
        msg_type: msg_type.to_owned(),
        session: session.to_owned(),
    };
    Message {
        header: header("any", kind, "kernel"),
        raw_header: Bytes::from_static(b"{\"msg_id\":\"any\"}"),
        parent: parent.map(|parent| header(parent, "execute_request", session)),
        content: Bytes::from(content.to_string()),
        buffers: Vec::new(),
    }
}

fn message(parent: &str, kind: &str, content: &Value) -> Message {
    message_of("me", Some(parent), kind, content)
}

fn status(parent: &str, state: &str) -> (Channel, Message) {
    (Channel::Iopub, message(parent, "status", &json!({"execution_state": state})))
}

fn iopub(parent: &str, kind: &str, content: &Value) -> (Channel, Message) {
    (Channel::Iopub, message(parent, kind, content))
}

fn reply(parent: &str, status: &str) -> (Channel, Message) {
    let content = json!({"status": status, "execution_count": 3, "ename": "E", "evalue": "v",
        "traceback": ["E: v"]});
    (Channel::Shell, message(parent, "execute_reply", &content))
}

fn stream(parent: &str, text: &str) -> (Channel, Message) {
    iopub(parent, "stream", &json!({"name": "stdout", "text": text}))
}

/// Returns a fold in which a cell has just been sent.
fn running(history: History) -> Fold {
    let mut fold = Fold::new("me".to_owned(), StartPhase::default());
    fold.begin(&request(history, InputMode::Refuse), "r".to_owned());
    fold
}

fn request(history: History, input: InputMode) -> CodeRequest {
    let (code, env, names) = (String::new(), Vec::new(), crate::NamesWanted::No);
    CodeRequest { exec: EXEC, code, history, env, cwd: None, input, names }
}

/// Returns each effect as a line.
fn describe(effects: Vec<Effect>) -> Vec<String> {
    let line = |effect: Effect| match effect {
        Effect::Event(KernelEvent::Exec { exec, event }) => {
            assert_eq!(exec, EXEC);
            exec_line(&event)
        }
        Effect::Event(KernelEvent::Orphan(event)) => format!("orphan {}", exec_line(&event)),
        Effect::Event(KernelEvent::Notice(text)) => format!("notice {text}"),
        other => format!("{other:?}"),
    };
    effects.into_iter().map(line).collect()
}

fn exec_line(event: &ExecEvent) -> String {
    let plain = |data: &crate::event::MimeBundle| match data.get("text/plain") {
        Some(MimeData::Text(text)) => text.clone(),
        other => format!("{other:?}"),
    };
    match event {
        ExecEvent::Started { count } => format!("started {count:?}"),
        ExecEvent::Stream { name, data } => {
            format!("{} {}", name.as_str(), String::from_utf8_lossy(data).trim_end())
        }
        ExecEvent::Display { id, data } => {
            format!("display {:?} {}", id.as_ref().map(|id| &*id.0), plain(data))
        }
        ExecEvent::UpdateDisplay { id, data } => format!("update {} {}", id.0, plain(data)),
        ExecEvent::Result { count, id: None, data } => format!("result {count} {}", plain(data)),
        ExecEvent::Result { count, id: Some(id), data } => {
            format!("result {count} as {} {}", id.0, plain(data))
        }
        ExecEvent::ClearOutput { wait } => format!("clear {wait}"),
        ExecEvent::InputRequested { prompt, password } => format!("input {prompt:?} {password}"),
        ExecEvent::Widgets(states) => format!("widgets {:?}", states.0.keys()),
        ExecEvent::Names(names) => format!("makes {:?}", names.makes),
        ExecEvent::Finished(Outcome::Error(error)) => format!("failed {}", error.name),
        ExecEvent::Finished(outcome) => format!("{outcome:?}").to_lowercase(),
    }
}

fn fold_all(fold: &mut Fold, trace: impl IntoIterator<Item = (Channel, Message)>) -> Vec<String> {
    let heard = trace.into_iter().flat_map(|(channel, message)| fold.heard(channel, &message));
    describe(heard.collect())
}

/// Returns the output messages of a cell that does everything, as IPython's kernel sends them.
fn rich() -> Vec<(Channel, Message)> {
    let shown = |text: &str| json!({"data": {"text/plain": text}, "metadata": {}, "transient": {"display_id": "d"}});
    vec![
        status("r", "busy"),
        iopub("r", "execute_input", &json!({"code": "", "execution_count": 3})),
        stream("r", "one"),
        iopub("r", "display_data", &shown("shown")),
        iopub("r", "update_display_data", &shown("again")),
        iopub("r", "clear_output", &json!({"wait": true})),
        iopub(
            "r",
            "execute_result",
            &json!({"data": {"text/plain": "42"}, "metadata": {}, "execution_count": 3}),
        ),
        status("r", "idle"),
    ]
}

const RICH: [&str; 7] = [
    "started Some(3)",
    "stdout one",
    "display Some(\"d\") shown",
    "update d again",
    "clear true",
    "result 3 42",
    "ok",
];

/// B:Z-10 B:Z-12: the reply may come at any time between the others.
#[test]
fn a_reply_at_any_place_gives_the_same_events() {
    for at in 0..=rich().len() {
        let mut trace = rich();
        trace.insert(at, reply("r", "ok"));
        let mut fold = running(History::Store);
        assert_eq!(fold_all(&mut fold, trace), RICH, "{at}");
        assert!(!fold.is_running());
    }
}

/// B:Z-10: neither end alone is the end.
#[test]
fn both_ends_are_waited_for() {
    let mut fold = running(History::Store);
    assert_eq!(fold.awaited(), None);
    assert_eq!(fold_all(&mut fold, [reply("r", "ok")]), [""; 0]);
    assert_eq!(fold.awaited(), Some(Wait::Idle));
    assert_eq!(fold_all(&mut fold, [stream("r", "late")]), ["started None", "stdout late"]);
    assert_eq!(fold_all(&mut fold, [status("r", "idle")]), ["ok"]);
    assert_eq!(fold.awaited(), None);

    let mut fold = running(History::Store);
    assert_eq!(fold_all(&mut fold, [status("r", "idle")]), [""; 0]);
    assert_eq!(fold.awaited(), Some(Wait::Reply));
    assert_eq!(fold_all(&mut fold, [stream("r", "late")]), ["started None", "stdout late"]);
    assert_eq!(fold_all(&mut fold, [reply("r", "error")]), ["failed E"]);
}

/// Trap 1: the wait for a lost end is bounded, and the loss is reported.
#[test]
fn an_end_that_is_lost_is_given_up() {
    let mut fold = running(History::Store);
    fold_all(&mut fold, [reply("r", "ok")]);
    let wanted = [
        "notice the kernel did not say that it was idle; output may be missing",
        "started Some(3)",
        "ok",
    ];
    assert_eq!(describe(fold.gave_up()), wanted);
    assert_eq!(describe(fold.gave_up()), [""; 0], "once");
    let mut fold = running(History::Store);
    let error = json!({"ename": "Boom", "evalue": "", "traceback": []});
    fold_all(&mut fold, [iopub("r", "error", &error), status("r", "idle")]);
    let wanted =
        ["notice the kernel did not reply to the cell; it said that it was idle", "failed Boom"];
    assert_eq!(describe(fold.gave_up()), wanted);
}

/// B:Z-08: messages for other clients are ignored, and output without a request belongs to no cell.
#[test]
fn only_what_belongs_to_the_cell_is_its_own() {
    let mut fold = running(History::Store);
    let theirs = [
        message_of("other", Some("theirs"), "stream", &json!({"name": "stdout", "text": "x"})),
        message_of("other", Some("theirs"), "status", &json!({"execution_state": "idle"})),
        message_of("other", Some("theirs"), "comm_open", &json!({"comm_id": "c"})),
    ];
    assert_eq!(fold_all(&mut fold, theirs.map(|message| (Channel::Iopub, message))), [""; 0]);
    assert_eq!(fold_all(&mut fold, [reply("before", "error"), status("before", "idle")]), [""; 0]);
    assert_eq!(fold.awaited(), None);
    let nobody = message_of("", None, "stream", &json!({"name": "stderr", "text": "lost"}));
    assert_eq!(fold_all(&mut fold, [(Channel::Iopub, nobody)]), ["orphan stderr lost"]);
    assert_eq!(fold_all(&mut fold, [stream("before", "thread")]), ["orphan stdout thread"]);
    let mut trace = rich();
    trace.push(reply("r", "ok"));
    assert_eq!(fold_all(&mut fold, trace), RICH);
    assert_eq!(fold_all(&mut fold, [stream("r", "after")]), ["orphan stdout after"]);
}

/// Output of the start belongs to no cell and is dropped, even if the reply to the last request of
/// the start has overtaken it. Later output without a cell is reported.
#[test]
fn what_is_said_at_the_start_is_nobodys() {
    let text = json!({"name": "stderr", "text": "a warning"});
    let warning = || (Channel::Iopub, message_of("", None, "stream", &text));
    let mut fold = Fold::new("me".to_owned(), StartPhase::until("start"));
    let start = [warning(), status("start", "busy"), stream("start", "hello"), warning()];
    assert_eq!(fold_all(&mut fold, start), [""; 0]);
    assert_eq!(fold_all(&mut fold, [reply("start", "ok"), warning()]), [""; 0]);
    assert_eq!(
        fold_all(&mut fold, [status("start", "idle"), warning()]),
        ["orphan stderr a warning"]
    );

    // The first cell may be sent before that, and a kernel need not report that it was idle.
    let mut fold = Fold::new("me".to_owned(), StartPhase::until("start"));
    fold.begin(&request(History::Store, InputMode::Refuse), "r".to_owned());
    assert_eq!(fold_all(&mut fold, [warning(), stream("start", "hello")]), [""; 0]);
    assert_eq!(fold_all(&mut fold, [status("r", "busy"), warning()]), ["orphan stderr a warning"]);
}

/// B:Z-11
#[test]
fn a_cell_that_was_aborted_never_began() {
    let mut fold = running(History::Store);
    let trace = [status("r", "busy"), reply("r", "aborted"), status("r", "idle")];
    assert_eq!(fold_all(&mut fold, trace), ["aborted"]);
}

/// Silent code has no execution count; it begins when the kernel is busy with it.
#[test]
fn silent_code_begins_without_a_number() {
    let mut fold = running(History::Silent);
    assert_eq!(fold_all(&mut fold, [status("r", "busy")]), ["started None"]);
    assert_eq!(fold_all(&mut fold, [reply("r", "ok"), status("r", "idle")]), ["ok"]);
}

/// B:X-25: input is not available. The request is reported, whether it was sent or raised, and the
/// code goes on.
#[test]
fn input_is_refused() {
    let mut fold = running(History::Store);
    let ask = message("r", "input_request", &json!({"prompt": "name? ", "password": true}));
    let effects = fold.heard(Channel::Stdin, &ask);
    let line = Effect::Line { parent: any(), line: String::new() };
    // The request is answered at once, and reported when the cell is known to have begun.
    assert_eq!(effects, std::slice::from_ref(&line));
    let wanted = ["started Some(3)", "input \"name? \" true", "ok"];
    assert_eq!(fold_all(&mut fold, [reply("r", "ok"), status("r", "idle")]), wanted);
    // A request of another client, or of a question, is answered too: it would wait for ever.
    assert_eq!(fold.heard(Channel::Stdin, &ask), [line]);

    let mut fold = running(History::Store);
    let refused = json!({"status": "error", "ename": NO_INPUT, "evalue": "", "traceback": []});
    let trace = [(Channel::Shell, message("r", "execute_reply", &refused)), status("r", "idle")];
    let wanted = ["started None", "input \"\" false", "failed StdinNotImplementedError"];
    assert_eq!(fold_all(&mut fold, trace), wanted);
}

/// Header of all messages in these tests.
fn any() -> Bytes {
    Bytes::from_static(b"{\"msg_id\":\"any\"}")
}

/// Issue 9: code that may ask waits for its line, once for each request.
#[test]
fn input_that_is_asked_for_is_answered_when_somebody_answers() {
    let table = [
        (InputReply::Line("Ada".to_owned()), "Ada"),
        (InputReply::End, "\u{4}"),
        (InputReply::Refused, "\u{4}"),
    ];
    for (reply, line) in table {
        let mut fold = Fold::new("me".to_owned(), StartPhase::default());
        fold.begin(&request(History::Store, InputMode::Ask), "r".to_owned());
        assert_eq!(fold.reply_input(EXEC, reply.clone()), None, "nothing was asked");
        let ask = message("r", "input_request", &json!({"prompt": "name? "}));
        assert_eq!(fold.heard(Channel::Stdin, &ask), []);
        assert_eq!(fold.reply_input(ExecId(99), reply.clone()), None, "not its line");
        let wanted = Effect::Line { parent: any(), line: line.to_owned() };
        assert_eq!(fold.reply_input(EXEC, reply.clone()), Some(wanted));
        assert_eq!(fold.reply_input(EXEC, reply), None, "once");
        // A request of another client is answered at once all the same.
        let theirs = message("s", "input_request", &json!({"prompt": ""}));
        let empty = Effect::Line { parent: any(), line: String::new() };
        assert_eq!(fold.heard(Channel::Stdin, &theirs), [empty]);
    }
}

/// B:Z-12: a channel to anything but a widget is closed, because it has no other end here. A widget
/// is shown like any other output.
#[test]
fn widgets_are_kept_and_other_channels_closed() {
    let mut fold = running(History::Store);
    let open = iopub("r", "comm_open", &json!({"comm_id": "c1", "target_name": "other"}));
    let more = iopub("r", "comm_msg", &json!({"comm_id": "c1", "data": {}}));
    let view = json!({"data": {"text/plain": "IntSlider(value=0)",
        "application/vnd.jupyter.widget-view+json": {"model_id": "c1"}}, "metadata": {}});
    let heard = fold.heard(open.0, &open.1);
    let content = json!({"comm_id": "c1", "data": {}});
    assert_eq!(heard, [Effect::Comm { kind: "comm_close", content }]);
    let trace = [more, iopub("r", "display_data", &view)];
    assert_eq!(fold_all(&mut fold, trace), ["started None", "display None IntSlider(value=0)"]);
    let state = json!({"_model_name": "IntSliderModel", "value": 0});
    let widget =
        json!({"comm_id": "c2", "target_name": "jupyter.widget", "data": {"state": state}});
    let moved = json!({"comm_id": "c2", "data": {"method": "update", "state": {"value": 5}}});
    let trace = [
        iopub("r", "comm_open", &widget),
        iopub("r", "comm_msg", &moved),
        status("r", "idle"),
        reply("r", "ok"),
    ];
    assert_eq!(fold_all(&mut fold, trace), ["widgets [\"c2\"]", "ok"]);
    fold.begin(&request(History::Store, InputMode::Refuse), "s".to_owned());
    let unchanged = fold_all(&mut fold, [status("s", "idle"), reply("s", "ok")]);
    assert_eq!(unchanged, ["started Some(3)", "ok"], "what nothing has changed is not told again");
}

/// Issue 21, 13: a notice reports widgets that are too large to be stored.
#[test]
fn widgets_that_are_not_stored_are_told() {
    let mut fold = running(History::Store);
    let state = json!({"_model_name": "A", "value": "x".repeat(65 << 20)});
    let open = json!({"comm_id": "w", "target_name": "jupyter.widget", "data": {"state": state}});
    let trace = [iopub("r", "comm_open", &open), status("r", "idle"), reply("r", "ok")];
    let told = fold_all(&mut fold, trace);
    assert!(told.contains(&format!("notice {TOO_LARGE}")), "{told:?}");
    assert!(!told.iter().any(|line| line.starts_with("widgets")), "{told:?}");
}

/// Issue 21, 15: output inside an `Output` belongs to the widget, its clearing too, and the kernel
/// is informed.
#[test]
fn an_output_widget_captures_what_is_written_inside() {
    let mut fold = running(History::Store);
    let state = json!({"_model_name": "OutputModel", "_model_module": "@jupyter-widgets/output",
        "msg_id": "", "outputs": []});
    let open = json!({"comm_id": "o", "target_name": "jupyter.widget", "data": {"state": state}});
    let capture = |request: &str| {
        let data = json!({"method": "update", "state": {"msg_id": request}});
        iopub("r", "comm_msg", &json!({"comm_id": "o", "data": data}))
    };
    let clear = || iopub("r", "clear_output", &json!({"wait": false}));
    let trace = [
        stream("r", "before"),
        iopub("r", "comm_open", &open),
        capture("r"),
        stream("r", "gone"),
        clear(),
        stream("r", "in"),
        stream("r", "side"),
        capture(""),
        stream("r", "after"),
        status("r", "idle"),
    ];
    assert_eq!(fold_all(&mut fold, trace), ["started None", "stdout before", "stdout after"]);
    let heard = fold.heard(Channel::Shell, &reply("r", "ok").1);
    let outputs = json!([{"name": "stdout", "text": "inside", "output_type": "stream"}]);
    let [Effect::Comm { kind: "comm_msg", content }, ..] = &heard[..] else { panic!("{heard:?}") };
    assert_eq!(content["data"]["state"]["outputs"], outputs);
    let [_, Effect::Event(KernelEvent::Exec { event: ExecEvent::Widgets(states), .. }), _] =
        &heard[..]
    else {
        panic!("{heard:?}")
    };
    let stored: Value = serde_json::from_str(&states.0["o"]).unwrap();
    assert_eq!(stored["state"]["outputs"], outputs);
    assert_eq!(stored["model_name"], "OutputModel");
}

/// Issue 21, 16: a result can have a display id, by which it is changed later.
#[test]
fn a_result_has_its_display_id() {
    let mut fold = running(History::Store);
    let result = json!({"data": {"text/plain": "5"}, "metadata": {}, "execution_count": 3,
        "transient": {"display_id": "d"}});
    let told = fold_all(&mut fold, [iopub("r", "execute_result", &result)]);
    assert_eq!(told, ["started None", "result 3 as d 5"]);
}

/// Issue 21, 7: a refusal that the code caught is reported, once.
#[test]
fn a_caught_refusal_of_input_is_told() {
    for status_of_reply in ["ok", "error"] {
        let mut fold = running(History::Store);
        let refused = json!({"prompt": "name? ", "password": false});
        let error = json!({"ename": NO_INPUT, "evalue": "", "traceback": []});
        let mut trace = vec![iopub("r", guest::INPUT_REFUSED, &refused)];
        if status_of_reply == "error" {
            trace.push(iopub("r", "error", &error));
        }
        trace.extend([status("r", "idle"), reply("r", status_of_reply)]);
        let told = fold_all(&mut fold, trace);
        let end = if status_of_reply == "ok" { "ok" } else { "failed StdinNotImplementedError" };
        assert_eq!(told, ["started None", "input \"name? \" false", end]);
    }
}

/// Issue 21, 6: an interrupt of a cell waits until the kernel has begun the cell.
#[test]
fn a_cell_is_taken_up_once() {
    let input = || iopub("r", "execute_input", &json!({"code": "", "execution_count": 3}));
    for (guest, is_busy_enough) in [(Guest::Present, false), (Guest::Absent, true)] {
        let mut fold = running(History::Store);
        assert!(!fold.takes_up_cell(guest));
        fold_all(&mut fold, [status("r", "busy")]);
        assert_eq!(fold.takes_up_cell(guest), is_busy_enough);
        fold_all(&mut fold, [input()]);
        assert_eq!(fold.takes_up_cell(guest), !is_busy_enough);
        assert!(!fold.takes_up_cell(guest), "it is said once");
    }
}

/// The names of a cell come right before its end, also of one that fails. Of several messages the last one counts: a cell
/// may run another.
#[test]
fn names_come_before_the_end() {
    for (status_of_reply, end) in [("ok", "ok"), ("error", "failed E")] {
        let mut fold = running(History::Store);
        let names =
            |parent: &str, made: &str| iopub(parent, guest::NAMES, &json!({"makes": [made]}));
        let trace = [
            names("r", "inner"),
            names("another", "other"),
            names("r", "outer"),
            stream("r", "more"),
            reply("r", status_of_reply),
            status("r", "idle"),
        ];
        let told = fold_all(&mut fold, trace);
        assert_eq!(told, ["started None", "stdout more", "makes [\"outer\"]", end]);
        let unnamed = [stream("r", "late"), reply("r", "ok"), status("r", "idle")];
        fold.begin(&request(History::Store, InputMode::Refuse), "r".to_owned());
        assert_eq!(fold_all(&mut fold, unnamed), ["started None", "stdout late", "ok"]);
    }
}

/// Trap 7: a message that cannot be read is reported and skipped.
#[test]
fn a_broken_message_harms_nothing() {
    let mut fold = running(History::Store);
    let broken = [
        iopub("r", "stream", &json!({"name": "stdout"})),
        iopub("r", "display_data", &json!([1])),
        iopub("r", "status", &json!({})),
        iopub("r", "something_new", &json!({"a": 1})),
    ];
    let lines = fold_all(&mut fold, broken);
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines.iter().all(|line| line.starts_with("notice the kernel sent a ")), "{lines:?}");
    let mut trace = rich();
    trace.push(reply("r", "ok"));
    assert_eq!(fold_all(&mut fold, trace), RICH);
}

/// An exception that the cell shows and survives is output; the one that ends it is not shown
/// twice.
#[test]
fn a_caught_exception_is_output() {
    let error = |name: &str| {
        iopub("r", "error", &json!({"ename": name, "evalue": "", "traceback": [name]}))
    };
    let mut fold = running(History::Store);
    let trace = [error("Caught"), reply("r", "ok"), status("r", "idle")];
    assert_eq!(fold_all(&mut fold, trace), ["started None", "stderr Caught", "ok"]);
    let mut fold = running(History::Store);
    let trace = [error("Caught"), error("Last"), reply("r", "error"), status("r", "idle")];
    assert_eq!(fold_all(&mut fold, trace), ["started None", "stderr Caught", "failed Last"]);
}

/// A traceback that the cell shows itself keeps its place, if the kernel reports it.
#[test]
fn a_traceback_that_the_cell_shows_keeps_its_place() {
    let error = |name: &str| {
        iopub("r", "error", &json!({"ename": name, "evalue": "", "traceback": [name]}))
    };
    let shown = || iopub("r", guest::TRACEBACK_SHOWN, &json!({}));
    let mut fold = running(History::Store);
    let before = fold_all(&mut fold, [error("Caught"), shown()]);
    assert_eq!(before, ["started None", "stderr Caught"]);
    let trace = [stream("r", "on"), reply("r", "ok"), status("r", "idle")];
    assert_eq!(fold_all(&mut fold, trace), ["stdout on", "ok"]);
    let mut fold = running(History::Store);
    let trace = [error("Caught"), shown(), stream("r", "on"), error("Last"), reply("r", "error")];
    fold_all(&mut fold, trace);
    assert_eq!(fold_all(&mut fold, [status("r", "idle")]), ["failed Last"]);
}

/// A kernel that reports idle before its last output gets extra time from the second cell on.
#[test]
fn a_kernel_that_is_late_is_waited_for() {
    let result = || {
        iopub("r", "execute_result", &json!({"data": {"text/plain": "1"}, "execution_count": 1}))
    };
    let mut fold = running(History::Store);
    let trace = [reply("r", "ok"), status("r", "idle"), result()];
    assert_eq!(fold_all(&mut fold, trace), ["started Some(3)", "ok", "orphan display None 1"]);
    fold.begin(&request(History::Store, InputMode::Refuse), "r".to_owned());
    assert_eq!(fold_all(&mut fold, [reply("r", "ok"), status("r", "idle")]), [""; 0]);
    assert_eq!(fold.awaited(), Some(Wait::Late));
    assert_eq!(fold_all(&mut fold, [result()]), ["started None", "result 1 1"]);
    assert_eq!(describe(fold.gave_up()), ["ok"]);
    // Output of a running thread is not such a sign.
    let mut fold = running(History::Store);
    fold_all(&mut fold, [reply("r", "ok"), status("r", "idle"), stream("r", "thread")]);
    fold.begin(&request(History::Store, InputMode::Refuse), "s".to_owned());
    assert_eq!(fold_all(&mut fold, [reply("s", "ok"), status("s", "idle")]).last().unwrap(), "ok");
}

/// F-002: a request that a dead kernel had read may have had effects.
#[test]
fn a_death_tells_whether_the_code_may_have_begun() {
    assert_eq!(describe(running(History::Store).died(Unread::Nothing)), ["started None"]);
    assert_eq!(describe(running(History::Store).died(Unread::LastRequest)), [""; 0]);
    let mut fold = running(History::Store);
    fold_all(&mut fold, rich().into_iter().take(2));
    assert_eq!(describe(fold.died(Unread::Nothing)), [""; 0], "it was told already");
    assert_eq!(
        describe(Fold::new("me".to_owned(), StartPhase::default()).died(Unread::Nothing)),
        [""; 0]
    );
}

/// F-011: an interrupt that hit the kernel itself took the reply away; the reply to a later request
/// proves it.
#[test]
fn an_interrupt_that_ate_the_reply_is_an_interrupt() {
    let mut fold = running(History::Store);
    fold_all(&mut fold, [status("r", "busy")]);
    assert_eq!(describe(fold.passed()), [""; 0]);
    assert_eq!(fold.awaited(), Some(Wait::Idle), "there may be output on its way");
    let rest = [stream("r", "last"), status("r", "idle")];
    let wanted = ["started None", "stdout last", "failed KeyboardInterrupt"];
    assert_eq!(fold_all(&mut fold, rest), wanted);
    // If the reply did come, it counts.
    let mut fold = running(History::Store);
    fold_all(&mut fold, [reply("r", "ok")]);
    fold.passed();
    assert_eq!(fold_all(&mut fold, [status("r", "idle")]), ["started Some(3)", "ok"]);
}

/// Help that `?` sends to a pager is shown.
#[test]
fn pages_are_shown() {
    let mut fold = running(History::Store);
    let content = json!({"status": "ok", "execution_count": 1,
        "payload": [{"source": "page", "data": {"text/plain": "help"}}]});
    let trace = [(Channel::Shell, message("r", "execute_reply", &content)), status("r", "idle")];
    assert_eq!(fold_all(&mut fold, trace), ["started Some(1)", "display None help", "ok"]);
}

proptest! {
    /// B:Z-08 B:Z-10: the events of a cell are the same, whatever arrives in between and wherever
    /// the reply does.
    #[test]
    fn any_legal_order_gives_the_same_events(
        at in 0usize..9,
        noise in prop::collection::vec((0usize..9, 0usize..5), 0..12),
    ) {
        let mut trace = rich();
        trace.insert(at, reply("r", "ok"));
        let mut noise = noise;
        noise.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
        for (place, kind) in noise {
            let other = match kind {
                0 => status("fence", "busy"),
                1 => status("fence", "idle"),
                2 => (Channel::Shell, message("fence", "kernel_info_reply", &json!({}))),
                3 => reply("old", "error"),
                _ => (Channel::Iopub, message_of("other", Some("r2"), "stream", &json!({"name": "stdout", "text": "x"}))),
            };
            trace.insert(place, other);
        }
        let mut fold = running(History::Store);
        prop_assert_eq!(fold_all(&mut fold, trace), RICH);
    }

    /// For any messages, an execution ends at most once, and no event of it follows its end.
    #[test]
    fn any_trace_ends_at_most_once(steps in prop::collection::vec(0usize..12, 0..40)) {
        let mut fold = running(History::Store);
        let mut lines = Vec::new();
        for step in steps {
            lines.extend(match step {
                0 => fold_all(&mut fold, [reply("r", "ok")]),
                1 => fold_all(&mut fold, [reply("r", "error")]),
                2 => describe(fold.gave_up()),
                3 => describe(fold.passed()),
                step => fold_all(&mut fold, rich().into_iter().nth(step - 4)),
            });
        }
        let is_end = |line: &&String| ["ok", "failed E", "failed KeyboardInterrupt"].contains(&line.as_str());
        prop_assert!(lines.iter().filter(is_end).count() <= 1);
        let end = lines.iter().position(|line| is_end(&line)).unwrap_or(lines.len());
        let is_quiet = |line: &String| line.starts_with("orphan") || line.starts_with("notice");
        prop_assert!(lines.iter().skip(end + 1).all(is_quiet), "{:?}", lines);
        let begun = lines.iter().position(|line| line.starts_with("started")).unwrap_or(0);
        prop_assert!(begun == 0 || lines[..begun].iter().all(is_quiet), "{:?}", lines);
    }
}
