//! A notebook that was piped in, in a folder that nobody else sees, with everything that is noted about it.

use std::fs::DirBuilder;
use std::io::{IsTerminal as _, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use inkcell_engine::system_random;

use super::STANDARD_INPUT;
use crate::exit::Failure;
use crate::settings::Settings;

pub(super) struct Piped {
    pub(super) folder: PathBuf,
    pub(super) path: PathBuf,
}

impl Piped {
    pub(super) fn read(settings: &Settings) -> Result<Piped, Failure> {
        let failed = |error| Failure::Io("cannot keep the notebook that was piped in", error);
        if std::io::stdin().is_terminal() {
            let problem =
                "it is a terminal; pipe a notebook in, for example: inkcell run - < a.ipynb";
            return Err(Failure::argument(STANDARD_INPUT, problem));
        }
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.map_err(|error| Failure::Io("cannot read standard input", error))?;
        let folder = settings.state_dir.join("piped").join(format!("{:016x}", system_random()));
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed)?;
        let piped = Piped { path: folder.join("notebook.ipynb"), folder };
        std::fs::write(&piped.path, bytes).map_err(failed)?;
        Ok(piped)
    }

    pub(super) fn show(&self) -> std::io::Result<()> {
        let bytes = std::fs::read(&self.path)?;
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(&bytes)?;
        stdout.flush()
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        // It is ours alone, and of no more use.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
