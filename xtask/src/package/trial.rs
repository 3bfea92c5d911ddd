//! The wheel of the release build, as a stranger meets it: installed into an empty environment, with an empty home.
//! Every command of README.md runs from it as it is written.
//!
//! Owns which lines of README.md are commands, and which of them run elsewhere. Must not know what they do.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use super::plugin::with_wheel_alone;
use super::sandbox::Sandbox;
use super::{pre_commit, wheel};
use crate::workspace::Workspace;
use crate::{child, python_env};

/// The notebook that stands for each one that a command of README.md names. Its cell 3 contains `mean`.
const REPORT: &str = include_str!("../../../examples/report.ipynb");

/// The data that it reads.
const SALES: &str = include_str!("../../../examples/sales.csv");

/// The time limit of `uvx --from WHEEL inkcell run` of the tour, from an empty cache.
const UVX_LIMIT: Duration = Duration::from_secs(3);

/// The number of tries: the machine may be busy with something else.
const UVX_TRIES: usize = 3;

/// Beginnings of commands that do not run here, each with the reason.
const ELSEWHERE: [(&str, &str); 11] = [
    ("cargo ", "it compiles; the stages before this one run it"),
    ("cd ", "the folder comes from git clone"),
    ("claude ", "another program; the plugin starts what is behind the dashes"),
    ("code ", "another program; the links hold the same entry"),
    ("git clone ", "it needs the network"),
    ("inkcell attach", "it stays until its session ends; it/attach_terminal.rs types in it"),
    ("inkcell mcp", "it stays until its client goes; cargo xtask package starts it with one"),
    ("inkcell repl", "it needs a terminal; it/repl.rs types in it"),
    ("inkcell tui", "it needs a terminal; it/tui.rs types in it"),
    ("pip install ", "this stage installs the wheel itself"),
    ("uv tool install ", "this stage calls uvx with the wheel"),
];

/// Packs the release build, installs it, and runs what README.md shows.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let start = Instant::now();
    let packed = wheel::of_release(workspace)?;
    println!("packing took {:.1} s", start.elapsed().as_secs_f64());
    let first = Sandbox::new(&[])?;
    let program = wheel::install(&first, &packed)?;
    let same = std::fs::read(&program)? == std::fs::read(workspace.path("target/release/inkcell"))?;
    ensure!(same, "the wheel holds another binary than target/release/inkcell");

    let sandbox = Sandbox::new(&[program.parent().context("a program is in a folder")?])?;
    let folder = sandbox.folder();
    let examples = folder.join("examples");
    for entry in std::fs::read_dir(workspace.path("examples"))? {
        super::workshop::copy_into(&entry?.path(), &examples)?;
    }
    let commands = commands(&std::fs::read_to_string(workspace.path("README.md"))?);
    let tour = "inkcell run examples/tour.ipynb -o target/tour.ipynb";
    std::fs::create_dir(folder.join("target"))?;
    let lines: Vec<&str> =
        std::iter::once(tour).chain(commands.iter().map(String::as_str)).collect();
    for path in lines.iter().flat_map(|line| notebooks(line)) {
        provide(&folder.join(path))?;
    }
    pre_commit::commit(&folder)?;
    for line in &lines {
        match reason(line) {
            Some(why) => println!("not here: {line} ({why})"),
            None => child::stream(&mut sandbox.shell(line))?,
        }
    }
    time_uvx(workspace, &packed, &examples.join("tour.ipynb"))
}

/// The command lines of a page: what stands behind `$ ` in its console blocks.
fn commands(page: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let (mut is_console, mut goes_on) = (false, false);
    for line in page.lines() {
        if let Some(kind) = line.trim_start().strip_prefix("```") {
            (is_console, goes_on) = (kind.trim() == "console", false);
        } else if is_console && goes_on {
            goes_on = line.ends_with('\\');
            if let Some(last) = commands.last_mut() {
                last.push('\n');
                last.push_str(line);
            }
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| is_console) {
            goes_on = command.ends_with('\\');
            commands.push(command.trim_end().to_owned());
        }
    }
    commands
}

/// The reason why a command does not run here.
fn reason(command: &str) -> Option<&'static str> {
    ELSEWHERE.iter().find(|(begin, _)| command.starts_with(begin)).map(|(_, why)| *why)
}

