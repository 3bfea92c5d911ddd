//! What was valid nbformat stays valid, as the reference implementation in Python sees it.

use std::io::Write as _;
use std::process::{Command, Stdio};

use inkcell_notebook::{
    CellKind, CellRef, Drop, EditOp, IdEdit, IdSource, IndexEdit, Matches, MetaChange, NbOutput,
    Notebook, OutputsAfter, Place, SourceShape, TextRules,
};
use inkcell_testkit::notebooks;
use serde_json::{Value, json};

/// Reads a list of texts, answers with one line each. A warning (such as the one about missing ids)
/// is a failure.
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

/// The interpreter to ask; none when it has no nbformat and that is allowed.
fn python() -> Option<String> {
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

/// All kinds of cells and outputs, attachments and tags.
fn notebook(minor: u64) -> Value {
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

fn ops() -> Vec<EditOp> {
    let mut ops = vec![
        EditOp::Clear { cell: None },
        EditOp::Insert { at: Place::Start, kind: CellKind::Code, source: "n\n".to_owned() },
        EditOp::Insert { at: Place::End, kind: CellKind::Markdown, source: String::new() },
        EditOp::Insert {
            at: Place::After(CellRef::Index(1)),
            kind: CellKind::Raw,
            source: "é".to_owned(),
        },
        meta(None, "title", "\"T\""),
        meta(None, "authors", "[{\"name\": \"N\"}]"),
        meta(
            None,
            "language_info",
            "{\"name\": \"r\", \"codemirror_mode\": {}, \"mimetype\": \"m\"}",
        ),
        meta(None, "kernelspec", "{\"name\": \"ir\", \"display_name\": \"R\"}"),
    ];
    for index in 0..5 {
        let cell = || CellRef::Index(index);
        ops.push(EditOp::Delete { cell: cell() });
        ops.push(EditOp::Move { cell: cell(), to: Place::Start });
        ops.push(EditOp::Clear { cell: Some(cell()) });
        ops.push(meta(Some(cell()), "tags", "[\"a\", \"b\"]"));
        let (add, remove) = (vec!["a".to_owned(), "é".to_owned()], vec!["intro".to_owned()]);
        ops.push(EditOp::SetTags { cell: cell(), add, remove });
        ops.push(meta(Some(cell()), "jupyter", "{\"source_hidden\": true}"));
        ops.push(meta(Some(cell()), "name", "\"n\""));
        ops.push(meta(Some(cell()), "execution", "{\"iopub.status.busy\": \"t\"}"));
        for kind in CellKind::ALL {
            ops.push(EditOp::SetKind { cell: cell(), kind });
            ops.push(EditOp::Replace {
                cell: cell(),
                source: "new\nsource".to_owned(),
                kind: Some(kind),
                outputs: OutputsAfter::ClearIfChanged,
                shape: SourceShape::Lines,
            });
        }
    }
    ops.push(EditOp::Sub {
        cell: CellRef::Index(1),
        old: "x".to_owned(),
        new: "y".to_owned(),
        matches: Matches::All,
        outputs: OutputsAfter::Keep,
    });
    let output = r#"{"output_type": "stream", "name": "stderr", "text": "e"}"#;
    let outputs = vec![NbOutput::from_json(output).unwrap()];
    ops.push(EditOp::SetOutputs { cell: CellRef::Index(4), count: Some(3), outputs });
    ops
}

fn meta(cell: Option<CellRef>, key: &str, value: &str) -> EditOp {
    let set = vec![(key.to_owned(), value.to_owned())];
    EditOp::SetMeta { cell, change: MetaChange { set, unset: vec![] } }
}

/// Files with what was done to make them.
struct Files(Vec<(String, String)>);

impl Files {
    fn add(&mut self, story: String, notebook: &Notebook) {
        self.0.push((story, String::from_utf8(notebook.to_bytes()).unwrap()));
    }

    fn all_valid(&self, python: &str) {
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

fn parse(text: &str) -> Notebook {
    Notebook::parse(text.as_bytes().to_vec()).unwrap()
}

/// F-063 F-073
#[test]
fn what_was_valid_stays_valid() {
    let Some(python) = python() else { return };
    let mut files = Files(Vec::new());
    let ops = ops();
    for minor in 0..=5 {
        let before = parse(&notebooks::pretty(&notebook(minor)));
        files.add(format!("4.{minor} as it was"), &before);
        for (at, first) in ops.iter().enumerate() {
            let mut once = before.clone();
            once.apply(std::slice::from_ref(first), &mut IdSource::seeded(1)).unwrap();
            files.add(format!("4.{minor} {first:?}"), &once);
            // Every pair would take minutes; each operation meets each other one in some version.
            for second in ops.iter().skip((at + minor as usize) % 6).step_by(6) {
                let mut twice = before.clone();
                let both = [first.clone(), second.clone()];
                if twice.apply(&both, &mut IdSource::seeded(1)).is_ok() {
                    files.add(format!("4.{minor} {both:?}"), &twice);
                }
            }
        }
    }
    assert!(files.0.len() > 2000, "only {} files were made", files.0.len());
    files.all_valid(&python);
}

/// B:N-40 B:V-10
#[test]
fn files_made_here_are_valid() {
    let Some(python) = python() else { return };
    let mut files = Files(Vec::new());
    files.add("empty".to_owned(), &Notebook::empty());
    let rules =
        TextRules { drop: Drop::Any, outputs: OutputsAfter::Keep, shape: SourceShape::Keep };
    let text = "# %% [code] cell:0\nx\n# %% [markdown]\n# %% [raw] id:abc\n\n# %% [code]\n";
    let mut made = Notebook::empty();
    made.apply_text(text, rules, &mut IdSource::seeded(1)).unwrap();
    assert_eq!(made.len(), 4);
    files.add("by text".to_owned(), &made);
    for minor in 0..=5 {
        let before = parse(&notebooks::pretty(&notebook(minor)));
        for text in [
            "# %% [raw] cell:1\n# %% [code] cell:0\n# %% [code]\nnew\n# %% [markdown] cell:2\nx",
            "# %% [markdown] cell:4\n# %% [markdown] cell:3\n# %% [raw] cell:1\nx",
        ] {
            let mut copy = before.clone();
            copy.apply_text(text, rules, &mut IdSource::seeded(1)).unwrap();
            files.add(format!("4.{minor} {text}"), &copy);
        }
        for (action, kind) in [("edit", None), ("insert", Some("raw")), ("delete", None)] {
            for index in 0..5 {
                let edit = IndexEdit {
                    action: action.to_owned(),
                    cell_index: f64::from(index),
                    content: Some("new".to_owned()),
                    cell_type: kind.map(str::to_owned),
                };
                let mut copy = before.clone();
                edit.apply(&mut copy, &mut IdSource::seeded(1)).unwrap();
                files.add(format!("4.{minor} {edit:?}"), &copy);
            }
        }
        for mode in ["replace", "insert", "delete"] {
            for (index, kind) in (0..15).map(|at| (at % 5, CellKind::ALL[at / 5])) {
                let edit = IdEdit {
                    cell_id: Some(index.to_string()),
                    cell_type: Some(kind.name().to_owned()),
                    new_source: Some("new".to_owned()),
                    edit_mode: Some(mode.to_owned()),
                    outputs: None,
                };
                let mut copy = before.clone();
                edit.apply(&mut copy, &mut IdSource::seeded(1)).unwrap();
                files.add(format!("4.{minor} {edit:?}"), &copy);
            }
        }
    }
    files.all_valid(&python);
}
