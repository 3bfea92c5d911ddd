//! Random sequences of inputs, checked against the machine's promises. Dice play the kernel and the
//! callers; at the end both behave, and every request must have been answered.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use inkcell_kernel::{Answer, AskId, DeathCause, InputMode, InputReply, Outcome};
use proptest::prelude::*;

use super::super::*;

/// A step that may happen next, if its condition holds.
#[derive(Clone, Copy, Debug)]
enum Move {
    Enter,
    Run { timeout: Option<u64>, input: InputMode },
    Leave,
    Cancel(usize),
    Reset,
    ResetOwn,
    Interrupt,
    Ask { limit: u64 },
    Answers,
    Close,
    LaunchEnds { well: bool },
    Starts,
    WantsInput,
    Replies { is_refused: bool },
    Finishes,
    Dies,
    Time(u64),
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        4 => Just(Move::Enter),
        6 => (prop::option::of(0u64..20_000), prop_oneof![Just(InputMode::Refuse), Just(InputMode::Ask)])
            .prop_map(|(timeout, input)| Move::Run { timeout, input }),
        3 => Just(Move::Leave),
        2 => (0usize..6).prop_map(Move::Cancel),
        1 => Just(Move::Reset),
        1 => Just(Move::ResetOwn),
        1 => Just(Move::Interrupt),
        4 => (0u64..10_000).prop_map(|limit| Move::Ask { limit }),
        3 => Just(Move::Answers),
        6 => any::<bool>().prop_map(|well| Move::LaunchEnds { well }),
        4 => Just(Move::Starts),
        2 => Just(Move::WantsInput),
        2 => any::<bool>().prop_map(|is_refused| Move::Replies { is_refused }),
        5 => Just(Move::Finishes),
        2 => Just(Move::Dies),
        4 => (0u64..6_000).prop_map(Move::Time),
    ]
}

/// The environment of a machine: its kernel and its callers.
struct World {
    machine: Machine,
    now: Instant,
    wake: Option<Instant>,
    tickets: u64,
    execs: u64,
    waiting: HashSet<Ticket>,
    holder: Option<Ticket>,
    /// Runs that were requested and not answered, with how often each was given to a kernel.
    runs: HashMap<ExecId, u32>,
    resets: i64,
    is_launching: bool,
    is_launch_aborted: bool,
    has_kernel: bool,
    on_kernel: Option<ExecId>,
    /// The code on the kernel waits for a line, or has to be refused one.
    is_asking: bool,
    /// Questions that were asked and not answered.
    asks: HashSet<AskId>,
    asked: u64,
    /// Questions that the kernel has, each with its answer.
    questions: VecDeque<(AskId, Answer)>,
    has_begun: bool,
    is_stopped: bool,
    policy: Policy,
}

impl World {
    fn new(retry: Retry) -> World {
        let policy = Policy { retry, interrupt_grace: Duration::from_secs(3), max_restarts: 1 };
        World {
            machine: Machine::new(policy, None),
            now: Instant::now(),
            wake: None,
            tickets: 0,
            execs: 0,
            waiting: HashSet::new(),
            holder: None,
            runs: HashMap::new(),
            resets: 0,
            is_launching: false,
            is_launch_aborted: false,
            has_kernel: false,
            on_kernel: None,
            is_asking: false,
            asks: HashSet::new(),
            asked: 0,
            questions: VecDeque::new(),
            has_begun: false,
            is_stopped: false,
            policy,
        }
    }

    fn step(&mut self, input: Input) {
        for effect in self.machine.step(self.now, input) {
            self.obey(&effect);
        }
    }

