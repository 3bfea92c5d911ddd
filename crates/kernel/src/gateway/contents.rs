//! Notebooks of a Jupyter server, read and written by their paths on that server.
//!
//! Owns the check that a write never destroys a change made by another program since the read. A
//! notebook is the JSON that the server sends; this module must not know its contents.

mod collaboration;
mod document;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Method, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::gateway::{GatewayError, GatewayName};
use crate::gateway::launch::GatewayBackend;
use crate::gateway::transport::lanes::Lane;
use crate::gateway::transport::path::ContentsPath;
use crate::gateway::transport::rest::{Limits, Rest};
pub use collaboration::Collaboration;

/// Limits for one request about a notebook: its time and the size of the answer.
const NOTEBOOK: Limits =
    Limits { lane: Lane::Files, within: Duration::from_secs(60), longest: 256 << 20 };

/// A notebook as the server sends it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerNotebook {
    /// The notebook as JSON text.
    pub content: Bytes,
    /// Time of the last change, as the server writes it. A later write compares against this text.
    pub last_modified: String,
    /// `true` if the server allows writing the file.
    pub writable: bool,
}

/// Says if a write may replace changes that other users or programs make to the notebook.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overwrite {
    /// Write only if the file is unchanged since the read and not open elsewhere, as far as the
    /// server tells.
    Careful,
    /// Write even if that destroys changes made by others.
    Forced,
}

/// Reason why a notebook on a server was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum ContentsError {
    /// The request to the server failed.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    /// The address is a gateway, which has kernels but no files.
    #[error("{at} has no files; give a Jupyter server, or a Hub's")]
    NoFiles {
        /// The gateway that was asked.
        at: GatewayName,
    },
    /// The server has no file with this path.
    #[error("the server has no file {path}; paths start at the folder that its file browser shows")]
    NotFound {
        /// Path as the caller gave it.
        path: ContentsPath,
    },
    /// The file exists and is not a notebook.
    #[error("{path} on the server is not a notebook")]
    NotANotebook {
        /// Path as the caller gave it.
        path: ContentsPath,
    },
    /// The file changed after it was read.
    #[error(
        "{path} was changed on the server since it was read, and was not written over; read it again, or write \
         it with --force"
    )]
    Changed {
        /// Path of the changed file.
        path: ContentsPath,
    },
    /// Other users or programs have the file open.
    #[error(
        "{path} was not written: {reason}. Changes to the file would be lost or mixed with edits made \
         there; close the document there, or write it with --force"
    )]
    Open {
        /// Path of the open file.
        path: ContentsPath,
        /// Evidence for that, as words for the error message.
        reason: &'static str,
    },
    /// The new content is not valid JSON.
    #[error("{path}: the new content is not valid JSON: {source}")]
    NoJson {
        /// Path of the file that was to be written.
        path: ContentsPath,
        /// The parser's error, with line and column.
        source: serde_json::Error,
    },
}

/// A document that other users or programs have open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Open {
    /// Path of the document on the server.
    pub path: ContentsPath,
    /// Evidence for that, as words for an error message.
    pub reason: &'static str,
}

/// Access to the files of a Jupyter server.
#[derive(Clone)]
pub struct ServerContents {
    pub(crate) rest: Arc<Rest>,
}

/// A file as the server's contents API describes it.
#[derive(Deserialize)]
pub(crate) struct Model {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    pub(crate) last_modified: String,
    #[serde(default)]
    pub(crate) size: Option<u64>,
    #[serde(default = "yes")]
    writable: bool,
    content: Option<Box<RawValue>>,
}

fn yes() -> bool {
    true
}

impl GatewayBackend {
    /// Returns access to the files of the same server. A gateway has no files.
    pub fn contents(&self) -> ServerContents {
        ServerContents { rest: Arc::clone(&self.rest) }
    }
}

