//! The tools on offer, and the desk that they work on.
//!
//! Owns how both are built from the settings. It must not know what a tool does.

use std::sync::Arc;

use inkcell_engine::kernel::Workspace;
use inkcell_engine::{Check, Engine, Preflight};

use super::{backends, needed, python};
use crate::args::PythonArgs;
use crate::exit::Failure;
use crate::log;
use crate::mcp::TOOLS;
use crate::mcp::desk::{Bridge, Desk, SEEN_VERSIONS};
use crate::mcp::exposure::{Exposure, ToolSet};
use crate::settings::{Settings, ToolMode, engine_config};

/// The tools on offer here. No caller has asked to run code yet, so nothing from the workspace is run.
pub(crate) async fn exposure(set: ToolSet, settings: &Settings) -> Exposure {
    let profile = set.profile();
    let none = PythonArgs { cwd: None, python: None };
    let search = python::search(&none, settings, settings.cwd.clone());
    let (finder, workspace) = (python::finder(settings), Workspace::around(&search.cwd));
    let mode = settings.tool_mode(profile);
    let check = match mode {
        ToolMode::BashOnly => Check::Skip,
        ToolMode::IpyOnly | ToolMode::Both => settings.check(profile),
    };
    let needed = needed(settings, profile);
    let preflight = Preflight::check(check, needed, &finder, &search, &workspace).await;
    log::stage("interpreter looked for");
    let exposure = Exposure::new(set, mode, &preflight);
    log::stage("tools chosen");
    exposure
}

/// The desk that tools work on.
pub(crate) fn desk(exposure: Exposure, settings: &Arc<Settings>) -> Result<Desk, Failure> {
    let profile = exposure.profile();
    let engine = Engine::new(engine_config(settings, profile), backends(settings, profile)?);
    Ok(desk_with(engine, Arc::new(exposure), settings))
}

/// The desk for an engine that already exists.
pub(crate) fn desk_with(engine: Engine, exposure: Arc<Exposure>, settings: &Arc<Settings>) -> Desk {
    let (settings, cwd) = (Arc::clone(settings), settings.cwd.clone());
    let notebooks = settings.notebooks.keeping_versions(SEEN_VERSIONS);
    let (tools, bridge) = (TOOLS, Bridge::default());
    Desk { engine, settings, notebooks, exposure, tools, cwd, bridge, roots: None }
}
