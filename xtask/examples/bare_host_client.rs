//! A minimal client of a host: it connects, makes one call and waits for its end.
//!
//! `cargo xtask bench host` compares `inkcell py` with it, so it starts as quickly as any small program. It must not
//! know the call, which is an argument.

use std::io::{BufRead as _, BufReader, Error, ErrorKind, Result, Write as _};
use std::os::unix::net::UnixStream;

/// The beginning of the last line, and its beginning after a success.
const DONE: &str = "{\"done\":";
const WELL: &str = "{\"done\":{\"Ok\":";

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let (Some(socket), Some(call)) = (args.next(), args.next()) else {
        return Err(Error::new(ErrorKind::InvalidInput, "wants a socket and a call"));
    };
    let mut stream = UnixStream::connect(socket)?;
    let mut lines = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    // Read the greeting.
    lines.read_line(&mut line)?;
    stream.write_all(call.as_bytes())?;
    loop {
        line.clear();
        if lines.read_line(&mut line)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        if line.starts_with(DONE) {
            return if line.starts_with(WELL) { Ok(()) } else { Err(Error::other(line)) };
        }
    }
}
