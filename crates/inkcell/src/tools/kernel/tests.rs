//! The kernel verbs on real kernels.

use std::time::Duration;

use serde_json::json;

use crate::exposure::ToolSet;
use crate::tools::test_desk::{TestDesk, text};

/// The kernel verbs, in the words of their answers.
#[tokio::test]
async fn sessions_are_listed_restarted_and_stopped() {
    let desk = TestDesk::new(ToolSet::Default);
    assert_eq!(desk.text("kernel", json!({"action": "list"})).await, "There are no sessions.");
    let started = desk.text("kernel", json!({"action": "start"})).await;
    let place = format!("default in {}: idle; Python 3.", desk.desk.cwd.display());
    assert!(started.starts_with(&place), "{started}");
    desk.text("python", json!({"code": "x = 1"})).await;
    let idle = desk.text("kernel", json!({"action": "interrupt"})).await;
    assert_eq!(idle, "Nothing was running in session default.");
    let kept = desk.text("kernel", json!({"action": "keep"})).await;
    assert!(kept.ends_with("; kept"), "{kept}");
    let let_go = desk.text("kernel", json!({"action": "unkeep"})).await;
    assert!(!let_go.contains("kept"), "{let_go}");
    let restarted = desk.text("kernel", json!({"action": "restart"})).await;
    assert!(restarted.starts_with("Restarted; variables are gone. default in "), "{restarted}");
    assert_eq!(desk.text("python", json!({"code": "'x' in globals()"})).await, "False");
    let stopped = desk.text("kernel", json!({"action": "stop"})).await;
    assert!(stopped.starts_with("Stopped: default in "), "{stopped}");
    let gone = desk.call("kernel", json!({"action": "status", "session": "nobody"})).await;
    assert!(gone.is_error && text(&gone).contains("nobody"), "{}", text(&gone));
    let wrong = desk.text("kernel", json!({"action": "reboot"})).await;
    assert!(wrong.contains("action: reboot is none of its values"), "{wrong}");
    desk.end().await;
}

/// A restart says what there is afterwards: the call that waited runs now, and nobody waits.
#[tokio::test]
async fn a_restart_does_not_count_itself_among_those_that_wait() {
    let desk = TestDesk::new(ToolSet::Default);
    let until = |file: &str| {
        let begun = format!("# {file}\nimport os, time\nopen('begun_{file}', 'w').close()\n");
        format!("{begun}while not os.path.exists('{file}'): time.sleep(0.01)")
    };
    for file in ["never", "gate"] {
        desk.text("python", json!({"code": until(file), "wait": 0})).await;
    }
    let mut status = String::new();
    for _ in 0..3000 {
        status = desk.text("kernel", json!({"action": "status"})).await;
        if desk.path("begun_never").exists() && status.contains("; 1 call waits") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(status.contains("running `# never`") && status.contains("; 1 call waits"), "{status}");
    let restarted = desk.text("kernel", json!({"action": "restart"})).await;
    assert!(!restarted.contains("wait"), "{restarted}");
    desk.put("gate", "");
    desk.end().await;
}
