//! Notebooks of a Jupyter server, read and written by their paths there.
//!
//! Owns paths, and that nothing is written over what somebody else wrote meanwhile. A notebook is JSON here, as
//! the server gives it; it must not know what is in one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Method, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::gateway::collaboration::Collaboration;
use crate::gateway::error::{GatewayError, Named};
use crate::gateway::lanes::Lane;
use crate::gateway::launch::GatewayBackend;
use crate::gateway::rest::{Limits, Rest};
use crate::gateway::url::percent_decoded;

/// How long a notebook may take, and how large it may be.
const NOTEBOOK: Limits =
    Limits { lane: Lane::Files, within: Duration::from_secs(60), longest: 256 << 20 };

/// Pages of a server that show a file, whose path follows.
const PAGES: &[&str] = &["/lab/tree/", "/doc/tree/", "/notebooks/", "/edit/", "/tree/"];

/// Names a file on a server, from the folder that the server shows.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ContentsPath(String);

impl ContentsPath {
    /// A path as people write it; none where it is no path of a file.
    pub fn parse(text: &str) -> Option<ContentsPath> {
        let text = text.trim_matches('/');
        let is_fine = |part: &str| {
            !matches!(part, "" | "." | "..") && !part.chars().any(|c| c.is_control() || c == '\\')
        };
        text.split('/').all(is_fine).then(|| ContentsPath(text.to_owned()))
    }

    /// The file that a page shows whose address was pasted, such as
    /// `http://localhost:8888/lab/tree/work/a%20b.ipynb?token=…`.
    pub fn of_page(address: &str) -> Option<ContentsPath> {
        let page = address.trim().split(['?', '#']).next()?;
        let (at, length) =
            PAGES.iter().filter_map(|name| Some((page.find(name)?, name.len()))).min()?;
        let decoded = percent_decoded(&page[at + length..])?;
        let path = String::from_utf8(decoded).ok()?;
        // Where documents are shared, the page has the name of their drive before the path.
        ContentsPath::parse(path.strip_prefix("RTC:").unwrap_or(&path))
    }

    /// The path as the server has it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The same in a request.
    pub(crate) fn encoded(&self) -> String {
        let mut encoded = String::with_capacity(self.0.len());
        for byte in self.0.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
                encoded.push(char::from(byte));
            } else {
                encoded.push_str(&format!("%{byte:02X}"));
            }
        }
        encoded
    }
}

impl fmt::Display for ContentsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A notebook as a server has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerNotebook {
    /// Its JSON.
    pub content: Bytes,
    /// When it was last changed, in the server's words: what a later write is compared with.
    pub last_modified: String,
    /// Whether the server lets it be written.
    pub writable: bool,
}

/// Whether a notebook is written that others are working on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overwrite {
    /// Only where nobody else is known to.
    Careful,
    /// Whatever becomes of what they did.
    Forced,
}

/// Why a notebook of a server was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum ContentsError {
    /// The server did not do what it was asked.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    /// It is a gateway, and has kernels only.
    #[error("{at} has no files; a notebook of a server is one of a Jupyter server or a Hub's")]
    NoFiles {
        /// Which it is.
        at: Named,
    },
    /// There is no such file.
    #[error("the server has no file {path}; paths start at the folder that its file browser shows")]
    NotFound {
        /// What was asked for.
        path: ContentsPath,
    },
    /// It is no notebook.
    #[error("{path} on the server is no notebook")]
    NotANotebook {
        /// What was asked for.
        path: ContentsPath,
    },
    /// It was changed since it was read.
    #[error(
        "{path} was changed on the server since it was read, and was not written over; read it again, or write \
         it with --force"
    )]
    Changed {
        /// The file.
        path: ContentsPath,
    },
    /// Others have it open.
    #[error(
        "{path} was not written: {reason}. What is written to the file would be lost or mixed with what they \
         type; close the document there, or write it with --force"
    )]
    Open {
        /// The file.
        path: ContentsPath,
        /// How that is known.
        reason: &'static str,
    },
    /// What is to be written is no JSON.
    #[error("what is to be written to {path} is no JSON: {source}")]
    NoJson {
        /// The file.
        path: ContentsPath,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// A document that others have open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Open {
    /// What it is called on the server.
    pub path: ContentsPath,
    /// How that is known.
    pub reason: &'static str,
}

/// The files of a Jupyter server.
#[derive(Clone)]
pub struct ServerContents {
    pub(crate) rest: Arc<Rest>,
}

/// A file as a server shows it.
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
    /// The files of the same server. A gateway has none.
    pub fn contents(&self) -> ServerContents {
        ServerContents { rest: Arc::clone(&self.rest) }
    }
}

impl ServerContents {
    /// Reads a notebook.
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

    /// Writes a notebook that was read before (or a new one, where nothing was), unless somebody else changed it
    /// or works on it; gives the word by which the next write is compared.
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
        // A file that there is not is nobody's.
        if now.is_none() {
            return Ok(());
        }
        self.must_be_closed(path).await
    }

    /// Fails as a careful write would where others have the notebook open.
    pub async fn must_be_closed(&self, path: &ContentsPath) -> Result<(), ContentsError> {
        match self.collaboration(path).await?.reason() {
            Some(reason) => Err(ContentsError::Open { path: path.clone(), reason }),
            None => Ok(()),
        }
    }

    /// Whether there are files at all: a gateway has none.
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
    /// Why a file is not written, if it is not.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// S-015: a path leads to a file below the server's folder, whatever is in it.
    #[test]
    fn paths_are_paths() {
        let shown = |text: &str| ContentsPath::parse(text).map(|path| path.encoded());
        assert_eq!(shown("/a b/c.ipynb").as_deref(), Some("a%20b/c.ipynb"));
        assert_eq!(shown("é?#%.ipynb").as_deref(), Some("%C3%A9%3F%23%25.ipynb"));
        for text in ["", "/", "a//b", "../a", "a/..", "a\\b", "a\nb", "./a"] {
            assert_eq!(shown(text), None, "{text:?}");
        }
    }

    #[test]
    fn pages_show_files() {
        let file = |text: &str| ContentsPath::of_page(text).map(|path| path.to_string());
        let check = |text: &str, wanted: &str| assert_eq!(file(text).as_deref(), Some(wanted));
        check("http://localhost:8888/lab/tree/w/a%20b.ipynb?token=t", "w/a b.ipynb");
        check("https://h.org/user/me/notebooks/a.ipynb#x", "a.ipynb");
        check("https://h.org/lab/tree/notebooks/a.ipynb", "notebooks/a.ipynb");
        check("https://h.org/doc/tree/a.ipynb", "a.ipynb");
        check("http://h/lab/tree/RTC:w/a.ipynb", "w/a.ipynb");
        check("http://h/lab/tree/RTC%3Aa.ipynb", "a.ipynb");
        for text in
            ["http://h/lab", "http://h/lab/tree/", "http://h/lab/tree/%2e%2e/a", "http://h/"]
        {
            assert_eq!(file(text), None, "{text}");
        }
    }
}
