//! Shared parts of all families of measurements: command line, builds, head and end of a report.
//!
//! Owns the order of those. Must not know what a family measures.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use clap::builder::PossibleValuesParser;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser};
use serde_json::{Map, Value, json};

use super::measure::Size;
use super::peers;
use super::table::{Goal, Table, load};
use crate::child;
use crate::workspace::Workspace;

/// The command line of a family, with options of its own.
#[derive(Parser)]
struct Arguments<E: Args> {
    /// Tables to measure [default: all].
    #[arg(value_name = "FAMILIES")]
    parts: Vec<String>,
    #[command(flatten)]
    extra: E,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub(super) struct Options {
    /// Use smaller counts, to see that it works, not to compare.
    #[arg(long)]
    quick: bool,
    /// Write all figures to this file [default: FAMILY.json in target/bench].
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Measure the existing builds, without updating them.
    #[arg(long)]
    no_build: bool,
    /// Exit with a failure if a goal is missed.
    #[arg(long)]
    check: bool,
}

#[derive(Args)]
pub(super) struct RoundsArg {
    /// Rounds for each table [default: depends on the table].
    #[arg(long, value_name = "N")]
    pub(super) rounds: Option<usize>,
}

/// A family without options of its own.
#[derive(Args)]
pub(super) struct NoArgs {}

/// A family: its name, its parts, and the notes that its figures need.
pub(super) struct Family<M: 'static> {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) parts: &'static [(&'static str, M)],
    pub(super) notes: &'static [&'static str],
}

/// The report of a family in progress.
pub(super) struct Report<M: 'static, E> {
    family: &'static Family<M>,
    pub(super) extra: E,
    asked: Vec<String>,
    options: Options,
    pub(super) workspace: Workspace,
    pub(super) missing: Vec<String>,
    versions: Vec<String>,
    goals: Vec<Goal>,
    tables: Vec<Value>,
    /// Other figures for the JSON file.
    figures: Map<String, Value>,
}

impl<M: 'static> Family<M> {
    fn parse<E: Args>(&self, args: &[String]) -> Result<Arguments<E>, clap::Error> {
        let parts = PossibleValuesParser::new(self.parts.iter().map(|(name, _)| *name));
        let whole = format!("cargo xtask bench {}", self.name);
        let command = Arguments::<E>::command()
            .name(self.name)
            .bin_name(whole)
            .mut_arg("parts", |arg| arg.value_parser(parts));
        Arguments::from_arg_matches(&command.try_get_matches_from(args)?)
    }

    /// Parses the command line and updates the builds, unless an option disables that.
    pub(super) fn begin<E: Args>(&'static self, args: &[String]) -> Result<Report<M, E>> {
        let Arguments { parts, extra, options } =
            self.parse::<E>(args).unwrap_or_else(|wrong| wrong.exit());
        let workspace = Workspace::find()?;
        let missing = if options.no_build {
            vec!["no build was asked for: ours are the builds that were there".to_owned()]
        } else {
            peers::build(&workspace)?
        };
        Ok(Report {
            family: self,
            extra,
            asked: parts,
            options,
            workspace,
            missing,
            versions: Vec::new(),
            goals: Vec::new(),
            tables: Vec::new(),
            figures: Map::new(),
        })
    }

    /// True if a command line is valid for this family.
    #[cfg(test)]
    pub(super) fn accepts<E: Args>(&self, args: &[&str]) -> bool {
        let args = [&[self.name][..], args].concat();
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        self.parse::<E>(&args).is_ok()
    }
}

