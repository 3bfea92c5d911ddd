//! The rows of the table, in the order of their keys.
//!
//! Owns the names, defaults and descriptions. `table` explains the parts of a row.

use super::{Key, Kind, Override, Profile, ProjectFile, Row};

/// A setting that a project's file may set.
const fn row(
    key: Key,
    name: &'static str,
    kind: Kind,
    default: &'static str,
    about: &'static str,
) -> Row {
    Row {
        key,
        name,
        kind,
        default,
        defaults_elsewhere: &[],
        more_variables: &[],
        overridden_by: None,
        project_file: ProjectFile::May,
        about,
    }
}

impl Row {
    const fn for_user_alone(self) -> Row {
        Row { project_file: ProjectFile::MayNot, ..self }
    }

    const fn with_notice(self) -> Row {
        Row { project_file: ProjectFile::InsideAndTold, ..self }
    }

    const fn also_set_by(self, more_variables: &'static [&'static str]) -> Row {
        Row { more_variables, ..self }
    }

    const fn elsewhere(self, defaults_elsewhere: &'static [(Profile, &'static str)]) -> Row {
        Row { defaults_elsewhere, ..self }
    }

    const fn overridden_by(self, by: &'static Override) -> Row {
        Row { overridden_by: Some(by), ..self }
    }
}

static PY: Override = Override {
    variable: "PY",
    words: &[
        ("0", "bash-only"),
        ("bash", "bash-only"),
        ("1", "ipy-only"),
        ("py", "ipy-only"),
        ("mix", "both"),
        ("both", "both"),
    ],
};

