//! Runs cells under the stop watch, as a session of our client does.
//!
//! Must not know the backend of the kernel, nor the peers or the goals.

use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use inkcell_kernel::{
    CodeRequest, ExecEvent, ExecId, History, InputMode, KernelEvent, LaunchedKernel, MimeData,
    Outcome, StreamName,
};
use serde_json::{Value, json};

use super::lines::ArrivedOutput;
use super::ms;
use crate::bench::measure::usage;

/// Numbers the cells of one process.
#[derive(Default)]
pub(super) struct Cells {
    next: u64,
}

impl Cells {
    /// Runs code to its end; an error of the cell is an error here.
    pub(super) async fn run(
        &mut self,
        launched: &mut LaunchedKernel,
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

    /// Runs code and returns the time at which the cell showed its value.
    pub(super) async fn value(
        &mut self,
        launched: &mut LaunchedKernel,
        code: &str,
    ) -> Result<Instant> {
        let mut shown = None;
        self.run(launched, code, |event| {
            if matches!(event, KernelEvent::Exec { event: ExecEvent::Result { .. }, .. }) {
                shown = Some(Instant::now());
            }
        })
        .await?;
        shown.context("the cell showed no value")
    }

    /// Runs the code many times, each to its end.
    pub(super) async fn trips(
        &mut self,
        launched: &mut LaunchedKernel,
        code: &str,
        count: usize,
    ) -> Result<Value> {
        let mut times = Vec::with_capacity(count);
        let cpu = usage::own_cpu_ms()?;
        for _ in 0..count {
            let begin = Instant::now();
            self.run(launched, code, |_| ()).await?;
            times.push(begin.elapsed().as_secs_f64() * 1e6);
        }
        let cpu = (usage::own_cpu_ms()? - cpu) * 1e3 / count as f64;
        Ok(json!({"us": times, "cpu_us": cpu}))
    }

    /// Runs code that prints; reports its output, the bytes missing from `wanted`, and the number
    /// of notices.
    pub(super) async fn output(
        &mut self,
        launched: &mut LaunchedKernel,
        code: &str,
        wanted: usize,
        arrived: &mut ArrivedOutput,
    ) -> Result<Value> {
        let (mut parts, mut notices) = (0, 0);
        let cpu = usage::own_cpu_ms()?;
        let begin = Instant::now();
        self.run(launched, code, |event| match event {
            KernelEvent::Exec {
                event: ExecEvent::Stream { name: StreamName::Stdout, data },
                ..
            } => {
                arrived.take(data);
                parts += 1;
            }
            KernelEvent::Exec { event: ExecEvent::Display { data, .. }, .. } => {
                arrived.count(data.get("text/plain").map_or(0, MimeData::len_bytes));
                parts += 1;
            }
            KernelEvent::Notice(_) => notices += 1,
            _ => {}
        })
        .await?;
        let took = begin.elapsed();
        let cpu = usage::own_cpu_ms()? - cpu;
        let bytes = arrived.bytes() as f64;
        let (rate, lost) = (bytes / 1e6 / took.as_secs_f64(), wanted as f64 - bytes);
        Ok(json!({"ms": ms(took), "cpu_ms": cpu, "messages": parts, "mb_s": rate, "lost": lost,
            "notices": notices}))
    }
}

/// Memory of this process when its peak was reset, in MiB.
pub(super) struct MemoryMark(f64);

/// Resets the peak memory of this process.
pub(super) fn mark_memory() -> Result<MemoryMark> {
    let idle = usage::own_resident_mib()?;
    usage::forget_peak()?;
    Ok(MemoryMark(idle))
}

impl MemoryMark {
    /// Memory at the reset, and the growth of the peak since then, in MiB.
    pub(super) fn grown(&self) -> Result<(f64, f64)> {
        Ok((self.0, usage::own_peak_mib()? - self.0))
    }
}