impl<M: 'static, E> Report<M, E> {
    pub(super) fn is_quick(&self) -> bool {
        self.options.quick
    }

    pub(super) fn size(&self, rounds: Option<usize>, kernels: Option<usize>) -> Size {
        Size { is_quick: self.options.quick, rounds, kernels }
    }

    /// Builds a small program of this crate's examples, like the other builds.
    pub(super) fn example(&self, name: &str) -> Result<PathBuf> {
        if !self.options.no_build {
            let args = ["build", "--profile", "dist", "-p", "xtask", "--example", name];
            child::stream(&mut self.workspace.cargo(args))?;
        }
        Ok(peers::built(&self.workspace, &format!("examples/{name}")))
    }

    /// Prints the head: the contenders, the missing ones, and the load of the machine.
    pub(super) fn head(&mut self, python: &Path, mut versions: Vec<String>) {
        versions.insert(0, peers::first_line(Command::new(python).arg("--version")));
        println!("\n## {}\n\nVersions: {}. {}", self.family.title, versions.join(", "), load());
        for missing in &self.missing {
            println!("WARNING: {missing}");
        }
        self.versions = versions;
    }

    /// Records a value that is in no table.
    pub(super) fn note(&mut self, name: &str, value: Value) {
        self.figures.insert(name.to_owned(), value);
    }

    /// The parts to measure: all, unless the command line names some.
    pub(super) fn wanted(&self) -> impl Iterator<Item = &'static (&'static str, M)> {
        let (asked, parts) = (self.asked.clone(), self.family.parts);
        parts
            .iter()
            .filter(move |(name, _)| asked.is_empty() || asked.iter().any(|wanted| wanted == name))
    }

    pub(super) fn is_asked_for(&self, name: &str) -> bool {
        self.asked.iter().any(|asked| asked == name)
    }

    /// Measures the requested parts, and prints the tables of each as soon as they are ready.
    pub(super) fn measure(
        &mut self,
        mut measure: impl FnMut(&str, &M) -> Result<Vec<Table>>,
    ) -> Result<()> {
        let wanted: Vec<_> = self.wanted().collect();
        for (name, part) in wanted {
            for table in measure(name, part).with_context(|| format!("the family {name}"))? {
                table.print();
                self.tables.push(table.to_json());
                self.goals.extend(table.goals);
            }
        }
        Ok(())
    }

    pub(super) fn add_goals(&mut self, goals: Vec<Goal>) {
        self.goals.extend(goals);
    }

    /// Prints the notes and the goals, and writes all figures to the file.
    pub(super) fn close(self) -> Result<()> {
        println!("\nNotes:");
        for note in self.family.notes {
            println!("- {note}");
        }
        if self.options.quick {
            println!("- QUICK: counts are too small for these figures to be compared with a goal.");
        }
        println!("- At the end: {}\n\nGoals:", load());
        for goal in &self.goals {
            println!("{}", goal.line());
        }
        let all: Vec<Value> = self.goals.iter().map(Goal::to_json).collect();
        let mut report = json!({"family": self.family.name, "quick": self.options.quick,
            "versions": self.versions, "missing": self.missing, "goals": all});
        if !self.tables.is_empty() {
            report["tables"] = self.tables.into();
        }
        for (name, value) in self.figures {
            report[name] = value;
        }
        let default = || self.workspace.path(&format!("target/bench/{}.json", self.family.name));
        let path = self.options.json.clone().unwrap_or_else(default);
        std::fs::write(&path, serde_json::to_string_pretty(&report)? + "\n")
            .with_context(|| format!("cannot write {}", path.display()))?;
        fail_unless_met(self.options.check, &self.goals)
    }
}

/// Fails if goals are missed and the command should check them.
pub(super) fn fail_unless_met(check: bool, goals: &[Goal]) -> Result<()> {
    let missed = goals.iter().filter(|goal| !goal.passed()).count();
    if check && missed > 0 {
        bail!("{missed} of {} goals missed", goals.len());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    static FAMILY: Family<usize> =
        Family { name: "test", title: "", parts: &[("trip", 1), ("output", 2)], notes: &[] };

    fn wanted(asked: &[&str]) -> Vec<usize> {
        let args: Vec<String> =
            ["test", "--no-build"].iter().chain(asked).map(ToString::to_string).collect();
        let report = FAMILY.begin::<RoundsArg>(&args).unwrap();
        report.wanted().map(|(_, part)| *part).collect()
    }

    #[test]
    fn all_parts_are_wanted_unless_some_are_named() {
        assert_eq!(wanted(&[]), [1, 2]);
        assert_eq!(wanted(&["output", "--quick"]), [2]);
    }

    #[test]
    fn only_parts_that_exist_can_be_asked_for() {
        assert!(FAMILY.accepts::<RoundsArg>(&["trip", "output", "--rounds", "3"]));
        assert!(!FAMILY.accepts::<RoundsArg>(&["trips"]));
        assert!(!FAMILY.accepts::<NoArgs>(&["--rounds", "3"]));
    }
}
