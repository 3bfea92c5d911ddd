//! A desk with a real runner in folders of its own, for tests of the tools, called as clients call them.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use inkcell_engine::notebook::MarkerIds;
use inkcell_engine::registry::OwnerId;
use inkcell_engine::{Engine, FilesConfig, Notebooks, PathBase, Preflight, Roots, system_random};
use inkcell_testkit::need;
use inkcell_testkit::wait::until_async;
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{CallContext, Content, Desk, Progress, ToolError, ToolReply};
use crate::app::backends;
use crate::mcp::desk::{Bridge, SEEN_VERSIONS};
use crate::mcp::exposure::{Exposure, ToolSet};
use crate::mcp::{TOOLS, find};
use crate::settings::{ResolvedSettings, Settings, Surroundings, ToolMode, engine_config};

/// No call of a test takes longer; one that does hangs.
const LIMIT: Duration = Duration::from_secs(180);

pub(crate) struct TestDesk {
    pub(crate) desk: Desk,
    root: TempDir,
}

impl TestDesk {
    pub(crate) fn new(set: ToolSet) -> TestDesk {
        TestDesk::with(set, &[])
    }

    /// With these variables besides the one that names the Python.
    pub(crate) fn with(set: ToolSet, variables: &[(&str, &str)]) -> TestDesk {
        let (root, cwd) = folders();
        let python = test_python();
        let variable = |name: &str| match name {
            "INKCELL_PYTHON_INTERPRETER" => Some(python.clone()),
            name => variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned()),
        };
        let resolved = ResolvedSettings::new(&variable, &[]).unwrap();
        TestDesk::of(set, resolved, (root, cwd), Roots::Anywhere)
    }

    /// For the tools on files, all of them: paths may not leave the folder, and nothing is run.
    pub(crate) fn on_files() -> TestDesk {
        let resolved = ResolvedSettings::new(&|_| None, &[]).unwrap();
        let (root, cwd) = folders();
        let roots = Roots::Only(vec![cwd.clone()]);
        TestDesk::of(ToolSet::All, resolved, (root, cwd), roots)
    }

    fn of(
        set: ToolSet,
        resolved: ResolvedSettings,
        (root, cwd): (TempDir, PathBuf),
        roots: Roots,
    ) -> TestDesk {
        let state_dir = root.path().join("state");
        inkcell_testkit::runner::share(&state_dir);
        let notebooks = Notebooks::new(FilesConfig {
            state_dir: state_dir.clone(),
            // Relative paths begin at the desk's folder, not at that of the process.
            path_base: PathBase { cwd: PathBuf::from("/nowhere"), home: None },
            roots,
            max_bytes: 1 << 30,
            lock_wait: Duration::from_secs(10),
            random: system_random,
        });
        let settings = Settings {
            notebooks,
            marker_ids: MarkerIds::Auto,
            surroundings: Surroundings::of_process(&[], None),
            cwd: cwd.clone(),
            home: None,
            state_dir,
            resolved,
            files: Vec::new(),
            warnings: Vec::new(),
        };
        TestDesk { desk: desk(set, settings, cwd), root }
    }

    /// A desk whose settings come from a project's file.
    pub(crate) fn in_project(config: &str) -> TestDesk {
        let (root, cwd) = folders();
        std::fs::create_dir_all(cwd.join(".inkcell")).unwrap();
        std::fs::write(cwd.join(".inkcell/config.toml"), config).unwrap();
        let settings = Settings::of(Surroundings::of_process(&[], Some(&cwd))).ok().unwrap();
        TestDesk::of(ToolSet::Default, settings.resolved, (root, cwd), Roots::Anywhere)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.desk.cwd.join(name)
    }

    pub(crate) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn get(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// What a tool answers, also when it refuses.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolReply {
        self.call_with(name, arguments, CancellationToken::new(), None).await
    }

    pub(crate) async fn call_with(
        &self,
        name: &str,
        arguments: Value,
        cancel: CancellationToken,
        progress: Option<mpsc::Sender<Progress>>,
    ) -> ToolReply {
        let tried = self.tried_with(name, arguments, cancel, progress).await;
        tried.unwrap_or_else(|error| error.into_reply())
    }

    /// What a tool answers, or why it refuses.
    pub(crate) async fn tried(&self, name: &str, given: Value) -> Result<ToolReply, ToolError> {
        self.tried_with(name, given, CancellationToken::new(), None).await
    }

    pub(crate) async fn tried_with(
        &self,
        name: &str,
        given: Value,
        cancel: CancellationToken,
        progress: Option<mpsc::Sender<Progress>>,
    ) -> Result<ToolReply, ToolError> {
        let context = CallContext { progress, ..CallContext::new(OwnerId(1), cancel) };
        let spec = find(name).unwrap();
        let call = (spec.call)(&self.desk, given, context);
        tokio::time::timeout(LIMIT, call).await.expect("an answer in time")
    }

    /// The texts of an answer that is good, and that has nothing else.
    pub(crate) async fn texts(&self, name: &str, given: Value) -> Vec<String> {
        let reply = self.tried(name, given.clone()).await;
        let reply = reply.unwrap_or_else(|error| panic!("{given}: {error:?}"));
        assert!(!reply.is_error, "{given}: {reply:?}");
        let text = |part: Content| match part {
            Content::Text(text) => text,
            other => panic!("{given}: {other:?}"),
        };
        reply.content.into_iter().map(text).collect()
    }

    /// The text of an answer that is good, and that has one.
    pub(crate) async fn good(&self, name: &str, given: Value) -> String {
        let mut texts = self.texts(name, given).await;
        assert_eq!(texts.len(), 1, "{texts:?}");
        texts.remove(0)
    }

    /// The error of a tool that refuses.
    pub(crate) async fn error(&self, name: &str, given: Value) -> ToolError {
        let reply = self.tried(name, given.clone()).await;
        reply.err().unwrap_or_else(|| panic!("{given} was not refused"))
    }

    /// The text of an answer.
    pub(crate) async fn text(&self, name: &str, arguments: Value) -> String {
        text(&self.call(name, arguments).await)
    }

    /// Ends everything and removes the folders.
    pub(crate) async fn end(self) {
        let TestDesk { desk, root } = self;
        desk.engine.shutdown().await;
        // The fork server ends with the last of these, and may be writing until then.
        drop(desk);
        let path = root.keep();
        until_async("the end of all that writes into the folder", async || {
            std::fs::remove_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))
        })
        .await;
    }
}

