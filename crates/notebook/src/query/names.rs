//! The cells that make a name for the notebook, and those that use it.
//!
//! Owns the meaning of making and using, by the source alone. It must not know what a kernel knows.

use crate::cell::CellKind;
use crate::document::CellView;
use crate::python::{NameHome, NameRole, NameScopes, count_words};

/// How a cell shares a name with other cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NameUse {
    /// The cell binds or deletes the name.
    pub makes: bool,
    /// The cell reads the name.
    pub uses: bool,
}

impl CellView<'_> {
    /// Tells how the Python of the cell shares a name. Code that cannot be followed uses every word in it.
    pub fn name_use(&self, name: &str) -> NameUse {
        let source = self.source().text;
        if self.kind() != Some(CellKind::Code) || count_words(&source, name) == 0 {
            return NameUse::default();
        }
        let Ok(scopes) = NameScopes::of(&source, [name, name]) else {
            return NameUse { makes: false, uses: true };
        };
        let mut found = NameUse::default();
        for (at, place) in scopes.places.iter().enumerate() {
            let is_shared = scopes.home(at) != NameHome::Inner;
            found.makes |=
                is_shared && matches!(place.role, NameRole::Bind { .. } | NameRole::Delete);
            found.uses |= is_shared && place.role == NameRole::Read;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::IdSource;
    use crate::document::Notebook;
    use crate::edit::{CellPlace, EditOp};

    #[test]
    fn a_cell_makes_and_uses_names_of_the_notebook() {
        let table = [
            ("x = 1", true, false),
            ("x += 1", true, true),
            ("x.a = [x for x in a]", false, true),
            ("import x.y", true, false),
            ("def f():\n    return x", false, true),
            ("def f(x):\n    return x", false, false),
            ("f(x=1); 'x'", false, false),
            ("f'{x}'", false, true),
            ("x = (", false, true),
            ("y = 1", false, false),
        ];
        for (source, makes, uses) in table {
            let mut notebook = Notebook::empty();
            let (at, kind, source) = (CellPlace::End, CellKind::Code, source.to_owned());
            let insert = EditOp::Insert { at, kind, source: source.clone() };
            notebook.apply(&[insert], &mut IdSource::seeded(1)).unwrap();
            let found = notebook.cell(0).unwrap().name_use("x");
            assert_eq!(found, NameUse { makes, uses }, "{source}");
        }
    }
}
