//! The prompt at a terminal: typed keys, and the screen afterwards.

use std::process::Command;

use inkcell_testkit::env::{TestEnv, finish};
use inkcell_testkit::pty::{Pty, Size, USUAL};

use crate::env;

/// A prompt in an environment of its own. Dropping it ends its host.
struct Prompt {
    env: TestEnv,
    pty: Pty,
}

fn command(env: &TestEnv, host: &str, args: &[&str]) -> Command {
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let mut command = env.inkcell();
    command.args(args).env("INKCELL_PYTHON_INTERPRETER", python).env("INKCELL_HOST_USE", host);
    command
}

impl Prompt {
    fn new() -> Prompt {
        Prompt::at("off", USUAL)
    }

    fn at(host: &str, size: Size) -> Prompt {
        let env = env();
        let pty = Pty::start(command(&env, host, &["repl"]), size);
        let mut prompt = Prompt { env, pty };
        prompt.ready();
        prompt
    }

    /// Waits until the prompt is the last text on the screen, with the cursor behind it.
    #[track_caller]
    fn ready(&mut self) {
        self.pty.wait_until("a prompt", |screen| {
            let (row, column) = screen.cursor_position();
            let line = screen.rows(0, 200).nth(usize::from(row)).unwrap_or_default();
            line.trim_end() == ">>>" && column == 4
        });
    }

    /// Types a cell and waits for the next prompt.
    #[track_caller]
    fn cell(&mut self, keys: &str) {
        self.pty.send(keys);
        self.pty.send("\r");
        // The current prompt changes as soon as keys are typed.
        let first = keys.split('\r').next().unwrap_or_default().to_owned();
        self.pty.wait_for(&first);
        self.ready();
    }

    /// Types lines with Enter behind each, without blanks of their own, and waits for the next prompt. Checks the
    /// column at which each further line begins.
    #[track_caller]
    fn lines(&mut self, lines: &[(u16, &str)]) {
        for (number, (column, line)) in lines.iter().enumerate() {
            if number > 0 {
                let what = format!("line {number} at column {column}");
                self.pty.wait_until(&what, |screen| {
                    let (row, at) = screen.cursor_position();
                    let line = screen.rows(0, 200).nth(usize::from(row)).unwrap_or_default();
                    line.trim_end() == "..." && at == 4 + column
                });
            }
            for key in line.chars() {
                self.pty.send(&key.to_string());
            }
            self.pty.send("\r");
        }
        self.ready();
    }

    fn text(&self) -> String {
        self.pty.text()
    }

    fn leave(&mut self) {
        self.pty.send("\u{4}");
        assert!(self.pty.end().success(), "{}", self.text());
        assert!(!self.pty.is_raw(), "the terminal is as it was");
    }
}

impl Drop for Prompt {
    fn drop(&mut self) {
        let mut stop = command(&self.env, "on", &["host", "stop"]);
        let _ = stop.output();
    }
}

/// Issue 9, B:T-20: cells of one line and of several, results, errors, and the end.
#[test]
fn cells_are_typed_and_shown() {
    let mut prompt = Prompt::new();
    prompt.cell("6 * 7");
    assert!(prompt.text().contains(">>> 6 * 7\n  42\n"), "{}", prompt.text());
    // An open bracket and a block go on in the next line; an empty line ends the block.
    prompt.cell("x = [1,\r2]");
    prompt.pty.send("for i in x:\r    print('item', i)\r\r");
    prompt.pty.wait_for("item 2");
    prompt.ready();
    let shown = prompt.text();
    assert!(shown.contains(">>> for i in x:\n...     print('item', i)\n"), "{shown}");
    prompt.cell("1 / 0");
    prompt.pty.wait_for("ZeroDivisionError: division by zero");
    prompt.cell("print('x' * 3)");
    assert!(prompt.text().contains("\n  xxx\n"), "{}", prompt.text());
    prompt.leave();
}

