mod asking;
mod model;
mod typing;

use std::time::Duration;

use inkcell_kernel::{DeathCause, InputMode, InputReply, Outcome, PyError};

use super::*;

/// A machine whose effects are collected as short words, and whose clock is moved by hand.
struct Desk {
    machine: Machine,
    start: Instant,
    now: Instant,
}

const GRACE: Duration = Duration::from_secs(3);

fn policy(retry: Retry) -> Policy {
    Policy { retry, interrupt_grace: GRACE, max_restarts: 1 }
}

fn death() -> Death {
    let cause = DeathCause::Signal { signal: 9 };
    Death { cause, stderr_tail: String::new(), strays: Vec::new() }
}

const LIMIT: Option<Duration> = Some(Duration::from_secs(10));

impl Desk {
    fn new(retry: Retry) -> Desk {
        let now = Instant::now();
        Desk { machine: Machine::new(policy(retry), None), start: now, now }
    }

    fn step(&mut self, input: Input) -> Vec<String> {
        let effects = self.machine.step(self.now, input);
        effects.iter().map(|effect| describe(effect, self.start)).collect()
    }

    fn run(&mut self, exec: u64) -> Vec<String> {
        self.run_of(1, exec)
    }

    fn run_of(&mut self, ticket: u64, exec: u64) -> Vec<String> {
        let request = ExecRequest {
            exec: ExecId(exec),
            timeout: LIMIT,
            patience: LIMIT,
            input: InputMode::Refuse,
            is_empty: false,
        };
        self.step(Input::Run(Ticket(ticket), request))
    }

    fn fact(&mut self, fact: Fact) -> Vec<String> {
        self.step(Input::Kernel(fact))
    }

    fn died(&mut self) -> Vec<String> {
        self.fact(Fact::Died(death()))
    }

    fn started(&mut self, exec: u64) {
        assert!(self.fact(Fact::Started(ExecId(exec))).is_empty());
    }

    fn finished(&mut self, exec: u64) -> Vec<String> {
        self.fact(Fact::Finished(ExecId(exec), Outcome::Ok))
    }

    /// The clock is this many milliseconds after the start.
    fn at(&mut self, millis: u64) -> Vec<String> {
        self.now = self.start + Duration::from_millis(millis);
        self.step(Input::Deadline)
    }

    /// A call that has its turn, and a kernel that runs its first cell.
    fn running(retry: Retry) -> Desk {
        let mut desk = Desk::new(retry);
        assert_eq!(desk.step(Input::Enter(Ticket(1))), ["grant 1"]);
        assert_eq!(desk.run(1), ["launch", "wake 10000"]);
        assert_eq!(desk.step(Input::Launched), ["execute 1"]);
        desk.started(1);
        desk
    }
}

