//! Python environments with real servers that provide kernels to tests: made once, reused while they fit.
//!
//! Owns `target/test-env-*` of the servers, and the variable by which tests find each. Must not know the tests.

use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow};

use crate::python_env::Environment;
use crate::pythons;
use crate::workspace::Workspace;

/// Variables for tests, and warnings that must not be overlooked.
pub(crate) struct ServerSetup {
    /// For each server, the variable with its interpreter, or the variable that excuses its absence.
    pub(crate) told: Vec<(&'static str, OsString)>,
    pub(crate) loud: Vec<String>,
}

/// One kind of server.
struct Server {
    /// The variable with the path of its interpreter.
    variable: &'static str,
    /// The variable that tells tests that the server is missing.
    excuse: &'static str,
    environment: Environment<'static>,
    /// Minor versions of CPython for which the pinned packages exist.
    minors: RangeInclusive<u32>,
}

/// One environment for all is not possible: Enterprise Gateway needs older packages than the others.
static SERVERS: [Server; 3] = [
    Server {
        variable: "INKCELL_TEST_JUPYTER_PYTHON",
        excuse: "INKCELL_TEST_NO_JUPYTER",
        environment: Environment {
            dir: "target/test-env-jupyter",
            requirements: JUPYTER_REQUIREMENTS,
            modules: "kernel_gateway, jupyter_server, ipykernel",
        },
        minors: 11..=13,
    },
    Server {
        variable: "INKCELL_TEST_ENTERPRISE_PYTHON",
        excuse: "INKCELL_TEST_NO_ENTERPRISE",
        environment: Environment {
            dir: "target/test-env-enterprise",
            requirements: "xtask/requirements-enterprise.txt",
            modules: "enterprise_gateway, ipykernel",
        },
        minors: 11..=11,
    },
    Server {
        variable: "INKCELL_TEST_COLLABORATION_PYTHON",
        excuse: "INKCELL_TEST_NO_COLLABORATION",
        environment: Environment {
            dir: "target/test-env-collaboration",
            requirements: "xtask/requirements-collaboration.txt",
            modules: "jupyter_server_ydoc, ipykernel",
        },
        minors: 11..=13,
    },
];

/// Requirements of the servers that most tests use.
pub(crate) const JUPYTER_REQUIREMENTS: &str = "xtask/requirements-jupyter.txt";

/// Prepares the environment of Jupyter's own server and kernel gateway. Returns its interpreter.
pub(crate) fn jupyter(workspace: &Workspace) -> Result<PathBuf> {
    let [server, ..] = &SERVERS;
    server.prepare(workspace)?.with_context(|| server.lack())
}

/// Prepares no server: tests that need one are skipped.
pub(crate) fn none() -> ServerSetup {
    let excused = SERVERS.iter().map(|server| (server.excuse, "1".into()));
    ServerSetup { told: excused.collect(), loud: Vec::new() }
}

/// Prepares all servers. Without a matching interpreter, a server is skipped with a warning. A failed installation of
/// packages is an error.
pub(crate) fn prepare(workspace: &Workspace) -> Result<ServerSetup> {
    let mut prepared = ServerSetup { told: Vec::new(), loud: Vec::new() };
    // In parallel, because most of the time is spent waiting for packages.
    let made: Vec<_> = std::thread::scope(|threads| {
        let prepare = |server: &'static Server| threads.spawn(move || server.prepare(workspace));
        let threads: Vec<_> = SERVERS.iter().map(prepare).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    for (server, made) in SERVERS.iter().zip(made) {
        match made.map_err(|_| anyhow!("making {} panicked", server.environment.dir))?? {
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
    fn prepare(&self, workspace: &Workspace) -> Result<Option<PathBuf>> {
        let mut last = None;
        // An interpreter may be too new for a package.
        for base in pythons::newest_first(&self.minors) {
            match self.environment.ensure(workspace, &base) {
                Ok((python, _)) => return Ok(Some(python)),
                Err(error) => {
                    println!("no {} of {}: {error:#}", self.environment.dir, base.display());
                    last = Some(error);
                }
            }
        }
        last.map_or(Ok(None), Err)
    }

    fn lack(&self) -> String {
        let (from, to) = (self.minors.start(), self.minors.end());
        let which = if from == to { format!("3.{from}") } else { format!("3.{from} to 3.{to}") };
        format!(
            "what needs {} is NOT tried: it needs a CPython {which}, and none was found",
            self.environment.modules
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two names of each server must correspond: tests derive one from the other.
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
