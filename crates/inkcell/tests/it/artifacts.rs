//! Stored output on the command line: the list, the content, and the removal.

use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use inkcell_engine::artifact::{
    ArtifactLimits, ArtifactSession, ArtifactSpec, Artifacts, ArtifactsConfig,
};
use inkcell_engine::system_random;
use inkcell_testkit::env::{CommandOutput, TestEnv, finish};
use serde_json::Value;

use crate::env;

/// A time so long ago that every age limit has passed.
fn long_ago() -> SystemTime {
    SystemTime::now() - Duration::from_secs(400 * 24 * 60 * 60)
}

fn store_at(env: &TestEnv, now: fn() -> SystemTime) -> Artifacts {
    Artifacts::new(ArtifactsConfig {
        state_dir: env.state(),
        limits: ArtifactLimits::STANDARD,
        random: system_random,
        now,
    })
}

fn spec(session: &str, kind: &str) -> ArtifactSpec {
    let session = ArtifactSession::new(session, &[b"/work"]);
    ArtifactSpec { session, kind: kind.to_owned(), title: "load\u{1b}[31m data".to_owned() }
}

/// The time, later with each call. Times are kept to the millisecond, and give the order.
fn next_time() -> SystemTime {
    static LAST: Mutex<SystemTime> = Mutex::new(SystemTime::UNIX_EPOCH);
    let mut last = LAST.lock().expect("a clock");
    *last = SystemTime::now().max(*last + Duration::from_millis(2));
    *last
}

fn put_as(env: &TestEnv, session: &str, kind: &str, bytes: &[u8]) -> String {
    let written = store_at(env, next_time).store(&spec(session, kind), bytes);
    written.expect("begun").info.expect("kept").id.to_string()
}

fn put(env: &TestEnv, bytes: &[u8]) -> String {
    put_as(env, "default", "text/plain", bytes)
}

fn json(ran: CommandOutput) -> Value {
    serde_json::from_str(&ran.ok().stdout).expect("JSON")
}

fn ids(env: &TestEnv) -> Vec<String> {
    let said = json(env.run(&["artifacts", "--json"]));
    let listed = said["artifacts"].as_array().expect("a list");
    listed.iter().map(|one| one["id"].as_str().expect("an id").to_owned()).collect()
}

/// `artifacts list`, also without its name: a line each for people, and all of it for programs.
#[test]
fn what_is_stored_is_listed() {
    let env = env();
    let ran = env.run(&["artifacts"]).ok();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", "0 artifacts, 0B\n"));
    let text = put(&env, b"one\ntwo\n");
    let picture = put_as(&env, "plots", "image/png", &[0x89; 2048]);
    for args in [&["artifacts"][..], &["artifacts", "list"]] {
        let ran = env.run(args).ok();
        let lines: Vec<&str> = ran.stdout.lines().collect();
        assert_eq!(lines[0], "ID                AGE   SIZE  LINES  SESSION  WHAT");
        assert!(lines[1].starts_with(&text), "{}", ran.stdout);
        assert!(
            lines[1].ends_with("8B      2  default  text/plain  load [31m data"),
            "{}",
            lines[1]
        );
        assert!(
            lines[2].starts_with(&picture) && lines[2].contains(" 2.0KB      -  plots    image")
        );
        assert_eq!((lines.len(), ran.stderr.as_str()), (3, "2 artifacts, 2.0KB\n"));
    }
    let said = json(env.run(&["artifacts", "list", "--session", "plots", "--json"]));
    let one = &said["artifacts"][0];
    assert_eq!(said["artifacts"].as_array().map(Vec::len), Some(1));
    assert_eq!((one["id"].as_str(), one["bytes"].as_u64()), (Some(picture.as_str()), Some(2048)));
    assert_eq!((&one["state"], &one["lines"]), (&"complete".into(), &Value::Null));
    assert_eq!(said["kept"]["artifacts"], 2);
    let path = one["path"].as_str().expect("a path");
    assert_eq!(std::fs::read(path).expect("the file"), [0x89; 2048]);
    let ran = env.run(&["artifacts", "--session", "nope"]).ok();
    let wanted = "session nope has no artifacts; sessions with artifacts: default, plots\n";
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", wanted));
}