fn describe(effect: &MachineEffect, start: Instant) -> String {
    match effect {
        MachineEffect::Grant(ticket) => format!("grant {}", ticket.0),
        MachineEffect::Refuse(ticket, why) => format!("refuse {} {why:?}", ticket.0),
        MachineEffect::Launch => "launch".to_owned(),
        MachineEffect::AbortLaunch => "abort launch".to_owned(),
        MachineEffect::Execute(exec) => format!("execute {}", exec.0),
        MachineEffect::ReplyInput(exec, InputReply::Refused) => format!("no input {}", exec.0),
        MachineEffect::ReplyInput(exec, reply) => {
            format!("{reply:?} for {}", exec.0).to_lowercase()
        }
        MachineEffect::Interrupt => "interrupt".to_owned(),
        MachineEffect::Force(force) => format!("{force:?}").to_lowercase(),
        MachineEffect::Shutdown => "shutdown".to_owned(),
        MachineEffect::Abandon => "abandon".to_owned(),
        MachineEffect::Ask(id) => format!("ask {}", id.0),
        MachineEffect::Answer(id, end) => match &**end {
            AskEnd::Answered(text) => format!("answer {} {text}", id.0),
            AskEnd::Busy(exec) => format!("answer {} busy {:?}", id.0, exec.map(|exec| exec.0)),
            AskEnd::NoKernel(loss) => format!("answer {} no kernel {}", id.0, loss.is_some()),
            AskEnd::Died(_) => format!("answer {} died", id.0),
            end => format!("answer {} {end:?}", id.0),
        },
        MachineEffect::ResetDone(end) => format!("reset {end:?}").to_lowercase(),
        MachineEffect::Wake(Some(at)) => format!("wake {}", at.duration_since(start).as_millis()),
        MachineEffect::Wake(None) => "sleep".to_owned(),
        MachineEffect::Stop => "stop".to_owned(),
        MachineEffect::Resolve(exec, end) => {
            let RunEnd { end, notes } = &**end;
            let end = match end {
                CellEnd::Ok => "ok".to_owned(),
                CellEnd::PythonError(error) => error.name.clone(),
                CellEnd::TimedOut { fate, .. } => format!("timed out, {}", fate_word(fate)),
                CellEnd::Cancelled { fate, .. } => format!("cancelled, {}", fate_word(fate)),
                CellEnd::InputRefused(_) => "input refused".to_owned(),
                CellEnd::KernelDied(_) => "died".to_owned(),
                CellEnd::TooManyRestarts { death, has_begun } => {
                    assert!(death.is_some(), "a reader hears why");
                    let begun = if *has_begun { ", begun" } else { "" };
                    format!("given up{begun}")
                }
                CellEnd::NotRun(why) => format!("not run: {why:?}"),
            };
            let notes: Vec<&str> = notes
                .iter()
                .map(|note| match note {
                    CallNote::StateLost(Loss::Died(_)) => " (lost: died)",
                    CallNote::StateLost(Loss::Killed { .. }) => " (lost: killed)",
                    CallNote::StateLost(Loss::Closed { .. }) => " (lost: closed)",
                    CallNote::RanTwice(_) => " (again)",
                    CallNote::Kernel(_) => " (said)",
                    CallNote::Interrupted => " (interrupted)",
                    CallNote::MadeRoom { .. } => " (made room)",
                })
                .collect();
            format!("{} {end}{}", exec.0, notes.concat())
        }
    }
}

fn fate_word(fate: &KernelFate) -> String {
    match fate {
        KernelFate::Kept => "kept".to_owned(),
        KernelFate::TakenAway => "taken away".to_owned(),
        KernelFate::Ended { by, .. } => format!("ended by {by:?}"),
    }
}

/// B:K-08, F-090
#[test]
fn calls_take_turns_and_cells_of_two_never_mix() {
    let mut desk = Desk::running(Retry::IfNotStarted);
    assert!(desk.step(Input::Enter(Ticket(2))).is_empty());
    assert!(desk.step(Input::Enter(Ticket(3))).is_empty());
    assert_eq!(desk.finished(1), ["1 ok", "sleep"]);
    assert_eq!(desk.run(2), ["execute 2", "wake 10000"], "the same call goes on");
    assert_eq!(desk.finished(2), ["2 ok", "sleep"]);
    assert_eq!(desk.step(Input::Leave(Ticket(1))), ["grant 2"]);
    assert_eq!(desk.step(Input::Leave(Ticket(2))), ["grant 3"]);
}

/// F-091
#[test]
fn a_queued_call_that_is_cancelled_never_runs() {
    let mut desk = Desk::running(Retry::IfNotStarted);
    desk.step(Input::Enter(Ticket(2)));
    assert_eq!(desk.step(Input::Cancel(Ticket(2))), ["refuse 2 Cancelled"]);
    assert!(desk.step(Input::Cancel(Ticket(2))).is_empty(), "the second time");
    assert!(desk.step(Input::Cancel(Ticket(9))).is_empty(), "nobody's");
    assert_eq!(desk.finished(1), ["1 ok", "sleep"]);
    assert!(desk.step(Input::Cancel(Ticket(1))).is_empty(), "it has nothing running");
}

