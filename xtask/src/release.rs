//! `cargo xtask release`: the checklist before a tag. It stops at the first thing that is missing and says what to do.
//!
//! Owns the list. Needs no credentials and publishes nothing: the workflow does that when it sees the tag.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use regex::Regex;

use crate::child;
use crate::package::OUT;
use crate::package::product::{self, PLACEHOLDER, Product};
use crate::workspace::Workspace;

/// Holds the commit on which the test command passed, if nothing was changed there.
const PASSED: &str = "target/test-passed";

/// The sizes of the packages of the last release: bytes and name, one a line.
const SIZES: &str = "packaging/sizes.txt";

/// How much a package may grow or shrink from one release to the next, in percent.
const SIZE_PERCENT: u64 = 10;

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Action {
    /// Go through the checklist, and stop at the first thing that is missing.
    #[arg(long)]
    check: bool,
    /// Write a version into every manifest.
    #[arg(long, value_name = "VERSION")]
    set: Option<String>,
    /// Record the sizes of the packages, for the next release to compare with.
    #[arg(long)]
    record_sizes: bool,
}

pub(crate) fn run(workspace: &Workspace, action: &Action) -> Result<()> {
    if let Some(version) = &action.set {
        let form = Regex::new(r"^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$")?;
        ensure!(form.is_match(version), "{version:?} is not a version, such as 1.2.3");
        return product::set_version(workspace, version);
    }
    let product = Product::read(workspace)?;
    let candidate = Candidate { root: workspace.root().to_owned(), head: head(workspace), product };
    if action.record_sizes {
        let lines: Vec<String> = sizes(&candidate)?
            .into_iter()
            .map(|(name, bytes)| format!("{bytes} {name}\n"))
            .collect();
        fs::write(workspace.path(SIZES), lines.concat())?;
        println!("{SIZES} has the sizes of {} packages", lines.len());
        return Ok(());
    }
    check(&candidate)?;
    let version = &candidate.product.version;
    println!(
        "\nEverything up to the tag is ready. The rest needs credentials:\n\
         \n    git tag v{version} && git push origin v{version}\n\n\
         The workflow `release` then publishes. docs/contributing/releasing.md says what to do after it."
    );
    Ok(())
}

/// Notes that the test command passed on this commit. A changed checkout is not a commit.
pub(crate) fn note_passed(workspace: &Workspace) -> Result<()> {
    if let Some(head) = head(workspace) {
        fs::write(workspace.path(PASSED), head)?;
    }
    Ok(())
}

/// The commit that is checked out, if no file differs from it.
fn head(workspace: &Workspace) -> Option<String> {
    let git = |args: &[&str]| {
        child::capture(Command::new("git").args(args).current_dir(workspace.root())).ok()
    };
    let is_clean = git(&["status", "--porcelain"])?.trim().is_empty();
    Some(git(&["rev-parse", "HEAD"])?.trim().to_owned()).filter(|_| is_clean)
}

/// The project as it would be released.
struct Candidate {
    root: PathBuf,
    product: Product,
    /// The commit; none if files were changed since.
    head: Option<String>,
}

impl Candidate {
    fn read(&self, file: &str) -> Result<String> {
        fs::read_to_string(self.root.join(file)).with_context(|| format!("{file} is missing"))
    }
}

type Check = fn(&Candidate) -> Result<()>;

const CHECKS: [(&str, Check); 8] = [
    ("one version in every manifest", versions),
    ("the place where it is published", place),
    ("the changelog", changelog),
    ("the test command on this commit", tested),
    ("packages for every platform", packages),
    ("the licences of all crates", licences),
    ("benchmarks with their date", benchmarks),
    ("sizes beside those of the last release", compare_sizes),
];

fn check(candidate: &Candidate) -> Result<()> {
    for (name, check) in CHECKS {
        check(candidate).with_context(|| format!("not ready: {name}"))?;
        println!("ok  {name}");
    }
    Ok(())
}

fn versions(candidate: &Candidate) -> Result<()> {
    let version = &candidate.product.version;
    let wrong = product::differences(&candidate.root, version)?;
    ensure!(wrong.is_empty(), "{}. Run cargo xtask release --set {version}", wrong.join("; "));
    Ok(())
}

