//! The destination of lines: a file, or standard error.
//!
//! Owns that a line is written whole or not at all, and that the server never waits for the reader of standard
//! error: otherwise a client that does not read would stop the server by its log.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use inkcell_engine::kernel::make_private_folder;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use crate::output::Stream;
use crate::words;

/// A pipe with any room takes this many bytes at once; longer lines are cut.
const LONGEST_LINE: usize = 4000;

pub(super) enum Sink {
    File(Mutex<File>),
    /// Holds the number of lines that found no room since the last one that did.
    Stderr(Mutex<u64>),
}

impl Sink {
    /// Appends to the lines in the file. Only the owner can read a new file.
    pub(super) fn file(path: &Path) -> io::Result<Sink> {
        if let Some(folder) = path.parent() {
            make_private_folder(folder)?;
        }
        // Without a reader, opening a pipe is an error here and does not wait.
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).mode(0o600).custom_flags(flags).open(path)?;
        Ok(Sink::File(Mutex::new(file)))
    }

    pub(super) fn stderr() -> Sink {
        Sink::Stderr(Mutex::new(0))
    }

    /// Writes a line. A line that cannot be written is dropped.
    pub(super) fn write(&self, mut line: String) {
        if line.len() > LONGEST_LINE {
            line.truncate(line.floor_char_boundary(LONGEST_LINE));
            line.push('…');
        }
        line.push('\n');
        match self {
            Sink::File(file) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                drop(file.write_all(line.as_bytes()));
            }
            Sink::Stderr(dropped) => {
                let mut dropped = dropped.lock().unwrap_or_else(PoisonError::into_inner);
                if *dropped > 0 && has_room() {
                    let note = words::output::log_lines_dropped(&*dropped);
                    drop(Stream::stderr().write_all(note.as_bytes()));
                    *dropped = 0;
                }
                if has_room() {
                    drop(Stream::stderr().write_all(line.as_bytes()));
                } else {
                    *dropped += 1;
                }
            }
        }
    }
}

/// Returns whether standard error takes a line now.
fn has_room() -> bool {
    let stderr = io::stderr();
    let mut wanted = [PollFd::new(&stderr, PollFlags::OUT)];
    poll(&mut wanted, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}
