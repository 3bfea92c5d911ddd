//! What the families of measurements share: their options, the builds, the head of a report and its end.
//!
//! Owns the order of those. Must not know what a family measures.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};

use super::notebook::load;
use super::peers;
use super::report::Goal;
use super::sample::INHERITED;
use super::table::Table;
use crate::child;
use crate::workspace::Workspace;

#[derive(Args)]
pub(super) struct Options {
    /// Smaller counts: to see that it works, not to compare.
    #[arg(long)]
    pub(super) quick: bool,
    /// Where all figures are written [default: FAMILY.json in target/bench].
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Measure the builds that are there, without bringing them up to date.
    #[arg(long)]
    no_build: bool,
    /// End with a failure when a goal is missed.
    #[arg(long)]
    check: bool,
}

/// What a family is called, and what has to be known to read its figures.
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) notes: &'static [&'static str],
}

/// One family's report while it is made.
pub(super) struct Report<'a> {
    family: &'a Family,
    options: &'a Options,
    workspace: &'a Workspace,
    pub(super) missing: Vec<String>,
    versions: Vec<String>,
}

impl<'a> Report<'a> {
    /// Brings the builds up to date, unless that is not wanted.
    pub(super) fn begin(
        family: &'a Family,
        options: &'a Options,
        workspace: &'a Workspace,
    ) -> Result<Report<'a>> {
        let missing = if options.no_build {
            vec!["no build was asked for: ours are the builds that were there".to_owned()]
        } else {
            peers::build(workspace)?
        };
        Ok(Report { family, options, workspace, missing, versions: Vec::new() })
    }

    /// A small program of its own from this crate's examples, brought up to date like the others.
    pub(super) fn example(&self, name: &str) -> Result<PathBuf> {
        if !self.options.no_build {
            let args = ["build", "--profile", "dist", "-p", "xtask", "--example", name];
            child::stream(&mut self.workspace.cargo(args))?;
        }
        Ok(peers::built(self.workspace, &format!("examples/{name}")))
    }

    /// Prints the head: who takes part, who does not, and how busy the machine is.
    pub(super) fn head(&mut self, python: &Path, mut versions: Vec<String>) {
        versions.insert(0, peers::first_line(Command::new(python).arg("--version")));
        println!("\n## {}\n\nVersions: {}. {}", self.family.title, versions.join(", "), load());
        for missing in &self.missing {
            println!("WARNING: {missing}");
        }
        self.versions = versions;
    }

    /// Prints the notes and the goals, and writes everything down.
    pub(super) fn close(self, tables: &[Table]) -> Result<()> {
        let goals: Vec<&Goal> = tables.iter().flat_map(|table| &table.goals).collect();
        let all: Vec<Value> = tables.iter().map(Table::to_json).collect();
        self.close_with(&goals, &json!({"tables": all}))
    }

    /// The same for figures that are in no tables.
    pub(super) fn close_with(self, goals: &[&Goal], figures: &Value) -> Result<()> {
        println!("\nNotes:");
        for note in self.family.notes {
            println!("- {note}");
        }
        if self.options.quick {
            println!("- QUICK: counts are too small for these figures to be compared with a goal.");
        }
        println!("- At the end: {}\n\nGoals:", load());
        for goal in goals {
            println!("{}", goal.line());
        }
        let all: Vec<Value> = goals.iter().map(|goal| goal.to_json()).collect();
        let mut report = json!({"family": self.family.name, "quick": self.options.quick,
            "versions": self.versions, "missing": self.missing, "goals": all});
        for (name, value) in figures.as_object().into_iter().flatten() {
            report[name] = value.clone();
        }
        let default = || self.workspace.path(&format!("target/bench/{}.json", self.family.name));
        let path = self.options.json.clone().unwrap_or_else(default);
        std::fs::write(&path, serde_json::to_string_pretty(&report)? + "\n")
            .with_context(|| format!("cannot write {}", path.display()))?;
        let missed = goals.iter().filter(|goal| !goal.passed()).count();
        if self.options.check && missed > 0 {
            bail!("{missed} of {} goals missed", goals.len());
        }
        Ok(())
    }
}

/// Whether one part of a family is to be measured, given those that were asked for by name.
pub(super) fn is_wanted(asked: &[String], name: &str) -> bool {
    asked.is_empty() || asked.iter().any(|wanted| wanted == name)
}

/// The tables of those parts that are wanted, each printed as soon as it is there.
pub(super) fn measured<M>(
    asked: &[String],
    parts: &[(&str, M)],
    mut measure: impl FnMut(&M) -> Result<Table>,
) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    for (name, part) in parts {
        if !is_wanted(asked, name) {
            continue;
        }
        let before = load();
        let mut table = measure(part).with_context(|| format!("the family {name}"))?;
        table.load = [before, load()];
        table.print();
        tables.push(table);
    }
    Ok(tables)
}

/// Makes the folder of a family anew, with a home, a folder to work in and one for state.
pub(super) fn empty_root(root: &Path) -> Result<()> {
    forget(root)?;
    for dir in ["home", "work", "state"] {
        std::fs::create_dir_all(root.join(dir))?;
    }
    Ok(())
}

pub(super) fn forget(root: &Path) -> Result<()> {
    if root.exists() {
        std::fs::remove_dir_all(root).context("cannot empty the folder of the last run")?;
    }
    Ok(())
}

/// Asks a process of the dist build for figures. Its folder is empty before and gone afterwards.
pub(super) fn ask_host(
    workspace: &Workspace,
    host: &str,
    root: &Path,
    task: &impl Serialize,
) -> Result<Value> {
    empty_root(root)?;
    let env = INHERITED.iter().filter_map(|name| Some((*name, std::env::var(name).ok()?)));
    let host = Command::new(peers::built(workspace, "xtask"))
        .args(["bench", host, &serde_json::to_string(task)?])
        .env_clear()
        .envs(env)
        .env("HOME", root.join("home"))
        .current_dir(root.join("work"))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start the host")?;
    if !host.status.success() {
        bail!("the host failed: {}", host.status);
    }
    let found = serde_json::from_slice(&host.stdout).context("the host's figures")?;
    forget(root)?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_are_wanted_unless_some_are_named() {
        assert!(is_wanted(&[], "trip"));
        assert!(is_wanted(&["trip".to_owned()], "trip"));
        assert!(!is_wanted(&["trip".to_owned()], "output"));
    }

    #[test]
    fn the_folder_of_a_family_is_empty_at_its_beginning() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("family");
        empty_root(&root).unwrap();
        std::fs::write(root.join("work/left"), "").unwrap();
        empty_root(&root).unwrap();
        assert!(root.join("home").is_dir() && !root.join("work/left").exists());
        forget(&root).unwrap();
        assert!(!root.exists());
        forget(&root).unwrap();
    }
}
