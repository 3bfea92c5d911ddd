//! The owner of raw output, with a peer that sends the next cell's output at every moment at which it can come.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use super::*;
use crate::kernel::KernelEvents;
use crate::runner::wires::{self, Theirs};

/// The other side of a pump, which runs beside a process that does nothing.
struct Peer {
    control: File,
    stdout: File,
    sequence: u64,
    events: KernelEvents,
}

impl Peer {
    fn new() -> (Peer, Pump, watch::Sender<Option<Death>>) {
        let (ours, theirs) = wires::pair().expect("connections");
        let Theirs { control, stdout, .. } = theirs;
        // It ends with this process at the latest, whose end of the pipe closes then.
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).process_group(0);
        let child = Process::own(command.spawn().expect("a process"));
        let mark = Mark::new(child.id(), &ours.inodes).expect("a mark");
        let (sender, events) = KernelEvents::channel(16);
        let (read, _) = wires::split(ours.control).expect("the channel");
        let said = RunnerOutput {
            control: read,
            stdout: ours.stdout,
            stderr: ours.stderr,
            decoder: Decoder::new(String::new()),
            trace: None,
            messages: MessageTrace::new(None, None),
        };
        let (_, refused) = mpsc::unbounded_channel();
        let pump = Pump::new(child, mark, said, sender, Intent::default(), refused);
        let peer = Peer { control: control.into(), stdout: stdout.into(), sequence: 0, events };
        (peer, pump.expect("a pump"), watch::channel(None).0)
    }

    fn frame(&mut self, kind: &str, fields: &str) {
        self.sequence += 1;
        let number = self.sequence;
        writeln!(self.control, r#"{{"n":"","s":{number},"t":"{kind}",{fields}}}"#).expect("sent");
    }

    fn starts(&mut self, id: u64) {
        self.frame("started", &format!(r#""id":{id},"count":1"#));
    }

    /// The output of a cell, in text, until its end.
    async fn output(&mut self, id: u64) -> String {
        let mut output = String::new();
        loop {
            match self.events.next().await.expect("an event") {
                KernelEvent::Exec { exec, event } => {
                    assert_eq!(exec, ExecId(id), "{event:?}");
                    match event {
                        ExecEvent::Stream { data, .. } => {
                            output.push_str(&String::from_utf8_lossy(&data));
                        }
                        ExecEvent::Finished(_) => return output,
                        _ => {}
                    }
                }
                other => panic!("an event of no cell: {other:?}"),
            }
        }
    }
}

/// F-045: a cell that starts the moment the one before it has ended keeps its output. The pump wakes for the output of
/// the first cell, finds the end of that cell, and lets the reader go on before it is back at the pipes.
#[tokio::test]
async fn output_belongs_to_the_cell_that_has_started() {
    let (mut peer, pump, died) = Peer::new();
    let stop = pump.intent.stop.clone();
    let id = pump.child.id();
    let pump = tokio::spawn(pump.run(died));
    for cell in (1..200).step_by(2) {
        peer.starts(cell);
        // Let the pump hear this, so that the output alone wakes it.
        tokio::task::yield_now().await;
        peer.stdout.write_all(b"first\n").expect("written");
        peer.frame("done", &format!(r#""id":{cell}"#));
        assert_eq!(peer.output(cell).await, "first\n");
        // The pump has not gone on since it told the end.
        peer.starts(cell + 1);
        peer.stdout.write_all(b"second\n").expect("written");
        tokio::task::yield_now().await;
        peer.frame("done", &format!(r#""id":{}"#, cell + 1));
        assert_eq!(peer.output(cell + 1).await, "second\n");
    }
    kill_group(id, Signal::KILL);
    stop.cancel();
    pump.await.expect("the pump ends");
}
