//! Exports as a script and as Markdown, with scripts run by the real Python.

use std::io::Write as _;
use std::process::{Command, Stdio};

use inkcell_notebook::{Notebook, Outputs, parse_text, to_markdown, to_script};
use inkcell_testkit::notebooks;
use proptest::prelude::*;
use serde_json::{Value, json};

fn notebook(language: &str, cells: &Value) -> Notebook {
    let metadata = json!({"kernelspec": {"language": language, "name": "p"}});
    let whole = json!({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5});
    Notebook::parse(notebooks::pretty(&whole).into_bytes()).unwrap()
}

fn cell(kind: &str, source: &str) -> Value {
    json!({"cell_type": kind, "metadata": {}, "source": source})
}

fn sample() -> Notebook {
    let cells = json!([
        cell("markdown", "\n\n# Title\ntext"),
        {"cell_type": "code", "execution_count": 4, "metadata": {},
         "outputs": [
            {"output_type": "stream", "name": "stdout", "text": ["one\n", "two\n"]},
            {"output_type": "error", "ename": "ValueError", "evalue": "bad", "traceback": ["\u{1b}[31mred\u{1b}[0m line"]}],
         "source": ["%matplotlib inline\n", "!ls\n", "x = 1"]},
        cell("raw", ""),
    ]);
    notebook("python", &cells)
}

/// Returns the script of one code cell, without its marker and last line end.
fn code(source: &str) -> String {
    let script = to_script(&notebook("python", &json!([cell("code", source)])));
    let script = script.strip_prefix("# %%\n").unwrap_or_else(|| panic!("{script}"));
    script.strip_suffix('\n').unwrap_or(script).to_owned()
}

#[track_caller]
fn becomes(source: &str, expected: &str) {
    assert_eq!(code(source), expected, "{source:?}");
}

#[track_caller]
fn stays(source: &str) {
    becomes(source, source);
}

#[test]
fn a_script_can_be_run() {
    let expected = "# %% [markdown]\n#\n#\n# # Title\n# text\n\n# %%\n# %matplotlib inline\n# !ls\nx = 1\n\n# %% [raw]\n";
    assert_eq!(to_script(&sample()), expected);
}

#[test]
fn what_only_ipython_understands_is_a_comment() {
    for line in [
        "%matplotlib inline",
        "!ls 'it",
        "!!ls",
        "?df",
        "??df",
        "df?",
        "df.head??",
        "print(df)?",
        "df? # what is it",
        "%time?",
        "%%time?",
        "files = !ls",
        "files=!ls \"",
        "x = %timeit -o y",
        "a, b = %sx echo (",
        "d['=='] = !ls",
        "x: int = !ls",
        ",f a b",
        ";f a b",
        "/f a b",
        "%",
    ] {
        becomes(line, &format!("# {line}"));
        let around = format!("a = 1\n\n{line}\nb = 2");
        becomes(&around, &format!("a = 1\n\n# {line}\nb = 2"));
    }
}

#[test]
fn a_continued_command_is_commented_to_its_end() {
    becomes(
        "!pip install a \\\n    b \\\n  c\nx = 1",
        "# !pip install a \\\n#     b \\\n#   c\nx = 1",
    );
    becomes("f = !ls \\\n -l\nx = 1", "# f = !ls \\\n#  -l\nx = 1");
    becomes("f = \\\n  !ls\nx = 1", "# f = \\\n#   !ls\nx = 1");
    becomes("!ls \\", "# !ls \\");
    becomes("\\\n \\\n!ls\nx = 1", "# \\\n#  \\\n# !ls\nx = 1");
    becomes("x = 1\nf(a,\n  b?", "x = 1\n# f(a,\n#   b?");
    becomes("if c:\n    !a \\\n      b\n", "if c:\n    pass  # !a \\\n    # b");
}

