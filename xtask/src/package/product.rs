//! What the packages say about the product: its version and the place where it is published. Both stand in
//! `Cargo.toml`.
//!
//! Owns the list of other manifests, each with its copies of the version. Must not know how a package is made.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use regex::Regex;
use serde::Deserialize;

use crate::child;
use crate::workspace::Workspace;

/// Stands for the account that publishes, until `Cargo.toml` names it.
pub(crate) const PLACEHOLDER: &str = "OWNER";

/// The facts that other manifests and the packages repeat.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Product {
    pub(crate) version: String,
    pub(crate) repository: String,
}

impl Product {
    pub(crate) fn read(workspace: &Workspace) -> Result<Product> {
        #[derive(Deserialize)]
        struct Metadata {
            packages: Vec<Package>,
        }
        #[derive(Deserialize)]
        struct Package {
            name: String,
            #[serde(flatten)]
            rest: serde_json::Value,
        }
        let mut metadata = workspace.cargo(["metadata", "--no-deps", "--format-version", "1"]);
        let metadata: Metadata = serde_json::from_str(&child::capture(&mut metadata)?)?;
        let mut packages = metadata.packages.into_iter();
        let package = packages.find(|one| one.name == "inkcell").context("no package inkcell")?;
        let product: Product = serde_json::from_value(package.rest)?;
        let parts = product.repository.strip_prefix("https://github.com/").map(|it| it.split('/'));
        ensure!(
            parts.is_some_and(|parts| parts.count() == 2),
            "Cargo.toml: repository must be https://github.com/{PLACEHOLDER}/inkcell with a name for {PLACEHOLDER}"
        );
        Ok(product)
    }

    /// The account that publishes.
    pub(crate) fn owner(&self) -> &str {
        self.repository.rsplit('/').nth(1).unwrap_or(PLACEHOLDER)
    }

    /// Fills in a text that names the repository or its owner.
    pub(crate) fn fill(&self, text: &str) -> String {
        text.replace("REPOSITORY", &self.repository).replace(PLACEHOLDER, self.owner())
    }
}

/// A manifest, the pattern before each copy of the version in it, and the number of copies.
type Manifest = (&'static str, &'static str, usize);

