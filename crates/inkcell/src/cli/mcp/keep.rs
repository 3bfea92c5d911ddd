//! `inkcell mcp --keep`: passes the messages of a client to the shared host, and the answers back. The client's
//! sessions are in the host, and stay when the client goes.
//!
//! Owns both directions, and that a client that hangs up and reads nothing does not keep this process alive.

use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};

use super::LAST_WORDS;
use crate::args::Mcp;
use crate::client::{Client, Step};
use crate::exit::{Exit, Failure};
use crate::host::{Ask, HostEvent, McpAsk};
use crate::mcp::{TransferCount, on_hang_up};
use crate::output::Stream;
use crate::settings::Settings;
use crate::words;

/// The most bytes that are passed on at once.
const PIECE: usize = 64 << 10;

/// A message for the main thread.
enum News {
    /// The input has ended, or the client has hung up.
    InputEnds,
    /// The host has sent everything.
    Over(io::Result<()>),
}

pub(super) fn serve(args: &Mcp, settings: &Settings) -> Result<Exit, Failure> {
    let client = Client::shared(settings)?;
    let mut asked = client.ask(Ask::Mcp(McpAsk { tools: args.tools.into() }))?;
    loop {
        match asked.next(None) {
            Step::Event(event) if *event == HostEvent::Serving => break,
            Step::Event(_) | Step::Nothing => {}
            Step::Done(Ok(_)) => return Ok(Exit::Ok),
            Step::Done(Err(refusal)) => return Err(refusal.into()),
        }
    }
    let (stream, first) = asked.into_parts();
    let failed = |error| Failure::Io(words::failure::PASS_MESSAGES, error);
    let (news, heard) = mpsc::channel();
    let moved = TransferCount::default();
    let hung_up = news.clone();
    on_hang_up(move || drop(hung_up.send(News::InputEnds)));
    let (said, input, counted) = (Arc::clone(&stream), news.clone(), moved.clone());
    start("stdin", move || {
        // Whichever end fails, there is nothing more to pass on.
        let _ = pass_input(&said, &counted);
        // Requests that are under way are still answered.
        let _ = said.shutdown(std::net::Shutdown::Write);
        let _ = input.send(News::InputEnds);
    })
    .map_err(failed)?;
    let counted = moved.clone();
    start("stdout", move || {
        let _ = news.send(News::Over(pass_output(&stream, &first, &counted)));
    })
    .map_err(failed)?;
    let mut before = None;
    loop {
        let next = match before {
            None => heard.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected),
            Some(_) => heard.recv_timeout(LAST_WORDS),
        };
        match next {
            Ok(News::Over(passed)) => {
                return passed.map(|()| Exit::Ok).map_err(Failure::of_output);
            }
            Ok(News::InputEnds) => before = Some(moved.so_far()),
            // The client neither reads answers nor sends requests any more.
            Err(_) if before == Some(moved.so_far()) => return Ok(Exit::Ok),
            Err(mpsc::RecvTimeoutError::Timeout) => before = Some(moved.so_far()),
            Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(Exit::Ok),
        }
    }
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

fn pass_input(mut host: &UnixStream, moved: &TransferCount) -> io::Result<()> {
    let mut stdin = io::stdin().lock();
    let mut piece = vec![0; PIECE];
    loop {
        let length = read(&mut stdin, &mut piece)?;
        if length == 0 {
            return Ok(());
        }
        host.write_all(&piece[..length])?;
        moved.add(length);
    }
}

fn pass_output(mut host: &UnixStream, first: &[u8], moved: &TransferCount) -> io::Result<()> {
    let mut stdout = Stream::stdout();
    stdout.write_all(first)?;
    let mut piece = vec![0; PIECE];
    loop {
        let length = read(&mut host, &mut piece)?;
        if length == 0 {
            return Ok(());
        }
        for part in piece[..length].chunks(PIECE / 16) {
            stdout.write_all(part)?;
            moved.add(part.len());
        }
    }
}

fn read(from: &mut impl io::Read, piece: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}