#[test]
fn a_block_keeps_a_statement() {
    becomes("if c:\n    %pip install x", "if c:\n    pass  # %pip install x");
    becomes(
        "if c:\n\tdf?\nelse:\n\tx = !ls\ny = 1",
        "if c:\n\tpass  # df?\nelse:\n\tpass  # x = !ls\ny = 1",
    );
    becomes("try:\n  !ls\nexcept E:\n  pass", "try:\n  pass  # !ls\nexcept E:\n  pass");
    becomes("if c:\n    !ls\u{2028}exit()", "if c:\n    pass  # !ls\n# exit()");
}

#[test]
fn what_does_not_begin_a_statement_is_left() {
    for source in [
        "y = (3\n%2)",
        "y = [a,\n!b]",
        "y = 3 \\\n%2",
        "x = '''\n%notmagic\n'''",
        "x = \"\"\"\n!ls\n'''\n%a\n\"\"\"",
        "x = r'''\\'''\n%a\n'''",
        "x = Rb'\\'' + b'''\n%a'''",
        "x = f'''\n%a {y:\n%b}\n%c'''",
        "x = f\"{y[\"(\"]}\"\nz = (1\n%2)",
        "x = f'{y!r:>{w}} {{' + '''\n%a'''",
        "x = f'{y:%H\\'(}'\nz = 1",
        "x = 'a\\\n%b'",
        "# it's (\nx = 1 # ''' (\ny = 2",
        "x = a != b\ny = a %b\nz = a == b",
        "x = 5 %2; y = '?'",
        "x = 'what?'",
        "f(a=1, b=%2)",
        "pip install foo\ncd ..",
        "x = 1 # ?",
        "été = 'é' # é\n",
        "\x0cx = 1",
        "",
    ] {
        becomes(source, source.strip_suffix('\n').unwrap_or(source));
    }
    becomes("x = f'{a}' '''\n%a\n'''\n%b", "x = f'{a}' '''\n%a\n'''\n# %b");
}

/// The cell is not Python with or without its magics: little changes, and nothing inside a possible
/// string.
#[test]
fn an_unfinished_cell_is_mostly_left() {
    stays("x = '''\n%a\n!b");
    stays("x = f'''{\n%a\n!b");
    becomes("%a\nx = (1,\n%2\n!ls\n  %b\n!= 2", "# %a\nx = (1,\n%2\n# !ls\n  %b\n!= 2");
    // A string in single quotes ends with its line.
    becomes("x = 'it\n%a\nx = f'it\n%b", "x = 'it\n# %a\nx = f'it\n# %b");
    stays("x = 'it");
}

#[test]
fn a_cell_magic_comments_its_cell_unless_it_runs_python() {
    for name in ["time", "timeit -n 3", "capture out", "prun"] {
        becomes(&format!("%%{name}\nx = 1\n!ls"), &format!("# %%{name}\nx = 1\n# !ls"));
    }
    for name in ["bash", "html", "writefile a.py", "timer", "", "sql?x"] {
        becomes(
            &format!("%%{name}\nx = 1\n  y"),
            &format!("# %%{name}\n# x = 1\n#   y").replace("# \n", "#\n"),
        );
    }
    becomes("\n\n  %%bash\n  ls\rrm", "\n\n# %%bash\n# ls\n# rm");
    becomes("%%time\n%%capture\n  x = 1\n  y = 2", "# %%time\n# %%capture\nx = 1\ny = 2");
    becomes("%%capture\n\n%%bash\nls", "# %%capture\n\n# %%bash\n# ls");
    becomes("%%time?\nx = 1", "# %%time?\nx = 1");
    // Elsewhere in a cell, `%%` begins a command of one line.
    becomes("x = 1\n%%bash\ny = 2", "x = 1\n# %%bash\ny = 2");
}

