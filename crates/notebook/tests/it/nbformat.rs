//! A valid file stays valid after an edit, by the reference implementation of nbformat in Python.

use inkcell_notebook::{
    CellKind, CellPlace, CellRef, DropRule, EditOp, IdSource, Matches, MetaChange, NbOutput,
    Notebook, OutputsAfter, SourceShape, TextRules,
};
use inkcell_testkit::nbformat::{Files, notebook, python};
use inkcell_testkit::notebooks;

fn ops() -> Vec<EditOp> {
    let mut ops = vec![
        EditOp::Clear { cell: None },
        EditOp::Insert { at: CellPlace::Start, kind: CellKind::Code, source: "n\n".to_owned() },
        EditOp::Insert { at: CellPlace::End, kind: CellKind::Markdown, source: String::new() },
        EditOp::Insert {
            at: CellPlace::After(CellRef::Index(1)),
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
        ops.push(EditOp::Move { cell: cell(), to: CellPlace::Start });
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
        cell: Some(CellRef::Index(1)),
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

fn parse(text: &str) -> Notebook {
    Notebook::parse(text.as_bytes().to_vec()).unwrap()
}

/// F-063 F-073
#[test]
fn what_was_valid_stays_valid() {
    let Some(python) = python() else { return };
    let mut files = Files::default();
    let ops = ops();
    for minor in 0..=5 {
        let before = parse(&notebooks::pretty(&notebook(minor)));
        files.add(format!("4.{minor} as it was"), &before);
        for (at, first) in ops.iter().enumerate() {
            let mut once = before.clone();
            once.apply(std::slice::from_ref(first), &mut IdSource::seeded(1)).unwrap();
            files.add(format!("4.{minor} {first:?}"), &once);
            // All pairs would take minutes; each operation meets each other one in some version.
            for second in ops.iter().skip((at + minor as usize) % 6).step_by(6) {
                let mut twice = before.clone();
                let both = [first.clone(), second.clone()];
                if twice.apply(&both, &mut IdSource::seeded(1)).is_ok() {
                    files.add(format!("4.{minor} {both:?}"), &twice);
                }
            }
        }
    }
    assert!(files.len() > 2000, "only {} files were made", files.len());
    files.all_valid(&python);
}

/// B:N-40 B:V-10
#[test]
fn files_made_here_are_valid() {
    let Some(python) = python() else { return };
    let mut files = Files::default();
    files.add("empty".to_owned(), &Notebook::empty());
    let rules =
        TextRules { drop: DropRule::Any, outputs: OutputsAfter::Keep, shape: SourceShape::Keep };
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
    }
    files.all_valid(&python);
}
