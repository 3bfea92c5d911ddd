//! The folders a client says it works in (roots).
//!
//! Owns the request for them, if the protocol's revision has roots and the client offers them. They narrow the
//! files that tools may touch and never widen them. A client that offers roots and then stays silent counts as one
//! without roots. Newer revisions of the protocol have no roots, so their names here are marked as deprecated.
#![allow(deprecated, reason = "older clients have them")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::Root;
use rmcp::service::{Peer, RoleServer};
use tokio::sync::watch;

use super::escapes::unescaped;

/// How long a call waits for the folders, and the time limit for the client's answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The known folders of a client. Clones share them.
#[derive(Clone)]
pub(super) struct ClientRoots {
    said: Arc<watch::Sender<RootsAnswer>>,
}

#[derive(Clone, Debug)]
enum RootsAnswer {
    Nothing,
    /// The client is being asked.
    Asked,
    Only(Arc<[PathBuf]>),
}

impl ClientRoots {
    pub(super) fn new() -> ClientRoots {
        ClientRoots { said: Arc::new(watch::channel(RootsAnswer::Nothing).0) }
    }

    /// Asks a client that offers roots. The answer is awaited in another task, since this runs in the middle of the
    /// client's own messages.
    pub(super) fn ask(&self, peer: Peer<RoleServer>) {
        let offers = peer.peer_info().is_some_and(|client| client.capabilities.roots.is_some());
        if !offers {
            return;
        }
        let said = Arc::clone(&self.said);
        said.send_if_modified(|said| {
            // An earlier answer holds until a newer one arrives.
            let is_first = matches!(said, RootsAnswer::Nothing);
            if is_first {
                *said = RootsAnswer::Asked;
            }
            is_first
        });
        tokio::spawn(async move {
            let told = tokio::time::timeout(PATIENCE, peer.list_roots()).await;
            let folders = match told {
                Ok(Ok(told)) => folders(&told.roots),
                _ => Vec::new(),
            };
            said.send_modify(|said| {
                if !folders.is_empty() {
                    *said = RootsAnswer::Only(folders.into());
                } else if matches!(said, RootsAnswer::Asked) {
                    *said = RootsAnswer::Nothing;
                }
            });
        });
    }

    /// The folders, once a client that is being asked has answered.
    pub(super) async fn known(&self) -> Option<Arc<[PathBuf]>> {
        let mut seen = self.said.subscribe();
        let settled = seen.wait_for(|said| !matches!(said, RootsAnswer::Asked));
        let _ = tokio::time::timeout(PATIENCE, settled).await;
        match &*self.said.borrow() {
            RootsAnswer::Only(folders) => Some(Arc::clone(folders)),
            RootsAnswer::Nothing | RootsAnswer::Asked => None,
        }
    }
}

/// The folders of this machine among the roots of a client.
fn folders(roots: &[Root]) -> Vec<PathBuf> {
    roots.iter().filter_map(|root| folder(&root.uri)).collect()
}

/// The path in a `file:` address; none if it names another machine or a relative path.
fn folder(uri: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return None;
    }
    let bytes = unescaped(path.split(['?', '#']).next().unwrap_or_default());
    (!bytes.contains(&0)).then(|| PathBuf::from(std::ffi::OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_one_of_this_machine() {
        let cases = [
            ("file:///home/me/work", Some("/home/me/work")),
            ("file:///home/me/a%20b%c3%A9", Some("/home/me/a bé")),
            ("file://localhost/tmp", Some("/tmp")),
            ("file:///tmp?x#y", Some("/tmp")),
            ("file:///100%", Some("/100%")),
            ("file://elsewhere/tmp", None),
            ("file:tmp", None),
            ("file://", None),
            ("file:///a%00b", None),
            ("https://example.org/x", None),
            ("/tmp", None),
            ("", None),
        ];
        for (uri, expected) in cases {
            assert_eq!(folder(uri), expected.map(PathBuf::from), "{uri}");
        }
    }
}
