//! Checks the document laws on one file: reading and writing back is the identity, an operation on
//! one cell leaves every other byte alone, and a batch changes all or nothing.
//!
//! Owns no files: property tests, the corpus of odd files and `cargo xtask laws` all pass bytes to
//! it.

use inkcell_notebook::{
    CellKind, CellPlace, CellRef, DropRule, EditError, EditOp, IdSource, InjectionWay, MarkerIds,
    MetaChange, Notebook, NotebookError, OpError, OutputsAfter, ParameterLanguage, ParameterValue,
    Parameters, PythonTokenKind, SourceShape, TextError, TextRules, python_tokens,
};

/// The result of the laws for one file.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The file is a notebook that can be edited, and all laws hold.
    Editable,
    /// The file is a notebook that can only be read, and the laws of reading hold.
    ReadOnly,
    /// The file is not a notebook.
    Refused,
}

/// Rules under which a text that was not changed must change nothing.
pub const KEEP_ALL: TextRules =
    TextRules { drop: DropRule::Exactly(0), outputs: OutputsAfter::Keep, shape: SourceShape::Keep };

/// Checks every law on a file. `Err` names the broken law.
pub fn check(bytes: &[u8]) -> Result<Verdict, String> {
    let notebook = match Notebook::parse(bytes.to_vec()) {
        Ok(notebook) => notebook,
        Err(NotebookError::Syntax { .. } | NotebookError::NotAnObject | NotebookError::NoCells) => {
            return Ok(Verdict::Refused);
        }
        Err(error) => return Err(format!("unexpected error: {error}")),
    };
    expect(notebook.to_bytes() == bytes, "parse then to_bytes is the identity")?;
    if notebook.read_only().is_some() {
        let mut copy = notebook.clone();
        let op = EditOp::Insert { at: CellPlace::End, kind: CellKind::Code, source: String::new() };
        expect(copy.apply(&[op], &mut ids()).is_err(), "a read-only notebook refuses edits")?;
        expect(copy.to_bytes() == bytes, "a refused edit changes nothing")?;
        let _ = notebook.to_text(MarkerIds::Auto);
        return Ok(Verdict::ReadOnly);
    }
    text_laws(&notebook, bytes)?;
    for index in sample(notebook.len()) {
        cell_laws(&notebook, bytes, index).map_err(|law| format!("cell {index}: {law}"))?;
    }
    insert_law(&notebook, bytes)?;
    inject_law(&notebook, bytes)?;
    rename_law(&notebook)?;
    batch_law(&notebook, bytes)?;
    reorder_law(&notebook)?;
    atomic_law(&notebook, bytes)?;
    cut_law(bytes)?;
    Ok(Verdict::Editable)
}

fn ids() -> IdSource {
    IdSource::seeded(7)
}

fn expect(holds: bool, law: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(law.to_owned()) }
}

/// Picks the first cell, the last and some between: enough for every kind of neighbour, without
/// quadratic time.
fn sample(count: usize) -> Vec<usize> {
    let mut picked: Vec<usize> =
        [0, 1, count / 3, count / 2, count.saturating_sub(2), count.saturating_sub(1)]
            .into_iter()
            .filter(|&index| index < count)
            .collect();
    picked.sort_unstable();
    picked.dedup();
    picked
}

fn text_laws(notebook: &Notebook, bytes: &[u8]) -> Result<(), String> {
    for markers in [MarkerIds::Auto, MarkerIds::Off] {
        let Some(text) = text_form(notebook.to_text(markers))? else { continue };
        for text in [text.clone(), text.replace('\n', "\r\n")] {
            let mut copy = notebook.clone();
            let done = copy.apply_text(&text, KEEP_ALL, &mut ids());
            expect(done.is_ok(), "its own text can be written back")?;
            expect(copy.to_bytes() == bytes, "its own text changes nothing")?;
        }
    }
    Ok(())
}

/// Returns the text form; none for a notebook with an entry of an unknown kind, which has no text
/// form.
fn text_form(text: Result<String, TextError>) -> Result<Option<String>, String> {
    match text {
        Ok(text) => Ok(Some(text)),
        Err(TextError::BadCell { .. }) => Ok(None),
        Err(error) => Err(format!("its text cannot be made: {error}")),
    }
}

/// The raw bytes of all cells.
fn bodies(notebook: &Notebook) -> Vec<Vec<u8>> {
    notebook.cells().map(|cell| cell.json().to_vec()).collect()
}

