//! Saving an edit: against a version, elsewhere, with a backup, or not at all.

use std::os::unix::fs::PermissionsExt;

use inkcell_testkit::env::{TestEnv, finish};
use insta::assert_snapshot;

use crate::env;
use crate::samples::rich;

fn desk() -> TestEnv {
    let env = env();
    env.put("nb.ipynb", rich());
    env
}

fn version(env: &TestEnv) -> String {
    let said = env.run(&["read", "nb.ipynb", "--json"]).ok().stdout;
    let said: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    said["version"].as_str().expect("a version").to_owned()
}

/// F-064: every edit accepts the version that every read shows.
#[test]
fn an_edit_against_an_older_version_is_carried_over_or_refused() {
    let env = desk();
    let seen = version(&env);
    env.run(&["edit", "nb.ipynb", "insert", "--at", "start", "--source", "top"]).ok();
    let now = version(&env);
    let ran =
        env.run(&["edit", "nb.ipynb", "replace", "1", "--source", "mine", "--hash", &seen]).ok();
    assert!(ran.stdout.contains("  Cell: aaaa1111 (index 2)\n"), "{}", ran.stdout);
    let note = format!(
        "  Note: merged with changes that others made to other cells since version {seen}\n"
    );
    assert!(ran.stdout.contains(&note), "{}", ran.stdout);
    // Another program has changed the cell since it was read.
    let before = env.get("nb.ipynb");
    let latest = version(&env);
    let ran = env.run(&["edit", "nb.ipynb", "delete", "1", "--hash", &seen]).exits(4);
    assert_eq!(
        ran.stderr,
        format!(
            "error: nb.ipynb has changed since version {seen} (it is now {latest}): cell 1 (id aaaa1111) was changed and is cell 2 now\n\
                In the file, cell 2 (id aaaa1111) is:\n\
                > mine\n\
                hint: nothing was written; read the notebook again with 'inkcell read nb.ipynb' and repeat the edit\n\
                "
        )
    );
    assert_eq!(env.get("nb.ipynb"), before);
    assert_ne!(now, latest);
    // An upper-case spelling names the same version; an invalid version gets an error.
    env.run(&["edit", "nb.ipynb", "delete", "0", "--hash", &latest.to_uppercase()]).ok();
    let ran = env.run(&["edit", "nb.ipynb", "delete", "0", "--hash", "latest"]).exits(2);
    assert_eq!(
        ran.stderr,
        "error: --hash: \"latest\" is not a version (16 hexadecimal digits, as reading the notebook \
         shows)\n"
    );
    let ran = env.run(&["edit", "nb.ipynb", "delete", "0", "--hash", "0123456789abcdef"]).exits(4);
    assert!(ran.stderr.contains("version 0123456789abcdef is not known here"), "{}", ran.stderr);
}

/// F-064: tags are added to the cell that was meant, not to the one that is in its place now.
#[test]
fn tags_belong_to_the_cell_that_was_seen() {
    let env = desk();
    env.run(&["edit", "nb.ipynb", "meta", "0", "--tag", "zero"]).ok();
    let seen = version(&env);
    env.run(&["edit", "nb.ipynb", "insert", "--at", "start", "--source", "top"]).ok();
    env.run(&["edit", "nb.ipynb", "meta", "1", "--tag", "new", "--hash", &seen]).ok();
    let now: serde_json::Value = serde_json::from_slice(&env.get("nb.ipynb")).expect("JSON");
    assert_eq!(now["cells"][1]["metadata"]["tags"], serde_json::json!(["zero"]));
    assert_eq!(now["cells"][2]["metadata"]["tags"], serde_json::json!(["keep", "x", "new"]));
}

#[test]
fn another_output_leaves_the_notebook_alone() {
    let env = desk();
    let ran = env.run(&["edit", "nb.ipynb", "delete", "0", "-o", "out.ipynb"]).ok();
    assert!(ran.stdout.contains("  Notebook: out.ipynb\n"), "{}", ran.stdout);
    assert_eq!(env.get("nb.ipynb"), rich().as_bytes());
    let out = env.run(&["read", "out.ipynb", "--no-ids"]).ok().stdout;
    assert!(out.starts_with("# %% [code] cell:0\n"), "{out}");
    assert_eq!(env.names(), ["nb.ipynb", "out.ipynb"]);
    // A copy is written even if nothing changes, and the reply says so.
    let ran = env.run(&["edit", "nb.ipynb", "clear", "0", "-o", "copy.ipynb"]).ok();
    let wanted = "✓ Notebook written\n  Notebook: copy.ipynb\n  Version: ";
    assert!(ran.stdout.starts_with(wanted), "{}", ran.stdout);
    assert_eq!(env.get("copy.ipynb"), rich().as_bytes());
}

