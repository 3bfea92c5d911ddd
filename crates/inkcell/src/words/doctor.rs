//! Sentences about the state of the machine, its Python and its kernels.

use std::fmt::Display;

pub(crate) const ZMQ: &str = "zmq; ipykernel is installed";

pub(crate) const GATEWAY: &str = "gateway; kernel_gateway and ipykernel are installed";

pub(crate) const NO_GATEWAY: &str = "none; kernels run on this machine";

pub(crate) fn token_alone(source: &dyn Display) -> String {
    format!("{source} sets a token, but no gateway is set")
}

pub(crate) const NAME_GATEWAY: &str = "set the gateway with INKCELL_GATEWAY_URL=URL";

/// How to deal with a Python that does not work. `reason` says how it was found.
pub(crate) fn mend(path: &dyn Display, reason: &dyn Display) -> String {
    format!("repair or remove {path} ({reason})")
}

pub(crate) fn not_imported(took: &str, modules: &str) -> String {
    format!("ran 1+1 in {took}, but could not preload {modules}")
}

pub(crate) const CHANGE_PRELOAD: &str = "install these modules, or remove them from python.preload";

pub(crate) fn copied_in(took: &str) -> String {
    format!("ran 1+1 in a new kernel in {took}")
}

pub(crate) fn not_used(reason: &dyn Display, took: &str) -> String {
    format!("not used: {reason}; each kernel starts by itself, in {took}")
}

pub(crate) fn switched_off(source: &dyn Display) -> String {
    format!("turned off by {source}")
}

pub(crate) const ORIGIN_UNKNOWN: &str = "cannot tell how the kernel was started";

pub(crate) const NO_IPYTHON: &str = "python.shell is ipython, but IPython is not installed";

pub(crate) const NO_IPYTHON_NEEDED: &str =
    "IPython is not installed; the default shell does not need it";

pub(crate) const FAILED_SUM: &str = "a kernel started but could not run 1+1";

pub(crate) fn wrong_sum(answer: &str) -> String {
    format!("1+1 printed {answer:?} instead of 2")
}

pub(crate) const NAME_PYTHON: &str = "choose another Python with --python PATH";

pub(crate) const INSTALL_PYTHON: &str =
    "install Python 3.9 or newer, or choose one with --python PATH";

/// What to do where the only Python is the one that was installed to hold inkcell.
pub(crate) const OWN_PYTHON: &str =
    "choose your Python with --python PATH, or create an environment with 'inkcell env setup'";

pub(crate) fn started_in(took: &str) -> String {
    format!("started and ran 1+1 in {took}")
}

pub(crate) const NO_IPYKERNEL: &str =
    "ipykernel is not installed; only the backends zmq and gateway need it";

pub(crate) fn not_installed(names: &str) -> String {
    format!("not installed: {names}")
}

/// How to install packages into this Python, or into an environment of inkcell's.
pub(crate) fn install(python: &str, names: &str) -> String {
    format!("install with '{python} -m pip install {names}' or 'inkcell env setup {names}'")
}

pub(crate) fn not_writable(folder: &dyn Display, error: &dyn Display) -> String {
    format!("cannot write to {folder}: {error}")
}

pub(crate) const NAME_FOLDER: &str = "choose a writable directory with INKCELL_STATE_DIR=DIR";

pub(crate) fn folder_set_by(source: &dyn Display) -> String {
    format!("choose a writable directory in {source}, which sets this one")
}

pub(crate) fn free(folder: &dyn Display, size: &str) -> String {
    format!("{folder}, {size} free")
}

pub(crate) const FREE_SPACE: &str =
    "free some space, or delete stored outputs with 'inkcell artifacts rm --all'";

pub(crate) const NO_FILES: &str = "no settings file";

pub(crate) fn unknown_variables(names: &str) -> String {
    format!("not variables of inkcell: {names}")
}

pub(crate) const LIST_VARIABLES: &str = "list all variables with 'inkcell settings --json'";

pub(crate) const SEE_SETTINGS: &str = "check the settings with 'inkcell settings'";

pub(crate) fn open_files(current: &str, most: &str) -> String {
    match current == most {
        true => format!("at most {current}"),
        false => format!("at most {current} (can be raised to {most})"),
    }
}

pub(crate) const NO_LIMIT: &str = "no limit";

pub(crate) const CLOSE_SESSIONS: &str =
    "raise the limit before you start inkcell (ulimit -n 4096), or close sessions";

pub(crate) const OLDEST_FIRST: &str =
    "the oldest are deleted first; make room now with 'inkcell artifacts rm --all'";

pub(crate) fn stored(artifacts: &str, size: &str, most: &str) -> String {
    format!("{artifacts}, {size} of {most}")
}

pub(crate) fn stopped_after(time: &str) -> String {
    format!("code that an agent runs is stopped after {time}")
}

pub(crate) const NO_TIME_LIMIT: &str = "code that an agent runs has no time limit";

pub(crate) const ASK_FOR_MORE: &str =
    "to allow more, pass timeout in the call (up to 600), or set INKCELL_PYTHON_TIMEOUT";

pub(crate) const NO_INPUT: &str = "code that asks an agent for input fails at once";

pub(crate) const PUT_INTO_VARIABLES: &str = "pass the values as variables or arguments instead";

pub(crate) const ALL_WELL: &str = "Everything works. You have nothing to do.";

/// The last line, before the list of what to do.
pub(crate) fn to_do(failed: usize, checks: usize, warnings: usize) -> String {
    let warnings = match warnings {
        0 => String::new(),
        1 => ", 1 warning".to_owned(),
        more => format!(", {more} warnings"),
    };
    match failed {
        0 => format!("Everything works{warnings}. To improve it:"),
        failed => format!("{failed} of {checks} checks failed{warnings}. To fix them:"),
    }
}

/// A number of bytes as people read it.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut number = bytes as f64 / 1024.0;
    let mut unit = UNITS[0];
    for next in &UNITS[1..] {
        if number < 999.5 {
            break;
        }
        number /= 1024.0;
        unit = next;
    }
    match number < 9.95 {
        true => format!("{number:.1} {unit}"),
        false => format!("{number:.0} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_use_the_largest_unit() {
        let table = [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (10 << 10, "10 KiB"),
            (1 << 20, "1.0 MiB"),
            (1023 << 20, "1.0 GiB"),
            (74_088_185_856, "69 GiB"),
            (u64::MAX, "16384 PiB"),
        ];
        for (bytes, wanted) in table {
            assert_eq!(size(bytes), wanted, "{bytes}");
        }
    }
}