/// The bytes before the first cell and after the last.
fn frame(notebook: &Notebook, bytes: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let (first, last) = (notebook.cell(0)?, notebook.cell(notebook.len() - 1)?);
    let offset = |slice: &[u8]| slice.as_ptr().addr() - notebook.original_bytes().as_ptr().addr();
    let end = offset(last.json()) + last.json().len();
    Some((bytes[..offset(first.json())].to_vec(), bytes[end..].to_vec()))
}

fn reread(bytes: &[u8]) -> Result<Notebook, String> {
    Notebook::parse(bytes.to_vec()).map_err(|error| format!("the result is a notebook ({error})"))
}

fn cell_laws(notebook: &Notebook, bytes: &[u8], index: usize) -> Result<(), String> {
    let at = || CellRef::Index(index as i64);
    let old = bodies(notebook);
    let (head, tail) = frame(notebook, bytes).ok_or("a notebook with a cell has a frame")?;

    // A change inside one cell: everything before and after its object stays.
    let source =
        notebook.cell(index).map(|cell| cell.source().text.into_owned()).unwrap_or_default();
    let changed = format!("{source}\n# é \u{1F600} \"quoted\" \\ \t end");
    let set = |source: String, outputs| EditOp::Replace {
        cell: at(),
        source,
        kind: None,
        outputs,
        shape: SourceShape::Keep,
    };
    let meta = MetaChange {
        set: vec![("tags".to_owned(), "[\"a\", \"b\"]".to_owned())],
        unset: vec!["collapsed".to_owned()],
    };
    let inside = [
        set(changed.clone(), OutputsAfter::ClearIfChanged),
        set(changed, OutputsAfter::Keep),
        set(String::new(), OutputsAfter::ClearIfChanged),
        EditOp::SetKind { cell: at(), kind: CellKind::Markdown },
        EditOp::SetKind { cell: at(), kind: CellKind::Code },
        EditOp::Clear { cell: Some(at()) },
        EditOp::SetMeta { cell: Some(at()), change: meta },
        EditOp::SetTags {
            cell: at(), add: vec!["é-tag".to_owned()], remove: vec!["a".to_owned()]
        },
    ];
    for op in inside {
        let mut copy = notebook.clone();
        let is_tags = matches!(op, EditOp::SetTags { .. });
        match copy.apply(std::slice::from_ref(&op), &mut ids()) {
            Ok(_) => {}
            // The list of tags was invalid before, so adding a tag is refused.
            Err(EditError::Op { problem: OpError::BadMetadata { .. }, .. }) if is_tags => {
                expect(copy.to_bytes() == bytes, "a refused operation changes nothing")?;
                continue;
            }
            Err(EditError::Op {
                problem: OpError::NotACell { .. } | OpError::DuplicateKey { .. },
                ..
            }) => {
                expect(copy.to_bytes() == bytes, "a refused operation changes nothing")?;
                continue;
            }
            Err(error) => return Err(format!("{op:?} is refused: {error}")),
        }
        let new = copy.to_bytes();
        let offset = notebook.cell(index).map_or(0, |cell| {
            cell.json().as_ptr().addr() - notebook.original_bytes().as_ptr().addr()
        });
        let rest = &bytes[offset + old[index].len()..];
        expect(new.starts_with(&bytes[..offset]), "bytes before the cell stay")?;
        expect(new.ends_with(rest), "bytes after the cell stay")?;
        let again = reread(&new)?;
        let now = bodies(&again);
        expect(now.len() == old.len(), "the number of cells stays")?;
        for other in (0..old.len()).filter(|&other| other != index) {
            expect(now[other] == old[other], "other cells keep their bytes")?;
        }
        if let EditOp::Replace { source, .. } = &op {
            let cell = again.cell(index).ok_or("the cell is there")?;
            expect(cell.source().text == *source, "the source is what was asked for")?;
        }
        if let EditOp::SetKind { kind: asked, .. } = &op {
            let kind = again.cell(index).and_then(|cell| cell.kind());
            expect(kind == Some(*asked), "the kind is what was asked for")?;
        }
        if let EditOp::SetTags { add, .. } = &op {
            let tags = again.cell(index).map(|cell| cell.tags()).unwrap_or_default();
            expect(tags.last() == add.last(), "the tag is there")?;
        }
    }

    // Setting the same source changes no byte.
    let mut copy = notebook.clone();
    if copy.apply(&[set(source, OutputsAfter::ClearIfChanged)], &mut ids()).is_ok() {
        expect(copy.to_bytes() == bytes, "the same source changes nothing")?;
    }

    // Deleting a cell: the other cells stay, and so do the bytes around all cells.
    let mut copy = notebook.clone();
    copy.apply(&[EditOp::Delete { cell: at() }], &mut ids()).map_err(|error| error.to_string())?;
    let new = copy.to_bytes();
    let mut left = old.clone();
    left.remove(index);
    let again = reread(&new)?;
    expect(bodies(&again) == left, "deleting leaves the other cells")?;
    if let Some((new_head, new_tail)) = frame(&again, &new) {
        expect(new_head == head && new_tail == tail, "deleting leaves what is around the cells")?;
    }

    // Moving a cell to the front and back again is the identity on cells.
    let mut copy = notebook.clone();
    copy.apply(&[EditOp::Move { cell: at(), to: CellPlace::Start }], &mut ids())
        .map_err(|error| error.to_string())?;
    let new = copy.to_bytes();
    let mut moved = old;
    let cell = moved.remove(index);
    moved.insert(0, cell);
    let again = reread(&new)?;
    expect(bodies(&again) == moved, "moving changes the order only")?;
    let (new_head, new_tail) = frame(&again, &new).ok_or("cells are left")?;
    expect(new_head == head && new_tail == tail, "moving leaves what is around the cells")
}

