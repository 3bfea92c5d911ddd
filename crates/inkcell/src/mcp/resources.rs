//! Artifacts as resources of the protocol.
//!
//! Owns how much of one is sent at once. Parts of it are for a tool.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use inkcell_engine::artifact::{ArtifactId, Artifacts, Scope};
use inkcell_engine::notebook::Form;
use inkcell_engine::{EngineError, Kind};
use rmcp::model::{Resource, ResourceContents};

/// More than this is not sent in one piece; the tools read by lines.
const MOST_BYTES: usize = 1 << 20;

/// What is stored.
pub(super) fn list(artifacts: &Artifacts) -> Result<Vec<Resource>, EngineError> {
    let found = artifacts.list(Scope::All)?;
    let resource = |info: inkcell_engine::artifact::ArtifactInfo| {
        let name = if info.title.is_empty() { info.id.to_string() } else { info.title.clone() };
        Resource::new(format!("artifact://{}", info.id), name)
            .with_mime_type(info.kind.clone())
            .with_size(info.bytes)
    };
    Ok(found.into_iter().map(resource).collect())
}

/// The content of one.
pub(super) fn read(artifacts: &Artifacts, uri: &str) -> Result<ResourceContents, EngineError> {
    let id = ArtifactId::from_reference(uri)?;
    let artifact = artifacts.find(&id, Scope::All)?;
    let info = artifact.info().clone();
    let read = artifact.bytes(0, MOST_BYTES, Form::Text)?;
    let contents = match String::from_utf8(read.bytes) {
        Ok(mut text) if info.kind.starts_with("text/") || info.kind.ends_with("json") => {
            if read.next_offset.is_some() {
                text.push_str(&format!("\n[… the first {MOST_BYTES} of {} bytes …]\n", info.bytes));
            }
            ResourceContents::text(text, uri)
        }
        Ok(text) => ResourceContents::blob(STANDARD.encode(text), uri),
        Err(error) => ResourceContents::blob(STANDARD.encode(error.as_bytes()), uri),
    };
    Ok(contents.with_mime_type(info.kind))
}

/// Whether there is simply no such artifact.
pub(super) fn is_missing(error: &EngineError) -> bool {
    error.kind() == Kind::NotFound
}
