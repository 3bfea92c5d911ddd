//! Rules about the source itself: sizes, edges between crates, and forbidden actions of a library.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod comments;
mod imports;
mod names;
mod pages;
mod sentences;
mod size;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("the crate is two folders down").to_owned()
}

/// Every Rust file below a folder, with its path as text relative to the workspace.
fn sources(below: &str) -> Vec<(String, String)> {
    let root = workspace();
    let mut found = Vec::new();
    let mut folders = vec![root.join(below)];
    while let Some(folder) = folders.pop() {
        for entry in
            std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if name.ends_with(".rs") {
                let text = std::fs::read_to_string(&path).expect("text");
                let shown = path.strip_prefix(&root).expect("below").display().to_string();
                found.push((shown, text));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "nothing below {below}");
    found
}

/// The files of `crates/*/src`.
fn crate_sources() -> Vec<(String, String)> {
    let all = sources("crates").into_iter();
    all.filter(|(path, _)| path.split('/').nth(2) == Some("src")).collect()
}

/// A source without its comments, strings and the part after `#[cfg(test)]`, so that only code is left.
fn code(text: &str) -> String {
    let text = match text.find("#[cfg(test)]") {
        Some(at) => &text[..at],
        None => text,
    };
    let mut out = String::new();
    for line in text.lines() {
        let mut in_string = false;
        let mut previous = ' ';
        for (at, c) in line.char_indices() {
            if !in_string && line[at..].starts_with("//") {
                break;
            }
            if c == '"' && previous != '\\' && previous != '\'' {
                in_string = !in_string;
            } else if !in_string {
                out.push(c);
            }
            previous = c;
        }
        out.push('\n');
    }
    out
}

#[test]
fn files_stay_short() {
    let files: Vec<(String, usize)> = ["crates", "xtask"]
        .iter()
        .flat_map(|below| sources(below))
        .map(|(path, text)| (path, text.lines().count()))
        .collect();
    for (path, lines) in &files {
        assert!(*lines <= 800, "{path} has {lines} lines");
    }
    let long: Vec<&(String, usize)> = files.iter().filter(|(_, lines)| *lines > 450).collect();
    assert!(long.len() * 10 < files.len(), "of {} files these are long: {long:?}", files.len());
}

/// The names of our own crates in one table of a manifest.
fn edges(manifest: &str, table: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(workspace().join(manifest)).expect("a manifest");
    let mut current = String::new();
    let mut found = BTreeSet::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[') {
            current = name.trim_end_matches(']').to_owned();
            // `[dependencies.name]` is the same as a line in `[dependencies]`.
            if let Some(name) = current.strip_prefix(&format!("{table}.")) {
                found.insert(name.to_owned());
            }
        } else if current == table
            && let Some((name, _)) = line.split_once(['.', '=', ' '])
        {
            found.insert(name.to_owned());
        }
    }
    found.into_iter().filter(|name| name.starts_with("inkcell")).collect()
}

#[test]
fn edges_between_crates_point_one_way() {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let table: [(&str, &[&str]); 5] = [
        ("notebook", &[]),
        ("kernel", &[]),
        ("engine", &["inkcell-notebook", "inkcell-kernel"]),
        ("inkcell", &["inkcell-engine"]),
        ("testkit", &["inkcell-notebook", "inkcell-kernel", "inkcell-engine"]),
    ];
    for entry in std::fs::read_dir(workspace().join("crates")).expect("crates") {
        let krate = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        let row = table.iter().find(|(name, _)| *name == krate);
        let (_, allowed) = row.unwrap_or_else(|| panic!("{krate} needs its row here"));
        let manifest = format!("crates/{krate}/Cargo.toml");
        let uses = edges(&manifest, "dependencies");
        assert!(uses.is_subset(&set(allowed)), "{krate} uses {uses:?}");
        assert!(edges(&manifest, "build-dependencies").is_empty(), "{krate}");
        let for_tests = edges(&manifest, "dev-dependencies");
        assert!(for_tests.is_subset(&set(&["inkcell-testkit"])), "{krate}: {for_tests:?}");
    }
}

/// Libraries do not print, end the process, or look at its environment: that is for the binary.
#[test]
fn libraries_keep_to_themselves() {
    let forbidden = [
        "println!",
        "eprintln!",
        "print!",
        "eprint!",
        "dbg!",
        "std::env",
        "process::exit",
        "process::abort",
    ];
    for below in ["crates/notebook/src", "crates/engine/src"] {
        for (path, text) in sources(below) {
            if path.ends_with("tests.rs") {
                continue;
            }
            let code = code(&text);
            for word in forbidden {
                assert!(!code.contains(word), "{path} uses {word}");
            }
        }
    }
}

/// Notebooks are data: the crate that reads them opens no file and starts no program.
#[test]
fn the_notebook_crate_does_no_input_or_output() {
    for (path, text) in sources("crates/notebook/src") {
        if path.ends_with("tests.rs") {
            continue;
        }
        let code = code(&text);
        for word in
            ["std::fs", "std::net", "std::process", "std::time", "std::io", "std::thread", "async "]
        {
            assert!(!code.contains(word), "{path} uses {word}");
        }
    }
}

#[test]
fn every_module_says_what_it_is() {
    for below in ["crates", "xtask"] {
        for (path, text) in sources(below) {
            let is_named = path.ends_with("/tests.rs") || text.starts_with("//! ");
            assert!(is_named, "{path} does not begin with //!");
        }
    }
}