fn place(candidate: &Candidate) -> Result<()> {
    let owner = candidate.product.owner();
    if owner == PLACEHOLDER {
        bail!("replace {PLACEHOLDER} in `repository` of Cargo.toml by the account that publishes");
    }
    // PyPI shows the README. The registry looks there for the name of the server.
    let line = format!("<!-- mcp-name: io.github.{owner}/inkcell -->");
    ensure!(candidate.read("README.md")?.contains(&line), "add the line {line} to README.md");
    Ok(())
}

fn changelog(candidate: &Candidate) -> Result<()> {
    let version = &candidate.product.version;
    let text = candidate.read("CHANGELOG.md")?;
    let head = Regex::new(&format!(
        r"(?m)^## {} \([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}\)$",
        regex::escape(version)
    ))?;
    let found = head.find(&text);
    let found = found.with_context(|| {
        format!("CHANGELOG.md has no section for {version}: write `## {version} (YEAR-MONTH-DAY)`")
    })?;
    let section = text[found.end()..].split("\n## ").next().unwrap_or_default();
    ensure!(!section.trim().is_empty(), "the section for {version} in CHANGELOG.md is empty");
    Ok(())
}

fn tested(candidate: &Candidate) -> Result<()> {
    let head =
        candidate.head.as_ref().context("files differ from the commit: commit them first")?;
    let passed = fs::read_to_string(candidate.root.join(PASSED)).unwrap_or_default();
    ensure!(passed.trim() == head, "cargo xtask test has not passed on {head}: run it");
    Ok(())
}

/// The packages of a release: a pattern for the name of each.
fn expected(version: &str) -> Vec<String> {
    let version = regex::escape(version);
    let mut names: Vec<String> =
        ["manylinux2014_x86_64", "manylinux2014_aarch64", "macosx_.*_x86_64", "macosx_.*_arm64"]
            .iter()
            .map(|tag| format!(r"inkcell-{version}-py3-none-.*{tag}.*\.whl"))
            .collect();
    for triple in [
        "aarch64-apple-darwin",
        "aarch64-unknown-linux-gnu",
        "x86_64-apple-darwin",
        "x86_64-unknown-linux-gnu",
    ] {
        for end in ["tar\\.xz", "tar\\.xz\\.sha256", "mcpb"] {
            names.push(format!(r"inkcell-{version}-{triple}\.{end}"));
        }
    }
    for platform in ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64"] {
        names.push(format!(r"inkcell-{platform}-{version}\.tgz"));
    }
    names.push(format!(r"inkcell-{version}\.tgz"));
    names.push(format!(r"inkcell-{version}\.tar\.gz"));
    names.extend(["install\\.sh", "inkcell\\.rb", "server\\.json"].map(str::to_owned));
    names
}

/// A package is in the folder only after it was started.
fn packages(candidate: &Candidate) -> Result<()> {
    let names: Vec<String> = sizes(candidate)?.into_iter().map(|(name, _)| name).collect();
    for pattern in expected("VERSION") {
        let whole = Regex::new(&format!("^{pattern}$"))?;
        ensure!(
            names.iter().any(|name| whole.is_match(name)),
            "{OUT} has no {}: run cargo xtask package there, or take it from the workflow `release`",
            pattern
                .replace("VERSION", &candidate.product.version)
                .replace('\\', "")
                .replace(".*", "*")
        );
    }
    Ok(())
}

fn licences(candidate: &Candidate) -> Result<()> {
    let list = candidate.read(&format!("{OUT}/licences.txt"))?;
    ensure!(list.lines().count() > 1, "{OUT}/licences.txt lists no crate");
    Ok(())
}

fn benchmarks(candidate: &Candidate) -> Result<()> {
    let file = "docs/benchmarks.md";
    let dated = Regex::new(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}")?.is_match(&candidate.read(file)?);
    ensure!(dated, "{file} does not say when it was measured: run the benchmarks again");
    Ok(())
}

/// The packages with their sizes, sorted. `VERSION` stands for the version in their names.
fn sizes(candidate: &Candidate) -> Result<Vec<(String, u64)>> {
    let folder = candidate.root.join(OUT);
    let entries = fs::read_dir(&folder)
        .with_context(|| format!("{OUT} is missing: run cargo xtask package"))?;
    let mut sizes = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name =
            entry.file_name().to_string_lossy().replace(&candidate.product.version, "VERSION");
        sizes.push((name, entry.metadata()?.len()));
    }
    sizes.sort_unstable();
    Ok(sizes)
}

