//! `inkcell gateway`: the shared gateways of this machine, the configured one, and the leftovers on any of them.
//!
//! Owns how they are shown. The kernel crate starts and finds them.

use std::collections::HashMap;
use std::path::Path;

use inkcell_engine::api::KernelWishes;
use inkcell_engine::kernel::{
    BackendKind, GatewayBackend, GatewayConfig, GatewayError, GatewayUrl, LaunchError, LeftBehind,
    LocalGatewayBackend, PlainHttp, SharedGateway, SharedStatus, Token, Whose, left_behind,
};
use inkcell_engine::{Engine, EngineError, GatewayChoice};
use serde_json::{Value, json};

use super::run::unfinished;
use crate::app::backends;
use crate::app::gateways::{self, choice};
use crate::app::python::{self, text};
use crate::args::{Gateway, GatewayCommand, GatewayStart};
use crate::exit::{Exit, Failure};
use crate::output::{Output, count};
use crate::settings::RuntimeFolder;
use crate::settings::{Profile, Settings, anchored, engine_config};
use crate::words;
use crate::words::step::Audience;

pub(crate) fn run(
    args: &Gateway,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let runtime = super::runtime()?;
    let (lines, told) = runtime.block_on(async {
        match &args.command {
            GatewayCommand::Start(args) => start(args, settings).await,
            GatewayCommand::Stop => stop(settings).await,
            GatewayCommand::Status => status(settings).await,
            GatewayCommand::Gc => remove(settings).await,
        }
    })?;
    let written = if output.is_json() {
        output.json(&told)
    } else {
        lines.iter().try_for_each(|line| output.line(line))
    };
    written.map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}

/// The answer: lines for people, and the same as JSON.
type TextAndJson = (Vec<String>, Value);

async fn start(args: &GatewayStart, settings: &Settings) -> Result<TextAndJson, Failure> {
    let GatewayChoice::Local(config) = chosen(settings)? else {
        let problem = words::gateway::IS_SET;
        return Err(Failure::argument("gateway.url", problem));
    };
    let cwd = python::working_folder(&args.python, settings)?;
    let profile = Profile::CommandLine;
    let engine = Engine::new(engine_config(settings, profile), backends(settings, profile)?);
    let wanted = KernelWishes {
        interpreter: args.python.python.as_deref().map(|given| anchored(given, &settings.cwd)),
        backend: Some(BackendKind::Gateway),
        ..KernelWishes::default()
    };
    let spec = engine.choose(&cwd, &wanted).await?.spec;
    let shared = LocalGatewayBackend::new(config).shared(&spec).map_err(EngineError::from)?;
    shared.acquire().await.map_err(failed)?;
    let status = shared.status();
    Ok((vec![line(&status)], json!({"shared": [status]})))
}

async fn stop(settings: &Settings) -> Result<TextAndJson, Failure> {
    let ended = SharedGateway::shutdown_all(&settings.state_dir).await.map_err(failed)?;
    let said = match ended {
        0 => words::gateway::NONE_WAS_RUNNING.to_owned(),
        ended => format!("{} ended.", count(ended, "gateway")),
    };
    Ok((vec![said], json!({"ended": ended})))
}

async fn status(settings: &Settings) -> Result<TextAndJson, Failure> {
    let mut lines = Vec::new();
    let mut external = Value::Null;
    if let GatewayChoice::External(config) = chosen(settings)? {
        let url = config.url.to_string();
        match gateways::ask_status(*config).await {
            Ok(seen) => {
                lines.push(seen.to_string());
                let (version, kernels) = (&seen.version, &seen.kernels);
                external =
                    json!({"url": url, "answers": true, "version": version, "kernels": kernels});
            }
            Err(problem) => {
                let error = EngineError::from(LaunchError::from(problem));
                lines.push(error.to_string());
                lines.extend(
                    Audience::Person.step_after(&error).map(|step| format!("next: {step}")),
                );
                external = json!({"url": url, "answers": false, "problem": error.to_string()});
            }
        }
    }
    let shared = SharedGateway::statuses(&settings.state_dir);
    lines.extend(shared.iter().map(line));
    if lines.is_empty() {
        lines.push(words::gateway::NONE.to_owned());
    }
    let left = find_left(&settings.state_dir)?;
    for left in &left {
        let kernels = count(left.kernels, "kernel");
        let (url, next) = (&left.url, "inkcell gateway gc");
        lines.push(words::gateway::left_behind(url, &kernels, next));
    }
    let left: Vec<Value> = left.iter().map(to_json).collect();
    let unfinished = unfinished(&settings.state_dir);
    for run in &unfinished {
        let (path, url, file) = (&run.path, &run.url, run.file.display());
        lines.push(words::gateway::not_delivered(url, path, &file));
    }
    let unfinished: Vec<Value> = unfinished
        .iter()
        .map(|run| json!({"url": run.url, "path": run.path, "file": text(&run.file)}))
        .collect();
    Ok((
        lines,
        json!({
            "external": external,
            "shared": shared,
            "left_behind": left,
            "not_put_back": unfinished,
        }),
    ))
}