/// Injecting values twice equals injecting the later ones once, and nothing else changes.
fn inject_law(notebook: &Notebook, bytes: &[u8]) -> Result<(), String> {
    let values = |text: &str| -> Parameters {
        [("a".to_owned(), ParameterValue::Text(text.to_owned()))].into_iter().collect()
    };
    let put = |into: &mut Notebook, text: &str| {
        let injected = into.inject(&values(text), ParameterLanguage::Python, &mut ids());
        injected.map_err(|error| error.to_string())
    };
    let (mut once, mut twice) = (notebook.clone(), notebook.clone());
    put(&mut twice, "earlier")?;
    put(&mut twice, "later é")?;
    let injected = put(&mut once, "later é")?;
    let new = once.to_bytes();
    expect(twice.to_bytes() == new, "values put in twice are the later ones put in once")?;
    put(&mut once, "later é")?;
    expect(once.to_bytes() == new, "the same values change nothing")?;
    if injected.way == InjectionWay::InPlace {
        return Ok(());
    }
    let mut back = reread(&new)?;
    let gone = EditOp::Delete { cell: CellRef::Index(injected.index as i64) };
    back.apply(&[gone], &mut ids()).map_err(|error| error.to_string())?;
    expect(notebook.is_empty() || back.to_bytes() == bytes, "values leave every other byte")
}

/// A name that is renamed and renamed back leaves every source as it was.
fn rename_law(notebook: &Notebook) -> Result<(), String> {
    const NEW: &str = "renamed_there_and_back";
    let rename = |into: &mut Notebook, old: &str, new: &str| {
        let (old, new) = (old.to_owned(), new.to_owned());
        let outputs = OutputsAfter::Keep;
        into.apply(&[EditOp::Rename { old, new, outputs }], &mut ids())
    };
    let sources = |of: &Notebook| -> Vec<String> {
        of.cells().map(|cell| cell.source().text.into_owned()).collect()
    };
    let before = sources(notebook);
    let text = before.join("\n");
    let words = python_tokens(&text).filter(|token| token.kind == PythonTokenKind::Word);
    let mut names: Vec<&str> = words.map(|token| token.text).collect();
    names.sort_unstable();
    names.dedup();
    // The way back of `import x as x` is `import x`.
    names.retain(|name| !text.contains(&format!("{name} as {name}")));
    for name in sample(names.len()).into_iter().map(|index| names[index]) {
        let mut copy = notebook.clone();
        if rename(&mut copy, name, NEW).is_err() {
            continue;
        }
        expect(sources(&copy) != before, "a rename changes a source")?;
        rename(&mut copy, NEW, name).map_err(|error| format!("{name} has no way back: {error}"))?;
        expect(sources(&copy) == before, "a name renamed and renamed back changes no source")?;
    }
    Ok(())
}