/// The Python that tests use.
fn test_python() -> String {
    std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// Whether that Python has IPython's kernel; a test that needs it says loudly when it has not.
pub(crate) fn has_ipykernel(test: &str) -> bool {
    need::python_package(test, OsStr::new(&test_python()), "ipykernel")
}

/// A private folder, and the one in it where work is done.
fn folders() -> (TempDir, PathBuf) {
    let root = tempfile::Builder::new().prefix("inkcell-tools-").tempdir().unwrap();
    let cwd = root.path().canonicalize().unwrap().join("work");
    std::fs::create_dir(&cwd).unwrap();
    (root, cwd)
}

fn desk(set: ToolSet, settings: Settings, cwd: PathBuf) -> Desk {
    let profile = set.profile();
    let backends = backends(&settings, profile).unwrap();
    let engine = Engine::new(engine_config(&settings, profile), backends);
    let exposure = Exposure::new(set, ToolMode::Both, &Preflight::Ready);
    Desk {
        engine,
        notebooks: settings.notebooks.keeping_versions(SEEN_VERSIONS),
        settings: Arc::new(settings),
        exposure: Arc::new(exposure),
        tools: TOOLS,
        cwd,
        bridge: Bridge::default(),
        roots: None,
    }
}

/// The texts of an answer.
pub(crate) fn text(reply: &ToolReply) -> String {
    let texts = reply.content.iter().filter_map(|part| match part {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Waits for a file that a cell makes to say that it has begun.
pub(crate) async fn until_there(path: &std::path::Path) {
    until_async(&path.display().to_string(), async || path.exists()).await;
}
