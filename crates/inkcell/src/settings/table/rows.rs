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

    const fn told(self) -> Row {
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

pub(crate) static TABLE: [Row; 50] = [
    row(
        Key::PythonInterpreter,
        "python.interpreter",
        Kind::Text("the path of an interpreter or of an environment, or a name on PATH"),
        "",
        "The Python that runs code. Without it: VIRTUAL_ENV, CONDA_PREFIX, .venv and venv of the working \
         folder, the managed environment, then python and python3 on PATH.",
    )
    .told(),
    row(
        Key::PythonShell,
        "python.shell",
        Kind::Choice(&["lite", "ipython"]),
        "lite",
        "Whose rules cells follow: inkcell's own shell, which needs nothing, or the interpreter's own \
         IPython.",
    ),
    row(
        Key::PythonPrelude,
        "python.prelude",
        Kind::Choice(&["full", "minimal", "off"]),
        "full",
        "Which helper functions a kernel starts with: all, those for the shell and for displays, or none. A notebook's \
         kernel starts with none, as in Jupyter.",
    ),
    row(
        Key::PythonPreload,
        "python.preload",
        Kind::List("names of modules"),
        "",
        "Modules a fork server imports ahead, so that kernels copied from it have them at once.",
    )
    .told(),
    row(
        Key::PythonProjectModules,
        "python.project_modules",
        Kind::Switch,
        "on",
        "Whether a kernel loads the Python files of .inkcell/modules, .omp/modules and .pi/modules in its \
         working folder.",
    ),
    row(
        Key::PythonStartTimeout,
        "python.start_timeout",
        Kind::Seconds,
        "30",
        "How long a kernel may take to be ready.",
    ),
    row(
        Key::PythonTimeout,
        "python.timeout",
        Kind::SecondsOr("off"),
        "30",
        "How long the code of a call may run when the call does not say; then it is interrupted.",
    )
    .elsewhere(&[(Profile::CommandLine, "off")]),
    row(
        Key::PythonToolMode,
        "python.toolMode",
        Kind::Choice(&["ipy-only", "bash-only", "both"]),
        "both",
        "Which tools an agent is offered: those that run Python, those that do not, or all. PI_PY counts over \
         it: 0 or bash, 1 or py, mix or both; other words are ignored.",
    )
    .overridden_by(&PY),
    row(
        Key::PythonKernelMode,
        "python.kernelMode",
        Kind::Choice(&["session", "per-call"]),
        "session",
        "Whether a kernel remembers what earlier calls did, or ends with its call.",
    ),
    row(
        Key::PythonBackend,
        "python.backend",
        Kind::Choice(&["runner", "gateway", "zmq"]),
        "runner",
        "What makes kernels: inkcell's own runner, which needs nothing but Python, a Jupyter gateway, or a \
         Jupyter kernel of this machine. An address in gateway.url means gateway when this is not set.",
    ),
    row(
        Key::PythonSharedGateway,
        "python.sharedGateway",
        Kind::Switch,
        "on",
        "Whether the gateway that inkcell starts is one for all that need one.",
    ),
    row(
        Key::PythonSkipCheck,
        "python.skip_check",
        Kind::Switch,
        "off",
        "Whether Python is taken to be there without a look when tools are offered.",
    ),
    row(
        Key::PythonIpcTrace,
        "python.ipc_trace",
        Kind::Switch,
        "off",
        "Whether the type, id and channel of every message to and from a kernel are logged, whatever \
         log.level says. What a message says is never logged.",
    ),
    row(
        Key::GatewayUrl,
        "gateway.url",
        Kind::Url,
        "",
        "A Jupyter gateway or server that is there already, as its address is pasted from a browser; a token in it is \
         taken, and not shown. Without it inkcell starts one when one is needed.",
    )
    .also_set_by(&["PYTHON_GATEWAY_URL"])
    .for_user_alone(),
    row(
        Key::GatewayToken,
        "gateway.token",
        Kind::Secret("the token of that gateway"),
        "",
        "What the gateway of gateway.url wants to be told. It is never shown, and code never gets it.",
    )
    .also_set_by(&["PYTHON_GATEWAY_TOKEN"])
    .for_user_alone(),
    row(
        Key::GatewayTokenFile,
        "gateway.token_file",
        Kind::Text("the path of a file"),
        "",
        "A file whose first line is that token, where gateway.token is not set.",
    )
    .for_user_alone(),
    row(
        Key::GatewayInsecure,
        "gateway.insecure",
        Kind::Switch,
        "off",
        "Whether a gateway on another machine may be spoken to over http://, where everybody on the way can read \
         the token and run code.",
    )
    .for_user_alone(),
    row(
        Key::GatewayAuthorities,
        "gateway.authorities",
        Kind::Text("the path of a PEM file"),
        "",
        "Certificates to believe besides the system's when a gateway is spoken to over https://.",
    )
    .for_user_alone(),
    row(
        Key::GatewayStartTimeout,
        "gateway.start_timeout",
        Kind::Seconds,
        "",
        "How long a kernel of the gateway of gateway.url may take to be ready, where that is longer than \
         python.start_timeout: a cluster has to find room for it first.",
    )
    .for_user_alone(),
    row(
        Key::GatewayIdleStop,
        "gateway.idle_stop",
        Kind::SecondsOr("never"),
        "never",
        "After how long without a kernel a gateway ends that inkcell started.",
    )
    .for_user_alone(),
    row(
        Key::HostUse,
        "host.use",
        Kind::Choice(&["auto", "on", "off"]),
        "auto",
        "Whether commands that run code use a host that stays, so that sessions outlive them: always, never, or \
         unless the variable CI is set.",
    )
    .for_user_alone(),
    row(
        Key::HostIdle,
        "host.idle",
        Kind::SecondsOr("never"),
        "600",
        "After how long without a session and without a client the host that commands share ends.",
    )
    .for_user_alone(),
    row(
        Key::HttpToken,
        "http.token",
        Kind::Secret("a token of at least 32 characters"),
        "",
        "What clients of inkcell mcp --http must send. Without it, and without --token-file, one is made for each \
         start. It is never shown, and code never gets it.",
    )
    .for_user_alone(),
    row(
        Key::KernelZygote,
        "kernel.zygote",
        Kind::Switch,
        "on",
        "Whether kernels are copied from a fork server where that is possible. A command that runs once \
         starts its kernel by itself.",
    ),
    row(
        Key::KernelPool,
        "kernel.pool",
        Kind::CountOr("none"),
        "none",
        "How many Jupyter kernels wait, started and ready, for the next session that wants one like the last. A \
         command that runs once has none.",
    ),
    row(
        Key::KernelInterruptGrace,
        "kernel.interrupt_grace",
        Kind::Seconds,
        "3",
        "How long code may take to listen to interrupts before its kernel is ended.",
    ),
    row(
        Key::KernelRetry,
        "kernel.retry",
        Kind::Choice(&["once", "if-not-started", "never"]),
        "if-not-started",
        "Whether code is run again when its kernel died: once, only when it had not begun, or never. The \
         answer says when it was.",
    ),
    row(
        Key::KernelMaxSessions,
        "kernel.max_sessions",
        Kind::Count,
        "8",
        "How many sessions may exist at once. To start one more, the session that has been idle longest is closed, and \
         the answer says so. A session that is busy or attached is never closed. Kernels of a batch do not count; -j \
         sets their number.",
    )
    .elsewhere(&[(Profile::Compat, "4")]),
    row(
        Key::KernelIdle,
        "kernel.idle",
        Kind::SecondsOr("never"),
        "7200",
        "After how long a session that is not used is closed. With the default tools one whose client is \
         still connected is not.",
    )
    .elsewhere(&[(Profile::Compat, "300")]),
    row(
        Key::EnvMode,
        "env.mode",
        Kind::Choice(&["filtered", "inherit"]),
        "filtered",
        "What of the environment code gets: what the filter lets pass, or all of it as any command in a shell \
         does. inkcell's own secrets never pass.",
    )
    .elsewhere(&[(Profile::CommandLine, "inherit")])
    .for_user_alone(),
    row(
        Key::EnvPass,
        "env.pass",
        Kind::Patterns,
        "",
        "Variables that pass the filter: NAME, NAME=VALUE, or a glob such as AWS_*.",
    )
    .for_user_alone(),
    row(
        Key::OutputBytes,
        "output.bytes",
        Kind::Bytes,
        "51200",
        "How much text of one cell an answer shows. All of it is in the artifact the answer names.",
    ),
    row(
        Key::OutputLines,
        "output.lines",
        Kind::Count,
        "3000",
        "How many lines of a text an answer shows, where texts are cut by lines.",
    ),
    row(
        Key::OutputCallBytes,
        "output.call_bytes",
        Kind::Bytes,
        "24576",
        "How much text an answer shows of all cells of a call together.",
    )
    .elsewhere(&[(Profile::Compat, "102400"), (Profile::CommandLine, "204800")]),
    row(
        Key::OutputCutBytes,
        "output.cut_bytes",
        Kind::BytesOr("off"),
        "8192",
        "How much of an output an answer shows when the whole does not fit: its beginning and its end. off: as much as fits.",
    )
    .elsewhere(&[(Profile::Compat, "off"), (Profile::CommandLine, "off")]),
    row(
        Key::OutputLineBytes,
        "output.line_bytes",
        Kind::BytesOr("off"),
        "off",
        "How much of one line.",
    ),
    row(
        Key::OutputImages,
        "output.images",
        Kind::Choice(&["inline", "path", "off"]),
        "inline",
        "How pictures are answered: as pictures, as the path of a file, or not at all. A line about each is \
         there in any case.",
    ),
    row(
        Key::OutputImageBytes,
        "output.image_bytes",
        Kind::Bytes,
        "262144",
        "How large a picture in an answer may be; larger ones are scaled and packed anew. The original is \
         stored.",
    ),
    row(
        Key::OutputNotebookBytes,
        "output.notebook_bytes",
        Kind::BytesOr("off"),
        "off",
        "How much of one output is written into a notebook; of a longer stream its beginning and end are, of a \
         display its shorter forms.",
    ),
    row(
        Key::ArtifactsSessionBytes,
        "artifacts.session_bytes",
        Kind::Bytes,
        "2147483648",
        "How much stored output of one session is kept.",
    ),
    row(
        Key::ArtifactsTotalBytes,
        "artifacts.total_bytes",
        Kind::Bytes,
        "10737418240",
        "How much stored output of all sessions is kept.",
    )
    .for_user_alone(),
    row(
        Key::ArtifactsKeep,
        "artifacts.keep",
        Kind::Seconds,
        "1209600",
        "For how long stored output is kept.",
    )
    .for_user_alone(),
    row(
        Key::ResultsKeep,
        "results.keep",
        Kind::Seconds,
        "3600",
        "How long you can fetch the result of a finished call by its id. The oldest results are dropped sooner if \
         all of them take more than 16 MiB.",
    ),
    row(
        Key::StateDir,
        "state.dir",
        Kind::Text("the path of a folder"),
        "",
        "Where locks, versions, stored output, the managed environment and what else outlives a command are \
         kept. Without it: $XDG_STATE_HOME/inkcell, else ~/.local/state/inkcell, else a private folder for \
         temporary files.",
    )
    .for_user_alone(),
    row(
        Key::NotebookMaxBytes,
        "notebook.max_bytes",
        Kind::Bytes,
        "2147483648",
        "The largest notebook that is read.",
    ),
    row(
        Key::NotebookTextIds,
        "notebook.text_ids",
        Kind::Choice(&["auto", "off"]),
        "auto",
        "Whether markers in a notebook's text carry the ids of cells where that is possible.",
    )
    .also_set_by(&["TEXT_IDS"]),
    row(
        Key::NotebookRoots,
        "notebook.roots",
        Kind::List("paths of folders"),
        "",
        "Notebooks outside these folders are refused; --root counts over it. Without it: anywhere.",
    )
    .for_user_alone(),
    row(
        Key::LogLevel,
        "log.level",
        Kind::Choice(&["off", "error", "warn", "info", "debug", "trace"]),
        "warn",
        "How much is logged: kernels that died and failures of inkcell's own, with info also clients, calls by \
         their names, and kernels that start and end. Arguments, code and output never are.",
    )
    .elsewhere(&[(Profile::CommandLine, "off")])
    .also_set_by(&["LOG"])
    .for_user_alone(),
    row(
        Key::LogFile,
        "log.file",
        Kind::Text("the path of a file"),
        "",
        "Where the log goes; standard error without it. Lines are put behind those that are there, and a new \
         file is for its owner alone. Nothing makes it shorter.",
    )
    .for_user_alone(),
    row(
        Key::DebugStartup,
        "debug.startup",
        Kind::Switch,
        "off",
        "Whether the stages of starting are written to standard error, each on a line.",
    ),
];
