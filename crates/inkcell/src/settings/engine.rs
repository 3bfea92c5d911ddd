//! The configuration of an engine and its kernels, built from the settings.
//!
//! Owns which setting becomes which number, and the numbers without a setting. The engine owns the effect of the
//! numbers.

use std::time::{Duration, SystemTime};

use inkcell_engine::artifact::{ArtifactLimits, ArtifactsConfig};
use inkcell_engine::kernel::{EnvRules, ForkServer, Ladder, RunnerConfig};
use inkcell_engine::output::{ImageLimits, OutputLimits, RichLimits, SizePolicy};
use inkcell_engine::registry::{IdleRule, Limits};
use inkcell_engine::session::{Policy, Retry};
use inkcell_engine::{EngineConfig, KernelsConfig, ProjectKernels, system_random};

use super::read::SettingsReader;
use super::{Key, Profile, Setting, Settings, Value};

/// The interval at which idle sessions are looked for (B:K-06).
const SWEEP: Duration = Duration::from_secs(30);

/// How many restarts are allowed in a row (B:K-11). A run that leaves its kernel alive ends the row.
const MAX_RESTARTS: u32 = 1;

/// How many kernels wait ready if the client will probably ask for more.
const SPARES: usize = 1;

/// The interval at which idle kernels are looked for: a short limit is kept to the second.
fn sweep(idle: Option<Duration>) -> Duration {
    idle.map_or(SWEEP, |idle| idle.clamp(Duration::from_secs(1), SWEEP))
}

/// The complete configuration of an engine.
pub(crate) fn engine_config(settings: &Settings, profile: Profile) -> EngineConfig {
    let read = SettingsReader { resolved: &settings.resolved, profile };
    EngineConfig {
        kernels: kernels(settings, profile),
        policy: Policy {
            retry: match read.choice(Key::KernelRetry) {
                "once" => Retry::Once,
                "never" => Retry::Never,
                _ => Retry::IfNotStarted,
            },
            interrupt_grace: read.time(Key::KernelInterruptGrace).unwrap_or(Ladder::GRACE),
            max_restarts: MAX_RESTARTS,
        },
        limits: Limits {
            sessions: read.count(Key::KernelMaxSessions),
            idle: match (read.time(Key::KernelIdle), profile) {
                (None, _) => IdleRule::Never,
                // The documents close an idle session even if a client is connected.
                (Some(limit), Profile::Compat) => IdleRule::Always(limit),
                (Some(limit), Profile::Default | Profile::CommandLine) => {
                    IdleRule::WithoutOwner(limit)
                }
            },
            sweep: sweep(read.time(Key::KernelIdle)),
        },
        artifacts: artifacts_config(settings),
        output: output(&read, profile),
        call_bytes: read.size(Key::OutputCallBytes).map_or(usize::MAX, output_bytes),
        keep_results: read.time(Key::ResultsKeep).unwrap_or(Duration::ZERO),
        random: system_random,
    }
}

fn kernels(settings: &Settings, profile: Profile) -> KernelsConfig {
    let python = settings.python_in(profile);
    KernelsConfig {
        state_dir: settings.state_dir.clone(),
        home: settings.home.clone(),
        interpreter: settings.interpreter_of(settings.resolved.get_outside(Key::PythonInterpreter)),
        parent_env: settings.parent_env(),
        program: settings.surroundings.program.clone(),
        env_rules: EnvRules { mode: python.env_mode, pass: python.env_pass },
        start_timeout: python.start_timeout,
        shell: python.shell,
        prelude: python.prelude,
        preload: match profile {
            // For a kernel that runs once, preloading would only delay the start.
            Profile::CommandLine => Vec::new(),
            Profile::Default | Profile::Compat => {
                list(settings.resolved.get_outside(Key::PythonPreload)).unwrap_or_default()
            }
        },
        project_modules: python.project_modules,
        project: project(settings, profile),
    }
}

