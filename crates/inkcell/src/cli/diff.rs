//! `inkcell diff`: two notebooks, or one and its last commit, cell by cell.

use std::path::Path;
use std::process::Command;

use inkcell_engine::not_a_notebook;
use inkcell_engine::notebook::{Compare, Notebook, diff};

use crate::args::Diff;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::render::diff as render;
use crate::settings::Settings;

pub(crate) fn run(args: &Diff, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let (old, new) = match &args.b {
        Some(b) => {
            (settings.notebooks.read(&args.a)?.notebook, settings.notebooks.read(b)?.notebook)
        }
        None => {
            let new = settings.notebooks.read(&args.a)?;
            (committed(&args.a, &new.path)?, new.notebook)
        }
    };
    let compare = if args.sources { Compare::Sources } else { Compare::All };
    let differences = diff(&old, &new, compare);
    let about = if differences.is_empty() && old.to_bytes() != new.to_bytes() && !args.sources {
        Some("the cells are the same; the files differ in notebook metadata, layout or spelling")
    } else {
        None
    };
    render::write(output, &differences, about).map_err(Failure::of_output)?;
    let differs = !differences.is_empty() || about.is_some();
    Ok(if differs && args.exit_code { Exit::Differs } else { Exit::Ok })
}

/// The notebook as it is in the last commit.
fn committed(shown: &str, path: &Path) -> Result<Notebook, Failure> {
    let bad = |problem: String| {
        Failure::argument("B", format!("{problem}; give a second notebook to compare with"))
    };
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(bad(format!("{shown} has no folder")));
    };
    let name = name.to_string_lossy();
    let said = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["show", &format!("HEAD:./{name}")])
        .output()
        .map_err(|error| bad(format!("git could not be asked for the last commit: {error}")))?;
    if !said.status.success() {
        let reason = String::from_utf8_lossy(&said.stderr).trim().to_owned();
        return Err(bad(format!("{shown} is in no commit ({reason})")));
    }
    Ok(Notebook::parse(said.stdout)
        .map_err(|error| not_a_notebook(&format!("HEAD:{shown}"), error))?)
}