#[test]
fn a_cell_is_read_as_ipython_reads_it() {
    becomes("  x = 1\n  if x:\n      y = 2", "x = 1\nif x:\n    y = 2");
    becomes(" %matplotlib inline\nx = 1", "# %matplotlib inline\nx = 1");
    becomes("    # why\nif x:\n    y = 2", "    # why\nif x:\n    y = 2");
    becomes("x = 1\r\ny = 2\r%a\r\n", "x = 1\ny = 2\n# %a");
    becomes(">>> if x:\n...     y = 1\n...\n>>> %a\n", "if x:\n    y = 1\n\n# %a");
}

#[test]
fn prose_stays_in_its_comment() {
    let script = |language: &str, kind: &str, source: &str| {
        to_script(&notebook(language, &json!([cell(kind, source), cell("code", "x")])))
    };
    for end in ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\u{85}", "\u{2028}", "\u{2029}"] {
        for kind in ["markdown", "raw"] {
            let source = format!("hello{end}print('PWNED'){end}");
            let expected = format!("# %% [{kind}]\n# hello\n# print('PWNED')\n\n# %%\nx\n");
            assert_eq!(script("python", kind, &source), expected, "{end:?}");
            let expected = expected.replace("# ", "// ");
            assert_eq!(script("javascript", kind, &source), expected, "{end:?}");
        }
    }
    assert_eq!(script("python", "raw", "a\0b"), "# %% [raw]\n# a\u{fffd}b\n\n# %%\nx\n");
    assert_eq!(script("python", "x\nexit()", "a"), "# %% [xexit]\n# a\n\n# %%\nx\n");
    // Only Python has magics.
    let cells = json!([cell("code", "%a\n!b\nc?"), cell("raw", "x")]);
    assert_eq!(to_script(&notebook("R", &cells)), "# %%\n%a\n!b\nc?\n\n# %% [raw]\n# x\n");
    assert_eq!(to_script(&notebook("Lua", &cells)), "-- %%\n%a\n!b\nc?\n\n-- %% [raw]\n-- x\n");
}

/// Lines that must be at the top of a file, or must not.
#[test]
fn future_imports_and_an_encoding_stand_at_the_top_of_a_script() {
    let script = |cells: &[&str]| {
        let cells: Vec<Value> = cells.iter().map(|source| cell("code", source)).collect();
        to_script(&notebook("python", &json!(cells)))
    };
    let future = "from __future__ import division";
    assert_eq!(script(&["%a", future]), format!("# %%\n# %a\n\n# %%\n{future}\n"));
    assert_eq!(
        script(&["x = 1", &format!("{future}; y = 2"), future]),
        format!("{future}\n\n# %%\nx = 1\n\n# %%\n# {future};\ny = 2\n\n# %%\n# {future}\n")
    );
    let header = "# -*- coding: utf-8 -*-\n# %%";
    let prose = json!([cell("markdown", "Encoding: categorical")]);
    assert_eq!(
        to_script(&notebook("python", &prose)),
        format!("{header} [markdown]\n# Encoding: categorical\n")
    );
    assert_eq!(
        script(&["# coding=latin-1\nx = 'é'"]),
        format!("{header}\n# coding=latin-1\nx = 'é'\n")
    );
}

/// Issue 21, 9: a script is not virtual text. Read as such, it would lose cells.
#[test]
fn a_script_is_not_taken_for_the_text_of_a_notebook() {
    let books = [
        sample(),
        notebook("python", &json!([cell("markdown", "# Title"), cell("raw", "x")])),
        notebook("R", &json!([cell("markdown", "# Title"), cell("code", "x <- 1")])),
        notebook("R", &json!([cell("markdown", "# Title")])),
        notebook("javascript", &json!([cell("markdown", "# Title"), cell("code", "x = 1")])),
        notebook("python", &json!([cell("code", "x = 1\n# %%\ny = 2"), cell("markdown", "a")])),
    ];
    for book in books {
        let script = to_script(&book);
        for base in [&book, &Notebook::empty()] {
            let refused = parse_text(&script).is_err() || base.check_markers(&script).is_err();
            assert!(refused, "{script}");
        }
    }
}