/// The notebooks that a command reads: those that it does not make.
fn notebooks(command: &str) -> Vec<&str> {
    let command = command.split(" #").next().unwrap_or(command);
    let words: Vec<&str> = command.split_whitespace().collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |before| words[before]);
        let path = word.trim_matches(['\'', '"']);
        let path = path.split_once(".ipynb:").map_or(path, |(stem, _)| &path[..stem.len() + 6]);
        if path.ends_with(".ipynb") && !["-o", "--output", "new"].contains(&before) {
            found.push(path);
        }
    }
    found
}

/// Puts a notebook where a command looks for one. A pattern finds two.
fn provide(path: &Path) -> Result<()> {
    let is_pattern = |path: &Path| path.to_string_lossy().contains('*');
    if is_pattern(path) {
        let folder = path.ancestors().find(|folder| !is_pattern(folder));
        let folder = folder.context("a pattern is in a folder")?;
        return ["first.ipynb", "second.ipynb"]
            .iter()
            .try_for_each(|name| provide(&folder.join(name)));
    }
    if path.exists() {
        return Ok(());
    }
    put_report(path)
}

/// Writes the notebook, with its data beside it.
pub(super) fn put_report(path: &Path) -> Result<()> {
    let folder = path.parent().context("a notebook is in a folder")?;
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("sales.csv"), SALES)?;
    std::fs::write(path, REPORT).with_context(|| format!("cannot write {}", path.display()))
}

/// Times the first run of a user who has uv and the wheel, and nothing else.
fn time_uvx(workspace: &Workspace, wheel: &Path, tour: &Path) -> Result<()> {
    let uvx: PathBuf = python_env::uv(workspace)?.with_file_name("uvx");
    let mut quickest = Duration::MAX;
    for _ in 0..UVX_TRIES {
        let sandbox = Sandbox::new(&[])?;
        let mut run: Command = with_wheel_alone(sandbox.command(&uvx), wheel);
        run.args(["--quiet", "--from"]).arg(wheel).args(["inkcell", "run"]).arg(tour);
        run.args(["-o", "out.ipynb", "--quiet"]);
        let start = Instant::now();
        let said = child::capture(&mut run)?;
        quickest = quickest.min(start.elapsed());
        ensure!(sandbox.folder().join("out.ipynb").is_file(), "uvx wrote no notebook: {said}");
        if quickest <= UVX_LIMIT {
            println!("uvx: {:.1} s from an empty cache to the outputs", quickest.as_secs_f64());
            return Ok(());
        }
    }
    bail!("uvx took {:.1} s, and {} are allowed", quickest.as_secs_f64(), UVX_LIMIT.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_stand_in_console_blocks() {
        let page = "\
$ not a block
```
$ inkcell not-console
```
- a list
```console
$ inkcell run a.ipynb   # runs it
Ran 3 cells
$ inkcell run a.ipynb \\
    -o b.ipynb
```
";
        assert_eq!(
            commands(page),
            ["inkcell run a.ipynb   # runs it", "inkcell run a.ipynb \\\n    -o b.ipynb"]
        );
    }

    #[test]
    fn notebooks_that_a_command_makes_are_not_provided() {
        assert_eq!(notebooks("inkcell run a.ipynb -o out/b.ipynb # c.ipynb"), ["a.ipynb"]);
        assert_eq!(notebooks("inkcell new a.ipynb && inkcell read 'nb/*.ipynb'"), ["nb/*.ipynb"]);
        assert_eq!(notebooks("inkcell read report.ipynb:10-20"), ["report.ipynb"]);
    }

    /// A line that neither is inkcell's nor has a reason would run something unknown.
    #[test]
    fn every_command_of_the_readme_is_known() {
        let readme = include_str!("../../../README.md");
        let unknown: Vec<String> = commands(readme)
            .into_iter()
            .filter(|line| !line.starts_with("inkcell ") && reason(line).is_none())
            .collect();
        assert!(unknown.is_empty(), "{unknown:#?}");
    }

    #[test]
    fn a_pattern_finds_two_notebooks_beside_their_data() {
        let dir = tempfile::tempdir().unwrap();
        provide(&dir.path().join("nb/*.ipynb")).unwrap();
        provide(&dir.path().join("nb/first.ipynb")).unwrap();
        let names = inkcell_testkit::env::names_in(&dir.path().join("nb"));
        assert_eq!(names, ["first.ipynb", "sales.csv", "second.ipynb"]);
    }
}
