//! Artifacts as resources of the protocol, and the templates for the addresses of all resources.
//!
//! Owns how much of an artifact, and of a list of artifacts, is sent at once. Parts of an artifact
//! are the business of a tool.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use inkcell_engine::artifact::{
    Artifact, ArtifactId, ArtifactInfo, Artifacts, Scope, is_text_kind,
};
use inkcell_engine::notebook::Form;
use inkcell_engine::output::size;
use inkcell_engine::{EngineError, Kind};
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};

use super::answer::cleaned;
use super::cells::{self, CellAddress};
use super::executions;
use crate::mcp::desk::{Desk, weight};
use crate::mcp::exposure::Exposure;
use crate::mcp::tools::files::notebooks;
use crate::words;

/// The most content bytes of one answer, without the JSON around them.
const MOST_BYTES: usize = weight::MOST_BYTES - (4 << 10);

/// The reason why a request for a resource failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ResourceError {
    #[error(transparent)]
    Engine(EngineError),
    /// A picture is too large, and a part of it would not be a picture.
    #[error("{uri} ({kind}, {}) is too large for one answer; its file is {path}", size(*bytes))]
    TooLarge { uri: String, kind: String, bytes: u64, path: String },
    /// The list has no such cursor, or no longer.
    #[error("unknown cursor {0:?}; list from the beginning")]
    Cursor(String),
}

impl From<EngineError> for ResourceError {
    fn from(error: EngineError) -> ResourceError {
        ResourceError::Engine(error)
    }
}

impl ResourceError {
    /// Returns whether the error says that the artifact does not exist.
    pub(super) fn is_missing(&self) -> bool {
        matches!(self, ResourceError::Engine(error) if error.kind() == Kind::NotFound)
    }
}

/// One part of the list of artifacts.
pub(super) struct Page {
    pub(super) resources: Vec<Resource>,
    /// The cursor of the next part; none after the last.
    pub(super) next: Option<String>,
}

/// Lists stored artifacts, as many as fit into one answer. A cursor is the id of the last one
/// listed.
pub(super) fn list(artifacts: &Artifacts, cursor: Option<&str>) -> Result<Page, ResourceError> {
    let found = artifacts.list(Scope::All).map_err(EngineError::from)?;
    page(&found, cursor, MOST_BYTES)
}

fn page(found: &[ArtifactInfo], cursor: Option<&str>, most: usize) -> Result<Page, ResourceError> {
    let start = match cursor {
        None => 0,
        Some(last) => {
            let at = found.iter().position(|info| info.id.to_string() == last);
            let short = || weight::beginning(last, 100).to_owned();
            at.map(|at| at + 1).ok_or_else(|| ResourceError::Cursor(short()))?
        }
    };
    let mut resources = Vec::new();
    let mut room = most;
    for info in &found[start..] {
        let resource = resource(info);
        let weight = weight::of_json(&resource) + 1;
        if weight > room && !resources.is_empty() {
            let last = &found[start + resources.len() - 1];
            return Ok(Page { resources, next: Some(last.id.to_string()) });
        }
        room = room.saturating_sub(weight);
        resources.push(resource);
    }
    Ok(Page { resources, next: None })
}

fn resource(info: &ArtifactInfo) -> Resource {
    let name = if info.title.is_empty() { info.id.to_string() } else { info.title.clone() };
    Resource::new(format!("artifact://{}", info.id), cleaned(name))
        .with_mime_type(info.kind.clone())
        .with_size(info.bytes)
}

/// The forms of addresses, with the parts that a client fills in.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let artifact = ResourceTemplate::new("artifact://{id}", "artifact");
    let cell = ResourceTemplate::new(cells::TEMPLATE, "cell").with_mime_type("text/plain");
    let execution = ResourceTemplate::new(executions::TEMPLATE, "execution");
    vec![
        artifact.with_description(words::protocol::ARTIFACT),
        execution.with_mime_type("text/plain").with_description(words::protocol::EXECUTION),
        cell.with_description(words::protocol::CELL),
    ]
}

/// The content of a cell, or of one artifact: all of it, or the beginning of a text.
pub(super) fn read(desk: &Desk, uri: &str) -> Result<ResourceContents, ResourceError> {
    if let Some(cell) = CellAddress::parse(uri) {
        let most = desk.settings.calls(desk.exposure.profile()).call_bytes.min(MOST_BYTES);
        let text = cell.read(&notebooks(desk), most)?;
        return Ok(ResourceContents::text(text, uri));
    }
    let id = ArtifactId::from_reference(uri).map_err(EngineError::from)?;
    let artifact = desk.engine.artifacts().find(&id, Scope::All).map_err(EngineError::from)?;
    let kind = artifact.info().kind.clone();
    let mut contents = of(&artifact, uri, &desk.exposure, MOST_BYTES)?;
    // Stored text is unfiltered output of a program.
    if let ResourceContents::TextResourceContents { text, .. } = &mut contents {
        *text = cleaned(&*text);
    }
    Ok(contents.with_mime_type(kind))
}

fn of(
    artifact: &Artifact,
    uri: &str,
    exposure: &Exposure,
    most: usize,
) -> Result<ResourceContents, ResourceError> {
    let info = artifact.info();
    let read = artifact.bytes(0, most, Form::Text).map_err(EngineError::from)?;
    let is_all = read.next_offset.is_none();
    let bytes = match String::from_utf8(read.bytes) {
        Ok(text) if is_text_kind(&info.kind) => {
            if is_all && weight::of_text(&text) <= most {
                return Ok(ResourceContents::text(text, uri));
            }
            let text = beginning(&text, info, exposure, most);
            return Ok(ResourceContents::text(text, uri));
        }
        Ok(text) => text.into_bytes(),
        Err(error) => error.into_bytes(),
    };
    if !is_all || weight::of_bytes(bytes.len()) > most {
        return Err(ResourceError::TooLarge {
            uri: info.id.reference(),
            kind: info.kind.clone(),
            bytes: info.bytes,
            path: info.path.display().to_string(),
        });
    }
    Ok(ResourceContents::blob(STANDARD.encode(bytes), uri))
}

/// The lines of a text that fit, and a last line that says how to get the others.
fn beginning(text: &str, info: &ArtifactInfo, exposure: &Exposure, most: usize) -> String {
    let note_bytes = 300 + weight::of_text(&info.path.display().to_string());
    let fits = weight::beginning(text, most.saturating_sub(note_bytes));
    let (reference, all) = (info.id.reference(), size(info.bytes));
    let (shown, rest) = match fits.rfind('\n') {
        Some(end) => {
            let shown = &fits[..=end];
            let next = shown.matches('\n').count() + 1;
            let rest = if exposure.offers("result") {
                format!("result, id: \"{reference}\", lines: \"{next}-\"")
            } else if exposure.offers("read") {
                format!("read, path: \"{reference}:{next}-\"")
            } else {
                format!("the file {}", info.path.display())
            };
            (shown, rest)
        }
        // The first line alone is larger than an answer.
        None if exposure.offers("result") => {
            (fits, format!("result, id: \"{reference}\", offset: {}", fits.len()))
        }
        None => (fits, format!("the file {}", info.path.display())),
    };
    let part = size(shown.len() as u64);
    let line_end = if shown.ends_with('\n') { "" } else { "\n" };
    let mark = words::artifact::first_part(&part, &all, &rest);
    format!("{shown}{line_end}{mark}\n")
}

#[cfg(test)]
mod tests;
