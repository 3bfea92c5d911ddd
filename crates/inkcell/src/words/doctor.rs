//! Sentences about the state of the machine, its Python and its kernels.

use std::fmt::Display;

pub(crate) const ZMQ: &str = "zmq; ipykernel is installed";

pub(crate) const GATEWAY: &str = "gateway; kernel_gateway and ipykernel are installed";

pub(crate) const NO_GATEWAY: &str = "none is set; kernels run on this machine";

pub(crate) fn token_alone(source: &dyn Display) -> String {
    format!("a token is set by {source}, but no gateway")
}

pub(crate) const NAME_GATEWAY: &str = "name the gateway: INKCELL_GATEWAY_URL=URL";

pub(crate) fn mend(reason: &dyn Display) -> String {
    format!("mend or remove it ({reason}); see inkcell env")
}

pub(crate) fn not_imported(took: &dyn Display, modules: &str) -> String {
    format!("{took}, but not imported ahead: {modules}")
}

pub(crate) const CHANGE_PRELOAD: &str = "change python.preload, or install them";

pub(crate) fn copied_in(took: &dyn Display) -> String {
    format!("1+1 in a new copy took {took}")
}

pub(crate) fn not_used(reason: &dyn Display, took: &dyn Display) -> String {
    format!("not used: {reason}; kernels start one by one, in {took} each")
}

pub(crate) const ORIGIN_UNKNOWN: &str = "it is not known where the kernel came from";

pub(crate) const NO_IPYTHON: &str = "python.shell asks for IPython, which is not installed";

pub(crate) const NO_IPYTHON_NEEDED: &str = "IPython is not installed; the lite shell needs none";

pub(crate) const FAILED_SUM: &str = "a kernel that was started could not run 1+1";

pub(crate) const NAME_PYTHON: &str = "name another Python: --python PATH, and see inkcell env";

pub(crate) fn started_in(took: &dyn Display) -> String {
    format!("1+1 is 2, {took} with the start")
}

pub(crate) const NO_IPYKERNEL: &str =
    "ipykernel is not installed; only the backends zmq and gateway need it";

/// How to install packages into this Python, or into one that is inkcell's own.
pub(crate) fn install(python: &str, names: &str) -> String {
    format!("{python} -m pip install {names}, or inkcell env setup {names}")
}

pub(crate) const NAME_FOLDER: &str = "name a folder that can be written: INKCELL_STATE_DIR=DIR";

pub(crate) fn folder_set_by(source: &dyn Display) -> String {
    format!("it is set by {source}; name a folder that can be written")
}

pub(crate) const FREE_SPACE: &str =
    "free some space: inkcell artifacts rm --all removes stored output";

pub(crate) const LIST_VARIABLES: &str = "inkcell settings --json lists the variables that do";

pub(crate) fn open_files(current: &str, most: &str) -> String {
    format!("{current} may be open at once ({most} at most)")
}

pub(crate) const CLOSE_SESSIONS: &str =
    "close sessions that are not needed, or raise it before inkcell is started: ulimit -n 4096";

pub(crate) const OLDEST_FIRST: &str =
    "the oldest go first; to make room now: inkcell artifacts rm --all";

pub(crate) fn stopped_after(seconds: f64) -> String {
    format!("an agent's code is stopped after {seconds} s")
}

pub(crate) const NO_TIME_LIMIT: &str = "an agent's code may take as long as it takes";

pub(crate) const ASK_FOR_MORE: &str =
    "ask for more in the call (timeout, up to 600), or set INKCELL_PYTHON_TIMEOUT";

pub(crate) const NO_INPUT: &str =
    "code that asks for input ends at once, since nobody is there to type";

pub(crate) const PUT_INTO_VARIABLES: &str = "put what it would ask for into variables or arguments";