/// Issue 21, 6: an interrupt that comes while the kernel starts is for the cell that waits for it.
#[test]
fn an_interrupt_waits_for_the_kernel() {
    let mut desk = Desk::new(Retry::Never);
    desk.step(Input::Enter(Ticket(1)));
    desk.run(1);
    assert!(desk.step(Input::Interrupt).is_empty());
    assert_eq!(desk.step(Input::Launched), ["execute 1", "interrupt"]);
    // The interrupt does not affect the next cell.
    assert_eq!(desk.finished(1), ["1 ok", "sleep"]);
    assert_eq!(desk.run(2), ["execute 2", "wake 10000"]);
}

/// B:R-21
#[test]
fn code_that_does_not_listen_is_answered_within_the_ladder() {
    let mut desk = Desk::running(Retry::IfNotStarted);
    assert_eq!(desk.at(10_000), ["interrupt", "wake 11500"]);
    assert_eq!(desk.at(11_500), ["interrupt", "wake 13000"]);
    assert_eq!(desk.at(13_000), ["terminate", "wake 14000"]);
    assert_eq!(desk.at(14_000), ["kill", "wake 15000"]);
    assert_eq!(desk.at(15_000), ["abandon", "1 timed out, ended by Answer", "sleep"]);
    assert_eq!(desk.run(2)[0], "launch");
    assert_eq!(desk.step(Input::Launched)[0], "execute 2");
    assert_eq!(desk.finished(2), ["2 ok (lost: killed)", "sleep"]);
}

#[test]
fn each_rung_can_end_it() {
    let mut desk = Desk::running(Retry::Once);
    desk.at(10_000);
    assert_eq!(desk.finished(1), ["1 timed out, kept", "sleep"]);

    let mut desk = Desk::running(Retry::Once);
    desk.at(10_000);
    desk.at(13_000);
    assert_eq!(desk.died(), ["1 timed out, ended by Terminate", "sleep"], "and it is not rerun");
}

/// The rungs that a suspended machine missed are climbed in order.
#[test]
fn a_late_clock_climbs_at_once() {
    let mut desk = Desk::running(Retry::Once);
    assert_eq!(desk.at(100_000), ["interrupt", "wake 101500"], "the ladder begins when it is seen");
}

#[test]
fn a_second_cancel_kills() {
    let mut desk = Desk::running(Retry::Once);
    assert_eq!(desk.step(Input::Cancel(Ticket(1))), ["interrupt", "wake 1500"]);
    assert_eq!(desk.step(Input::Cancel(Ticket(1))), ["kill", "wake 1000"]);
    assert_eq!(desk.died(), ["1 cancelled, ended by Kill", "sleep"]);
}

/// B:K-10, F-002
#[test]
fn code_that_has_begun_is_rerun_only_where_the_policy_says_so() {
    let mut desk = Desk::running(Retry::IfNotStarted);
    assert_eq!(desk.died(), ["1 died", "sleep"]);
    let mut desk = Desk::running(Retry::Never);
    assert_eq!(desk.died(), ["1 died", "sleep"]);
    let mut desk = Desk::running(Retry::Once);
    assert_eq!(desk.died(), ["launch", "sleep"]);
    assert_eq!(desk.step(Input::Launched), ["execute 1", "wake 10000"]);
    assert_eq!(desk.finished(1), ["1 ok (again)", "sleep"]);
}

/// B:K-10
#[test]
fn code_that_has_not_begun_is_sent_again() {
    for (retry, wanted) in
        [(Retry::IfNotStarted, "launch"), (Retry::Once, "launch"), (Retry::Never, "1 died")]
    {
        let mut desk = Desk::new(retry);
        desk.step(Input::Enter(Ticket(1)));
        desk.run(1);
        desk.step(Input::Launched);
        assert_eq!(desk.died()[0], wanted, "{retry:?}");
        if wanted == "launch" {
            desk.step(Input::Launched);
            desk.started(1);
            // Nothing was run twice; only the earlier state is lost.
            assert_eq!(desk.finished(1), ["1 ok (lost: died)", "sleep"], "{retry:?}");
        }
    }
}

