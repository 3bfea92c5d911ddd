//! The kernel verbs on real kernels.

use inkcell_testkit::wait::until_async;
use serde_json::json;

use crate::mcp::exposure::ToolSet;
use crate::mcp::tools::tests::{TestDesk, has_ipykernel, text};

/// The kernel verbs, in the words of their answers.
#[tokio::test]
async fn sessions_are_listed_restarted_and_stopped() {
    let desk = TestDesk::new(ToolSet::Default);
    assert_eq!(desk.text("kernel", json!({"action": "list"})).await, "No sessions are running.");
    let started = desk.text("kernel", json!({"action": "start", "session": "default"})).await;
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
    assert!(restarted.starts_with("Restarted; its variables are gone. default in "), "{restarted}");
    assert_eq!(desk.text("python", json!({"code": "'x' in globals()"})).await, "False");
    let stopped = desk.text("kernel", json!({"action": "stop"})).await;
    assert!(stopped.starts_with("Stopped: default in "), "{stopped}");
    let gone = desk.call("kernel", json!({"action": "status", "session": "nobody"})).await;
    assert!(gone.is_error && text(&gone).contains("nobody"), "{}", text(&gone));
    let wrong = desk.text("kernel", json!({"action": "reboot"})).await;
    assert!(wrong.contains("action: reboot is not one of its values"), "{wrong}");
    desk.end().await;
}

/// B:Z-01: a kernel that is started without a name, and one that is asked for as new, get names that nobody has,
/// and the answer says them. They are sessions side by side.
#[tokio::test]
async fn a_kernel_without_a_name_gets_one() {
    let desk = TestDesk::new(ToolSet::Default);
    let mut names = Vec::new();
    for arguments in [json!({"action": "start"}), json!({"action": "start", "kernelId": "new"})] {
        let started = desk.text("kernel", arguments).await;
        let (name, rest) = started.split_once(" in ").expect("a name");
        assert!(rest.contains(": idle; Python 3."), "{started}");
        names.push(name.to_owned());
    }
    let new = desk.text("python", json!({"code": "x = 3", "kernelId": "new"})).await;
    let told = new.split_once("[session ").expect("its name").1;
    names.push(told.split_once(']').expect("its end").0.to_owned());
    assert!(names.iter().all(|name| name.starts_with('s') && name.len() == 9), "{names:?}");
    assert!(names[0] != names[1] && names[1] != names[2], "{names:?}");
    let seen = desk.text("python", json!({"code": "x", "kernelId": names[2]})).await;
    assert_eq!(seen, "3");
    let unknown = desk.text("python", json!({"code": "'x' in globals()", "kernelId": names[0]}));
    assert_eq!(unknown.await, "False");
    desk.end().await;
}

/// Issue 21, 4: a notebook's own session has no helpers, whichever command starts its kernel.
#[tokio::test]
async fn kernel_of_a_notebook_has_no_helpers() {
    let desk = TestDesk::new(ToolSet::Default);
    let text = r#"{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#;
    std::fs::write(desk.desk.cwd.join("s.ipynb"), text).expect("written");
    desk.text("kernel", json!({"action": "start", "session": "s.ipynb"})).await;
    let has_log = "try:\n    log\n    found = True\nexcept NameError:\n    found = False\nfound";
    let code = json!({"code": has_log, "session": "s.ipynb"});
    assert_eq!(desk.text("python", code).await, "False");
    desk.text("kernel", json!({"action": "start", "session": "plain"})).await;
    let code = json!({"code": has_log, "session": "plain"});
    assert_eq!(desk.text("python", code).await, "True");
    desk.end().await;
}

/// A session keeps the kernel it was started with: later calls need not name it again.
#[tokio::test]
async fn a_session_of_a_jupyter_kernel_is_found_by_its_name() {
    if !has_ipykernel("a_session_of_a_jupyter_kernel_is_found_by_its_name") {
        return;
    }
    let desk = TestDesk::new(ToolSet::Default);
    let start = json!({"action": "start", "session": "j", "backend": "zmq"});
    let started = desk.text("kernel", start).await;
    assert!(started.contains("; zmq kernel"), "{started}");
    let code = "import os, sys; 'ipykernel' in sys.modules, 'PI_ARTIFACTS_DIR' in os.environ";
    let shell = desk.text("python", json!({"code": code, "session": "j"})).await;
    assert_eq!(shell, "(True, True)");
    let status = desk.text("kernel", json!({"action": "status", "session": "j"})).await;
    assert!(status.contains("; zmq kernel"), "{status}");
    // A session has one kernel: a call that insists on a different one gets an error.
    let other = json!({"code": "1", "session": "j", "backend": "runner"});
    let refused = desk.error("python", other).await;
    assert_eq!(refused.message, "session j has another kernel (Python, by zmq)");
    assert!(refused.next.is_some_and(|next| next.contains("use another name")));
    assert_eq!(desk.desk.engine.sessions().len(), 1);
    desk.end().await;
}

/// A name that is not a kernel's gets an error with the next step; nothing starts.
#[tokio::test]
async fn a_kernel_that_is_not_there_is_refused() {
    let desk = TestDesk::new(ToolSet::Default);
    let start = |kernel: &str| json!({"action": "start", "session": "x", "kernel": kernel});
    let error = desk.error("kernel", start("nope")).await;
    assert!(error.message.starts_with("no kernel named \"nope\""), "{}", error.message);
    assert!(error.next.is_some_and(|next| next.contains("give the name of an installed one")));
    let error = desk.error("kernel", start("gone.json")).await;
    assert!(error.message.contains("gone.json cannot be read"), "{}", error.message);
    let error = desk.error("kernel", start(" ")).await;
    assert!(error.message.contains("give the name of an installed kernel"), "{}", error.message);
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
    let status = until_async("a call that runs and one that waits", async || {
        let status = desk.text("kernel", json!({"action": "status"})).await;
        let is_so = desk.path("begun_never").exists() && status.contains("; 1 call waits");
        if is_so { Ok(status) } else { Err(status) }
    });
    let status = status.await;
    assert!(status.contains("running `# never`"), "{status}");
    let restarted = desk.text("kernel", json!({"action": "restart"})).await;
    assert!(!restarted.contains("wait"), "{restarted}");
    desk.put("gate", "");
    desk.end().await;
}
