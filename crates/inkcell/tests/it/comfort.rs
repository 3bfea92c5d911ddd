//! Help with typing, reading and looking up: completions, manual pages, the pager, next steps.

use std::collections::BTreeSet;
use std::process::Command;

use inkcell_testkit::env::{TestEnv, finish, names_in};
use inkcell_testkit::need::{skip, succeeds};
use inkcell_testkit::pty::{Pty, USUAL};

use crate::env;

/// The commands that the help lists.
fn commands(env: &TestEnv) -> Vec<String> {
    let help = env.run(&["--help"]).ok().stdout;
    let (_, listed) = help.split_once("Notebooks:\n").expect("a list");
    let (listed, _) = listed.split_once("Global options:\n").expect("its end");
    let lines = listed.lines();
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<String> =
        names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    assert!(names.len() > 25, "{names:?}");
    names
}

/// Issue 9: every command is completed in every shell, and each installed shell accepts its script.
#[test]
fn completions_are_complete_and_load() {
    let env = env();
    let commands = commands(&env);
    for shell in ["bash", "zsh", "fish"] {
        let script = env.run(&["completions", shell]).ok().stdout;
        for name in &commands {
            assert!(script.contains(name.as_str()), "{shell}: {name}");
        }
        for flag in ["no-pager", "clear-changed", "on-server", "detach"] {
            assert!(script.contains(flag), "{shell}: {flag}");
        }
        env.put(shell, &script);
        if !succeeds(shell, &["-c", "true"]) {
            skip("completions_are_complete_and_load", &format!("there is no {shell}"));
            continue;
        }
        let mut checked = env.command(shell);
        checked.args(["-n", shell]);
        let checked = finish(checked, b"").ok();
        assert_eq!(checked.stderr, "");
    }
    if succeeds("bash", &["-c", "true"]) {
        let typed = |words: &str| {
            let count = words.split(' ').count() - 1;
            let script = format!(
                "source ./bash; COMP_WORDS=({words}); COMP_CWORD={count}; \
                 _inkcell inkcell \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; echo \"${{COMPREPLY[@]}}\""
            );
            let mut bash = env.command("bash");
            bash.args(["--norc", "-c", &script]);
            finish(bash, b"").ok().stdout
        };
        assert_eq!(typed("inkcell comp"), "completions\n");
        assert_eq!(typed("inkcell py --view bl"), "blocks\n");
        assert!(typed("inkcell run --al").contains("--allow-errors"));
    }
}

/// Issue 9: every command has a page, which names it and shows its syntax.
#[test]
fn manual_pages_are_rendered() {
    let env = env();
    env.run(&["man", "--dir", "man"]).ok();
    let pages: BTreeSet<String> = names_in(&env.path("man")).into_iter().collect();
    for name in commands(&env) {
        assert!(pages.contains(&format!("inkcell-{name}.1")), "{name}: {pages:?}");
    }
    let has_man = succeeds("man", &["--version"]) && succeeds("groff", &["--version"]);
    if !has_man {
        skip("manual_pages_are_rendered", "there is no man");
        return;
    }
    for (page, wanted) in [
        ("inkcell.1", "no-pager"),
        ("inkcell.1", "SESSIONS AND OUTPUTS"),
        ("inkcell.1", "inkcell-verify(1)"),
        ("inkcell.1", "The code ran out of time"),
        ("inkcell-py.1", "inkcell py '1 + 1'"),
        ("inkcell-read.1", "inkcell read report.ipynb --outline"),
        ("inkcell-host-stop.1", "inkcell host stop"),
    ] {
        let mut man = env.command("man");
        man.args(["-P", "cat", "-l", &format!("man/{page}")]);
        man.env("MANWIDTH", "100").env("LC_ALL", "C.UTF-8").env("MAN_KEEP_FORMATTING", "");
        let shown = finish(man, b"").ok();
        assert_eq!(shown.stderr, "", "{page}");
        let plain = shown.stdout.replace('’', "'").replace('‐', "-");
        assert!(plain.contains(wanted), "{page}: {plain}");
        assert!(plain.contains("NAME"), "{page}: {plain}");
    }
}

/// Issue 9: a pager shows long answers on a terminal, the one that PAGER names; never in a pipe, and not if it is
/// disabled.
#[test]
fn a_pager_is_for_terminals_alone() {
    let env = env();
    env.run(&["new", "nb.ipynb"]).ok();
    env.run(&["edit", "nb.ipynb", "insert", "--source", "answer = 42"]).ok();
    env.put("pager", "#!/bin/sh\necho PAGED \"$@\"\ncat\n");
    let mut chmod = env.command("chmod");
    chmod.args(["+x", "pager"]);
    finish(chmod, b"").ok();
    let read = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command: Command = env.inkcell();
        command.args(args).env("PAGER", "./pager -x").envs(variables.iter().copied());
        let mut pty = Pty::start(command, USUAL);
        assert!(pty.end().success(), "{}", pty.text());
        pty.text()
    };
    let shown = read(&["read", "nb.ipynb"], &[]);
    assert!(shown.contains("PAGED -x\n") && shown.contains("answer = 42"), "{shown}");
    for (args, variables) in [
        (&["--no-pager", "read", "nb.ipynb"][..], &[][..]),
        (&["read", "nb.ipynb", "--no-pager"], &[]),
        (&["read", "nb.ipynb"], &[("PAGER", "cat")]),
        (&["read", "nb.ipynb"], &[("PAGER", "")]),
        (&["read", "nb.ipynb"], &[("TERM", "dumb")]),
        (&["read", "nb.ipynb"], &[("PAGER", "./not-there")]),
        (&["read", "nb.ipynb", "--json"], &[]),
        (&["settings"], &[]),
    ] {
        let shown = read(args, variables);
        assert!(!shown.contains("PAGED"), "{args:?} {variables:?}: {shown}");
    }
    let mut piped = env.inkcell();
    piped.args(["read", "nb.ipynb"]).env("PAGER", "./pager").env("TERM", "xterm");
    let ran = finish(piped, b"").ok();
    assert!(!ran.stdout.contains("PAGED") && ran.stdout.contains("answer = 42"), "{}", ran.stdout);
}

/// Issue 9: an error says what to type next.
#[test]
fn errors_name_the_next_command() {
    let env = env();
    env.put("text.txt", "no notebook");
    let table: [(&[&str], &str); 9] = [
        (&["attach"], "inkcell sessions"),
        (&["stop", "nobody"], "inkcell sessions"),
        (&["result", "xnever"], "inkcell artifacts"),
        (&["read", "missing.ipynb"], "inkcell new"),
        (&["tui", "missing.ipynb"], "inkcell read"),
        (&["repl", "--json"], "inkcell py"),
        (&["py", "--session", "work", "1"], "--no-host"),
        (&["py", "--detach", "1"], "host.use"),
        (&["sesions"], "sessions"),
    ];
    for (args, wanted) in table {
        let ran = env.run(args);
        assert_ne!(ran.code, Some(0), "{args:?}");
        // With --json the answer contains it.
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains(wanted), "{args:?}: {said}");
    }
}
