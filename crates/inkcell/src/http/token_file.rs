//! Tokens on disk: those that a user chose, and the one that was made here.
//!
//! Owns the permissions of these files. A token in a file that other users can read is not secret, so such a file
//! is refused. If another user has put something in the place of our file, it is not used.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use inkcell_engine::kernel::{make_private_folder, make_private_folder_in};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::token::{Token, TokenError};
use crate::words;

/// The folder below the state folder.
const FOLDER: &str = "http";

/// The most bytes of a file of tokens.
const MOST_BYTES: u64 = 64 << 10;

/// The most callers, since each has sessions of its own.
pub(crate) const MOST_TOKENS: usize = 64;

/// The reason why a file of tokens is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("cannot {0}: {1}")]
    Io(&'static str, io::Error),
    /// Other users can read it, or it does not belong to us.
    #[error("{0}")]
    Exposed(&'static str),
    /// A line that is not a token, by its number. The message does not repeat its content.
    #[error("line {0}: {1}")]
    Line(usize, TokenError),
    #[error("line {0} repeats a token")]
    Twice(usize),
    #[error("it has no token; write one on a line")]
    Empty,
    #[error("it has more than {MOST_TOKENS} tokens")]
    TooMany,
    #[error("it has more than {} KiB", MOST_BYTES >> 10)]
    TooLong,
}

/// Reads tokens that a user chose: one a line, with or without a name before it. Links are followed, and the file
/// at their end is checked.
pub(crate) fn read(path: &Path) -> Result<Vec<Token>, FileError> {
    let failed = |error: io::Error| FileError::Io("read it", error);
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file =
        rustix::fs::open(path, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
    let file = File::from(file);
    let found = file.metadata().map_err(failed)?;
    if !found.is_file() {
        return Err(FileError::Exposed(words::token::NOT_FILE));
    }
    if ![0, rustix::process::geteuid().as_raw()].contains(&found.uid()) {
        return Err(FileError::Exposed(words::token::OF_OTHER_USER));
    }
    if found.mode() & 0o077 != 0 {
        return Err(FileError::Exposed(words::token::READABLE));
    }
    let mut text = String::new();
    file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    // A cut file would lose its remaining tokens, and could end in half a token.
    if text.len() as u64 > MOST_BYTES {
        return Err(FileError::TooLong);
    }
    parse(&text)
}

fn parse(text: &str) -> Result<Vec<Token>, FileError> {
    let mut tokens: Vec<Token> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        // The name only tells users which line to remove.
        let word = line.rsplit_once(char::is_whitespace).map_or(line, |(_, token)| token);
        let token = Token::given(word).map_err(|error| FileError::Line(number, error))?;
        if tokens.contains(&token) {
            return Err(FileError::Twice(number));
        }
        tokens.push(token);
    }
    match tokens.len() {
        0 => Err(FileError::Empty),
        count if count > MOST_TOKENS => Err(FileError::TooMany),
        _ => Ok(tokens),
    }
}

/// A file with a token. Dropping this removes the file.
#[derive(Debug)]
pub(crate) struct TokenFile {
    folder: OwnedFd,
    name: String,
    path: PathBuf,
}

impl TokenFile {
    /// Writes a token for programs of this user, into a folder that other users cannot open.
    pub(crate) fn write(state: &Path, name: &str, token: &Token) -> Result<TokenFile, FileError> {
        let path = state.join(FOLDER).join(name);
        let folder = private_folder(state)?;
        let failed = |error: Errno| FileError::Io("write the token", error.into());
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let create = || rustix::fs::openat(&folder, name, flags, Mode::from_raw_mode(0o600));
        let made = match create() {
            // The file is from a killed server, since no other server listens at our address: remove it, never use
            // it.
            Err(Errno::EXIST) => {
                rustix::fs::unlinkat(&folder, name, AtFlags::empty()).map_err(failed)?;
                create()
            }
            made => made,
        };
        let mut file = File::from(made.map_err(failed)?);
        let written = writeln!(file, "{}", token.reveal());
        written.map_err(|error| FileError::Io("write the token", error))?;
        Ok(TokenFile { folder, name: name.to_owned(), path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TokenFile {
    fn drop(&mut self) {
        // The token is worthless from now on, so a file that stays does no harm.
        let _ = rustix::fs::unlinkat(&self.folder, &*self.name, AtFlags::empty());
    }
}

/// The folder for tokens, created if necessary. A folder that is not ours alone is refused.
fn private_folder(state: &Path) -> Result<OwnedFd, FileError> {
    let failed = |error: io::Error| FileError::Io(words::token::USE_FOLDER, error);
    make_private_folder(state).map_err(failed)?;
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let state =
        rustix::fs::open(state, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
    must_be_ours(&state)?;
    match make_private_folder_in(&state, FOLDER) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(failed(error.into())),
    }
    let opened = rustix::fs::openat(&state, FOLDER, flags | OFlags::NOFOLLOW, Mode::empty());
    let folder = match opened {
        Ok(folder) => folder,
        Err(Errno::LOOP | Errno::NOTDIR) => {
            return Err(FileError::Exposed(words::token::NOT_FOLDER));
        }
        Err(error) => return Err(failed(error.into())),
    };
    let mode = must_be_ours(&folder)?;
    if mode & 0o077 != 0 {
        let closed = rustix::fs::fchmod(&folder, Mode::from_raw_mode(0o700));
        closed.map_err(|error| failed(error.into()))?;
    }
    Ok(folder)
}

fn must_be_ours(folder: &OwnedFd) -> Result<u32, FileError> {
    let stat = rustix::fs::fstat(folder)
        .map_err(|error| FileError::Io(words::token::LOOK_AT_FOLDER, error.into()))?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(FileError::Exposed(words::token::FOLDER_OF_OTHER_USER));
    }
    if stat.st_mode & 0o022 != 0 {
        return Err(FileError::Exposed(words::token::FOLDER_WRITABLE));
    }
    Ok(stat.st_mode)
}

#[cfg(test)]
mod tests;
