use std::io::{self, ErrorKind, Write};
use std::path::Path;

use super::super::tests::{spec, store_in};
use super::super::{ArtifactState, Artifacts, Scope};
use super::*;

/// Accepts `left` bytes, in small writes, and then fails for good.
struct Fails {
    file: Arc<File>,
    left: usize,
    kind: ErrorKind,
}

impl Write for Fails {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(self.kind.into());
        }
        let length = bytes.len().min(self.left).min(1000);
        let written = (&*self.file).write(&bytes[..length])?;
        self.left -= written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn failing(store: &Artifacts, mime: &str, left: usize, kind: ErrorKind) -> ArtifactWriter {
    let mut writer = store.create(&spec(mime)).expect("begun");
    writer.out = Box::new(Fails { file: Arc::clone(&writer.file), left, kind });
    writer
}

fn names(state: &Path) -> Vec<String> {
    let folders = std::fs::read_dir(state.join("artifacts")).expect("a folder");
    let folder = folders.map(|entry| entry.expect("an entry").path()).next().expect("a session");
    inkcell_testkit::env::names_in(&folder)
}

/// F-034 F-035: a failure ends the artifact at once and is reported once, in plain words. The bytes before it are
/// exact.
#[test]
fn a_failure_is_a_fact_about_the_artifact() {
    let content = "0123456789\n".repeat(1000);
    let table = [
        (ErrorKind::StorageFull, "disk full"),
        (ErrorKind::QuotaExceeded, "disk full"),
        (ErrorKind::ReadOnlyFilesystem, "the artifact folder cannot be written"),
        (ErrorKind::PermissionDenied, "the artifact folder cannot be written"),
        (ErrorKind::NotFound, "the file was removed while it was written"),
        (ErrorKind::WriteZero, "write zero"),
    ];
    for (kind, words) in table {
        let state = tempfile::tempdir().expect("a folder");
        let store = store_in(state.path());
        let mut writer = failing(&store, "text/plain", 5005, kind);
        let id = writer.id().clone();
        writer.append(content.as_bytes());
        writer.append(b"more");
        let incomplete = writer.incomplete().expect("it failed");
        assert_eq!(
            incomplete.to_string(),
            format!("artifact incomplete: {words} after 5005 bytes")
        );
        let written = writer.finish();
        assert_eq!(written.incomplete, Some(incomplete.clone()));
        let info = written.info.expect("there is something to read");
        assert_eq!((info.bytes, info.lines), (5005, Some(455)));
        let found = store.find(&id, Scope::All).expect("found");
        assert_eq!(found.info(), &info);
        assert_eq!(found.info().state, ArtifactState::Incomplete(incomplete));
        assert_eq!(std::fs::read(&info.path).expect("a file"), &content.as_bytes()[..5005]);
    }
}

/// F-034: as a plain writer it fails from the first failure on, and the byte count is exact.
#[test]
fn as_a_writer_it_fails_from_then_on() {
    let state = tempfile::tempdir().expect("a folder");
    let store = store_in(state.path());
    let mut writer = failing(&store, "text/plain", 1500, ErrorKind::StorageFull);
    assert_eq!(writer.write(&[b'x'; 4000]).expect("some"), 1000);
    assert_eq!(writer.write(&[b'x'; 4000]).expect("some"), 500);
    for _ in 0..3 {
        assert_eq!(writer.write(b"x").expect_err("full").kind(), ErrorKind::StorageFull);
        assert_eq!(writer.flush().expect_err("full").kind(), ErrorKind::StorageFull);
    }
    drop(writer);
    let all = store.list(Scope::All).expect("a list");
    let after = Incomplete { after_bytes: 1500, cause: Cause::DiskFull };
    assert_eq!(all[0].state, ArtifactState::Incomplete(after));
}

/// F-034: an empty artifact or half a picture is neither kept nor mentioned.
#[test]
fn what_is_of_no_use_is_not_kept() {
    for (mime, left) in [("text/plain", 0), ("image/png", 100)] {
        let state = tempfile::tempdir().expect("a folder");
        let store = store_in(state.path());
        let mut writer = failing(&store, mime, left, ErrorKind::StorageFull);
        writer.append(&[7; 1000]);
        let written = writer.finish();
        let incomplete = Incomplete { after_bytes: 0, cause: Cause::DiskFull };
        assert_eq!(written, WriteResult { info: None, incomplete: Some(incomplete) });
        assert_eq!(store.list(Scope::All).expect("a list"), []);
        assert!(names(state.path()).is_empty(), "{:?}", names(state.path()));
    }
}

/// A dropped writer is complete if it was flushed after its last byte.
#[test]
fn what_is_dropped_says_whether_it_is_complete() {
    let state = tempfile::tempdir().expect("a folder");
    let store = store_in(state.path());
    let last = |bytes: &[u8], flush: bool, more: &[u8]| {
        let mut writer = store.create(&spec("text/plain")).expect("begun");
        let id = writer.id().clone();
        writer.write_all(bytes).expect("written");
        if flush {
            writer.flush().expect("flushed");
        }
        writer.write_all(more).expect("written");
        drop(writer);
        store.find(&id, Scope::All).map(|found| found.info().state.clone())
    };
    let given_up = |after_bytes| {
        ArtifactState::Incomplete(Incomplete { after_bytes, cause: Cause::Abandoned })
    };
    assert_eq!(last(b"all", true, b"").expect("kept"), ArtifactState::Complete);
    assert_eq!(last(b"all", false, b"").expect("kept"), given_up(3));
    assert_eq!(last(b"all", true, b"!").expect("kept"), given_up(4));
    assert!(last(b"", false, b"").is_err(), "nothing was written, so nothing is kept");
}