fn compare_sizes(candidate: &Candidate) -> Result<()> {
    let Ok(last) = fs::read_to_string(candidate.root.join(SIZES)) else {
        println!("    {SIZES} is not here: this is the first release");
        return Ok(());
    };
    let now = sizes(candidate)?;
    for line in last.lines() {
        let (bytes, name) = line.split_once(' ').with_context(|| format!("{SIZES}: {line:?}"))?;
        let before: u64 = bytes.parse().with_context(|| format!("{SIZES}: {line:?}"))?;
        let Some((_, after)) = now.iter().find(|(other, _)| other == name) else { continue };
        // Small files differ by a word.
        let allowed = before * SIZE_PERCENT / 100 + 1000;
        ensure!(
            after.abs_diff(before) <= allowed,
            "{name} has {after} bytes and had {before}: find out why, then delete its line in {SIZES}"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn put(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A project in which nothing is missing.
    fn ready(root: &Path) -> Candidate {
        let workspace = Workspace::find().unwrap();
        for file in product::manifests() {
            put(root, file, &fs::read_to_string(workspace.path(file)).unwrap());
        }
        let version = env!("CARGO_PKG_VERSION").to_owned();
        put(root, "README.md", "<!-- mcp-name: io.github.example/inkcell -->\n");
        put(
            root,
            "CHANGELOG.md",
            &format!("# Changelog\n\n## {version} (2026-11-19)\n\n- First.\n"),
        );
        put(root, PASSED, "abc\n");
        put(root, "docs/benchmarks.md", "Measured on 2026-11-19 on two cores.\n");
        for pattern in expected(&version) {
            let name = pattern.replace('\\', "").replace(".*", "1");
            put(root, &format!("{OUT}/{name}"), "package");
        }
        put(root, &format!("{OUT}/licences.txt"), "a v1.0.0: MIT\nb v1.0.0: MIT\n");
        let repository = "https://github.com/example/inkcell".to_owned();
        let product = Product { version, repository };
        Candidate { root: root.to_owned(), product, head: Some("abc".to_owned()) }
    }

    #[test]
    fn nothing_is_missing_from_a_project_that_is_ready() {
        let dir = tempfile::tempdir().unwrap();
        check(&ready(dir.path())).unwrap();
    }

    #[test]
    fn the_first_thing_that_is_missing_is_named() {
        type Break = fn(&mut Candidate);
        let table: [(Break, &str); 10] = [
            (|it| it.product.version = "9.9.9".to_owned(), "release --set 9.9.9"),
            (
                |it| it.product.repository = "https://github.com/OWNER/inkcell".to_owned(),
                "replace OWNER in `repository`",
            ),
            (|it| put(&it.root, "README.md", ""), "add the line <!-- mcp-name: io.github.example/"),
            (|it| put(&it.root, "CHANGELOG.md", "## Unreleased\n"), "has no section for"),
            (|it| it.head = None, "commit them first"),
            (|it| put(&it.root, PASSED, "another"), "has not passed on abc"),
            (
                |it| {
                    let name = format!("inkcell-{}-aarch64-apple-darwin.mcpb", it.product.version);
                    fs::remove_file(it.root.join(OUT).join(name)).unwrap();
                },
                "has no inkcell-0.1.0-aarch64-apple-darwin.mcpb",
            ),
            (|it| put(&it.root, &format!("{OUT}/licences.txt"), ""), "lists no crate"),
            (|it| put(&it.root, "docs/benchmarks.md", "Fast.\n"), "does not say when"),
            (|it| put(&it.root, SIZES, "100000 inkcell-VERSION.tar.gz\n"), "and had 100000"),
        ];
        for (break_it, wanted) in table {
            let dir = tempfile::tempdir().unwrap();
            let mut candidate = ready(dir.path());
            break_it(&mut candidate);
            let error = format!("{:#}", check(&candidate).unwrap_err());
            let wanted = wanted.replace("0.1.0", &candidate.product.version);
            assert!(error.starts_with("not ready: ") && error.contains(&wanted), "{error}");
        }
    }
}
