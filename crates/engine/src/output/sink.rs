//! The output of an execution for a reader, folded from its events: cleaned, bounded, spilled.
//!
//! Owns the order in which text, displays, marks and the artifact come together. It must not know sessions, clocks or
//! the reader. A notebook file never uses it: that is the recorder's job. Its memory is bounded for any input, and a
//! failing disk costs the artifact, not the output.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use inkcell_kernel::{DisplayId, ExecEvent, MimeBundle, Outcome, StreamName};

use super::clean::plain::PlainChunk;
use super::clean::sanitize::Cleaner;
use super::keep::spill::{RawLog, Spill};
use super::keep::text::TextSide;
use super::keep::text::tail;
use super::keep::window::{Extent, Kepts, Window};
use super::limits::OutputLimits;
use super::model::{ArtifactRef, Counts, Mark, ModelOutput, Notice, Part, Truncation};
use super::rich::mime::DisplayForms;
use super::rich::{RichList, mime};

/// The end of the text so far, while the code runs.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Preview {
    /// The end of the text, in whole lines unless one line alone is too long.
    pub text: String,
    /// Bytes of cleaned text so far, without the last line while it may still change.
    pub total_bytes: u64,
    /// Bytes of the last line while it may still change.
    pub open_bytes: u64,
    /// Lines of the text so far, shown or not.
    pub total_lines: u64,
    /// Bytes and line ends that the program itself removed or replaced.
    pub cleared: (u64, u64),
    /// Number of rich items so far.
    pub rich: u64,
    /// The artifact with the text, if it does not fit.
    pub artifact: Option<ArtifactRef>,
    /// The part missing before the end, if any.
    pub elided: Option<Notice>,
}

/// Number of displays that are remembered for updates.
const MAX_SLOTS: usize = 1024;

/// Folds the events of one execution into the output for a reader.
#[derive(Debug)]
pub struct OutputSink {
    limits: OutputLimits,
    cleaners: [Cleaner; 2],
    text: TextSide,
    raw: RawLog,
    rich: RichList,
    slots: HashMap<DisplayId, u64>,
    slot_order: VecDeque<DisplayId>,
    next_slot: u64,
    clear_is_pending: bool,
    stdin_requested: bool,
    has_markdown: bool,
}

fn at(name: StreamName) -> usize {
    match name {
        StreamName::Stdout => 0,
        StreamName::Stderr => 1,
    }
}

/// A whole text, cleaned.
fn cleaned(text: &str) -> String {
    let mut cleaner = Cleaner::default();
    let mut out = String::with_capacity(text.len());
    cleaner.push(text.as_bytes(), &mut |piece| out.push_str(piece));
    cleaner.finish(&mut |piece| out.push_str(piece));
    out
}

impl OutputSink {
    /// Creates an empty sink. `spill` opens the artifacts for output that does not fit.
    pub fn new(limits: OutputLimits, spill: Spill) -> OutputSink {
        let window = Window::new(limits.max_bytes, limits.head_bytes, limits.repeats)
            .cut_to(limits.cut_bytes);
        OutputSink {
            limits,
            cleaners: [Cleaner::default(), Cleaner::default()],
            text: TextSide::new(window, limits.line_bytes),
            raw: RawLog::new(spill, limits.held_bytes, limits.artifact),
            rich: RichList::new(limits.rich),
            slots: HashMap::new(),
            slot_order: VecDeque::new(),
            next_slot: 0,
            clear_is_pending: false,
            stdin_requested: false,
            has_markdown: false,
        }
    }

    /// Takes the next event; events without output change nothing.
    pub fn push(&mut self, event: &ExecEvent) {
        match event {
            ExecEvent::Stream { name, data } => self.stream(*name, data),
            ExecEvent::Display { id, data } | ExecEvent::Result { id, data, .. } => {
                self.display(id.as_ref(), data);
            }
            ExecEvent::UpdateDisplay { id, data } => self.update(id, data),
            ExecEvent::ClearOutput { wait: true } => self.clear_is_pending = true,
            ExecEvent::ClearOutput { wait: false } => self.clear(),
            ExecEvent::InputRequested { .. } => {
                self.flush();
                self.stdin_requested = true;
                self.text.window.mark(Mark::InputRequested);
            }
            ExecEvent::Finished(Outcome::Error(error)) => {
                self.begin_output();
                let lines = if error.plain.is_empty() { &error.traceback } else { &error.plain };
                if !lines.is_empty() {
                    self.show(None, &(lines.join("\n") + "\n"));
                }
            }
            ExecEvent::Started { .. }
            | ExecEvent::Names(_)
            | ExecEvent::Widgets(_)
            | ExecEvent::Finished(_) => {}
        }
    }