/// B:K-11: a kernel that could not be started is not a restart, so a gateway that is away for a while uses none up.
#[test]
fn a_start_that_fails_is_no_restart() {
    let mut desk = Desk::running(Retry::IfNotStarted);
    desk.finished(1);
    desk.died();
    for exec in 2..9 {
        assert_eq!(desk.run(exec)[0], "launch");
        desk.step(Input::LaunchFailed(LaunchError::Cancelled));
    }
    assert_eq!(desk.run(9)[0], "launch");
    desk.step(Input::Launched);
    desk.started(9);
    assert_eq!(desk.finished(9), ["9 ok (lost: died)", "sleep"]);
}

/// B:K-11, F-015
#[test]
fn kernels_that_die_again_and_again_are_given_up() {
    let mut desk = Desk::running(Retry::Once);
    desk.died();
    desk.step(Input::Launched);
    assert_eq!(desk.died(), ["1 given up, begun (again)", "sleep"]);
    assert_eq!(desk.run(2)[0], "launch", "the next one begins anew");

    let mut desk = Desk::running(Retry::Never);
    desk.died();
    assert_eq!(desk.run(2)[0], "launch");
    desk.step(Input::Launched);
    desk.died();
    assert_eq!(desk.run(3), ["3 given up"]);
    assert_eq!(desk.run(4)[0], "launch");
    desk.step(Input::Launched);
    assert_eq!(desk.finished(4)[0], "4 ok (lost: died)");

    // Code that begins in a kernel that may not be replaced is given up, and the next call hears of the loss.
    let mut desk = Desk::running(Retry::Once);
    desk.finished(1);
    desk.died();
    desk.run(2);
    desk.step(Input::Launched);
    desk.started(2);
    assert_eq!(desk.died(), ["2 given up, begun (lost: died)", "sleep"]);
    desk.run(3);
    desk.step(Input::Launched);
    assert_eq!(desk.finished(3)[0], "3 ok (lost: died)");
}

/// B:K-11: a kernel that outlives its call is not one that keeps dying, however the call ended.
#[test]
fn a_call_that_leaves_its_kernel_alive_begins_the_count_again() {
    let failed = || Outcome::Error(PyError::default());
    for is_stopped in [false, true] {
        let mut desk = Desk::running(Retry::Never);
        for exec in 2..6 {
            desk.died();
            assert_eq!(desk.run(exec)[0], "launch", "{exec}");
            desk.step(Input::Launched);
            if is_stopped {
                desk.step(Input::Cancel(Ticket(1)));
            }
            desk.fact(Fact::Finished(ExecId(exec), failed()));
        }
    }
}

/// B:K-09, F-003
#[test]
fn a_kernel_that_died_between_runs_is_replaced_and_the_next_run_says_so() {
    let mut desk = Desk::running(Retry::IfNotStarted);
    desk.finished(1);
    assert!(desk.died().is_empty());
    assert_eq!(desk.run(2)[0], "launch");
    desk.step(Input::Launched);
    desk.started(2);
    assert_eq!(desk.finished(2), ["2 ok (lost: died)", "sleep"]);
    desk.run(3);
    assert_eq!(desk.finished(3), ["3 ok", "sleep"], "once is enough");
}

/// B:K-13, B:K-14, F-092
#[test]
fn a_reset_shuts_down_once_and_a_second_one_is_refused() {
    let mut desk = Desk::running(Retry::IfNotStarted);
    desk.finished(1);
    assert_eq!(desk.step(Input::Reset(Some(Ticket(1)))), ["shutdown"]);
    assert_eq!(desk.step(Input::Reset(None)), ["reset refused"]);
    assert_eq!(desk.run(2), ["wake 10000"], "a run waits for it");
    assert_eq!(desk.died(), ["reset done", "launch"]);
    desk.step(Input::Launched);
    assert_eq!(desk.finished(2), ["2 ok", "sleep"], "a restart on request is not a loss");
}