/// Issue 24: code that is typed as people do, line by line, is indented by the prompt and runs.
#[test]
fn code_typed_line_by_line_is_indented() {
    let mut prompt = Prompt::at("off", Size { rows: 100, columns: 80 });
    prompt.lines(&[
        (0, "def double(x):"),
        (4, "y = 2 * x"),
        (4, "# twice"),
        (4, "return y"),
        (0, ""),
    ]);
    prompt.lines(&[
        (0, "class Box:"),
        (4, "def put(self, it):"),
        (8, "self.it = it"),
        (8, "return self"),
        (4, "def get(self):"),
        (8, "return self.it"),
        (4, ""),
    ]);
    prompt.cell("print('box', Box().put(double(4)).get())");
    prompt.pty.wait_for("\n  box 8\n");
    prompt.lines(&[
        (0, "def loud(f):"),
        (4, "def g(*a):"),
        (8, "return f'{f(*a)}!'"),
        (4, "return g"),
        (0, ""),
    ]);
    prompt.lines(&[(0, "@loud"), (0, "def seven():"), (4, "return 7"), (0, "")]);
    prompt.cell("print(seven())");
    prompt.pty.wait_for("\n  7!\n");
    assert!(!prompt.text().contains("Error"), "{}", prompt.text());
    let typed = ">>> class Box:\n...     def put(self, it):\n...         self.it = it\n";
    assert!(prompt.text().contains(typed), "{}", prompt.text());
    prompt.leave();
}

/// Issue 24: clauses go back to their statement, brackets and strings are continued.
#[test]
fn clauses_brackets_and_strings_are_continued() {
    let mut prompt = Prompt::at("off", Size { rows: 120, columns: 80 });
    prompt.lines(&[
        (0, "if 1 > 2:"),
        (4, "print('more')"),
        (4, "else:"),
        (4, "print('less')"),
        (4, ""),
    ]);
    prompt.pty.wait_for("\n  less\n");
    prompt.lines(&[
        (0, "try:"),
        (4, "1 / 0"),
        (4, "except ZeroDivisionError:"),
        (4, "print('caught')"),
        // One Backspace takes a level away.
        (4, "\u{7f}finally:"),
        (4, "print('after')"),
        (4, ""),
    ]);
    prompt.pty.wait_for("\n  caught\n  after\n");
    prompt.lines(&[(0, "x = {"), (4, "'a': [1,"), (10, "2],"), (4, "'b': 3,"), (4, "}")]);
    prompt.lines(&[(0, "s = '''one"), (0, "two"), (0, "'''")]);
    prompt.cell("print(x, repr(s))");
    prompt.pty.wait_for("{'a': [1, 2], 'b': 3} 'one\\ntwo\\n'");
    // An empty line ends a block, as in IPython.
    prompt.lines(&[(0, "for i in range(2):"), (4, "print('i', i)"), (4, "")]);
    prompt.pty.wait_for("\n  i 0\n  i 1\n");
    // Blanks that are typed by hand are not added to those of the prompt.
    prompt.cell("for i in range(2):\r    j = i\r    print('j', j)\r");
    prompt.pty.wait_for("\n  j 0\n  j 1\n");
    assert!(!prompt.text().contains("(exit 1)"), "{}", prompt.text());
    // A mistake is reported as Python reports it.
    prompt.lines(&[(0, "if x:"), (4, ""), (4, "")]);
    prompt.pty.wait_for("IndentationError: expected an indented block");
    prompt.leave();
}

/// Issue 24: what is pasted stays as it is.
#[test]
fn pasted_block_keeps_its_indentation() {
    let mut prompt = Prompt::at("off", Size { rows: 60, columns: 80 });
    let block = "def f(x):\r    if x:\r        return 'yes'\r\r    return 'no'\r";
    prompt.pty.send(&format!("\u{1b}[200~{block}\u{1b}[201~"));
    prompt.pty.wait_for("...     return 'no'\n...");
    prompt.pty.send("\r");
    prompt.ready();
    prompt.cell("print(f(1), f(0))");
    prompt.pty.wait_for("\n  yes no\n");
    // A block with an indentation of its own replaces that of the line.
    prompt.pty.send("class A:\r");
    prompt.pty.wait_for(">>> class A:\n...");
    let method = "    def m(self):\r        return 'in A'";
    prompt.pty.send(&format!("\u{1b}[200~{method}\u{1b}[201~"));
    prompt.pty.wait_for("...     def m(self):\n...         return 'in A'");
    prompt.pty.send("\r\r");
    prompt.ready();
    prompt.cell("print(A().m())");
    prompt.pty.wait_for("\n  in A\n");
    assert!(!prompt.text().contains("Error"), "{}", prompt.text());
    prompt.leave();
}

