//! Suggestions for an id that does not exist.
//!
//! Owns the measure of similarity. It must not look beyond the caller's scope: an id of another session is never named.

use inkcell_notebook::nearest;

use super::entry::Entry;
use super::error::ArtifactError;
use super::id::{ArtifactId, SCHEME};
use super::{Artifacts, Scope};

/// Upper limit for the number of suggestions.
const NAMED: usize = 5;
/// Characters of an id that suffice as a prefix.
const MIN_PREFIX: usize = 3;

impl Artifacts {
    /// Parses the id in `artifact://<id>`, or an id alone.
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

    /// Ids with the given prefix, or else the most similar one. Folders that cannot be read are skipped: the caller is
    /// reporting an error already.
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
