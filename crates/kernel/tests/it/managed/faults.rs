//! Tests of setups that fail: their errors, and that nothing remains.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use inkcell_kernel::{
    Existing, SetupDone, SetupError, SetupEvent, SetupStep, SetupTool, SkipReason,
    set_up_environment,
};
use inkcell_testkit::wait::holds_in_time;

use super::tree::{Tree, steps, works};

/// Without a network, or with a package that does not exist.
#[tokio::test]
async fn packages_that_cannot_be_had_leave_nothing_and_the_last_words() {
    let mut tree = Tree::new();
    tree.ask(&["no-such-package"]);
    let (ended, events) = tree.set_up().await;
    let error = ended.unwrap_err();
    let said = error.to_string();
    assert!(said.starts_with("no-such-package could not be installed; it said:\n"), "{said}");
    assert!(said.contains("No matching distribution found for no-such-package"), "{said}");
    assert!(error.next_step().unwrap().contains("PIP_INDEX_URL"));
    assert_eq!(steps(&events)[1], "installing no-such-package with pip: failed");
    tree.assert_nothing_made();
    assert_eq!(tree.names("tmp"), [""; 0]);
}

/// A failed setup keeps the old environment, whether it should replace or extend it.
#[tokio::test]
async fn a_failure_leaves_what_was_there() {
    let mut tree = Tree::with_uv();
    assert_eq!(tree.set_up().await.0.unwrap().done, SetupDone::Made);
    let python = tree.path("state/python-env/bin/python");
    tree.program("bin/uv", "#!/bin/sh\nexit 1\n");
    tree.setup.base =
        tree.program("base", "#!/bin/sh\n[ \"$2\" = -c ] && exec REAL \"$@\"\nexit 1\n");
    tree.setup.existing = Existing::Replace;
    assert!(matches!(tree.set_up().await.0, Err(SetupError::NoVenv { .. })));
    // Adding packages needs no base, only the environment's own pip; this pip reaches no index.
    let library = fs::read_dir(tree.path("state/python-env/lib")).unwrap().next().unwrap().unwrap();
    let pip = library.path().join("site-packages/pip");
    fs::create_dir(&pip).unwrap();
    fs::write(pip.join("__init__.py"), "").unwrap();
    fs::write(pip.join("__main__.py"), "raise SystemExit('no index')").unwrap();
    tree.setup.existing = Existing::Keep;
    tree.setup.base = tree.path("no/such/python");
    tree.ask(&["no-such-package"]);
    assert!(matches!(tree.set_up().await.0, Err(SetupError::Install { .. })));
    assert_eq!(tree.behind_the_name(), Some(PathBuf::from("python-envs/1")));
    assert_eq!(tree.names("state/python-envs"), ["1"]);
    assert!(works(&python));
}

/// A Python that cannot make environments: the error has the words of the plain way and names the package.
#[tokio::test]
async fn without_any_way_the_package_to_install_is_named() {
    let mut tree = Tree::new();
    let base = "#!/bin/sh\ncase \"$*\" in\n\
                *\"-m venv --without-pip\"*) echo 'second words'; exit 1;;\n\
                *\"-m venv\"*) echo 'No module named venv' >&2; exit 1;;\n\
                esac\nexec REAL \"$@\"\n";
    tree.setup.base = tree.program("base", base);
    let error = tree.set_up().await.0.unwrap_err();
    let expected = format!(
        "{} cannot make a virtual environment; it said:\nNo module named venv",
        tree.setup.base.display()
    );
    assert_eq!(error.to_string(), expected);
    let SetupError::NoVenv { version, .. } = error else { panic!("{error:?}") };
    let next = error.next_step().unwrap();
    let install = format!("sudo apt install python3.{}-venv", version.minor);
    assert!(
        next.contains(&install) && next.contains("python3-venv") && next.contains("uv"),
        "{next}"
    );
    tree.assert_nothing_made();
}

#[tokio::test]
async fn what_cannot_be_started_from_is_named() {
    let mut tree = Tree::new();
    for package in ["--index-url=http://x", "-e", "", "  "] {
        tree.ask(&["numpy", package]);
        let error = tree.set_up().await.0.unwrap_err();
        assert_eq!(error.to_string(), format!("{package:?} is not a package name"));
        assert!(!tree.path("state").exists());
    }
    tree.ask(&[]);
    tree.setup.base = tree.program("base", "#!/bin/sh\nexit 3\n");
    let error = tree.set_up().await.0.unwrap_err();
    assert!(matches!(&error, SetupError::Base { why: SkipReason::ExitCode(3), .. }), "{error:?}");
    assert!(error.next_step().unwrap().contains("python.interpreter"));
    tree.assert_nothing_made();
    // Every step succeeds, but the environment does not work.
    let uv = "#!/bin/sh\nPATH=/usr/bin:/bin\n[ \"$1\" = venv ] || exit 0\nfor last; do :; done\n\
              mkdir -p \"$last/bin\"\nprintf '#!/bin/sh\\nexit 9\\n' > \"$last/bin/python\"\n\
              chmod +x \"$last/bin/python\"\n";
    tree.program("bin/uv", uv);
    tree.setup.base = tree.real.clone();
    let error = tree.set_up().await.0.unwrap_err();
    assert!(matches!(&error, SetupError::Broken { why: SkipReason::ExitCode(9) }), "{error:?}");
    tree.assert_nothing_made();
    // A file in the place of the state folder.
    fs::remove_dir_all(tree.path("state")).unwrap();
    fs::write(tree.path("state"), "").unwrap();
    let error = tree.set_up().await.0.unwrap_err();
    assert!(matches!(&error, SetupError::State { .. }), "{error:?}");
}

