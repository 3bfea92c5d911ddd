//! Long text as several events.
//!
//! Owns the largest size of an event. The queue to a session counts events, so each must be
//! bounded.

use bytes::Bytes;

use crate::event::{ExecEvent, ExecId, KernelEvent, StreamName};

/// Most text in one event, in bytes.
const PIECE_BYTES: usize = 1 << 16;

/// Yields the event, or pieces of it in order if its text is long.
pub(crate) fn in_pieces(event: KernelEvent) -> impl Iterator<Item = KernelEvent> {
    let (whole, text) = match event {
        KernelEvent::Exec { exec, event: ExecEvent::Stream { name, data } } => {
            (None, Some((Some(exec), name, data)))
        }
        KernelEvent::Orphan(ExecEvent::Stream { name, data }) => (None, Some((None, name, data))),
        other => (Some(other), None),
    };
    let text = text
        .into_iter()
        .flat_map(|(exec, name, data)| pieces(data).map(move |data| stream(exec, name, data)));
    whole.into_iter().chain(text)
}

fn stream(exec: Option<ExecId>, name: StreamName, data: Bytes) -> KernelEvent {
    let event = ExecEvent::Stream { name, data };
    match exec {
        Some(exec) => KernelEvent::Exec { exec, event },
        None => KernelEvent::Orphan(event),
    }
}

/// Yields the same bytes in order; at least one piece.
fn pieces(mut data: Bytes) -> impl Iterator<Item = Bytes> {
    let first = data.split_to(data.len().min(PIECE_BYTES));
    let rest = std::iter::from_fn(move || {
        (!data.is_empty()).then(|| data.split_to(data.len().min(PIECE_BYTES)))
    });
    std::iter::once(first).chain(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F-035: however much output arrives at once, no event is large, and nothing is lost or
    /// changed.
    #[test]
    fn text_is_cut_and_nothing_is_lost() {
        let name = StreamName::Stderr;
        for size in [0, 1, PIECE_BYTES, PIECE_BYTES + 1, 5 * PIECE_BYTES] {
            let text: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            for exec in [Some(ExecId(7)), None] {
                let mut joined = Vec::new();
                let cut = in_pieces(stream(exec, name, Bytes::from(text.clone())));
                for (number, event) in cut.enumerate() {
                    let (KernelEvent::Exec { event, .. } | KernelEvent::Orphan(event)) = &event
                    else {
                        panic!("{event:?}")
                    };
                    let ExecEvent::Stream { name: StreamName::Stderr, data } = event else {
                        panic!("{event:?}")
                    };
                    assert!(data.len() <= PIECE_BYTES && (number == 0 || !data.is_empty()));
                    joined.extend_from_slice(data);
                }
                assert!(joined == text, "{size}");
            }
        }
        let other = KernelEvent::Notice("a".repeat(2 * PIECE_BYTES));
        assert_eq!(in_pieces(other).count(), 1);
    }
}
