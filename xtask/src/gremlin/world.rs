//! The folder of a round: its notebooks, the faults in them, and the rules that must hold for them at
//! any moment.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use inkcell_testkit::env::{TestEnv, names_in};
use serde_json::{Value, json};

use super::action::FileFault;
use super::plan::NOTEBOOKS;

/// A private environment with notebooks in it.
pub(crate) struct World {
    env: TestEnv,
    /// Faults by notebook: a harmed file may still have these bytes, or be missing, instead of being
    /// valid.
    harmed: BTreeMap<String, Harm>,
}

enum Harm {
    Bytes(Vec<u8>),
    Gone,
    Folder,
}

impl World {
    pub(crate) fn new(program: &str) -> Result<World> {
        let env = TestEnv::new(program);
        for folder in [env.state(), env.outside("tmp")] {
            std::fs::create_dir_all(folder)?;
        }
        for name in NOTEBOOKS {
            std::fs::write(env.path(name), fresh(5))?;
        }
        Ok(World { env, harmed: BTreeMap::new() })
    }

    pub(crate) fn env(&self) -> &TestEnv {
        &self.env
    }

    /// Path of the folder for temporary files of programs.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.env.outside("tmp")
    }

    pub(crate) fn harm(&mut self, name: &str, fault: FileFault) -> Result<()> {
        let path = self.env.path(name);
        // A folder at this path comes from an earlier fault.
        let _ = std::fs::remove_dir(&path);
        let harm = match fault {
            FileFault::Delete => {
                let _ = std::fs::remove_file(&path);
                Some(Harm::Gone)
            }
            FileFault::Cut => {
                let bytes = std::fs::read(&path).unwrap_or_default();
                let half = bytes[..bytes.len() / 2].to_vec();
                std::fs::write(&path, &half)?;
                Some(Harm::Bytes(half))
            }
            FileFault::Garbage => {
                let garbage = b"\x00\xff{\"cells\": [garbage".to_vec();
                std::fs::write(&path, &garbage)?;
                Some(Harm::Bytes(garbage))
            }
            FileFault::Replace => {
                let beside = self.env.outside("saved.ipynb");
                std::fs::write(&beside, fresh(3))?;
                std::fs::rename(&beside, &path)?;
                None
            }
            FileFault::ReadOnly => {
                // An earlier fault may have removed the file; then nothing needs protection.
                let _ = std::fs::set_permissions(&path, Permissions::from_mode(0o444));
                return Ok(());
            }
            FileFault::Folder => {
                let _ = std::fs::remove_file(&path);
                // A program may have written the file again in between; then the folder is not needed.
                let _ = std::fs::create_dir(&path);
                Some(Harm::Folder)
            }
        };
        match harm {
            Some(harm) => self.harmed.insert(name.to_owned(), harm),
            None => self.harmed.remove(name),
        };
        Ok(())
    }

    /// Checks that every notebook is valid, or exactly as the gremlin harmed it.
    pub(crate) fn check(&self) -> Result<()> {
        for name in NOTEBOOKS {
            let path = self.env.path(name);
            let harm = self.harmed.get(name);
            let bytes = match std::fs::read(&path) {
                Ok(bytes) => bytes,
                Err(_) if matches!(harm, Some(Harm::Gone | Harm::Folder)) => continue,
                Err(error) => bail!("{name} cannot be read: {error}"),
            };
            if matches!(harm, Some(Harm::Bytes(harmed)) if *harmed == bytes) {
                continue;
            }
            sound(&bytes).with_context(|| {
                let shown: String = String::from_utf8_lossy(&bytes).chars().take(200).collect();
                format!("{name} is no notebook any more: {shown:?}")
            })?;
        }
        Ok(())
    }

    /// Checks after the end that no temporary file and no held lock is left.
    pub(crate) fn check_left(&self) -> Result<()> {
        let strange: Vec<String> =
            self.env.names().into_iter().filter(|name| !is_ours(name)).collect();
        if !strange.is_empty() {
            bail!("files are left beside the notebooks: {strange:?}");
        }
        let temporary = names_in(&self.temporary());
        if !temporary.is_empty() {
            bail!("temporary files are left: {temporary:?}");
        }
        let locks = self.env.state().join("locks");
        for name in if locks.is_dir() { names_in(&locks) } else { Vec::new() } {
            is_free(&locks.join(&name)).with_context(|| format!("the lock {name}"))?;
        }
        Ok(())
    }
}

