//! The family `build`: measures a build in an empty target folder. It builds a copy of the checkout, without the
//! files that git ignores.
//!
//! Owns the copy, the parser of cargo's own timings, and the goals. Must not touch the checkout or its `target`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use serde::Deserialize;

use super::arena::remove;
use super::family::fail_unless_met;
use super::measure::usage;
use super::table::{Goal, load};
use crate::child;
use crate::workspace::Workspace;

/// The folder for the copy and its target folder.
const FOLDER: &str = "target/bench-build";
/// The file that is edited before the second build: one of the last crate.
const EDITED: &str = "crates/inkcell/src/main.rs";
const SLOWEST: usize = 10;

#[derive(Parser)]
#[command(name = "cargo xtask bench build", bin_name = "cargo xtask bench build")]
struct BuildArgs {
    /// Cargo profiles to build.
    #[arg(long, value_delimiter = ',', default_values = ["release", "dev"])]
    profiles: Vec<String>,
    /// Exit with a failure if a goal is missed.
    #[arg(long)]
    check: bool,
}

/// One build, as cargo reports it.
struct Build {
    wall: f64,
    cpu: f64,
    units: Vec<Unit>,
    bytes: u64,
}

/// One call of the compiler or of a build script.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Unit {
    name: String,
    duration: f64,
}

pub(super) fn run(args: &[String]) -> Result<()> {
    let args = BuildArgs::parse_from(args);
    let workspace = Workspace::find()?;
    let tree = workspace.path(FOLDER).join("tree");
    copy_tracked(&workspace, &tree)?;
    let packages = packages(&tree)?;
    // 39 of them draw SVG (docs/decisions/0014).
    let most = 234.0;
    let mut goals = vec![
        Goal::at_most("packages of `cargo build`", Some(packages.len() as f64), most)
            .counted_in(""),
    ];
    println!("\n## Builds\n\n{} packages. {}", packages.len(), load());
    for profile in &args.profiles {
        // A build of another profile in the same folder would share its build scripts.
        let target = workspace.path(FOLDER).join(profile);
        remove(&target)?;
        let clean = build(&tree, &target, profile)?;
        print!("{}", table(&format!("clean build, profile {profile}"), &clean));
        match profile.as_str() {
            "release" => goals.push(
                Goal::at_most("clean release build", Some(clean.wall / 60.0), 10.0)
                    .counted_in(" min"),
            ),
            "dev" => {
                let edited = build_after_edit(&tree, &target)?;
                println!("\none changed line to a running dev binary: {edited:.1} s");
                goals.push(
                    Goal::at_most("one changed line to a running binary", Some(edited), 15.0)
                        .counted_in(" s"),
                );
            }
            _ => {}
        }
    }
    println!("\nAt the end: {}\n\nGoals:", load());
    goals.iter().for_each(|goal| println!("{}", goal.line()));
    remove(&workspace.path(FOLDER))?;
    fail_unless_met(args.check, &goals)
}

/// Copies the files that git tracks, in their state in the working tree.
fn copy_tracked(workspace: &Workspace, to: &Path) -> Result<()> {
    remove(to)?;
    let mut list = Command::new("git");
    list.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let listed = child::capture(list.current_dir(workspace.root()))?;
    for name in listed.split('\0').filter(|name| !name.is_empty()) {
        let (from, to) = (workspace.path(name), to.join(name));
        if from.is_file() {
            let folder = to.parent().context("a file is in a folder")?;
            std::fs::create_dir_all(folder)?;
            std::fs::copy(&from, &to).with_context(|| name.to_owned())?;
        }
    }
    Ok(())
}

fn cargo(tree: &Path, target: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(tree).env("CARGO_TARGET_DIR", target);
    command
}

/// Lists the packages that the executable is built from.
fn packages(tree: &Path) -> Result<BTreeSet<String>> {
    let mut list = cargo(tree, &tree.join("target"));
    list.args(["tree", "--package", "inkcell", "--edges", "normal,build", "--prefix", "none"]);
    let listed = child::capture(&mut list)?;
    let package = |line: &str| line.split(" (").next().map(str::to_owned);
    Ok(listed.lines().filter(|line| !line.is_empty()).filter_map(package).collect())
}