/// Issue 24: a kernel that does not exist ends the command, with one hint, before there is a prompt.
#[test]
fn missing_kernel_is_reported_before_the_prompt() {
    let env = env();
    for (host, args) in [
        ("off", ["repl", "--kernel", "nosuch"]),
        ("on", ["repl", "--kernel", "nosuch"]),
        ("off", ["repl", "--python", "/nosuch/python"]),
        ("on", ["repl", "--python", "/nosuch/python"]),
    ] {
        let mut pty = Pty::start(command(&env, host, &args), Size { rows: 24, columns: 250 });
        let code = pty.end().code();
        assert!(code.is_some_and(|code| code != 0), "{args:?}");
        let text = pty.text();
        let lines: Vec<&str> = text.trim_end().lines().collect();
        assert_eq!(lines.len(), 2, "{args:?}: {text}");
        assert!(lines[0].starts_with("error: ") && lines[0].contains("nosuch"), "{text}");
        assert!(lines[1].starts_with("hint: "), "{text}");
        let piped = finish(command(&env, host, &args), b"print(1)\n");
        assert_eq!((piped.code, piped.stdout.as_str()), (code, ""), "{args:?}");
        assert_eq!(piped.stderr.matches("error: ").count(), 1, "{}", piped.stderr);
    }
}

/// Issue 24: a Python from the settings that does not work is reported before the prompt, too.
#[test]
fn broken_python_is_reported_before_the_prompt() {
    let env = env();
    let mut command = command(&env, "off", &["repl"]);
    command.env("INKCELL_PYTHON_INTERPRETER", "/nosuch/python");
    let mut pty = Pty::start(command, Size { rows: 24, columns: 250 });
    assert!(!pty.end().success());
    assert!(pty.text().starts_with("error: "), "{}", pty.text());
    assert!(!pty.text().contains(">>>"), "{}", pty.text());
}

/// Issue 9: input for code is typed; passwords are not shown; Python's own debugger works.
#[test]
fn code_asks_and_a_person_answers() {
    let mut prompt = Prompt::new();
    prompt.pty.send("name = input('who? '); print('hi', name)\r");
    prompt.pty.wait_for("\nwho? ");
    prompt.pty.send("Ada\r");
    prompt.pty.wait_for("\n  hi Ada");
    prompt.ready();
    assert!(prompt.text().contains("\nwho? Ada\n  hi Ada\n"), "{}", prompt.text());
    prompt.pty.send("import getpass; len(getpass.getpass('key: '))\r");
    prompt.pty.wait_for("\nkey: ");
    prompt.pty.send("s3cret\r");
    prompt.ready();
    prompt.pty.wait_for("\n  6\n");
    assert!(!String::from_utf8_lossy(prompt.pty.seen()).contains("s3cret"));
    // Alt-Enter runs a block without an empty line behind it.
    prompt.pty.send("for i in [7]: print('seven', i)\u{1b}\r");
    prompt.pty.wait_for("\n  seven 7");
    prompt.ready();
    prompt.leave();
}

/// Issue 9: a debugger in a cell, on the screen.
#[test]
fn a_breakpoint_is_worked_with() {
    let mut prompt = Prompt::new();
    prompt.cell("def work():\r    value = 41\r    breakpoint()\r    return value\r");
    prompt.pty.send("work()\r");
    prompt.pty.wait_for("(Pdb)");
    prompt.pty.send("p value + 1\r");
    prompt.pty.wait_for("(Pdb) p value + 1\n  42\n(Pdb)");
    prompt.pty.send("c\r");
    prompt.pty.wait_for("\n  41\n>>>");
    prompt.leave();
}