    fn obey(&mut self, effect: &MachineEffect) {
        assert!(
            !self.is_stopped
                || matches!(
                    effect,
                    MachineEffect::Refuse(..)
                        | MachineEffect::Resolve(..)
                        | MachineEffect::ResetDone(_)
                        | MachineEffect::Answer(..)
                        | MachineEffect::Wake(_)
                )
        );
        match effect {
            MachineEffect::Grant(ticket) => {
                assert!(self.waiting.remove(ticket), "granted once, to one who waits");
                assert!(self.holder.is_none(), "one turn at a time");
                self.holder = Some(*ticket);
            }
            MachineEffect::Refuse(ticket, _) => {
                assert!(self.waiting.remove(ticket), "refused once");
            }
            MachineEffect::Launch => {
                assert!(!self.is_launching && !self.has_kernel, "one kernel at a time");
                (self.is_launching, self.is_launch_aborted) = (true, false);
            }
            MachineEffect::AbortLaunch => {
                assert!(self.is_launching && !self.is_launch_aborted);
                self.is_launch_aborted = true;
            }
            MachineEffect::Execute(exec) => {
                assert!(self.has_kernel && self.on_kernel.is_none(), "only an idle kernel");
                let is_open = |(id, _): &(AskId, Answer)| self.asks.contains(id);
                assert!(!self.questions.iter().any(is_open), "a question that is waited for");
                let times = self.runs.get_mut(exec).expect("a run that was asked for");
                *times += 1;
                assert!(*times <= 2, "never a third time");
                (self.on_kernel, self.has_begun) = (Some(*exec), false);
                self.is_asking = false;
            }
            MachineEffect::ReplyInput(exec, _) => {
                assert_eq!(self.on_kernel, Some(*exec));
                assert!(std::mem::take(&mut self.is_asking), "one answer for one question");
            }
            MachineEffect::Interrupt => {
                assert!(self.on_kernel.is_some() || !self.questions.is_empty());
            }
            MachineEffect::Force(_) => assert!(self.on_kernel.is_some()),
            MachineEffect::Ask(id) => {
                assert!(self.has_kernel && self.asks.contains(id), "one that was asked");
                let is_busy = self.on_kernel.is_some();
                let answer = if is_busy { Answer::Busy } else { Answer::Json("{}".to_owned()) };
                self.questions.push_back((*id, answer));
            }
            MachineEffect::Answer(id, _) => assert!(self.asks.remove(id), "answered once"),
            MachineEffect::Shutdown => assert!(self.has_kernel),
            MachineEffect::Abandon => self.kernel_is_gone(),
            MachineEffect::Resolve(exec, _) => {
                assert!(self.runs.remove(exec).is_some(), "answered once");
                if self.on_kernel == Some(*exec) {
                    assert!(
                        !self.has_kernel || self.on_kernel.take().is_none(),
                        "it is still at it"
                    );
                }
            }
            MachineEffect::ResetDone(_) => {
                self.resets -= 1;
                assert!(self.resets >= 0, "one answer for one reset");
            }
            MachineEffect::Wake(at) => self.wake = *at,
            MachineEffect::Stop => self.is_stopped = true,
        }
    }

    fn kernel_is_gone(&mut self) {
        (self.has_kernel, self.on_kernel, self.has_begun) = (false, None, false);
        self.is_asking = false;
        self.questions.clear();
    }

