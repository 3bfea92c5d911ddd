//! `cargo xtask docs`: writes docs/commands.md from the help texts of the real binary, docs/settings.md from
//! the settings it lists, and docs/tools.md from the tools it offers.
//!
//! Must not know any command, setting or tool by name: the pages show what the binary lists.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::child;
use crate::suite::{self, rules};
use crate::workspace::Workspace;

const COMMANDS: &str = "docs/commands.md";
const SETTINGS: &str = "docs/settings.md";
const TOOLS: &str = "docs/tools.md";
const BINARY: &str = "target/debug/inkcell";
const HEADER: &str = "\
<!-- Generated from the program's own help by `cargo xtask docs`. Do not edit by hand. -->

# Commands
";
const SETTINGS_HEADER: &str = "\
<!-- Generated from `inkcell settings --json` by `cargo xtask docs`. Do not edit by hand. -->

# Settings

A setting is taken from the first of these that has it:

1. its variable: `INKCELL_...`, else the `PI_...` spelling; an empty one counts as absent;
2. the project's file, `.inkcell/config.toml` of the working folder, or inside a git work tree the nearest
one from there up to the root of the tree;
3. your own file, `$XDG_CONFIG_HOME/inkcell/config.toml`, else `~/.config/inkcell/config.toml`;
`INKCELL_CONFIG` names another one;
4. the default. Where an agent's tools and the command line have different ones, both are listed.

An argument of a command or a request counts over all of them. `inkcell settings` lists every setting with its
value and where that comes from; a secret is never shown.

The files are TOML: `python.shell = \"ipython\"`, or `shell` under `[python]`. Names are written as they are
listed here; `toolMode` and `tool_mode` are the same, for every name. A key that does not exist and a value that
is not allowed are errors that name the file and the line, and the nearest key. Switches are `true` and `false`
in a file, `on` and `off` or `1` and `0` in a variable. Lists have commas between their entries in a variable.

A variable is called as its setting, in capitals with `_` between the words: `python.toolMode` is
`INKCELL_PYTHON_TOOL_MODE`. One that begins with `INKCELL_` and is nearly such a name is told in a warning.

What could widen what code may see, lead files or secrets elsewhere, or end what other projects keep, is not
taken from a project's file: it is ignored there with a warning. `python.interpreter` and `python.preload` of a
project's file count for what works inside that project only, and whoever runs code there is told. A relative
`python.interpreter` in a project's file begins at the project's folder.

## Logs and traces

`inkcell mcp` logs warnings to standard error, other commands nothing; `log.level` says how much, `log.file` where.
A line has the time in UTC, the level, the process and what happened:

    2026-03-01T09:30:00.123Z  INFO 4711 call tool=python ms=12 outcome=ok

Three things can be switched on by themselves, on every command: `debug.startup` writes each stage of starting to
standard error (`[startup] settings read at 0.8 ms`), `python.ipc_trace` a line for each message to and from a
kernel, and `log.level` at `debug` or `trace` the places in other libraries where something happened. Nobody is
waited for: where standard error has no room, lines are left out and counted.

Code, arguments, outputs, names of sessions, secrets and the contents of messages are in no line at any level.
";
const TOOLS_HEADER: &str = "\
<!-- Generated from `inkcell mcp --inspect` by `cargo xtask docs`. Do not edit by hand. -->

# Tools

What `inkcell mcp` offers an agent, as its client sees it: first inkcell's own tools, then those of the source
documents (`inkcell mcp --tools compat`; `--tools all` offers both, with one `python`, which is inkcell's own).
`python.toolMode` and `PI_PY` leave out Python or the shell ([settings.md](settings.md)). Each can be called from a
shell: `inkcell tool NAME JSON`.
";
/// Profiles with a page.
const PROFILES: [&str; 2] = ["default", "compat"];
/// The deepest nesting of commands; more means that the binary lists itself.
const MAX_DEPTH: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Write,
    Check,
}

pub(crate) fn run(workspace: &Workspace, mode: Mode) -> Result<()> {
    suite::build(workspace)?;
    let binary = workspace.path(&format!("{BINARY}{}", std::env::consts::EXE_SUFFIX));
    let commands = render(&mut |words| help(&binary, words))?;
    let settings = render_settings(&settings(&binary)?)?;
    let tools = render_tools(&mut |profile| tools(&binary, profile))?;
    // Look at all pages before reporting any.
    let nextest = (rules::NEXTEST_CONFIG, rules::nextest_config());
    let done = [(COMMANDS, commands), (SETTINGS, settings), (TOOLS, tools), nextest]
        .map(|(name, page)| store(&workspace.path(name), name, &page, mode));
    done.into_iter().collect()
}

/// Writes a page, or fails if the page in the tree is out of date.
fn store(path: &Path, name: &str, page: &str, mode: Mode) -> Result<()> {
    let current = match std::fs::read_to_string(path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("cannot read {name}")),
    };
    if current.as_deref() == Some(page) {
        println!("{name} is up to date");
        return Ok(());
    }
    match mode {
        Mode::Check => bail!("{name} is out of date; run: cargo xtask docs"),
        Mode::Write => {
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).context("cannot make the docs folder")?;
            }
            std::fs::write(path, page).with_context(|| format!("cannot write {name}"))?;
            println!("{name} written");
            Ok(())
        }
    }
}

