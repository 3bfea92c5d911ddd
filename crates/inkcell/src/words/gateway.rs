//! Sentences about gateways, and about notebooks that stay on a Jupyter server.

use std::fmt::Display;

pub(crate) const IS_SET: &str =
    "is set, so kernels start there; unset it to start a gateway on this machine";

pub(crate) const NONE_WAS_RUNNING: &str = "No shared gateway was running.";

pub(crate) const NONE: &str = "No gateway is set, and no shared gateway is running.";

pub(crate) fn left_behind(url: &str, kernels: &str, next: &str) -> String {
    format!("{url}: {kernels} left behind by a killed inkcell; remove them with '{next}'")
}

pub(crate) fn not_delivered(url: &str, path: &dyn Display, file: &dyn Display) -> String {
    format!("{url}: outputs of a run of {path} did not reach it; they are in {file}")
}

pub(crate) fn set_url(url: &str) -> String {
    format!("set gateway.url to {url} and gateway.token to its token first")
}

pub(crate) const NOTHING_LEFT: &str = "Nothing was left on any gateway.";

pub(crate) const CODE_WORKS_THERE: &str =
    "code runs in the notebook's folder on the server; remove this option";

pub(crate) const KERNEL_OF_SERVER: &str =
    "a kernel of the server runs its notebooks; remove this option";

pub(crate) const NO_SERVER: &str = "no server is set; set gateway.url to its address, or give the notebook's address as your \
     browser shows it";

pub(crate) const NOT_NOTEBOOK_ADDRESS: &str = "not the address of a notebook on a Jupyter server, such as \
     http://localhost:8888/lab/tree/work/a.ipynb";

pub(crate) const NOT_SERVER_PATH: &str = "not a path on a server; a path begins at the folder that the server's file browser shows, \
     such as work/a.ipynb";

pub(crate) fn read_only(path: &dyn Display) -> String {
    format!("the server does not let you write {path}")
}

pub(crate) const WRITE_HERE: &str = "write to a file of this machine with -o";

pub(crate) fn earlier_outputs(file: &dyn Display) -> String {
    format!("note: outputs of an earlier run did not reach the server; they are in {file}")
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
    "the address of a server may be longer, such as http://localhost:8888/user/me/lab";

/// The end of a gateway's description.
pub(crate) const NO_KERNELS: &str = "; it has no kernels";

pub(crate) fn its_kernels(kernels: &str) -> String {
    format!("; its kernels: {kernels}")
}
