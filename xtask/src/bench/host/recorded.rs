//! Records the call of a command to a host, as a proxy between the two.
//!
//! Owns the socket's path meanwhile. It must not know the content: the host greets with a line, the client calls with
//! a line, and everything after that comes from the host.

use std::io::{self, BufRead as _, BufReader, ErrorKind, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

/// The interval between checks for the command's connection.
const LOOK: Duration = Duration::from_millis(1);

/// Runs a command that calls the host once, and returns the line of its call.
pub(super) fn call_of(socket: &Path, command: &mut Command) -> Result<String> {
    let held = socket.with_extension("held");
    std::fs::rename(socket, &held).context("there is no socket of a host")?;
    let recorded = between(socket, &held, command);
    // In any case, put the host's socket back.
    let _ = std::fs::remove_file(socket);
    std::fs::rename(&held, socket)?;
    recorded
}

fn between(socket: &Path, held: &Path, command: &mut Command) -> Result<String> {
    let listener = UnixListener::bind(socket)?;
    listener.set_nonblocking(true)?;
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    let passed = accepted(&listener, &mut child).and_then(|client| pass(&client, held));
    if passed.is_err() {
        // The command may wait for an answer that will not come.
        let _ = child.kill();
    }
    let status = child.wait()?;
    let call = passed?;
    if !status.success() {
        bail!("the command that was recorded failed: {status}");
    }
    Ok(call)
}

/// Accepts the connection of the command; a command that ends without connecting is an error.
fn accepted(listener: &UnixListener, child: &mut Child) -> Result<UnixStream> {
    loop {
        match listener.accept() {
            Ok((client, _)) => {
                client.set_nonblocking(false)?;
                return Ok(client);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
        if let Some(status) = child.try_wait()? {
            bail!("the command did not ask the host: {status}");
        }
        std::thread::sleep(LOOK);
    }
}

fn pass(mut client: &UnixStream, held: &Path) -> Result<String> {
    let mut host = UnixStream::connect(held)?;
    let mut answers = BufReader::new(host.try_clone()?);
    let (mut hello, mut call) = (String::new(), String::new());
    answers.read_line(&mut hello)?;
    client.write_all(hello.as_bytes())?;
    BufReader::new(client).read_line(&mut call)?;
    host.write_all(call.as_bytes())?;
    // A client that has its answer may disconnect before the last byte.
    let _ = io::copy(&mut answers, &mut client);
    Ok(call)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    /// The record equals the client's call, the client gets its answer, and the socket belongs to the host again.
    #[test]
    fn a_call_is_recorded_and_answered() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("main.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let host = std::thread::spawn(move || {
            for _ in 0..2 {
                let (mut stream, _) = listener.accept().unwrap();
                stream.write_all(b"hello\n").unwrap();
                let mut line = String::new();
                BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
                stream.write_all(line.to_uppercase().as_bytes()).unwrap();
            }
        });
        let script = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n\
                      f = s.makefile('rw')\nassert f.readline() == 'hello\\n'\nf.write('a call\\n')\nf.flush()\n\
                      assert f.readline() == 'A CALL\\n'";
        let mut command = Command::new("python3");
        command.args(["-c", script]).arg(&socket);
        assert_eq!(call_of(&socket, &mut command).unwrap(), "a call\n");
        let mut direct = UnixStream::connect(&socket).unwrap();
        direct.write_all(b"again\n").unwrap();
        let mut said = String::new();
        direct.read_to_string(&mut said).unwrap();
        assert_eq!(said, "hello\nAGAIN\n");
        host.join().unwrap();
    }

    #[test]
    fn a_command_that_asks_nothing_is_a_failure_and_leaves_the_host_alone() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("main.sock");
        let _host = UnixListener::bind(&socket).unwrap();
        let error = call_of(&socket, &mut Command::new("true")).unwrap_err();
        assert!(error.to_string().contains("did not ask"), "{error}");
        assert!(UnixStream::connect(&socket).is_ok());
    }
}