/// B:O-08 B:O-09: cleaned unless the raw bytes are asked for; whole, by lines, by pattern; nothing is cut.
#[test]
fn stored_output_is_shown_whole_and_in_parts() {
    let env = env();
    let raw = b"\x1b[31mred\x1b[0m\r\n10%\r100%\na\xffb\nlast";
    let id = put(&env, raw);
    let uri = format!("artifact://{id}");
    let clean = "red\n100%\na\u{fffd}b\nlast";
    assert_eq!(env.run(&["result", &id]).ok().stdout, clean);
    assert_eq!(env.run(&["result", &uri]).ok().stdout, clean);
    assert_eq!(env.run(&["result", &id, "--raw"]).ok().bytes, raw);
    assert_eq!(env.run(&["result", &format!("{uri}:raw")]).ok().bytes, raw);
    let rows: [(&[&str], &str); 6] = [
        (&["--lines", "2-3"], "100%\na\u{fffd}b\n"),
        (&["--lines", "4"], "last"),
        (&["--lines", "1-1,3+1"], "red\na\u{fffd}b\n"),
        (&["--grep", "^(red|last)$"], "1:red\n4:last\n"),
        (&["--grep", "10%"], ""),
        (&["--lines", "9-"], ""),
    ];
    for (args, wanted) in rows {
        let ran = env.run(&[&["result", &id], args].concat()).ok();
        assert_eq!(ran.stdout, wanted, "{args:?}");
    }
    assert_eq!(env.run(&["result", &format!("{id}:2-2")]).ok().stdout, "100%\n");
    assert_eq!(env.run(&["result", &format!("{id}:raw:2-2")]).ok().stdout, "10%\r100%\n");
    assert_eq!(env.run(&["result", &id, "--raw", "--grep", "10%"]).ok().stdout, "2:10%\r100%\n");
    assert_eq!(env.run(&["result", &id, "--lines", "9-"]).stderr, "the artifact has 4 lines\n");
    assert_eq!(env.run(&["result", &id, "--grep", "no"]).stderr, "0 of 4 lines match\n");
    // For programs.
    let said = json(env.run(&["result", &id, "--json"]));
    assert_eq!((said["text"].as_str(), &said["total_lines"]), (Some(clean), &4.into()));
    assert_eq!(said["artifact"]["uri"], *uri);
    let said = json(env.run(&["result", &id, "--json", "--grep", "a"]));
    let wanted =
        serde_json::json!([{"line": 3, "text": "a\u{fffd}b"}, {"line": 4, "text": "last"}]);
    assert_eq!((&said["matches"], &said["matching_lines"]), (&wanted, &2.into()));
    let said = json(env.run(&["result", &id, "--json", "--grep", "none"]));
    assert_eq!(
        (said["matches"].as_array().map(Vec::len), &said["total_lines"]),
        (Some(0), &4.into())
    );
    // 8 MB arrive whole.
    let long = "0123456789\n".repeat(800_000);
    let id = put(&env, long.as_bytes());
    assert!(env.run(&["result", &id]).ok().stdout == long);
    assert!(json(env.run(&["result", &id, "--json"]))["text"] == *long);
    let ran = env.run(&["result", &id, "--grep", "9$"]).ok();
    assert_eq!(ran.stdout.lines().count(), 800_000);
}