#[test]
fn a_reset_without_a_kernel_is_done_at_once_and_one_that_starts_is_waited_for() {
    let mut desk = Desk::new(Retry::IfNotStarted);
    desk.step(Input::Enter(Ticket(1)));
    assert_eq!(desk.step(Input::Reset(Some(Ticket(1)))), ["reset done"]);
    desk.run(1);
    assert_eq!(desk.step(Input::Cancel(Ticket(1))), ["1 cancelled, kept", "sleep"]);
    assert!(desk.step(Input::Reset(None)).is_empty());
    assert_eq!(desk.step(Input::Launched), ["shutdown"]);
    assert_eq!(desk.died(), ["reset done"]);
}

#[test]
fn a_reset_from_outside_ends_what_runs() {
    let mut desk = Desk::running(Retry::Once);
    assert_eq!(desk.step(Input::Reset(None)), ["shutdown"]);
    assert_eq!(desk.died(), ["reset done", "1 cancelled, taken away", "sleep"]);
}

/// Issue 21, 1: requests made before a reset from outside do not run in the kernel after it.
#[test]
fn a_reset_from_outside_takes_back_what_has_not_begun() {
    let mut desk = Desk::new(Retry::Once);
    desk.step(Input::Enter(Ticket(1)));
    desk.step(Input::Enter(Ticket(2)));
    assert_eq!(desk.run(1), ["launch", "wake 10000"]);
    let taken = desk.step(Input::Reset(None));
    assert_eq!(taken, ["refuse 2 Cancelled", "1 cancelled, taken away", "sleep"]);
    assert_eq!(desk.run(2), ["2 cancelled, taken away"], "nor what the same call wants then");
    desk.step(Input::Launched);
    assert_eq!(desk.died(), ["reset done"]);
    desk.step(Input::Leave(Ticket(1)));
    desk.step(Input::Enter(Ticket(3)));
    assert_eq!(desk.run_of(3, 3)[0], "launch", "a later call is not touched");
}

/// Code that someone else interrupted says so, and nothing else does.
#[test]
fn an_interrupt_that_ends_code_is_noted() {
    let error =
        |name: &str| Outcome::Error(PyError { name: name.to_owned(), ..PyError::default() });
    let table = [
        (error("KeyboardInterrupt"), "1 KeyboardInterrupt (interrupted)"),
        (error("CancelledError"), "1 CancelledError (interrupted)"),
        (Outcome::Aborted, "1 cancelled, kept (interrupted)"),
        (error("ValueError"), "1 ValueError"),
        (error("InterruptedError"), "1 InterruptedError"),
        (Outcome::Ok, "1 ok"),
    ];
    for (outcome, wanted) in table {
        let mut desk = Desk::running(Retry::Never);
        assert_eq!(desk.step(Input::Interrupt), ["interrupt"]);
        assert_eq!(desk.fact(Fact::Finished(ExecId(1), outcome))[0], wanted);
    }
    let interrupt = || Fact::Finished(ExecId(1), error("KeyboardInterrupt"));
    let mut desk = Desk::running(Retry::Never);
    assert_eq!(desk.fact(interrupt())[0], "1 KeyboardInterrupt", "nobody interrupted it");
    let mut desk = Desk::running(Retry::Never);
    desk.step(Input::Cancel(Ticket(1)));
    desk.step(Input::Interrupt);
    assert_eq!(desk.fact(interrupt())[0], "1 cancelled, kept", "its caller did");
    let mut desk = Desk::new(Retry::Never);
    desk.step(Input::Enter(Ticket(1)));
    desk.step(Input::Interrupt);
    desk.run(1);
    desk.step(Input::Launched);
    assert_eq!(desk.fact(interrupt())[0], "1 KeyboardInterrupt (interrupted)");
    let mut desk = Desk::running(Retry::Never);
    desk.step(Input::Interrupt);
    let cause = DeathCause::Signal { signal: 2 };
    assert_eq!(desk.fact(Fact::Died(Death { cause, ..death() }))[0], "1 died (interrupted)");
}

