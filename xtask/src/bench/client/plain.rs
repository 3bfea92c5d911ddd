//! Takes samples of plain processes: `python3 -c`, `python3 -i` or another loop on a pipe, and any whole command.
//!
//! Owns those processes. The host program that reads our kernels reads them too, so that both
//! figures include its cost.

use std::io::{PipeReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::cells::mark_memory;
use super::lines::ArrivedOutput;
use super::ms;
use super::task::{Backend, Job, Task};

pub(super) struct Plain {
    task: Task,
    /// Command line of a whole process.
    command: Vec<String>,
    held: Option<Interactive>,
    digest: Option<blake3::Hash>,
    samples: usize,
}

/// A process on a pipe that runs one piece of code after another.
struct Interactive {
    child: Child,
    stdin: ChildStdin,
    said: PipeReader,
    /// A piece of code as this process takes it, and the whole answer.
    line: String,
    answer: Vec<u8>,
}

/// The prompt that an interpreter prints when it waits for input.
const PROMPT: &[u8] = b">>> ";

impl Plain {
    pub(super) fn prepare(task: Task) -> Result<Plain> {
        let Backend::Plain { command, check } = task.backend.clone() else {
            bail!("a plain process has no kernel")
        };
        if !check.is_empty() {
            let said = run(&check, &task)?;
            let home = task.python.parent().and_then(|bin| bin.parent());
            let home = home.context("an interpreter is in a folder")?.display().to_string();
            if !said.contains(&home) {
                bail!("it uses another Python: {}", said.trim());
            }
        }
        let held = match task.job {
            Job::Trip if command.is_empty() => Some(Interactive::python(&task)?),
            Job::Trip => Some(Interactive::cell_loop(&command, &task)?),
            _ => None,
        };
        let digest = task.digest()?;
        Ok(Plain { task, command, held, digest, samples: 0 })
    }

    pub(super) fn sample(&mut self) -> Result<Value> {
        self.samples += 1;
        match self.task.job {
            Job::Start | Job::Process => self.process(),
            Job::Trip => self.trips(),
            Job::Output => self.output(),
            Job::Report => {
                let said = run(&self.python(), &self.task)?;
                serde_json::from_str(&said).context("the program printed no JSON")
            }
            Job::Many | Job::Clients => bail!("a plain process is no kernel"),
        }
    }

    fn python(&self) -> Vec<String> {
        let python = self.task.python.display().to_string();
        vec![python, "-c".to_owned(), self.task.code.clone()]
    }

    /// Measures a whole process, from before its start to after its end, with its output read.
    fn process(&mut self) -> Result<Value> {
        let words = match self.task.job {
            Job::Process => self.command.clone(),
            _ => self.python(),
        };
        let begin = Instant::now();
        let said = run(&words, &self.task)?;
        let took = begin.elapsed();
        if said.trim().is_empty() {
            bail!("it showed no value");
        }
        Ok(json!({"ms": ms(took)}))
    }

    fn trips(&mut self) -> Result<Value> {
        let held = self.held.as_mut().context("there is no interpreter")?;
        let mut times = Vec::with_capacity(self.task.count);
        for _ in 0..self.task.count {
            let begin = Instant::now();
            let answer = held.run_once()?;
            times.push(begin.elapsed().as_secs_f64() * 1e6);
            if answer != held.answer {
                bail!("it answered {:?}", String::from_utf8_lossy(&answer));
            }
        }
        Ok(json!({"us": times}))
    }

    fn output(&mut self) -> Result<Value> {
        let digest = self.task.digest_for(self.samples, self.digest);
        let mut arrived = ArrivedOutput::new(digest);
        let mut block = vec![0; 1 << 18];
        let mark = mark_memory()?;
        let begin = Instant::now();
        let mut child = command(&self.python(), &self.task)?
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut stdout = child.stdout.take().context("the output is a pipe")?;
        loop {
            let count = stdout.read(&mut block)?;
            if count == 0 {
                break;
            }
            arrived.take(&block[..count]);
        }
        let status = child.wait()?;
        let took = begin.elapsed();
        let (idle, grown) = mark.grown()?;
        if !status.success() {
            bail!("it ended with {status}");
        }
        let bytes = self.task.bytes();
        arrived.check(bytes, digest)?;
        let rate = bytes as f64 / 1e6 / took.as_secs_f64();
        Ok(json!({"ms": ms(took), "mb_s": rate, "idle_mib": idle, "grown_mib": grown}))
    }
}

impl Interactive {
    /// `python3 -i`. Each answer ends with the next prompt.
    fn python(task: &Task) -> Result<Interactive> {
        let python = task.python.display().to_string();
        let words = [python, "-i".to_owned(), "-q".to_owned(), "-u".to_owned()];
        let line = format!("{}\n", task.code);
        let answer = [line.as_bytes(), PROMPT].concat();
        let mut interactive = Interactive::start(&words, task, line, answer)?;
        interactive.until(PROMPT)?;
        Ok(interactive)
    }

    /// A program that reads cells and writes reports, as lines of JSON.
    fn cell_loop(words: &[String], task: &Task) -> Result<Interactive> {
        let line = format!("{}\n", json!({"id": 1, "code": task.code}));
        let answer = format!("{{\"started\":true}}\n{}\n", json!({"done": task.code}));
        Interactive::start(words, task, line, answer.into_bytes())
    }

    fn start(words: &[String], task: &Task, line: String, answer: Vec<u8>) -> Result<Interactive> {
        // Prompts go to standard error. In one pipe with the answers, they mark the end of each.
        let (said, theirs) = std::io::pipe()?;
        let mut child = command(words, task)?
            .stdin(Stdio::piped())
            .stdout(theirs.try_clone()?)
            .stderr(theirs)
            .spawn()?;
        let stdin = child.stdin.take().context("the input is a pipe")?;
        Ok(Interactive { child, stdin, said, line, answer })
    }

    /// Sends the piece of code and reads as much as the whole answer has.
    fn run_once(&mut self) -> Result<Vec<u8>> {
        self.stdin.write_all(self.line.as_bytes())?;
        let size = self.answer.len();
        self.read_while(|said| said.len() < size)
    }

    fn until(&mut self, end: &[u8]) -> Result<Vec<u8>> {
        self.read_while(|said| !said.ends_with(end))
    }

    fn read_while(&mut self, is_more_due: impl Fn(&[u8]) -> bool) -> Result<Vec<u8>> {
        let (mut said, mut block) = (Vec::new(), [0; 4096]);
        while is_more_due(&said) {
            let count = self.said.read(&mut block)?;
            if count == 0 {
                bail!("it ended after {:?}", String::from_utf8_lossy(&said));
            }
            said.extend_from_slice(&block[..count]);
        }
        Ok(said)
    }
}

impl Drop for Interactive {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(words: &[String], task: &Task) -> Result<Command> {
    let (program, args) = words.split_first().context("a command has a program")?;
    let mut command = Command::new(program);
    command.args(args).current_dir(&task.cwd);
    Ok(command)
}

/// Runs a command to its end; returns its output.
fn run(words: &[String], task: &Task) -> Result<String> {
    let output = command(words, task)?.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start {}", words.join(" ")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("it ended with {}: {}", output.status, said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
