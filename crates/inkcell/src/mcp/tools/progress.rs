//! Progress of a running call: new output, and a sign that it is still at work.
//!
//! Owns how often and how much is reported. The output comes from the call's journal; a slow listener misses some
//! of it and holds nothing up. It is not a fold of the call: it keeps the output that was not told yet, and which cell
//! began last.

use std::time::Duration;

use inkcell_engine::CallEvent;
use inkcell_engine::journal::JournalItem;
use inkcell_engine::kernel::{ExecEvent, MimeBundle, MimeData};
use inkcell_engine::output::Cleaner;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::Progress;
use crate::words;

/// The shortest time between two messages.
const PACE: Duration = Duration::from_millis(250);
/// The longest.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// How much new output one message holds.
const MAX_BYTES: usize = 2048;

/// Tells one listener of one call.
pub(crate) struct Teller {
    listener: Option<mpsc::Sender<Progress>>,
    began: Instant,
    told: Option<Instant>,
    /// The number of the cell that runs, from 1; none before the first has begun.
    cell: Option<usize>,
    cells: usize,
    cleaner: Cleaner,
    /// The end of the output that was not reported yet.
    new: String,
}

impl Teller {
    pub(crate) fn new(
        listener: Option<mpsc::Sender<Progress>>,
        cells: usize,
        began: Instant,
    ) -> Teller {
        Teller {
            listener,
            began,
            told: None,
            cell: None,
            cells,
            cleaner: Cleaner::default(),
            new: String::new(),
        }
    }

    /// When the next report is due.
    pub(crate) fn due(&self) -> Instant {
        let last = self.told.unwrap_or(self.began);
        match (self.has_news(), self.told) {
            (true, None) => self.began,
            (true, Some(told)) => told + PACE,
            (false, _) => last + HEARTBEAT,
        }
    }

    fn has_news(&self) -> bool {
        !self.new.is_empty()
    }

    /// Takes an event of the call.
    pub(crate) fn take(&mut self, item: JournalItem<CallEvent>) {
        let JournalItem::Entry(_, (cell, event)) = item else { return };
        match event {
            ExecEvent::Started { .. } => self.cell = Some(cell + 1),
            ExecEvent::Stream { data, .. } => self.write(&data),
            ExecEvent::Display { data, .. } | ExecEvent::Result { data, .. } => self.show(&data),
            _ => {}
        }
    }

    /// Takes bytes that were written.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        if self.listener.is_none() {
            return;
        }
        let new = &mut self.new;
        self.cleaner.push(bytes, &mut |piece| new.push_str(piece));
        // A line that may still be overwritten is sent as it is, since progress messages are not stored.
        self.cleaner.flush(&mut |piece| new.push_str(piece));
        let cut = self.new.ceil_char_boundary(self.new.len().saturating_sub(MAX_BYTES));
        self.new.drain(..cut);
    }

    fn show(&mut self, data: &MimeBundle) {
        if let Some(MimeData::Text(text)) = data.get("text/plain") {
            let start = text.ceil_char_boundary(text.len().saturating_sub(MAX_BYTES));
            self.write(&text.as_bytes()[start..]);
            self.write(b"\n");
        }
    }

    /// Reports new output, or that there is none.
    pub(crate) fn tell(&mut self, now: Instant) {
        self.told = Some(now);
        let elapsed = now.duration_since(self.began);
        let Some(listener) = &self.listener else { return };
        let message = match self.has_news() {
            true => self.new.clone(),
            false => self.still(elapsed),
        };
        // The elapsed time always grows, which a count of cells does not.
        let progress = Progress { done: elapsed.as_secs_f64(), total: None, message };
        // If the queue is full, keep the new output for the next report.
        if listener.try_send(progress).is_ok() {
            self.new.clear();
        }
    }

    fn still(&self, elapsed: Duration) -> String {
        let seconds = elapsed.as_secs();
        match (self.cell, self.cells) {
            (None, _) => words::call::waits(seconds),
            (Some(_), 0 | 1) => format!("running, {seconds} s"),
            (Some(cell), cells) => words::call::runs_cell(&cell, &cells, seconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use inkcell_engine::journal::Seq;
    use inkcell_engine::kernel::StreamName;

    use super::*;

    fn entry(cell: usize, event: ExecEvent) -> JournalItem<CallEvent> {
        JournalItem::Entry(Seq(0), (cell, event))
    }

    fn written(text: &str) -> JournalItem<CallEvent> {
        let data = Bytes::copy_from_slice(text.as_bytes());
        entry(0, ExecEvent::Stream { name: StreamName::Stdout, data })
    }

    /// What is new comes soon, at most four times a second and in small pieces.
    #[test]
    fn output_is_told_at_a_pace() {
        let (sender, mut heard) = mpsc::channel(1);
        let began = Instant::now();
        let mut teller = Teller::new(Some(sender), 1, began);
        assert_eq!(teller.due(), began + HEARTBEAT);
        teller.take(written("\u{1b}[31mone\u{1b}[0m\n"));
        assert_eq!(teller.due(), began, "the first is told at once");
        teller.tell(began);
        assert_eq!(heard.try_recv().unwrap().message, "one\n");
        teller.take(written("two\n"));
        assert_eq!(teller.due(), began + PACE);
        teller.tell(began + PACE);
        // The last report is still in the queue, so this output waits for the next one.
        teller.take(written(&"x".repeat(3 * MAX_BYTES)));
        teller.take(written("end"));
        teller.tell(began + 2 * PACE);
        assert_eq!(heard.try_recv().unwrap().message, "two\n");
        teller.tell(began + 3 * PACE);
        let last = heard.try_recv().unwrap();
        assert_eq!(last.message.len(), MAX_BYTES);
        assert!(last.message.ends_with("xxend"));
    }

    /// Silence is told, too, with the time and the cell.
    #[test]
    fn a_silent_call_is_heard_of() {
        let (sender, mut heard) = mpsc::channel(4);
        let began = Instant::now();
        let mut teller = Teller::new(Some(sender), 3, began);
        teller.tell(began + HEARTBEAT);
        assert_eq!(heard.try_recv().unwrap().message, "queued for 5 s");
        teller.take(entry(1, ExecEvent::Started { count: Some(2) }));
        assert_eq!(teller.due(), began + 2 * HEARTBEAT);
        teller.tell(began + 2 * HEARTBEAT);
        let told = heard.try_recv().unwrap();
        assert_eq!(told.message, "running 2/3, 10 s");
        assert!((told.done - 10.0).abs() < 0.01);
    }
}