/// Issue 21, 6: an interrupt of a call that has its turn and runs nothing yet ends the call's next code, and does
/// not affect the call after it.
#[test]
fn an_interrupt_before_the_code_ends_it() {
    let mut desk = Desk::running(Retry::Once);
    desk.finished(1);
    assert!(desk.step(Input::Interrupt).is_empty());
    assert_eq!(desk.run(2)[..2], ["execute 2", "interrupt"]);
    desk.finished(2);
    desk.step(Input::Interrupt);
    desk.step(Input::Leave(Ticket(1)));
    desk.step(Input::Enter(Ticket(2)));
    let ran = desk.run_of(2, 3);
    assert!(!ran.contains(&"interrupt".to_owned()), "{ran:?}");
}

/// Issue 21, 6: the start of a kernel takes no interrupt from the code for which it is started.
#[test]
fn an_interrupt_of_a_start_is_for_the_code_after_it() {
    let mut desk = Desk::new(Retry::Once);
    desk.step(Input::Enter(Ticket(1)));
    let start = ExecRequest {
        exec: ExecId(1),
        timeout: None,
        patience: None,
        input: InputMode::Refuse,
        is_empty: true,
    };
    assert_eq!(desk.step(Input::Run(Ticket(1), start)), ["launch"]);
    assert!(desk.step(Input::Interrupt).is_empty());
    assert_eq!(desk.step(Input::Launched), ["execute 1"]);
    assert!(desk.step(Input::Interrupt).is_empty());
    desk.finished(1);
    assert_eq!(desk.run(2)[..2], ["execute 2", "interrupt"]);
}

/// Issue 21, 6: the same if the interrupt comes while a reset holds the call back.
#[test]
fn an_interrupt_waits_for_the_first_turn() {
    let mut desk = Desk::running(Retry::Once);
    desk.finished(1);
    desk.step(Input::Leave(Ticket(1)));
    desk.step(Input::Reset(None));
    desk.step(Input::Enter(Ticket(2)));
    assert!(desk.step(Input::Interrupt).is_empty());
    assert_eq!(desk.died(), ["reset done", "grant 2"]);
    desk.run_of(2, 2);
    assert_eq!(desk.step(Input::Launched), ["execute 2", "interrupt"]);
}

/// B:X-25
#[test]
fn input_is_refused_and_the_run_says_so() {
    for outcome in [Outcome::Ok, Outcome::Error(PyError::default())] {
        let mut desk = Desk::running(Retry::Once);
        assert_eq!(desk.fact(Fact::InputRequested(ExecId(1))), ["no input 1"]);
        assert_eq!(desk.fact(Fact::Finished(ExecId(1), outcome))[0], "1 input refused");
    }
}

#[test]
fn a_launch_that_fails_is_told_and_tried_again_by_the_next_run() {
    let mut desk = Desk::new(Retry::Once);
    desk.step(Input::Enter(Ticket(1)));
    desk.run(1);
    let failed = desk.step(Input::LaunchFailed(LaunchError::Cancelled));
    assert_eq!(failed, ["1 not run: Launch(Cancelled)", "sleep"]);
    assert_eq!(desk.run(2)[0], "launch");
}

