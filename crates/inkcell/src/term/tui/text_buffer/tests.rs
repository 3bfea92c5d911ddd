//! The buffer against a simple model, and laws for any text.

use proptest::prelude::*;

use super::*;

/// A model of one character for each position, written straight from the definition.
#[derive(Clone, Debug, Default)]
struct Model {
    chars: Vec<char>,
    at: usize,
    anchor: Option<usize>,
    clipboard: Vec<char>,
}

fn width(c: char) -> usize {
    if c == '日' { 2 } else { 1 }
}

fn kind_of(c: char) -> u8 {
    match c {
        ' ' => 0,
        '.' | '(' => 1,
        _ => 2,
    }
}

impl Model {
    fn selection(&self) -> Option<Range<usize>> {
        let anchor = self.anchor.filter(|anchor| *anchor != self.at)?;
        Some(anchor.min(self.at)..anchor.max(self.at))
    }

    fn replace(&mut self, range: Range<usize>, with: &[char]) {
        self.at = range.start + with.len();
        self.chars.splice(range, with.iter().copied());
        self.anchor = None;
    }

    fn insert(&mut self, with: &[char]) {
        self.replace(self.selection().unwrap_or(self.at..self.at), with);
    }

    fn line_start(&self) -> usize {
        (0..=self.at).rev().find(|at| *at == 0 || self.chars[at - 1] == '\n').unwrap()
    }

    fn line_end(&self) -> usize {
        (self.at..).find(|at| self.chars.get(*at).is_none_or(|c| *c == '\n')).unwrap()
    }

    /// The borders between characters of different kinds, between two positions of the line.
    fn edges(&self, from: usize, to: usize) -> impl DoubleEndedIterator<Item = (usize, u8, u8)> {
        let kinds: Vec<u8> = self.chars.iter().map(|c| kind_of(*c)).collect();
        (from.max(1)..to)
            .map(move |at| (at, kinds[at - 1], kinds[at]))
            .filter(|(_, left, right)| left != right)
    }

    fn word_start_before(&self) -> Option<usize> {
        let start = self.line_start();
        let begins_with_word = start < self.at && kind_of(self.chars[start]) != 0;
        let inner = self.edges(start + 1, self.at).rev().find(|(_, _, right)| *right != 0);
        inner.map(|(at, _, _)| at).or(begins_with_word.then_some(start))
    }

    fn rows(&self) -> Vec<Vec<char>> {
        self.chars.split(|c| *c == '\n').map(<[char]>::to_vec).collect()
    }

    fn row(&self) -> usize {
        self.chars[..self.at].iter().filter(|c| **c == '\n').count()
    }

    fn in_row(&self, row: usize) -> usize {
        let rows = self.rows();
        let row = row.min(rows.len() - 1);
        let column: usize = self.chars[self.line_start()..self.at].iter().map(|c| width(*c)).sum();
        let fits = |n: &usize| rows[row][..*n].iter().map(|c| width(*c)).sum::<usize>() <= column;
        let before: usize = rows[..row].iter().map(|row| row.len() + 1).sum();
        before + (0..=rows[row].len()).rev().find(fits).unwrap()
    }

    fn target(&self, motion: Motion) -> usize {
        let (start, end, row, rows) = (self.line_start(), self.line_end(), self.row(), self.rows());
        let begins = |row: &usize| {
            !rows[*row].is_empty() && row.checked_sub(1).is_none_or(|last| rows[last].is_empty())
        };
        match motion {
            Motion::Forward => (self.at + 1).min(self.chars.len()),
            Motion::Back => self.at.saturating_sub(1),
            Motion::WordForward => {
                let next = self.edges(self.at + 1, end).find(|(_, _, right)| *right != 0);
                next.map_or((end + 1).min(self.chars.len()), |(at, _, _)| at)
            }
            Motion::WordBack => self.word_start_before().unwrap_or(start.saturating_sub(1)),
            Motion::LineStart => start,
            Motion::LineEnd => end,
            Motion::Down(by) => self.in_row(row + by),
            Motion::Up(by) => self.in_row(row.saturating_sub(by)),
            Motion::ParagraphForward => {
                self.in_row((row + 1..rows.len()).find(begins).unwrap_or(rows.len() - 1))
            }
            Motion::ParagraphBack => self.in_row((0..row).rev().find(begins).unwrap_or(0)),
            Motion::FirstLine => self.in_row(0),
            Motion::LastLine => self.in_row(rows.len() - 1),
        }
    }

