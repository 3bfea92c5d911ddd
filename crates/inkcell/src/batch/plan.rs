//! The rows of a batch: every notebook with every combination of parameters, and the output of each.
//!
//! Owns which outputs are refused before anything runs. The caller resolves names: this must not know the file
//! system.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::{Map, Value};
use thiserror::Error;

use super::matrix::Matrix;
use super::template::{Template, TemplateError};

/// One run of one notebook.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Row {
    /// The notebook, as it was given.
    pub(crate) input: String,
    /// The output file; in place if none.
    pub(crate) output: Option<String>,
    /// The parameters of the matrix, as they were written.
    pub(crate) values: Vec<(String, String)>,
    /// All parameters with their types, for reports.
    pub(crate) parameters: Map<String, Value>,
}

impl Row {
    /// The name of the row for people.
    pub(crate) fn name(&self) -> String {
        if self.values.is_empty() {
            return self.input.clone();
        }
        let values: Vec<String> =
            self.values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{} [{}]", self.input, values.join(", "))
    }
}

/// The reason why nothing is run.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub(crate) enum PlanError {
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error(
        "with a matrix each row needs an output of its own; give one, as in -o 'out/{{stem}}-{field}.ipynb'"
    )]
    NoOutput { field: String },
    #[error(
        "{first} and {second} would both be written to {output}; add a field to -o, such as {field}"
    )]
    Collision { first: String, second: String, output: String, field: String },
    #[error(
        "{row} would be written over {input}, which is a notebook of the batch; name another output"
    )]
    Overwrites { row: String, input: String },
    #[error("{output:?} is not the name of a notebook; end it with .ipynb")]
    NoNotebook { output: String },
}

/// The rules that decide about outputs.
pub(crate) struct Naming<'a> {
    pub(crate) template: Option<&'a Template>,
    /// Parameters that are the same for all rows; a template may name them.
    pub(crate) fixed: &'a [(String, String)],
    /// Resolves a name, following links.
    pub(crate) real: &'a dyn Fn(&str) -> PathBuf,
}

/// Every notebook with every combination, in the order in which they were given. A notebook that was named twice
/// counts once.
pub(crate) fn rows(
    inputs: &[String],
    matrix: &Matrix,
    naming: &Naming<'_>,
) -> Result<Vec<Row>, PlanError> {
    let names: Vec<String> = matrix
        .names()
        .chain(naming.fixed.iter().map(|(name, _)| name.as_str()))
        .map(str::to_owned)
        .collect();
    let field = || matrix.names().next().map_or("{stem}".to_owned(), |name| format!("{{{name}}}"));
    match naming.template {
        Some(template) => template.must_be_known(&names)?,
        None if !matrix.is_empty() => return Err(PlanError::NoOutput { field: field() }),
        None => {}
    }
    let mut known: HashMap<PathBuf, &String> = HashMap::new();
    let mut unique = Vec::new();
    for input in inputs {
        let real = (naming.real)(input);
        if known.insert(real, input).is_none() {
            unique.push(input);
        }
    }
    let combinations = matrix.combinations();
    let mut rows: Vec<Row> = Vec::with_capacity(unique.len() * combinations.len());
    let mut written: HashMap<PathBuf, usize> = HashMap::new();
    for input in unique {
        for values in &combinations {
            let output = naming.template.map(|template| {
                let all: Vec<_> = values.iter().chain(naming.fixed).cloned().collect();
                template.fill(input, rows.len(), &all)
            });
            let (values, parameters) = (values.clone(), Map::new());
            let row = Row { input: input.clone(), output, values, parameters };
            if let Some(output) = &row.output {
                if !output.ends_with(".ipynb") {
                    return Err(PlanError::NoNotebook { output: output.clone() });
                }
                let real = (naming.real)(output);
                if let Some(input) = known.get(&real) {
                    let (row, input) = (row.name(), (*input).clone());
                    return Err(PlanError::Overwrites { row, input });
                }
                if let Some(first) = written.insert(real, rows.len()) {
                    let (first, second) = (rows[first].name(), row.name());
                    let (output, field) = (output.clone(), missing_field(matrix, &rows, &row));
                    return Err(PlanError::Collision { first, second, output, field });
                }
            }
            rows.push(row);
        }
    }
    Ok(rows)
}

/// A field that would have distinguished two rows.
fn missing_field(matrix: &Matrix, rows: &[Row], row: &Row) -> String {
    let values = |name: &str, row: &Row| {
        row.values.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    };
    let differs = |name: &&str| {
        rows.iter()
            .any(|other| other.output == row.output && values(name, other) != values(name, row))
    };
    let is_of_another =
        rows.iter().any(|other| other.output == row.output && other.input != row.input);
    let name = matrix.names().find(differs);
    match (is_of_another, name) {
        (false, Some(name)) => format!("{{{name}}}"),
        _ => "{parent} or {stem}".to_owned(),
    }
}

