//! Suggestions for an id that does not exist.
//!
//! Owns the measure of similarity. It must not look beyond the caller's scope: an id of another session is never named.

use inkcell_notebook::{nearest_few, visible_line};

use super::entry::Entry;
use super::error::{ArtifactError, shortened};
use super::id::{ArtifactId, SCHEME};
use super::record::ArtifactInfo;
use super::{Artifacts, Scope};
use crate::output::size;
use crate::types::{SUGGESTIONS, Suggestion};

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

    /// Ids with the given prefix, or else the most similar and the latest ones. Folders that cannot be read are skipped: the caller is
    /// reporting an error already.
    fn near(&self, given: &str, scope: Scope<'_>) -> Vec<Suggestion> {
        let folders = self.folders(scope).unwrap_or_default();
        let mut kept: Vec<ArtifactInfo> = Vec::new();
        for folder in &folders {
            let entries = Entry::list(folder).unwrap_or_default();
            kept.extend(entries.iter().filter_map(|entry| Some(entry.open(folder).ok()??.0)));
        }
        let given = given.to_ascii_lowercase();
        let begins = |info: &&ArtifactInfo| info.id.as_str().starts_with(&given);
        if given.len() >= MIN_PREFIX && kept.iter().any(|info| begins(&info)) {
            return kept.iter().filter(begins).take(SUGGESTIONS).map(described).collect();
        }
        // After those that look like it come the latest: an id is made of random characters.
        let mut places = nearest_few(kept.iter().map(|info| info.id.as_str()), &given, SUGGESTIONS);
        let mut others: Vec<usize> = (0..kept.len()).filter(|at| !places.contains(at)).collect();
        others.sort_by_key(|at| std::cmp::Reverse(kept[*at].created));
        places.extend(others);
        places.into_iter().take(SUGGESTIONS).map(|at| described(&kept[at])).collect()
    }
}

/// An artifact with its title, if it has one, its kind and its size.
fn described(info: &ArtifactInfo) -> Suggestion {
    let title = shortened(&visible_line(&info.title));
    let what = [title, info.kind.clone(), size(info.bytes)];
    let what = what.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    Suggestion { id: info.id.to_string(), what }
}