/// An output must be a file of its own: not the notebook, not a stream, not a device.
#[test]
fn an_output_is_a_file_of_its_own() {
    let env = desk();
    std::os::unix::fs::symlink("nb.ipynb", env.path("link.ipynb")).expect("a link");
    std::os::unix::fs::symlink("/dev/stdout", env.path("out.ipynb")).expect("a link");
    std::fs::create_dir(env.path("sub")).expect("a folder");
    let table = [
        ("./nb.ipynb", "is the notebook itself; nothing was written"),
        ("sub/../link.ipynb", "is the notebook itself; nothing was written"),
        ("-", "-o: a changed notebook goes to a file, not to standard output; name the file"),
        ("/dev/stdout", "/dev/stdout is a device, not a regular file"),
        ("//dev/../dev/fd/1", "is a device, not a regular file"),
        ("/proc/self/fd/1", "is a device, not a regular file"),
        ("out.ipynb", "is a device, not a regular file"),
    ];
    for (output, wanted) in table {
        let commands: [&[&str]; 3] =
            [&["edit", "nb.ipynb", "clear"], &["clean", "nb.ipynb"], &["write", "nb.ipynb"]];
        for args in commands {
            let seen = env.put("seen", "mine");
            let file = std::fs::File::options().append(true).open(&seen).expect("a file");
            let input = std::fs::File::open(env.put("text", "# %% [raw]\nx")).expect("a file");
            let mut command = env.inkcell();
            command.args(args).args(["--drop", "3"].iter().filter(|_| args[0] == "write"));
            command.args(["-o", output]).stdin(input).stdout(file);
            let said = command.output().expect("ended");
            let stderr = String::from_utf8_lossy(&said.stderr);
            assert_eq!(said.status.code(), Some(2), "{args:?} {output}: {stderr}");
            assert!(stderr.contains(wanted), "{args:?} {output}: {stderr}");
            assert_eq!(env.get("seen"), b"mine", "{args:?} {output}");
        }
    }
    assert_eq!(env.get("nb.ipynb"), rich().as_bytes());
}

/// B:N-42
#[test]
fn a_backup_is_kept_and_named() {
    let env = desk();
    let ran = env.run(&["edit", "nb.ipynb", "delete", "0", "--backup"]).ok();
    let said = env.redact(&ran.stdout);
    assert!(said.ends_with("  Backup: [tmp]/work/nb.ipynb.bak\n"), "{said}");
    assert_eq!(env.get("nb.ipynb.bak"), rich().as_bytes());
    assert_eq!(env.names(), ["nb.ipynb", "nb.ipynb.bak"]);
}