/// A value of JSON, and the error for a path that leads nowhere.
#[test]
fn a_value_of_json_is_shown() {
    let env = env();
    let text = br#"{"rows": [{"name": "a\u00e9"}, NaN], "n": 1}"#;
    let id = put_as(&env, "default", "application/json", text);
    let at = |path: &str| env.run(&["result", &id, "--json-path", path]);
    assert_eq!(at(".rows[0].name").ok().stdout, "\"a\\u00e9\"\n");
    assert_eq!(at(".rows[-1]").ok().stdout, "NaN\n");
    assert_eq!(at("$").ok().bytes, [&text[..], b"\n"].concat());
    let said = json(env.run(&["result", &id, "--json-path", ".rows", "--json"]));
    assert_eq!((said["kind"].as_str(), &said["entries"]), (Some("array"), &2.into()));
    assert_eq!(said["json"], r#"[{"name": "a\u00e9"}, NaN]"#);
    let ran = at(".rows.x").exits(5);
    let wanted =
        "error: the path .rows.x leads nowhere: after 1 step there is an array with 2 entries\n";
    assert_eq!(ran.stderr, wanted);
    let ran = at(".x").exits(5);
    assert!(ran.stderr.contains("at its beginning there is an object with 2 entries: rows, n"));
    assert!(at("[").exits(2).stderr.contains("at \"[\""));
    let id = put(&env, b"no json");
    let ran = env.run(&["result", &id, "--json-path", "."]).exits(2);
    assert!(ran.stderr.contains("is not JSON: a value is wanted at byte"), "{}", ran.stderr);
}

/// A picture is bytes: all of them, and no lines.
#[test]
fn a_picture_comes_as_it_is() {
    let env = env();
    let bytes = b"\x89PNG\r\n\x1a\n\x1b[31m";
    let id = put_as(&env, "default", "image/png", bytes);
    assert_eq!(env.run(&["result", &id]).ok().bytes, bytes);
    for args in [["--lines", "1"], ["--grep", "x"], ["--json-path", "."]] {
        let ran = env.run(&[&["result", &id], &args[..]].concat()).exits(2);
        assert!(ran.stderr.contains("is image/png, which has no lines"), "{}", ran.stderr);
    }
    let said = json(env.run(&["result", &id, "--json"]));
    assert_eq!((&said["artifact"]["kind"], said.get("text")), (&"image/png".into(), None));
}

/// S-040: an invalid id, or one that does not exist, gets an error with the next step; no file elsewhere is ever
/// shown.
#[test]
fn an_unknown_id_is_told_with_the_next_step() {
    let env = env();
    let id = put(&env, b"mine\n");
    env.put("secret", "secret");
    let hint = "hint: list stored outputs with 'inkcell artifacts list'\n";
    let ran = env.run(&["result", &id[..6]]).exits(2);
    let nearest = format!("(16 letters and digits, as in artifact://ID); the nearest is {id} (");
    let is_told = ran.stderr.contains(&nearest) && ran.stderr.ends_with(&format!(", 5B)\n{hint}"));
    assert!(is_told, "{}", ran.stderr);
    let never = if id.starts_with('z') { "y" } else { "z" }.repeat(16);
    let ran = env.run(&["result", &never]).exits(5);
    let wanted = format!("error: no artifact {never}: it was removed because of its age");
    assert!(ran.stderr.starts_with(&wanted) && ran.stderr.ends_with(hint), "{}", ran.stderr);
    let secret = env.path("secret").display().to_string();
    let long = "x".repeat(10_240);
    for given in
        ["../x", "secret", "./secret", &secret, "%2e%2e%2f", "con", "", "artifact://", &long]
    {
        for args in [&["result", given][..], &["artifacts", "rm", given]] {
            let ran = env.run(args).exits(2);
            assert!(ran.stderr.contains("is not an artifact ID"), "{given}: {}", ran.stderr);
            assert!(ran.stderr.lines().count() == 2 && !ran.stdout.contains("secret"));
        }
    }
    assert!(env.path("secret").exists() && ids(&env) == [id]);
}

#[test]
fn wrong_arguments_are_told() {
    let env = env();
    let id = put(&env, b"one\n");
    let rows: [(&[&str], &str); 4] = [
        (
            &["--lines", "x"],
            "--lines: \"x\" is not a range of lines; write 10-20, 3+4, 50- or 1-9,40-50",
        ),
        (&["--lines", "raw"], "--lines: \"raw\" is not a range of lines"),
        (&["--lines", "0"], "lines are 1-indexed"),
        (&["--grep", "("], "the pattern is not a regular expression: unclosed group"),
    ];
    for (args, wanted) in rows {
        let ran = env.run(&[&["result", &id], args].concat()).exits(2);
        assert!(ran.stderr.contains(wanted), "{args:?}: {}", ran.stderr);
    }
    let ran = env.run(&["result", &format!("{id}:1-2"), "--lines", "1"]).exits(2);
    assert_eq!(ran.stderr, "error: --lines: the ID already names lines\n");
    let ran = env.run(&["result", &format!("{id}:1-2"), "--grep", "x"]).ok();
    assert_eq!(ran.stderr, "0 of 1 line match\n");
    env.run(&["artifacts", "rm"]).exits(2);
    env.run(&["artifacts", "rm", &id, "--all"]).exits(2);
}

/// Removal by id, all or nothing; by session; of everything.
#[test]
fn artifacts_are_removed() {
    let env = env();
    let [one, two] = [b"one".as_slice(), b"two"].map(|bytes| put(&env, bytes));
    let plot = put_as(&env, "plots", "image/png", b"p");
    env.run(&["artifacts", "rm", &one, "aaaaaaaaaaaaaaaa"]).exits(5);
    assert_eq!(ids(&env).len(), 3, "a slip in one id removes nothing");
    let ran = env.run(&["artifacts", "rm", &one, &format!("artifact://{one}")]).ok();
    assert_eq!(ran.stdout, format!("removed {one} (3B)\n"));
    let ran = env.run(&["artifacts", "rm", "--session", "nope"]).exits(5);
    assert!(ran.stderr.contains("session nope has no artifacts; sessions with artifacts: default"));
    let said = json(env.run(&["artifacts", "rm", "--session", "plots", "--json"]));
    assert_eq!(
        (&said["removed"][0]["id"], &said["left"]["artifacts"]),
        (&(*plot).into(), &1.into())
    );
    let ran = env.run(&["artifacts", "rm", "--all"]).ok();
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("removed 1 artifact, 2.0KB"), "{}", ran.stdout);
    assert_eq!((lines[1], ids(&env).len()), ("left: 0 artifacts, 0B", 0));
    assert!(!ran.stdout.contains(&two));
}