/// Rows of one notebook that differ only in parameters, and so can share the cells before these.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Shared {
    pub(crate) input: String,
    /// The indexes of its rows.
    pub(crate) rows: Vec<usize>,
}

/// The rows that could share a beginning: those of a notebook that has several.
pub(crate) fn shared(rows: &[Row]) -> Vec<Shared> {
    let mut all: Vec<Shared> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        match all.iter_mut().find(|shared| shared.input == row.input) {
            Some(shared) => shared.rows.push(at),
            None => all.push(Shared { input: row.input.clone(), rows: vec![at] }),
        }
    }
    all.retain(|shared| shared.rows.len() > 1);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn real(name: &str) -> PathBuf {
        // The tests treat this prefix as a link.
        PathBuf::from("/work").join(name.replace("link/", "nb/"))
    }

    fn planned(
        inputs: &[&str],
        matrix: &[&str],
        template: Option<&str>,
    ) -> Result<Vec<Row>, PlanError> {
        let inputs: Vec<String> = inputs.iter().map(|input| (*input).to_owned()).collect();
        let matrix = Matrix::parse(matrix.iter().copied()).unwrap();
        let template = template.map(|template| Template::parse(template).unwrap());
        let fixed = [("env".to_owned(), "test".to_owned())];
        let naming = Naming { template: template.as_ref(), fixed: &fixed, real: &real };
        rows(&inputs, &matrix, &naming)
    }

    #[test]
    fn rows_are_notebooks_times_combinations() {
        let template = Some("out/{env}-{stem}-{y}.ipynb");
        let rows = planned(&["nb/a.ipynb", "nb/b.ipynb"], &["y=1,2"], template).unwrap();
        let outputs: Vec<&str> = rows.iter().filter_map(|row| row.output.as_deref()).collect();
        let wanted = ["test-a-1", "test-a-2", "test-b-1", "test-b-2"];
        assert_eq!(outputs, wanted.map(|name| format!("out/{name}.ipynb")));
        assert_eq!(rows[3].name(), "nb/b.ipynb [y=2]");
        let groups = shared(&rows);
        assert_eq!(groups.len(), 2);
        assert_eq!(groups[1], Shared { input: "nb/b.ipynb".to_owned(), rows: vec![2, 3] });
    }

    /// Outputs in place, and each file once, by whatever name.
    #[test]
    fn a_notebook_that_is_named_twice_is_one() {
        let rows = planned(&["nb/a.ipynb", "link/a.ipynb", "b.ipynb"], &[], None).unwrap();
        let names: Vec<String> = rows.iter().map(Row::name).collect();
        assert_eq!(names, ["nb/a.ipynb", "b.ipynb"]);
        assert!(shared(&rows).is_empty());
    }

    /// Each is refused before anything runs, with a sentence that says what to write.
    #[test]
    fn outputs_that_cannot_be_are_refused() {
        /// Notebooks, axes, a template, and the expected error.
        type Case =
            (&'static [&'static str], &'static [&'static str], Option<&'static str>, &'static str);
        let cases: [Case; 6] = [
            (
                &["a.ipynb"],
                &["y=1,2"],
                None,
                "with a matrix each row needs an output of its own; give one, as in -o 'out/{stem}-{y}.ipynb'",
            ),
            (
                &["a.ipynb"],
                &["y=1,2"],
                Some("out/{stem}.ipynb"),
                "a.ipynb [y=1] and a.ipynb [y=2] would both be written to out/a.ipynb; add a field to -o, \
                 such as {y}",
            ),
            (
                &["nb/a.ipynb", "b/a.ipynb"],
                &[],
                Some("out/{stem}.ipynb"),
                "nb/a.ipynb and b/a.ipynb would both be written to out/a.ipynb; add a field to -o, such as \
                 {parent} or {stem}",
            ),
            (
                &["nb/a.ipynb", "b.ipynb"],
                &[],
                Some("link/a.ipynb"),
                "nb/a.ipynb would be written over nb/a.ipynb, which is a notebook of the batch; name another \
                 output",
            ),
            (
                &["a.ipynb"],
                &[],
                Some("{stem}.txt"),
                "\"a.txt\" is not the name of a notebook; end it with .ipynb",
            ),
            (
                &["a.ipynb"],
                &["y=1"],
                Some("{x}.ipynb"),
                "there is no field {x}; there are: {y}, {env}, {stem}, {name}, {parent}, {index}",
            ),
        ];
        for (inputs, matrix, template, wanted) in cases {
            let error = planned(inputs, matrix, template).unwrap_err();
            assert_eq!(error.to_string(), wanted);
        }
    }
}
