//! Behavior of the cells of a simulated call, and the output that their readers may see.

use std::time::Duration;

use inkcell_engine::api::CellKernel;
use inkcell_engine::api::CellSource;
use inkcell_engine::kernel::{DeathCause, ExecEvent, StreamName};
use inkcell_testkit::scripted::{Script, Step};

use super::dice::Dice;

/// The number of a call, and of one of its cells.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Tag {
    pub(super) call: u64,
    pub(super) cell: u64,
}

impl Tag {
    /// Parses a tag from the code of a cell, so that a kernel knows which cell it got.
    pub(super) fn parse(code: &str) -> Tag {
        let (call, cell) = code.split_once(' ').expect("a simulated cell");
        Tag { call: call.parse().expect("a number"), cell: cell.parse().expect("a number") }
    }

    fn code(self) -> String {
        format!("{} {}", self.call, self.cell)
    }
}

/// A randomly generated cell.
pub(super) struct Plan {
    pub(super) tag: Tag,
    pub(super) source: CellSource,
    pub(super) script: Script,
    /// Number of words that it writes if it runs to its end.
    pub(super) writes: u64,
    /// True if it clears earlier output.
    pub(super) clears: bool,
    /// True if it ends by itself, in bounded time.
    pub(super) ends: bool,
}

/// One numbered word of a cell's output.
fn word(tag: Tag, number: u64) -> String {
    format!("c{}.{}#{number};", tag.call, tag.cell)
}

/// All words in a text with their cells, in order. A truncated word is skipped.
pub(super) fn words(text: &str) -> Vec<(Tag, u64)> {
    let mut found = Vec::new();
    for piece in text.split('c').skip(1) {
        let Some((head, _)) = piece.split_once(';') else { continue };
        let parsed = head.split_once('.').and_then(|(call, rest)| {
            let (cell, number) = rest.split_once('#')?;
            let tag = Tag { call: call.parse().ok()?, cell: cell.parse().ok()? };
            Some((tag, number.parse().ok()?))
        });
        found.extend(parsed);
    }
    found
}

/// Generates a cell of any kind.
pub(super) fn plan(dice: &mut Dice, tag: Tag) -> Plan {
    let (mut steps, mut writes, mut clears, mut ends) = (Vec::new(), 0, false, true);
    for _ in 0..dice.below(7) {
        match dice.below(100) {
            0..50 => {
                let many = if dice.percent(20) { dice.below(400) } else { dice.below(5) };
                let mut text = String::new();
                for _ in 0..=many {
                    text.push_str(&word(tag, writes));
                    writes += 1;
                    if dice.percent(60) {
                        text.push('\n');
                    }
                }
                steps.push(printed(dice, text));
            }
            50..70 => steps.push(Step::Take(dice.pause(Duration::from_secs(6)))),
            70..75 => steps.push(Step::Orphan(stream(StreamName::Stdout, "left over\n".into()))),
            75..78 => steps.push(Step::Notice("odd".to_owned())),
            78..80 => {
                steps.push(Step::Emit(ExecEvent::ClearOutput { wait: dice.percent(50) }));
                clears = true;
            }
            80..83 => steps.push(Step::Ask { prompt: "? ".to_owned(), password: false }),
            83..86 => steps.push(Step::IgnoreInterrupts),
            86..88 => steps.push(Step::IgnoreTerminate),
            88..91 => {
                steps.push(Step::CatchInterrupt);
                ends = false;
            }
            91..94 => {
                steps.push(Step::Hang);
                ends = false;
            }
            94..97 => steps.push(Step::Die(DeathCause::Signal { signal: 9 })),
            _ => steps.push(Step::fail("ValueError", "a fault")),
        }
    }
    let script = match dice.below(40) {
        0 => Script::unstarted([Step::Die(DeathCause::Exit { code: 1 })]),
        1 => {
            ends = false;
            Script::unstarted([Step::Take(Duration::from_secs(1)), Step::Hang])
        }
        _ => Script::new(steps),
    };
    let timeout = dice.percent(40).then(|| Duration::from_millis(1 + dice.below(8000)));
    let kernel = if dice.percent(6) { CellKernel::Fresh } else { CellKernel::Same };
    let source = CellSource { code: tag.code(), title: None, timeout, kernel };
    Plan { tag, source, script, writes, clears, ends }
}

fn printed(dice: &mut Dice, text: String) -> Step {
    let name = if dice.percent(80) { StreamName::Stdout } else { StreamName::Stderr };
    Step::Emit(stream(name, text))
}

fn stream(name: StreamName, text: String) -> ExecEvent {
    ExecEvent::Stream { name, data: text.into_bytes().into() }
}

#[test]
fn words_are_found_whole_and_with_their_owner() {
    let tag = Tag { call: 12, cell: 3 };
    let text = format!("2.3#4;{}x{}\nc1.0#", word(tag, 7), word(tag, 8));
    assert_eq!(words(&text), [(tag, 7), (tag, 8)]);
}
