//! Paths on the command line: odd names, links, devices and folders, and roots.

use std::os::unix::fs::symlink;
use std::time::Duration;

use inkcell_testkit::env::{TestEnv, finish_within};
use inkcell_testkit::notebooks::small;

use crate::env;

fn edits(env: &TestEnv, given: &str) {
    let ran = env.run(&["edit", given, "replace", "1", "--source", "mine"]).ok();
    assert!(ran.stdout.starts_with("✓ Cell updated\n  Notebook: "), "{}", ran.stdout);
}

/// F-082: no shell is ever involved, so a name is a name.
#[test]
fn odd_names_are_names() {
    let longest = format!("{}.ipynb", "n".repeat(249));
    let names = [
        "with blank.ipynb",
        "new\nline.ipynb",
        "quo'te\"s`and$(touch canary).ipynb",
        "; touch canary; .ipynb",
        "\u{1f600}.ipynb",
        "glob*[a-z]?.ipynb",
        "\u{202e}rtl\u{5d0}.ipynb",
        "caf\u{e9}.ipynb",
        "cafe\u{301}.ipynb",
        "~tilde.ipynb",
        "back\\slash.ipynb",
        longest.as_str(),
    ];
    for name in names {
        let env = env();
        env.run(&["new", name]).ok();
        assert_eq!(env.names(), [name]);
        env.put(name, small());
        edits(&env, name);
        assert!(String::from_utf8_lossy(&env.get(name)).contains("mine"), "{name:?}");
        env.run(&["read", name]).ok();
        env.run(&["diff", name, name]).ok();
        assert_eq!(env.names(), [name]);
    }
    let env = env();
    let ran = env.run(&["new", &format!("{}.ipynb", "n".repeat(250))]).exits(2);
    assert!(ran.stderr.contains("File name too long"), "{}", ran.stderr);
}

/// F-082
#[test]
fn a_leading_dash_is_no_option() {
    let env = env();
    env.put("-x.ipynb", small());
    assert!(
        env.run(&["read", "--outline", "--", "-x.ipynb"])
            .ok()
            .stdout
            .starts_with("-x.ipynb  version ")
    );
    edits(&env, "./-x.ipynb");
    env.run_with(&["write", "--", "-new.ipynb"], "# %% [raw]\nx").ok();
    env.run(&["read", "-x.ipynb"]).exits(2);
    assert_eq!(env.names(), ["-new.ipynb", "-x.ipynb"]);
}

/// B:N-02
#[test]
fn a_tilde_is_home_and_relative_paths_start_here() {
    let env = env();
    std::fs::create_dir(env.path("sub")).expect("a folder");
    env.put("nb.ipynb", small());
    let run = |path: &str| {
        let mut command = env.inkcell();
        command.current_dir(env.path("sub")).args(["read", path]);
        finish_within(command, b"", Duration::from_secs(60))
    };
    run("~/nb.ipynb").ok();
    run("../nb.ipynb").ok();
    run("nb.ipynb").exits(5);
}

/// F-067: the command itself ends, whatever the path leads to.
#[test]
fn special_files_are_refused_without_waiting() {
    let env = env();
    let made = env.command("mkfifo").arg("fifo.ipynb").status();
    let socket =
        std::os::unix::net::UnixListener::bind(env.path("socket.ipynb")).expect("a socket");
    std::fs::create_dir(env.path("folder.ipynb")).expect("a folder");
    symlink("loop.ipynb", env.path("loop.ipynb")).expect("a link");
    let mut names = vec!["socket.ipynb", "folder.ipynb", "loop.ipynb", "/dev/null", "/dev/zero"];
    if made.is_ok_and(|status| status.success()) {
        names.push("fifo.ipynb");
    }
    for name in names {
        let commands: [&[&str]; 6] = [
            &["read", name],
            &["edit", name, "clear"],
            &["write", name],
            &["clean", name],
            &["diff", name, name],
            &["to", "script", name],
        ];
        for args in commands {
            let mut command = env.inkcell();
            command.args(args);
            let ran = finish_within(command, "# %% [raw]\nx", Duration::from_secs(60)).exits(2);
            let says = ["not a regular file", "symbolic links", "is a folder, not a notebook"];
            let is_told = says.iter().any(|words| ran.stderr.contains(words));
            assert!(is_told, "{args:?}: {}", ran.stderr);
        }
    }
    drop(socket);
}

/// F-067
#[test]
fn a_file_of_procfs_is_no_notebook() {
    let env = env();
    let ran = env.run(&["edit", "/proc/self/status", "clear"]).exits(2);
    let wanted = "error: /proc/self/status is a device, not a regular file\n";
    assert!(ran.stderr.starts_with(wanted), "{}", ran.stderr);
}

/// F-067
#[test]
fn a_link_stays_a_link() {
    let env = env();
    env.put("real.ipynb", small());
    symlink("real.ipynb", env.path("link.ipynb")).expect("a link");
    edits(&env, "link.ipynb");
    assert!(String::from_utf8_lossy(&env.get("real.ipynb")).contains("mine"));
    symlink("made.ipynb", env.path("dangling.ipynb")).expect("a link");
    env.run_with(&["write", "dangling.ipynb"], "# %% [raw]\nx").ok();
    assert!(env.path("made.ipynb").is_file());
    for name in ["link.ipynb", "dangling.ipynb"] {
        assert!(std::fs::symlink_metadata(env.path(name)).expect("there").is_symlink(), "{name}");
    }
}

/// S-041
#[test]
fn a_root_confines_every_command() {
    let env = env();
    for folder in ["proj", "proj-evil"] {
        std::fs::create_dir(env.path(folder)).expect("a folder");
        env.put(&format!("{folder}/nb.ipynb"), small());
    }
    symlink("../proj-evil/nb.ipynb", env.path("proj/link.ipynb")).expect("a link");
    for path in
        ["proj-evil/nb.ipynb", "proj/../proj-evil/nb.ipynb", "proj/link.ipynb", "/etc/hostname"]
    {
        let commands: [&[&str]; 9] = [
            &["read", path],
            &["read", &format!("{path}:raw")],
            &["edit", path, "clear"],
            &["write", path],
            &["new", "proj-evil/new.ipynb"],
            &["clean", path],
            &["to", "script", path],
            &["to", "script", "proj/nb.ipynb", "-o", path],
            &["edit", "proj/nb.ipynb", "delete", "0", "-o", path],
        ];
        for args in commands {
            let all: Vec<&str> =
                ["--root", "proj"].into_iter().chain(args.iter().copied()).collect();
            let ran = env.run_with(&all, "# %% [raw]\nx").exits(2);
            assert!(
                ran.stderr.contains(" is outside the allowed folders: "),
                "{args:?}: {}",
                ran.stderr
            );
        }
    }
    assert_eq!(env.get("proj-evil/nb.ipynb"), small().as_bytes());
    assert_eq!(env.get("proj/nb.ipynb"), small().as_bytes());
    assert_eq!(inkcell_testkit::env::names_in(&env.path("proj-evil")), ["nb.ipynb"]);
    env.run(&["--root", "proj", "edit", "proj/nb.ipynb", "delete", "0"]).ok();
    env.run(&["--root", "proj", "--root", "proj-evil", "read", "proj/link.ipynb"]).ok();
}
