//! Ids as strangers give them: looked up, never joined to a path, and refused with a helpful error.

use std::path::Path;
use std::time::SystemTime;

use inkcell_engine::artifact::{
    ArtifactError, ArtifactLimits, ArtifactSession, ArtifactSpec, Artifacts, ArtifactsConfig, Scope,
};
use inkcell_engine::{EngineError, Kind, NextStep, system_random};
use tempfile::TempDir;

fn store(state: &Path) -> Artifacts {
    Artifacts::new(ArtifactsConfig {
        state_dir: state.to_owned(),
        limits: ArtifactLimits::STANDARD,
        random: system_random,
        now: SystemTime::now,
    })
}

fn session(name: &str) -> ArtifactSession {
    ArtifactSession::new(name, &[b"/work"])
}

fn put(store: &Artifacts, session: &ArtifactSession) -> String {
    let spec = ArtifactSpec {
        session: session.clone(),
        kind: "text/plain".to_owned(),
        title: String::new(),
    };
    let written = store.store(&spec, b"mine\n").expect("begun");
    written.info.expect("kept").id.to_string()
}

/// Names that lead elsewhere if they are taken for paths.
fn hostile(id: &str) -> Vec<String> {
    let fixed = [
        "",
        ".",
        "..",
        "/",
        "//",
        "~",
        "*",
        "../x",
        "../../etc/passwd",
        "/etc/passwd",
        "/etc/passwd\0.md",
        "..\\..\\windows\\win.ini",
        "C:\\windows\\win.ini",
        "\\\\server\\share",
        "file:///etc/passwd",
        "artifact:///etc/passwd",
        "artifact://../../etc/passwd",
        "artifact://",
        "%2e%2e",
        "%2e%2e%2fpasswd",
        "%252e%252e%252f",
        "..%c0%af..%c0%afetc",
        "....//....//etc",
        "con",
        "nul",
        "aux.md",
        "lpt1",
        "-rf",
        "--help",
        "$(id)",
        "`id`",
        ";id",
        "\u{202e}dm.exe",
        "\u{ff0e}\u{ff0e}\u{ff0f}x",
        "0123456789abcde\u{301}",
        " 0123456789abcdef",
        "0123456789abcdef ",
        "0123456789abcdef\n",
        "0123456789ABCDEF",
        "0123456789abcdef.md",
    ];
    let mut all: Vec<String> = fixed.iter().map(|text| (*text).to_owned()).collect();
    all.push("a".repeat(10 * 1024));
    // Spellings of an existing id.
    for odd in
        ["./ID", "ID/", "ID/.", "x/../ID", "ID.md", "ID.json", "ID\0", "ID%00", "ARTIFACT://ID"]
    {
        all.push(odd.replace("ID", id));
    }
    all
}

/// S-040: none of these is an id. No file is opened for them, and each error is short.
#[test]
fn what_is_no_id_leads_nowhere() {
    let state = TempDir::new().expect("a folder");
    let store = store(state.path());
    let id = put(&store, &session("default"));
    for given in hostile(&id) {
        let error = store.find_reference(&given, Scope::All).expect_err(&given);
        assert!(matches!(error, ArtifactError::BadId { .. }), "{given:?}: {error}");
        assert_eq!(error.kind(), Kind::Invalid);
        assert!(error.to_string().len() < 600, "{error}");
        let error = EngineError::from(error);
        assert_eq!(error.next_step(), Some(NextStep::SeeArtifacts));
    }
    for given in [id.clone(), format!("artifact://{id}")] {
        assert_eq!(store.find_reference(&given, Scope::All).expect("found").info().bytes, 5);
    }
}

/// A misspelled or abbreviated id yields a suggestion. An id of another session is never suggested.
#[test]
fn what_is_nearly_an_id_is_told_with_the_nearest() {
    let state = TempDir::new().expect("a folder");
    let store = store(state.path());
    let (mine, other) = (session("default"), session("other"));
    let id = put(&store, &mine);
    let near = |given: &str, scope| match store.find_reference(given, scope).expect_err(given) {
        ArtifactError::BadId { near, .. } | ArtifactError::Unknown { near, .. } => {
            near.into_iter().map(|near| near.id).collect::<Vec<_>>()
        }
        error => panic!("{given}: {error}"),
    };
    let mut slip = id.clone();
    slip.replace_range(7..8, if &id[7..8] == "0" { "1" } else { "0" });
    for given in [&id[..5], &id[..15], &slip, &id.to_uppercase(), &format!("artifact://{slip}")] {
        assert_eq!(near(given, Scope::All), std::slice::from_ref(&id), "{given}");
        assert_eq!(near(given, Scope::Session(&mine)), std::slice::from_ref(&id), "{given}");
        assert_eq!(near(given, Scope::Session(&other)), [""; 0], "{given}");
    }
    let error = store.find_reference(&slip, Scope::All).expect_err("a slip");
    // The suggestion says what the artifact is.
    let nearest = format!("; the nearest is {id} (");
    assert!(error.to_string().contains(&nearest), "{error}");
    assert!(error.to_string().ends_with("text/plain, 5B)"), "{error}");
    // Of what looks like none, the latest are named.
    for given in ["../x", "0000000000000000"] {
        assert_eq!(near(given, Scope::All), std::slice::from_ref(&id), "{given}");
    }
}
