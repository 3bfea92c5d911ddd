//! Other programs for a cell: an editor for its text, and a viewer for its picture.
//!
//! Owns the files for them, in folders that only the user can read, and the choice of the programs. It must not know the
//! screen.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use inkcell_engine::kernel::{make_private_folder, spawn_detached};
use inkcell_engine::notebook::CellView;
use inkcell_engine::{Version, system_random};
use serde_json::Value;

use crate::settings::Settings;
use crate::view::execution::stored_cell::Language;
use crate::words;

/// The editor if neither `VISUAL` nor `EDITOR` is set.
const USUAL: &str = "vi";

/// Time for which the file of an opened picture is kept.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Types of pictures that a viewer gets, the best first, and the ends of their files' names.
const PICTURES: [(&str, &str); 5] = [
    ("image/svg+xml", "svg"),
    ("image/png", "png"),
    ("image/jpeg", "jpg"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
];

/// A picture in the outputs of a cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct StoredPicture {
    extension: &'static str,
    bytes: Vec<u8>,
}

impl StoredPicture {
    /// The last picture of a cell.
    pub(super) fn of(cell: &CellView<'_>) -> Option<StoredPicture> {
        cell.outputs().iter().rev().find_map(|output| {
            let output: Value = serde_json::from_slice(output.json()).ok()?;
            PICTURES.iter().find_map(|(mime, extension)| {
                let text = match &output["data"][*mime] {
                    Value::String(text) => text.clone(),
                    Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
                    _ => return None,
                };
                let bytes = match *extension {
                    "svg" => text.into_bytes(),
                    _ => {
                        let text: String = text.split_whitespace().collect();
                        BASE64_STANDARD.decode(text).ok()?
                    }
                };
                Some(StoredPicture { extension, bytes })
            })
        })
    }
}

/// Opens a picture in the desktop's viewer. Without a desktop, the message names the file.
pub(super) fn open(picture: &StoredPicture, settings: &Settings) -> Result<String, String> {
    let failed = |error: io::Error| words::notebook_screen::cannot_open_picture(&error);
    let folder = settings.state_dir.join("pictures");
    make_private_folder(&folder).map_err(failed)?;
    remove_old(&folder);
    // The same picture gets the same name, so that opening it again adds no file.
    let file = folder.join(format!("{}.{}", Version::of(&picture.bytes), picture.extension));
    std::fs::write(&file, &picture.bytes).map_err(failed)?;
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let is_set =
        |name: &str| settings.surroundings.get(name).is_some_and(|value| !value.is_empty());
    if program == "xdg-open" && !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") {
        return Ok(words::notebook_screen::picture_is_at(&file.display()));
    }
    let mut command = Command::new(program);
    command.arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match spawn_detached(&mut command) {
        Ok(mut viewer) => {
            // Wait for it on a thread, so that it leaves no process behind in the system's table.
            let waiting = std::thread::Builder::new().name("viewer".to_owned());
            drop(waiting.spawn(move || viewer.wait()));
            Ok(words::notebook_screen::picture_opened(&file.display()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(words::notebook_screen::picture_is_at(&file.display()))
        }
        Err(error) => Err(failed(error)),
    }
}

/// Removes pictures that were opened long ago. A file that is gone already, or stays, does no harm.
fn remove_old(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let written = entry.metadata().and_then(|found| found.modified()).ok();
        let age = written.and_then(|written| SystemTime::now().duration_since(written).ok());
        if age.is_some_and(|age| age > KEPT) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

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
    let failed = |error: io::Error| words::notebook_screen::cannot_edit(&editor, &error);
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
