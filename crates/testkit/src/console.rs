//! Console blocks of Markdown pages: commands with the output that the page promises, run and compared.
//!
//! Owns the form of a block, the table of what differs between runs, and the rewriting of a page. Must not know which
//! pages there are.
//!
//! In a block of the language `console` a line that begins with `$ ` is a command, lines that begin with `> ` right
//! below it continue it, and the other lines are its output. A block without any output is run only, and its commands
//! must succeed. A block of the language `sh` is a script that must succeed.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use regex::Regex;

use crate::env::{TestEnv, finish};

/// The folder that pages show in place of the one of the test.
const SHOWN_FOLDER: &str = "/home/you/sales";

/// Text that differs between runs: a pattern, and its replacement on both sides of a comparison.
const MASKS: &[(&str, &str)] = &[
    // Versions of notebooks, and ids of artifacts and of calls.
    (r"\b[0-9a-f]{16}\b", "[version]"),
    (r"artifact://[a-z0-9]+", "artifact://[id]"),
    (r"\b(execution|call|result) [a-z0-9]{10}\b", "$1 [id]"),
    // Ids of cells that a command makes.
    (r"\b[0-9a-f]{8}\b", "[cell]"),
    // Times and sizes.
    (r"\b[0-9]+(\.[0-9]+)? ?(ms|s|min|h)\b", "[time]"),
    (r"\b[0-9]+(\.[0-9]+)? ?(KB|MB|GB|KiB|MiB|GiB)\b", "[size]"),
    (r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9:.]+Z?)?", "[date]"),
    // Versions of programs.
    (r"\b(inkcell|Python|CPython) [0-9]+\.[0-9]+\.[0-9]+", "$1 [release]"),
    // Processes and ports.
    (r"\b(process|pid) [0-9]+", "$1 [number]"),
    (r"127\.0\.0\.1:[0-9]+", "127.0.0.1:[port]"),
    // Columns are as wide as their widest entry, and a hidden entry has another width each time.
    (r"[ \t]+", " "),
    (r"─+", "─"),
];

/// A block of a page.
#[derive(Debug, PartialEq, Eq)]
pub enum Block {
    /// Commands, and true if the page shows output.
    Console(Vec<Step>, bool),
    /// A script, which must succeed.
    Script(String),
}

/// A command and the output that the page shows.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    /// The command, with its continuation lines.
    pub command: String,
    /// The lines of output.
    pub shown: Vec<String>,
    /// The first line of output, counted from 0 in the page.
    line: usize,
}

/// Finds the blocks of a page that can be run.
pub fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    let mut fence = "";
    for (at, line) in page.lines().enumerate() {
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
        let language = line.trim_start_matches('`').trim();
        match (&mut open, fence) {
            (None, "") if ticks.len() >= 3 => {
                fence = ticks;
                open = match language {
                    "console" => Some(Block::Console(Vec::new(), false)),
                    "sh" => Some(Block::Script(String::new())),
                    _ => None,
                };
            }
            (_, "") => {}
            (_, opening) if ticks == opening && language.is_empty() => {
                fence = "";
                found.extend(open.take());
            }
            (Some(Block::Script(script)), _) => script.push_str(&format!("{line}\n")),
            (Some(Block::Console(steps, shows)), _) => {
                if let Some(command) = line.strip_prefix("$ ") {
                    let command = command.to_owned();
                    steps.push(Step { command, shown: Vec::new(), line: at + 1 });
                    continue;
                }
                let step = steps.last_mut().expect("a block begins with a command");
                match line.strip_prefix('>') {
                    Some(more) if step.shown.is_empty() => {
                        step.command.push('\n');
                        step.command.push_str(more.strip_prefix(' ').unwrap_or(more));
                        step.line = at + 1;
                    }
                    _ => {
                        *shows = true;
                        step.shown.push(line.to_owned());
                    }
                }
            }
            (None, _) => {}
        }
    }
    found
}

/// Runs the blocks of pages in a private folder, as a reader would.
pub struct Reader {
    env: TestEnv,
    except: &'static [(&'static str, &'static str)],
    python: String,
}

impl Reader {
    /// `except` has beginnings of commands that are not run, each with its reason.
    pub fn new(env: TestEnv, except: &'static [(&'static str, &'static str)]) -> Reader {
        let bin = env.outside("bin");
        std::fs::create_dir(&bin).expect("a folder");
        symlink(env.program(), bin.join("inkcell")).expect("a link");
        let python = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        Reader { env, except, python }
    }

    /// The folder in which the commands run.
    pub fn env(&self) -> &TestEnv {
        &self.env
    }