pub(crate) static TABLE: [Row; 52] = [
    row(
        Key::PythonInterpreter,
        "python.interpreter",
        Kind::Text("the path of an interpreter or of an environment, or a name on PATH"),
        "",
        "Python interpreter that runs code. If unset: VIRTUAL_ENV, CONDA_PREFIX, .venv and venv \
         in the working folder, the managed environment, then python and python3 on PATH.",
    )
    .with_notice(),
    row(
        Key::PythonShell,
        "python.shell",
        Kind::Choice(&["lite", "ipython"]),
        "lite",
        "Shell that interprets cells: inkcell's own, which needs no packages, or the IPython \
         installed in the interpreter.",
    ),
    row(
        Key::PythonPrelude,
        "python.prelude",
        Kind::Choice(&["full", "minimal", "off"]),
        "full",
        "Helper functions that a kernel starts with: all, only those for the shell and for \
         displays, or none. A notebook's kernel starts with none, as in Jupyter.",
    ),
    row(
        Key::PythonPreload,
        "python.preload",
        Kind::List("names of modules"),
        "",
        "Modules that a fork server imports ahead, so that kernels copied from it have them at \
         once.",
    )
    .with_notice(),
    row(
        Key::PythonProjectModules,
        "python.project_modules",
        Kind::Switch,
        "on",
        "Load the Python files in .inkcell/modules, .omp/modules and .pi/modules of the working \
         folder into each kernel.",
    ),
    row(
        Key::PythonStartTimeout,
        "python.start_timeout",
        Kind::Seconds,
        "30",
        "Time a kernel may take to start.",
    ),
    row(
        Key::PythonTimeout,
        "python.timeout",
        Kind::SecondsOr("off"),
        "30",
        "Time the code of a call may run before inkcell interrupts it, unless the call sets its \
         own limit.",
    )
    .elsewhere(&[(Profile::CommandLine, "off")]),
    row(
        Key::PythonToolMode,
        "python.toolMode",
        Kind::Choice(&["ipy-only", "bash-only", "both"]),
        "both",
        "Tools offered to an agent: those that run Python, those that do not, or all. PI_PY takes \
         precedence: 0 or bash, 1 or py, mix or both; other values are ignored.",
    )
    .overridden_by(&PY),
    row(
        Key::PythonKernelMode,
        "python.kernelMode",
        Kind::Choice(&["session", "per-call"]),
        "session",
        "Keep a kernel's variables between calls, or end the kernel with its call.",
    ),
    row(
        Key::PythonBackend,
        "python.backend",
        Kind::Choice(&["runner", "gateway", "zmq"]),
        "runner",
        "Backend that starts kernels: inkcell's own runner, which only needs Python, a Jupyter \
         gateway, or a Jupyter kernel on this machine. If unset, an address in gateway.url means \
         gateway.",
    ),
    row(
        Key::PythonSharedGateway,
        "python.sharedGateway",
        Kind::Switch,
        "on",
        "Share the gateway that inkcell starts among all sessions that need one.",
    ),
    row(
        Key::PythonSkipCheck,
        "python.skip_check",
        Kind::Switch,
        "off",
        "Offer tools that run Python without checking first that Python works.",
    ),
    row(
        Key::PythonIpcTrace,
        "python.ipc_trace",
        Kind::Switch,
        "off",
        "Log the type, ID and channel of every message to and from a kernel, at any log.level. \
         The content of messages is never logged.",
    ),
    row(
        Key::GatewayUrl,
        "gateway.url",
        Kind::Url,
        "",
        "Address of a running Jupyter gateway or server, as copied from a browser. inkcell uses a \
         token in the address and never shows it. If unset, inkcell starts a gateway when it \
         needs one.",
    )
    .also_set_by(&["PYTHON_GATEWAY_URL"])
    .for_user_alone(),
    row(
        Key::GatewayToken,
        "gateway.token",
        Kind::Secret("the token of that gateway"),
        "",
        "Token for the gateway at gateway.url. inkcell never shows it and never passes it to code.",
    )
    .also_set_by(&["PYTHON_GATEWAY_TOKEN"])
    .for_user_alone(),
    row(
        Key::GatewayTokenFile,
        "gateway.token_file",
        Kind::Text("the path of a file"),
        "",
        "File whose first line is the token, used if gateway.token is not set.",
    )
    .for_user_alone(),
    row(
        Key::GatewayInsecure,
        "gateway.insecure",
        Kind::Switch,
        "off",
        "Allow http:// to a gateway on another machine. Not encrypted: anyone on the network path \
         can read the token and run code.",
    )
    .for_user_alone(),
    row(
        Key::GatewayAuthorities,
        "gateway.authorities",
        Kind::Text("the path of a PEM file"),
        "",
        "Extra certificates to trust, besides the system's, for a gateway over https://.",
    )
    .for_user_alone(),
    row(
        Key::GatewayStartTimeout,
        "gateway.start_timeout",
        Kind::Seconds,
        "",
        "Time a kernel on the gateway at gateway.url may take to start, if longer than \
         python.start_timeout. A cluster may first have to find room for it.",
    )
    .for_user_alone(),
    row(
        Key::GatewayIdleStop,
        "gateway.idle_stop",
        Kind::SecondsOr("never"),
        "never",
        "Time without a kernel after which a gateway started by inkcell ends.",
    )
    .for_user_alone(),
    row(
        Key::HostUse,
        "host.use",
        Kind::Choice(&["auto", "on", "off"]),
        "auto",
        "Run code in the background host, so that sessions outlive commands: always, never, or \
         unless the variable CI is set.",
    )
    .for_user_alone(),
    row(
        Key::HostIdle,
        "host.idle",
        Kind::SecondsOr("never"),
        "600",
        "Time without sessions and clients after which the shared background host ends.",
    )
    .for_user_alone(),
    row(
        Key::HttpToken,
        "http.token",
        Kind::Secret("a token of at least 32 characters"),
        "",
        "Token that clients of inkcell mcp --http must send. If unset, and without --token-file, \
         each start creates one. inkcell never passes it to code.",
    )
    .for_user_alone(),
    row(
        Key::KernelZygote,
        "kernel.zygote",
        Kind::Switch,
        "on",
        "Copy kernels from a fork server where possible. A command that runs once starts its own \
         kernel.",
    ),
    row(
        Key::KernelPool,
        "kernel.pool",
        Kind::CountOr("none"),
        "none",
        "Number of Jupyter kernels kept ready for the next session of the same kind. A command \
         that runs once keeps none.",
    ),
    row(
        Key::KernelInterruptGrace,
        "kernel.interrupt_grace",
        Kind::Seconds,
        "3",
        "Time code may take to react to an interrupt before inkcell ends its kernel.",
    ),
    row(
        Key::KernelRetry,
        "kernel.retry",
        Kind::Choice(&["once", "if-not-started", "never"]),
        "if-not-started",
        "Run code again after its kernel died: once, only if it had not begun, or never. The \
         answer says if code ran again.",
    ),
    row(
        Key::KernelMaxSessions,
        "kernel.max_sessions",
        Kind::Count,
        "8",
        "Number of sessions that may exist at once. To start one more, inkcell closes the session \
         that has been idle longest, and says so. It never closes a busy or attached session. \
         Kernels of a batch do not count; -j sets their number.",
    )
    .elsewhere(&[(Profile::Compat, "4")]),
    row(
        Key::KernelIdle,
        "kernel.idle",
        Kind::SecondsOr("never"),
        "7200",
        "Time after which an idle session is closed. With the default tools, a session whose \
         client is still connected stays open.",
    )
    .elsewhere(&[(Profile::Compat, "300")]),
    row(
        Key::EnvMode,
        "env.mode",
        Kind::Choice(&["filtered", "inherit"]),
        "filtered",
        "Environment variables passed to code: those the filter allows, or all of them, as for \
         any command in a shell. inkcell's own secrets are never passed.",
    )
    .elsewhere(&[(Profile::CommandLine, "inherit")])
    .for_user_alone(),
    row(
        Key::EnvPass,
        "env.pass",
        Kind::Patterns,
        "",
        "Variables that the filter allows: NAME, NAME=VALUE, or a glob such as AWS_*.",
    )
    .for_user_alone(),
    row(
        Key::OutputBytes,
        "output.bytes",
        Kind::Bytes,
        "51200",
        "Text of one cell shown in an answer. The artifact that the answer names has all of it.",
    ),
    row(
        Key::OutputLines,
        "output.lines",
        Kind::Count,
        "3000",
        "Lines of a text shown in an answer, where texts are cut by lines.",
    ),
    row(
        Key::OutputCallBytes,
        "output.call_bytes",
        Kind::Bytes,
        "24576",
        "Text of all cells of a call shown in one answer.",
    )
    .elsewhere(&[(Profile::Compat, "102400"), (Profile::CommandLine, "204800")]),
    row(
        Key::OutputCutBytes,
        "output.cut_bytes",
        Kind::BytesOr("off"),
        "8192",
        "Part of an output shown when the whole does not fit: its beginning and its end. off: as \
         much as fits.",
    )
    .elsewhere(&[(Profile::Compat, "off"), (Profile::CommandLine, "off")]),
    row(
        Key::OutputLineBytes,
        "output.line_bytes",
        Kind::BytesOr("off"),
        "off",
        "Part of one line shown in an answer.",
    ),
    row(
        Key::OutputImages,
        "output.images",
        Kind::Choice(&["inline", "path", "off"]),
        "inline",
        "Form of pictures in answers: the picture, the path of a file, or none. Each picture has \
         a line of text in any case.",
    ),
    row(
        Key::OutputImageBytes,
        "output.image_bytes",
        Kind::Bytes,
        "262144",
        "Largest picture in an answer; larger ones are scaled down and compressed. The original \
         is stored.",
    ),
    row(
        Key::OutputNotebookBytes,
        "output.notebook_bytes",
        Kind::BytesOr("off"),
        "off",
        "Largest output written into a notebook. Of a longer stream, inkcell writes the beginning \
         and the end; of a larger display, its smaller forms.",
    ),
    row(
        Key::ArtifactsSessionBytes,
        "artifacts.session_bytes",
        Kind::Bytes,
        "2147483648",
        "Stored output kept for one session.",
    ),
    row(
        Key::ArtifactsTotalBytes,
        "artifacts.total_bytes",
        Kind::Bytes,
        "10737418240",
        "Stored output kept for all sessions.",
    )
    .for_user_alone(),
    row(
        Key::ArtifactsKeep,
        "artifacts.keep",
        Kind::Seconds,
        "1209600",
        "Time for which stored output is kept.",
    )
    .for_user_alone(),
    row(
        Key::ResultsKeep,
        "results.keep",
        Kind::Seconds,
        "3600",
        "Time for which you can fetch the result of a finished call by its ID. Oldest results go \
         sooner if all of them take more than 16 MiB.",
    ),
    row(
        Key::StateDir,
        "state.dir",
        Kind::Text("the path of a folder"),
        "",
        "Folder for locks, versions, stored output, the managed environment and all else that \
         outlives a command. If unset: $XDG_STATE_HOME/inkcell, else ~/.local/state/inkcell, else \
         a private temporary folder.",
    )
    .for_user_alone(),
    row(
        Key::NotebookMaxBytes,
        "notebook.max_bytes",
        Kind::Bytes,
        "2147483648",
        "Largest notebook that inkcell reads.",
    ),
    row(
        Key::NotebookTextIds,
        "notebook.text_ids",
        Kind::Choice(&["auto", "off"]),
        "auto",
        "Show cell IDs in the markers of a notebook's text where possible.",
    )
    .also_set_by(&["TEXT_IDS"]),
    row(
        Key::NotebookRoots,
        "notebook.roots",
        Kind::List("paths of folders"),
        "",
        "Folders outside which inkcell refuses notebooks; --root takes precedence. If unset: no \
         limit.",
    )
    .for_user_alone(),
    row(
        Key::ScreenGround,
        "screen.ground",
        Kind::Choice(&["auto", "dark", "light", "off"]),
        "auto",
        "The background of code in the notebook view. auto: light if COLORFGBG names a light terminal, else dark, \
         and none with 16 colors.",
    ),
    row(
        Key::ScreenGlyphs,
        "screen.glyphs",
        Kind::Choice(&["auto", "quadrants", "sextants", "octants"]),
        "auto",
        "The characters that draw pictures in a terminal without a picture protocol, from coarse to fine. auto: \
         sextants or octants only in terminals known to draw them.",
    ),
    row(
        Key::LogLevel,
        "log.level",
        Kind::Choice(&["off", "error", "warn", "info", "debug", "trace"]),
        "warn",
        "Detail of the log: dead kernels and failures of inkcell; with info also clients, calls \
         by name, and kernels that start and end. Arguments, code and output are never logged.",
    )
    .elsewhere(&[(Profile::CommandLine, "off")])
    .also_set_by(&["LOG"])
    .for_user_alone(),
    row(
        Key::LogFile,
        "log.file",
        Kind::Text("the path of a file"),
        "",
        "File for the log; if unset, standard error. inkcell appends to it, creates it readable \
         by its owner only, and never truncates it.",
    )
    .for_user_alone(),
    row(
        Key::DebugStartup,
        "debug.startup",
        Kind::Switch,
        "off",
        "Print the stages of starting to standard error, one a line.",
    ),
];
