//! Lines that code asks for: answered once, and never in the way of an end.

use super::*;

impl Desk {
    /// A kernel that runs the first cell of a call, which may ask for input.
    fn asking() -> Desk {
        let mut desk = Desk::new(Retry::Once);
        desk.step(Input::Enter(Ticket(1)));
        let (exec, input) = (ExecId(1), InputMode::Ask);
        let request = ExecRequest { exec, timeout: LIMIT, patience: LIMIT, input, is_empty: false };
        desk.step(Input::Run(Ticket(1), request));
        desk.step(Input::Launched);
        desk.started(1);
        desk
    }

    fn wants_line(&mut self) -> Vec<String> {
        self.fact(Fact::InputRequested(ExecId(1)))
    }

    fn reply(&mut self, ticket: u64, reply: InputReply) -> Vec<String> {
        self.step(Input::Reply(Ticket(ticket), reply))
    }
}

fn line() -> InputReply {
    InputReply::Line("Ada".to_owned())
}

/// Issue 9: a line that comes from another call, or that no cell waits for, is dropped.
#[test]
fn each_request_is_answered_once_by_the_call_that_runs() {
    let mut desk = Desk::asking();
    assert!(desk.reply(1, line()).is_empty(), "nothing was asked");
    assert!(desk.wants_line().is_empty());
    assert!(desk.reply(2, line()).is_empty(), "another call");
    assert_eq!(desk.reply(1, line()), ["line for 1"]);
    assert!(desk.reply(1, line()).is_empty(), "once");
    desk.wants_line();
    assert_eq!(desk.reply(1, InputReply::End), ["end for 1"]);
    assert_eq!(desk.finished(1), ["1 ok", "sleep"]);
    assert!(desk.reply(1, line()).is_empty(), "it is over");
}

/// Issue 9 B:X-25: the caller that answered is gone, or the code may not ask.
#[test]
fn a_line_that_is_refused_is_told_at_the_end() {
    let mut desk = Desk::asking();
    desk.wants_line();
    assert_eq!(desk.reply(1, InputReply::Refused), ["no input 1"]);
    assert_eq!(desk.finished(1)[0], "1 input refused");
    let mut desk = Desk::running(Retry::Once);
    assert_eq!(desk.wants_line(), ["no input 1"]);
    assert!(desk.reply(1, line()).is_empty(), "it does not wait");
}

/// Issue 9 B:R-20 B:R-21: code that must stop gets no more lines.
#[test]
fn a_run_that_must_stop_gets_no_line() {
    let mut desk = Desk::asking();
    desk.wants_line();
    assert_eq!(desk.step(Input::Cancel(Ticket(1))), ["interrupt", "wake 1500"]);
    // A debugger asks again, because it was interrupted.
    assert_eq!(desk.wants_line(), ["no input 1"]);
    assert_eq!(desk.finished(1)[0], "1 cancelled, kept");
    let mut desk = Desk::asking();
    desk.wants_line();
    assert!(desk.at(10_000).contains(&"interrupt".to_owned()), "waiting takes time, too");
    assert_eq!(desk.wants_line(), ["no input 1"]);
}

/// Issue 9: a kernel that dies while it waits takes the question with it.
#[test]
fn a_question_dies_with_its_kernel() {
    let mut desk = Desk::asking();
    desk.wants_line();
    assert!(desk.died().contains(&"launch".to_owned()));
    assert!(desk.reply(1, line()).is_empty());
    desk.step(Input::Launched);
    assert!(desk.reply(1, line()).is_empty(), "the new one has not asked");
    desk.wants_line();
    assert_eq!(desk.reply(1, line()), ["line for 1"]);
}