/// Issue 9: Ctrl-C interrupts the cell, also one that waits for a line, and never the prompt; escape does the same.
#[test]
fn a_cell_is_interrupted_and_the_prompt_is_not() {
    let mut prompt = Prompt::new();
    prompt.cell("import time; kept = 1");
    for (code, key) in [
        ("print('go'); time.sleep(600)", "\u{3}"),
        ("print('go'); time.sleep(601)", "\u{1b}"),
        ("print('go'); input('never? ')", "\u{3}"),
    ] {
        prompt.pty.send(code);
        prompt.pty.send("\r");
        let wanted = if code.contains("never") { "\nnever? " } else { "\n  go\n" };
        prompt.pty.wait_for(wanted);
        prompt.pty.send(key);
        prompt.pty.wait_for("(cancelled)");
        prompt.ready();
        prompt.pty.send("\u{c}");
        prompt.pty.wait_gone("(cancelled)");
        prompt.ready();
    }
    // At the prompt it discards the typed text.
    prompt.pty.send("not wanted");
    prompt.pty.wait_for("not wanted");
    prompt.pty.send("\u{3}");
    prompt.ready();
    prompt.cell("print('kept', kept)");
    prompt.pty.wait_for("\n  kept 1");
    prompt.leave();
}

/// Issue 9: names and signatures come from the kernel; the Tab key indents an empty line.
#[test]
fn the_kernel_completes_and_explains() {
    let mut prompt = Prompt::new();
    prompt.cell("unmistakable_name = 5");
    prompt.pty.send("unmistak\t");
    prompt.pty.wait_until("the whole name", |screen| {
        screen.contents().trim_end().ends_with(">>> unmistakable_name")
    });
    prompt.pty.send(" + 1\r");
    prompt.pty.wait_for("\n  6\n");
    prompt.ready();
    prompt.cell("def helped(a, b=2):\r\t\"\"\"Explains itself.\"\"\"\r");
    prompt.cell("helped?");
    prompt.pty.wait_for("helped(a, b=2)");
    prompt.pty.wait_for("\nExplains itself.");
    prompt.cell(":help");
    prompt.pty.wait_for(":save FILE.ipynb");
    prompt.leave();
}

/// Issue 9: typed cells are remembered from one prompt to the next, and executed ones are saved.
#[test]
fn a_prompt_remembers_and_saves() {
    let mut prompt = Prompt::new();
    prompt.cell("remembered = 21");
    prompt.cell("print(remembered * 2)");
    prompt.cell(":save work.ipynb");
    prompt.pty.wait_for("Saved 2 cells to work.ipynb.");
    prompt.leave();
    let notebook: serde_json::Value =
        serde_json::from_slice(&prompt.env.get("work.ipynb")).expect("JSON");
    assert_eq!(notebook["cells"][1]["outputs"][0]["text"][0], "42\n");
    let mut again = Pty::start(command(&prompt.env, "off", &["repl"]), USUAL);
    again.wait_for(":help");
    again.wait_for("\n>>>");
    again.send("\u{1b}[A\u{1b}[A\u{1b}[A");
    again.wait_for(">>> remembered = 21");
    again.send("\u{3}");
    again.wait_until("an empty prompt", |screen| screen.contents().trim_end().ends_with(">>>"));
    again.send("\u{4}");
    assert!(again.end().success());
}

/// Issue 9: the session stays in the host, for the next prompt and for `inkcell py`.
#[test]
fn the_session_stays_when_the_prompt_is_left() {
    let mut prompt = Prompt::at("on", USUAL);
    prompt.cell("stays = 20");
    prompt.leave();
    assert!(prompt.text().contains("The session stays"), "{}", prompt.text());
    let ran = finish(command(&prompt.env, "on", &["py", "print(stays + 22)"]), b"").ok();
    assert_eq!(ran.stdout, "42\n");
    let ran = finish(command(&prompt.env, "on", &["repl"]), b"stays += 1\nprint(stays)\n").ok();
    assert_eq!(ran.stdout, "21\n");
}

/// Issue 9: long output is a preview, and says how much is hidden.
#[test]
fn much_output_is_shown_in_part() {
    let mut prompt = Prompt::at("off", Size { rows: 40, columns: 80 });
    prompt.cell("for i in range(1000): print('line', i)\r");
    prompt.pty.wait_for("line 999");
    let shown = prompt.text();
    let lines = shown.lines().filter(|line| line.starts_with("  line ")).count();
    assert!(lines <= 20, "{shown}");
    // A key shows all of it.
    prompt.pty.send("\u{f}");
    prompt.pty.wait_until("the lines before", |screen| {
        screen.contents().lines().filter(|line| line.starts_with("  line ")).count() > 30
    });
    prompt.ready();
    prompt.leave();
}

