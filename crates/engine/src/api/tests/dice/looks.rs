//! Sessions, inspections and stored output.

use inkcell_kernel::{BackendKind, Origin};

use super::Dice;
use crate::api::*;
use crate::types::{Generation, Keep};

impl Dice {
    // Sessions.

    pub(super) fn keep(&mut self) -> Keep {
        self.one(&[Keep::WhileUsed, Keep::Always])
    }

    pub(super) fn backend(&mut self) -> BackendKind {
        self.one(&[BackendKind::Runner, BackendKind::Zmq, BackendKind::Gateway])
    }

    pub(super) fn kernel(&mut self) -> KernelInfo {
        KernelInfo {
            backend: self.backend(),
            pid: self.maybe(|dice| dice.number() as u32),
            language: self.text(),
            version: self.text(),
            executable: self.text(),
            origin: match self.below(4) {
                3 => Origin::Joined { reason: self.text() },
                0 => Origin::Forked,
                1 => Origin::Spare { reason: self.text() },
                _ => Origin::Started { reason: self.text() },
            },
        }
    }

    pub(super) fn listed(&mut self) -> SessionReport {
        SessionReport {
            name: self.name(),
            cwd: self.path(),
            interpreter: self.maybe(Dice::path),
            backend: self.backend(),
            kernel_name: self.maybe(Dice::kernel_name),
            state: self.one(&[
                SessionPhase::NoKernel,
                SessionPhase::Starting,
                SessionPhase::Idle,
                SessionPhase::Busy,
            ]),
            kernel: self.maybe(Dice::kernel),
            generation: self.maybe(|dice| Generation(dice.text().into())),
            running: self.maybe(|dice| RunningReport {
                execution: dice.maybe(Dice::id),
                title: dice.text(),
                elapsed: dice.time(),
            }),
            waiting: self.index(),
            idle: self.maybe(Dice::time),
            age: self.time(),
            owners: self.index(),
            keep: self.keep(),
            lost: self.maybe(Dice::loss),
        }
    }

    // Inspections.

    fn variable(&mut self) -> Variable {
        Variable {
            name: self.text(),
            type_name: self.text(),
            kind: self.text(),
            shape: self.maybe(|dice| dice.some(Dice::count)),
            length: self.maybe(Dice::count),
            bytes: self.maybe(Dice::count),
            preview: self.maybe(Dice::text),
        }
    }

    fn table(&mut self) -> TableDigest {
        TableDigest {
            name: self.text(),
            type_name: self.text(),
            rows: self.count(),
            width: self.count(),
            columns: self.some(|dice| Column {
                name: dice.text(),
                dtype: dice.maybe(Dice::text),
                nulls: dice.maybe(Dice::count),
                min: dice.maybe(Dice::text),
                max: dice.maybe(Dice::text),
                lengths: dice.maybe(|dice| (dice.count(), dice.count())),
                distinct: dice.maybe(Dice::count),
            }),
            index: self.maybe(|dice| RowLabels {
                name: dice.maybe(Dice::text),
                dtype: dice.text(),
                head: dice.some(Dice::text),
            }),
            head: self.some(|dice| dice.some(Dice::text)),
            bytes: self.maybe(Dice::count),
            sampled: self.maybe(Dice::count),
            complete: self.flag(),
        }
    }

    pub(super) fn seen(&mut self) -> InspectionAnswer {
        match self.below(6) {
            0 => InspectionAnswer::Variables(VariableList {
                variables: self.some(Dice::variable),
                total: self.count(),
                complete: self.flag(),
            }),
            1 => InspectionAnswer::Name(Box::new(VariableDigest {
                variable: self.variable(),
                dtype: self.maybe(Dice::text),
                inside: self.maybe(Dice::text),
                items: self.some(|dice| ValuePart {
                    name: dice.text(),
                    type_name: dice.text(),
                    preview: dice.maybe(Dice::text),
                }),
                total: self.count(),
                table: self.maybe(Dice::table),
            })),
            2 => InspectionAnswer::Table(Box::new(self.table())),
            3 => InspectionAnswer::Help(Box::new(Help {
                name: self.text(),
                kind: self.text(),
                type_name: self.text(),
                signature: self.maybe(Dice::text),
                doc: self.maybe(Dice::text),
                file: self.maybe(Dice::text),
                line: self.maybe(Dice::count),
                source: self.maybe(Dice::text),
            })),
            4 => InspectionAnswer::Helpers(HelperList {
                level: self.text(),
                helpers: self.some(|dice| Helper {
                    name: dice.text(),
                    signature: dice.maybe(Dice::text),
                    doc: dice.maybe(Dice::text),
                    category: dice.maybe(Dice::text),
                    text: dice.maybe(Dice::text),
                    installed: dice.flag(),
                }),
            }),
            _ => InspectionAnswer::Completions(Completions {
                start: self.count(),
                end: self.count(),
                matches: self.some(|dice| Completion { text: dice.text(), kind: dice.text() }),
                total: self.count(),
            }),
        }
    }

    fn lines_piece(&mut self) -> LinesPiece {
        LinesPiece { first: self.count(), last: self.count(), bytes: self.bytes() }
    }

    pub(super) fn artifact(&mut self) -> ArtifactReport {
        ArtifactReport {
            id: self.text(),
            kind: self.text(),
            title: self.text(),
            total_bytes: self.count(),
            problem: self.maybe(Dice::text),
            path: self.path(),
            found: match self.below(6) {
                0 => ArtifactFound::Bytes {
                    offset: self.count(),
                    bytes: self.bytes(),
                    next_offset: self.maybe(Dice::count),
                },
                1 => ArtifactFound::Lines {
                    pieces: self.some(Dice::lines_piece),
                    total_lines: self.count(),
                    cut: self.maybe(|dice| LineCut {
                        line: dice.count(),
                        shown_bytes: dice.count(),
                        line_bytes: dice.count(),
                        next_offset: dice.maybe(Dice::count),
                    }),
                    next_line: self.maybe(Dice::count),
                },
                2 => ArtifactFound::Grep {
                    hits: self.some(|dice| LineHit {
                        line: dice.count(),
                        text: dice.text(),
                        is_cut: dice.flag(),
                    }),
                    matching_lines: self.count(),
                    total_lines: self.count(),
                    context: self.some(Dice::lines_piece),
                },
                4 => ArtifactFound::Made {
                    text: self.text(),
                    shown: self.count(),
                    count: self.count(),
                },
                3 => ArtifactFound::Json {
                    kind: self.text(),
                    bytes: self.bytes(),
                    offset: self.count(),
                    value_bytes: self.count(),
                    entries: self.maybe(Dice::count),
                },
                _ => ArtifactFound::NoValue {
                    followed: self.index(),
                    kind: self.text(),
                    entries: self.maybe(Dice::count),
                    keys: self.some(Dice::text),
                },
            },
        }
    }
}
