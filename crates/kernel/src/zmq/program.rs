//! The program of a kernel to start, or the connection file of a running one.
//!
//! Owns its command and its environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::kernel::KernelSpec;
use crate::kernelspec::{InterruptMode, Kernelspec, MEMORY_HISTORY, safely};

/// The kernel to start or to connect to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Program {
    /// IPython's kernel, in the chosen interpreter.
    Ipykernel,
    /// The kernel of an installed kernelspec.
    Spec(Box<Kernelspec>),
    /// A running kernel with this connection file. It goes on after we leave.
    Existing(PathBuf),
}

impl Program {
    /// Returns the command of a kernel with this connection file, and its way of interrupting.
    pub(crate) fn command(&self, python: &Path, file: &Path) -> (Vec<String>, InterruptMode) {
        match self {
            Program::Spec(kernelspec) => {
                (kernelspec.command(python, file), kernelspec.interrupt_mode)
            }
            Program::Ipykernel | Program::Existing(_) => {
                (ipykernel(python, file), InterruptMode::Signal)
            }
        }
    }

    /// Returns the environment in which a kernel is started.
    pub(crate) fn environment(&self, spec: &KernelSpec) -> BTreeMap<String, String> {
        match self {
            Program::Spec(kernelspec) => kernelspec.environment(&spec.env),
            Program::Ipykernel | Program::Existing(_) => spec.env.clone(),
        }
    }

    /// Returns `true` for Python, where we can change variables after the start.
    pub(crate) fn is_python(&self) -> bool {
        match self {
            Program::Ipykernel => true,
            Program::Spec(spec) => spec.language.eq_ignore_ascii_case("python"),
            Program::Existing(_) => false,
        }
    }
}

/// Returns the command of IPython's kernel.
fn ipykernel(python: &Path, file: &Path) -> Vec<String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let rest = ["-m", "ipykernel_launcher", MEMORY_HISTORY, "-f"];
    let mut argv = vec![text(python)];
    argv.extend(rest.map(str::to_owned));
    argv.push(text(file));
    safely(argv)
}