fn build(tree: &Path, target: &Path, profile: &str) -> Result<Build> {
    let mut command = cargo(tree, target);
    command.args(["build", "--quiet", "--timings", "--profile", profile]).stdin(Stdio::null());
    let (start, before) = (Instant::now(), usage::cost_of_children()?.0);
    child::stream(&mut command)?;
    let (wall, cpu) =
        (start.elapsed().as_secs_f64(), (usage::cost_of_children()?.0 - before) / 1e3);
    let page = std::fs::read_to_string(target.join("cargo-timings/cargo-timing.html"))
        .context("cargo wrote no timings")?;
    let folder = if profile == "dev" { "debug" } else { profile };
    let bytes = std::fs::metadata(target.join(folder).join("inkcell"))?.len();
    Ok(Build { wall, cpu, units: units(&page)?, bytes })
}

/// Parses the units of cargo's page of timings, which contains its figures as JSON.
fn units(page: &str) -> Result<Vec<Unit>> {
    let (_, rest) = page.split_once("UNIT_DATA = ").context("a page without figures")?;
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Vec<Unit>>();
    let mut units = values.next().context("a page without units")??;
    units.sort_by(|a, b| b.duration.total_cmp(&a.duration));
    Ok(units)
}

/// Changes one line of the last crate, builds, and starts the binary.
fn build_after_edit(tree: &Path, target: &Path) -> Result<f64> {
    let file = tree.join(EDITED);
    let mut text = std::fs::read_to_string(&file).with_context(|| EDITED.to_owned())?;
    // A write into a String cannot fail.
    let _ = write!(text, "\n#[used]\nstatic EDITED: u8 = {};\n", text.len() % 251);
    std::fs::write(&file, text)?;
    let start = Instant::now();
    child::stream(cargo(tree, target).args(["build", "--quiet"]).stdin(Stdio::null()))?;
    let version = child::capture(Command::new(target.join("debug/inkcell")).arg("--version"))?;
    let took = start.elapsed().as_secs_f64();
    if !version.starts_with("inkcell") {
        bail!("the binary that was built says {version:?}");
    }
    Ok(took)
}

fn table(title: &str, build: &Build) -> String {
    let mut text = format!(
        "\n### {title}\n\nwall {:.0} s, CPU {:.0} s, {:.2} cores busy, binary {:.1} MB\n\n| crate | s |\n| --- | ---: |\n",
        build.wall,
        build.cpu,
        build.cpu / build.wall,
        build.bytes as f64 / 1e6,
    );
    for unit in build.units.iter().take(SLOWEST) {
        // A write into a String cannot fail.
        let _ = writeln!(text, "| {} | {:.1} |", unit.name, unit.duration);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_from_the_page_the_slowest_first() {
        let page = "<script>const UNIT_DATA = [\n {\"i\": 0, \"name\": \"a\", \"duration\": 1.5, \"sections\": null},\n\
                    {\"i\": 1, \"name\": \"b\", \"duration\": 9.0, \"unlocked_units\": [0]}];\nconst X = 1;";
        let found = units(page).unwrap();
        assert_eq!(found[0], Unit { name: "b".to_owned(), duration: 9.0 });
        assert_eq!(found.len(), 2);
        assert!(units("<html></html>").is_err());
    }

    #[test]
    fn table_names_the_slowest_crates() {
        let units = vec![Unit { name: "inkcell".to_owned(), duration: 12.0 }];
        let text = table("t", &Build { wall: 60.0, cpu: 90.0, units, bytes: 24_000_000 });
        assert!(text.contains("wall 60 s, CPU 90 s, 1.50 cores busy, binary 24.0 MB"), "{text}");
        assert!(text.contains("| inkcell | 12.0 |"), "{text}");
    }
}