/// A `uv` that makes half of an environment, starts another process, and then runs for ever.
const ENDLESS: &str = "#!/bin/sh\nPATH=/usr/bin:/bin\nfor last; do :; done\nmkdir -p \"$last/bin\"\n\
                       sleep 1000 &\necho \"$!\"\necho \"$$\"\necho ready\nwait\n";

fn pids(events: &[SetupEvent]) -> Vec<u32> {
    let line = |event: &SetupEvent| match event {
        SetupEvent::Line(line) => line.parse().ok(),
        _ => None,
    };
    events.iter().filter_map(line).collect()
}

async fn all_gone_soon(pids: &[u32]) -> bool {
    let is_alive = |pid: &u32| {
        fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
            !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z')
        })
    };
    holds_in_time(|| !pids.iter().any(is_alive)).await
}

/// A setup that ends early in any way also ends its programs and removes their files.
#[tokio::test]
async fn a_setup_that_is_given_up_leaves_no_process_and_no_folder() {
    let mut tree = Tree::new();
    tree.program("bin/uv", ENDLESS);
    let half = tree.path("state/python-envs/1/bin");

    // The caller cancels.
    let mut events = Vec::new();
    let cancel = tree.cancel.clone();
    let mut report = |event| {
        if event == SetupEvent::Line("ready".to_owned()) {
            assert!(half.exists());
            cancel.cancel();
        }
        events.push(event);
    };
    let ended = set_up_environment(&tree.setup, &tree.cancel, &mut report).await;
    assert!(matches!(ended, Err(SetupError::Cancelled)), "{ended:?}");
    assert_eq!(pids(&events).len(), 2);
    assert!(all_gone_soon(&pids(&events)).await, "{events:?}");
    assert_eq!(steps(&events), ["making the environment with uv: failed"]);
    tree.assert_nothing_made();
    // The caller cancels before the start.
    assert!(matches!(tree.set_up().await.0, Err(SetupError::Cancelled)));
    tree.assert_nothing_made();

    // The caller drops the future.
    tree.cancel = tokio_util::sync::CancellationToken::new();
    let mut events = Vec::new();
    let ready = tokio::sync::Notify::new();
    let mut report = |event| {
        if event == SetupEvent::Line("ready".to_owned()) {
            ready.notify_one();
        }
        events.push(event);
    };
    tokio::select! {
        ended = set_up_environment(&tree.setup, &tree.cancel, &mut report) => panic!("{ended:?}"),
        () = ready.notified() => {}
    }
    assert_eq!(pids(&events).len(), 2);
    assert!(all_gone_soon(&pids(&events)).await, "{events:?}");
    tree.assert_nothing_made();

    // Out of time. The limit also holds for the probe of the interpreter, so it cannot be shorter.
    tree.setup.step_timeout = Duration::from_secs(5);
    let (ended, events) = tree.set_up().await;
    let Err(SetupError::TimedOut { step, seconds, said }) = ended else { panic!("{ended:?}") };
    assert_eq!((step, seconds), (SetupStep::Create { tool: SetupTool::Uv }, 5));
    assert!(said.ends_with("\nready"), "{said}");
    assert!(all_gone_soon(&pids(&events)).await, "{events:?}");
    tree.assert_nothing_made();
}

/// A program that ended but left another one behind does not delay the setup.
#[tokio::test]
async fn what_a_tool_leaves_behind_is_ended() {
    let tree = Tree::new();
    let uv = "#!/bin/sh\nPATH=/usr/bin:/bin\nif [ \"$1\" = pip ]; then\nsleep 1000 &\necho $!\nexit 0\nfi\n\
              for last; do :; done\nexec REAL -I -m venv --without-pip \"$last\"\n";
    tree.program("bin/uv", uv);
    let (ended, events) = tree.set_up().await;
    assert_eq!(ended.unwrap().done, SetupDone::Made);
    assert_eq!(pids(&events).len(), 1);
    assert!(all_gone_soon(&pids(&events)).await, "{events:?}");
}

/// The wait for another setup can be cancelled, and has a limit.
#[tokio::test]
async fn waiting_for_another_setup_has_an_end() {
    let mut tree = Tree::with_uv();
    fs::create_dir(tree.path("state")).unwrap();
    let lock = fs::File::create(tree.path("state/python-env.lock")).unwrap();
    lock.lock().unwrap();
    tree.setup.step_timeout = Duration::from_millis(200);
    let (ended, events) = tree.set_up().await;
    assert!(matches!(ended, Err(SetupError::Busy { .. })), "{ended:?}");
    assert_eq!(steps(&events), ["waiting for another setup: failed"]);
    tree.setup.step_timeout = super::tree::LONG;
    let cancel = tree.cancel.clone();
    let mut report = |_| cancel.cancel();
    let ended = set_up_environment(&tree.setup, &tree.cancel, &mut report).await;
    assert!(matches!(ended, Err(SetupError::Cancelled)), "{ended:?}");
    drop(lock);
    tree.cancel = tokio_util::sync::CancellationToken::new();
    assert_eq!(tree.set_up().await.0.unwrap().done, SetupDone::Made);
}
