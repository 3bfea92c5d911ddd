//! Values that a caller gives to a run: the language they are written in, and doubts about them.
//!
//! Owns the way from the parameters of a request to a cell of the notebook. The notebook crate decides where that cell
//! stands and how values are written.

use inkcell_notebook::{
    IdSource, Injection, Notebook, ParameterError, ParameterLanguage, Parameters,
};

use crate::api::{KernelChoice, KernelWishes, RunNote};
use crate::edit::OpenNotebook;
use crate::error::EngineError;
use crate::kernels::ChosenKernel;

/// The kernel of a run as far as it is known before the start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct KernelLanguage {
    name: Option<String>,
    language: Option<String>,
}

impl KernelLanguage {
    /// The name and language of the chosen kernel. If its language is unknown, the notebook's own counts.
    pub(crate) fn of(kernel: &ChosenKernel, wanted: &KernelWishes) -> KernelLanguage {
        let chosen = (!kernel.language.is_empty()).then(|| kernel.language.clone());
        let said = match &wanted.kernel {
            Some(KernelChoice::OfNotebook { language, .. }) => language.clone(),
            _ => None,
        };
        let name = kernel.name.as_ref().map(|name| name.0.clone());
        KernelLanguage { name, language: chosen.or(said) }
    }
}

/// Values that can be written into a notebook.
pub(crate) struct Values {
    pub(super) parameters: Parameters,
    language: ParameterLanguage,
}

impl Values {
    /// Returns `None` if the caller gave no values. Refuses values that cannot be written before anything is touched.
    pub(super) fn of(
        parameters: &Parameters,
        kernel: &KernelLanguage,
        opened: &OpenNotebook,
    ) -> Result<Option<Values>, EngineError> {
        if parameters.is_empty() {
            return Ok(None);
        }
        let language = ParameterLanguage::of(kernel.name.as_deref(), kernel.language.as_deref());
        let language = language.map_err(|error| failed(error, &opened.shown))?;
        let values = Values { parameters: parameters.clone(), language };
        values.put_into(&mut opened.notebook.clone(), &mut IdSource::seeded(0), &opened.shown)?;
        Ok(Some(values))
    }

    pub(super) fn put_into(
        &self,
        notebook: &mut Notebook,
        ids: &mut IdSource,
        path: &str,
    ) -> Result<Injection, EngineError> {
        let injected = notebook.inject(&self.parameters, self.language, ids);
        injected.map_err(|error| failed(error, path))
    }

    /// Notes a likely slip: the notebook has no defaults, or the defaults lack some of the names.
    pub(super) fn doubts(&self, notebook: &Notebook) -> Option<RunNote> {
        if notebook.defaults_cell().is_none() {
            return notebook.injected_cell().is_none().then_some(RunNote::NoDefaults);
        }
        // If the cell cannot be read, its names are unknown.
        let known = notebook.parameters(self.language).ok()?;
        let is_known = |name: &str| known.iter().any(|parameter| parameter.name == name);
        let names = self.parameters.iter().map(|(name, _)| name).filter(|name| !is_known(name));
        let names: Vec<String> = names.map(str::to_owned).collect();
        (!names.is_empty()).then_some(RunNote::UnknownParameters { names })
    }
}

/// Maps positions chosen before the injection to those after it, and adds the injected cell: a caller who gives values
/// wants them to count.
pub(super) fn carried(injected: Injection, chosen: Vec<usize>) -> Vec<usize> {
    let mut positions: Vec<usize> = chosen.into_iter().map(|index| injected.moved(index)).collect();
    positions.push(injected.index);
    positions.sort_unstable();
    positions.dedup();
    positions
}

fn failed(error: ParameterError, path: &str) -> EngineError {
    match error {
        ParameterError::Edit(error) => EngineError::Edit { path: path.to_owned(), error, batch: 1 },
        other => {
            EngineError::Argument { argument: "parameters".to_owned(), problem: other.to_string() }
        }
    }
}
