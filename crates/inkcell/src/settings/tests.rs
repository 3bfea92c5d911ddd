//! The precedence of sources, for every setting; and the configurations made from settings.

use std::time::Duration;

use inkcell_engine::api::KernelMode;
use inkcell_engine::artifact::ArtifactLimits;
use inkcell_engine::kernel::{
    BackendKind, EnvMode, ForkServer, PlainHttp, Prelude, Sharing, Shell,
};
use inkcell_engine::output::{OutputLimits, Repeats, SizePolicy};
use inkcell_engine::registry::IdleRule;
use inkcell_engine::session::Retry;
use inkcell_engine::{Check, ProjectKernels};

use super::calls::{Images, TraceSwitch};
use super::engine::size_policy;
use super::value::Kind;
use super::*;

const PROJECT: &str = "/p/.inkcell/config.toml";
const USER: &str = "/u/config.toml";

/// The settings of a process with these variables and these two files.
fn settings(variables: &[(&str, &str)], project: &str, user: &str) -> Settings {
    let read = |path: &str, text: &str, owner| {
        let said = file::parse(Path::new(path), text, owner).map_err(|error| error.problem);
        (PathBuf::from(path), said.unwrap())
    };
    let files = [read(PROJECT, project, Owner::Project), read(USER, user, Owner::User)];
    let variable = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let resolved = ResolvedSettings::new(&variable, &files).unwrap();
    let config = FilesConfig {
        state_dir: PathBuf::from("/s"),
        max_bytes: 1,
        roots: Roots::Anywhere,
        path_base: PathBase { cwd: PathBuf::from("/p"), home: None },
        lock_wait: LOCK_WAIT,
        random: system_random,
    };
    Settings {
        notebooks: Notebooks::new(config),
        marker_ids: MarkerIds::Auto,
        surroundings: Surroundings::of_process(&[], None),
        cwd: PathBuf::from("/p"),
        home: Some(PathBuf::from("/h")),
        state_dir: PathBuf::from("/s"),
        resolved,
        files: Vec::new(),
        warnings: files.into_iter().flat_map(|(_, said)| said.warnings).collect(),
    }
}

fn with(variables: &[(&str, &str)]) -> Settings {
    settings(variables, "", "")
}

/// Three different values of a kind, each as a variable and as a file spells it.
fn samples(kind: Kind) -> [(String, String); 3] {
    let same = |word: &str| (word.to_owned(), word.to_owned());
    let quoted = |word: &str| (word.to_owned(), format!("'{word}'"));
    match kind {
        Kind::Choice([first, second, .., last]) => [first, second, last].map(|word| quoted(word)),
        Kind::Choice([first, .., last]) => [first, last, first].map(|word| quoted(word)),
        Kind::Choice(_) => unreachable!(),
        Kind::Switch => {
            let pair = |word: &str, toml: &str| (word.to_owned(), toml.to_owned());
            [pair("1", "true"), pair("off", "false"), pair("on", "true")]
        }
        Kind::Seconds | Kind::SecondsOr(_) => ["0.25", "17", "86400"].map(same),
        Kind::Bytes | Kind::BytesOr(_) | Kind::Count | Kind::CountOr(_) => {
            ["11", "22", "33"].map(same)
        }
        Kind::Url => ["http://a", "https://b", "http://c:1/x"].map(quoted),
        Kind::Text(_) | Kind::Secret(_) => ["/one", "/two", "/three"].map(quoted),
        Kind::List(_) | Kind::Patterns => {
            ["A", "B", "C"].map(|word| (format!("{word},X"), format!("['{word}', 'X']")))
        }
    }
}