    /// Runs every block of a page in order. The panic lists each command whose output is not what the page shows; with
    /// `INKCELL_BLESS=1` the page is rewritten instead.
    #[track_caller]
    pub fn check(&self, page: &Path) {
        let text =
            std::fs::read_to_string(page).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
        let mut news = Vec::new();
        let mut wrong = Vec::new();
        for block in blocks(&text) {
            let (steps, shows) = match block {
                Block::Script(script) if self.reason(&script).is_some() => continue,
                Block::Script(script) => {
                    let (is_ok, output) = self.run(&script);
                    if !is_ok {
                        wrong.push(format!("{script}failed:\n{output}"));
                    }
                    continue;
                }
                Block::Console(steps, shows) => (steps, shows),
            };
            for step in steps.iter().filter(|step| self.reason(&step.command).is_none()) {
                let (is_ok, output) = self.run(&step.command);
                if !shows && !is_ok {
                    wrong.push(format!("$ {}\nfailed:\n{output}", step.command));
                }
                let shown = step.shown.join("\n");
                if shows && mask(&shown) != mask(&output) {
                    let (was, now) = (mask(&shown), mask(&output));
                    wrong.push(format!("$ {}\n--- page\n{was}\n--- printed\n{now}", step.command));
                    news.push((step.line, step.shown.len(), output));
                }
            }
        }
        if std::env::var_os("INKCELL_BLESS").is_some() && !news.is_empty() {
            std::fs::write(page, rewritten(&text, &news)).expect("the page can be written");
            return;
        }
        let list = wrong.join("\n\n");
        assert!(wrong.is_empty(), "{}, see docs/contributing/testing.md:\n{list}", page.display());
    }

    /// The reason why a command is not run.
    pub fn reason(&self, command: &str) -> Option<&'static str> {
        self.except.iter().find(|(start, _)| command.starts_with(start)).map(|(_, why)| *why)
    }

    /// True if the command succeeded, and what it wrote, both streams as they came.
    fn run(&self, script: &str) -> (bool, String) {
        let done = finish(self.shell(&format!("exec 2>&1\n{script}")), b"");
        let mut output = done.stdout.trim_end().to_owned();
        let folder = self.env.dir();
        for folder in [folder.canonicalize().expect("a folder"), folder] {
            output = output.replace(&folder.display().to_string(), SHOWN_FOLDER);
        }
        let lines: Vec<&str> = output.lines().map(str::trim_end).collect();
        (done.code == Some(0), lines.join("\n"))
    }

    fn shell(&self, script: &str) -> Command {
        let mut command = self.env.command("sh");
        let inherited = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{inherited}", self.env.outside("bin").display());
        command.args(["-c", script]).env("PATH", path).env("INKCELL_HOST_USE", "on");
        command.env("INKCELL_PYTHON_INTERPRETER", &self.python).env("NO_COLOR", "1");
        command
    }
}

impl Drop for Reader {
    /// Ends the host that commands share.
    fn drop(&mut self) {
        let mut stop = self.shell("inkcell host stop");
        let _ = stop.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// The text with everything replaced that differs between runs.
pub fn mask(text: &str) -> String {
    let mut text = text.to_owned();
    for (pattern, instead) in MASKS {
        let pattern = Regex::new(pattern).expect("a pattern");
        text = pattern.replace_all(&text, *instead).into_owned();
    }
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// The page with new outputs: for each the first line, the number of lines to replace, and the output.
fn rewritten(page: &str, news: &[(usize, usize, String)]) -> String {
    let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
    for (line, count, output) in news.iter().rev() {
        lines.splice(*line..line + count, output.lines().map(str::to_owned));
    }
    lines.join("\n") + "\n"
}

/// Every page below a folder, in order.
pub fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A\n\n```console\n$ one\n> more\nout\n\n> quoted\n$ two\n```\n\n```text\n$ no\n```\n\
                        \n```sh\nthree\n```\n\n````text\n```console\n$ no\n```\n````\n\n```console\n$ four\n```\n";

    #[test]
    fn blocks_have_commands_and_outputs() {
        let step = |command: &str, shown: &[&str], line| Step {
            command: command.to_owned(),
            shown: shown.iter().map(|line| (*line).to_owned()).collect(),
            line,
        };
        let first = vec![step("one\nmore", &["out", "", "> quoted"], 5), step("two", &[], 9)];
        assert_eq!(
            blocks(PAGE),
            [
                Block::Console(first, true),
                Block::Script("three\n".to_owned()),
                Block::Console(vec![step("four", &[], 27)], false),
            ]
        );
    }

    #[test]
    fn outputs_are_put_in_their_place() {
        let news = [(5, 3, "new".to_owned()), (9, 0, "last\nline".to_owned())];
        let page = rewritten(PAGE, &news);
        assert!(page.contains("$ one\n> more\nnew\n$ two\nlast\nline\n```\n"), "{page}");
    }

    #[test]
    fn what_differs_between_runs_is_masked_and_nothing_else() {
        let masked = mask("cell 1  ok   12 ms  Version: 0d50790fe6222035\nab12cd34 1.1 s  \n");
        assert_eq!(masked, "cell 1 ok [time] Version: [version]\n[cell] [time]");
        assert_eq!(mask("print-loop 3 cells, total 60"), "print-loop 3 cells, total 60");
    }
}