/// Finds the interpreter to ask; none if a missing one is allowed.
fn python() -> Option<String> {
    let python = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found =
        Command::new(&python).args(["-c", ""]).status().is_ok_and(|status| status.success());
    if found {
        return Some(python);
    }
    assert!(std::env::var_os("INKCELL_TEST_REQUIRE").is_none(), "{python} does not run");
    eprintln!("SKIPPED: {python} does not run, so no script was given to it");
    None
}

/// Runs a script given as bytes, as from a file, and prints the names that it defines.
const RUN: &str = r"
import sys
names = {}
exec(compile(sys.stdin.buffer.read(), 'script.py', 'exec', dont_inherit=True), names)
names.pop('__builtins__')
for name in sorted(names):
    print(name, ascii(names[name]))
";

fn run(python: &str, script: &str) -> Result<String, String> {
    let mut child = Command::new(python)
        .args(["-c", RUN])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    if done.status.success() {
        return Ok(String::from_utf8(done.stdout).unwrap().replace('\r', ""));
    }
    Err(String::from_utf8_lossy(&done.stderr).into_owned())
}

#[test]
fn python_runs_the_script() {
    let Some(python) = python() else { return };
    let markdown = |text: &str| ("markdown", text.to_owned(), "");
    let code = |text: &str, names: &'static str| ("code", text.to_owned(), names);
    let table = [
        markdown("Encoding: klingon\n'''\nprint(\\"),
        markdown("hello\rexit(3)\r\nexit(4)\x0cexit(5)\u{2028}exit(6)\0exit(7)"),
        ("raw", "exit(8)\rexit(9)".to_owned(), ""),
        ("odd\nexit(10)", "exit(11)".to_owned(), ""),
        code("df?\ndf.head??\n?df\nfiles = !ls\nt = %timeit -o y\n!!ls\na1 = 1", "a1 1"),
        code("if a1:\n    %pip install x\nelse:\n\t\t!ls \\\n  -l\n\t\tfiles = !ls", ""),
        code("class A2:\n  !ls\nA2 = A2.__name__", "A2 'A2'"),
        code("!pip install a \\\n  b \\\n  c (\na3 = 3", "a3 3"),
        code("a4 = (3\n%2)", "a4 1"),
        code("a5 = '''\n%notmagic\n!ls\ndf?\n'''", "a5 '\\n%notmagic\\n!ls\\ndf?\\n'"),
        code("a6 = 7 \\\n%4 # ?", "a6 3"),
        code("%%time\na7 = [\n1,\n]", "a7 [1]"),
        code("%%timeit -n 1\n    a8 = 1\n    if a8:\n        %pip list", "a8 1"),
        code("%%capture b\n%%prun\nb1 = f'''{a1:>3}\n%x'''", "b1 '  1\\n%x'"),
        code("%%bash\nexit 1", ""),
        code("%%writefile x.py\nexit(\r\nexit(12)", ""),
        code("%%unknown\n'''", ""),
        code("b2 = rb'\\'' + b'#' # it's (\n%a", "b2 b\"\\\\'#\""),
        code("b3 = 'é\u{2028}\x0c'\r\n%a\rb4 = 4", "b3 '\\xe9\\u2028\\x0c'\nb4 4"),
        code("  b5 = 5\n  b6 = 6", "b5 5\nb6 6"),
        code("from __future__ import division; b7 = 7", "b7 7"),
        code("b8 = f'{\"(\"}{{' + f\"{a1!r:>{b5}}\"\n%a", "b8 '({    1'"),
        code(">>> for b9 in [9]:\n...     pass", "b9 9"),
        code("", ""),
        code("  \n# only a comment", ""),
        code("\x0c%a\nc1 = 1", "c1 1"),
        markdown("the end \\"),
    ];
    let cells: Vec<Value> = table.iter().map(|(kind, source, _)| cell(kind, source)).collect();
    let script = to_script(&notebook("python", &json!(cells)));
    let names = run(&python, &script).unwrap_or_else(|error| panic!("{error}\n{script}"));
    let mut expected: Vec<&str> = table.iter().flat_map(|(_, _, names)| names.lines()).collect();
    expected.sort_unstable();
    let found: Vec<&str> = names.lines().filter(|line| !line.starts_with("division ")).collect();
    assert_eq!(found, expected, "{script}");
}