    fn stream(&mut self, name: StreamName, data: &Bytes) {
        if data.is_empty() {
            return;
        }
        self.begin_output();
        let (one, other) = (at(name), 1 - at(name));
        let text = &mut self.text;
        // The other stream's line ends here as it stands: a carriage return must not reach it.
        self.cleaners[other].flush(&mut |piece| text.take(piece));
        self.raw.push(data);
        let (cleaner, mut rest) = (&mut self.cleaners[one], &data[..]);
        if text.takes_plain()
            && let Some(plain) = PlainChunk::of(data)
        {
            // An unfinished line ends with the first line of the chunk, unless it is in an escape sequence.
            cleaner.push(&data[..plain.first], &mut |piece| text.collect(piece));
            rest = &data[plain.first..];
            if cleaner.is_at_rest() {
                rest = &rest[plain.lines.bytes.len()..];
                text.take_plain(plain.lines);
            }
        }
        cleaner.push(rest, &mut |piece| text.collect(piece));
        text.end_chunk();
        self.spill_when_over();
    }

    fn spill_when_over(&mut self) {
        if self.text.window.is_over() || self.text.cap.dropped.bytes > 0 {
            self.raw.open();
        }
    }

    /// Flushes the lines that both streams hold back.
    fn flush(&mut self) {
        let text = &mut self.text;
        for cleaner in &mut self.cleaners {
            cleaner.flush(&mut |piece| text.take(piece));
        }
    }

    fn begin_output(&mut self) {
        if std::mem::take(&mut self.clear_is_pending) {
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.clear_is_pending = false;
        self.flush();
        self.text.window.clear();
        self.rich.clear();
        self.slots.clear();
        self.slot_order.clear();
    }

    fn read(&mut self, data: &MimeBundle) -> DisplayForms {
        let shown = mime::read(data, self.limits.display_bytes.max(64 * 1024));
        self.has_markdown |= shown.is_markdown;
        shown
    }

    fn display(&mut self, id: Option<&DisplayId>, data: &MimeBundle) {
        let shown = self.read(data);
        if shown.text.is_none() && shown.rich.iter().all(|f| matches!(f, mime::RichForm::Status(_)))
        {
            // A status event is not output: it neither clears nor breaks a line.
            for found in shown.rich {
                self.rich.push(found, None, self.raw.spill());
            }
            return;
        }
        self.begin_output();
        self.flush();
        let slot = id.map(|id| self.new_slot(id));
        if let Some(text) = &shown.text {
            self.show(slot, text);
        }
        for found in shown.rich {
            let number = self.rich.push(found, slot, self.raw.spill());
            self.text.window.mark(Mark::Rich { number });
        }
    }

    fn update(&mut self, id: &DisplayId, data: &MimeBundle) {
        let Some(slot) = self.slots.get(id).copied() else {
            // An earlier execution showed it, or it was forgotten: show it as a new display.
            return self.display(Some(id), data);
        };
        self.flush();
        let shown = self.read(data);
        let text = shown.text.as_deref().unwrap_or_default();
        self.raw.push(text.as_bytes());
        let text = self.bounded(cleaned(text));
        if !self.text.window.replace_slot(slot, &text) && !text.is_empty() {
            self.text.window.push_slot(slot, text);
        }
        self.rich.replace(slot, shown.rich, self.raw.spill());
        self.spill_when_over();
    }

    fn new_slot(&mut self, id: &DisplayId) -> u64 {
        self.next_slot += 1;
        if self.slots.insert(id.clone(), self.next_slot).is_none() {
            self.slot_order.push_back(id.clone());
        }
        if self.slot_order.len() > MAX_SLOTS
            && let Some(oldest) = self.slot_order.pop_front()
        {
            self.slots.remove(&oldest);
        }
        self.next_slot
    }

    /// Adds the text of a display or a traceback, on a line of its own.
    fn show(&mut self, slot: Option<u64>, text: &str) {
        self.flush();
        if !self.text.window.is_at_line_start() {
            self.raw.push(b"\n");
            self.text.take("\n");
        }
        self.raw.push(text.as_bytes());
        let text = cleaned(text);
        match slot {
            Some(slot) => {
                let text = self.bounded(text);
                self.text.window.push_slot(slot, text);
            }
            // If a display may take the whole budget, it is cut with the rest of the text.
            None if text.len() > self.limits.display_bytes
                && self.limits.display_bytes < self.limits.max_bytes =>
            {
                let (head, middle, tail) = self.cut(&text);
                self.text.take(head);
                self.text.window.leave_out(middle);
                self.text.take(tail);
            }
            None => self.text.take(&text),
        }
        self.spill_when_over();
    }

    /// Beginning, middle and end of a text that is too long for one display.
    fn cut<'a>(&self, text: &'a str) -> (&'a str, &'a str, &'a str) {
        let max = self.limits.display_bytes;
        let head = text.floor_char_boundary(if self.limits.head_bytes == 0 { 0 } else { max / 5 });
        let tail = text.ceil_char_boundary(text.len() - (max - head).min(text.len()));
        (&text[..head], &text[head..tail], &text[tail..])
    }

