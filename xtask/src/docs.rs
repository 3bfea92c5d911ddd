//! `cargo xtask docs`: docs/commands.md, written from the help texts of the real binary.
//!
//! Must not know any command by name: what the binary lists is what the page shows.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::child;
use crate::workspace::Workspace;

const PAGE: &str = "docs/commands.md";
const BINARY: &str = "target/debug/inkcell";
const HEADER: &str = "\
<!-- Generated from the program's own help by `cargo xtask docs`. Do not edit by hand. -->

# Commands
";
/// Deeper nesting than this is a binary that lists itself.
const MAX_DEPTH: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Write,
    Check,
}

pub(crate) fn run(workspace: &Workspace, mode: Mode) -> Result<()> {
    child::stream(&mut workspace.cargo(["build", "--quiet", "--package", "inkcell"]))?;
    let binary = workspace.path(&format!("{BINARY}{}", std::env::consts::EXE_SUFFIX));
    let page = render(&mut |words| help(&binary, words))?;
    let path = workspace.path(PAGE);
    let current = match std::fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("cannot read {PAGE}")),
    };
    if current.as_deref() == Some(page.as_str()) {
        println!("{PAGE} is up to date");
        return Ok(());
    }
    match mode {
        Mode::Check => bail!("{PAGE} is out of date; run: cargo xtask docs"),
        Mode::Write => {
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).context("cannot make the docs folder")?;
            }
            std::fs::write(&path, page).with_context(|| format!("cannot write {PAGE}"))?;
            println!("{PAGE} written");
            Ok(())
        }
    }
}

/// The help of one command. Colour and width are fixed, so that the page does not depend on the
/// terminal it was made in.
fn help(binary: &Path, words: &[String]) -> Result<String> {
    let mut command = Command::new(binary);
    command.args(words).arg("--help").env("NO_COLOR", "1").env("COLUMNS", "100");
    child::capture(&mut command)
}

fn render(help: &mut dyn FnMut(&[String]) -> Result<String>) -> Result<String> {
    let mut page = HEADER.to_owned();
    append(&mut page, &mut Vec::new(), help)?;
    Ok(page)
}

fn append(
    page: &mut String,
    words: &mut Vec<String>,
    help: &mut dyn FnMut(&[String]) -> Result<String>,
) -> Result<()> {
    let name = std::iter::once("inkcell")
        .chain(words.iter().map(String::as_str))
        .collect::<Vec<_>>()
        .join(" ");
    if words.len() > MAX_DEPTH {
        bail!("`{name}` is nested too deep");
    }
    let text = help(words)?;
    let text = text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    let text = text.trim_matches('\n');
    if text.is_empty() {
        bail!("`{name} --help` printed nothing");
    }
    // A fence has to be longer than any the text itself holds.
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    page.push_str(&format!("\n## `{name}`\n\n{fence}text\n{text}\n{fence}\n"));
    for command in listed_commands(text) {
        words.push(command);
        append(page, words, help)?;
        words.pop();
    }
    Ok(())
}

/// The names under `Commands:`: lines indented by two blanks. A description that goes on below its
/// command is indented further. `help` is the parser's own and says nothing about inkcell.
fn listed_commands(help: &str) -> Vec<String> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| line.is_empty() || line.starts_with(' '))
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|rest| !rest.starts_with(' '))
        .filter_map(|rest| rest.split([' ', ',']).next())
        .filter(|name| !name.is_empty() && *name != "help")
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: &str = "\
Edits notebooks.

Usage: inkcell <COMMAND>

Commands:
  read  Show a notebook  \n  cell  Change cells,
          one at a time
  help  Print this message

Options:
  -h, --help  Print help
";

    #[test]
    fn commands_are_read_from_their_section_alone() {
        assert_eq!(listed_commands(TOP), ["read", "cell"]);
        assert_eq!(listed_commands("Usage: x\n\nOptions:\n  -h  Help\n"), Vec::<String>::new());
    }

    #[test]
    fn nested_commands_follow_their_parent() {
        let page = render(&mut |words| {
            Ok(match words.join(" ").as_str() {
                "" => TOP.to_owned(),
                "cell" => "Usage: cell\n\nCommands:\n  add  Add one\n".to_owned(),
                other => format!("Usage: {other}\n"),
            })
        })
        .unwrap();
        assert!(page.starts_with(HEADER));
        let titles: Vec<_> = page.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(
            titles,
            ["## `inkcell`", "## `inkcell read`", "## `inkcell cell`", "## `inkcell cell add`"]
        );
        assert!(!page.lines().any(|line| line.ends_with(' ')), "{page}");
    }

    #[test]
    fn a_silent_or_endless_binary_is_refused() {
        assert!(render(&mut |_| Ok(String::new())).is_err());
        assert!(render(&mut |_| Ok("Commands:\n  again  x\n".to_owned())).is_err());
    }

    #[test]
    fn a_fence_outgrows_the_fences_of_the_text() {
        let page = render(&mut |_| Ok("a\n```\nb\n".to_owned())).unwrap();
        assert!(page.contains("\n````text\na\n```\nb\n````\n"), "{page}");
    }
}