/// Removes leftover kernels from every gateway that can be reached with the known addresses and tokens.
async fn remove(settings: &Settings) -> Result<TextAndJson, Failure> {
    let chosen = match chosen(settings)? {
        GatewayChoice::External(config) => Some(config),
        GatewayChoice::Local(_) => None,
    };
    let tokens: HashMap<_, _> = SharedGateway::living(&settings.state_dir).into_iter().collect();
    let (mut lines, mut told) = (Vec::new(), Vec::new());
    for left in find_left(&settings.state_dir)? {
        let config = match (left.whose, &chosen) {
            (Whose::Shared, _) => of_this_machine(&left, &tokens, settings),
            (Whose::External, Some(config)) if config.url.to_string() == left.url => {
                Some((**config).clone())
            }
            // This holds for a local address, too: it can be a tunnel to another machine.
            (Whose::External, _) => None,
        };
        let (url, kernels) = (&left.url, count(left.kernels, "kernel"));
        let done = match config {
            Some(config) => {
                let removed = GatewayBackend::new(config).remove_leftovers().await;
                removed.map_err(|problem| problem.to_string())
            }
            None => Err(words::gateway::set_url(url)),
        };
        match done {
            Ok(removed) => {
                lines.push(format!("{url}: {} removed", count(removed, "kernel")));
                told.push(json!({"url": url, "removed": removed}));
            }
            Err(problem) => {
                lines.push(format!("{url}: {kernels} stay: {problem}"));
                told.push(json!({"url": url, "removed": 0, "problem": problem}));
            }
        }
    }
    if lines.is_empty() {
        lines.push(words::gateway::NOTHING_LEFT.to_owned());
    }
    Ok((lines, json!({"gateways": told})))
}

/// The address of a formerly shared gateway of this machine. A gateway that is gone took its kernels along.
fn of_this_machine(
    left: &LeftBehind,
    tokens: &HashMap<GatewayUrl, Token>,
    settings: &Settings,
) -> Option<GatewayConfig> {
    let (url, _) = GatewayUrl::parse(&left.url, PlainHttp::OnlyHere).ok()?;
    let token = tokens.get(&url).cloned();
    let runtime_dir = RuntimeFolder::of(settings).find();
    Some(GatewayConfig::shared(url, token, settings.state_dir.clone(), runtime_dir))
}

fn chosen(settings: &Settings) -> Result<GatewayChoice, EngineError> {
    choice(settings, Profile::CommandLine)(&RuntimeFolder::of(settings))
}

fn find_left(state_dir: &Path) -> Result<Vec<LeftBehind>, Failure> {
    left_behind(state_dir).map_err(|error| Failure::Io(words::failure::READ_KERNELS, error))
}

fn failed(problem: GatewayError) -> Failure {
    EngineError::from(LaunchError::from(problem)).into()
}

fn line(status: &SharedStatus) -> String {
    let url = status.url.as_deref().unwrap_or("-");
    let pid = status.pid.map(|pid| format!("process {pid}")).unwrap_or_default();
    let seconds = status.uptime.unwrap_or(0) / 1000;
    let python = status.python_path.as_deref().unwrap_or("-");
    format!(
        "{url}: {pid}, {python}, for {}",
        count(usize::try_from(seconds).unwrap_or(0), "second")
    )
}

fn to_json(left: &LeftBehind) -> Value {
    json!({"url": left.url, "kernels": left.kernels})
}
