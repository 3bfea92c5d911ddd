//! Which program a wish means: the runner, the interpreter's ipykernel, an installed kernel, one that runs.
//!
//! Owns what a notebook's words about its kernel mean. It is pure: what is installed is given.

use std::path::PathBuf;

use inkcell_kernel::{BackendKind, Kernelspec, KernelspecError, Kernelspecs};

use crate::api::{KernelChoice, KernelName, RunNote, Wanted};
use crate::error::EngineError;

/// What is to be started.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Program {
    /// Python, by this backend, in the interpreter that is chosen.
    Python(BackendKind),
    /// An installed kernel.
    Spec(Box<Kernelspec>),
    /// None: the one of this connection file runs already.
    Existing(PathBuf),
}

/// A program, and what somebody who gave a notebook must know about it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Picked {
    pub(crate) program: Program,
    pub(crate) note: Option<RunNote>,
}

/// The program for a wish. `usual` is the backend of those who do not name one, `specs` looks what is installed.
pub(crate) fn pick(
    wanted: &Wanted,
    usual: BackendKind,
    specs: impl FnOnce() -> Kernelspecs,
) -> Result<Picked, EngineError> {
    let backend = wanted.backend.unwrap_or(usual);
    let python = Picked { program: Program::Python(backend), note: None };
    Ok(match &wanted.kernel {
        None => python,
        Some(choice @ (KernelChoice::Named(_) | KernelChoice::Existing(_))) => {
            must_be_able(wanted.backend, choice)?;
            let program = match choice {
                KernelChoice::Named(name) => Program::Spec(Box::new(specs().take(&name.0)?)),
                KernelChoice::Existing(file) => Program::Existing(file.clone()),
                KernelChoice::OfNotebook { .. } => return Ok(python),
            };
            Picked { program, note: None }
        }
        Some(KernelChoice::OfNotebook { name, language }) => {
            let named = name.as_ref().filter(|name| !is_usual(name));
            let language = language.clone().or_else(|| by_name(named?));
            let is_known = language.is_some();
            match (language.filter(|language| !is_python(language)), named) {
                (Some(language), _) if wanted.backend == Some(BackendKind::Runner) => {
                    return Err(EngineError::NotPython { language, kernel: name.clone() });
                }
                (Some(language), _) => of_language(specs(), named, language)?,
                // Somebody who names an interpreter means it.
                (None, Some(named)) if wanted.interpreter.is_some() => {
                    Picked { note: Some(other(named)), ..python }
                }
                (None, Some(named)) if wanted.backend == Some(BackendKind::Runner) => {
                    Picked { note: Some(other(named)), ..python }
                }
                (None, Some(named)) => match specs().take(&named.0) {
                    Ok(spec) => of_spec(spec, None),
                    Err(KernelspecError::NotFound { known, .. }) if !is_known => {
                        return Err(EngineError::UnknownKernel { kernel: named.clone(), known });
                    }
                    Err(KernelspecError::NotFound { .. }) => {
                        Picked { note: Some(other(named)), ..python }
                    }
                    Err(broken) => return Err(broken.into()),
                },
                (None, None) => python,
            }
        }
    })
}

/// Whether a wish is about kernels by their names, so that it must be known which there are.
pub(crate) fn names_a_kernel(wanted: &Wanted) -> bool {
    match &wanted.kernel {
        None | Some(KernelChoice::Existing(_)) => false,
        Some(KernelChoice::Named(_)) => true,
        Some(KernelChoice::OfNotebook { name, language }) => {
            let is_other = |language: &String| !is_python(language);
            name.as_ref().is_some_and(|name| !is_usual(name))
                || language.as_ref().is_some_and(is_other)
        }
    }
}

/// inkcell's own runner runs no installed kernel, and a gateway none that somebody else started.
fn must_be_able(backend: Option<BackendKind>, choice: &KernelChoice) -> Result<(), EngineError> {
    let problem = match (backend, choice) {
        (Some(BackendKind::Runner), KernelChoice::Existing(_)) => {
            "the runner is a kernel of its own; a kernel that runs already needs zmq"
        }
        (Some(BackendKind::Runner), _) => {
            "the runner is a kernel of its own; an installed Jupyter kernel needs zmq"
        }
        (Some(BackendKind::Gateway), KernelChoice::Existing(_)) => {
            "a gateway makes its own kernels; a kernel that runs already needs zmq"
        }
        _ => return Ok(()),
    };
    Err(EngineError::Argument { argument: "backend".to_owned(), problem: problem.to_owned() })
}

/// The kernel of a notebook that is not in Python: the one it names, else one for its language.
fn of_language(
    specs: Kernelspecs,
    name: Option<&KernelName>,
    language: String,
) -> Result<Picked, EngineError> {
    let Kernelspecs { found, broken } = specs;
    let is_named = |spec: &&Kernelspec| name.is_some_and(|name| spec.name == name.0.to_lowercase());
    if let Some(spec) = found.iter().find(is_named) {
        return Ok(of_spec(spec.clone(), None));
    }
    let is_for = |spec: &&Kernelspec| spec.language.eq_ignore_ascii_case(&language);
    if let Some(spec) = found.iter().find(is_for) {
        return Ok(of_spec(spec.clone(), name.cloned()));
    }
    // One that is there and cannot be used is no kernel that is missing.
    if let Some(name) = name {
        let specs = Kernelspecs { found: Vec::new(), broken };
        if let Err(problem) = specs.take(&name.0)
            && !matches!(problem, KernelspecError::NotFound { .. })
        {
            return Err(problem.into());
        }
    }
    let known = found.into_iter().map(|spec| spec.name).collect();
    Err(EngineError::NoKernelFor { language, kernel: name.cloned(), known })
}

fn of_spec(spec: Kernelspec, instead_of: Option<KernelName>) -> Picked {
    let note = RunNote::InstalledKernel {
        name: KernelName(spec.name.clone()),
        display_name: spec.display_name.clone(),
        instead_of,
    };
    Picked { program: Program::Spec(Box::new(spec)), note: Some(note) }
}

fn other(named: &KernelName) -> RunNote {
    RunNote::OtherKernel { named: named.0.clone() }
}

/// Names under which every Jupyter installs its own Python. They say nothing about which.
fn is_usual(name: &KernelName) -> bool {
    matches!(name.0.as_str(), "python3" | "python")
}

/// The language of kernels that are known by their usual names, for notebooks that say nothing else.
fn by_name(name: &KernelName) -> Option<String> {
    let language = match name.0.as_str() {
        "ir" => "R",
        "bash" | "deno" | "rust" | "octave" | "javascript" | "sos" => &name.0,
        _ => return None,
    };
    Some(language.to_owned())
}

/// Whether a notebook means Python by this.
pub(crate) fn is_python(language: &str) -> bool {
    ["python", "ipython", "python3"].iter().any(|name| language.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests;
