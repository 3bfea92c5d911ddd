//! `inkcell read`: text, lines, cells, outline, outputs, search.

use std::process::Command;

use inkcell_testkit::pty::{Pty, Size};
use insta::assert_snapshot;

use crate::env;
use crate::samples::{long, rich};

/// The output of a command, with the parts that differ from run to run removed.
fn shown(args: &[&str]) -> String {
    let env = env();
    env.put("nb.ipynb", rich());
    let ran = env.run(args).ok();
    env.redact(&ran.stdout)
}

/// B:V-02 B:V-03 B:V-05
#[test]
fn a_notebook_is_read_as_text() {
    assert_snapshot!(shown(&["read", "nb.ipynb"]), @r"
    # %% [markdown] cell:0 id:intro-md
    # Title

    Some prose.
    # %% [code] cell:1 id:aaaa1111
    x = 1
    print(x)
    # %% [raw] cell:2 id:cccc3333
    ");
    let env = env();
    env.put("nb.ipynb", rich());
    let ran = env.run(&["read", "nb.ipynb"]).ok();
    assert!(!ran.stdout.ends_with('\n'), "the text is not added to");
    assert_eq!(env.redact(&ran.stderr), "nb.ipynb: version [version], 3 cells\n");
}

/// B:V-06
#[test]
fn ids_can_be_left_out_of_the_markers() {
    let markers = "# %% [markdown] cell:0\n# Title\n\nSome prose.\n# %% [code] cell:1\nx = 1\nprint(x)\n# %% [raw] cell:2";
    assert_eq!(shown(&["read", "nb.ipynb", "--no-ids"]), markers);
    let env = env();
    env.put("nb.ipynb", rich());
    let mut command = env.inkcell();
    command.args(["read", "nb.ipynb"]).env("INKCELL_TEXT_IDS", "off");
    assert_eq!(inkcell_testkit::env::finish(command, b"").ok().stdout, markers);
    let mut command = env.inkcell();
    command.args(["read", "nb.ipynb"]).env("PI_TEXT_IDS", "off");
    assert_eq!(inkcell_testkit::env::finish(command, b"").ok().stdout, markers);
    let mut command = env.inkcell();
    command.args(["read", "nb.ipynb"]).env("INKCELL_TEXT_IDS", "maybe");
    let ran = inkcell_testkit::env::finish(command, b"").exits(2);
    assert_eq!(ran.stderr, "error: INKCELL_TEXT_IDS: is \"maybe\"; it takes auto or off\n");
}

/// B:V-02
#[test]
fn raw_is_the_file_byte_for_byte() {
    for (name, bytes) in inkcell_testkit::notebooks::odd() {
        let env = env();
        env.put("nb.ipynb", &bytes);
        assert_eq!(env.run(&["read", "nb.ipynb:raw"]).ok().bytes, bytes, "{name}");
    }
    // Raw bytes are also shown of a file that is not a notebook.
    let env = env();
    env.put("nb.ipynb", b"\xff\x00 not json");
    assert_eq!(env.run(&["read", "nb.ipynb:raw"]).ok().bytes, b"\xff\x00 not json");
}

/// B:V-19 B:V-21
#[test]
fn lines_are_picked_exactly() {
    let table = [
        (":5", "# %% [code] cell:1 id:aaaa1111\nx = 1\nprint(x)\n# %% [raw] cell:2 id:cccc3333"),
        (":L5-", "# %% [code] cell:1 id:aaaa1111\nx = 1\nprint(x)\n# %% [raw] cell:2 id:cccc3333"),
        (":2-3", "# Title\n\n"),
        (":2..3", "# Title\n\n"),
        (":6+2", "x = 1\nprint(x)\n"),
        (
            ":6-7,2",
            "# Title\n\nSome prose.\n# %% [code] cell:1 id:aaaa1111\nx = 1\nprint(x)\n# %% [raw] cell:2 id:cccc3333",
        ),
        (":7-7,2-2,6-6", "# Title\nx = 1\nprint(x)\n"),
        (":99", ""),
        (":raw:1-2", "{\n \"cells\": [\n"),
        (":1-2:RAW", "{\n \"cells\": [\n"),
    ];
    for (selector, wanted) in table {
        assert_eq!(shown(&["read", &format!("nb.ipynb{selector}")]), wanted, "{selector}");
    }
    let padded = "Some prose.\n# %% [code] cell:1 id:aaaa1111\nx = 1\nprint(x)\n# %% [raw] cell:2 id:cccc3333";
    assert_eq!(shown(&["read", "nb.ipynb:5-5", "--pad"]), padded);
}

/// B:V-20
#[test]
fn selectors_without_meaning_are_told() {
    let env = env();
    env.put("nb.ipynb", rich());
    let table = [
        (":0", "Line selector 0 is invalid; lines are 1-indexed. Use :1."),
        (":5-2", "Invalid range 5-2: end must be >= start."),
        (":5+0", "Invalid range 5+0: count must be >= 1."),
    ];
    for (selector, wanted) in table {
        let ran = env.run(&["read", &format!("nb.ipynb{selector}")]).exits(2);
        assert_eq!((ran.stdout.as_str(), ran.stderr), ("", format!("error: {wanted}\n")));
    }
    // A suffix that is not a selector is part of the name, and a file of that name takes
    // precedence.
    let ran = env.run(&["read", "no.ipynb:5x"]).exits(5);
    assert!(ran.stderr.starts_with("error: File not found: no.ipynb:5x\n"), "{}", ran.stderr);
    for (given, wanted) in [("foo", ":foo"), ("raw:foo", ":raw:foo"), ("foo:5", ":foo")] {
        let ran = env.run(&["read", &format!("nb.ipynb:{given}")]).exits(2);
        let wanted = format!("error: {wanted}: not a selector; a selector is :10-20, ");
        assert!(ran.stderr.starts_with(&wanted), "{}", ran.stderr);
    }
    for (selector, lines) in [("999", 8), ("999-1000", 8), ("raw:999", rich().lines().count())] {
        let ran = env.run(&["read", &format!("nb.ipynb:{selector}")]).ok();
        assert_eq!(ran.stdout, "");
        assert!(ran.stderr.ends_with(&format!("\nthe text has {lines} lines\n")), "{}", ran.stderr);
    }
    env.put("nb.ipynb:5", rich());
    assert!(env.run(&["read", "nb.ipynb:5"]).ok().stdout.starts_with("# %% [markdown] cell:0"));
}

/// B:V-22
#[test]
fn a_page_says_how_to_go_on_and_a_pipe_is_never_cut() {
    let env = env();
    env.put("nb.ipynb", long(200));
    let whole = env.run(&["read", "nb.ipynb"]).ok().stdout;
    assert_eq!(whole.lines().count(), 200 * 41 + 199);
    let mut text = String::new();
    let mut next = 1;
    for _ in 0..10 {
        let page = env.run(&["read", &format!("nb.ipynb:{next}"), "--page"]).ok().stdout;
        let Some((lines, notice)) = page.rsplit_once("\n[Showing lines ") else {
            text.push_str(&page);
            break;
        };
        assert!(lines.lines().count() <= 3000 && lines.len() <= 50 * 1024);
        text.push_str(lines);
        let (_, number) = notice.split_once(" Use :").expect("the notice says where to go on");
        next = number.trim_end_matches(" to continue]").parse().expect("a line number");
    }
    assert_eq!(text, whole);
}

/// The outline for people.
#[test]
fn the_outline_has_a_line_a_cell() {
    assert_snapshot!(shown(&["read", "nb.ipynb", "--outline"]), @r"
    nb.ipynb  version [version]  3 cells  nbformat 4.5  python
    0  intro-md  markdown                       3 lines  # Title
    1  aaaa1111  code     [3]   run elsewhere   2 lines  x = 1  #keep #x  → stdout 2 lines 9B  → text/plain 2B + image/png 6B  → error ValueError: bad value
    2  cccc3333  raw                            0 lines
    ");
}

/// The outline for programs.
#[test]
fn the_outline_as_json() {
    assert_snapshot!(shown(&["read", "nb.ipynb", "--outline", "--cells", "aaaa", "--json"]), @r#"
    {
      "path": "nb.ipynb",
      "version": "[version]",
      "nbformat": 4,
      "nbformat_minor": 5,
      "language": "python",
      "editable": true,
      "count": 3,
      "in_kernel": null,
      "cells": [
        {
          "index": 1,
          "id": "aaaa1111",
          "type": "code",
          "execution_count": 3,
          "run": null,
          "freshness": {
            "mark": "run_elsewhere"
          },
          "lines": 2,
          "first_line": "x = 1",
          "tags": [
            "keep",
            "x"
          ],
          "outputs": [
            {
              "kind": "stream",
              "name": "stdout",
              "lines": 2,
              "bytes": 9
            },
            {
              "kind": "result",
              "forms": [
                {
                  "mime": "text/plain",
                  "bytes": 2
                },
                {
                  "mime": "image/png",
                  "bytes": 6
                }
              ]
            },
            {
              "kind": "error",
              "name": "ValueError",
              "value": "bad value"
            }
          ]
        }
      ]
    }
    "#);
}

#[test]
fn cells_are_picked_by_id_position_and_range() {
    let markdown = "# %% [markdown] cell:0 id:intro-md\n# Title\n\nSome prose.";
    let code = "# %% [code] cell:1 id:aaaa1111\nx = 1\nprint(x)";
    let raw = "# %% [raw] cell:2 id:cccc3333";
    let table = [
        ("0", markdown.to_owned()),
        ("-1", raw.to_owned()),
        ("aaaa", code.to_owned()),
        ("1-2", format!("{code}\n{raw}")),
        ("1..2", format!("{code}\n{raw}")),
        ("1-", format!("{code}\n{raw}")),
        ("-1,0,0", format!("{markdown}\n{raw}")),
    ];
    for (list, wanted) in table {
        assert_eq!(shown(&["read", "nb.ipynb", "--cells", list]), wanted, "{list}");
    }
    let env = env();
    env.put("nb.ipynb", rich());
    let table = [
        ("9", 5, "nb.ipynb: cell 9 is out of range; the notebook has 3 cells, 0 to 2"),
        (
            "0,9-10",
            2,
            "--cells: 9-10 is not a range of cells in nb.ipynb; the notebook has 3 cells, and the first is 0",
        ),
        (
            "0,,1",
            2,
            "--cells: \"0,,1\" has an empty entry in nb.ipynb; give positions or ids, such as 0,3-5,ab12",
        ),
    ];
    for (list, code, wanted) in table {
        let ran = env.run(&["read", "nb.ipynb", "--cells", list]).exits(code);
        assert_eq!(ran.stderr.lines().next(), Some(format!("error: {wanted}").as_str()));
    }
}

#[test]
fn outputs_are_shown_as_lines_or_in_full() {
    assert_snapshot!(shown(&["read", "nb.ipynb", "--outputs", "full"]), @r"
    nb.ipynb  version [version]  3 cells  nbformat 4.5  python

    ── cell 0 markdown id:intro-md
    # Title

    Some prose.

    ── cell 1 code id:aaaa1111 [3]
    x = 1
    print(x)
       → output 0: stdout 2 lines 9B
       │ hi
       │ two
       → output 1: text/plain 2B + image/png 6B
       │ 42
       → output 2: error ValueError: bad value
       │ ValueError: bad value

    ── cell 2 raw id:cccc3333
    ");
    let full = shown(&["read", "nb.ipynb", "--outputs", "full"]);
    let without_text: String =
        full.split_inclusive('\n').filter(|line| !line.starts_with("   │")).collect();
    assert_eq!(shown(&["read", "nb.ipynb", "--outputs", "digest"]), without_text);
    assert_eq!(shown(&["read", "nb.ipynb", "--outputs", "none"]), shown(&["read", "nb.ipynb"]));
}

#[test]
fn a_search_names_cell_and_line() {
    assert_eq!(
        shown(&["read", "nb.ipynb", "--search", "print|42"]),
        "cell 1 aaaa1111 line 2: print(x)\n"
    );
    assert_eq!(
        shown(&["read", "nb.ipynb", "--search", "print|42", "--outputs", "full"]),
        "cell 1 aaaa1111 line 2: print(x)\ncell 1 aaaa1111 output 1 line 1: 42\n"
    );
    assert_eq!(shown(&["read", "nb.ipynb", "--search", "print", "--cells", "0"]), "");
    let env = env();
    env.put("nb.ipynb", rich());
    let ran = env.run(&["read", "nb.ipynb", "--search", "("]).exits(2);
    assert!(ran.stderr.starts_with("error: --search: \"(\" is not a pattern: "), "{}", ran.stderr);
}

/// Cells and lines cannot be combined; no option is ignored silently.
#[test]
fn lines_and_cells_are_not_mixed() {
    let env = env();
    env.put("nb.ipynb", rich());
    let lines = "this view shows cells, not lines; remove a line selector";
    let raw = "the stored JSON (:raw) can be read whole or by lines";
    let table: [(&[&str], &str); 8] = [
        (&["nb.ipynb:1-2", "--outline"], lines),
        (&["nb.ipynb:1-2", "--search", "x"], lines),
        (&["nb.ipynb:1-2", "--outputs", "full"], lines),
        (&["nb.ipynb", "--outline", "--page"], "this view shows cells, not lines; remove --page"),
        (&["nb.ipynb", "--search", "x", "--pad"], "this view shows cells, not lines; remove --pad"),
        (&["nb.ipynb:raw", "--outline"], raw),
        (&["nb.ipynb:raw:1-2", "--cells", "0"], raw),
        (&["nb.ipynb:raw", "--page"], raw),
    ];
    for (args, wanted) in table {
        let all: Vec<&str> = ["read"].into_iter().chain(args.iter().copied()).collect();
        let ran = env.run(&all).exits(2);
        assert!(ran.stderr.ends_with(&format!(": {wanted}\n")), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
    env.run(&["read", "nb.ipynb", "--outline", "--search", "x"]).exits(2);
    env.run(&["read", "nb.ipynb:1-2", "--outputs", "none", "--cells", "0", "--pad"]).ok();
}

/// Git compares the output: text without ids, the bytes of any other file, and nothing else.
#[test]
fn textconv_gives_text_or_bytes_and_keeps_nothing() {
    let env = env();
    env.put("nb.ipynb", rich());
    env.put("bad.ipynb", b"<<<<<<< not json\xff");
    env.put("odd.ipynb", "{\"cells\": [1]}");
    let plain = env.run(&["read", "nb.ipynb", "--no-ids"]).ok().bytes;
    std::fs::remove_dir_all(env.state()).expect("the versions go");
    for (name, wanted) in [
        ("nb.ipynb", plain),
        ("bad.ipynb", env.get("bad.ipynb")),
        ("odd.ipynb", env.get("odd.ipynb")),
    ] {
        let ran = env.run(&["read", "--textconv", name]).ok();
        assert_eq!((ran.bytes, ran.stderr.as_str()), (wanted, ""), "{name}");
    }
    assert!(!env.state().exists());
    env.run(&["read", "--textconv", "missing.ipynb"]).exits(5);
    env.run(&["read", "--textconv", "nb.ipynb", "--outline"]).exits(2);
    env.run(&["read", "--textconv", "nb.ipynb", "--json"]).exits(2);
}

/// The screen of a command that ends, and the bytes it wrote, at a terminal of this width.
pub(crate) fn screen(
    mut command: Command,
    columns: u16,
    more: &[(&str, &str)],
) -> (String, String) {
    command.env("PAGER", "cat").envs(more.iter().copied());
    let mut pty = Pty::start(command, Size { rows: 60, columns });
    pty.end();
    (pty.text(), String::from_utf8_lossy(pty.seen()).replace("\r\n", "\n"))
}

/// Compares a screen with its snapshot.
pub(crate) fn assert_screen(name: &str, text: &str) {
    insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true}, {
        assert_snapshot!(name, text);
    });
}

/// A notebook with long ids, a long line and outputs, as editors write it.
fn wide() -> String {
    let id = |at: usize| format!("{at}0c9f3d2-6f0e-4c53-9a51-1d7a4d1e{at:04}");
    let long = format!("total = {}", "value + ".repeat(30) + "1");
    let cells = [
        ("markdown", "# Monthly report\n\nAll of it.".to_owned()),
        ("code", "def area(r):\n    return 3.14 * r ** 2  # about".to_owned()),
        ("code", long),
        ("raw", "as it is".to_owned()),
    ];
    let cell = |(at, (kind, source)): (usize, &(&str, String))| {
        let mut cell =
            serde_json::json!({"cell_type": kind, "id": id(at), "metadata": {}, "source": source});
        if *kind == "code" {
            let text = "first\nsecond\n";
            cell["execution_count"] = at.into();
            cell["outputs"] = serde_json::json!([
                {"output_type": "stream", "name": "stdout", "text": text}
            ]);
        }
        cell
    };
    let cells: Vec<serde_json::Value> = cells.iter().enumerate().map(cell).collect();
    let metadata = serde_json::json!({"language_info": {"name": "python"}});
    let book = serde_json::json!({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5});
    inkcell_testkit::notebooks::pretty(&book)
}

/// Issue 24: on a terminal the rows of the outline are cut, never broken, and ids make room first.
#[test]
fn outline_fits_every_terminal() {
    let env = env();
    env.put("nb.ipynb", wide());
    for columns in [40, 80, 200] {
        let mut command = env.inkcell();
        command.args(["read", "nb.ipynb", "--outline"]);
        let (text, bytes) = screen(command, columns, &[]);
        assert_screen(&format!("outline_{columns}"), &env.redact(&text));
        assert!(bytes.contains("\u{1b}[1m0\u{1b}[0m"), "{bytes:?}");
        let first = text.lines().find(|line| line.starts_with("0  ")).unwrap_or_default();
        assert!(first.contains("# Mon"), "{columns}: {text}");
    }
    let piped = env.run(&["read", "nb.ipynb", "--outline"]).ok();
    assert!(piped.stdout.contains("20c9f3d2-6f0e-4c53-9a51-1d7a4d1e0002"), "{}", piped.stdout);
    assert!(!piped.stdout.contains('\u{1b}'), "{}", piped.stdout);
}

/// Issue 24: on a terminal cells can be told apart; in a pipe the text is as it was, byte for byte.
#[test]
fn text_has_colours_on_a_terminal_alone() {
    let env = env();
    env.put("nb.ipynb", wide());
    let read = |more: &[&str]| {
        let mut command = env.inkcell();
        command.args(["read", "nb.ipynb"]).args(more);
        command
    };
    let piped = env.run(&["read", "nb.ipynb"]).ok().stdout;
    assert!(!piped.contains('\u{1b}'), "{piped:?}");
    for columns in [40, 80, 200] {
        let (text, bytes) = screen(read(&[]), columns, &[]);
        assert_screen(&format!("text_{columns}"), &env.redact(&text));
        for part in [
            "\u{1b}[2m# %% \u{1b}[0m\u{1b}[1m[markdown]\u{1b}[0m",
            "\u{1b}[1m# Monthly report\u{1b}[0m",
            "\u{1b}[35mdef\u{1b}[0m \u{1b}[34marea\u{1b}[0m",
        ] {
            assert!(bytes.contains(part), "{part:?} in {bytes:?}");
        }
    }
    let (text, bytes) = screen(read(&["--outputs", "full"]), 40, &[]);
    assert_screen("outputs_40", &env.redact(&text));
    assert!(bytes.contains("\u{1b}[1m── cell 0 markdown"), "{bytes:?}");
    for plain in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let (_, bytes) = screen(read(&[]), 80, &[plain]);
        assert!(bytes.starts_with(&piped) && !bytes.contains('\u{1b}'), "{plain:?} {bytes:?}");
    }
    let (_, bytes) = screen(read(&["--json"]), 80, &[]);
    assert!(!bytes.contains('\u{1b}'), "{bytes:?}");
}
