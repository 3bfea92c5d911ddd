//! Line selectors such as `:10-20,40+5:raw` behind a path, and the lines that they select.
//!
//! Owns the grammar. It must not know which text the lines come from.

/// The part after the path: a form of the text and some of its lines.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Selector {
    /// Virtual text, or the bytes of the file.
    pub form: Form,
    /// Selected lines, from 1, both ends included, sorted and merged; empty for all.
    pub ranges: Vec<LineRange>,
}

/// The text from which lines are selected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Form {
    /// Virtual text, see [`Notebook::to_text`](crate::Notebook::to_text).
    #[default]
    Text,
    /// The bytes of the file.
    Raw,
}

/// Lines `start` to `end`; without an end, up to the last line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineRange {
    /// First line, from 1.
    pub start: usize,
    /// Last line, from 1, included.
    pub end: Option<usize>,
}

/// A suffix with the form of a selector but without a meaning.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelectorError {
    /// Line 0 is selected, but lines count from 1.
    #[error("Line selector 0 is invalid; lines are 1-indexed. Use :1.")]
    Zero,
    /// The end comes before the start.
    #[error("Invalid range {start}-{end}: end must be >= start.")]
    Backwards {
        /// First line, as the caller gave it.
        start: usize,
        /// Last line, as the caller gave it.
        end: usize,
    },
    /// The selector asks for zero lines.
    #[error("Invalid range {start}+0: count must be >= 1.")]
    NoCount {
        /// First line, as the caller gave it.
        start: usize,
    },
}

enum Part {
    Raw,
    Lines(Vec<LineRange>),
}

/// Splits `path:selector`. A suffix outside the grammar is part of the path.
pub fn split_selector(path: &str) -> Result<(&str, Selector), SelectorError> {
    let Some((front, last)) = path.rsplit_once(':') else { return Ok((path, Selector::default())) };
    let Some(last) = parse_part(last) else { return Ok((path, Selector::default())) };
    let last = last?;
    if let Some((first, middle)) = front.rsplit_once(':')
        && let Some(middle) = parse_part(middle)
    {
        match (middle, &last) {
            (Ok(Part::Raw), Part::Lines(ranges)) => {
                return Ok((first, Selector { form: Form::Raw, ranges: ranges.clone() }));
            }
            (Ok(Part::Lines(ranges)), Part::Raw) => {
                return Ok((first, Selector { form: Form::Raw, ranges }));
            }
            (Err(error), Part::Raw) => return Err(error),
            _ => {}
        }
    }
    Ok(match last {
        Part::Raw => (front, Selector { form: Form::Raw, ranges: Vec::new() }),
        Part::Lines(ranges) => (front, Selector { form: Form::Text, ranges }),
    })
}

/// Parses one part; `None` if the text is outside the grammar.
fn parse_part(text: &str) -> Option<Result<Part, SelectorError>> {
    if text.eq_ignore_ascii_case("raw") {
        return Some(Ok(Part::Raw));
    }
    // Check the form of all ranges before the meaning of any, so that a file name is never read
    // halfway as a selector.
    let forms = text.split(',').map(parse_range).collect::<Option<Vec<_>>>()?;
    let ranges = forms.into_iter().map(RangeForm::meaning).collect::<Result<Vec<_>, _>>();
    Some(ranges.map(|ranges| Part::Lines(merge_ranges(ranges))))
}

enum RangeForm {
    From(usize),
    To(usize, usize),
    Count(usize, usize),
}

fn parse_range(text: &str) -> Option<RangeForm> {
    let text = text.replace("..", "-");
    if let Some((start, count)) = text.split_once('+') {
        return Some(RangeForm::Count(parse_number(start)?, parse_digits(count)?));
    }
    match text.split_once('-') {
        None => Some(RangeForm::From(parse_number(&text)?)),
        Some((start, "")) => Some(RangeForm::From(parse_number(start)?)),
        Some((start, end)) => Some(RangeForm::To(parse_number(start)?, parse_number(end)?)),
    }
}

fn parse_number(text: &str) -> Option<usize> {
    parse_digits(text.strip_prefix(['L', 'l']).unwrap_or(text))
}