/// Prose, and the body of a magic, has no effect in Python, whatever its text.
#[test]
fn python_sees_no_prose() {
    let Some(python) = python() else { return };
    let single = "\n\r\x0b\x0c\x1c\x1d\x1e\x1f\u{85}\u{2028}\u{2029}\0\x1a\u{feff}";
    let mut ends: Vec<String> = single.chars().map(String::from).collect();
    ends.extend(["\r\n", "\\\n", "\\\r", "'''\n", "coding: x\n"].map(String::from));
    let mut cells = Vec::new();
    for first in &ends {
        for second in &ends {
            for kind in ["markdown", "raw", "code"] {
                let magic = if kind == "code" { "%%html " } else { "" };
                cells.push(cell(kind, &format!("{magic}{first}exit(1){second}exit(2){second}")));
            }
            cells.push(cell(
                "code",
                &format!("if 1:\n  !ls {}exit(3)", first.replace(['\n', '\r'], "")),
            ));
        }
    }
    let script = to_script(&notebook("python", &json!(cells)));
    assert_eq!(run(&python, &script), Ok(String::new()));
}

#[rustfmt::skip]
const PARTS: [&str; 32] = [
    "'", "\"", "'''", "f'", "rf\"\"\"", "{", "}", "(", ")", ":", "=", "\\", "\n", "\r", " ", "\t",
    "\x0c", "#", "%", "%%time\n", "!", "?", ";", "a", "é", "from __future__ import a", "if x:\n ",
    ">>> ", "\u{1b}[", "\u{1b}]", "\u{9b}1", "`",
];

proptest! {
    /// Export never panics, and adds or removes only line ends, margins and comments.
    #[test]
    fn any_cell_can_be_exported(parts in proptest::collection::vec(0..PARTS.len(), 0..40)) {
        let source: String = parts.iter().map(|part| PARTS[*part]).collect();
        let both = json!([cell("code", &source), cell("markdown", &source)]);
        let book = notebook("python", &both);
        let script = to_script(&book);
        let kept = |text: &str| text.chars().filter(|c| !c.is_whitespace() && *c != '#').count();
        prop_assert!(kept(&script) + 3 * parts.len() >= kept(&source), "{}", script);
        to_markdown(&book, Outputs::Full);
    }
}

#[test]
fn nesting_has_no_limit() {
    for open in ["(", "f'{", "f'{x:{", "f'''{", "{[("] {
        let deep = format!("x = {}\n%a", open.repeat(50_000));
        assert!(code(&deep).len() >= deep.len());
    }
}

#[test]
fn markdown_shows_outputs_on_request() {
    let code = "```python\n%matplotlib inline\n!ls\nx = 1\n```";
    let check = |outputs, tail: &str| {
        let text = to_markdown(&sample(), outputs);
        assert!(text.contains("# Title\ntext\n\n"), "{text}");
        assert!(text.contains(&format!("{code}{tail}")), "{text}");
    };
    check(Outputs::None, "\n");
    check(Outputs::Digest, "\n\n*stdout 2 lines 10B*\n\n*error ValueError: bad*\n");
    check(Outputs::Full, "\n\n```text\none\ntwo\n```\n\n```text\nred line\n```\n");
}

fn shown(output: &Value, outputs: Outputs) -> String {
    let cell = json!({"cell_type": "code", "execution_count": 1, "metadata": {}, "source": "", "outputs": [output]});
    to_markdown(&notebook("python", &json!([cell])), outputs)
}