/// B:C-08: for every setting, and each of its variables, in its order.
#[test]
fn every_setting_is_taken_from_the_first_that_has_it() {
    for row in &table::TABLE {
        let [(_, user), (_, project), (variable, _)] = samples(row.kind);
        let value = |text: &str| row.kind.read(text).unwrap();
        let [user_value, project_value, variable_value] =
            samples(row.kind).map(|(text, _)| value(&text));
        let user = format!("{} = {user}", row.name);
        let project = format!("{} = {project}", row.name);
        let found = |variables: &[(&str, &str)], project: &str, user: &str| {
            let settings = settings(variables, project, user);
            let Setting { value, source } = settings.resolved.get(row.key).clone();
            (value, source, settings.warnings)
        };
        let none = Vec::<String>::new();

        let default = row.default_in(Profile::CommandLine);
        assert_eq!(found(&[], "", ""), (default, Source::Default, none.clone()), "{}", row.name);
        let from_user = (user_value, Source::UserFile(USER.into()), none.clone());
        assert_eq!(found(&[], "", &user), from_user, "{}", row.name);
        let over_user = found(&[], &project, &user);
        if row.project_file == ProjectFile::MayNot {
            let warning = format!(
                "{PROJECT}:1: {} cannot be set in a project's file; set it in your own settings",
                row.name
            );
            assert_eq!(over_user, (from_user.0, from_user.1, vec![warning]), "{}", row.name);
        } else {
            let from_project = (project_value, Source::ProjectFile(PROJECT.into()), none);
            assert_eq!(over_user, from_project, "{}", row.name);
        }
        // Each variable takes precedence over the files and over the variables after it, whatever these say.
        let variables = row.variables();
        for (at, name) in variables.iter().enumerate() {
            let mut set = vec![(name.as_str(), variable.as_str())];
            set.extend(variables[at + 1..].iter().map(|later| (later.as_str(), "\u{1}?")));
            let (value, source, _) = found(&set, &project, &user);
            let wanted = (variable_value.clone(), Source::Variable(name.clone()));
            assert_eq!((value, source), wanted, "{name}");
        }
    }
}

/// B:C-02: `PI_PY` takes precedence over the setting from any source, and is named as the origin.
#[test]
fn the_short_variable_overrides() {
    let file = "python.toolMode = 'both'";
    let found = |variables: &[(&str, &str)]| {
        let settings = settings(variables, file, "");
        let source = settings.resolved.get(Key::PythonToolMode).source.to_string();
        (settings.tool_mode(Profile::Default), source)
    };
    let own = ("INKCELL_PYTHON_TOOL_MODE", "ipy-only");
    assert_eq!(found(&[]), (ToolMode::Both, PROJECT.to_owned()));
    assert_eq!(found(&[own]), (ToolMode::IpyOnly, own.0.to_owned()));
    assert_eq!(found(&[own, ("PI_PY", "0")]), (ToolMode::BashOnly, "PI_PY".to_owned()));
    assert_eq!(found(&[own, ("PI_PY", "maybe")]), (ToolMode::IpyOnly, own.0.to_owned()));
    let both = [("PI_PY", "0"), ("INKCELL_PY", "mix")];
    assert_eq!(found(&both), (ToolMode::Both, "INKCELL_PY".to_owned()));
}

/// B:C-08: a project's choice of interpreter counts inside the project, and is reported there.
#[test]
fn what_a_project_decides_counts_inside_and_is_told() {
    let text = "[python]\ninterpreter = './py'\npreload = ['numpy', 'pandas']\nshell = 'ipython'";
    let user = "python.interpreter = '/mine'";
    let [inside, deeper, outside, beside] = ["/p", "/p/a/b", "/q", "/pp"].map(Path::new);
    let set = settings(&[], text, user);
    for folder in [inside, deeper] {
        let wanted = [
            format!("python.interpreter is ./py, set by {PROJECT}"),
            format!("python.preload is numpy, pandas, set by {PROJECT}"),
        ];
        assert_eq!(set.decided_by_project(folder), wanted);
    }
    for folder in [outside, beside] {
        assert_eq!(set.decided_by_project(folder), [""; 0]);
    }
    // The kernels get both, and the folder to which the project's values apply.
    let kernels = |set: &Settings| engine_config(set, Profile::Default).kernels;
    let project = ProjectKernels {
        folder: inside.to_owned(),
        interpreter: Some("/p/./py".to_owned()),
        preload: Some(vec!["numpy".to_owned(), "pandas".to_owned()]),
    };
    assert_eq!(kernels(&set).project, Some(project));
    assert_eq!(kernels(&set).interpreter.as_deref(), Some("/mine"));
    assert_eq!(kernels(&set).preload, [""; 0]);
    // The user knows the user's own file, and it counts everywhere.
    let own = settings(&[], "", text);
    assert_eq!(own.decided_by_project(inside), [""; 0]);
    assert_eq!(kernels(&own).preload, ["numpy", "pandas"]);
    let over = settings(&[("PI_PYTHON_INTERPRETER", "/x"), ("PI_PYTHON_PRELOAD", "re")], text, "");
    assert_eq!(over.decided_by_project(inside), [""; 0]);
    assert_eq!(kernels(&over).interpreter.as_deref(), Some("/x"));
}