#[test]
fn closing_ends_everything_and_answers_everybody() {
    let mut desk = Desk::running(Retry::Once);
    desk.step(Input::Enter(Ticket(2)));
    assert_eq!(desk.step(Input::Close(CloseReason::Shutdown)), ["refuse 2 Closed", "shutdown"]);
    assert_eq!(desk.step(Input::Enter(Ticket(3))), ["refuse 3 Closed"]);
    assert_eq!(desk.died(), ["1 cancelled, taken away", "stop", "sleep"]);
    assert_eq!(desk.step(Input::Enter(Ticket(4))), ["refuse 4 Closed"]);
    assert_eq!(desk.step(Input::Reset(None)), ["reset refused"]);
    let request = ExecRequest {
        exec: ExecId(9),
        timeout: None,
        patience: None,
        input: InputMode::Refuse,
        is_empty: false,
    };
    assert_eq!(desk.step(Input::Run(Ticket(4), request)), ["9 not run: Closed"]);
}

/// F-150: a launch may wait for this very session to end, so closing aborts it even if a reset has made its kernel
/// unwanted.
#[test]
fn closing_gives_up_a_launch_also_after_a_reset() {
    let mut desk = Desk::new(Retry::IfNotStarted);
    desk.step(Input::Enter(Ticket(1)));
    desk.run(1);
    desk.step(Input::Leave(Ticket(1)));
    assert!(desk.step(Input::Reset(None)).is_empty());
    assert_eq!(desk.step(Input::Close(CloseReason::Evicted)), ["abort launch"]);
    let failed = desk.step(Input::LaunchFailed(LaunchError::Cancelled));
    assert_eq!(failed, ["reset done", "stop"]);
}

#[test]
fn a_run_that_nobody_waits_for_is_stopped_before_the_next_turn() {
    let mut desk = Desk::running(Retry::Once);
    desk.step(Input::Enter(Ticket(2)));
    assert_eq!(desk.step(Input::Leave(Ticket(1))), ["interrupt", "wake 1500"]);
    assert_eq!(desk.finished(1), ["1 cancelled, kept", "grant 2", "sleep"]);
}

#[test]
fn a_run_out_of_turn_is_refused() {
    let mut desk = Desk::running(Retry::Once);
    let request = ExecRequest {
        exec: ExecId(5),
        timeout: None,
        patience: None,
        input: InputMode::Refuse,
        is_empty: false,
    };
    assert_eq!(desk.step(Input::Run(Ticket(2), request)), ["5 not run: Closed"]);
    assert_eq!(desk.run(6), ["6 not run: Closed"], "one at a time");
    assert_eq!(desk.finished(1), ["1 ok", "sleep"]);
}

/// F-002: code that had begun is not reported as never run when no kernel can run it again.
#[test]
fn what_had_begun_is_not_told_as_never_run() {
    let mut desk = Desk::running(Retry::Once);
    assert!(desk.died().contains(&"launch".to_owned()));
    let end = desk.step(Input::LaunchFailed(LaunchError::Cancelled));
    assert!(end.contains(&"1 died".to_owned()), "{end:?}");
    // Code that had not begun may be reported so.
    let mut desk = Desk::new(Retry::Once);
    desk.step(Input::Enter(Ticket(1)));
    desk.run(1);
    desk.step(Input::Launched);
    assert!(desk.died().contains(&"launch".to_owned()));
    let end = desk.step(Input::LaunchFailed(LaunchError::Cancelled));
    assert!(end.iter().any(|word| word.contains("not run")), "{end:?}");
}

/// F-091: a call that is cancelled between two cells does not begin the next.
#[test]
fn a_call_that_is_taken_back_between_cells_runs_no_more() {
    let mut desk = Desk::running(Retry::Never);
    desk.finished(1);
    assert!(desk.step(Input::Cancel(Ticket(1))).is_empty());
    assert_eq!(desk.run(2), ["2 cancelled, kept"]);
    // The next call is not affected.
    desk.step(Input::Leave(Ticket(1)));
    assert_eq!(desk.step(Input::Enter(Ticket(2))), ["grant 2"]);
    let request = ExecRequest {
        exec: ExecId(3),
        timeout: None,
        patience: None,
        input: InputMode::Refuse,
        is_empty: false,
    };
    assert_eq!(desk.step(Input::Run(Ticket(2), request)), ["execute 3"]);
}
