//! Which rooms of a crate use which: paths read from the sources, and the cycles among them.
//!
//! A room is a folder below `src` with everything in it, or a file that stands there alone. A path counts if it
//! begins with `crate`, `self` or `super`, in a `use` or in code; names that the crate's root re-exports count for
//! the room they come from.

use std::collections::{BTreeMap, BTreeSet};

use super::{code, sources, workspace};

/// Room to room, with the files that make the edge.
type Graph = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// The paths in a source that begin with one of these words, as their segments.
fn paths(code: &str, first: &str) -> Vec<Vec<String>> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for (at, _) in code.match_indices(first) {
        let before = code[..at].chars().next_back();
        let rest = &code[at + first.len()..];
        if before.is_some_and(|c| is_word(c) || c == ':') || !rest.starts_with("::") {
            continue;
        }
        let mut rest = &rest[2..];
        tree(&mut rest, &[first.to_owned()], &mut found);
    }
    found
}

/// Reads one path, or a group of them in braces, and leaves `rest` behind it.
fn tree(rest: &mut &str, prefix: &[String], found: &mut Vec<Vec<String>>) {
    *rest = rest.trim_start();
    if let Some(inside) = rest.strip_prefix('{') {
        *rest = inside;
        loop {
            *rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix('}') {
                *rest = after;
                return;
            }
            let length = rest.len();
            tree(rest, prefix, found);
            // The text behind a name: `as other`, then a comma.
            let end = rest.find([',', '}', '{']).unwrap_or(rest.len());
            *rest = rest[end..].strip_prefix(',').unwrap_or(&rest[end..]);
            if rest.is_empty() || rest.len() == length {
                return;
            }
        }
    }
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    let mut path = prefix.to_vec();
    path.push(rest[..end].to_owned());
    *rest = &rest[end..];
    match rest.strip_prefix("::") {
        Some(after) => {
            *rest = after;
            tree(rest, &path, found);
        }
        None => found.push(path),
    }
}

/// The module of a file, below the crate's root.
fn module(file: &str) -> Vec<String> {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    match path {
        "lib" | "main" => Vec::new(),
        path => path.split('/').map(str::to_owned).collect(),
    }
}

/// The target of a path of this module, from the crate's root on.
fn resolve(module: &[String], path: &[String]) -> Vec<String> {
    let mut base = match path[0].as_str() {
        "crate" => Vec::new(),
        _ => module.to_vec(),
    };
    let mut rest = path;
    while let Some((first, after)) = rest.split_first() {
        match first.as_str() {
            "crate" | "self" => {}
            "super" => drop(base.pop()),
            _ => break,
        }
        rest = after;
    }
    base.extend(rest.iter().cloned());
    base
}

/// The files of a crate without its tests, relative to its `src`, with their code.
fn files(krate: &str) -> Vec<(String, String)> {
    let src = format!("crates/{krate}/src/");
    let is_test = |path: &str| {
        path.split('/').any(|part| part == "tests")
            || ["/tests.rs", "_tests.rs"].iter().any(|end| path.ends_with(end))
    };
    let all = sources(&src).into_iter().filter(|(path, _)| !is_test(path));
    all.map(|(path, text)| (path[src.len()..].to_owned(), code(&text))).collect()
}

/// The uses among the children of a folder; the crate's root is the empty path.
fn graph(files: &[(String, String)], folder: &[String]) -> Graph {
    let is_module = |path: &[String]| {
        files.iter().any(|(file, _)| {
            let module = module(file);
            module.len() >= path.len() && module[..path.len()] == *path
        })
    };
    // The names that the root re-exports.
    let mut exports = BTreeMap::new();
    for (_, code) in files.iter().filter(|(file, _)| module(file).is_empty()) {
        for line in code.split(';').filter(|line| line.contains("pub use ")) {
            let (_, tail) = line.split_once("pub use ").expect("it is there");
            let (mut rest, mut found) = (tail, Vec::new());
            tree(&mut rest, &[], &mut found);
            for path in found.into_iter().filter(|path| path.len() > 1) {
                exports.insert(path.last().expect("a name").clone(), path);
            }
        }
    }
    let mut graph = Graph::new();
    for (file, code) in files {
        let module = module(file);
        if module.len() <= folder.len() || module[..folder.len()] != *folder {
            continue;
        }
        let from = &module[folder.len()];
        for first in ["crate", "self", "super"] {
            for path in paths(code, first) {
                let mut path = resolve(&module, &path);
                if let [name, ..] = path.as_slice()
                    && !is_module(std::slice::from_ref(name))
                    && let Some(whole) = exports.get(name)
                {
                    path = whole.clone();
                }
                let is_inside = path.len() > folder.len() && path[..folder.len()] == *folder;
                if !is_inside || !is_module(&path[..=folder.len()]) || path[folder.len()] == *from {
                    continue;
                }
                let to = path[folder.len()].clone();
                graph.entry(from.clone()).or_default().entry(to).or_default().insert(file.clone());
            }
        }
    }
    graph
}

/// The rooms that can be reached from one.
fn reached(graph: &Graph, from: &str) -> BTreeSet<String> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(room) = next.pop() {
        for to in graph.get(&room).into_iter().flat_map(BTreeMap::keys) {
            if seen.insert(to.clone()) {
                next.push(to.clone());
            }
        }
    }
    seen
}

