//! `inkcell write`: virtual text, or the JSON of a whole notebook, into a file.

use inkcell_engine::notebook::{
    Drop, EditReport, IdSource, Notebook, NotebookError, OutputsAfter, SourceShape, TextRules,
};
use inkcell_engine::{EngineError, IfMissing, is_notebook_path, random};

use crate::args::Write;
use crate::cli::{edit, input};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::Settings;

pub(crate) fn run(args: &Write, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let text = input::stdin_text()?;
    let options = edit::options(&args.save, IfMissing::Create)?;
    let rules = TextRules {
        drop: Drop::Exactly(args.drop),
        outputs: if args.clear_changed { OutputsAfter::ClearIfChanged } else { OutputsAfter::Keep },
        shape: SourceShape::Keep,
    };
    let is_new = !settings.notebooks.exists(&args.path);
    if is_new && !is_notebook_path(&args.path) {
        let problem = format!(
            "{:?} does not exist and does not end in .ipynb, so it would be no notebook",
            args.path
        );
        return Err(Failure::argument("PATH", problem));
    }
    if text.is_empty() && is_new {
        let problem = "it is empty, so there is nothing to write; to make an empty notebook use: inkcell new PATH";
        return Err(Failure::argument("standard input", problem));
    }
    let whole = whole_notebook(&text, &args.path)?;
    let saved = settings.notebooks.change(&args.path, &options, |notebook, base| match &whole {
        None => {
            let report =
                base.apply_text(notebook, &text, rules, &mut IdSource::seeded(random()))?;
            if notebook.is_changed() {
                settings.notebooks.refuse_part(&args.path, text.as_bytes())?;
            }
            Ok(report)
        }
        Some(new) => {
            if let Some(conflict) = base.conflict() {
                return Err(conflict);
            }
            notebook.clone_from(new);
            Ok(EditReport::default())
        }
    })?;
    edit::answer(output, &saved)
}

/// Text that is JSON is a whole notebook, stored as it is; any other text is virtual text.
fn whole_notebook(text: &str, path: &str) -> Result<Option<Notebook>, EngineError> {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    if !start.starts_with('{') {
        return Ok(None);
    }
    match Notebook::parse(text.as_bytes().to_vec()) {
        Ok(notebook) => {
            let odd = notebook.cells().find(|cell| cell.kind().is_none()).map(|cell| cell.index());
            match odd {
                Some(index) => Err(EngineError::BadCell { path: path.to_owned(), index }),
                None if notebook.version().major.is_none() => Err(EngineError::Argument {
                    argument: "standard input".to_owned(),
                    problem:
                        "it is a JSON object with cells, but without \"nbformat\" it is no notebook"
                            .to_owned(),
                }),
                None => Ok(Some(notebook)),
            }
        }
        Err(error @ NotebookError::Syntax { .. }) => Err(EngineError::Argument {
            argument: "standard input".to_owned(),
            problem: format!("it begins like the JSON of a notebook, but {error}"),
        }),
        Err(error) => Err(inkcell_engine::not_a_notebook(path, error)),
    }
}