#[test]
fn an_output_appears_in_its_best_form() {
    let check = |data: Value, expected: &str| {
        let output = json!({"output_type": "display_data", "metadata": {}, "data": data});
        assert_eq!(shown(&output, Outputs::Full), expected, "{output}");
    };
    let png = "A".repeat(16_800);
    check(json!({"image/png": png, "text/plain": "<Figure>"}), "*image/png 12.3KB*\n");
    check(json!({"image/svg+xml": ["<svg/>"]}), "*image/svg+xml 6B*\n");
    check(
        json!({"image/png": "AAAA", "image/jpeg": "AAAA", "text/html": "<b>"}),
        "*image/png 3B + image/jpeg 3B*\n",
    );
    check(json!({"text/markdown": ["# A\n", "**b**\n"], "text/plain": "x"}), "# A\n**b**\n");
    check(json!({"text/html": "<b>", "text/plain": ["x\n", "y"]}), "```text\nx\ny\n```\n");
    check(json!({"text/html": "<b>"}), "```html\n<b>\n```\n");
    check(json!({"text/html": "<b>", "text/plain": ""}), "```html\n<b>\n```\n");
    check(json!({"text/html": "```\n<b>"}), "````html\n```\n<b>\n````\n");
    check(json!({"text/latex": "$x$"}), "*text/latex 3B*\n");
    check(json!({"a/b*\n# c": "x"}), "*a/b\\* # c 1B*\n");
    check(json!({}), "*empty display*\n");
    let both = json!({"output_type": "display_data", "metadata": {}, "data": {"image/png": "AAAA", "text/plain": "f"}});
    assert_eq!(shown(&both, Outputs::Digest), "*image/png 3B + text/plain 1B*\n");
    assert_eq!(shown(&both, Outputs::None), "");
    let error = json!({"output_type": "error", "ename": "E", "evalue": "\u{1b}[31mf(*a)\u{1b}[0m", "traceback": []});
    assert_eq!(shown(&error, Outputs::Full), "*error E: f(\\*a)*\n");
}

#[test]
fn text_is_what_a_terminal_would_have_left() {
    let check = |text: &str, expected: &str| {
        let fenced =
            if expected.is_empty() { String::new() } else { format!("```text\n{expected}\n```\n") };
        let outputs = [
            json!({"output_type": "stream", "name": "stdout", "text": text}),
            json!({"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/plain": text}}),
        ];
        assert_eq!(shown(&outputs[0], Outputs::Full), fenced, "{text:?}");
        assert_eq!(shown(&outputs[1], Outputs::Full), fenced, "{text:?}");
    };
    check("a\r\nb\r\n", "a\nb");
    check("10%\r20%\r30%\nx", "30%\nx");
    check("10%\r20%\r\n", "20%");
    check("50%\r\u{1b}[K", "50%");
    check("\u{1b}[1;31mred\u{1b}[0m\u{1b}[?25l é", "red é");
    check("\u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{7}", "link");
    check("\u{1b}]0;no end\nx", "0;no end\nx");
    check("\u{1b}(Ba\u{9b}32mb\u{1b}", "ab");
    check("\u{1b}[é", "é");
    check("\u{1b}[0m\r\n", "");
}

#[test]
fn a_language_cannot_break_its_fence() {
    let check = |language: &str, expected: &str| {
        let cells = json!([cell("code", ""), cell("code", " \n"), cell("code", "x")]);
        let text = to_markdown(&notebook(language, &cells), Outputs::Full);
        assert_eq!(text, format!("```{expected}\nx\n```\n"), "{language:?}");
    };
    check("python", "python");
    check("C++", "C++");
    check("f#", "f#");
    check("a_b-c.d", "a_b-c.d");
    check("py\n```\n# x", "py#x");
    check("日本", "");
}
