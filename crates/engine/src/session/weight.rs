//! How much memory remembered calls take.
//!
//! Owns the counting. A slice of a kernel's buffer keeps the whole buffer, so a stored event gets its own
//! copy.

use std::io;

use bytes::Bytes;
use inkcell_kernel::{ExecEvent, MimeBundle, MimeData};
use serde::Serialize;

use crate::session::shown_bytes;

/// The bytes that an event takes in addition to its output: itself, its place in a journal, and its own allocations.
const EVENT_BYTES: usize = 256;

/// The approximate size in bytes of an event in a journal.
pub(crate) fn event_bytes(event: &ExecEvent) -> usize {
    EVENT_BYTES + shown_bytes(event)
}

/// The approximate size in bytes of a value of texts and numbers: the length of its JSON. A field without text counts
/// by its name, which is about as long as the field.
pub(crate) fn value_bytes(value: &impl Serialize) -> usize {
    let mut written = ByteCounter(0);
    // Counting cannot fail. A value that cannot be serialized weighs what was written before the error.
    let _ = serde_json::to_writer(&mut written, value);
    written.0
}

/// Copies the event into buffers of its own.
pub(crate) fn copy_alone(event: &ExecEvent) -> ExecEvent {
    match event {
        ExecEvent::Stream { name, data } => {
            ExecEvent::Stream { name: *name, data: Bytes::copy_from_slice(data) }
        }
        ExecEvent::Display { id, data } => {
            ExecEvent::Display { id: id.clone(), data: copy_bundle(data) }
        }
        ExecEvent::UpdateDisplay { id, data } => {
            ExecEvent::UpdateDisplay { id: id.clone(), data: copy_bundle(data) }
        }
        ExecEvent::Result { count, id, data } => {
            ExecEvent::Result { count: *count, id: id.clone(), data: copy_bundle(data) }
        }
        other => other.clone(),
    }
}

fn copy_bundle(bundle: &MimeBundle) -> MimeBundle {
    let form = |form: &MimeData| match form {
        MimeData::Binary(bytes) => MimeData::Binary(Bytes::copy_from_slice(bytes)),
        MimeData::Text(_) | MimeData::Json(_) => form.clone(),
    };
    let data = bundle.data.iter().map(|(mime, data)| (mime.clone(), form(data))).collect();
    MimeBundle { data, metadata: bundle.metadata.clone() }
}

struct ByteCounter(usize);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use inkcell_kernel::StreamName;

    use super::*;

    /// A line of ten bytes must not keep the megabyte that it was read into.
    #[test]
    fn what_is_kept_holds_nothing_but_itself() {
        let buffer = Bytes::from(vec![b'x'; 1 << 20]);
        let line = ExecEvent::Stream { name: StreamName::Stdout, data: buffer.slice(..10) };
        let picture = MimeData::Binary(buffer.slice(10..20));
        let data =
            MimeBundle { data: vec![("image/png".to_owned(), picture)], metadata: "{}".to_owned() };
        let events = [
            line,
            ExecEvent::Display { id: None, data: data.clone() },
            ExecEvent::Result { count: 1, id: None, data },
        ];
        let copies: Vec<ExecEvent> = events.iter().map(copy_alone).collect();
        assert_eq!(copies, events);
        drop(events);
        assert!(buffer.is_unique(), "the buffer is still held");
        assert_eq!(event_bytes(&copies[0]), EVENT_BYTES + 10);
        assert_eq!(value_bytes(&"ab"), 4);
    }
}