    /// The bounded text of a display that may be replaced. The omitted part is not counted, since the next update may
    /// remove all of it.
    fn bounded(&self, text: String) -> String {
        if text.len() <= self.limits.display_bytes {
            return text;
        }
        let (head, middle, tail) = self.cut(&text);
        let extent = Extent::of(middle);
        let mark = Mark::Elided { bytes: extent.bytes, lines: extent.feeds };
        format!("{head}\n{mark}\n{tail}")
    }

    /// The end of the text so far.
    pub fn preview(&self) -> Preview {
        let OutputLimits { max_bytes, cut_bytes, .. } = self.limits;
        let mut text = self.text.window.recent(max_bytes);
        let pending: String = self.cleaners.iter().map(Cleaner::pending).collect();
        text.push_str(&pending);
        let mut total = self.text.total();
        total += Extent::of(&pending);
        let window = &self.text.window;
        let all = total.bytes - window.cleared().bytes;
        let fits = all <= max_bytes as u64;
        let mut shown = tail(&text, if fits { max_bytes } else { cut_bytes });
        let is_cut = (shown.len() as u64) < all;
        // The text may begin in the middle of a line, which is dropped unless it is the only one.
        let first_end = shown.find('\n').filter(|feed| is_cut && feed + 1 < shown.len());
        if let Some(feed) = first_end {
            shown = &shown[feed + 1..];
        }
        let artifact = self.raw.so_far();
        let elided = is_cut.then(|| {
            let last = window.line_bytes() + pending.len() as u64;
            let id = artifact.as_ref().map(|stored| stored.id.clone());
            Notice::Truncated { truncation: end_of(shown, total, last, cut_bytes), artifact: id }
        });
        Preview {
            text: shown.to_owned(),
            total_bytes: self.text.total().bytes,
            open_bytes: pending.len() as u64,
            total_lines: total.lines(),
            cleared: (window.cleared().bytes, window.cleared().feeds),
            rich: self.rich.count(),
            artifact,
            elided,
        }
    }

