//! Two programs that edit one notebook at the same time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use inkcell_testkit::env::TestEnv;
use inkcell_testkit::need::is_quick;
use inkcell_testkit::notebooks::small;

use crate::env;

/// A random generator that only has to differ between the writers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

/// One writer: edits only cells of its own, and remembers the confirmed edits.
fn writer(env: &TestEnv, name: &str, edits: usize) -> BTreeMap<String, String> {
    let mut dice = Dice(name.bytes().map(u64::from).sum());
    let mut cells: BTreeMap<String, String> = BTreeMap::new();
    for number in 0..edits {
        let text = format!("{name} wrote {number} here");
        let ids: Vec<&String> = cells.keys().collect();
        let mine = (!ids.is_empty()).then(|| ids[dice.roll(ids.len())].clone());
        let edit = |args: &[&str]| {
            let all: Vec<&str> =
                ["edit", "nb.ipynb", "--json"].into_iter().chain(args.iter().copied()).collect();
            let ran = env.run(&all).ok();
            serde_json::from_str::<serde_json::Value>(&ran.stdout).expect("JSON")
        };
        match (dice.roll(10), mine) {
            (0, Some(id)) => {
                edit(&["delete", &id]);
                cells.remove(&id);
            }
            (1, Some(id)) => drop(edit(&["move", &id, "--at", "start"])),
            (2..=5, Some(id)) => {
                edit(&["replace", &id, "--source", &text]);
                cells.insert(id, text);
            }
            (_, mine) => {
                let place = match &mine {
                    Some(id) => ["--after", id],
                    None => ["--at", "end"],
                };
                let said = edit(&[&["insert", "--source", &text], &place[..]].concat());
                let id = said["changes"][0]["id"].as_str().expect("an id").to_owned();
                cells.insert(id, text);
            }
        }
    }
    cells
}

/// F-065
#[test]
fn every_acknowledged_edit_of_two_programs_is_there_once() {
    let env = env();
    env.put("nb.ipynb", small());
    let edits = if is_quick() { 60 } else { 200 };
    let is_done = AtomicBool::new(false);
    let (one, other, polls) = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut polls = 0;
            while !is_done.load(Ordering::Relaxed) {
                let bytes = env.get("nb.ipynb");
                let value = serde_json::from_slice::<serde_json::Value>(&bytes);
                assert!(
                    value.is_ok_and(|value| value["cells"].is_array()),
                    "a poll saw half a file"
                );
                polls += 1;
            }
            polls
        });
        let one = scope.spawn(|| writer(&env, "one", edits));
        let other = writer(&env, "other", edits);
        let one = one.join();
        is_done.store(true, Ordering::Relaxed);
        (
            one.expect("the writer came to its end"),
            other,
            watcher.join().expect("every poll was good"),
        )
    });
    assert!(polls > 0);
    let now: serde_json::Value = serde_json::from_slice(&env.get("nb.ipynb")).expect("JSON");
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for cell in now["cells"].as_array().expect("cells") {
        let source: String =
            cell["source"].as_array().expect("lines").iter().filter_map(|l| l.as_str()).collect();
        let id = cell["id"].as_str().expect("an id").to_owned();
        assert_eq!(found.insert(id.clone(), source), None, "the id {id} stands twice");
    }
    let mut wanted: BTreeMap<String, String> = one.into_iter().chain(other).collect();
    for (id, source) in [
        ("intro-md", "# Title\n\nSome prose."),
        ("aaaa1111", "x = 1\nprint(x)"),
        ("bbbb2222", "y = 2\n"),
    ] {
        wanted.insert(id.to_owned(), source.to_owned());
    }
    assert_eq!(found, wanted);
    assert_eq!(env.names(), ["nb.ipynb"]);
}
