//! What `inkcell run` shows on a terminal: at every width, with and without colours.

use std::process::Command;

use inkcell_testkit::env::TestEnv;
use inkcell_testkit::pty::{Pty, Size};

use crate::env;
use crate::notebook_runs::{notebook, run};

/// The screen and the bytes of a run that ends, at a terminal of this width.
fn screen(mut command: Command, columns: u16, more: &[(&str, &str)]) -> (String, String) {
    command.envs(more.iter().copied());
    let mut pty = Pty::start(command, Size { rows: 30, columns });
    pty.end();
    (pty.text(), String::from_utf8_lossy(pty.seen()).into_owned())
}

fn with_a_failure(env: &TestEnv) {
    let long = format!("value = {}", "1 + ".repeat(40) + "1");
    let mut cells: Vec<&str> = vec!["print('first')", &long, "import json; json.loads('no')"];
    cells.push("print('last')");
    env.put("a.ipynb", notebook(&cells));
}

/// Each cell has one row, no row is broken, and the counts and the next step follow.
#[test]
fn rows_fit_at_every_width() {
    let env = env();
    with_a_failure(&env);
    for columns in [40, 80, 200] {
        let (text, _) = screen(run(&env, &["a.ipynb", "--allow-errors"]), columns, &[]);
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("cell ")).collect();
        assert_eq!(rows.len(), 4, "{columns}: {text}");
        for (at, row) in rows.iter().enumerate() {
            assert!(row.starts_with(&format!("cell {at} ")), "{columns}: {text}");
            assert!(row.chars().count() <= usize::from(columns), "{columns}: {text}");
        }
        assert_eq!(rows[0].contains("1 output"), columns > 40, "{columns}: {text}");
        let end: String = text.lines().skip(4).flat_map(|line| [line.trim_end(), " "]).collect();
        assert!(
            end.starts_with("Ran 4 cells in ") && end.contains(", 1 failed (allowed) "),
            "{text}"
        );
        assert!(end.contains("See the outputs: inkcell read a.ipynb --outputs full"), "{text}");
        assert!(text.lines().count() <= 8, "{columns}: {text}");
    }
}

/// Colours are for terminals that want them.
#[test]
fn colours_can_be_turned_off() {
    let env = env();
    with_a_failure(&env);
    let (text, bytes) = screen(run(&env, &["a.ipynb"]), 80, &[]);
    assert!(
        bytes.contains("\u{1b}[32mok\u{1b}[0m") && bytes.contains("\u{1b}[31m1 failed"),
        "{text}"
    );
    assert!(bytes.contains("\u{1b}[1;31merror:\u{1b}[0m cell 2 (c2) failed"), "{text}");
    for more in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let (plain, bytes) = screen(run(&env, &["a.ipynb"]), 80, &[more]);
        assert!(!bytes.contains("\u{1b}[3"), "{more:?}: {plain}");
        assert!(plain.contains("error: cell 2 (c2) failed"), "{more:?}: {plain}");
    }
}

/// In CI, advice has no reader.
#[test]
fn advice_is_for_people() {
    let env = env();
    env.put("a.ipynb", notebook(&["1"]));
    let (text, _) = screen(run(&env, &["a.ipynb"]), 80, &[("CI", "true")]);
    assert!(text.contains("Ran 1 cell in ") && !text.contains("inkcell read"), "{text}");
    let (text, _) = screen(run(&env, &["a.ipynb"]), 80, &[("CI", "false")]);
    assert_eq!(text.matches("inkcell ").count(), 1, "{text}");
}
