//! Validates files with the reference implementation of nbformat in Python.
//!
//! Owns the call of Python. Tests decide which files to validate.

use std::io::Write as _;
use std::process::{Command, Stdio};

use inkcell_notebook::Notebook;
use serde_json::{Value, json};

/// Reads a list of texts and answers each with one line. A warning, such as the one about missing
/// ids, counts as a failure.
const JUDGE: &str = r"
import json, sys, warnings
import nbformat
warnings.simplefilter('error')
for text in json.load(sys.stdin):
    try:
        nbformat.validate(json.loads(text))
        print('valid')
    except Exception as problem:
        print(repr(problem).replace('\n', ' ')[:300])
";

/// Finds the interpreter to ask; none if it has no nbformat and the environment allows that.
pub fn python() -> Option<String> {
    let python = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let probe =
        Command::new(&python).args(["-c", "import nbformat"]).stderr(Stdio::null()).status();
    if probe.is_ok_and(|status| status.success()) {
        return Some(python);
    }
    assert!(std::env::var_os("INKCELL_TEST_REQUIRE").is_none(), "{python} has no nbformat");
    eprintln!("SKIPPED: {python} has no nbformat, so no file was validated with it");
    None
}

/// Makes a valid notebook of nbformat 4 with all kinds of cells and outputs, attachments and tags.
pub fn notebook(minor: u64) -> Value {
    let mut cells = json!([
        {"cell_type": "markdown", "metadata": {"tags": ["intro"]}, "source": ["![x](attachment:x.png)\n", "text"],
         "attachments": {"x.png": {"image/png": "AAAA"}}},
        {"cell_type": "code", "execution_count": 2, "metadata": {"collapsed": false, "scrolled": "auto", "name": "one"},
         "outputs": [
             {"output_type": "stream", "name": "stdout", "text": ["a\n", "b"]},
             {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "x"}, "metadata": {}},
             {"output_type": "execute_result", "execution_count": 2, "data": {"application/json": {"a": [1]}}, "metadata": {}},
             {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["t"]}],
         "source": "x = 1\nx"},
        {"cell_type": "raw", "metadata": {"format": "text/x-rst"}, "source": []},
        {"cell_type": "raw", "metadata": {}, "source": "x", "attachments": {}},
        {"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": []},
    ]);
    if minor >= 5 {
        for (at, cell) in cells.as_array_mut().unwrap().iter_mut().enumerate() {
            cell["id"] = json!(format!("cell-{at}"));
        }
    }
    let metadata = json!({"kernelspec": {"name": "python3", "display_name": "Python 3"}, "language_info": {"name": "python"}});
    json!({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": minor})
}

/// Files, each with the steps that made it.
#[derive(Default)]
pub struct Files(Vec<(String, String)>);

impl Files {
    /// Adds a file with the steps that made it.
    pub fn add(&mut self, story: String, notebook: &Notebook) {
        self.0.push((story, String::from_utf8(notebook.to_bytes()).unwrap()));
    }

    /// The number of files.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if no file was added.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Fails on the first file that Python's nbformat refuses.
    pub fn all_valid(&self, python: &str) {
        let texts: Vec<&String> = self.0.iter().map(|(_, text)| text).collect();
        let mut child = Command::new(python)
            .args(["-c", JUDGE])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = serde_json::to_vec(&texts).unwrap();
        child.stdin.take().unwrap().write_all(&input).unwrap();
        let answer = child.wait_with_output().unwrap();
        assert!(answer.status.success());
        let answer = String::from_utf8(answer.stdout).unwrap();
        let verdicts: Vec<&str> = answer.lines().collect();
        assert_eq!(verdicts.len(), texts.len());
        for ((story, text), verdict) in self.0.iter().zip(verdicts) {
            assert_eq!(verdict, "valid", "{story}\n{text}");
        }
    }
}
