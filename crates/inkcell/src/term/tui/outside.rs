//! The text of a cell in an external editor.
//!
//! Owns the file for the editor, in a folder that only the user can read, and the choice of the editor. It must
//! not know the notebook.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use inkcell_engine::kernel::make_private_folder;
use inkcell_engine::system_random;

use crate::settings::Settings;
use crate::view::execution::stored::Language;
use crate::words;

/// The editor if neither `VISUAL` nor `EDITOR` is set.
const USUAL: &str = "vi";

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // The folder was made for this edit only.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The editor's command line, for a shell.
fn command(settings: &Settings) -> String {
    let env = settings.parent_env();
    let named = ["VISUAL", "EDITOR"].into_iter().find_map(|name| env.get(name));
    named.filter(|named| !named.trim().is_empty()).unwrap_or(USUAL).to_owned()
}

/// Opens a text in the user's editor and returns the result. The editor has the terminal meanwhile.
pub(super) fn edit(text: &str, language: Language, settings: &Settings) -> Result<String, String> {
    let editor = command(settings);
    let failed = |error: io::Error| format!("cannot edit in {editor}: {error}");
    let folder = settings.state_dir.join("editing").join(format!("{:016x}", system_random()));
    make_private_folder(&folder).map_err(failed)?;
    let folder = Folder(folder);
    let file = folder.0.join(match language {
        Language::Python => "cell.py",
        Language::Markdown => "cell.md",
        Language::Other => "cell.txt",
    });
    std::fs::write(&file, text).map_err(failed)?;
    run(&editor, &file).map_err(failed)?;
    let edited = std::fs::read_to_string(&file).map_err(failed)?;
    // Editors add a final line end. Remove it, unless the cell's text had one.
    Ok(match edited.strip_suffix('\n') {
        Some(trimmed) if !text.ends_with('\n') => trimmed.to_owned(),
        _ => edited,
    })
}

fn run(editor: &str, file: &Path) -> io::Result<()> {
    let status =
        Command::new("sh").args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(file).status()?;
    if status.success() {
        return Ok(());
    }
    Err(io::Error::other(words::notebook_screen::editor_failed(&status)))
}
