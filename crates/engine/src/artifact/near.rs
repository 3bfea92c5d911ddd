//! What somebody may have meant who gave an id that is not there.
//!
//! Owns how near is near. It must not look beyond what the caller may see: an id of another session is
//! never named.

use inkcell_notebook::nearest;

use super::entry::Entry;
use super::error::ArtifactError;
use super::id::{ArtifactId, SCHEME};
use super::{Artifacts, Scope};

/// How many are named.
const NAMED: usize = 5;
/// So many characters of an id are enough to mean it.
const MIN_PREFIX: usize = 3;

impl Artifacts {
    /// The id in `artifact://<id>`, or in an id alone.
    pub fn id_of(&self, reference: &str, scope: Scope<'_>) -> Result<ArtifactId, ArtifactError> {
        ArtifactId::from_reference(reference).map_err(|error| match error {
            ArtifactError::BadId { shown, .. } => {
                let given = reference.strip_prefix(SCHEME).unwrap_or(reference);
                ArtifactError::BadId { shown, near: self.near(given, scope) }
            }
            other => other,
        })
    }

    pub(super) fn unknown(&self, id: &ArtifactId, scope: Scope<'_>) -> ArtifactError {
        ArtifactError::Unknown { id: id.clone(), near: self.near(id.as_str(), scope) }
    }

    /// Ids that begin like what was given, or else the one that looks most like it. What cannot be looked
    /// at is not named: this is about an error already.
    fn near(&self, given: &str, scope: Scope<'_>) -> Vec<ArtifactId> {
        let folders = self.folders(scope).unwrap_or_default();
        let mut ids: Vec<ArtifactId> = Vec::new();
        for folder in &folders {
            let is_kept = |entry: &Entry| matches!(entry.open(folder), Ok(Some(_)));
            let kept = Entry::list(folder).unwrap_or_default().into_iter().filter(is_kept);
            ids.extend(kept.map(|entry| entry.id));
        }
        let given = given.to_ascii_lowercase();
        let begins = |id: &&ArtifactId| id.as_str().starts_with(&given);
        if given.len() >= MIN_PREFIX && ids.iter().any(|id| begins(&id)) {
            return ids.iter().filter(begins).take(NAMED).cloned().collect();
        }
        let nearest = nearest(ids.iter().map(ArtifactId::as_str), &given);
        nearest.map(|at| ids[at].clone()).into_iter().collect()
    }
}
