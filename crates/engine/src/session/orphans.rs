//! Output that belongs to no run, from threads and children that a run left behind, and notices of the
//! kernel between runs.
//!
//! Owns how much of it is kept for the next run. It must not know runs.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use inkcell_kernel::{ExecEvent, KernelEvent};

/// Output that came while no run was active. Consecutive pieces of one stream are kept as one, so a lot of
/// short lines cost no more than one long text. The oldest output is dropped if it does not fit, and its size
/// is reported.
#[derive(Default)]
pub(super) struct Orphans {
    events: VecDeque<ExecEvent>,
    notices: Vec<String>,
    bytes: usize,
    dropped_bytes: u64,
}

impl Orphans {
    /// As many events as a listener has room for at once.
    const MOST: usize = 16;
    const MOST_BYTES: usize = 1 << 20;
    /// A kernel has few notices, and sends each once.
    const MOST_NOTICES: usize = 8;

    pub(super) fn keep(&mut self, event: KernelEvent) {
        let event = match event {
            KernelEvent::Orphan(event) => event,
            KernelEvent::Notice(text) if self.notices.len() < Orphans::MOST_NOTICES => {
                return self.notices.push(text);
            }
            _ => return,
        };
        self.bytes += shown_bytes(&event);
        match (self.events.back_mut(), event) {
            (
                Some(ExecEvent::Stream { name: last, data: before }),
                ExecEvent::Stream { name, data },
            ) if *last == name => *before = joined(std::mem::take(before), &data),
            (_, event) => self.events.push_back(event),
        }
        while self.events.len() > Orphans::MOST || self.bytes > Orphans::MOST_BYTES {
            self.drop_oldest();
        }
    }

    /// Drops the oldest event, or its beginning if it is a stream that is too long by itself.
    fn drop_oldest(&mut self) {
        let over = self.bytes.saturating_sub(Orphans::MOST_BYTES);
        let mut dropped = 0;
        match self.events.front_mut() {
            Some(ExecEvent::Stream { data, .. }) if over > 0 && over < data.len() => {
                dropped = over;
                *data = data.slice(over..);
            }
            _ => {
                if let Some(event) = self.events.pop_front() {
                    dropped = shown_bytes(&event);
                }
            }
        }
        self.bytes -= dropped;
        self.dropped_bytes += dropped as u64;
    }

    /// Returns all stored events for the run that begins, and forgets them.
    pub(super) fn take(&mut self) -> impl Iterator<Item = KernelEvent> + use<> {
        let Orphans { events, notices, dropped_bytes, .. } = std::mem::take(self);
        let told = (dropped_bytes > 0).then(|| {
            let told = "of output that came while nothing ran are not shown";
            KernelEvent::Notice(format!("the first {dropped_bytes} bytes {told}"))
        });
        let notices = notices.into_iter().map(KernelEvent::Notice);
        notices.chain(told).chain(events.into_iter().map(KernelEvent::Orphan))
    }
}

/// The size in bytes of what an event writes or displays; other events count as 0.
pub(crate) fn shown_bytes(event: &ExecEvent) -> usize {
    match event {
        ExecEvent::Stream { data, .. } => data.len(),
        ExecEvent::Display { data, .. }
        | ExecEvent::UpdateDisplay { data, .. }
        | ExecEvent::Result { data, .. } => {
            data.data.iter().map(|(_, form)| form.len_bytes()).sum()
        }
        _ => 0,
    }
}

/// Grows in place if the bytes are not shared, so pieces cost no more than their size, however many they are.
fn joined(before: Bytes, data: &[u8]) -> Bytes {
    let mut all = before.try_into_mut().unwrap_or_else(|before| BytesMut::from(&before[..]));
    all.extend_from_slice(data);
    all.freeze()
}

#[cfg(test)]
mod tests {
    use inkcell_kernel::StreamName::{self, Stderr, Stdout};

    use super::*;

    fn line(name: StreamName, text: &str) -> KernelEvent {
        KernelEvent::Orphan(ExecEvent::Stream {
            name,
            data: Bytes::copy_from_slice(text.as_bytes()),
        })
    }

    /// F-038: many short lines are kept whole and in order. Notices of the kernel wait for the next run, too.
    #[test]
    fn lines_of_one_stream_are_kept_as_one() {
        let mut orphans = Orphans::default();
        for n in 0..1000 {
            orphans.keep(line(Stdout, &format!("{n}\n")));
        }
        orphans.keep(line(Stderr, "e"));
        let notice = KernelEvent::Notice("no output".to_owned());
        orphans.keep(notice.clone());
        let kept: Vec<KernelEvent> = orphans.take().collect();
        let wanted: String = (0..1000).map(|n| format!("{n}\n")).collect();
        assert_eq!(kept, [notice, line(Stdout, &wanted), line(Stderr, "e")]);
        assert_eq!(orphans.take().count(), 0);
    }

    /// F-038: the size of the dropped output is reported exactly.
    #[test]
    fn what_does_not_fit_is_told() {
        let mut orphans = Orphans::default();
        let piece = "x".repeat(1000);
        for _ in 0..2000 {
            orphans.keep(line(Stdout, &piece));
        }
        let kept: Vec<KernelEvent> = orphans.take().collect();
        let [KernelEvent::Notice(told), KernelEvent::Orphan(ExecEvent::Stream { data, .. })] =
            &kept[..]
        else {
            panic!("{} events", kept.len())
        };
        assert_eq!(data.len(), Orphans::MOST_BYTES);
        let missing = 2_000_000 - Orphans::MOST_BYTES;
        assert_eq!(
            *told,
            format!(
                "the first {missing} bytes of output that came while nothing ran are not shown"
            )
        );
        for n in 0..40 {
            orphans.keep(line(if n % 2 == 0 { Stdout } else { Stderr }, "12"));
        }
        assert_eq!(orphans.take().count(), Orphans::MOST + 1);
    }
}