#[test]
fn a_dry_run_shows_the_change_by_cell_and_writes_nothing() {
    let env = desk().without_state();
    let ops = r#"[{"op": "sub", "cell": 1, "old": "x = 1", "new": "x = 2"}, {"op": "delete", "cell": 0}]"#;
    env.put("ops.json", ops);
    let ran = env.run(&["edit", "nb.ipynb", "--ops", "ops.json", "--dry-run", "--backup"]).ok();
    assert_snapshot!(env.redact(&ran.stdout), @r"
    ✓ 2 changes
      Notebook: nb.ipynb
      Text replaced in 1 place: 0 aaaa1111; 3 outputs were cleared
      Cell deleted: intro-md (was at 0)
    Nothing was written. The change by cell:
    - cell 0 (id intro-md) [markdown] removed
      -# Title
      -
      -Some prose.
    ~ cell 0 (id aaaa1111) [code] was 1
      @@ -1,2 +1,2 @@
      -x = 1
      +x = 2
       print(x)
      outputs: stdout 2 lines 9B, text/plain 2B + image/png 6B, error ValueError: bad value → none
      execution count changed
    ");
    assert_eq!(env.get("nb.ipynb"), rich().as_bytes());
    assert_eq!(env.names(), ["nb.ipynb", "ops.json"]);
    assert!(!env.state().exists(), "not even a lock is needed");
}

/// A dry run works without any write access, and says so in JSON too.
#[test]
fn a_dry_run_needs_no_state_folder() {
    let env = desk().without_state();
    std::fs::write(env.state(), "in the way").expect("a file where the state folder should be");
    std::fs::set_permissions(env.path("nb.ipynb"), PermissionsExt::from_mode(0o444))
        .expect("read-only");
    let ran = env.run(&["edit", "nb.ipynb", "delete", "2", "--dry-run", "--json"]).ok();
    let said: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(said["written"], false);
    assert_eq!(said["diff"][0]["change"], "removed");
    assert_eq!(said["diff"][0]["old"], serde_json::json!({"index": 2, "id": "cccc3333"}));
    env.run(&["read", "nb.ipynb"]).ok();
    let ran = env.run(&["edit", "nb.ipynb", "delete", "2"]).exits(2);
    assert!(ran.stderr.contains("cannot use the state folder"), "{}", ran.stderr);
    assert!(ran.stderr.contains("\nhint: set INKCELL_STATE_DIR "), "{}", ran.stderr);
}

/// A dry run that would store a whole notebook shows the changes as well.
#[test]
fn a_dry_run_of_a_whole_notebook_says_what_would_change() {
    let env = desk();
    let new = rich().replace("Some prose.", "Some verse.");
    let ran = env.run_with(&["write", "nb.ipynb", "--dry-run"], &new).ok();
    assert_snapshot!(ran.stdout, @r"
    Nothing was written. The change by cell:
    ~ cell 0 (id intro-md) [markdown]
      @@ -1,3 +1,3 @@
       # Title
       
      -Some prose.
      +Some verse.
    ");
    let ran = env.run_with(&["write", "nb.ipynb", "--dry-run"], rich()).ok();
    assert!(ran.stdout.starts_with("= Nothing to change\n"), "{}", ran.stdout);
    let ran = env.run_with(&["write", "new.ipynb", "--dry-run"], &new).ok();
    assert!(ran.stdout.starts_with("Nothing was written."), "{}", ran.stdout);
    assert_eq!(env.names(), ["nb.ipynb"]);
}

/// F-066 F-081: the error gives the obstacle to a write, and the effect of `--force` on it.
#[test]
fn a_read_only_file_is_written_only_by_force() {
    let env = desk();
    std::fs::set_permissions(env.path("nb.ipynb"), PermissionsExt::from_mode(0o444))
        .expect("read-only");
    let ran = env.run(&["edit", "nb.ipynb", "delete", "0"]).exits(2);
    assert_eq!(
        ran.stderr,
        "error: nb.ipynb is read-only (mode 444); nothing was written\nhint: make it writable \
         with 'chmod u+w nb.ipynb', or write anyway with --force\n"
    );
    assert_eq!(env.get("nb.ipynb"), rich().as_bytes());
    env.run(&["edit", "nb.ipynb", "delete", "0", "--force"]).ok();
    let mode = std::fs::metadata(env.path("nb.ipynb")).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o444);
}

/// F-067: a note says that other names of the file keep the old content.
#[test]
fn other_names_of_the_file_are_mentioned() {
    let env = desk();
    std::fs::hard_link(env.path("nb.ipynb"), env.path("other.ipynb")).expect("a second name");
    let ran = env.run(&["edit", "nb.ipynb", "delete", "0"]).ok();
    let note = "  Note: the file had 2 names; the others still name the old content\n";
    assert!(ran.stdout.ends_with(note), "{}", ran.stdout);
    assert_eq!(env.get("other.ipynb"), rich().as_bytes());
}

/// A lock of the file that another process holds makes the command wait, and then give up with its own exit code.
#[test]
fn a_file_that_stays_busy_is_told_as_such() {
    let env = desk();
    env.run(&["edit", "nb.ipynb", "clear"]).ok();
    let locks = env.state().join("locks");
    let name = &inkcell_testkit::env::names_in(&locks)[0];
    let lock = std::fs::File::options().write(true).open(locks.join(name)).expect("a lock file");
    lock.lock().expect("locked");
    let mut command = env.inkcell();
    command.args(["edit", "nb.ipynb", "delete", "0", "--json"]);
    let ran = finish(command, b"").exits(6);
    let said: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(said["error"]["kind"], "busy");
    drop(lock);
    env.run(&["edit", "nb.ipynb", "delete", "0"]).ok();
}