/// Lists the settings of the binary, without the values set on this machine.
fn settings(binary: &Path) -> Result<String> {
    let mut command = Command::new(binary);
    command.args(["settings", "--json"]).current_dir("/").env_clear();
    child::capture(command.env("INKCELL_CONFIG", "/dev/null"))
}

/// Lists the tools of a profile, independent of the Python on this machine.
fn tools(binary: &Path, profile: &str) -> Result<String> {
    let mut command = Command::new(binary);
    command.args(["mcp", "--inspect", "--tools", profile]).current_dir("/").env_clear();
    command.env("INKCELL_CONFIG", "/dev/null").env("INKCELL_PYTHON_SKIP_CHECK", "1");
    child::capture(&mut command)
}

fn render_tools(tools: &mut dyn FnMut(&str) -> Result<String>) -> Result<String> {
    let mut page = TOOLS_HEADER.to_owned();
    for profile in PROFILES {
        let listed = tools(profile)?;
        if !listed.starts_with("## ") || !listed.contains("\n### `") {
            bail!("`inkcell mcp --inspect --tools {profile}` lists no tools");
        }
        page.push('\n');
        page.push_str(&listed);
    }
    Ok(page)
}

#[derive(Deserialize)]
struct Listed {
    settings: Vec<Setting>,
}

#[derive(Deserialize)]
struct Setting {
    name: String,
    allowed: String,
    default: String,
    elsewhere: Vec<Elsewhere>,
    variables: Vec<String>,
    project_file: String,
    about: String,
}

/// A default that differs from the usual one in some environment.
#[derive(Deserialize)]
struct Elsewhere {
    r#where: String,
    default: String,
}

fn render_settings(listed: &str) -> Result<String> {
    let listed: Listed = serde_json::from_str(listed).context("the list of settings")?;
    if listed.settings.is_empty() {
        bail!("`inkcell settings` lists none");
    }
    let mut page = SETTINGS_HEADER.to_owned();
    for setting in listed.settings {
        let Setting { name, allowed, default, elsewhere, variables, project_file, about } = setting;
        let mut default =
            if default.is_empty() { "none".to_owned() } else { format!("`{default}`") };
        for Elsewhere { r#where: place, default: other } in elsewhere {
            default.push_str(&format!("; {place} `{other}`"));
        }
        let variables: Vec<String> =
            variables.iter().map(|variable| format!("`{variable}`")).collect();
        page.push_str(&format!(
            "\n## `{name}`\n\n{about}\n\n- value: {allowed}\n- default: {default}\n- variables: {}\n",
            variables.join(", "),
        ));
        page.push_str(match project_file.as_str() {
            "no" => "- not taken from a project's file\n",
            "told" => "- from a project's file for what works inside the project, and told\n",
            _ => "",
        });
    }
    Ok(page)
}

/// Returns the help of one command. Colour and width are fixed, so that the page does not depend on the
/// terminal.
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
    // The fence must be longer than any fence in the text.
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

/// Lists the names under `Commands:`: lines indented by two blanks. The rest of a long description is
/// indented further. `help` belongs to the parser and says nothing about inkcell.
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
    fn every_setting_has_its_part() {
        let row = |name: &str, default: &str, project_file: &str| {
            serde_json::json!({
                "name": name, "value": 1, "source": "default", "allowed": "on or off",
                "default": default, "elsewhere": [], "variables": ["INKCELL_X", "PI_X"],
                "project_file": project_file, "about": "About it.",
            })
        };
        let mut first = row("a.b", "on", "yes");
        first["elsewhere"] = serde_json::json!([{"where": "on a boat", "default": "off"}]);
        let rows = [first, row("c.d", "", "no"), row("e.f", "", "told")];
        let page = render_settings(&serde_json::json!({"settings": rows}).to_string()).unwrap();
        let parts = page.strip_prefix(SETTINGS_HEADER).unwrap();
        let wanted = "\n## `a.b`\n\nAbout it.\n\n- value: on or off\n- default: `on`; on a boat `off`\n\
                      - variables: `INKCELL_X`, `PI_X`\n\
                      \n## `c.d`\n\nAbout it.\n\n- value: on or off\n- default: none\n\
                      - variables: `INKCELL_X`, `PI_X`\n- not taken from a project's file\n\
                      \n## `e.f`\n\nAbout it.\n\n- value: on or off\n- default: none\n\
                      - variables: `INKCELL_X`, `PI_X`\n\
                      - from a project's file for what works inside the project, and told\n";
        assert_eq!(parts, wanted);
        assert!(render_settings("{\"settings\": []}").is_err());
    }

    #[test]
    fn every_profile_has_its_tools() {
        let page = render_tools(&mut |profile| Ok(format!("## {profile}\n\n### `x`\n"))).unwrap();
        let parts = page.strip_prefix(TOOLS_HEADER).unwrap();
        assert_eq!(parts, "\n## default\n\n### `x`\n\n## compat\n\n### `x`\n");
        assert!(render_tools(&mut |_| Ok("## none\n".to_owned())).is_err());
    }

    #[test]
    fn a_fence_outgrows_the_fences_of_the_text() {
        let page = render(&mut |_| Ok("a\n```\nb\n".to_owned())).unwrap();
        assert!(page.contains("\n````text\na\n```\nb\n````\n"), "{page}");
    }
}