fn insert_law(notebook: &Notebook, bytes: &[u8]) -> Result<(), String> {
    let old = bodies(notebook);
    let middle = CellPlace::After(CellRef::Index((old.len() / 2) as i64));
    let places =
        [CellPlace::Start, CellPlace::End, if old.is_empty() { CellPlace::End } else { middle }];
    for (at, place) in places.into_iter().enumerate() {
        for kind in CellKind::ALL {
            let mut copy = notebook.clone();
            let source = "a = 'é'\nb".to_owned();
            let op = EditOp::Insert { at: place.clone(), kind, source: source.clone() };
            let report = copy.apply(&[op], &mut ids()).map_err(|error| error.to_string())?;
            let new = copy.to_bytes();
            let again = reread(&new)?;
            let index = report.changes[0].index.ok_or("an inserted cell has a position")?;
            let mut now = bodies(&again);
            now.remove(index);
            expect(now == old, "inserting leaves the other cells")?;
            let cell = again.cell(index).ok_or("the new cell is there")?;
            expect(cell.source().text == source, "the new cell has its source")?;
            expect(cell.id().is_some() == notebook.has_ids(), "ids are made exactly from 4.5 on")?;
            if at == 0 && !old.is_empty() {
                // Removing the cell again restores the file to the byte.
                let mut back = again.clone();
                let gone = EditOp::Delete { cell: CellRef::Index(index as i64) };
                back.apply(&[gone], &mut ids()).map_err(|error| error.to_string())?;
                expect(back.to_bytes() == bytes, "insert then delete is the identity")?;
            }
        }
    }
    Ok(())
}

fn atomic_law(notebook: &Notebook, bytes: &[u8]) -> Result<(), String> {
    let mut copy = notebook.clone();
    let ops = [
        EditOp::Insert { at: CellPlace::Start, kind: CellKind::Code, source: "x".to_owned() },
        EditOp::Clear { cell: None },
        EditOp::Delete { cell: CellRef::Index(1 << 40) },
    ];
    expect(copy.apply(&ops, &mut ids()).is_err(), "a batch with a bad operation is refused")?;
    expect(copy.to_bytes() == bytes, "a refused batch changes nothing")
}

/// Operations in one batch have the same effect as the same operations one by one.
fn batch_law(notebook: &Notebook, bytes: &[u8]) -> Result<(), String> {
    if notebook.len() < 2 {
        return Ok(());
    }
    let last = notebook.len() - 1;
    let source = "changed by a batch".to_owned();
    let ops = [
        EditOp::Replace {
            cell: CellRef::Index(-1),
            source: source.clone(),
            kind: None,
            outputs: OutputsAfter::ClearIfChanged,
            shape: SourceShape::Keep,
        },
        EditOp::Delete { cell: CellRef::Index(0) },
        EditOp::Insert { at: CellPlace::End, kind: CellKind::Raw, source: source.clone() },
    ];
    let mut copy = notebook.clone();
    if copy.apply(&ops, &mut ids()).is_err() {
        return expect(copy.to_bytes() == bytes, "a refused batch changes nothing");
    }
    let again = reread(&copy.to_bytes())?;
    let (old, now) = (bodies(notebook), bodies(&again));
    expect(now.len() == old.len(), "a batch deletes one cell and adds one")?;
    expect(now[..last - 1] == old[1..last], "a batch leaves the cells it does not name")?;
    for index in [last - 1, last] {
        let cell = again.cell(index).ok_or("the cells of the batch are there")?;
        expect(cell.source().text == source, "a batch does all of its operations")?;
    }

    // The same three operations, each in its own batch, on the file that the one before wrote.
    let mut single = notebook.clone();
    let mut made = ids();
    for op in ops {
        single.apply(&[op], &mut made).map_err(|error| error.to_string())?;
        single = reread(&single.to_bytes())?;
    }
    expect(bodies(&single) == now, "a batch is its operations one by one")
}

/// A text with reordered cells moves the cells whole.
fn reorder_law(notebook: &Notebook) -> Result<(), String> {
    let order: Vec<usize> = (0..notebook.len()).rev().collect();
    for markers in [MarkerIds::Auto, MarkerIds::Off] {
        let Some(text) = text_form(notebook.cells_to_text(&order, markers))? else { continue };
        let mut copy = notebook.clone();
        copy.apply_text(&text, KEEP_ALL, &mut ids()).map_err(|error| error.to_string())?;
        let mut wanted = bodies(notebook);
        wanted.reverse();
        expect(bodies(&reread(&copy.to_bytes())?) == wanted, "a text can put cells in any order")?;
    }
    Ok(())
}

/// A truncated file is refused, and the error points at its end.
fn cut_law(bytes: &[u8]) -> Result<(), String> {
    const STEP: usize = 1024;
    const MOST: usize = 32;
    let whole = bytes.trim_ascii_end().len();
    // Cut large files at fewer places, or the time is quadratic in the size.
    let step = STEP.max(whole / MOST / STEP * STEP);
    for end in (0..whole).step_by(step) {
        match Notebook::parse(bytes[..end].to_vec()) {
            Err(NotebookError::Syntax { syntax, .. }) if syntax.offset <= end => {}
            _ => return Err(format!("the first {end} bytes of a notebook are not refused")),
        }
    }
    Ok(())
}