    fn make(&mut self, step: Move) {
        match step {
            Move::Enter => {
                self.tickets += 1;
                let ticket = Ticket(self.tickets);
                self.waiting.insert(ticket);
                self.step(Input::Enter(ticket));
            }
            Move::Run { timeout, input } => {
                let Some(holder) = self.holder else { return };
                self.execs += 1;
                let exec = ExecId(self.execs);
                self.runs.insert(exec, 0);
                let timeout = timeout.map(Duration::from_millis);
                let patience = timeout;
                self.step(Input::Run(
                    holder,
                    ExecRequest {
                        exec,
                        timeout,
                        patience,
                        input,
                        is_empty: exec.0.is_multiple_of(4),
                    },
                ));
            }
            Move::Leave => {
                if let Some(holder) = self.holder.take() {
                    self.step(Input::Leave(holder));
                }
            }
            Move::Cancel(back) => {
                let ticket = self.tickets.saturating_sub(back as u64);
                self.step(Input::Cancel(Ticket(ticket)));
            }
            Move::Reset => {
                self.resets += 1;
                self.step(Input::Reset(None));
            }
            Move::ResetOwn => {
                self.resets += 1;
                self.step(Input::Reset(self.holder));
            }
            Move::Interrupt => self.step(Input::Interrupt),
            Move::Ask { limit } => {
                self.asked += 1;
                let id = AskId(self.asked);
                self.asks.insert(id);
                let limit = Duration::from_millis(limit);
                self.step(Input::Ask(AskRequest { id, limit }));
            }
            Move::Answers => {
                if let Some((id, answer)) = self.questions.pop_front() {
                    self.step(Input::Kernel(Fact::Answered(id, answer)));
                }
            }
            Move::Close => {
                self.step(Input::Close(CloseReason::Asked));
                assert!(!self.is_launching || self.is_launch_aborted, "it may wait for our end");
            }
            Move::LaunchEnds { well } => {
                if std::mem::take(&mut self.is_launching) {
                    self.has_kernel = well;
                    let input = if well {
                        Input::Launched
                    } else {
                        Input::LaunchFailed(LaunchError::Cancelled)
                    };
                    self.step(input);
                }
            }
            Move::Starts => {
                if let Some(exec) = self.on_kernel
                    && !std::mem::replace(&mut self.has_begun, true)
                {
                    self.step(Input::Kernel(Fact::Started(exec)));
                }
            }
            Move::WantsInput => {
                if let Some(exec) = self.on_kernel
                    && self.has_begun
                {
                    self.is_asking = true;
                    self.step(Input::Kernel(Fact::InputRequested(exec)));
                }
            }
            Move::Replies { is_refused } => {
                let line = InputReply::Line(String::new());
                let reply = if is_refused { InputReply::Refused } else { line };
                if let Some(holder) = self.holder {
                    let must_stop = self.machine.is_stopping();
                    let was_asking = self.is_asking;
                    self.step(Input::Reply(holder, reply));
                    assert!(was_asking || !self.is_asking);
                    assert!(
                        must_stop || !self.is_asking,
                        "every question that may be asked is answered"
                    );
                }
            }
            Move::Finishes => {
                self.make(Move::Starts);
                if let Some(exec) = self.on_kernel.take() {
                    self.is_asking = false;
                    self.step(Input::Kernel(Fact::Finished(exec, Outcome::Ok)));
                }
            }
            Move::Dies => {
                if self.has_kernel {
                    self.dies();
                }
            }
            Move::Time(millis) => {
                self.now += Duration::from_millis(millis);
                if self.wake.is_some_and(|wake| wake <= self.now) {
                    self.step(Input::Deadline);
                }
            }
        }
    }

    fn dies(&mut self) {
        let (was_on_it, had_begun) = (self.on_kernel, self.has_begun);
        self.kernel_is_gone();
        let cause = DeathCause::Exit { code: 1 };
        let death = Death { cause, stderr_tail: String::new(), strays: Vec::new() };
        self.step(Input::Kernel(Fact::Died(death)));
        assert!(self.asks.is_empty(), "a kernel that is gone answers nothing");
        if let Some(exec) = was_on_it.filter(|_| had_begun && self.policy.retry != Retry::Once) {
            assert!(!self.runs.contains_key(&exec), "what had begun is not run again in silence");
        }
    }

    /// The callers and the kernel behave from here on: callers leave, kernels start, finish and die when
    /// told to.
    fn settle(&mut self) {
        for _ in 0..40 {
            self.make(Move::LaunchEnds { well: true });
            self.make(Move::Finishes);
            self.make(Move::Leave);
            self.make(Move::Time(20_000));
            if self.machine.kernel == Kernel::Ending && self.has_kernel {
                self.dies();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// F-097: every request is answered exactly once, whatever happens in whatever order.
    #[test]
    fn everything_is_answered_exactly_once(
        retry in prop_oneof![Just(Retry::IfNotStarted), Just(Retry::Once), Just(Retry::Never)],
        moves in prop::collection::vec(moves(), 0..80),
        is_closed in any::<bool>(),
    ) {
        let mut world = World::new(retry);
        for step in moves {
            world.make(step);
        }
        if is_closed {
            world.make(Move::Close);
        }
        world.settle();
        prop_assert!(world.waiting.is_empty(), "{:?} still wait", world.waiting);
        prop_assert!(world.runs.is_empty(), "{:?} were not answered", world.runs);
        prop_assert!(world.asks.is_empty(), "{:?} were not answered", world.asks);
        prop_assert_eq!(world.resets, 0);
        prop_assert_eq!(world.is_stopped, is_closed);
    }
}
