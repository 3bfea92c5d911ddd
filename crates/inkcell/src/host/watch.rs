//! Following a session: its remembered events first, then new ones.
//!
//! Owns how much a watcher gets, and how often. A watcher holds nothing up: of a flood it gets the newest part a
//! few times a second, as much as a user can see, and the amount that was left out.

use std::collections::VecDeque;
use std::time::Duration;

use inkcell_engine::api::SessionRef;
use inkcell_engine::feeds::SessionEvent;
use inkcell_engine::journal::{JournalItem, Seq};
use inkcell_engine::kernel::ExecEvent;
use tokio::time::Instant;

use super::frames::HostEvent;
use super::talk::{Host, Talk};
use crate::exit::Failure;

/// The most bytes of events between two ticks. Small events have a size, too.
const WINDOW_BYTES: usize = 64 << 10;
const EVENT_BYTES: usize = 512;

/// The pause after each window; events of the pause make the next window. On a machine whose processors are all
/// busy with the flood itself, every window slows the code that causes it.
const TICK: Duration = Duration::from_millis(250);

pub(super) async fn answer(
    host: &Host,
    session: &SessionRef,
    from: Option<u64>,
    only_past: bool,
    talk: Talk,
) -> Result<(), Failure> {
    let mut watch = host.engine.watch_session(session, from.map(Seq)).await?;
    // Send all remembered events, whatever their size: the watcher asked for them.
    let mut batch = Batch::default();
    while let Some(item) = watch.ready() {
        batch.add(item);
    }
    for event in batch.all() {
        talk.tell(event).await;
    }
    if only_past {
        return Ok(());
    }
    let (mut sent_bytes, mut since) = (0, Instant::now());
    loop {
        let item = tokio::select! {
            item = watch.next() => item,
            () = talk.cancelled(1) => return Ok(()),
            () = talk.gone.cancelled() => return Ok(()),
            () = host.ending.cancelled() => return Ok(()),
        };
        let Some(item) = item else { return Ok(()) };
        let mut batch = Batch::default();
        batch.add(item);
        while let Some(item) = watch.ready() {
            batch.add(item);
        }
        if since.elapsed() >= TICK {
            (sent_bytes, since) = (0, Instant::now());
        }
        for event in batch.newest(WINDOW_BYTES.saturating_sub(sent_bytes)) {
            sent_bytes += weight_bytes(&event);
            talk.tell(event).await;
        }
        if sent_bytes >= WINDOW_BYTES {
            tokio::time::sleep_until(since + TICK).await;
        }
    }
}

/// Events that have not been sent yet, in order.
#[derive(Default)]
struct Batch {
    events: VecDeque<HostEvent>,
}

impl Batch {
    fn add(&mut self, item: JournalItem<SessionEvent>) {
        self.events.push_back(match item {
            JournalItem::Entry(Seq(seq), event) => HostEvent::Session { seq, event },
            JournalItem::Gap { missed } => HostEvent::Missed(missed),
        });
    }

    fn all(self) -> VecDeque<HostEvent> {
        self.events
    }

    /// The newest events that fit, and every event that is not text. Omitted text is counted.
    fn newest(self, room_bytes: usize) -> Vec<HostEvent> {
        let mut room = Some(room_bytes);
        let mut told: Vec<HostEvent> = Vec::new();
        for event in self.events.into_iter().rev() {
            room = room.and_then(|room| room.checked_sub(weight_bytes(&event)));
            let is_newest = told.is_empty();
            match (event, told.last_mut()) {
                (event, _) if room.is_some() || !is_text(&event) => told.push(event),
                // A single piece larger than the window is sent all the same, so that the watcher gets something.
                (event, _) if is_newest => told.push(event),
                (HostEvent::Missed(more), Some(HostEvent::Missed(missed))) => *missed += more,
                (_, Some(HostEvent::Missed(missed))) => *missed += 1,
                (_, _) => told.push(HostEvent::Missed(1)),
            }
        }
        told.reverse();
        told
    }
}

/// Returns whether the event is a part of a text, of which the newest part counts.
fn is_text(event: &HostEvent) -> bool {
    matches!(
        event,
        HostEvent::Missed(_)
            | HostEvent::Session {
                event: SessionEvent::Happened { event: ExecEvent::Stream { .. }, .. },
                ..
            }
    )
}

/// The approximate size of an event as it is sent.
fn weight_bytes(event: &HostEvent) -> usize {
    let said = match event {
        HostEvent::Session {
            event: SessionEvent::Happened { event: ExecEvent::Stream { data, .. }, .. },
            ..
        } => data.len(),
        _ => 0,
    };
    EVENT_BYTES + said
}

#[cfg(test)]
mod tests {
    use inkcell_engine::api::ExecutionId;
    use inkcell_engine::feeds::KernelChange;
    use inkcell_engine::kernel::StreamName;

    use super::*;

    fn wrote(bytes: usize) -> SessionEvent {
        SessionEvent::Happened {
            execution: ExecutionId("x".to_owned()),
            cell: 0,
            event: ExecEvent::Stream { name: StreamName::Stdout, data: vec![b'x'; bytes].into() },
        }
    }

    fn batch(items: Vec<JournalItem<SessionEvent>>) -> Batch {
        let mut batch = Batch::default();
        items.into_iter().for_each(|item| batch.add(item));
        batch
    }

    fn describe(events: &[HostEvent]) -> Vec<String> {
        let word = |event: &HostEvent| match event {
            HostEvent::Session { seq, .. } => seq.to_string(),
            HostEvent::Missed(missed) => format!("-{missed}"),
            _ => "?".to_owned(),
        };
        events.iter().map(word).collect()
    }

    /// A flood is cut to its newest part, with a count of what was left out; events that are not text are always
    /// sent, in their place.
    #[test]
    fn of_a_flood_the_newest_part_is_told() {
        let flood = || {
            let mut items = vec![JournalItem::Gap { missed: 5 }];
            let entry = |seq, event| JournalItem::Entry(Seq(seq), event);
            items.extend((5..10).map(|seq| entry(seq, wrote(1000))));
            items.push(entry(10, SessionEvent::Kernel(KernelChange::Interrupted)));
            items.extend((11..20).map(|seq| entry(seq, wrote(1000))));
            batch(items)
        };
        let some = flood().newest(2 * (1000 + EVENT_BYTES) + 1);
        assert_eq!(describe(&some), ["-10", "10", "-7", "18", "19"]);
        assert_eq!(describe(&flood().newest(0)), ["-10", "10", "-8", "19"], "something is told");
        assert_eq!(flood().newest(usize::MAX).len(), 16);
        assert_eq!(flood().all().len(), 16);
    }
}
