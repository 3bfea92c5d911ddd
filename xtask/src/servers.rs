//! The Python environments with real servers that the tests take kernels from: made once, reused while they fit.
//!
//! Owns `target/test-env-*` of the servers, and by which variable tests find each. Must not know what is tried on
//! them.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::workspace::Workspace;
use crate::{child, python_env, pythons};

/// One kind of server.
struct Server {
    /// What tests are told of it by.
    variable: &'static str,
    dir: &'static str,
    requirements: &'static str,
    /// What must be there to be imported.
    modules: &'static str,
    /// The minor versions of CPython that what is pinned has packages for.
    minors: RangeInclusive<u32>,
}

/// They cannot be one environment: Enterprise Gateway needs older packages than the others.
const SERVERS: [Server; 3] = [
    Server {
        variable: "INKCELL_TEST_JUPYTER_PYTHON",
        dir: "target/test-env-jupyter",
        requirements: JUPYTER_REQUIREMENTS,
        modules: "kernel_gateway, jupyter_server, ipykernel",
        minors: 11..=13,
    },
    Server {
        variable: "INKCELL_TEST_ENTERPRISE_PYTHON",
        dir: "target/test-env-enterprise",
        requirements: "xtask/requirements-enterprise.txt",
        modules: "enterprise_gateway, ipykernel",
        minors: 11..=11,
    },
    Server {
        variable: "INKCELL_TEST_COLLABORATION_PYTHON",
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
    SERVERS[0].prepare(workspace)
}

/// Makes sure of all of them; gives each interpreter with the variable that names it to tests.
pub(crate) fn prepare(workspace: &Workspace) -> Result<Vec<(&'static str, PathBuf)>> {
    let made = |server: &Server| Ok((server.variable, server.prepare(workspace)?));
    SERVERS.iter().map(made).collect()
}

impl Server {
    fn prepare(&self, workspace: &Workspace) -> Result<PathBuf> {
        let Server { dir: name, requirements, .. } = self;
        let dir = workspace.path(name);
        let wanted = std::fs::read_to_string(workspace.path(requirements))
            .with_context(|| format!("cannot read {requirements}"))?;
        let python = python_env::interpreter(&dir);
        if python_env::stamp_matches(&dir, &wanted) && self.answers(&python) {
            println!("{name} fits {requirements}");
            return Ok(python);
        }
        let (from, to) = (self.minors.start(), self.minors.end());
        let base = pythons::newest_of(&self.minors).with_context(|| {
            format!("{name} needs a CPython from 3.{from} to 3.{to}, and none was found")
        })?;
        python_env::install(&base, &dir, &workspace.path(requirements))?;
        if !self.answers(&python) {
            bail!("{name} was made, but `import {}` fails in it", self.modules);
        }
        python_env::stamp(&dir, &wanted)?;
        Ok(python)
    }

    fn answers(&self, python: &std::path::Path) -> bool {
        child::succeeds(Command::new(python).args(["-c", &format!("import {}", self.modules)]))
    }
}

#[cfg(test)]
mod tests {

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
