//! `cargo xtask laws DIR`: checks the document laws on the files of any folder.
//!
//! Owns the walk and the counts; the test kit owns the laws. JSON files that are not notebooks are
//! also put into the metadata of one, so that the scanner meets every JSON text both ways. The set
//! of accepted files is compared with Python's own `json`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use inkcell_notebook::Notebook;
use inkcell_testkit::laws::{self, Verdict};

/// Checks every `.ipynb` and `.json` file below `dir`.
pub fn run(dir: &Path) -> Result<()> {
    let mut files = Vec::new();
    collect(dir, &mut files)?;
    files.sort();
    if files.is_empty() {
        bail!("no .ipynb or .json file below {}", dir.display());
    }
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut broken = Vec::new();
    for path in &files {
        let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
        let mut check = |bytes: &[u8], what: &str| match laws::check(bytes) {
            Ok(Verdict::Editable) => *counts.entry("editable").or_default() += 1,
            Ok(Verdict::ReadOnly) => *counts.entry("read-only").or_default() += 1,
            Ok(Verdict::Refused) => *counts.entry("refused").or_default() += 1,
            Err(law) => broken.push(format!("{}{what}: {law}", path.display())),
        };
        check(&bytes, "");
        if path.extension().is_some_and(|extension| extension == "json") {
            check(&embedded(&bytes), " (in metadata)");
        }
    }
    broken.extend(disagreements(&files)?);
    for (verdict, count) in &counts {
        println!("{verdict}: {count}");
    }
    for line in &broken {
        println!("BROKEN {line}");
    }
    println!("laws: {} files, {} broken", files.len(), broken.len());
    if broken.is_empty() { Ok(()) } else { bail!("the document laws do not hold") }
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|end| end == "ipynb" || end == "json") {
            files.push(path);
        }
    }
    Ok(())
}

/// Makes a notebook that has the given text as a metadata value.
fn embedded(text: &[u8]) -> Vec<u8> {
    let head: &[u8] = b"{\"cells\": [{\"cell_type\": \"raw\", \"metadata\": {}, \"source\": \"x\"}], \"metadata\": {\"x\": ";
    [head, text, b"}, \"nbformat\": 4, \"nbformat_minor\": 4}"].concat()
}

/// Reads file names from standard input, one a line, and prints for each if Python reads the file
/// as JSON.
const JUDGE: &str = r#"
import json, sys
for name in sys.stdin.read().split("\n")[:-1]:
    data = open(name, "rb").read()
    try:
        json.loads(data.decode("utf-8-sig"))
        print("accepted")
    except (ValueError, RecursionError):
        print("refused")
"#;

/// Lists files that Python accepts and the scanner refuses, or the reverse.
fn disagreements(files: &[PathBuf]) -> Result<Vec<String>> {
    let judge = Command::new("python3")
        .args(["-I", "-c", JUDGE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut judge) = judge else {
        println!("!! python3 is not here: acceptance was NOT held against Python's json");
        return Ok(Vec::new());
    };
    let names: String = files.iter().map(|path| format!("{}\n", path.display())).collect();
    judge.stdin.take().context("no stdin")?.write_all(names.as_bytes())?;
    let judged = judge.wait_with_output()?;
    let said = String::from_utf8(judged.stdout)?;
    let said: Vec<&str> = said.lines().collect();
    if !judged.status.success() || said.len() != files.len() {
        let (answers, asked) = (said.len(), files.len());
        bail!("the judge ended with {} after {answers} answers of {asked}", judged.status);
    }
    let mut found = Vec::new();
    for (path, said) in files.iter().zip(said) {
        let bytes = std::fs::read(path)?;
        let ours = match Notebook::parse(bytes) {
            Err(inkcell_notebook::NotebookError::Syntax { .. }) => "refused",
            _ => "accepted",
        };
        if ours != said {
            found.push(format!("{}: Python says {said}, inkcell says {ours}", path.display()));
        }
    }
    Ok(found)
}