    /// Ends the execution. Pictures are decoded here, so it may take some time.
    pub fn finish(mut self) -> ModelOutput {
        let text = &mut self.text;
        for cleaner in &mut self.cleaners {
            cleaner.finish(&mut |piece| text.take(piece));
        }
        self.spill_when_over();
        let rich_count = self.rich.count();
        let (artifact, incomplete) = self.raw.finish();
        let (rich, rich_notices) = self.rich.finish(self.raw.spill());
        let mut kept = self.text.window.parts();
        // Drop marks of items that were not kept.
        kept.parts.retain(|part| match part {
            Part::Mark(Mark::Rich { number }) => rich.iter().any(|item| item.number == *number),
            _ => true,
        });
        let total = self.text.total();
        let mut output = Extent::default();
        for part in &kept.parts {
            if let Part::Text(text) = part {
                output += Extent::of(text);
            }
        }
        let is_truncated = self.text.window.is_over() || self.text.cap.dropped.bytes > 0;
        let mut notices = Vec::new();
        if self.text.window.is_over() {
            let has_all = incomplete.is_none();
            let id = artifact.as_ref().filter(|_| has_all).map(|stored| stored.id.clone());
            let truncation = truncation(&kept, total, self.limits.cut_bytes);
            notices.push(Notice::Truncated { truncation, artifact: id });
        }
        let id = || artifact.as_ref().map(|stored| stored.id.clone());
        if self.text.cap.dropped.bytes > 0 && !self.text.window.is_over() {
            let (lines, bytes) = (self.text.cap.dropped_lines, self.text.cap.dropped.bytes);
            notices.push(Notice::LinesCut { lines, bytes, artifact: id() });
        }
        notices.extend(incomplete.map(|notice| match notice {
            Notice::ArtifactIncomplete { cause, after_bytes, .. } => {
                Notice::ArtifactIncomplete { cause, after_bytes, artifact: id() }
            }
            other => other,
        }));
        notices.extend(rich_notices);
        notices.dedup();
        let counts = Counts {
            raw_bytes: self.raw.total(),
            total_bytes: total.bytes,
            total_lines: total.lines(),
            total_chars: total.chars,
            output_bytes: output.bytes,
            output_lines: output.lines(),
            output_chars: output.chars,
            elided_bytes: kept.elided.bytes + kept.left_out.bytes,
            elided_lines: kept.elided.feeds + kept.left_out.feeds,
            cleared_bytes: kept.cleared.bytes,
            cleared_lines: kept.cleared.feeds,
            invalid: self.cleaners.iter().map(Cleaner::invalid).sum(),
            dropped_bytes: self.text.cap.dropped.bytes,
            dropped_lines: self.text.cap.dropped_lines,
            rich: rich_count,
            open_bytes: 0,
        };
        ModelOutput {
            parts: kept.parts,
            rich,
            counts,
            is_truncated,
            artifact,
            notices,
            stdin_requested: self.stdin_requested,
            has_markdown: self.has_markdown,
        }
    }
}

/// The line range of a shown end. `last_bytes` are the bytes of the last line.
fn end_of(shown: &str, total: Extent, last_bytes: u64, max_bytes: usize) -> Truncation {
    let (extent, ends_a_line) = (Extent::of(shown), u64::from(shown.ends_with('\n')));
    let total_lines = total.lines().saturating_sub(ends_a_line);
    let is_part = extent.feeds == 0 && extent.bytes < last_bytes;
    Truncation {
        head: None,
        tail: (extent.bytes > 0).then_some((total_lines + ends_a_line - extent.feeds, total_lines)),
        total_lines,
        limit_bytes: max_bytes as u64,
        partial_line: is_part.then_some((extent.bytes, last_bytes)),
        scattered_lines: None,
    }
}

/// The shown line ranges of a text over its budget. Lines have the numbers that they have in the artifact, where a line
/// end at the end of the text begins no other line.
fn truncation(kept: &Kepts, total: Extent, max_bytes: usize) -> Truncation {
    let total_lines = total.lines().saturating_sub(u64::from(kept.ends_a_line));
    let first = kept.cleared.feeds + 1;
    let head_end = kept.cleared.feeds + kept.head.feeds + u64::from(kept.head_is_open);
    let head = (kept.head.bytes > 0).then_some((first, head_end));
    let tail = (kept.tail.bytes > 0).then_some((total.lines() - kept.tail.feeds, total_lines));
    let is_one_line = head.is_none() && kept.tail.feeds == 0 && kept.elided.bytes > 0;
    let (head, tail) = match (head, tail) {
        // The text between them is only counted, not left out.
        (Some(_), _) if kept.elided.bytes == 0 => (Some((first, total_lines)), None),
        both => both,
    };
    Truncation {
        head,
        tail,
        total_lines,
        limit_bytes: max_bytes as u64,
        partial_line: is_one_line.then_some((kept.tail.bytes, kept.line_bytes)),
        scattered_lines: (kept.left_out.bytes > 0)
            .then(|| total_lines.saturating_sub(kept.elided.feeds + kept.left_out.feeds)),
    }
}

#[cfg(test)]
mod tests;
