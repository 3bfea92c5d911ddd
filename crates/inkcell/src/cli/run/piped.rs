//! A notebook from standard input, in a private folder, with all its records.

use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;

use super::STANDARD_INPUT;
use crate::exit::Failure;
use crate::output::Stream;
use crate::scratch::Scratch;
use crate::settings::Settings;
use crate::words;

/// The folder for such notebooks, in the state folder.
const FOLDERS: &str = "piped";

pub(super) struct StdinNotebook {
    pub(super) folder: Scratch,
    pub(super) path: PathBuf,
}

impl StdinNotebook {
    pub(super) fn read(settings: &Settings) -> Result<StdinNotebook, Failure> {
        let failed = |error| Failure::Io(words::failure::KEEP_PIPED, error);
        if std::io::stdin().is_terminal() {
            let problem = words::run::PIPE_IT_IN;
            return Err(Failure::argument(STANDARD_INPUT, problem));
        }
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.map_err(|error| Failure::Io(words::failure::READ_STDIN, error))?;
        let folder = Scratch::make(&settings.state_dir, FOLDERS).map_err(failed)?;
        let piped = StdinNotebook { path: folder.path().join("notebook.ipynb"), folder };
        std::fs::write(&piped.path, bytes).map_err(failed)?;
        Ok(piped)
    }

    pub(super) fn show(&self) -> std::io::Result<()> {
        let bytes = std::fs::read(&self.path)?;
        Stream::stdout().write_all(&bytes)
    }
}