/// Issue 9: a terminal that can only show text still accepts input, gets only text, and a note names an
/// alternative.
#[test]
fn a_dumb_terminal_is_enough() {
    let env = env();
    let mut command = command(&env, "off", &["repl"]);
    command.env("TERM", "dumb");
    let mut pty = Pty::start(command, Size { rows: 60, columns: 80 });
    pty.wait_for("inkcell py CODE");
    pty.wait_for(">>>");
    pty.send("print('\\x1b[31m', 6 * 7)\r");
    pty.wait_for("\n 42\n");
    pty.send("name = input('who? ')\r");
    pty.wait_for("\nwho? ");
    pty.send("Ada\r");
    pty.send("name\r");
    // Keys typed early appear before the prompt that they are for.
    pty.wait_for("'Ada'\n");
    pty.send("import time; print('go'); time.sleep(600)\r");
    pty.wait_until("what the cell wrote", |screen| screen.contents().ends_with("go"));
    pty.send("\u{3}");
    pty.wait_for("Interrupted");
    pty.send("\u{4}");
    assert!(pty.end().success());
    assert!(!pty.seen().contains(&0x1b), "{:?}", String::from_utf8_lossy(pty.seen()));
}

/// Issue 9: a new kernel, another session, and an existing notebook.
#[test]
fn a_prompt_restarts_moves_and_saves() {
    let mut prompt = Prompt::at("on", Size { rows: 60, columns: 120 });
    finish(command(&prompt.env, "on", &["py", "--session", "other", "there = 7"]), b"").ok();
    prompt.cell("here = 1");
    prompt.cell(":restart");
    prompt.pty.wait_for("Restarted; its variables are gone.");
    prompt.cell("here");
    prompt.pty.wait_for("NameError: name 'here' is not defined");
    prompt.cell(":attach nowhere");
    prompt.pty.wait_for("error: no session named 'nowhere'");
    prompt.cell(":attach other");
    prompt.pty.wait_for("Switched to session 'other' in ");
    prompt.cell("print('there', there)");
    prompt.pty.wait_for("\n  there 7\n");
    prompt.cell(":save work.ipynb");
    prompt.pty.wait_for("Saved 3 cells to work.ipynb.");
    prompt.cell(":save work.ipynb ");
    prompt.pty.wait_for("error: 'work.ipynb' already exists");
    prompt.pty.wait_for("hint: overwrite it with ':save! work.ipynb'");
    prompt.cell("last = 3");
    prompt.cell(":save! work.ipynb");
    prompt.pty.wait_for("Saved 4 cells to work.ipynb.");
    prompt.leave();
    let notebook: serde_json::Value =
        serde_json::from_slice(&prompt.env.get("work.ipynb")).expect("JSON");
    assert_eq!(notebook["cells"][1]["outputs"][0]["ename"], "NameError");
    assert_eq!(notebook["cells"][2]["outputs"][0]["text"][0], "there 7\n");
    assert_eq!(notebook["cells"][3]["source"][0], "last = 3");
    let ran = finish(command(&prompt.env, "on", &["py", "--session", "other", "last"]), b"").ok();
    assert_eq!(ran.stdout, "3\n");
}

/// Issue 9: no prompt and no escapes if standard input is not a terminal; input for code comes from there.
#[test]
fn cells_come_from_a_pipe() {
    let env = env();
    let cells = "x = input('who? ')\nAda\ndef f():\n    return x\n\nf()\n1 / 0\nprint('on')\n";
    let ran = finish(command(&env, "off", &["repl"]), cells).exits(1);
    assert_eq!(ran.stdout, "'Ada'\non\n");
    assert!(ran.stderr.contains("ZeroDivisionError"), "{}", ran.stderr);
    assert!(!ran.stderr.contains('\u{1b}'), "{:?}", ran.stderr);
}
