//! Line selectors: the `:10-20,40+5:raw` behind a path, and the lines they pick from a text.
//!
//! Owns the grammar. It must not know what the text is.

/// What follows a path.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Selector {
    /// The stored JSON instead of the virtual text.
    pub form: Form,
    /// Lines to show, from 1, both ends included, sorted and merged; empty for all.
    pub ranges: Vec<LineRange>,
}

/// Which text the lines are taken from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Form {
    /// The virtual text.
    #[default]
    Text,
    /// The bytes of the file.
    Raw,
}

/// Lines `start` to `end`; no end means to the last line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineRange {
    /// First line, from 1.
    pub start: usize,
    /// Last line.
    pub end: Option<usize>,
}

/// A suffix that has the form of a selector but no meaning.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SelectorError {
    /// Lines count from 1.
    #[error("Line selector 0 is invalid; lines are 1-indexed. Use :1.")]
    Zero,
    /// The end comes before the start.
    #[error("Invalid range {start}-{end}: end must be >= start.")]
    Backwards {
        /// As given.
        start: usize,
        /// As given.
        end: usize,
    },
    /// A count of nothing.
    #[error("Invalid range {start}+0: count must be >= 1.")]
    NoCount {
        /// As given.
        start: usize,
    },
}

enum Part {
    Raw,
    Lines(Vec<LineRange>),
}

/// Splits `path:selector`. A suffix that is not of the grammar is part of the path.
pub fn split_selector(path: &str) -> Result<(&str, Selector), SelectorError> {
    let Some((front, last)) = path.rsplit_once(':') else { return Ok((path, Selector::default())) };
    let Some(last) = part(last) else { return Ok((path, Selector::default())) };
    let last = last?;
    if let Some((first, middle)) = front.rsplit_once(':')
        && let Some(middle) = part(middle)
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

/// `None` when the text is not of the grammar at all.
fn part(text: &str) -> Option<Result<Part, SelectorError>> {
    if text.eq_ignore_ascii_case("raw") {
        return Some(Ok(Part::Raw));
    }
    // The form is checked for all ranges before any meaning, so that a file name is never half read.
    let forms = text.split(',').map(range_form).collect::<Option<Vec<_>>>()?;
    let ranges = forms.into_iter().map(RangeForm::meaning).collect::<Result<Vec<_>, _>>();
    Some(ranges.map(|ranges| Part::Lines(merged(ranges))))
}

enum RangeForm {
    From(usize),
    To(usize, usize),
    Count(usize, usize),
}

fn range_form(text: &str) -> Option<RangeForm> {
    let text = text.replace("..", "-");
    if let Some((start, count)) = text.split_once('+') {
        return Some(RangeForm::Count(number(start)?, digits(count)?));
    }
    match text.split_once('-') {
        None => Some(RangeForm::From(number(&text)?)),
        Some((start, "")) => Some(RangeForm::From(number(start)?)),
        Some((start, end)) => Some(RangeForm::To(number(start)?, number(end)?)),
    }
}

fn number(text: &str) -> Option<usize> {
    digits(text.strip_prefix(['L', 'l']).unwrap_or(text))
}

fn digits(text: &str) -> Option<usize> {
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

/// Sorted, with ranges that overlap or touch made one.
fn merged(mut ranges: Vec<LineRange>) -> Vec<LineRange> {
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

/// How much of a text is shown at once where a reader has little room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageLimits {
    /// Lines.
    pub max_lines: usize,
    /// Bytes.
    pub max_bytes: usize,
}

impl PageLimits {
    /// What the source documents give: 3000 lines or 50 KiB, whichever comes first.
    pub const STANDARD: PageLimits = PageLimits { max_lines: 3000, max_bytes: 50 * 1024 };
}

/// The picked lines of a text that fit on a page, and after a blank line a notice when there are more.
/// A single line that is too long is shown in full: a page always makes progress.
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
    /// The same ranges with a line before and three after each, as the source documents pad them.
    pub fn padded(mut self) -> Selector {
        for range in &mut self.ranges {
            range.start = range.start.saturating_sub(1).max(1);
            range.end = range.end.map(|end| end.saturating_add(3));
        }
        self.ranges = merged(self.ranges);
        self
    }

    /// The picked lines of a text, each with its own line end.
    pub fn pick<'a>(&self, text: &'a [u8]) -> Vec<&'a [u8]> {
        if self.ranges.is_empty() {
            return vec![text];
        }
        self.numbered(text.split_inclusive(|byte| *byte == b'\n')).map(|(_, line)| line).collect()
    }

    /// The picked ones of all lines, with their numbers.
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
#[path = "select/tests.rs"]
mod tests;