/// The manifests that repeat the version, because other programs read them.
const MANIFESTS: [Manifest; 13] = [
    ("Cargo.toml", r#"path = "crates/\w+", version = ""#, 3),
    (".claude-plugin/marketplace.json", r#""version": ""#, 2),
    ("action.yml", r#"default: ""#, 1),
    ("packaging/claude-code/.claude-plugin/plugin.json", r#""version": ""#, 1),
    ("packaging/claude-code/.claude-plugin/plugin.json", "inkcell@", 1),
    ("packaging/inkcell.rb", r#"version ""#, 1),
    ("packaging/install.sh", "version=", 1),
    ("packaging/mcpb/manifest.json", r#""version": ""#, 1),
    ("packaging/npm/package.json", r#"("version"|"@inkcell/[a-z0-9-]+"): ""#, 5),
    ("packaging/pre-commit/README.md", "rev: v", 1),
    ("packaging/pre-commit/pyproject.toml", "inkcell==", 1),
    ("packaging/pre-commit/pyproject.toml", r#"version = ""#, 1),
    ("server.json", r#""version": ""#, 3),
];

/// What is looked for behind such a pattern.
fn finder(pattern: &str) -> Result<Regex> {
    Ok(Regex::new(&format!(
        "(?m)(?P<before>{pattern})(?P<version>[0-9]+\\.[0-9]+[0-9A-Za-z.+-]*)"
    ))?)
}

/// The manifests below this folder with another version, one sentence each.
pub(crate) fn differences(root: &Path, version: &str) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for (file, pattern, copies) in MANIFESTS {
        let text =
            std::fs::read_to_string(root.join(file)).with_context(|| format!("no {file}"))?;
        let finder = finder(pattern)?;
        let found: Vec<&str> = finder
            .captures_iter(&text)
            .filter_map(|it| Some(it.name("version")?.as_str()))
            .collect();
        if found.len() != copies {
            wrong.push(format!(
                "{file} has {} versions behind {pattern:?}, not {copies}",
                found.len()
            ));
        }
        let others = found.iter().filter(|found| **found != version);
        wrong.extend(others.map(|found| format!("{file} says {found}, and Cargo.toml {version}")));
    }
    Ok(wrong)
}

/// Writes a new version into `Cargo.toml` and all manifests.
pub(crate) fn set_version(workspace: &Workspace, version: &str) -> Result<()> {
    let own = ("Cargo.toml", r#"^version = ""#, 1);
    for (file, pattern, _) in MANIFESTS.into_iter().chain([own]) {
        let path = workspace.path(file);
        let text = std::fs::read_to_string(&path).with_context(|| format!("no {file}"))?;
        let new = finder(pattern)?.replace_all(&text, format!("${{before}}{version}"));
        std::fs::write(&path, &*new).with_context(|| format!("cannot write {file}"))?;
    }
    Ok(())
}

/// The paths of the manifests.
#[cfg(test)]
pub(crate) fn manifests() -> impl Iterator<Item = &'static str> {
    MANIFESTS.into_iter().map(|(file, ..)| file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn every_manifest_has_the_name_and_the_version() {
        let workspace = Workspace::find().unwrap();
        let wrong = differences(workspace.root(), env!("CARGO_PKG_VERSION")).unwrap();
        assert!(wrong.is_empty(), "run cargo xtask release --set VERSION: {wrong:#?}");
        let read = |file: &str| std::fs::read_to_string(workspace.path(file)).unwrap();
        let json = |file: &str| -> Value { serde_json::from_str(&read(file)).unwrap() };
        for (file, pointer) in [
            (".claude-plugin/marketplace.json", "/plugins/0/name"),
            ("packaging/claude-code/.claude-plugin/plugin.json", "/name"),
            ("packaging/mcpb/manifest.json", "/name"),
            ("packaging/npm/package.json", "/name"),
            ("server.json", "/packages/0/identifier"),
            ("server.json", "/packages/1/identifier"),
        ] {
            assert_eq!(json(file).pointer(pointer).unwrap(), "inkcell", "{file}");
        }
        let names: Vec<Value> = ["/name", "/mcpName"]
            .iter()
            .zip(["server.json", "packaging/npm/package.json"])
            .map(|(pointer, file)| json(file).pointer(pointer).unwrap().clone())
            .collect();
        assert_eq!(names, ["io.github.OWNER/inkcell"; 2]);
        assert!(read("pyproject.toml").contains("\nname = \"inkcell\"\ndynamic = [\"version\"]\n"));
    }

    #[test]
    fn another_version_is_found_and_replaced() {
        let finder = finder(r#"("version"|"@inkcell/[a-z0-9-]+"): ""#).unwrap();
        let text =
            "{\"version\": \"0.1.0\", \"@inkcell/linux-x64\": \"0.1.0-rc.1\", \"node\": \"1.0\"}";
        assert_eq!(
            finder.replace_all(text, "${before}0.2.0"),
            "{\"version\": \"0.2.0\", \"@inkcell/linux-x64\": \"0.2.0\", \"node\": \"1.0\"}"
        );
    }

    #[test]
    fn texts_are_filled_in_once_the_owner_is_known() {
        let mut product = Product {
            version: "1.2.3".to_owned(),
            repository: format!("https://github.com/{PLACEHOLDER}/inkcell"),
        };
        assert_eq!(product.fill("io.github.OWNER/inkcell"), "io.github.OWNER/inkcell");
        product.repository = "https://github.com/example/inkcell".to_owned();
        assert_eq!(product.owner(), "example");
        assert_eq!(
            product.fill("REPOSITORY/x io.github.OWNER/inkcell"),
            "https://github.com/example/inkcell/x io.github.example/inkcell"
        );
    }
}