/// B:K-05 B:K-06 B:O-05 B:X-02: the defaults, for each profile.
#[test]
fn defaults_are_those_of_the_profile() {
    let settings = with(&[]);
    let hours = Duration::from_secs(2 * 3600);
    let table = [
        (Profile::CommandLine, 8, IdleRule::WithoutOwner(hours), EnvMode::Inherit, None),
        (Profile::Default, 8, IdleRule::WithoutOwner(hours), EnvMode::Filtered, Some(30)),
        (
            Profile::Compat,
            4,
            IdleRule::Always(Duration::from_secs(300)),
            EnvMode::Filtered,
            Some(30),
        ),
    ];
    for (profile, sessions, idle, env_mode, timeout) in table {
        let config = engine_config(&settings, profile);
        assert_eq!((config.limits.sessions, config.limits.idle), (sessions, idle), "{profile:?}");
        assert_eq!(config.limits.sweep, Duration::from_secs(30));
        assert_eq!(config.kernels.env_rules.mode, env_mode, "{profile:?}");
        assert_eq!(config.policy.retry, Retry::IfNotStarted);
        assert_eq!(config.policy.interrupt_grace, Duration::from_secs(3));
        let calls = settings.calls(profile);
        assert_eq!(calls.timeout, timeout.map(Duration::from_secs), "{profile:?}");
        assert_eq!((calls.text.max_bytes, calls.text.max_lines), (51_200, 3000));
        assert_eq!((calls.kernel_mode, calls.images), (KernelMode::Session, Images::Inline));
        let kept = match profile {
            Profile::Compat => (51_200, 51_200, 0, Repeats::Keep),
            Profile::CommandLine => (51_200, 51_200, 10_240, Repeats::Count),
            Profile::Default => (51_200, 8192, 1638, Repeats::Count),
        };
        let output = config.output;
        let limits = (output.max_bytes, output.cut_bytes, output.head_bytes, output.repeats);
        assert_eq!(limits, kept, "{profile:?}");
        assert_eq!((output.line_bytes, output.artifact), (None, None));
        let fork_server = match profile {
            Profile::CommandLine => ForkServer::Off,
            _ => ForkServer::USUAL,
        };
        assert_eq!(runner_config(&settings, profile).fork_server, fork_server);
        assert_eq!(settings.check(profile), Check::Look);
        assert_eq!(settings.backend(profile), BackendKind::Runner);
    }
    // The numbers of the table equal those of the parts that use them.
    let (config, own) =
        (engine_config(&settings, Profile::CommandLine), OutputLimits::head_and_tail());
    assert_eq!(config.output, own);
    assert_eq!(config.artifacts.limits, ArtifactLimits::STANDARD);
    assert_eq!(size_policy(&settings), SizePolicy::Whole);
}