/// The lines of a source where a lock's guard is bound and the same block awaits before it ends.
fn guards_over_await(code: &str) -> Vec<usize> {
    let lines: Vec<&str> = code.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let takes = line.trim_start().starts_with("let ") && line.contains(".lock()");
        if !takes || line.contains(".await") {
            continue;
        }
        // The block ends where its depth falls below that of the binding; `drop` ends the guard sooner.
        let name = line.trim_start()[4..]
            .trim_start_matches("mut ")
            .split([' ', ':'])
            .next()
            .unwrap_or("");
        let mut depth = 0i64;
        for rest in &lines[at + 1..] {
            if depth >= 0 && rest.contains(".await") {
                found.push(at + 1);
                break;
            }
            depth += rest.matches('{').count() as i64 - rest.matches('}').count() as i64;
            if depth < 0 || rest.contains(&format!("drop({name})")) {
                break;
            }
        }
    }
    found
}

#[test]
fn no_guard_is_held_over_an_await() {
    for (path, text) in crate_sources() {
        let found = guards_over_await(&code(&text));
        assert!(found.is_empty(), "{path}: a guard is held over .await, lines {found:?}");
    }
    let bad = "async fn f() {\n    let g = m.lock().unwrap();\n    h().await;\n}\n";
    assert_eq!(guards_over_await(bad), [2]);
    let fine = [
        "async fn f() {\n    {\n        let g = m.lock();\n    }\n    h().await;\n}\n",
        "async fn f() {\n    let g = m.lock();\n    drop(g);\n    h().await;\n}\n",
        "async fn f() {\n    let g = m.lock().await;\n    h().await;\n}\n",
    ];
    for text in fine {
        assert!(guards_over_await(text).is_empty(), "{text}");
    }
}

/// Issue 21, 26: a folder made in another way would have the mode that the umask leaves.
#[test]
fn private_folders_are_made_in_one_place() {
    let makes = |(path, text): (String, String)| code(&text).contains("DirBuilder").then_some(path);
    let makers: Vec<String> = crate_sources()
        .into_iter()
        .filter_map(makes)
        .filter(|path| !path.contains("testkit"))
        .collect();
    assert_eq!(makers, ["crates/kernel/src/private_folder.rs"]);
}

/// A command reads the environment in one place.
#[test]
fn the_environment_is_read_in_one_place() {
    for (path, text) in sources("crates/inkcell/src") {
        // One reads it; the others ask for arguments and the program, and split a path.
        let places = ["settings/surroundings.rs", "settings.rs", "exit.rs", "main.rs"];
        let is_place = places.iter().any(|place| path.ends_with(place));
        // Tests learn from a variable which Python to use.
        let is_test = path.ends_with("tests.rs");
        let reads = code(&text).contains("std::env");
        assert!(is_place || is_test || !reads, "{path} reads the environment");
    }
}

/// The part of a source that only tests run.
fn test_code<'a>(path: &str, text: &'a str) -> &'a str {
    let is_test = path.contains("/tests/")
        || path.ends_with("/tests.rs")
        || path.starts_with("crates/testkit/");
    match text.find("mod tests {") {
        _ if is_test => text,
        Some(at) => &text[at..],
        None => "",
    }
}

/// The lines that sleep in real time. Tokio's sleep takes none if a test pauses the clock, or a helper of its file.
fn sleeping_lines(test_code: &str) -> Vec<&str> {
    let is_paused = ["start_paused", "time::pause()"].iter().any(|s| test_code.contains(s));
    let sleeps = |line: &&str| {
        let line = line.trim_start();
        let is_sleep =
            line.contains("::sleep") || line.starts_with("use ") && line.contains("sleep");
        let is_real = line.contains("thread::sleep") || !is_paused;
        is_sleep && is_real && !line.starts_with("//")
    };
    test_code.lines().filter(sleeps).collect()
}

#[test]
fn tests_wait_for_events_and_not_for_time() {
    let may_sleep = [
        // These rules.
        "crates/inkcell/tests/tidy/main.rs",
        // The helper with which tests wait.
        "crates/testkit/src/wait.rs",
        // On the clock of the test, which is paused.
        "crates/testkit/src/scripted.rs",
        "crates/testkit/src/scripted/actor.rs",
        "crates/engine/tests/it/simulation/backend.rs",
        "crates/engine/tests/it/simulation/client.rs",
        // A gateway that answers late.
        "crates/kernel/tests/it/gateway/scripted.rs",
    ];
    for (path, text) in sources("crates") {
        let found = sleeping_lines(test_code(&path, &text));
        let is_fine = found.is_empty() || may_sleep.contains(&path.as_str());
        assert!(is_fine, "{path} sleeps; wait with inkcell_testkit::wait: {found:#?}");
    }
    let real = "#[tokio::test]\nasync fn f() {\n    tokio::time::sleep(SECOND).await;\n}\n";
    assert_eq!(sleeping_lines(real).len(), 1);
    let paused = real.replace("test]", "test(start_paused = true)]");
    assert!(sleeping_lines(&paused).is_empty());
    assert_eq!(sleeping_lines(&format!("{paused}std::thread::sleep(SECOND);")).len(), 1);
    for line in ["std::thread::sleep(SECOND);", "use std::thread::{self, sleep};"] {
        assert_eq!(sleeping_lines(line).len(), 1, "{line}");
    }
    assert!(sleeping_lines("// thread::sleep\nlet code = \"time.sleep(1)\";").is_empty());
}
