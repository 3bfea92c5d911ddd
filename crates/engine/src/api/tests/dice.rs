//! Requests and reports of every form, made from a seed.

mod looks;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use inkcell_kernel::{DeathCause, InputMode, Rung, Stray, StrayFate};

use super::{AnyReport, AnyRequest};
use crate::api::*;
use crate::output::{
    ArtifactRef, Counts, ImageItem, JsonItem, Mark, Notice, Part, RichItem, RichKind, Truncation,
};
use crate::types::{Because, CloseReason, Freshness, Loss, StaleReason};

/// Numbers that follow from a seed.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 27)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 0
    }

    /// Any number, and often the largest ones.
    fn count(&mut self) -> u64 {
        match self.below(4) {
            0 => u64::MAX,
            1 => 0,
            _ => self.number(),
        }
    }

    fn index(&mut self) -> usize {
        usize::try_from(self.below(1 << 30)).unwrap_or(0)
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.index() % of.len()].clone()
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Dice) -> T) -> Option<T> {
        self.flag().then(|| make(self))
    }

    fn some<T>(&mut self, make: impl Fn(&mut Dice) -> T) -> Vec<T> {
        (0..self.below(3)).map(|_| make(self)).collect()
    }

    fn text(&mut self) -> String {
        self.one(&["", "x", "a b\n\u{1b}[1m", "\"\\\u{0}", "ä€𝄞\u{fffd}", "{\"a\": 1}", "null"])
            .to_owned()
    }

    fn bytes(&mut self) -> Vec<u8> {
        (0..self.below(9)).map(|_| self.below(256) as u8).collect()
    }

    fn path(&mut self) -> PathBuf {
        match self.below(3) {
            0 => OsString::from_vec(vec![b'/', 0xff, b'x']).into(),
            _ => format!("/{}", self.text()).into(),
        }
    }

    /// A realistic waiting time, to the nanosecond.
    fn time(&mut self) -> Duration {
        Duration::new(self.below(1_000_000), self.below(1_000_000_000) as u32)
    }

    fn id(&mut self) -> ExecutionId {
        ExecutionId(self.text())
    }

    fn name(&mut self) -> SessionName {
        SessionName(self.text())
    }

    fn session(&mut self) -> SessionRef {
        SessionRef { session: self.maybe(Dice::name), cwd: self.path(), wanted: self.wanted() }
    }

    fn wanted(&mut self) -> KernelWishes {
        KernelWishes {
            interpreter: self.maybe(Dice::text),
            backend: self.maybe(Dice::backend),
            kernel: self.maybe(|dice| match dice.below(3) {
                0 => KernelChoice::Named(dice.kernel_name()),
                1 => KernelChoice::Existing(dice.path()),
                _ => KernelChoice::OfNotebook {
                    name: dice.maybe(Dice::kernel_name),
                    language: dice.maybe(Dice::text),
                },
            }),
            helpers: if self.below(2) == 0 { Helpers::AsSet } else { Helpers::None },
        }
    }

    pub(super) fn kernel_name(&mut self) -> KernelName {
        KernelName(self.text())
    }

    fn cell(&mut self) -> CellSource {
        CellSource {
            code: self.text(),
            title: self.maybe(Dice::text),
            timeout: self.maybe(Dice::time),
            kernel: self.one(&[CellKernel::Same, CellKernel::Fresh]),
        }
    }

    pub(super) fn python(&mut self) -> PythonRequest {
        PythonRequest {
            cells: self.some(Dice::cell),
            session: self.maybe(Dice::name),
            cwd: self.path(),
            wanted: self.wanted(),
            mode: self.one(&[KernelMode::Session, KernelMode::PerCall]),
            timeout: self.maybe(Dice::time),
            wait: self.maybe(Dice::time),
            reading: match self.flag() {
                true => Reading::Bounded(Excerpt {
                    max_bytes: self.maybe(|dice| dice.below(100_000) as usize),
                    is_end: self.flag(),
                }),
                false => Reading::Elsewhere,
            },
            input: self.one(&[InputMode::Refuse, InputMode::Ask]),
        }
    }

    pub(super) fn any_request(&mut self) -> AnyRequest {
        match self.below(5) {
            0 => AnyRequest::Python(self.python()),
            1 => {
                let what = match self.below(5) {
                    0 => Inspect::Variables { limit: self.maybe(|dice| dice.number() as u32) },
                    1 => Inspect::Name { name: self.text() },
                    2 => Inspect::Table { name: self.text() },
                    3 => Inspect::Help { name: self.text() },
                    _ => Inspect::Complete { code: self.text(), cursor: self.maybe(Dice::index) },
                };
                let (session, wait) = (self.session(), self.maybe(Dice::time));
                let behind = self.maybe(Dice::time);
                AnyRequest::Inspect(InspectRequest { session, what, wait, behind })
            }
            2 => AnyRequest::Kernel(match self.below(7) {
                0 => KernelRequest::List,
                1 => KernelRequest::Start(self.session()),
                2 => KernelRequest::Status(self.session()),
                3 => KernelRequest::Interrupt(self.session()),
                4 => KernelRequest::Restart(self.session()),
                5 => KernelRequest::Stop(self.session()),
                _ => KernelRequest::Keep { session: self.session(), keep: self.keep() },
            }),
            3 => AnyRequest::Result(ResultRequest::Execution {
                id: self.id(),
                wait: self.maybe(Dice::time),
            }),
            _ => {
                let part = match self.below(4) {
                    0 => ArtifactPart::Whole { offset: self.count() },
                    1 => ArtifactPart::Lines { start: self.index(), end: self.maybe(Dice::index) },
                    2 => ArtifactPart::Grep {
                        pattern: self.text(),
                        lines: self.some(|dice| (dice.index(), dice.maybe(Dice::index))),
                        context: self.count(),
                    },
                    _ => ArtifactPart::Json { path: self.text() },
                };
                let forms = [ArtifactForm::Clean, ArtifactForm::Raw];
                let form = forms[usize::from(self.text().len().is_multiple_of(2))];
                AnyRequest::Result(ResultRequest::Artifact {
                    id: self.text(),
                    part,
                    form,
                    max_bytes: self.maybe(|dice| dice.below(100_000) as usize),
                })
            }
        }
    }

    pub(super) fn any_report(&mut self) -> AnyReport {
        match self.below(6) {
            0 | 1 => AnyReport::Python(Box::new(self.report())),
            2 => AnyReport::Inspect(InspectReport { session: self.name(), seen: self.seen() }),
            3 => AnyReport::Kernel(match self.below(5) {
                0 => KernelReport::Sessions(self.some(Dice::listed)),
                1 => KernelReport::Session(Box::new(self.listed())),
                2 => KernelReport::Started {
                    session: Box::new(self.listed()),
                    notes: self.some(Dice::note),
                },
                3 => KernelReport::Interrupted {
                    session: Box::new(self.listed()),
                    fate: match self.flag() {
                        true => InterruptFate::StillRunning,
                        false => InterruptFate::Ended(State::Done),
                    },
                },
                _ => KernelReport::Stopped(Box::new(self.listed())),
            }),
            4 => AnyReport::Result(ResultReport::Execution(Box::new(self.report()))),
            _ => AnyReport::Result(ResultReport::Artifact(Box::new(self.artifact()))),
        }
    }

    // Runs.

    fn report(&mut self) -> PythonReport {
        PythonReport {
            execution: self.id(),
            session: self.name(),
            state: self.state(),
            cells: self.some(Dice::cell_report),
            kernel: self.maybe(Dice::kernel),
            missed_variable: self.maybe(Dice::text),
            death: self.maybe(Dice::death),
            after: self.output(),
            undelivered_bytes: self.count(),
            notebook: self.maybe(Dice::notebook),
        }
    }

    fn notebook(&mut self) -> NotebookReport {
        NotebookReport {
            path: self.text(),
            written: self.text(),
            cells: self.number() as usize,
            version: self.maybe(Dice::text),
            fresh: vec![self.number() as usize],
            skipped: self.some(|dice| dice.number() as usize),
            resumed: self.some(|dice| dice.number() as usize),
            notes: self.some(Dice::run_note),
        }
    }

    fn run_note(&mut self) -> RunNote {
        match self.below(14) {
            13 => RunNote::Overwritten { name: self.text(), index: self.number() as usize },
            12 => RunNote::NotStored(self.problem()),
            11 => RunNote::Helpers,
            10 => RunNote::NoDefaults,
            9 => RunNote::UnknownParameters { names: self.some(Dice::text) },
            8 => RunNote::ReplacedKernel { had: self.text() },
            0 => RunNote::OtherKernel { named: self.text() },
            7 => RunNote::InstalledKernel {
                name: self.kernel_name(),
                display_name: self.text(),
                instead_of: self.maybe(Dice::kernel_name),
            },
            1 => RunNote::Exited { index: self.number() as usize, status: self.text() },
            2 => RunNote::NotSaved(self.problem()),
            3 => RunNote::NotKept(self.problem()),
            4 => RunNote::PutAgain { cells: self.number() as usize },
            5 => RunNote::CutOff { index: self.number() as usize },
            _ => RunNote::Recovered { cells: self.number() as usize },
        }
    }

    fn why(&mut self) -> StaleReason {
        let (name, cell) = (self.text(), self.maybe(|dice| dice.number() as usize));
        let name = Because::Name { name, cell };
        let because = self.one(&[name, Because::Cell(3), Because::File("a.csv".to_owned())]);
        let marks = [
            Freshness::Fresh,
            Freshness::NeverRun,
            Freshness::Unknown,
            Freshness::Changed,
            Freshness::Failed,
            Freshness::Stale(because.clone()),
            Freshness::OutOfOrder(because),
        ];
        let marked = StaleReason::Marked(self.one(&marks));
        let needed =
            StaleReason::Needed { name: self.maybe(Dice::text), by: self.number() as usize };
        let blocked =
            StaleReason::Blocked { name: self.maybe(Dice::text), by: self.number() as usize };
        self.one(&[marked, needed, blocked, StaleReason::Chosen, StaleReason::Unneeded])
    }

    fn notebook_cell(&mut self) -> NotebookCell {
        NotebookCell {
            index: self.number() as usize,
            id: self.maybe(Dice::text),
            outputs: self.number() as usize,
            may_fail: self.below(2) == 0,
            last_took: self.maybe(Dice::time),
            why: self.maybe(Dice::why),
            change: self.maybe(|dice| {
                dice.one(&[OutputChange::Same, OutputChange::Changed, OutputChange::New])
            }),
            written: self.one(&[
                WriteBack::NotYet,
                WriteBack::Kept,
                WriteBack::Saved,
                WriteBack::SourceChanged,
                WriteBack::Gone,
            ]),
        }
    }

    fn state(&mut self) -> State {
        self.one(&[
            State::Queued,
            State::Running,
            State::Done,
            State::Error,
            State::TimedOut,
            State::Cancelled,
            State::InputRefused,
            State::KernelDied,
            State::NeverRun,
        ])
    }

    fn cell_report(&mut self) -> CellReport {
        CellReport {
            source: self.cell(),
            state: self.state(),
            count: self.maybe(|dice| dice.number() as u32),
            duration: self.time(),
            output: self.output(),
            end: self.maybe(Dice::end),
            notes: self.some(Dice::note),
            notebook: self.maybe(Dice::notebook_cell),
        }
    }

    fn problem(&mut self) -> Problem {
        Problem {
            kind: self.one(&[
                Kind::Invalid,
                Kind::NotFound,
                Kind::Conflict,
                Kind::Unavailable,
                Kind::Busy,
                Kind::Cancelled,
                Kind::Internal,
            ]),
            message: self.text(),
            step: self.maybe(|dice| {
                dice.one(&[
                    KernelStep::NameOtherPython,
                    KernelStep::ChooseCwd,
                    KernelStep::RaiseStartTimeout,
                    KernelStep::ChooseState,
                    KernelStep::RaiseTimeout,
                    KernelStep::TryLater,
                    KernelStep::GiveToken,
                    KernelStep::RenewToken,
                    KernelStep::CheckGateway,
                    KernelStep::RunNeeded,
                ])
            }),
        }
    }

    fn end(&mut self) -> EndReport {
        match self.below(6) {
            0 => EndReport::Exception(self.exception()),
            1 => EndReport::Stopped {
                after: self.maybe(Dice::time),
                fate: match self.below(3) {
                    0 => KernelFate::Kept,
                    1 => KernelFate::TakenAway,
                    _ => KernelFate::Ended { by: self.rung(), death: self.maybe(Dice::death) },
                },
                exception: self.maybe(Dice::exception),
            },
            2 => EndReport::Died(self.death()),
            3 => EndReport::GivenUp { death: self.maybe(Dice::death), has_begun: self.flag() },
            4 => EndReport::NoKernel(self.problem()),
            _ => EndReport::Fault(self.problem()),
        }
    }

    fn exception(&mut self) -> PyError {
        PyError {
            name: self.text(),
            value: self.text(),
            traceback: self.some(Dice::text),
            plain: self.some(Dice::text),
        }
    }

    fn rung(&mut self) -> Rung {
        self.one(&[Rung::Interrupt, Rung::Terminate, Rung::Kill, Rung::Answer])
    }

    fn death(&mut self) -> Death {
        Death {
            cause: match self.below(7) {
                0 => DeathCause::Shutdown,
                1 => DeathCause::Exit { code: self.number() as i32 },
                2 => DeathCause::Signal { signal: 9 },
                3 => DeathCause::OutOfMemory,
                4 => DeathCause::IgnoredInterrupt,
                5 => DeathCause::Protocol { problem: self.text() },
                _ => DeathCause::Unknown,
            },
            stderr_tail: self.text(),
            strays: self.some(|dice| Stray {
                pid: dice.number() as u32,
                program: dice.text(),
                fate: dice.one(&[StrayFate::Ended, StrayFate::Alive]),
            }),
        }
    }

    fn loss(&mut self) -> Loss {
        match self.below(3) {
            0 => Loss::Died(self.death()),
            1 => Loss::Killed { by: self.rung() },
            _ => Loss::Closed {
                reason: self.one(&[
                    CloseReason::Asked,
                    CloseReason::Idle,
                    CloseReason::Evicted,
                    CloseReason::OpenFiles,
                    CloseReason::Processes,
                    CloseReason::Shutdown,
                ]),
                ago: self.time(),
            },
        }
    }

    fn note(&mut self) -> CallNote {
        match self.below(5) {
            0 => CallNote::StateLost(self.loss()),
            1 => CallNote::RanTwice(self.death()),
            2 => CallNote::MadeRoom {
                session: SessionName(self.text()),
                reason: self.one(&[CloseReason::Evicted, CloseReason::OpenFiles]),
            },
            3 => CallNote::Interrupted,
            _ => CallNote::Kernel(self.text()),
        }
    }

    // Outputs.

    fn stored(&mut self) -> ArtifactRef {
        ArtifactRef { id: self.text(), bytes: self.count() }
    }

    fn output(&mut self) -> ModelOutput {
        ModelOutput {
            parts: self.some(|dice| match dice.below(5) {
                0 => Part::Text(dice.text()),
                1 => Part::Mark(Mark::Elided { bytes: dice.count(), lines: dice.count() }),
                2 => Part::Mark(Mark::Repeated { times: dice.count() }),
                3 => Part::Mark(Mark::InputRequested),
                _ => Part::Mark(Mark::Rich { number: dice.count() }),
            }),
            rich: self.some(|dice| RichItem {
                number: dice.count(),
                kind: dice.rich(),
                digest: dice.text(),
            }),
            counts: Counts { raw_bytes: self.count(), invalid: self.count(), ..Counts::default() },
            is_truncated: self.flag(),
            artifact: self.maybe(Dice::stored),
            notices: self.some(Dice::notice),
            stdin_requested: self.flag(),
            has_markdown: self.flag(),
        }
    }

    fn rich(&mut self) -> RichKind {
        match self.below(4) {
            0 => RichKind::Image(ImageItem {
                mime: self.text(),
                data: self.maybe(|dice| dice.bytes().into()),
                pixels: self.maybe(|dice| (dice.number() as u32, 3)),
                artifact: self.maybe(Dice::stored),
            }),
            1 => RichKind::Json(JsonItem {
                raw: self.maybe(Dice::text),
                shown: self.text(),
                is_in_text: self.flag(),
                artifact: self.maybe(Dice::stored),
            }),
            2 => RichKind::Status(self.text()),
            _ => RichKind::Digest { mime: self.text(), artifact: self.maybe(Dice::stored) },
        }
    }

    fn notice(&mut self) -> Notice {
        let span = |dice: &mut Dice| (dice.count(), dice.count());
        match self.below(3) {
            0 => Notice::Truncated {
                truncation: Truncation {
                    head: self.maybe(span),
                    tail: self.maybe(span),
                    total_lines: self.count(),
                    limit_bytes: self.count(),
                    partial_line: self.maybe(span),
                    scattered_lines: self.maybe(Dice::count),
                },
                artifact: self.maybe(Dice::text),
            },
            1 => Notice::ArtifactIncomplete {
                cause: self.text(),
                after_bytes: self.count(),
                artifact: self.maybe(Dice::text),
            },
            _ => Notice::RichDropped { items: self.count() },
        }
    }
}
