//! Parameters of a notebook: values for a run, in a cell of their own.
//!
//! ```
//! use inkcell_notebook::{IdSource, Notebook, ParameterLanguage, ParameterValue, Parameters};
//!
//! let mut parameters = Parameters::default();
//! parameters.set("rows", ParameterValue::Int(10i64.into()));
//! let mut notebook = Notebook::empty();
//! let placed = notebook.inject(&parameters, ParameterLanguage::Python, &mut IdSource::seeded(7))?;
//!
//! let cell = notebook.cell(placed.index).expect("it was added");
//! assert_eq!(cell.source().text, "# Parameters\nrows = 10\n");
//! assert_eq!(cell.tags(), ["injected-parameters"]);
//! # Ok::<(), inkcell_notebook::ParameterError>(())
//! ```

mod inject;
mod inspect;
mod language;
mod literal;
mod value;

pub use inject::{Injection, InjectionWay, parameters_cell};
pub use inspect::{NoParameters, Parameter};
pub use language::{ParameterError, ParameterLanguage};
pub use value::{ParameterValue, Parameters, WholeNumber};

#[cfg(test)]
mod tests;
