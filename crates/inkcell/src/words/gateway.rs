//! Sentences about gateways, and about notebooks that stay on a Jupyter server.

use std::fmt::Display;

pub(crate) const IS_SET: &str =
    "is set, so that kernels come from there and none is started here; leave it out to start one";

pub(crate) const NONE_WAS_RUNNING: &str = "No gateway of inkcell's was running.";

pub(crate) const NONE: &str = "No gateway is set, and none of inkcell's is running.";

pub(crate) fn left_behind(url: &str, kernels: &str, next: &str) -> String {
    format!("{url}: {kernels} left by an inkcell that was killed; remove: {next}")
}

pub(crate) fn not_delivered(url: &str, path: &dyn Display, file: &dyn Display) -> String {
    format!("{url}: outputs of a run of {path} did not get there; they are in {file}")
}

pub(crate) fn set_url(url: &str) -> String {
    format!("set gateway.url to {url} and gateway.token to its token first")
}

pub(crate) const NOTHING_LEFT: &str = "Nothing was left on any gateway.";

pub(crate) const CODE_WORKS_THERE: &str =
    "code works where the server has the notebook; leave this out";

pub(crate) const KERNEL_OF_SERVER: &str =
    "a notebook of a server is run by a kernel of that server; leave this out";

pub(crate) const NO_SERVER: &str = "no server is known; set gateway.url to its address, or give \
     the address of the notebook as a browser shows it";

pub(crate) const NO_NOTEBOOK_ADDRESS: &str = "this address is that of no notebook on a Jupyter \
     server; one is such as http://localhost:8888/lab/tree/work/a.ipynb";

pub(crate) const NO_SERVER_PATH: &str = "this is no path on a server; one begins at the folder \
     that its file browser shows, such as work/a.ipynb";

pub(crate) fn read_only(path: &dyn Display) -> String {
    format!("{path} may not be written on the server")
}

pub(crate) const WRITE_HERE: &str = "write to a file of this machine with -o";

pub(crate) fn earlier_outputs(file: &dyn Display) -> String {
    format!("note: outputs of an earlier run that did not get to the server are kept in {file}")
}

pub(crate) fn outputs_are_in(path: &dyn Display, url: &dyn Display) -> String {
    format!("Outputs are in {path} on {url}.")
}

pub(crate) fn outputs_kept(file: &dyn Display) -> String {
    format!("the outputs are kept in {file}")
}

pub(crate) fn not_in_time(path: &dyn Display) -> String {
    format!("{path} was not written on the server in time")
}

pub(crate) fn runs_already(path: &dyn Display, url: &dyn Display) -> String {
    format!("another inkcell runs {path} of {url}")
}

pub(crate) const ADDRESS_GOES_ON: &str =
    "if it is a server, its address may go on, as in http://localhost:8888/user/me/lab";

/// The end of a gateway's description.
pub(crate) const NO_KERNELS: &str = "; it has no kernels";

pub(crate) fn its_kernels(kernels: &str) -> String {
    format!("; its kernels: {kernels}")
}
