//! The tables of the environment filter: names that pass, names that never do, and names that look like a secret.
//!
//! Owns names, and the reading of values that may carry a password. It must not know whose environment
//! the filter reads, or what the caller asked for.

use std::borrow::Cow;

/// Names that pass unchanged (E-01): a program needs them to find its files, its terminal, its
/// certificates and its hardware.
pub(super) const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "TERM",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "TMPDIR",
    "TEMP",
    "TMP",
    "TZ",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "LD_LIBRARY_PATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CUDA_VISIBLE_DEVICES",
    "MPLBACKEND",
];

/// Python's own switches. They change how code runs, as in Jupyter, and hold nothing else. Variables that locate its
/// library are left out, because the interpreter decides that.
pub(super) const ALLOWED_PYTHON: &[&str] = &[
    "PYTHONASYNCIODEBUG",
    "PYTHONBREAKPOINT",
    "PYTHONCOERCECLOCALE",
    "PYTHONDEVMODE",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONFAULTHANDLER",
    "PYTHONHASHSEED",
    "PYTHONINTMAXSTRDIGITS",
    "PYTHONIOENCODING",
    "PYTHONMALLOC",
    "PYTHONNODEBUGRANGES",
    "PYTHONNOUSERSITE",
    "PYTHONOPTIMIZE",
    "PYTHONPYCACHEPREFIX",
    "PYTHONTRACEMALLOC",
    "PYTHONUNBUFFERED",
    "PYTHONUSERBASE",
    "PYTHONUTF8",
    "PYTHONWARNDEFAULTENCODING",
    "PYTHONWARNINGS",
    "PYTHON_CPU_COUNT",
    "PYTHON_GIL",
];

/// The names that Windows programs need (E-01). They are harmless elsewhere, so the table has no `cfg`.
pub(super) const ALLOWED_WINDOWS: &[&str] = &[
    "APPDATA",
    "COMPUTERNAME",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROCESSOR_IDENTIFIER",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "SESSIONNAME",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "USERDOMAIN",
    "USERDOMAIN_ROAMINGPROFILE",
    "USERPROFILE",
    "USERNAME",
    "WINDIR",
];

/// Proxies, in capitals and in small letters. They pass without a user and password in the value.
pub(super) const PROXIES: &[&str] =
    &["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"];

/// Prefixes of names that pass if neither name nor value holds a secret (E-02). `PIP_` and `UV_` are
/// here so that `%pip` finds the same index and certificates as in a shell.
pub(super) const ALLOWED_PREFIXES: &[&str] = &["LC_", "XDG_", "PI_", "INKCELL_", "PIP_", "UV_"];

/// Suffixes of names that pass: the thread counts of numeric libraries.
pub(super) const ALLOWED_SUFFIXES: &[&str] = &["_NUM_THREADS"];

/// Keys that pass no table and no glob (E-03). Only the exact name in `--env` passes them.
pub(super) const DENIED: &[&str] = &[
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GOOGLE_API_KEY",
    "GEMINI_API_KEY",
    "OPENROUTER_API_KEY",
    "PERPLEXITY_API_KEY",
    "PERPLEXITY_COOKIES",
    "EXA_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "MISTRAL_API_KEY",
];

/// Prefixes of our own names.
const OWN_PREFIXES: &[&str] = &["PI_", "INKCELL_"];

/// Our own names, after the prefix, that never come from the parent, even if the caller asks (E-05). The tokens are
/// secrets, and the address of a gateway may hold one. The others describe one session, and the parent's describe
/// a different session (E-30).
const OWN_NEVER: &[&str] = &[
    "PYTHON_GATEWAY_TOKEN",
    "GATEWAY_TOKEN",
    "PYTHON_GATEWAY_URL",
    "GATEWAY_URL",
    "HTTP_TOKEN",
    "TOOL_BRIDGE_URL",
    "TOOL_BRIDGE_TOKEN",
    "TOOL_BRIDGE_SESSION",
    "TOOL_BRIDGE_RUN",
    "SESSION_FILE",
    "ARTIFACTS_DIR",
];

/// Variables that a session sets before each cell, and removes if it has no value for them (E-30).
pub const MANAGED: &[&str] = &[
    "PI_SESSION_FILE",
    "PI_ARTIFACTS_DIR",
    "ARTIFACTS",
    "PI_TOOL_BRIDGE_URL",
    "PI_TOOL_BRIDGE_TOKEN",
    "PI_TOOL_BRIDGE_SESSION",
    "PI_TOOL_BRIDGE_RUN",
];

/// Words that mark a secret, anywhere in a name.
const SECRET_WORDS: &[&str] = &["KEY", "KEYS", "APIKEY", "AUTH", "PAT"];

/// Word endings that mark a secret, so that `GATEWAYTOKEN` counts as well as `GATEWAY_TOKEN`.
const SECRET_ENDINGS: &[&str] = &[
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWORDS",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "COOKIE",
    "COOKIES",
];

/// Whether the name marks its value as a secret.
pub(crate) fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name.split('_').any(|word| {
        SECRET_WORDS.contains(&word) || SECRET_ENDINGS.iter().any(|ending| word.ends_with(ending))
    })
}

/// True for one half of an index's credentials, such as `UV_INDEX_CORP_USERNAME`. Often that user name
/// is the token itself.
pub(super) fn names_an_index_user(name: &str) -> bool {
    name.ends_with("_USERNAME") && (name.starts_with("PIP_") || name.starts_with("UV_"))
}

/// True for one of our names that never comes from the parent.
pub(super) fn is_never_passed(name: &str) -> bool {
    own_part(name).is_some_and(|rest| OWN_NEVER.contains(&rest))
}

/// True for one of our names that marks a secret.
pub(super) fn is_own_secret(name: &str) -> bool {
    own_part(name).is_some() && names_a_secret(name)
}

fn own_part(name: &str) -> Option<&str> {
    OWN_PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix))
}

/// Places in a value that may hold a user and password.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Addresses {
    /// After each `://` in the value.
    InText,
    /// Also at the start of the value: a proxy may be written without a scheme.
    Bare,
}

/// The value without the `user:password@` of the addresses in it.
///
/// A password that was not encoded may hold `/` or `@`. The cut removes all of it, at the price of
/// spoiling an address that has both credentials and an `@` in its path.
pub(super) fn without_userinfo(value: &str, addresses: Addresses) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut rest = value;
    let mut changed = false;
    let mut starts_address = addresses == Addresses::Bare && !value.contains("://");
    loop {
        if !starts_address {
            let Some(at) = rest.find("://") else { break };
            kept.push_str(&rest[..at + 3]);
            rest = &rest[at + 3..];
        }
        starts_address = false;
        let token = rest.split(char::is_whitespace).next().unwrap_or(rest);
        let authority = token.split(['/', '?', '#']).next().unwrap_or(token);
        let odd_port = authority.rsplit_once(':').is_some_and(|(_, port)| {
            !port.ends_with(']') && !port.bytes().all(|b| b.is_ascii_digit())
        });
        if (authority.contains('@') || odd_port)
            && let Some(at) = token.rfind('@')
        {
            rest = &rest[at + 1..];
            changed = true;
        }
    }
    if !changed {
        return Cow::Borrowed(value);
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}
