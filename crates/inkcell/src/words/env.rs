//! Sentences about the Python in use, its environments and kernels, and the settings.

use std::fmt::Display;

pub(crate) const NOT_NEEDED: &str = "Not needed, since one before them works:";

pub(crate) const NONE_MANAGED: &str = "Managed environment: none; inkcell env setup makes one";

pub(crate) const SETTINGS: &str = "Settings that are not the default:";

pub(crate) const EXTENDED: &str = "✓ Packages added to the managed environment";

pub(crate) const COMPLETE: &str = "✓ The managed environment has everything already";

pub(crate) const MADE: &str = "✓ Managed environment made";

pub(crate) const NO_KERNELS: &str =
    "No Jupyter kernel is installed. Python needs none: inkcell's own runner is used.";

pub(crate) fn no_setting(wanted: &str) -> String {
    format!("no setting begins with {wanted:?}; leave it out to see all")
}

pub(crate) const KERNEL_NAME: &str =
    "a kernel has a name, such as python3; leave it out to name none";

/// The note about a variable that code was to get.
pub(crate) fn variable_not_set(name: &dyn Display) -> String {
    format!("note: {name} is not set here, so the code does not get it")
}

/// The note about a variable that code never gets.
pub(crate) fn secret(name: &str) -> String {
    format!("note: {name} is a secret of inkcell's own, which code never gets")
}

pub(crate) fn not_ready(seconds: f64, limit_from: &dyn Display) -> String {
    format!("Python was not ready within the {seconds} s of {limit_from}; nothing was run")
}

pub(crate) fn folder_not_text(folder: &dyn Display) -> String {
    format!("the name of {folder} is not UTF-8 text; work in another folder")
}

/// The remark before a Python of the working folder is run.
pub(crate) fn checking(python: &dyn Display, reason: &dyn Display) -> String {
    format!("running {python} to check that it works ({reason})")
}

pub(crate) fn set_by(source: &dyn Display) -> String {
    format!("python.interpreter is set by {source}")
}

/// Why a Python is used that the command line names.
pub(crate) const BY_ARGUMENT: &str = "--python names it";
