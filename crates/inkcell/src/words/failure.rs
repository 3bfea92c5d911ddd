//! Sentences about steps that the system refused; its reason follows them.

use std::fmt::Display;

pub(crate) const UNDERSTAND_HOST: &str = "cannot understand the host's answer";

pub(crate) const READ_STDIN: &str = "cannot read standard input";

pub(crate) const READ_TERMINAL: &str = "cannot read the terminal";

pub(crate) const KEEP_RECORD: &str = "cannot store the record of the batch";

pub(crate) const END_HOST: &str = "cannot end the host";

pub(crate) const START_RUNTIME: &str = "cannot start the runtime";

pub(crate) const FIND_PROGRAM: &str = "cannot find the path of this program";

pub(crate) const WRITE_MANUALS: &str = "cannot write the manual pages";

pub(crate) const MAKE_MANUAL: &str = "cannot generate the manual page";

pub(crate) const READ_KERNELS: &str = "cannot list the kernels on gateways";

pub(crate) const LISTENER_GONE: &str = "the listener is gone";

pub(crate) const LISTEN_TO_SIGNALS: &str = "cannot listen to signals";

pub(crate) const WRITE_IMAGE: &str = "cannot write the image";

pub(crate) const READ_COPY: &str = "cannot read the copy that was run";

pub(crate) const COPY_NOTEBOOK: &str = "cannot copy the notebook";

pub(crate) const KEEP_PIPED: &str = "cannot store the notebook from standard input";

pub(crate) const KEEP_SERVED: &str = "cannot store the notebook of the server";

pub(crate) const READ_NOTEBOOK: &str = "cannot read the notebook that was run";

pub(crate) const PASS_MESSAGES: &str = "cannot forward messages";

/// A step of a save, after the word "cannot".
pub(crate) const KEEP_OWNER: &str = "keep the owner in";

pub(crate) fn log_not_opened(path: &dyn Display, error: &dyn Display) -> String {
    format!("{path}: {error}; name a file that can be written to")
}