/// True for names that may be in the folder.
fn is_ours(name: &str) -> bool {
    // This is also the home folder, in which Python and its libraries store files.
    NOTEBOOKS.contains(&name)
        || name.starts_with(".cache")
        || name.starts_with(".config")
        || name.starts_with(".ipython")
        || name.starts_with(".local")
}

fn is_free(path: &Path) -> Result<()> {
    let file: File = OpenOptions::new().read(true).write(true).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => bail!("is still held"),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// Makes a notebook as Jupyter writes it.
fn fresh(cells: usize) -> String {
    let cell = |at: usize| {
        let mut cell = json!({
            "cell_type": if at == 0 { "markdown" } else { "code" },
            "id": format!("c{at}"),
            "metadata": {},
            "source": [format!("value = {at}\n"), "print(value)"],
        });
        if at > 0 {
            cell["execution_count"] = json!(at);
            cell["outputs"] = json!([{"name": "stdout", "output_type": "stream", "text": ["1\n"]}]);
        }
        cell
    };
    let cells: Vec<Value> = (0..cells).map(cell).collect();
    let notebook = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    format!("{notebook:#}\n")
}

/// Checks that these bytes are a notebook, by the rules of nbformat 4.5 on which every reader relies.
fn sound(bytes: &[u8]) -> Result<()> {
    let notebook: Value = serde_json::from_slice(bytes)?;
    if notebook["nbformat"] != 4 || !notebook["metadata"].is_object() {
        bail!("nbformat or metadata is missing");
    }
    let mut ids = Vec::new();
    for cell in notebook["cells"].as_array().context("there is no list of cells")? {
        let kind = cell["cell_type"].as_str().context("a cell has no type")?;
        let source = &cell["source"];
        let is_text = source.is_string()
            || source.as_array().is_some_and(|lines| lines.iter().all(Value::is_string));
        if !["code", "markdown", "raw"].contains(&kind) || !is_text || !cell["metadata"].is_object()
        {
            bail!("a cell is not as it must be: {cell}");
        }
        let has_count = cell.get("execution_count").is_some();
        if (kind == "code") != (has_count && cell["outputs"].is_array()) {
            bail!("a cell of type {kind} has the fields of another: {cell}");
        }
        ids.extend(cell["id"].as_str());
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    if ids.len() != count {
        bail!("two cells have one id");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_notebook_is_seen() {
        assert!(sound(fresh(5).as_bytes()).is_ok());
        let text = fresh(2);
        for (old, new) in [
            ("\"nbformat\": 4", "\"nbformat\": 3"),
            ("\"cells\"", "\"cell\""),
            ("\"c1\"", "\"c0\""),
            ("\"code\"", "\"markdown\""),
            ("\"markdown\"", "\"code\""),
            ("\"source\": [", "\"source\": [7,"),
            ("\"nbformat_minor\": 5", "\"nbformat_minor\":"),
        ] {
            assert!(text.contains(old), "{old}");
            assert!(sound(text.replacen(old, new, 1).as_bytes()).is_err(), "{old} as {new}");
        }
    }

    #[test]
    fn our_own_harm_is_known_and_any_other_is_not() {
        let mut world = World::new("true").unwrap();
        for fault in [
            FileFault::Garbage,
            FileFault::Cut,
            FileFault::Delete,
            FileFault::Folder,
            FileFault::Replace,
            FileFault::ReadOnly,
        ] {
            world.harm("a.ipynb", fault).unwrap();
            world.check().unwrap();
        }
        let path = world.env().put("b.ipynb", "{");
        assert!(world.check().is_err());
        std::fs::remove_file(path).unwrap();
        assert!(world.check().is_err());
        world.check_left().unwrap();
        world.env().put(".b.ipynb.tmp", "");
        assert!(world.check_left().is_err());
    }
}
