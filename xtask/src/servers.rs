//! The Python environments with real servers that the tests take kernels from: made once, reused while they fit.
//!
//! Owns `target/test-env-*` of the servers, and by which variable tests find each. Must not know what is tried on
//! them.

use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, anyhow, bail};

use crate::workspace::Workspace;
use crate::{child, python_env, pythons};

/// What tests are told of the servers, and what must not be overlooked.
pub(crate) struct Prepared {
    /// Which interpreter has each, or that tests must do without it.
    pub(crate) told: Vec<(&'static str, OsString)>,
    pub(crate) loud: Vec<String>,
}

/// One kind of server.
struct Server {
    /// By which variable tests are told where it is.
    variable: &'static str,
    /// By which one they are told that it is nowhere.
    excuse: &'static str,
    dir: &'static str,
    requirements: &'static str,
    /// What must be there to be imported.
    modules: &'static str,
    /// The minor versions of CPython that what is pinned has packages for.
    minors: RangeInclusive<u32>,
}

/// They cannot be one environment: Enterprise Gateway needs older packages than the others.
static SERVERS: [Server; 3] = [
    Server {
        variable: "INKCELL_TEST_JUPYTER_PYTHON",
        excuse: "INKCELL_TEST_NO_JUPYTER",
        dir: "target/test-env-jupyter",
        requirements: JUPYTER_REQUIREMENTS,
        modules: "kernel_gateway, jupyter_server, ipykernel",
        minors: 11..=13,
    },
    Server {
        variable: "INKCELL_TEST_ENTERPRISE_PYTHON",
        excuse: "INKCELL_TEST_NO_ENTERPRISE",
        dir: "target/test-env-enterprise",
        requirements: "xtask/requirements-enterprise.txt",
        modules: "enterprise_gateway, ipykernel",
        minors: 11..=11,
    },
    Server {
        variable: "INKCELL_TEST_COLLABORATION_PYTHON",
        excuse: "INKCELL_TEST_NO_COLLABORATION",
        dir: "target/test-env-collaboration",
        requirements: "xtask/requirements-collaboration.txt",
        modules: "jupyter_server_ydoc, ipykernel",
        minors: 11..=13,
    },
];

/// What the servers that most tests use are made of.
pub(crate) const JUPYTER_REQUIREMENTS: &str = "xtask/requirements-jupyter.txt";

/// Makes sure of the one with Jupyter's own server and kernel gateway; gives its interpreter.
pub(crate) fn jupyter(workspace: &Workspace) -> Result<PathBuf> {
    let server = &SERVERS[0];
    server.prepare(workspace, &Mutex::new(()))?.with_context(|| server.lack())
}

/// Makes sure of all of them. A server for which there is no interpreter here is told and done without; one
/// whose packages cannot be had is a failure.
pub(crate) fn prepare(workspace: &Workspace) -> Result<Prepared> {
    let mut prepared = Prepared { told: Vec::new(), loud: Vec::new() };
    // Together: most of the time is spent waiting for packages.
    let bootstrap = Mutex::new(());
    let made: Vec<_> = std::thread::scope(|threads| {
        let bootstrap = &bootstrap;
        let prepare =
            |server: &'static Server| threads.spawn(move || server.prepare(workspace, bootstrap));
        let threads: Vec<_> = SERVERS.iter().map(prepare).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    for (server, made) in SERVERS.iter().zip(made) {
        match made.map_err(|_| anyhow!("making {} panicked", server.dir))?? {
            Some(python) => prepared.told.push((server.variable, python.into())),
            None => {
                prepared.told.push((server.excuse, "1".into()));
                prepared.loud.push(server.lack());
            }
        }
    }
    Ok(prepared)
}

impl Server {
    fn prepare(&self, workspace: &Workspace, bootstrap: &Mutex<()>) -> Result<Option<PathBuf>> {
        let Server { dir: name, requirements, .. } = self;
        let dir = workspace.path(name);
        let wanted = std::fs::read_to_string(workspace.path(requirements))
            .with_context(|| format!("cannot read {requirements}"))?;
        let python = python_env::interpreter(&dir);
        if python_env::stamp_matches(&dir, &wanted) && self.answers(&python) {
            println!("{name} fits {requirements}");
            return Ok(Some(python));
        }
        let mut last = None;
        // An interpreter may lack what makes environments, or be too new for a package.
        for base in pythons::newest_first(&self.minors) {
            match self.make(&base, &dir, &workspace.path(requirements), bootstrap) {
                Ok(()) => {
                    python_env::stamp(&dir, &wanted)?;
                    return Ok(Some(python));
                }
                Err(error) => {
                    println!("no {name} of {}: {error:#}", base.display());
                    last = Some(error);
                }
            }
        }
        last.map_or(Ok(None), Err)
    }

    fn make(
        &self,
        base: &Path,
        dir: &Path,
        requirements: &Path,
        bootstrap: &Mutex<()>,
    ) -> Result<()> {
        // It may install a package of the system, which only one at a time can do.
        let one = bootstrap.lock().unwrap_or_else(PoisonError::into_inner);
        python_env::ensure_pip_bootstrap(base)?;
        drop(one);
        python_env::install(base, dir, requirements)?;
        if !self.answers(&python_env::interpreter(dir)) {
            bail!("{} was made, but `import {}` fails in it", self.dir, self.modules);
        }
        Ok(())
    }

    fn lack(&self) -> String {
        let (from, to) = (self.minors.start(), self.minors.end());
        let which = if from == to { format!("3.{from}") } else { format!("3.{from} to 3.{to}") };
        format!(
            "what needs {} is NOT tried: it needs a CPython {which}, and none was found",
            self.modules
        )
    }

    fn answers(&self, python: &Path) -> bool {
        child::succeeds(Command::new(python).args(["-c", &format!("import {}", self.modules)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two names of each server belong together: tests make the one of the other.
    #[test]
    fn what_is_missing_is_excused_by_the_name_that_tests_look_for() {
        for server in &SERVERS {
            let kind = server.variable.replace("INKCELL_TEST_", "").replace("_PYTHON", "");
            assert_eq!(server.excuse, format!("INKCELL_TEST_NO_{kind}"));
        }
    }

    #[test]
    fn what_is_missing_is_said_aloud() {
        let said: Vec<String> = SERVERS.iter().map(Server::lack).collect();
        assert!(said[0].contains("kernel_gateway") && said[0].contains("3.11 to 3.13"), "{said:?}");
        assert!(said[1].contains("NOT tried") && said[1].contains("CPython 3.11,"), "{said:?}");
    }

    #[test]
    fn every_requirement_is_pinned() {
        for text in [
            include_str!("../requirements-jupyter.txt"),
            include_str!("../requirements-enterprise.txt"),
            include_str!("../requirements-collaboration.txt"),
        ] {
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            let loose: Vec<_> = lines.filter(|line| line.split("==").count() != 2).collect();
            assert!(loose.is_empty(), "{loose:?}");
        }
    }
}
