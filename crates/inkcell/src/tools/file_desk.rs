//! A desk for tests of the tools on files: a private folder that paths may not leave, and tools called as
//! clients call them. Nothing is run on it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use inkcell_engine::kernel::RunnerBackend;
use inkcell_engine::notebook::MarkerIds;
use inkcell_engine::registry::OwnerId;
use inkcell_engine::{Engine, FilesConfig, Notebooks, PathBase, Preflight, Roots, system_random};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{CallContext, Content, Desk, ToolError, ToolReply, find};
use crate::exposure::{Exposure, ToolMode, ToolSet};
use crate::settings::{Profile, Resolved, Settings, engine_config, runner_config};

pub(super) struct FileDesk {
    root: TempDir,
    pub(super) desk: Desk,
}

impl FileDesk {
    pub(super) fn new() -> FileDesk {
        let root = tempfile::Builder::new().prefix("inkcell-tools-").tempdir().unwrap();
        let (work, state_dir) = (root.path().join("work"), root.path().join("state"));
        std::fs::create_dir(&work).unwrap();
        let config = FilesConfig {
            state_dir: state_dir.clone(),
            // The desk says where paths begin, not the process.
            path_base: PathBase { cwd: PathBuf::from("/nowhere"), home: None },
            roots: Roots::Only(vec![work.clone()]),
            max_bytes: 1 << 30,
            lock_wait: Duration::from_secs(10),
            random: system_random,
        };
        let settings = Settings {
            notebooks: Notebooks::new(config),
            marker_ids: MarkerIds::Auto,
            cwd: work.clone(),
            home: None,
            state_dir,
            resolved: Resolved::new(&|_| None, &[]).unwrap_or_else(|_| panic!("no settings")),
            files: Vec::new(),
            warnings: Vec::new(),
        };
        let backend = RunnerBackend::new(runner_config(&settings, Profile::CommandLine)).unwrap();
        let engine = Engine::new(engine_config(&settings, Profile::Compat), Arc::new(backend));
        let exposure = Exposure::new(ToolSet::All, ToolMode::Both, &Preflight::Ready);
        let (settings, exposure) = (Arc::new(settings), Arc::new(exposure));
        FileDesk { root, desk: Desk { engine, settings, exposure, cwd: work } }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("work").join(name)
    }

    pub(super) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub(super) fn get(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(super) async fn call(&self, tool: &str, given: Value) -> Result<ToolReply, ToolError> {
        self.call_with(tool, given, CancellationToken::new()).await
    }

    pub(super) async fn call_with(
        &self,
        tool: &str,
        given: Value,
        cancel: CancellationToken,
    ) -> Result<ToolReply, ToolError> {
        let context = CallContext { owner: OwnerId(1), cancel, progress: None };
        (find(tool).unwrap().call)(&self.desk, given, context).await
    }

    /// The texts of an answer that is good.
    pub(super) async fn texts(&self, tool: &str, given: Value) -> Vec<String> {
        let reply = self.call(tool, given.clone()).await;
        let reply = reply.unwrap_or_else(|error| panic!("{given}: {error:?}"));
        assert!(!reply.is_error, "{given}: {reply:?}");
        let text = |part: Content| match part {
            Content::Text(text) => text,
            other => panic!("{given}: {other:?}"),
        };
        reply.content.into_iter().map(text).collect()
    }

    /// The text of an answer that has one.
    pub(super) async fn text(&self, tool: &str, given: Value) -> String {
        let mut texts = self.texts(tool, given).await;
        assert_eq!(texts.len(), 1, "{texts:?}");
        texts.remove(0)
    }

    /// The message of an error, which writes nothing.
    pub(super) async fn error(&self, tool: &str, given: Value) -> ToolError {
        let reply = self.call(tool, given.clone()).await;
        reply.err().unwrap_or_else(|| panic!("{given} was not refused"))
    }
}
