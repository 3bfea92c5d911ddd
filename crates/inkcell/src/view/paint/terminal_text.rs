//! A filter for program output on a terminal: colours pass, and no other control sequence does.
//!
//! Owns the set of allowed bytes (S-050): text, line ends, carriage return and backspace, and looks of text if the user
//! wants them. The filter writes looks itself, and imitates erasing within a line with spaces. Sequences may come in
//! pieces, never end, or use eight-bit codes; none gets through. It must not know where the text comes from.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar as _;

use super::Colour;
use crate::output::visible;

/// Bytes of a sequence before it is discarded as garbage.
const MAX_SEQUENCE: usize = 256;

/// Bytes of an unterminated string before its rest counts as text.
const MAX_STRING: usize = 1 << 16;

/// Columns of a line that are remembered for erasing.
const MAX_COLUMNS: usize = 1000;

/// The look of text: attributes and colours.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Look {
    /// Bold, dim, italic, underlined, reversed and struck, each at the index of its SGR code.
    marks: [bool; 10],
    text: Option<String>,
    ground: Option<String>,
}

impl Look {
    fn sequence(&self) -> String {
        let marks = (0..self.marks.len()).filter(|number| self.marks[*number]);
        let mut parts: Vec<String> = marks.map(|number| number.to_string()).collect();
        parts.extend(self.text.iter().chain(&self.ground).cloned());
        match parts.is_empty() {
            true => "\u{1b}[0m".to_owned(),
            false => format!("\u{1b}[0;{}m", parts.join(";")),
        }
    }

    /// Applies the parameters of a sequence, except hidden and blinking.
    fn take(&mut self, parameters: &str) {
        let parameters = parameters.replace(':', ";");
        let mut numbers = parameters.split(';').map(|part| part.parse::<u32>().unwrap_or(0));
        while let Some(number) = numbers.next() {
            match number {
                0 => *self = Look::default(),
                1 | 2 | 3 | 4 | 7 | 9 => self.marks[number as usize] = true,
                22 => self.marks[1..=2].fill(false),
                23 | 24 | 27 | 29 => self.marks[number as usize - 20] = false,
                30..=37 | 90..=97 => self.text = Some(number.to_string()),
                40..=47 | 100..=107 => self.ground = Some(number.to_string()),
                39 => self.text = None,
                49 => self.ground = None,
                38 | 48 => {
                    let colour = colour(number, &mut numbers);
                    let part = if number == 38 { &mut self.text } else { &mut self.ground };
                    *part = colour.or(part.take());
                }
                _ => {}
            }
        }
    }
}

