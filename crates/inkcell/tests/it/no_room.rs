//! Places without write access: folders without permission, full and read-only disks, removed folders.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;

use inkcell_testkit::env::{TestEnv, finish};
use inkcell_testkit::need;
use inkcell_testkit::notebooks::small;

use crate::env;

const EDIT: [&str; 6] = ["edit", "nb.ipynb", "replace", "1", "--source", "mine"];

/// F-066
#[test]
fn a_folder_without_permission_leaves_the_file_as_it_was() {
    let env = env();
    env.put("nb.ipynb", small());
    let mut command = env.inkcell();
    command.args(EDIT);
    if std::fs::metadata(env.dir()).expect("there").uid() == 0 {
        // Permissions do not bind an administrator, so another user tries it with a copy of the program.
        const SOMEBODY: u32 = 65534;
        let program = env.outside("inkcell");
        // Copied by another process: if this process had the copy open for writing, a child of another test could
        // inherit it, and the copy could not be run.
        let mut copy = env.command("cp");
        copy.arg(env.program()).arg(&program);
        finish(copy, b"").ok();
        for path in [env.dir(), env.path("nb.ipynb"), env.state(), program.clone()] {
            chown(path, Some(SOMEBODY), Some(SOMEBODY)).expect("given away");
        }
        let root = env.outside("");
        std::fs::set_permissions(root, PermissionsExt::from_mode(0o755)).expect("opened");
        command = env.command(program);
        command.args(EDIT).uid(SOMEBODY).gid(SOMEBODY);
    }
    std::fs::set_permissions(env.dir(), PermissionsExt::from_mode(0o555)).expect("closed");
    let ran = finish(command, b"").exits(2);
    assert!(
        ran.stderr.starts_with(
            "error: nb.ipynb: cannot make a temporary file beside it: Permission denied"
        ),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains(
            "hint: check the permissions of the file and its folder; the file is unchanged"
        )
    );
    std::fs::set_permissions(env.dir(), PermissionsExt::from_mode(0o755)).expect("opened");
    assert_eq!(env.get("nb.ipynb"), small().as_bytes());
    assert_eq!(env.names(), ["nb.ipynb"]);
}

/// Runs a script in a namespace of its own, where `/mnt` can be any file system.
fn in_namespace(env: &TestEnv, script: &str) -> inkcell_testkit::env::CommandOutput {
    let mut command = env.command("unshare");
    command.args(["-Urm", "sh", "-ec", script, "sh"]).arg(env.program());
    finish(command, b"")
}

/// F-066
#[test]
fn a_full_disk_leaves_the_file_as_it_was() {
    if !need::private_mounts("a_full_disk_leaves_the_file_as_it_was") {
        return;
    }
    let env = env();
    env.put("nb.ipynb", small());
    let script = r#"
        mount -t tmpfs -o size=32k none /mnt
        cp nb.ipynb /mnt/nb.ipynb
        head -c 24k /dev/zero > /mnt/filler
        code=0
        "$1" edit /mnt/nb.ipynb replace 1 --source "$(printf '%020000d' 7)" 2>&1 || code=$?
        echo "code $code"
        cmp nb.ipynb /mnt/nb.ipynb && echo same
        ls -A /mnt
        rm /mnt/filler
        "$1" edit /mnt/nb.ipynb replace 1 --source later > /dev/null && echo later works
        ls -A /mnt
    "#;
    let ran = in_namespace(&env, script).ok();
    let wanted = "error: /mnt/nb.ipynb: cannot write the new content: No space left on device (os error 28)\n\
        hint: free some disk space; the file is unchanged\n\
        code 3\n\
        same\n\
        filler\n\
        nb.ipynb\n\
        later works\n\
        nb.ipynb\n\
        ";
    assert_eq!(ran.stdout, wanted, "{}", ran.stderr);
}

/// F-066
#[test]
fn a_read_only_disk_is_told_as_such() {
    if !need::private_mounts("a_read_only_disk_is_told_as_such") {
        return;
    }
    let env = env();
    env.put("nb.ipynb", small());
    let script = r#"
        mount -t tmpfs -o size=64k none /mnt
        cp nb.ipynb /mnt/nb.ipynb
        mount -o remount,ro /mnt
        code=0
        "$1" edit /mnt/nb.ipynb replace 1 --source mine 2>&1 || code=$?
        echo "code $code"
        "$1" edit /mnt/nb.ipynb replace 1 --source mine --dry-run > /dev/null && echo dry run works
        cmp nb.ipynb /mnt/nb.ipynb && echo same
    "#;
    let ran = in_namespace(&env, script).ok();
    let wanted = "error: /mnt/nb.ipynb: cannot make a temporary file beside it: Read-only file system (os error \
                  30)\ncode 3\ndry run works\nsame\n";
    assert_eq!(ran.stdout, wanted, "{}", ran.stderr);
}

/// F-083
#[test]
fn a_working_folder_that_is_gone_is_no_obstacle_to_absolute_paths() {
    let env = env();
    let path = env.put("nb.ipynb", small()).display().to_string();
    let gone = env.outside("gone");
    std::fs::create_dir(&gone).expect("a folder");
    // A shell goes there, removes the folder, and runs the command from nowhere.
    let run = |args: &[&str]| {
        let mut command = env.command("sh");
        command.current_dir(&gone).args(["-c", "rmdir \"$PWD\" && exec \"$@\"", "sh"]);
        command.arg(env.program()).args(args);
        let ran = finish(command, b"");
        std::fs::create_dir(&gone).expect("the folder was removed");
        ran
    };
    run(&["edit", &path, "replace", "1", "--source", "mine"]).ok();
    let ran = run(&["read", "nb.ipynb"]).exits(5);
    assert!(ran.stderr.starts_with("error: File not found: nb.ipynb\n"), "{}", ran.stderr);
    let ran = run(&["edit", "nb.ipynb", "clear"]).exits(5);
    assert!(ran.stderr.starts_with("error: Notebook not found: nb.ipynb\n"), "{}", ran.stderr);
    let ran = run(&["new", "nb.ipynb"]).exits(5);
    assert!(ran.stderr.starts_with("error: nb.ipynb: cannot find the folder: "), "{}", ran.stderr);
}
