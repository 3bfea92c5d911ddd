//! The program for a request: the runner, the interpreter's ipykernel, an installed kernel, or a running one.
//!
//! Owns the meaning of a notebook's kernel metadata. It is pure: the caller provides the installed kernels.

use std::path::PathBuf;

use inkcell_kernel::{BackendKind, Kernelspec, KernelspecError, Kernelspecs};

use crate::api::{KernelChoice, KernelWishes, RunNote};
use crate::error::EngineError;
use crate::types::KernelName;

/// The program to start as a kernel.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Program {
    /// Python, by this backend, in the chosen interpreter.
    Python(BackendKind),
    Spec(Box<Kernelspec>),
    /// No program: the kernel of this connection file already runs.
    Existing(PathBuf),
}

/// A program, with a note for the caller of a notebook run.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct KernelPick {
    pub(crate) program: Program,
    pub(crate) note: Option<RunNote>,
}

/// Picks the program for a request. `usual` is the default backend, `specs` lists the installed kernels.
pub(crate) fn pick(
    wanted: &KernelWishes,
    usual: BackendKind,
    specs: impl FnOnce() -> Kernelspecs,
) -> Result<KernelPick, EngineError> {
    let backend = wanted.backend.unwrap_or(usual);
    let python = KernelPick { program: Program::Python(backend), note: None };
    Ok(match &wanted.kernel {
        None => python,
        Some(choice @ (KernelChoice::Named(_) | KernelChoice::Existing(_))) => {
            must_be_able(wanted.backend, choice)?;
            let program = match choice {
                KernelChoice::Named(name) => Program::Spec(Box::new(specs().take(&name.0)?)),
                KernelChoice::Existing(file) => Program::Existing(file.clone()),
                KernelChoice::OfNotebook { .. } => return Ok(python),
            };
            KernelPick { program, note: None }
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
                // An interpreter that the caller names takes precedence.
                (None, Some(named)) if wanted.interpreter.is_some() => {
                    KernelPick { note: Some(other(named)), ..python }
                }
                (None, Some(named)) if wanted.backend == Some(BackendKind::Runner) => {
                    KernelPick { note: Some(other(named)), ..python }
                }
                (None, Some(named)) => match specs().take(&named.0) {
                    Ok(spec) => of_spec(spec, None),
                    Err(KernelspecError::NotFound { known, .. }) if !is_known => {
                        return Err(EngineError::UnknownKernel { kernel: named.clone(), known });
                    }
                    Err(KernelspecError::NotFound { .. }) => {
                        KernelPick { note: Some(other(named)), ..python }
                    }
                    Err(broken) => return Err(broken.into()),
                },
                (None, None) => python,
            }
        }
    })
}

/// Returns whether a request names a kernel, so that the list of kernels is needed.
pub(crate) fn names_a_kernel(wanted: &KernelWishes) -> bool {
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

/// Refuses an installed kernel for inkcell's own runner, and an already running kernel for a gateway or the
/// runner.
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
) -> Result<KernelPick, EngineError> {
    let Kernelspecs { found, broken } = specs;
    let is_named = |spec: &&Kernelspec| name.is_some_and(|name| spec.name == name.0.to_lowercase());
    if let Some(spec) = found.iter().find(is_named) {
        return Ok(of_spec(spec.clone(), None));
    }
    let is_for = |spec: &&Kernelspec| spec.language.eq_ignore_ascii_case(&language);
    if let Some(spec) = found.iter().find(is_for) {
        return Ok(of_spec(spec.clone(), name.cloned()));
    }
    // A kernel that exists and cannot be used is reported as such, and not as missing.
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

fn of_spec(spec: Kernelspec, instead_of: Option<KernelName>) -> KernelPick {
    let note = RunNote::InstalledKernel {
        name: KernelName(spec.name.clone()),
        display_name: spec.display_name.clone(),
        instead_of,
    };
    KernelPick { program: Program::Spec(Box::new(spec)), note: Some(note) }
}

fn other(named: &KernelName) -> RunNote {
    RunNote::OtherKernel { named: named.0.clone() }
}

/// Names under which every Jupyter installs its own Python. They do not tell which one.
fn is_usual(name: &KernelName) -> bool {
    matches!(name.0.as_str(), "python3" | "python")
}

/// The language of well-known kernel names, for notebooks without another hint.
fn by_name(name: &KernelName) -> Option<String> {
    let language = match name.0.as_str() {
        "ir" => "R",
        "bash" | "deno" | "rust" | "octave" | "javascript" | "sos" => &name.0,
        _ => return None,
    };
    Some(language.to_owned())
}

/// Whether a notebook means Python by this name of a language.
pub(crate) fn is_python(language: &str) -> bool {
    ["python", "ipython", "python3"].iter().any(|name| language.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests;
