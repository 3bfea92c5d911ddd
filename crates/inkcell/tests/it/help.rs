//! Help as it appears on terminals and in pipes: its width, its colors, its exit codes.

use inkcell_testkit::env::{TestEnv, finish};
use inkcell_testkit::pty::{Pty, Size};
use insta::assert_snapshot;

use crate::env;

const PAGES: [(&str, &[&str]); 4] = [
    ("program", &["--help"]),
    ("run", &["run", "-h"]),
    ("read", &["read", "--help"]),
    ("exit_codes", &["help", "exit-codes"]),
];

/// Help in a pipe of this width.
fn piped(env: &TestEnv, args: &[&str], columns: u16, variables: &[(&str, &str)]) -> String {
    let mut command = env.inkcell();
    command.args(args).env("TERM", "xterm").env("COLUMNS", columns.to_string());
    command.envs(variables.iter().copied());
    finish(command, b"").ok().stdout
}

/// The bytes of help on a terminal of this width.
fn on_terminal(env: &TestEnv, args: &[&str], columns: u16, variables: &[(&str, &str)]) -> String {
    let mut command = env.inkcell();
    command.args(args).envs(variables.iter().copied());
    let mut pty = Pty::start(command, Size { rows: 24, columns });
    pty.end();
    String::from_utf8_lossy(pty.seen()).replace("\r\n", "\n")
}

/// A text without the sequences that color it.
fn uncolored(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or(part, |(_, rest)| rest))
}

#[test]
fn help_is_the_same_in_pipes_and_on_terminals_but_for_color() {
    let env = env();
    for (name, args) in PAGES {
        for columns in [80, 120] {
            let plain = piped(&env, args, columns, &[]);
            let snapshot = format!("{name}_{columns}");
            assert_snapshot!(snapshot.as_str(), plain);
            let colored = on_terminal(&env, args, columns, &[]);
            assert!(
                colored.contains("\u{1b}[1;32m") && colored.contains("\u{1b}[36m"),
                "{colored}"
            );
            assert_eq!(uncolored(&colored), plain, "{name}");
            let without = on_terminal(&env, args, columns, &[("NO_COLOR", "1")]);
            assert_eq!(without, plain, "{name}");
        }
    }
    let colored = on_terminal(&env, &["help"], 80, &[]);
    assert_snapshot!("program_in_color", colored.replace('\u{1b}', "␛"));
}

#[test]
fn help_gets_color_where_it_is_asked_for() {
    let env = env();
    let has_color = |text: String| text.contains('\u{1b}');
    for (option, variable, in_pipe, on_screen) in [
        ("auto", ("NONE", ""), false, true),
        ("auto", ("CLICOLOR_FORCE", "1"), true, true),
        ("auto", ("TERM", "dumb"), false, false),
        ("always", ("NO_COLOR", "1"), true, true),
        ("never", ("CLICOLOR_FORCE", "1"), false, false),
    ] {
        let args = ["--color", option, "--help"];
        let case = format!("{option} {variable:?}");
        assert_eq!(has_color(piped(&env, &args, 80, &[variable])), in_pipe, "{case}");
        assert_eq!(has_color(on_terminal(&env, &args, 80, &[variable])), on_screen, "{case}");
    }
    let mistake = on_terminal(&env, &["sesions"], 80, &[]);
    assert_eq!(
        mistake,
        "\u{1b}[1;31merror:\u{1b}[0m 'inkcell' has no command 'sesions'\n\
         \u{1b}[1;36mhint:\u{1b}[0m did you mean 'inkcell sessions'?\n"
    );
    let mistake = on_terminal(&env, &["sesions"], 80, &[("NO_COLOR", "1")]);
    assert!(!mistake.contains('\u{1b}'), "{mistake}");
    let missing =
        on_terminal(&env, &["edit", "missing.ipynb", "clear", "--color", "never"], 80, &[]);
    assert!(missing.starts_with("error: "), "{missing}");
    let missing = on_terminal(&env, &["edit", "missing.ipynb", "clear"], 80, &[]);
    assert!(missing.starts_with("\u{1b}[1;31merror:\u{1b}[0m "), "{missing}");
}

#[test]
fn help_needs_no_settings() {
    let env = env();
    env.put("config.toml", "not toml");
    let broken = [("INKCELL_CONFIG", "config.toml")];
    let page = piped(&env, &["help", "run"], 80, &broken);
    assert_eq!(page, piped(&env, &["run", "--help"], 80, &broken));
    assert!(page.contains("Examples:\n"), "{page}");
}

#[test]
fn a_mistyped_word_gets_one_error_and_one_hint() {
    let env = env();
    for (args, wanted) in [
        (
            &["raed", "nb.ipynb"][..],
            "error: 'inkcell' has no command 'raed'\nhint: did you mean 'inkcell read nb.ipynb'?\n",
        ),
        (
            &["run", "nb.ipynb", "--allow-erors"],
            "error: 'inkcell run' has no option '--allow-erors'\n\
             hint: did you mean 'inkcell run nb.ipynb --allow-errors'?\n",
        ),
        (
            &["to", "scrpt", "nb.ipynb"],
            "error: invalid value 'scrpt' for '<FORM>' (allowed: script, markdown)\n\
             hint: did you mean 'inkcell to script nb.ipynb'?\n",
        ),
        (
            &["help", "exit-cods"],
            "error: no command or topic named 'exit-cods'\n\
             hint: did you mean 'inkcell help exit-codes'?\n",
        ),
    ] {
        let ran = env.run(args).exits(2);
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", wanted), "{args:?}");
    }
}