/// Every setting reaches the code that it is for.
#[test]
fn what_is_set_reaches_the_engine() {
    let user = "
        [python]
        interpreter = '/py'
        shell = 'ipython'
        prelude = 'minimal'
        preload = ['numpy']
        project_modules = false
        start_timeout = 7
        timeout = 0
        kernelMode = 'per-call'
        [kernel]
        retry = 'once'
        max_sessions = 3
        idle = 60
        interrupt_grace = 1.5
        zygote = false
        [env]
        mode = 'inherit'
        pass = ['A', 'B_*']
        [output]
        bytes = 1000
        lines = 20
        call_bytes = 4000
        cut_bytes = 300
        line_bytes = 100
        images = 'path'
        image_bytes = 5000
        notebook_bytes = 6000
        [artifacts]
        session_bytes = 1
        total_bytes = 2
        keep = 3
        [results]
        keep = 4";
    let settings = settings(&[], "", user);
    for profile in [Profile::Default, Profile::Compat] {
        let config = engine_config(&settings, profile);
        let kernels = &config.kernels;
        assert_eq!(kernels.interpreter.as_deref(), Some("/py"));
        assert_eq!((kernels.shell, kernels.prelude), (Shell::IPython, Prelude::Minimal));
        assert_eq!(kernels.preload, ["numpy"]);
        assert_eq!(kernels.project_modules, ProjectModules::Off);
        assert_eq!(kernels.start_timeout, Duration::from_secs(7));
        assert_eq!(kernels.state_dir, Path::new("/s"));
        assert_eq!(kernels.home.as_deref(), Some(Path::new("/h")));
        assert_eq!(kernels.env_rules.mode, EnvMode::Inherit);
        assert_eq!(kernels.env_rules.pass.len(), 2);
        assert_eq!(config.policy.retry, Retry::Once);
        assert_eq!(config.policy.interrupt_grace, Duration::from_millis(1500));
        assert_eq!(config.limits.sessions, 3);
        let minute = Duration::from_secs(60);
        let idle = match profile {
            Profile::Compat => IdleRule::Always(minute),
            _ => IdleRule::WithoutOwner(minute),
        };
        assert_eq!(config.limits.idle, idle);
        let output = config.output;
        let limits = (output.max_bytes, output.cut_bytes, output.display_bytes);
        assert_eq!(limits, (1000, 300, 1000));
        assert_eq!((output.line_bytes, output.rich.images.max_bytes), (Some(100), 5000));
        assert_eq!((config.call_bytes, config.keep_results), (3280, Duration::from_secs(4)));
        let stored = config.artifacts.limits;
        assert_eq!((stored.session_bytes, stored.total_bytes), (1, 2));
        assert_eq!(stored.max_age, Duration::from_secs(3));
        let calls = settings.calls(profile);
        assert_eq!((calls.timeout, calls.kernel_mode), (None, KernelMode::PerCall));
        assert_eq!((calls.images, calls.text.max_lines), (Images::Path, 20));
        assert_eq!(runner_config(&settings, profile).fork_server, ForkServer::Off);
    }
    assert_eq!(size_policy(&settings), SizePolicy::Limit { max_bytes: 6000 });
    let never = with(&[("INKCELL_KERNEL_IDLE", "never"), ("INKCELL_KERNEL_RETRY", "never")]);
    let config = engine_config(&never, Profile::Compat);
    assert_eq!((config.limits.idle, config.policy.retry), (IdleRule::Never, Retry::Never));
}

/// B:K-06: idle kernels are looked for every 30 s, and more often if their limit is shorter.
#[test]
fn a_short_idle_limit_is_looked_at_in_time() {
    for (idle, seconds) in [("never", 30), ("3600", 30), ("2", 2), ("0.1", 1)] {
        let config = engine_config(&with(&[("INKCELL_KERNEL_IDLE", idle)]), Profile::Default);
        assert_eq!(config.limits.sweep, Duration::from_secs(seconds), "{idle}");
    }
}