/// What the project's file decides about kernels inside the project.
fn project(settings: &Settings, profile: Profile) -> Option<ProjectKernels> {
    let decided = |key| {
        let setting = settings.resolved.get(key);
        setting.source.project().map(|folder| (folder.to_owned(), setting))
    };
    let interpreter = decided(Key::PythonInterpreter);
    let preload = decided(Key::PythonPreload).filter(|_| profile != Profile::CommandLine);
    let (folder, _) = interpreter.as_ref().or(preload.as_ref())?;
    Some(ProjectKernels {
        folder: folder.clone(),
        interpreter: interpreter.as_ref().and_then(|(_, set)| settings.interpreter_of(set)),
        preload: preload.as_ref().and_then(|(_, set)| list(set)),
    })
}

fn list(setting: &Setting) -> Option<Vec<String>> {
    match &setting.value {
        Value::List(names) => Some(names.clone()),
        _ => None,
    }
}

/// The bytes of output in an answer of this size: headings and remarks need the others.
pub(crate) fn output_bytes(answer_bytes: usize) -> usize {
    let notices = answer_bytes / 8 + NOTICE_BYTES;
    (answer_bytes / 6 * 5).min(answer_bytes.saturating_sub(notices))
}

/// Bytes of the mark and the notice about output that is left out.
const NOTICE_BYTES: usize = 220;

fn output(read: &SettingsReader<'_>, profile: Profile) -> OutputLimits {
    let kept = match profile {
        Profile::Compat => OutputLimits::tail_only(),
        Profile::Default | Profile::CommandLine => OutputLimits::head_and_tail(),
    };
    let usual = ImageLimits::default();
    let images = ImageLimits {
        max_bytes: read.size(Key::OutputImageBytes).unwrap_or(usual.max_bytes),
        ..usual
    };
    let max_bytes = read.size(Key::OutputBytes).unwrap_or(kept.max_bytes);
    let cut_bytes = read.size(Key::OutputCutBytes).unwrap_or(max_bytes);
    OutputLimits {
        // The shown part of one display may be as large as that of the cell.
        display_bytes: max_bytes,
        line_bytes: read.size(Key::OutputLineBytes),
        rich: RichLimits { images, ..kept.rich },
        ..OutputLimits { cut_bytes, ..kept }.with_max_bytes(max_bytes)
    }
}

/// How much is stored, where and for how long. All profiles share one store, so they share these values.
pub(crate) fn artifacts_config(settings: &Settings) -> ArtifactsConfig {
    let read = SettingsReader { resolved: &settings.resolved, profile: Profile::Default };
    let usual = ArtifactLimits::STANDARD;
    ArtifactsConfig {
        state_dir: settings.state_dir.clone(),
        limits: ArtifactLimits {
            session_bytes: read.bytes(Key::ArtifactsSessionBytes).unwrap_or(usual.session_bytes),
            total_bytes: read.bytes(Key::ArtifactsTotalBytes).unwrap_or(usual.total_bytes),
            max_age: read.time(Key::ArtifactsKeep).unwrap_or(usual.max_age),
        },
        random: system_random,
        now: SystemTime::now,
    }
}

/// The configuration of the runner's kernels.
pub(crate) fn runner_config(settings: &Settings, profile: Profile) -> RunnerConfig {
    let read = SettingsReader { resolved: &settings.resolved, profile };
    let (fork_server, spares) = match (profile, read.choice(Key::KernelZygote)) {
        // A command that runs once starts its kernel directly.
        (Profile::CommandLine, _) => (ForkServer::Off, 0),
        (_, "off") => (ForkServer::Off, SPARES),
        _ => (ForkServer::USUAL, SPARES),
    };
    RunnerConfig { state_dir: settings.state_dir.clone(), fork_server, spares }
}

/// How many Jupyter kernels wait ready.
pub(crate) fn kernel_pool(settings: &Settings, profile: Profile) -> usize {
    match profile {
        // A command needs no second kernel.
        Profile::CommandLine => 0,
        _ => SettingsReader { resolved: &settings.resolved, profile }.count(Key::KernelPool),
    }
}

/// How much of an output goes into a notebook's file.
pub(crate) fn size_policy(settings: &Settings) -> SizePolicy {
    let read = SettingsReader { resolved: &settings.resolved, profile: Profile::CommandLine };
    match read.size(Key::OutputNotebookBytes) {
        Some(max_bytes) => SizePolicy::Limit { max_bytes },
        None => SizePolicy::Whole,
    }
}
