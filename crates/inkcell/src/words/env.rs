//! Sentences about the Python in use, its environments and kernels, and the settings.

use std::fmt::Display;

pub(crate) const PASSED_OVER: &str = "Passed over:";

pub(crate) const NOT_NEEDED: &str = "Also found:";

pub(crate) const NONE_MANAGED: &str =
    "Managed environment: none; create one with 'inkcell env setup'";

pub(crate) const SETTINGS: &str = "Settings that differ from the default:";

pub(crate) const EXTENDED: &str = "✓ Added packages to the managed environment";

pub(crate) const COMPLETE: &str = "✓ The managed environment already has all packages";

pub(crate) const MADE: &str = "✓ Created the managed environment";

pub(crate) const NO_KERNELS: &str =
    "No Jupyter kernels are installed. Python does not need one: inkcell runs it without Jupyter.";

pub(crate) fn no_setting(wanted: &str) -> String {
    format!("no setting starts with '{wanted}'; list all settings with 'inkcell settings'")
}

pub(crate) const KERNEL_NAME: &str =
    "give the name of a kernel, such as python3, or remove the option";

/// The note about a variable that code was to get.
pub(crate) fn variable_not_set(name: &dyn Display) -> String {
    format!("note: {name} is not set here, so the code does not get it")
}

/// The note about a variable that code never gets.
pub(crate) fn secret(name: &str) -> String {
    format!("note: code never gets {name}, because it is a secret of inkcell")
}

pub(crate) fn not_ready(seconds: f64, limit_from: &dyn Display) -> String {
    format!("Python was not ready within {seconds} s (set by {limit_from}); nothing ran")
}

pub(crate) fn folder_not_text(folder: &dyn Display) -> String {
    format!("the path {folder} is not UTF-8 text; work in another directory")
}

/// The remark before a Python of the working folder is run.
pub(crate) fn checking(python: &dyn Display, reason: &dyn Display) -> String {
    format!("running {python} to check that it works ({reason})")
}

pub(crate) fn set_by(source: &dyn Display) -> String {
    format!("python.interpreter is set by {source}")
}

/// Why a Python is used that the command line names.
pub(crate) const BY_ARGUMENT: &str = "set by --python";

/// Why a Python is used that was installed only to hold inkcell.
pub(crate) fn own(reason: &dyn Display) -> String {
    format!("{reason}; it has inkcell, but none of your packages, and no other Python works")
}
