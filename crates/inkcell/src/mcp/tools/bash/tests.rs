//! Commands in a real shell, through the spec.

use inkcell_testkit::wait::until_async;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::mcp::exposure::ToolSet;
use crate::mcp::tools::tests::{TestDesk, text};

/// Whether a process that wrote its id into a file is gone.
fn is_gone(path: &std::path::Path) -> bool {
    let pid: i32 = std::fs::read_to_string(path).unwrap().trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::test_kill_process(pid).is_err()
}

/// Returns when a shell has written its id into a file.
async fn until_written(path: &std::path::Path) {
    until_async(&path.display().to_string(), async || {
        std::fs::read_to_string(path).is_ok_and(|pid| pid.ends_with('\n'))
    })
    .await;
}

/// B:C-02: output of both streams, exit codes, the folder and the environment.
#[tokio::test]
async fn a_command_gives_its_output_and_exit_code() {
    let desk = TestDesk::new(ToolSet::Compat);
    std::fs::create_dir(desk.path("sub")).unwrap();
    let command = "basename $PWD; echo -e '\\e[31mred\\e[0m' >&2";
    let reply = desk.call("bash", json!({"command": command, "cwd": "sub"})).await;
    let said = text(&reply);
    assert!(said.contains("sub") && said.contains("red") && !said.contains('\u{1b}'), "{said}");
    assert_eq!(reply.structured.unwrap()["exitCode"], 0);
    assert_eq!(desk.text("bash", json!({"command": "true"})).await, "(no output)");
    let failed = desk.call("bash", json!({"command": "echo no; exit 3"})).await;
    assert!(failed.is_error);
    assert_eq!(text(&failed), "no\n\nCommand exited with code 3");
    assert_eq!(desk.text("bash", json!({"command": "exit 4"})).await, "Command exited with code 4");
    let killed = desk.text("bash", json!({"command": "kill -9 $$"})).await;
    assert_eq!(killed, "Command exited with code 137");
    assert_eq!(desk.text("bash", json!({"command": "cat"})).await, "(no output)");
    let near = desk.text("bash", json!({"comand": "true"})).await;
    assert!(near.starts_with("Error: no argument named 'comand'; did you mean command?"));
    desk.end().await;
}

/// B:X-22 B:X-07: a command is stopped with everything it started.
#[tokio::test]
async fn a_command_is_stopped_with_what_it_started() {
    let desk = TestDesk::with(ToolSet::Compat, &[("INKCELL_KERNEL_INTERRUPT_GRACE", "0.2")]);
    // Both processes ignore every signal that can be ignored.
    let command = "trap '' INT TERM; echo half; sleep 60 & echo $! > pid; wait; sleep 60";
    let late = desk.call("bash", json!({"command": command, "timeout": 5})).await;
    assert!(late.is_error);
    assert_eq!(text(&late), "[Command timed out after 5 seconds]\nhalf");
    assert!(is_gone(&desk.path("pid")));
    let cancel = CancellationToken::new();
    let arguments = json!({"command": "echo $$ > own; exec sleep 60"});
    let run = desk.call_with("bash", arguments, cancel.clone(), None);
    let give_up = async {
        until_written(&desk.path("own")).await;
        cancel.cancel();
    };
    let (aborted, ()) = tokio::join!(run, give_up);
    assert_eq!((text(&aborted).as_str(), aborted.is_error), ("Command aborted", true));
    assert!(is_gone(&desk.path("own")));
    desk.end().await;
}

/// What a command leaves behind holds nobody up and does not stay.
#[tokio::test]
async fn what_is_left_is_ended_and_told() {
    let desk = TestDesk::new(ToolSet::Compat);
    let said = desk.text("bash", json!({"command": "sleep 60 & echo $! > pid; echo done"})).await;
    assert_eq!(said, "done\n\n[processes that the command left behind were ended]");
    assert!(is_gone(&desk.path("pid")));
    // The same holds when the caller has given up waiting.
    let arguments = json!({"command": "echo $$ > own; exec sleep 60"});
    let run = desk.call("bash", arguments);
    let own = desk.path("own");
    tokio::select! {
        _ = run => panic!("it sleeps"),
        () = until_written(&own) => {}
    }
    until_async("the end of the command", async || is_gone(&desk.path("own"))).await;
    desk.end().await;
}

/// B:O-06 B:X-09b: the end is kept, and all of it is stored.
#[tokio::test]
async fn long_output_is_stored() {
    let desk = TestDesk::new(ToolSet::Compat);
    let reply = desk.call("bash", json!({"command": "seq 20000"})).await;
    let said = text(&reply);
    assert!(!said.contains("\n100\n") && said.contains("\n20000\n"), "{said}");
    let details = reply.structured.unwrap();
    let path = details["fullOutputPath"].as_str().unwrap();
    assert!(std::fs::read_to_string(path).unwrap().starts_with("1\n2\n3\n"));
    assert_eq!(details["truncation"]["truncated"], true);
    desk.end().await;
}
