//! `cargo xtask site`: builds the pages of docs into `target/site`, strictly.
//!
//! A dead link, a link to a missing heading, and a page that the navigation of mkdocs.yml does not name fail the build.
//! Must not know any page.

use std::process::Command;

use anyhow::Result;

use crate::child;
use crate::python_env::{self, Environment};
use crate::workspace::Workspace;

const SITE_ENV: Environment<'_> = Environment {
    dir: "target/site-env",
    requirements: "xtask/requirements-site.txt",
    modules: "mkdocs, material",
};

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let (python, _) = SITE_ENV.ensure(workspace, &python_env::base_python()?)?;
    let mut build = Command::new(python);
    build.args(["-m", "mkdocs", "build", "--strict", "--quiet", "--clean"]);
    // Its theme prints an advertisement otherwise.
    build.env("NO_MKDOCS_2_WARNING", "1");
    child::stream_to_stdout(build.current_dir(workspace.root()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_requirement_is_pinned() {
        let text = include_str!("../requirements-site.txt");
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let loose: Vec<_> = lines.filter(|line| line.split("==").count() != 2).collect();
        assert!(loose.is_empty(), "{loose:?}");
    }
}
