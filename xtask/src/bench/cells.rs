//! Cells that our client of Jupyter kernels runs under the stop watch, as a session would run them.
//!
//! Must not know which backend the kernel is of, nor the peers or the goals.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use inkcell_kernel::{
    CodeRequest, ExecEvent, ExecId, History, InputMode, KernelEvent, Launched, MimeData, Outcome,
    StreamName,
};
use serde_json::{Value, json};

/// Numbers the cells of one process.
#[derive(Default)]
pub(super) struct Cells {
    next: u64,
}

impl Cells {
    /// Runs code to its end; an error of the cell is an error here.
    pub(super) async fn run(
        &mut self,
        launched: &mut Launched,
        code: &str,
        mut see: impl FnMut(&KernelEvent),
    ) -> Result<()> {
        self.next += 1;
        launched.kernel.execute(CodeRequest {
            input: InputMode::Refuse,
            names: inkcell_kernel::NamesWanted::No,
            exec: ExecId(self.next),
            code: code.to_owned(),
            history: History::Store,
            env: Vec::new(),
            cwd: None,
        })?;
        loop {
            let event = launched.events.next().await.context("the events ended")?;
            match event {
                KernelEvent::Exec { event: ExecEvent::Finished(outcome), .. } => match outcome {
                    Outcome::Ok => return Ok(()),
                    Outcome::Error(error) => bail!("{}: {}", error.name, error.value),
                    Outcome::Aborted => bail!("the cell was not run"),
                },
                KernelEvent::Died(death) => {
                    bail!("the kernel {}: {}", death.cause, death.stderr_tail)
                }
                other => see(&other),
            }
        }
    }

    /// When the cell showed its value.
    pub(super) async fn value(&mut self, launched: &mut Launched, code: &str) -> Result<Instant> {
        let mut shown = None;
        self.run(launched, code, |event| {
            if matches!(event, KernelEvent::Exec { event: ExecEvent::Result { .. }, .. }) {
                shown = Some(Instant::now());
            }
        })
        .await?;
        shown.context("the cell showed no value")
    }

    /// The code, many times, each to its end.
    pub(super) async fn trips(
        &mut self,
        launched: &mut Launched,
        code: &str,
        count: usize,
    ) -> Result<Value> {
        let mut times = Vec::with_capacity(count);
        let cpu = own_cpu_ms()?;
        for _ in 0..count {
            let begin = Instant::now();
            self.run(launched, code, |_| ()).await?;
            times.push(begin.elapsed().as_secs_f64() * 1e6);
        }
        let cpu = (own_cpu_ms()? - cpu) * 1e3 / count as f64;
        Ok(json!({"us": times, "cpu_us": cpu}))
    }

    /// All that the code prints, how much is missing of so many bytes, and whether that was told.
    pub(super) async fn output(
        &mut self,
        launched: &mut Launched,
        code: &str,
        wanted: usize,
    ) -> Result<Value> {
        let (mut bytes, mut parts, mut notices) = (0, 0, 0);
        let cpu = own_cpu_ms()?;
        let begin = Instant::now();
        self.run(launched, code, |event| match event {
            KernelEvent::Exec {
                event: ExecEvent::Stream { name: StreamName::Stdout, data },
                ..
            } => {
                bytes += data.len();
                parts += 1;
            }
            KernelEvent::Exec { event: ExecEvent::Display { data, .. }, .. } => {
                bytes += data.get("text/plain").map_or(0, MimeData::len_bytes);
                parts += 1;
            }
            KernelEvent::Notice(_) => notices += 1,
            _ => {}
        })
        .await?;
        let took = begin.elapsed();
        let cpu = own_cpu_ms()? - cpu;
        let rate = bytes as f64 / 1e6 / took.as_secs_f64();
        let lost = wanted as f64 - bytes as f64;
        Ok(json!({"ms": ms(took), "cpu_ms": cpu, "messages": parts, "mb_s": rate, "lost": lost,
            "notices": notices}))
    }
}

pub(super) fn ms(took: Duration) -> f64 {
    took.as_secs_f64() * 1e3
}

/// What this process has made the processor do; how busy others keep it matters little to that.
#[cfg(unix)]
fn own_cpu_ms() -> Result<f64> {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike as _;
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(micros as f64 / 1e3)
}

#[cfg(not(unix))]
fn own_cpu_ms() -> Result<f64> {
    bail!("the processor time of a process is only known how to read on Unix")
}