fn parse_digits(text: &str) -> Option<usize> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits.then(|| text.parse().unwrap_or(usize::MAX))
}

impl RangeForm {
    fn meaning(self) -> Result<LineRange, SelectorError> {
        let range = |start: usize, end: Option<usize>| match start {
            0 => Err(SelectorError::Zero),
            _ => Ok(LineRange { start, end }),
        };
        match self {
            RangeForm::From(start) => range(start, None),
            RangeForm::To(start, end) => {
                let checked = range(start, Some(end))?;
                if end < start { Err(SelectorError::Backwards { start, end }) } else { Ok(checked) }
            }
            RangeForm::Count(start, 0) => Err(SelectorError::NoCount { start }),
            RangeForm::Count(start, count) => range(start, Some(start.saturating_add(count - 1))),
        }
    }
}

/// Sorts ranges and merges those that overlap or touch.
fn merge_ranges(mut ranges: Vec<LineRange>) -> Vec<LineRange> {
    ranges.sort_by_key(|range| range.start);
    let mut out: Vec<LineRange> = Vec::new();
    for range in ranges {
        match out.last_mut() {
            Some(LineRange { end: None, .. }) => {}
            Some(last) if last.end.is_some_and(|end| range.start <= end.saturating_add(1)) => {
                last.end = match (last.end, range.end) {
                    (Some(one), Some(other)) => Some(one.max(other)),
                    _ => None,
                };
            }
            _ => out.push(range),
        }
    }
    out
}

/// The size of a page, for readers with little room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageLimits {
    /// Largest number of lines on a page.
    pub max_lines: usize,
    /// Largest number of bytes on a page, unless the first line alone is longer.
    pub max_bytes: usize,
}

impl PageLimits {
    /// The default page: 3000 lines or 50 KiB, whichever comes first.
    pub const STANDARD: PageLimits = PageLimits { max_lines: 3000, max_bytes: 50 * 1024 };
}

/// Returns the selected lines of a text that fit on a page, followed by a blank line and a notice if
/// there are more. A single line that is too long appears in full, so that a page always makes
/// progress.
pub fn page(text: &str, selector: &Selector, limits: PageLimits) -> String {
    let mut shown = String::new();
    let (mut first, mut last, mut count) = (None, 0, 0);
    for (number, line) in selector.numbered(text.split_inclusive('\n')) {
        if count > 0 && (count == limits.max_lines || shown.len() + line.len() > limits.max_bytes) {
            let total = text.split_inclusive('\n').count();
            let first = first.unwrap_or(number);
            let blank = if shown.ends_with('\n') { "\n" } else { "\n\n" };
            shown.push_str(&format!(
                "{blank}[Showing lines {first}-{last} of {total}. Use :{number} to continue]"
            ));
            return shown;
        }
        first.get_or_insert(number);
        last = number;
        count += 1;
        shown.push_str(line);
    }
    shown
}

impl Selector {
    /// The same ranges with one line before and three after each.
    pub fn padded(mut self) -> Selector {
        for range in &mut self.ranges {
            range.start = range.start.saturating_sub(1).max(1);
            range.end = range.end.map(|end| end.saturating_add(3));
        }
        self.ranges = merge_ranges(self.ranges);
        self
    }

    /// The selected lines of a text, each with its own line end.
    pub fn pick<'a>(&self, text: &'a [u8]) -> Vec<&'a [u8]> {
        if self.ranges.is_empty() {
            return vec![text];
        }
        self.numbered(text.split_inclusive(|byte| *byte == b'\n')).map(|(_, line)| line).collect()
    }

    /// The selected lines with their numbers, from 1.
    fn numbered<L>(&self, lines: impl Iterator<Item = L>) -> impl Iterator<Item = (usize, L)> {
        let is_all = self.ranges.is_empty();
        let mut ranges = self.ranges.iter().peekable();
        let picked = move |(number, line)| {
            while ranges.next_if(|range| range.end.is_some_and(|end| end < number)).is_some() {}
            let is_picked = is_all || ranges.peek()?.start <= number;
            Some(is_picked.then_some((number, line)))
        };
        (1..).zip(lines).map_while(picked).flatten()
    }
}

#[cfg(test)]
mod tests;
