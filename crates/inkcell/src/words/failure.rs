//! What could not be done when the system refused it: the words before its reason.

pub(crate) const UNDERSTAND_HOST: &str = "cannot understand the host";

pub(crate) const READ_STDIN: &str = "cannot read standard input";

pub(crate) const READ_TERMINAL: &str = "cannot read the terminal";

pub(crate) const KEEP_RECORD: &str = "cannot keep the record of the batch";

pub(crate) const END_HOST: &str = "cannot end the host";

pub(crate) const START_RUNTIME: &str = "cannot start the runtime";

pub(crate) const FIND_PROGRAM: &str = "cannot tell which program this is";