    fn delete(&mut self, reach: Reach) {
        if let Some(range) = self.selection() {
            return self.replace(range, &[]);
        }
        let (at, len) = (self.at, self.chars.len());
        let range = match reach {
            Reach::Back | Reach::Forward => at..at,
            Reach::LineStart => self.line_start()..at,
            Reach::LineEnd => at..self.line_end(),
            Reach::WordBack => self.word_start_before().unwrap_or(self.line_start())..at,
            Reach::WordForward => {
                let end = self.line_end();
                let next = self.edges(at + 1, end).find(|(_, left, _)| *left != 0);
                at..next.map_or(end, |(at, _, _)| at)
            }
        };
        if !range.is_empty() {
            self.clipboard = self.chars[range.clone()].to_vec();
            return self.replace(range, &[]);
        }
        match reach {
            Reach::Back | Reach::LineStart | Reach::WordBack => {
                self.replace(at.saturating_sub(1)..at, &[]);
            }
            Reach::Forward | Reach::LineEnd | Reach::WordForward => {
                self.replace(at..(at + 1).min(len), &[]);
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert(String),
    Tab,
    Delete(Reach),
    Move(Motion, bool),
    Copy,
    Cut,
    Paste,
    ReplaceAll(String),
    Undo,
    Redo,
}

fn motion() -> impl Strategy<Value = Motion> {
    prop_oneof![
        Just(Motion::Forward),
        Just(Motion::Back),
        Just(Motion::WordForward),
        Just(Motion::WordBack),
        Just(Motion::LineStart),
        Just(Motion::LineEnd),
        (1..4usize).prop_map(Motion::Down),
        (1..4usize).prop_map(Motion::Up),
        Just(Motion::ParagraphForward),
        Just(Motion::ParagraphBack),
        Just(Motion::FirstLine),
        Just(Motion::LastLine),
    ]
}

fn reach() -> impl Strategy<Value = Reach> {
    prop_oneof![
        Just(Reach::Back),
        Just(Reach::Forward),
        Just(Reach::WordBack),
        Just(Reach::WordForward),
        Just(Reach::LineStart),
        Just(Reach::LineEnd),
    ]
}

fn step(text: &'static str) -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => text.prop_map(Step::Insert),
        1 => Just(Step::Tab),
        3 => reach().prop_map(Step::Delete),
        6 => (motion(), any::<bool>()).prop_map(|(motion, selects)| Step::Move(motion, selects)),
        1 => Just(Step::Copy),
        1 => Just(Step::Cut),
        2 => Just(Step::Paste),
        1 => text.prop_map(Step::ReplaceAll),
        2 => Just(Step::Undo),
        2 => Just(Step::Redo),
    ]
}

fn take(buffer: &mut TextBuffer, step: &Step) {
    match step {
        Step::Insert(text) => buffer.insert(text),
        Step::Tab => buffer.insert_tab(),
        Step::Delete(reach) => buffer.delete(*reach),
        Step::Move(motion, selects) => buffer.move_cursor(*motion, *selects),
        Step::Copy => buffer.copy(),
        Step::Cut => buffer.cut(),
        Step::Paste => buffer.paste(),
        Step::ReplaceAll(text) => buffer.replace_all(text),
        Step::Undo => buffer.undo(),
        Step::Redo => buffer.redo(),
    }
}

fn take_by_definition(model: &mut Model, step: &Step) {
    let chars = |text: &str| text.chars().collect::<Vec<char>>();
    match step {
        Step::Insert(text) => model.insert(&chars(text)),
        Step::Tab => {
            let at = model.selection().map_or(model.at, |range| range.start);
            let line = Model { at, ..model.clone() };
            let column: usize = line.chars[line.line_start()..at].iter().map(|c| width(*c)).sum();
            model.insert(&vec![' '; 4 - column % 4]);
        }
        Step::Delete(reach) => model.delete(*reach),
        Step::Move(motion, selects) => {
            let to = model.target(*motion);
            model.anchor = selects.then_some(model.anchor.unwrap_or(model.at));
            model.at = to;
        }
        Step::Copy | Step::Cut => {
            if let Some(range) = model.selection() {
                model.clipboard = model.chars[range.clone()].to_vec();
                if matches!(step, Step::Cut) {
                    model.replace(range, &[]);
                }
            }
            if matches!(step, Step::Copy) {
                model.anchor = None;
            }
        }
        Step::Paste if model.clipboard.is_empty() => {}
        Step::Paste => model.insert(&model.clipboard.clone()),
        Step::ReplaceAll(text) => model.replace(0..model.chars.len(), &chars(text)),
        Step::Undo | Step::Redo => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn buffer_agrees_with_a_flat_model(
        text in "[ab_. (é日\n]{0,24}",
        steps in prop::collection::vec(step("[ab_. (é日\n]{0,5}"), 0..40),
    ) {
        let mut buffer = TextBuffer::new(&text);
        let mut model = Model { chars: text.chars().collect(), ..Model::default() };
        let mut past: Vec<Vec<char>> = Vec::new();
        let mut future: Vec<Vec<char>> = Vec::new();
        for step in &steps {
            let before = (model.chars.clone(), buffer.done.len());
            take(&mut buffer, step);
            match step {
                Step::Undo | Step::Redo => {
                    let (from, to) = match step {
                        Step::Undo => (&mut past, &mut future),
                        _ => (&mut future, &mut past),
                    };
                    if let Some(text) = from.pop() {
                        to.push(std::mem::replace(&mut model.chars, text));
                        model.at = buffer.text[..buffer.cursor].chars().count();
                        model.anchor = None;
                    }
                }
                step => take_by_definition(&mut model, step),
            }
            if buffer.done.len() > before.1 && !matches!(step, Step::Redo) {
                past.push(before.0);
                future.clear();
            }
            prop_assert_eq!(buffer.text(), model.chars.iter().collect::<String>());
            prop_assert_eq!(buffer.text[..buffer.cursor].chars().count(), model.at, "{:?}", step);
            prop_assert_eq!(buffer.row(), model.row());
            prop_assert_eq!(buffer.rows(), model.rows().len());
        }
    }

    /// For any text, with clusters and carriage returns: the cursor stays between characters, undo leads back to
    /// the first text, and redo leads on to the last.
    #[test]
    fn history_leads_back_and_on_whatever_the_text(
        text in "([ab_. \n\r\t日]|e\u{301}|👩🏽‍🚀|🇩🇪|\u{301}|\u{200d}|\\PC){0,24}",
        steps in prop::collection::vec(
            step("([a. \n\r\t]|e\u{301}|👩🏽‍🚀|🇩🇪|\u{301}|\u{200d}|\\PC){0,4}"),
            0..MAX_EDITS,
        ),
    ) {
        let mut buffer = TextBuffer::new(&text);
        for step in &steps {
            take(&mut buffer, step);
            prop_assert!(buffer.text.is_char_boundary(buffer.cursor));
            prop_assert!(buffer.row() < buffer.rows());
            prop_assert!(buffer.selection().is_none_or(|range| buffer.text.get(range).is_some()));
        }
        for _ in 0..MAX_EDITS {
            buffer.redo();
        }
        let last = buffer.text.clone();
        for _ in 0..MAX_EDITS {
            buffer.undo();
            prop_assert!(buffer.text.is_char_boundary(buffer.cursor));
        }
        prop_assert_eq!(buffer.text(), text);
        for _ in 0..MAX_EDITS {
            buffer.redo();
            prop_assert!(buffer.text.is_char_boundary(buffer.cursor));
        }
        prop_assert_eq!(buffer.text(), last);
    }
}

#[test]
fn history_beyond_its_bound_forgets_the_oldest_edits() {
    let mut buffer = TextBuffer::new("");
    for _ in 0..MAX_EDITS + 3 {
        buffer.insert("x");
    }
    for _ in 0..MAX_EDITS + 3 {
        buffer.undo();
    }
    assert_eq!(buffer.text(), "xxx");
}