/// Parses a colour: an index below 256, or red, green and blue.
fn colour(number: u32, numbers: &mut dyn Iterator<Item = u32>) -> Option<String> {
    let mut byte = || numbers.next().filter(|number| *number < 256);
    match byte()? {
        5 => Some(format!("{number};5;{}", byte()?)),
        2 => Some(format!("{number};2;{};{};{}", byte()?, byte()?, byte()?)),
        _ => None,
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum State {
    Ground,
    Escape,
    /// After ESC and an intermediate byte: one more character ends the sequence.
    Intermediate,
    Control(String),
    /// A skipped string, and whether its last byte was ESC. A title may also end with BEL.
    Skipped {
        is_title: bool,
        is_after_escape: bool,
        skipped: usize,
    },
}

/// Filters a single stream.
#[derive(Debug)]
pub(crate) struct TerminalText {
    state: State,
    partial: Vec<u8>,
    look: Look,
    /// The look that the terminal has now.
    told: Look,
    colour: Colour,
    column: usize,
    widest: usize,
}

impl TerminalText {
    /// Creates a filter that keeps the program's looks, or drops them.
    pub(crate) fn new(colour: Colour) -> TerminalText {
        TerminalText {
            colour,
            state: State::Ground,
            partial: Vec::new(),
            look: Look::default(),
            told: Look::default(),
            column: 0,
            widest: 0,
        }
    }

    /// Filters a complete text, dropping an unfinished sequence at its end.
    pub(crate) fn whole(text: &str, colour: Colour) -> String {
        let mut filter = TerminalText::new(colour);
        let mut out = filter.push(text.as_bytes());
        out.push_str(&filter.finish());
        out
    }

    /// Returns the allowed part of these bytes. Each call ends with the plain look, so that later text is unaffected.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        let mut out = String::with_capacity(bytes.len() + 16);
        let bytes: Cow<'_, [u8]> = match self.partial.is_empty() {
            true => bytes.into(),
            false => [std::mem::take(&mut self.partial), bytes.to_vec()].concat().into(),
        };
        let mut rest: &[u8] = &bytes;
        while !rest.is_empty() {
            let (text, bad) = match std::str::from_utf8(rest) {
                Ok(text) => (text, 0),
                Err(error) => {
                    let valid = error.valid_up_to();
                    let text = std::str::from_utf8(&rest[..valid]).unwrap_or_default();
                    match error.error_len() {
                        Some(length) => (text, length),
                        // The rest of this character is still to come.
                        None => {
                            self.partial = rest[valid..].to_vec();
                            self.text(text, &mut out);
                            break;
                        }
                    }
                }
            };
            self.text(text, &mut out);
            let after = &rest[text.len()..];
            if bad > 0 {
                self.invalid(&after[..bad], &mut out);
            }
            rest = &after[bad..];
        }
        self.rest_in_no_look(&mut out);
        out
    }

    /// Ends the stream, or a stretch of it before a line of ours. Unfinished sequences are dropped.
    pub(crate) fn finish(&mut self) -> String {
        let is_cut = !std::mem::take(&mut self.partial).is_empty();
        *self = TerminalText::new(self.colour);
        if is_cut { "\u{fffd}".to_owned() } else { String::new() }
    }

    fn rest_in_no_look(&mut self, out: &mut String) {
        if self.told != Look::default() {
            self.told = Look::default();
            out.push_str("\u{1b}[0m");
        }
    }

    fn text(&mut self, text: &str, out: &mut String) {
        for c in text.chars() {
            self.character(c, out);
        }
    }

    /// Handles bytes that are not UTF-8. An eight-bit terminal would read some of them as starts of sequences, so the
    /// filter does the same.
    fn invalid(&mut self, bytes: &[u8], out: &mut String) {
        match (&self.state, bytes) {
            (_, [byte @ 0x80..=0x9f]) => self.character(char::from(*byte), out),
            (State::Skipped { .. }, _) => {}
            _ => self.character('\u{fffd}', out),
        }
    }

    fn character(&mut self, c: char, out: &mut String) {
        self.state = match std::mem::replace(&mut self.state, State::Ground) {
            State::Ground => self.ground(c, out),
            State::Escape => self.escape(c, out),
            State::Intermediate => match c {
                ' '..='/' => State::Intermediate,
                '\u{1b}' => State::Escape,
                c if c.is_control() => self.ground(c, out),
                _ => State::Ground,
            },
            State::Control(parameters) => self.control(parameters, c, out),
            State::Skipped { is_title, is_after_escape, skipped } => {
                let is_over = (is_after_escape && c == '\\')
                    || c == '\u{9c}'
                    || (is_title && c == '\u{7}')
                    || ['\u{18}', '\u{1a}'].contains(&c);
                match c {
                    _ if is_over => State::Ground,
                    // A title cannot span lines, and an unterminated string must not swallow the rest of the output.
                    '\n' if is_title => self.ground(c, out),
                    _ if skipped >= MAX_STRING => self.ground(c, out),
                    _ => State::Skipped {
                        is_title,
                        is_after_escape: c == '\u{1b}',
                        skipped: skipped + 1,
                    },
                }
            }
        };
    }

    fn ground(&mut self, c: char, out: &mut String) -> State {
        match c {
            '\u{1b}' => return State::Escape,
            '\u{9b}' => return State::Control(String::new()),
            '\u{9d}' => return skipped(true),
            '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}' => return skipped(false),
            '\n' => {
                self.rest_in_no_look(out);
                out.push('\n');
                (self.column, self.widest) = (0, 0);
            }
            '\r' => {
                out.push('\r');
                self.column = 0;
            }
            '\u{8}' => {
                if self.column > 0 {
                    out.push('\u{8}');
                    self.column -= 1;
                }
            }
            '\t' => {
                self.written(8 - self.column % 8);
                self.put("\t", out);
            }
            c if c.is_control() => {}
            c => {
                let mut buffer = [0; 4];
                let text = visible(c.encode_utf8(&mut buffer)).into_owned();
                self.written(text.chars().map(|c| c.width().unwrap_or(0)).sum());
                self.put(&text, out);
            }
        }
        State::Ground
    }

    fn put(&mut self, text: &str, out: &mut String) {
        if self.told != self.look {
            out.push_str(&self.look.sequence());
            self.told = self.look.clone();
        }
        out.push_str(text);
    }

    fn written(&mut self, columns: usize) {
        self.column = (self.column + columns).min(MAX_COLUMNS);
        self.widest = self.widest.max(self.column);
    }

    fn escape(&mut self, c: char, out: &mut String) -> State {
        match c {
            '[' => State::Control(String::new()),
            ']' => skipped(true),
            'P' | 'X' | '^' | '_' => skipped(false),
            ' '..='/' => State::Intermediate,
            '\u{1b}' => State::Escape,
            c if c.is_control() => self.ground(c, out),
            _ => State::Ground,
        }
    }

    fn control(&mut self, mut parameters: String, c: char, out: &mut String) -> State {
        match c {
            '\u{1b}' => State::Escape,
            '\u{18}' | '\u{1a}' => State::Ground,
            '\n' => self.ground(c, out),
            c if c.is_control() => State::Control(parameters),
            ' '..='?' if parameters.len() < MAX_SEQUENCE => {
                parameters.push(c);
                State::Control(parameters)
            }
            '@'..='~' => {
                self.command(&parameters, c, out);
                State::Ground
            }
            c => self.ground(c, out),
        }
    }

    fn command(&mut self, parameters: &str, command: char, out: &mut String) {
        let is_plain = parameters.chars().all(|c| c.is_ascii_digit() || [';', ':'].contains(&c));
        match command {
            'm' if self.colour == Colour::Off => {}
            'm' if is_plain => self.look.take(parameters),
            'K' if ["", "0", "2"].contains(&parameters) => {
                let from = if parameters == "2" { 0 } else { self.column };
                self.erase(from, out);
            }
            _ => {}
        }
    }

    /// Writes spaces from this column to the end of the written text, then moves back to the old column.
    fn erase(&mut self, from: usize, out: &mut String) {
        self.rest_in_no_look(out);
        let back = |columns: usize| "\u{8}".repeat(columns);
        out.push_str(&back(self.column - from));
        let columns = self.widest.saturating_sub(from);
        out.push_str(&" ".repeat(columns));
        out.push_str(&back((from + columns).saturating_sub(self.column)));
        self.widest = self.column;
    }
}