/// B:C-06 B:C-07 B:G-01: an address means a gateway unless another backend is set.
#[test]
fn an_address_means_a_gateway() {
    let url = ("PI_PYTHON_GATEWAY_URL", "http://127.0.0.1:8888/");
    let table = [
        (vec![], BackendKind::Runner),
        (vec![url], BackendKind::Gateway),
        (vec![url, ("INKCELL_PYTHON_BACKEND", "runner")], BackendKind::Runner),
        (vec![url, ("PI_PYTHON_BACKEND", "zmq")], BackendKind::Zmq),
        (vec![url, ("PI_PYTHON_BACKEND", "gateway")], BackendKind::Gateway),
        (vec![("PI_PYTHON_BACKEND", "gateway")], BackendKind::Gateway),
    ];
    for (variables, wanted) in table {
        assert_eq!(with(&variables).backend(Profile::Default), wanted, "{variables:?}");
    }
    let found = with(&[url, ("PI_PYTHON_GATEWAY_TOKEN", "hunter2")]).gateway(Profile::Default);
    assert_eq!(
        found.url.as_ref().map(ToString::to_string).as_deref(),
        Some("http://127.0.0.1:8888")
    );
    assert_eq!(found.token.as_ref().map(|token| token.reveal()), Some("hunter2"));
    assert_eq!((found.plain_http, found.sharing), (PlainHttp::OnlyHere, Sharing::Allowed));
    assert_eq!((found.start_limit, found.idle_stop, found.token_file.as_ref()), (None, None, None));
    assert!(!format!("{found:?}").contains("hunter2"));
    let other = with(&[
        ("PI_PYTHON_SHARED_GATEWAY", "0"),
        ("INKCELL_GATEWAY_INSECURE", "1"),
        ("INKCELL_GATEWAY_START_TIMEOUT", "300"),
        ("INKCELL_GATEWAY_IDLE_STOP", "60"),
        ("INKCELL_GATEWAY_TOKEN_FILE", "/run/token"),
        ("INKCELL_GATEWAY_AUTHORITIES", "~/ca.pem"),
    ]);
    let other = other.gateway(Profile::Default);
    assert_eq!((other.plain_http, other.sharing), (PlainHttp::Anywhere, Sharing::Refused));
    assert_eq!(other.start_limit, Some(Duration::from_secs(300)));
    assert_eq!(other.idle_stop, Some(Duration::from_secs(60)));
    assert_eq!(other.token_file, Some(PathBuf::from("/run/token")));
    assert_eq!(other.authorities, Some(PathBuf::from("/h/ca.pem")));
}

/// B:C-05
#[test]
fn switches_of_the_source_documents_switch() {
    let off = with(&[]).log(Profile::Default);
    assert_eq!((off.level, off.file), ("warn", None));
    assert_eq!((off.messages, off.startup), (TraceSwitch::No, TraceSwitch::No));
    let on = with(&[
        ("PI_PYTHON_SKIP_CHECK", "1"),
        ("PI_PYTHON_IPC_TRACE", "1"),
        ("PI_DEBUG_STARTUP", "1"),
        ("INKCELL_LOG", "debug"),
        ("INKCELL_LOG_FILE", "~/log"),
    ]);
    assert_eq!(on.check(Profile::Compat), Check::Skip);
    let log = on.log(Profile::Compat);
    assert_eq!((log.level, log.file), ("debug", Some(PathBuf::from("/h/log"))));
    assert_eq!((log.messages, log.startup), (TraceSwitch::Yes, TraceSwitch::Yes));
}

#[test]
fn roots_are_those_of_the_command_or_of_the_settings() {
    let roots = |told: &[&str], set: &str| {
        let told: Vec<PathBuf> = told.iter().map(PathBuf::from).collect();
        let settings = with(&[("INKCELL_NOTEBOOK_ROOTS", set)]);
        match roots_of(&told, &settings.resolved, Path::new("/p"), Some(Path::new("/h"))) {
            Roots::Anywhere | Roots::Narrowed(..) => Vec::new(),
            Roots::Only(folders) => folders,
        }
    };
    assert_eq!(roots(&[], ""), [""; 0].map(PathBuf::from));
    assert_eq!(roots(&[], "nb, ~/x,/y"), ["/p/nb", "/h/x", "/y"].map(PathBuf::from));
    assert_eq!(roots(&["z"], "nb"), ["/p/z"].map(PathBuf::from));
}

/// Issue 21, 26: the default state folder is closed to others if it holds only files of its user. Otherwise it stays
/// open, and the code that needs it refuses it.
#[test]
fn a_state_folder_that_others_have_used_is_not_trusted() {
    let temp = tempfile::tempdir().unwrap();
    let (dir, inner) = (temp.path().join("inkcell"), temp.path().join("inkcell/modules"));
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::write(inner.join("a.py"), "").unwrap();
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    set(&inner, 0o755);
    set(&dir, 0o777);
    let user = rustix::process::geteuid().as_raw();
    assert!(!holds_only_files_of(user + 1, &dir), "files of another user");
    assert!(make_ours(&dir));
    assert_eq!(mode(&dir), 0o755);
    for open in [0o775, 0o757] {
        set(&inner, open);
        set(&dir, 0o777);
        assert!(make_ours(&dir));
        assert_eq!(mode(&dir), 0o777, "others may have put files into the folder below");
    }
}
