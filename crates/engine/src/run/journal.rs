//! Outputs on disk that are not in their notebook yet.
//!
//! Owns the file that holds them between the end of a cell and the next save. If the host dies, the next command finds
//! them there and restores them. The lock of the run's record protects the file: only its holder writes it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use inkcell_notebook::NbOutput;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::cell_identity::KnownCell;

/// Outputs of one cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CellOutputs {
    pub(crate) cell: KnownCell,
    pub(crate) count: Option<u32>,
    pub(crate) outputs: Vec<NbOutput>,
}

/// The same cell as one line of the file.
#[derive(Serialize, Deserialize)]
struct Line {
    id: Option<String>,
    index: usize,
    source: String,
    count: Option<u32>,
    outputs: Vec<Box<RawValue>>,
}

/// The journal of one notebook.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    /// Opened by the first write.
    file: Option<File>,
}

impl Journal {
    pub(crate) fn new(path: PathBuf) -> Journal {
        Journal { path, file: None }
    }

    /// Writes the outputs of a cell where a crash cannot lose them. If a cell has two entries, the later one counts.
    pub(crate) fn keep(&mut self, outputs: &CellOutputs) -> io::Result<()> {
        let raw = |output: &NbOutput| {
            let text = String::from_utf8_lossy(output.json()).into_owned();
            RawValue::from_string(text).map_err(io::Error::from)
        };
        let line = Line {
            id: outputs.cell.id.clone(),
            index: outputs.cell.index,
            source: outputs.cell.source.clone(),
            count: outputs.count,
            outputs: outputs.outputs.iter().map(raw).collect::<io::Result<_>>()?,
        };
        // Each line begins with its separator, so an incomplete line spoils no other.
        let mut text = vec![b'\n'];
        serde_json::to_writer(&mut text, &line)?;
        let mut file = match self.file.take() {
            Some(file) => file,
            None => make(&self.path)?,
        };
        let written = file.write_all(&text).and_then(|()| file.sync_data());
        self.file = Some(file);
        written
    }

    /// Removes the journal: everything is in the notebook.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        self.file = None;
        match std::fs::remove_file(&self.path) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            // An empty journal means the same.
            Err(_) => OpenOptions::new().write(true).truncate(true).open(&self.path).map(drop),
        }
    }

    /// Reads the outputs that a dead host left. Incomplete lines are skipped.
    pub(crate) fn left(path: &Path) -> io::Result<Vec<CellOutputs>> {
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        // A truncated line is not a complete object.
        Ok(text.split(|byte| *byte == b'\n').filter_map(entry).collect())
    }
}

fn entry(line: &[u8]) -> Option<CellOutputs> {
    let Line { id, index, source, count, outputs } = serde_json::from_slice(line).ok()?;
    let outputs = outputs.iter().map(|output| NbOutput::from_json(output.get()).ok());
    let outputs = outputs.collect::<Option<Vec<_>>>()?;
    let cell = KnownCell { id, index, source, planned: None };
    Some(CellOutputs { cell, count, outputs })
}

fn make(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    let file =
        OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path)?;
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests;
