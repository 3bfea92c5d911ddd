//! The Homebrew formula, with the checksums of the archives that are there.

use std::fs;

use anyhow::{Context as _, Result, ensure};

use super::workshop::Workshop;

const TRIPLES: [&str; 4] = [
    "aarch64-apple-darwin",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "x86_64-unknown-linux-gnu",
];

/// Fills in the checksums. A formula without all of them is left among the scratch files.
pub(super) fn make(workshop: &mut Workshop<'_>) -> Result<Vec<String>> {
    let mut text = workshop.template("packaging/inkcell.rb")?;
    let mut missing = Vec::new();
    for triple in TRIPLES {
        let name = format!("inkcell-{}-{triple}.tar.xz.sha256", workshop.product.version);
        let mark = format!("SHA256-{triple}");
        ensure!(text.matches(&mark).count() == 1, "the formula has no {mark}");
        match fs::read_to_string(workshop.out(&name)) {
            Ok(line) => {
                let sum = line.split(' ').next().context("a checksum")?;
                ensure!(sum.len() == 64, "{name} holds no checksum");
                text = text.replace(&mark, sum);
            }
            Err(_) => missing.push(triple),
        }
    }
    let path = workshop.scratch("formula")?.join("inkcell.rb");
    fs::write(&path, text)?;
    let mut untried = vec!["brew is not used: the formula is NOT installed".to_owned()];
    if missing.is_empty() {
        workshop.finish(&path)?;
    } else {
        let names = missing.join(", ");
        untried.push(format!("the formula is NOT finished: there is no archive for {names}"));
    }
    Ok(untried)
}