fn skipped(is_title: bool) -> State {
    State::Skipped { is_title, is_after_escape: false, skipped: 0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// S-050
    #[test]
    fn colours_pass_and_commands_do_not() {
        let table = [
            ("plain é日\ttext\n", "plain é日\ttext\n"),
            ("\u{1b}[31mred\u{1b}[0m x", "\u{1b}[0;31mred\u{1b}[0m x"),
            ("\u{1b}[1;38;5;9mx\ny", "\u{1b}[0;1;38;5;9mx\u{1b}[0m\n\u{1b}[0;1;38;5;9my\u{1b}[0m"),
            ("\u{1b}[38:2:1:2:3mx", "\u{1b}[0;38;2;1;2;3mx\u{1b}[0m"),
            ("\u{1b}[8mhidden\u{1b}[5m", "hidden"),
            ("\u{1b}[38;5;999mx", "x"),
            ("\u{1b}[?25l\u{1b}[2Jx\u{1b}[10A\u{1b}c\u{1b}7", "x"),
            ("\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\b", "ab"),
            (
                "\u{1b}]52;c;aGk=\u{7}\u{1b}P1$r0m\u{1b}\\\u{1b}_Gx\u{1b}\\\u{1b}^p\u{1b}\\\u{1b}Xs\u{1b}\\.",
                ".",
            ),
            ("\u{9b}2J\u{9d}0;t\u{9c}\u{90}q\u{9c}x", "x"),
            ("a\u{7}\u{b}\u{c}\u{0}\u{7f}b", "ab"),
            ("50%\r60%", "50%\r60%"),
            ("\u{8}ab\u{8}c", "ab\u{8}c"),
            ("\u{202e}x", "\\u{202e}x"),
            ("\u{1b}]0;no end\nnext", "\nnext"),
            ("\u{1b}[31", ""),
            (
                "long text\r\u{1b}[Kx",
                "long text\r         \u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}x",
            ),
            ("ab\u{1b}[2K\rx", "ab\u{8}\u{8}  \rx"),
        ];
        for (given, wanted) in table {
            assert_eq!(TerminalText::whole(given, Colour::On), wanted, "{given:?}");
        }
        let mut eight_bits = TerminalText::new(Colour::On);
        assert_eq!(eight_bits.push(b"\x9b2Ja\x9d0;t\x07b\xff"), "ab\u{fffd}");
        assert_eq!(eight_bits.push("é".as_bytes()[..1].into()), "");
        assert_eq!(eight_bits.finish(), "\u{fffd}");
    }

    proptest! {
        /// S-050: the output is the same for any split of the bytes.
        #[test]
        fn pieces_make_no_difference(bytes in prop::collection::vec(any::<u8>(), 0..60), at in 0usize..60) {
            let mut whole = TerminalText::new(Colour::On);
            let whole = whole.push(&bytes).replace("\u{1b}[0m", "");
            let at = at.min(bytes.len());
            let mut cut = TerminalText::new(Colour::On);
            let mut out = cut.push(&bytes[..at]);
            out.push_str(&cut.push(&bytes[at..]));
            let looks = |text: &str| -> String {
                let pieces = text.split('\u{1b}').enumerate();
                let text = pieces.map(|(at, piece)| match (at, piece.split_once('m')) {
                    (0, _) | (_, None) => piece,
                    (_, Some((_, text))) => text,
                });
                text.collect()
            };
            prop_assert_eq!(looks(&whole), looks(&out));
        }
    }
}