/// Removal by age, by quotas and of leftovers; the limits are those of the settings.
#[test]
fn a_clean_up_says_what_went_and_what_is_left() {
    let env = env();
    let old = store_at(&env, long_ago).store(&spec("default", "text/plain"), b"old");
    let old = old.expect("begun").info.expect("kept").path;
    // A killed writer leaves a file without a record.
    std::fs::write(old.with_file_name("aaaaaaaaaaaaaaaa.md"), "left").expect("written");
    let new = put(&env, &[b'x'; 3000]);
    // Storing something has already removed the old one, so store that again.
    let older = store_at(&env, long_ago).store(&spec("default", "text/plain"), b"old");
    let older = older.expect("begun").info.expect("kept").id.to_string();
    std::fs::write(old.with_file_name("bbbbbbbbbbbbbbbb.md"), "left").expect("written");
    assert_eq!(ids(&env), [older, new.clone()]);
    let ran = env.run(&["artifacts", "gc"]).ok();
    let wanted = "removed 1 artifact, 2.0KB: 1 too old\nremoved what 1 killed writer left\n\
                  left: 1 artifact, 4.9KB\n";
    assert_eq!(ran.stdout, wanted);
    assert_eq!(ids(&env), [new]);
    let ran = env.run(&["artifacts", "gc"]).ok();
    assert_eq!(ran.stdout, "nothing to remove\nleft: 1 artifact, 4.9KB\n");
    let other = put_as(&env, "other", "text/plain", b"other");
    let mut command = env.inkcell();
    command.args(["artifacts", "gc", "--json"]).env("INKCELL_ARTIFACTS_SESSION_BYTES", "4000");
    let said = json(finish(command, b""));
    assert_eq!(
        (&said["removed"][0]["why"], said["bytes"].as_u64()),
        (&"session_quota".into(), Some(5048))
    );
    assert_eq!(ids(&env), [other]);
}

/// `state path` prints the folders and files, in a form that a shell can use.
#[test]
fn the_state_folder_is_told() {
    let env = env().without_state();
    let state = env.state().display().to_string();
    assert_eq!(env.run(&["state", "path"]).ok().stdout, format!("{state}\n"));
    let said = json(env.run(&["state", "path", "--json"]));
    assert_eq!((said["path"].as_str(), &said["is_there"]), (Some(state.as_str()), &false.into()));
    assert_eq!(said["source"], "INKCELL_STATE_DIR");
    put(&env, b"x");
    assert_eq!(json(env.run(&["state", "path", "--json"]))["is_there"], true);
}