/// The edges between rooms that can reach each other, in words.
fn cycles(graph: &Graph) -> Vec<String> {
    let mut found = Vec::new();
    for (from, edges) in graph {
        for (to, files) in edges {
            if reached(graph, to).contains(from) {
                found.push(format!("{from} -> {to}: {files:?}"));
            }
        }
    }
    found
}

const CRATES: [&str; 4] = ["notebook", "kernel", "engine", "inkcell"];

#[test]
fn rooms_of_a_crate_form_no_cycle() {
    for krate in CRATES {
        let found = cycles(&graph(&files(krate), &[]));
        assert!(found.is_empty(), "{krate}: these edges are parts of cycles: {found:#?}");
    }
}

#[test]
fn arguments_know_no_other_room_and_no_room_knows_the_commands() {
    let files = files("inkcell");
    let graph = graph(&files, &[]);
    // Help lists the exit codes, which are in a file of their own.
    let is_folder =
        |room: &&String| files.iter().any(|(file, _)| file.starts_with(&format!("{room}/")));
    let uses = reached(&graph, "args");
    let folders: Vec<_> = uses.iter().filter(is_folder).collect();
    assert!(folders.is_empty(), "args reaches {folders:?}");
    let users: Vec<_> = graph.iter().filter(|(_, to)| to.contains_key("cli")).collect();
    assert!(users.is_empty(), "these use cli: {users:#?}");
}

#[test]
fn saving_does_not_know_runs() {
    let graph = graph(&files("engine"), &[]);
    for room in ["files", "edit"] {
        let uses = reached(&graph, room);
        assert!(!uses.contains("run"), "{room} reaches run: {uses:?}");
    }
}

/// One request path: a call is made in one place, whichever face asks for it.
#[test]
fn calls_begin_in_one_place() {
    let makes_call = |line: &str| {
        let line = line.trim_start();
        let is_type = ["pub", "struct ", "impl "].iter().any(|start| line.starts_with(start));
        !is_type
            && line.split(|c: char| !c.is_alphanumeric()).any(|word| word == "Call")
            && line.contains("Call {")
    };
    let mut places = Vec::new();
    for (file, code) in files("engine") {
        places.extend(code.lines().filter(|line| makes_call(line)).map(|_| file.clone()));
    }
    assert_eq!(places, ["engine/submit.rs"]);
}

/// One request path: requests enter an engine where it lives, in its host, or at the desk of its tools.
#[test]
fn requests_enter_an_engine_in_few_places() {
    let submits = |code: &str| {
        let code: String = code.split_whitespace().collect();
        code.contains(".submit(") || code.contains("Engine::submit")
    };
    let is_home =
        |file: &str| ["app/", "client/", "host/"].iter().any(|room| file.starts_with(room));
    let all: Vec<_> = files("inkcell").into_iter().filter(|(_, code)| submits(code)).collect();
    assert!(all.iter().any(|(file, _)| file == "host/answer.rs"), "the host submits requests");
    let mut others: Vec<_> =
        all.iter().map(|(file, _)| &**file).filter(|file| !is_home(file)).collect();
    others.sort_unstable();
    let known = [
        // Tries kernels in engines of its own.
        "cli/doctor/kernels.rs",
        // Tools run beside their engine, and lend their code what no socket carries.
        "mcp/desk/submit.rs",
    ];
    assert_eq!(others, known, "elsewhere, ask a client or the desk");
}

/// Each folder of the product is in the map that a newcomer reads.
#[test]
fn the_architecture_names_every_folder() {
    let path = workspace().join("ARCHITECTURE.md");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let words: BTreeSet<&str> =
        text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).collect();
    for krate in CRATES {
        for (file, _) in files(krate) {
            let folders = file.rsplit_once('/').map_or("", |(folders, _)| folders);
            let top = folders.split('/').next().unwrap_or_default();
            assert!(top.is_empty() || words.contains(top), "ARCHITECTURE.md does not name {top}");
        }
    }
    let is_word = |word: &&str| word.contains(|c: char| c.is_alphanumeric());
    let count = text.split_whitespace().filter(is_word).count();
    assert!(count <= 900, "ARCHITECTURE.md has {count} words");
}

#[test]
fn paths_are_read_from_code() {
    let code = "use crate::{a::{self, b::C as D}, e};\nfn f(x: crate::g::H) { super::i::j(); }\n";
    let texts = |first| paths(code, first).iter().map(|path| path.join("::")).collect::<Vec<_>>();
    assert_eq!(texts("crate"), ["crate::a::self", "crate::a::b::C", "crate::e", "crate::g::H"]);
    assert_eq!(texts("super"), ["super::i::j"]);
    let module = ["a".to_owned(), "b".to_owned()];
    let path = ["super", "c"].map(str::to_owned);
    assert_eq!(resolve(&module, &path), ["a", "c"]);
}

#[test]
fn cycles_are_found_also_through_names_of_the_root() {
    let file = |name: &str, code: &str| (name.to_owned(), code.to_owned());
    let files = [
        file("lib.rs", "pub use a::{Thing};"),
        file("a.rs", "use crate::b::Other;"),
        file("b/mod.rs", "mod c;"),
        file("b/c.rs", "use crate::Thing;"),
    ];
    let found = cycles(&graph(&files, &[]));
    assert_eq!(found, ["a -> b: {\"a.rs\"}", "b -> a: {\"b/c.rs\"}"]);
    assert!(cycles(&graph(&files[..3], &[])).is_empty());
}
