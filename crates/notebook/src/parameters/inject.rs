//! Puts values into a cell of their own.
//!
//! Owns the position of the cell and its tag. It must not know where values come from.

use super::language::{ParameterError, ParameterLanguage};
use super::literal;
use super::value::Parameters;
use crate::cell::{CellKind, CellRef, IdSource};
use crate::document::Notebook;
use crate::edit::{CellPlace, EditOp, OutputsAfter, SourceShape};
/// The tag of the cell with the defaults.
const DEFAULTS: &str = "parameters";

/// The tag of the cell with the values of a run.
const INJECTED: &str = "injected-parameters";

/// Text of the comment in the first line of the cell.
const TITLE: &str = "Parameters";

/// The position of the injected values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Injection {
    /// Position of the cell with the values, from 0.
    pub index: usize,
    /// The way in which the cell got there.
    pub way: InjectionWay,
}

/// The way in which the cell with the values got its position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum InjectionWay {
    /// It replaced the cell with the values of an earlier run.
    InPlace,
    /// It was added after the cell with the defaults.
    AfterDefaults,
    /// It was added at the top, because no cell has defaults.
    AtTop,
}

impl Injection {
    /// Returns the new position of a cell that was at `index` before.
    pub fn moved(&self, index: usize) -> usize {
        let is_moved = self.way != InjectionWay::InPlace && index >= self.index;
        if is_moved { index + 1 } else { index }
    }
}

impl Notebook {
    /// Puts values into a cell: in place of the values of an earlier run, else after the cell with the defaults,
    /// else at the top. Everything else keeps its bytes. On an error the notebook is unchanged.
    pub fn inject(
        &mut self,
        parameters: &Parameters,
        language: ParameterLanguage,
        ids: &mut IdSource,
    ) -> Result<Injection, ParameterError> {
        let source = parameters_cell(parameters, language)?;
        if let Some(index) = self.first_tagged(INJECTED) {
            let op = EditOp::Replace {
                cell: CellRef::Index(index as i64),
                source,
                kind: Some(CellKind::Code),
                outputs: OutputsAfter::ClearIfChanged,
                shape: SourceShape::Keep,
            };
            self.apply(&[op], ids)?;
            return Ok(Injection { index, way: InjectionWay::InPlace });
        }
        let defaults = self.first_tagged(DEFAULTS);
        let (at, index, way) = match defaults {
            Some(index) => {
                let after = CellPlace::After(CellRef::Index(index as i64));
                (after, index + 1, InjectionWay::AfterDefaults)
            }
            None => (CellPlace::Start, 0, InjectionWay::AtTop),
        };
        // The tag can only be set on an existing cell, so there are two steps. Both happen or none.
        let mut changed = self.clone();
        changed.apply(&[EditOp::Insert { at, kind: CellKind::Code, source }], ids)?;
        let tag = EditOp::SetTags {
            cell: CellRef::Index(index as i64),
            add: vec![INJECTED.to_owned()],
            remove: Vec::new(),
        };
        changed.apply(&[tag], ids)?;
        *self = changed;
        Ok(Injection { index, way })
    }

    /// Position of the first cell with the tag `parameters`, which holds the defaults.
    pub fn defaults_cell(&self) -> Option<usize> {
        self.first_tagged(DEFAULTS)
    }

    /// Position of the first cell with the tag `injected-parameters`, which holds the values of an earlier run.
    pub fn injected_cell(&self) -> Option<usize> {
        self.first_tagged(INJECTED)
    }

    fn first_tagged(&self, wanted: &str) -> Option<usize> {
        let is_tagged = |tags: Vec<String>| tags.iter().any(|tag| tag == wanted);
        self.cells().find(|cell| is_tagged(cell.tags())).map(|cell| cell.index())
    }
}

/// Writes the source of a cell that sets these values.
pub fn parameters_cell(
    parameters: &Parameters,
    language: ParameterLanguage,
) -> Result<String, ParameterError> {
    let mut source = language.comment(TITLE);
    source.push('\n');
    for (name, value) in parameters.iter() {
        source.push_str(&literal::write_assignment(language, name, value)?);
        source.push('\n');
    }
    Ok(source)
}