impl ServerContents {
    /// Reads a notebook with its content and the time of its last change.
    pub async fn read(&self, path: &ContentsPath) -> Result<ServerNotebook, ContentsError> {
        let model = match self.model(path, "?content=1").await {
            Err(ContentsError::NotFound { .. }) if !self.is_there().await? => {
                return Err(ContentsError::NoFiles { at: self.rest.named() });
            }
            model => model?,
        };
        match model.content {
            Some(content) if model.kind == "notebook" => Ok(ServerNotebook {
                content: Bytes::from(content.get().to_owned()),
                last_modified: model.last_modified,
                writable: model.writable,
            }),
            _ => Err(ContentsError::NotANotebook { path: path.clone() }),
        }
    }

    /// Writes a notebook.
    ///
    /// `read` is the notebook as the caller read it before, or `None` for a new file. A careful
    /// write fails if the file changed since then, or if it is open elsewhere. Returns the time of
    /// the change as the server writes it, for the check of the next write.
    pub async fn write(
        &self,
        path: &ContentsPath,
        content: &[u8],
        read: Option<&ServerNotebook>,
        overwrite: Overwrite,
    ) -> Result<String, ContentsError> {
        let no_json = |source| ContentsError::NoJson { path: path.clone(), source };
        let content: &RawValue = serde_json::from_slice(content).map_err(no_json)?;
        if overwrite == Overwrite::Careful {
            self.check(path, read).await?;
        }
        let body = format!(r#"{{"type":"notebook","format":"json","content":{}}}"#, content.get());
        let at = format!("/api/contents/{}", path.encoded());
        let reply = self.rest.ask(Method::PUT, &at, Some(Bytes::from(body)), NOTEBOOK).await?;
        if !reply.status.is_success() {
            return Err(self.refused(path, reply.status, &reply.body));
        }
        let model: Model = self.rest.read(&reply)?;
        Ok(model.last_modified)
    }

    async fn check(
        &self,
        path: &ContentsPath,
        read: Option<&ServerNotebook>,
    ) -> Result<(), ContentsError> {
        let now = match self.model(path, "?content=0").await {
            Ok(model) => Some(model.last_modified),
            Err(ContentsError::NotFound { .. }) => None,
            Err(problem) => return Err(problem),
        };
        if now.as_deref() != read.map(|read| read.last_modified.as_str()) {
            return Err(ContentsError::Changed { path: path.clone() });
        }
        // A file that does not exist cannot be open elsewhere.
        if now.is_none() {
            return Ok(());
        }
        self.must_be_closed(path).await
    }

    /// Fails if other users or programs have the notebook open, as a careful write does.
    pub async fn must_be_closed(&self, path: &ContentsPath) -> Result<(), ContentsError> {
        match self.collaboration(path).await?.reason() {
            Some(reason) => Err(ContentsError::Open { path: path.clone(), reason }),
            None => Ok(()),
        }
    }

    /// Returns `true` if the server has files. A gateway has none.
    pub(crate) async fn is_there(&self) -> Result<bool, GatewayError> {
        let reply = self.rest.ask(Method::GET, "/api/contents/?content=0", None, NOTEBOOK).await?;
        Ok(reply.status == StatusCode::OK)
    }

    pub(crate) async fn model(
        &self,
        path: &ContentsPath,
        query: &str,
    ) -> Result<Model, ContentsError> {
        let at = format!("/api/contents/{}{query}", path.encoded());
        let reply = self.rest.ask(Method::GET, &at, None, NOTEBOOK).await?;
        if reply.status != StatusCode::OK {
            return Err(self.refused(path, reply.status, &reply.body));
        }
        Ok(self.rest.read(&reply)?)
    }

    fn refused(&self, path: &ContentsPath, status: StatusCode, body: &[u8]) -> ContentsError {
        match status {
            StatusCode::NOT_FOUND => ContentsError::NotFound { path: path.clone() },
            status => self.rest.of_status(status.as_u16(), body).into(),
        }
    }
}

impl Collaboration {
    /// Returns the reason not to write the file, or `None` if it may be written.
    pub(crate) fn reason(self) -> Option<&'static str> {
        match self {
            Collaboration::Absent | Collaboration::Closed => None,
            Collaboration::Open => Some("it is open on the server with real-time collaboration"),
            Collaboration::Unknown => Some(
                "the server has real-time collaboration and does not say whether the document is open in it",
            ),
        }
    }
}
