//! The log: inkcell's actions, for its operator, and the traces that are switched on by name.
//!
//! Owns which events are written. The parts: `line` (an event as a line), `sink` (the destination of lines),
//! `kernels` (the events of a backend), `served` (clients and their calls). Libraries do not log. Events of other
//! crates about a client's messages may hold text of the client, so only their source location is written, never a
//! word (S-020).

use std::fmt::Write as _;
use std::panic::PanicHookInfo;
use std::time::{Duration, Instant, SystemTime};

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};

mod kernels;
mod line;
mod served;
mod sink;
#[cfg(test)]
mod tests;

pub(crate) use kernels::{kernels, runner};
pub(crate) use line::time;
pub(crate) use served::{call, client, ended};

use self::line::Words;
use self::sink::Sink;
use crate::exit::Failure;
use crate::settings::{LogSettings, Profile, TraceSwitch};
use crate::words;

/// Stages of starting (`debug.startup`).
const STARTUP: &str = "inkcell::startup";

/// Messages to and from kernels (`python.ipc_trace`).
const MESSAGES: &str = "inkcell::messages";

/// The prefix of the targets of our own events.
const OWN: &str = "inkcell";

/// Reports that a stage of starting is reached. If stages are switched on, the report goes to standard error,
/// wherever the log goes.
pub(crate) fn stage(stage: &str) {
    tracing::info!(target: STARTUP, "{stage}");
}

/// Begins to log, for the rest of the process. If nothing is to be logged, no file is opened.
pub(crate) fn start(
    settings: &LogSettings,
    profile: Profile,
    began: Instant,
) -> Result<(), Failure> {
    let log = Log::new(settings, began)?;
    if log.max_level() != LevelFilter::OFF {
        // A process has one log; a second call keeps the first.
        let _ = tracing::subscriber::set_global_default(log);
    }
    watch_panics(profile);
    Ok(())
}

/// Logs a panic with its source location. Its message is written only if it is a constant of the program: a
/// formatted one may hold text of a client. A command also prints the usual message for its user.
fn watch_panics(profile: Profile) {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic: &PanicHookInfo<'_>| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let words = panic.payload().downcast_ref::<&'static str>().copied().unwrap_or_default();
        tracing::error!(place, "inkcell failed; this is a bug of inkcell: {words}");
        if profile == Profile::CommandLine {
            usual(panic);
        }
    }));
}

/// Takes events and writes lines.
struct Log {
    level: LevelFilter,
    messages: TraceSwitch,
    startup: TraceSwitch,
    sink: Sink,
    /// Standard error for stages, when the log goes to a file.
    stderr: Sink,
    began: Instant,
}

impl Log {
    fn new(settings: &LogSettings, began: Instant) -> Result<Log, Failure> {
        let level = match settings.level {
            "error" => LevelFilter::ERROR,
            "warn" => LevelFilter::WARN,
            "info" => LevelFilter::INFO,
            "debug" => LevelFilter::DEBUG,
            "trace" => LevelFilter::TRACE,
            _ => LevelFilter::OFF,
        };
        let is_silent = level == LevelFilter::OFF && settings.messages == TraceSwitch::No;
        let sink = match &settings.file {
            Some(path) if !is_silent => Sink::file(path).map_err(|error| {
                let problem = words::failure::log_not_opened(&path.display(), &error);
                Failure::argument("log.file", problem)
            })?,
            _ => Sink::stderr(),
        };
        let (messages, startup) = (settings.messages, settings.startup);
        Ok(Log { level, messages, startup, sink, stderr: Sink::stderr(), began })
    }

    fn max_level(&self) -> LevelFilter {
        let is_traced = self.messages == TraceSwitch::Yes || self.startup == TraceSwitch::Yes;
        if is_traced { self.level.max(LevelFilter::INFO) } else { self.level }
    }

    fn is_wanted(&self, metadata: &Metadata<'_>) -> bool {
        // A check of whether an event is enabled is neither an event nor a span.
        if metadata.is_span() {
            return false;
        }
        match metadata.target() {
            STARTUP => self.startup == TraceSwitch::Yes,
            MESSAGES => self.messages == TraceSwitch::Yes,
            target if is_own(target) => *metadata.level() <= self.level,
            // Source locations of other crates are of use only to a developer of inkcell.
            _ => self.level >= LevelFilter::DEBUG && *metadata.level() <= self.level,
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn is_own(target: &str) -> bool {
    target == OWN || target.strip_prefix(OWN).is_some_and(|rest| rest.starts_with("::"))
}

impl Subscriber for Log {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        // The filter never changes, so that a disabled event costs nothing.
        if self.is_wanted(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.is_wanted(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.max_level())
    }

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let mut words = Words::default();
        if is_own(metadata.target()) {
            event.record(&mut words);
        } else {
            words.write_location(metadata);
        }
        if metadata.target() == STARTUP {
            let stage = words.into_text();
            let after = self.began.elapsed().as_secs_f64() * 1000.0;
            return self.stderr.write(format!("[startup] {stage} at {after:.1} ms"));
        }
        let mut text = time(SystemTime::now());
        let _ = write!(text, " {:>5} {} ", metadata.level(), std::process::id());
        text.push_str(&words.into_text());
        self.sink.write(text);
    }

    // Spans are not written.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
