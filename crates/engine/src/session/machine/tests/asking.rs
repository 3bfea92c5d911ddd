//! Questions to a kernel: answered once, never in the way of a run.

use inkcell_kernel::{Answer, AskId};

use super::*;

impl Desk {
    fn ask(&mut self, id: u64, limit_millis: u64) -> Vec<String> {
        let limit = Duration::from_millis(limit_millis);
        self.step(Input::Ask(AskRequest { id: AskId(id), limit }))
    }

    fn answered(&mut self, id: u64, answer: Answer) -> Vec<String> {
        self.fact(Fact::Answered(AskId(id), answer))
    }

    /// A call that has its turn, and a kernel that runs nothing.
    fn ready() -> Desk {
        let mut desk = Desk::running(Retry::IfNotStarted);
        desk.finished(1);
        desk
    }
}

fn json() -> Answer {
    Answer::Json("{}".to_owned())
}

#[test]
fn a_question_is_put_to_a_kernel_that_is_there_and_starts_none() {
    let mut desk = Desk::new(Retry::IfNotStarted);
    assert_eq!(desk.ask(1, 5000), ["answer 1 no kernel false"]);
    desk.step(Input::Enter(Ticket(1)));
    desk.run(1);
    assert_eq!(desk.ask(2, 5000), ["answer 2 NotReady"]);
    desk.step(Input::Launched);
    desk.finished(1);
    assert_eq!(desk.ask(3, 5000), ["ask 3", "wake 5000"]);
    assert_eq!(desk.answered(3, json()), ["answer 3 {}", "sleep"]);
    assert!(desk.answered(3, json()).is_empty(), "once");
    desk.died();
    assert_eq!(desk.ask(4, 5000), ["answer 4 no kernel true"]);
}

#[test]
fn a_kernel_that_runs_says_that_it_is_busy_and_is_not_interrupted() {
    let mut desk = Desk::running(Retry::IfNotStarted);
    assert_eq!(desk.ask(1, 5000), ["ask 1", "wake 5000"]);
    assert_eq!(desk.answered(1, Answer::Busy), ["answer 1 busy Some(1)", "wake 10000"]);
    // A kernel that does not even report that it is busy, as when its output is not read.
    desk.ask(2, 5000);
    assert_eq!(desk.at(5000), ["answer 2 busy Some(1)", "wake 10000"]);
    // The run that kept the kernel busy is over: the question is asked again, once.
    desk.ask(3, 9000);
    assert_eq!(desk.finished(1), ["1 ok", "wake 14000"]);
    assert_eq!(desk.answered(3, Answer::Busy), ["ask 3"]);
    assert_eq!(desk.answered(3, Answer::Busy), ["answer 3 busy None", "sleep"]);
}

#[test]
fn a_question_that_takes_too_long_is_interrupted_and_a_run_waits_for_it_only_so_long() {
    let mut desk = Desk::ready();
    desk.ask(1, 2000);
    assert_eq!(desk.at(2000), ["interrupt", "answer 1 TimedOut(2s)", "wake 3000"]);
    assert!(desk.run(2).is_empty(), "the interrupt must not reach it");
    assert_eq!(desk.answered(1, json()), ["execute 2", "wake 12000"]);
    desk.finished(2);

    desk.ask(2, 2000);
    desk.at(4000);
    desk.run(3);
    assert_eq!(desk.at(5000), ["execute 3", "wake 15000"], "it never let go");
    assert!(desk.answered(2, json()).is_empty());
}

#[test]
fn a_run_hurries_a_question_and_comes_before_the_next() {
    let mut desk = Desk::ready();
    desk.ask(1, 60_000);
    assert_eq!(desk.run(2), ["wake 1000"]);
    assert_eq!(desk.ask(2, 5000), ["answer 2 busy Some(2)"]);
    assert_eq!(desk.answered(1, json()), ["answer 1 {}", "execute 2", "wake 10000"]);
}

#[test]
fn the_end_of_a_kernel_answers_its_questions() {
    let mut desk = Desk::ready();
    desk.ask(1, 5000);
    desk.ask(2, 5000);
    assert_eq!(desk.died(), ["answer 1 died", "answer 2 died", "sleep"]);

    let mut desk = Desk::ready();
    desk.ask(1, 5000);
    assert_eq!(desk.step(Input::Reset(None)), ["answer 1 TakenAway", "shutdown", "sleep"]);
    assert_eq!(desk.ask(2, 5000), ["answer 2 NotReady"]);
    desk.step(Input::Close(CloseReason::Asked));
    assert_eq!(desk.ask(3, 5000), ["answer 3 Closed"]);
    desk.died();
    assert_eq!(desk.ask(4, 5000), ["answer 4 Closed"]);
}
