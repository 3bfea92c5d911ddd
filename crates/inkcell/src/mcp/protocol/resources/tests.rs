use std::time::SystemTime;

use inkcell_engine::artifact::{ArtifactLimits, ArtifactSession, ArtifactSpec, ArtifactsConfig};
use inkcell_engine::{Preflight, system_random};
use tempfile::TempDir;

use super::*;
use crate::mcp::exposure::ToolSet;
use crate::settings::ToolMode;

const MOST: usize = 4000;

fn store() -> (TempDir, Artifacts) {
    let state = tempfile::tempdir().unwrap();
    let artifacts = Artifacts::new(ArtifactsConfig {
        state_dir: state.path().to_owned(),
        limits: ArtifactLimits::STANDARD,
        random: system_random,
        now: SystemTime::now,
    });
    (state, artifacts)
}

fn stored(artifacts: &Artifacts, kind: &str, bytes: &[u8]) -> Artifact {
    let session = ArtifactSession::new("default", &[b"/work"]);
    let spec = ArtifactSpec { session, kind: kind.to_owned(), title: "cell 1".to_owned() };
    let written = artifacts.store(&spec, bytes).unwrap();
    artifacts.find(&written.info.unwrap().id, Scope::All).unwrap()
}

fn exposure(set: ToolSet) -> Exposure {
    Exposure::new(set, ToolMode::Both, &Preflight::Ready)
}

/// The size of an artifact as it is sent, and its text if it is text.
fn sent(artifact: &Artifact, set: ToolSet) -> (usize, Option<String>) {
    let uri = artifact.info().id.reference();
    let contents = of(artifact, &uri, &exposure(set), MOST).unwrap();
    let text = match &contents {
        ResourceContents::TextResourceContents { text, .. } => Some(text.clone()),
        _ => None,
    };
    (weight::of_json(&contents), text)
}

/// A text that is too long is cut to whole lines, and the last line says how to get the rest.
#[test]
fn a_long_text_ends_with_the_way_to_its_rest() {
    let (_state, artifacts) = store();
    let whole = "line\n".repeat(100);
    let artifact = stored(&artifacts, "text/plain", whole.as_bytes());
    assert_eq!(sent(&artifact, ToolSet::Default).1.as_deref(), Some(&*whole));

    // Each line is 30 bytes as stored and 75 as sent.
    let line = "\u{1b}[31m\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}ab\"cd\\efgh\n";
    let artifact = stored(&artifacts, "text/plain", line.repeat(100).as_bytes());
    for (set, rest) in [(ToolSet::Default, "result, id: \""), (ToolSet::Compat, "read, path: \"")] {
        let (weight, text) = sent(&artifact, set);
        let text = text.unwrap();
        assert!(weight < MOST + 200 && weight > MOST / 2, "{weight}");
        let lines = text.matches(line).count();
        let (shown, note) = text.split_at(lines * line.len());
        assert_eq!(shown, line.repeat(lines));
        let reference = artifact.info().id.reference();
        let next = lines + 1;
        let way = match set {
            ToolSet::Default => format!("{rest}{reference}\", lines: \"{next}-\" …]\n"),
            _ => format!("{rest}{reference}:{next}-\" …]\n"),
        };
        assert!(note.starts_with("[… showing the first ") && note.ends_with(&way), "{note}");
    }

    let artifact = stored(&artifacts, "text/plain", "é".repeat(9000).as_bytes());
    let (weight, text) = sent(&artifact, ToolSet::Default);
    let text = text.unwrap();
    assert!(weight < MOST + 200, "{weight}");
    let offset = text.find('\n').unwrap();
    assert!(text.ends_with(&format!(", offset: {offset} …]\n")), "{}", &text[offset..]);
}

/// A picture is sent whole or not at all.
#[test]
fn what_is_no_text_is_never_cut() {
    let (_state, artifacts) = store();
    let fits = stored(&artifacts, "image/png", &[0x89; 2900]);
    let (weight, text) = sent(&fits, ToolSet::Default);
    assert!(text.is_none() && weight < MOST + 200, "{weight}");
    for bytes in [3100, 5000] {
        let large = stored(&artifacts, "image/png", &vec![0x89; bytes]);
        let info = large.info();
        let error = of(&large, "x", &exposure(ToolSet::Default), MOST).unwrap_err();
        assert!(!error.is_missing());
        let wanted = format!(
            "{} (image/png, {}) is too large for one answer; its file is {}",
            info.id.reference(),
            size(info.bytes),
            info.path.display()
        );
        assert_eq!(error.to_string(), wanted);
    }
}

/// A long list comes in parts that fit, and every artifact is in exactly one of them.
#[test]
fn a_long_list_comes_in_parts() {
    let (_state, artifacts) = store();
    let mut all: Vec<String> =
        (0..40).map(|_| stored(&artifacts, "text/plain", b"x").info().id.reference()).collect();
    let found = artifacts.list(Scope::All).unwrap();
    let (mut uris, mut cursor, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = page(&found, cursor.as_deref(), 1000).unwrap();
        assert!(weight::of_json(&page.resources) <= 1002);
        uris.extend(page.resources.iter().map(|resource| resource.uri.clone()));
        pages += 1;
        cursor = page.next;
        if cursor.is_none() || pages > 40 {
            break;
        }
    }
    all.sort();
    uris.sort();
    assert_eq!(uris, all);
    assert!(pages > 3, "{pages}");
    let gone = page(&found, Some("nowhere"), 1000).err().unwrap();
    assert_eq!(gone.to_string(), "unknown cursor \"nowhere\"; list from the beginning");
}
