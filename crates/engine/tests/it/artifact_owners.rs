//! One store with several owners: the view of each, and the limits they share.

use std::path::Path;
use std::time::SystemTime;

use inkcell_engine::artifact::{
    ArtifactError, ArtifactLimits, ArtifactOwner, ArtifactSession, ArtifactSpec, Artifacts,
    ArtifactsConfig, Scope,
};
use inkcell_engine::system_random;

fn store(state: &Path, limits: ArtifactLimits) -> Artifacts {
    Artifacts::new(ArtifactsConfig {
        state_dir: state.to_owned(),
        limits,
        random: system_random,
        now: SystemTime::now,
    })
}

fn session() -> ArtifactSession {
    ArtifactSession::new("the same", &[b"/work"])
}

fn put(store: &Artifacts, bytes: &[u8]) -> String {
    let kind = "text/plain".to_owned();
    let spec = ArtifactSpec { session: session(), kind, title: String::new() };
    let written = store.store(&spec, bytes).expect("begun");
    written.info.expect("kept").id.to_string()
}

fn ids(store: &Artifacts, scope: Scope<'_>) -> Vec<String> {
    let listed = store.list(scope).expect("a list");
    let mut ids: Vec<String> = listed.iter().map(|info| info.id.to_string()).collect();
    ids.sort();
    ids
}

fn sorted<const N: usize>(ids: [&String; N]) -> Vec<String> {
    let mut ids: Vec<String> = ids.iter().map(|id| (*id).clone()).collect();
    ids.sort();
    ids
}

/// S-017: each owner has a separate view, even for sessions of the same name; a caller without an owner sees all.
#[test]
fn an_owner_sees_its_own() {
    let dir = tempfile::tempdir().expect("a folder");
    let all = store(dir.path(), ArtifactLimits::STANDARD);
    let (one, other) = (all.of(ArtifactOwner::new(b"1")), all.of(ArtifactOwner::new(b"2")));
    let (a, b, c) = (put(&one, b"a"), put(&other, b"b"), put(&all, b"c"));
    let session = session();
    for scope in [Scope::All, Scope::Session(&session)] {
        assert_eq!(ids(&one, scope), sorted([&a]));
        assert_eq!(ids(&other, scope), sorted([&b]));
    }
    assert_eq!(ids(&all, Scope::All), sorted([&a, &b, &c]));
    assert_eq!(ids(&all, Scope::Session(&session)), sorted([&c]));
    assert!(one.find_reference(&a, Scope::All).is_ok());
    for hidden in [&b, &c] {
        let missing = one.find_reference(hidden, Scope::All).expect_err("hidden");
        let ArtifactError::Unknown { near, .. } = &missing else { panic!("{missing}") };
        assert!(near.iter().all(|near| near.id == a), "{missing}");
        // A prefix does not reveal it, either.
        let text = one.find_reference(&hidden[..6], Scope::All).expect_err("hidden").to_string();
        assert!(!text.contains(&hidden[6..]), "{text}");
    }
    assert_ne!(one.folder(&session).expect("a folder"), other.folder(&session).expect("a folder"));
    one.remove_all(|_| true).expect("removed");
    assert_eq!(ids(&all, Scope::All), sorted([&b, &c]));
    other.remove_session(&session).expect("removed");
    assert_eq!(ids(&all, Scope::All), sorted([&c]));
}

/// S-017: an owner is recognized again, and no name contains its identity.
#[test]
fn an_owner_is_known_again() {
    let dir = tempfile::tempdir().expect("a folder");
    let owned = || store(dir.path(), ArtifactLimits::STANDARD).of(ArtifactOwner::new(b"a secret"));
    let id = put(&owned(), b"a");
    assert_eq!(ids(&owned(), Scope::All), sorted([&id]));
    let folder = owned().folder(&session()).expect("a folder");
    assert!(!folder.display().to_string().contains("secret"));
}

/// The limit for all together applies to owners, too.
#[test]
fn owners_share_the_quota_of_all() {
    let dir = tempfile::tempdir().expect("a folder");
    let limits = ArtifactLimits { total_bytes: 8000, ..ArtifactLimits::STANDARD };
    let all = store(dir.path(), limits);
    let (one, other) = (all.of(ArtifactOwner::new(b"1")), all.of(ArtifactOwner::new(b"2")));
    for _ in 0..4 {
        put(&one, &[b'x'; 2000]);
        put(&other, &[b'x'; 2000]);
    }
    all.gc(SystemTime::now()).expect("swept");
    let kept = all.kept().expect("counted").bytes;
    assert!(kept <= limits.total_bytes, "{kept}");
}
