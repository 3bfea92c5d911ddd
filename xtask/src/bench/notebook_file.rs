//! Generates the notebooks that are measured: the same bytes on every machine.
//!
//! Owns their shape, which is the one that Jupyter writes: nbformat 4.5, sorted keys, indent 1, ids, and
//! pictures as most of the bytes. Must not know the readers.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Serialize as _;
use serde_json::ser::PrettyFormatter;
use serde_json::{Serializer, Value, json};

use crate::gremlin::dice::Dice;

/// The cell that every peer edits. It has no outputs and was never run, so that a tool that clears outputs on an
/// edit (as ours does) and one that keeps them write the same file.
pub(super) const SOURCE_BEFORE: &str = "def smooth(values, window=7):\n    kernel = np.ones(window) / window\n    return np.convolve(values, kernel, mode=\"same\")\n\nbench_marker = \"before\"";
pub(super) const SOURCE_AFTER: &str = "def smooth(values, window=9):\n    kernel = np.hanning(window)\n    kernel /= kernel.sum()\n    return np.convolve(values, kernel, mode=\"same\")\n\nbench_marker = \"after\"";

/// The order of the kinds of cells; three of eight carry a picture.
const KINDS: [Kind; 8] = [
    Kind::Markdown,
    Kind::Stream,
    Kind::Picture,
    Kind::Code,
    Kind::Picture,
    Kind::Markdown,
    Kind::Table,
    Kind::Picture,
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Markdown,
    Code,
    Stream,
    Table,
    Picture,
}

pub(super) fn cell_count(megabytes: usize) -> usize {
    (megabytes * 93 / 10).max(16)
}

/// The cell to edit: the first plain code cell from the middle on.
pub(super) fn target_index(megabytes: usize) -> usize {
    let middle = cell_count(megabytes) / 2;
    (middle..).find(|index| kind(*index) == Kind::Code).unwrap_or(middle)
}

fn kind(index: usize) -> Kind {
    KINDS[index % KINDS.len()]
}

/// Writes the notebook, and beside it the same notebook with the target cell edited: the result of a tool that
/// changes nothing else.
pub(super) fn write_pair(before: &Path, after: &Path, megabytes: usize) -> Result<()> {
    let mut notebook = build(megabytes);
    save(before, &notebook)?;
    notebook["cells"][target_index(megabytes)]["source"] = lines(SOURCE_AFTER);
    save(after, &notebook)
}

fn save(path: &Path, notebook: &Value) -> Result<()> {
    let text = to_text(notebook)?;
    let mut file =
        std::fs::File::create(path).with_context(|| format!("cannot make {}", path.display()))?;
    file.write_all(&text)?;
    file.sync_all()?;
    Ok(())
}

fn to_text(notebook: &Value) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let formatter = PrettyFormatter::with_indent(b" ");
    notebook.serialize(&mut Serializer::with_formatter(&mut text, formatter))?;
    text.push(b'\n');
    Ok(text)
}

fn build(megabytes: usize) -> Value {
    let mut dice = Dice::new(0x1bad_5eed);
    let target = target_index(megabytes);
    let mut cells: Vec<Value> =
        (0..cell_count(megabytes)).map(|index| cell(index, index == target, &mut dice)).collect();
    // Pictures share the size that the rest leaves, some larger and some smaller.
    let text_bytes = to_text(&with_cells(&cells)).map_or(0, |text| text.len());
    let mut left = (megabytes * 1_000_000).saturating_sub(text_bytes);
    let pictures: Vec<usize> =
        (0..cells.len()).filter(|index| kind(*index) == Kind::Picture).collect();
    for (nth, index) in pictures.iter().enumerate() {
        let share = left / (pictures.len() - nth);
        let size =
            if nth + 1 == pictures.len() { share } else { share * dice.between(60, 140) / 100 };
        left -= size;
        cells[*index]["outputs"][0]["data"]["image/png"] = Value::String(picture(&mut dice, size));
    }
    with_cells(&cells)
}

/// Writes a notebook that was never run, from the source of each cell and a flag for the cell with the defaults
/// of parameters.
pub(super) fn write_cells<'a>(
    path: &Path,
    cells: impl Iterator<Item = (&'a str, bool)>,
) -> Result<()> {
    let cell = |(index, (source, has_defaults)): (usize, (&str, bool))| {
        let metadata = if has_defaults { json!({"tags": ["parameters"]}) } else { json!({}) };
        json!({"cell_type": "code", "execution_count": null, "id": format!("cell-{index:03}"),
            "metadata": metadata, "outputs": [], "source": lines(source)})
    };
    let cells: Vec<Value> = cells.enumerate().map(cell).collect();
    std::fs::write(path, to_text(&with_cells(&cells))?)
        .with_context(|| format!("cannot make {}", path.display()))
}

/// Makes a file and its entry in the folder durable, so that no measured time includes those writes.
pub(super) fn settle(dir: &Path, file: &Path) -> Result<()> {
    std::fs::File::open(file)?.sync_all()?;
    std::fs::File::open(dir)?.sync_all()?;
    Ok(())
}

fn with_cells(cells: &[Value]) -> Value {
    let mut notebook = json!({
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {
                "codemirror_mode": {"name": "ipython", "version": 3},
                "file_extension": ".py",
                "mimetype": "text/x-python",
                "name": "python",
                "nbconvert_exporter": "python",
                "pygments_lexer": "ipython3",
                "version": "3.11.7"
            }
        },
        "nbformat": 4,
        "nbformat_minor": 5
    });
    notebook.sort_all_objects();
    notebook
}

fn cell(index: usize, target: bool, dice: &mut Dice) -> Value {
    let id = format!("{:08x}", dice.next() as u32);
    let source = if target { SOURCE_BEFORE.to_owned() } else { source(index, dice) };
    if kind(index) == Kind::Markdown {
        return json!({"cell_type": "markdown", "id": id, "metadata": {}, "source": lines(&source)});
    }
    let outputs = outputs(index, dice);
    let count = if target { Value::Null } else { json!(index + 1) };
    json!({
        "cell_type": "code",
        "execution_count": count,
        "id": id,
        "metadata": {},
        "outputs": outputs,
        "source": lines(&source)
    })
}

fn source(index: usize, dice: &mut Dice) -> String {
    match kind(index) {
        Kind::Markdown => {
            let mut text = format!("## Étape {index}: what the data say\n\n");
            for _ in 0..dice.between(2, 9) {
                text.push_str(
                    "The residuals shrink as σ → 0, yet *“outliers”* ≥ 3σ remain; see `fit()`.\n",
                );
            }
            text + "\n- first\n- second"
        }
        Kind::Picture => format!(
            "fig, ax = plt.subplots(figsize=(8, 5))\nax.plot(frame.index, frame[\"c{index}\"], label=\"run {index}\")\nax.set_xlabel(\"t / s\")\nax.legend()\nplt.show()"
        ),
        Kind::Table => {
            format!("frame_{index} = frame.groupby(\"key\").describe()\nframe_{index}.head(60)")
        }
        Kind::Stream => format!(
            "for epoch in range(3000):\n    loss = step(model, batch_{index})\n    print(f\"epoch {{epoch}}\\tloss {{loss:.6f}}\")"
        ),
        Kind::Code => format!(
            "# prepare {index}\nbatch_{index} = load(\"part-{index}.parquet\")\nbatch_{index} = batch_{index}.dropna()"
        ),
    }
}

fn outputs(index: usize, dice: &mut Dice) -> Value {
    match kind(index) {
        Kind::Markdown | Kind::Code => json!([]),
        Kind::Stream => {
            let text: String = (0..dice.between(400, 3000))
                .map(|epoch| format!("epoch {epoch}\tloss 0.{:06}\n", dice.between(0, 999_999)))
                .collect();
            json!([{"name": "stdout", "output_type": "stream", "text": lines(&text)}])
        }
        Kind::Table => json!([{
            "data": {"text/html": lines(&table(dice)), "text/plain": lines("       mean       std\nkey                  \na     0.1183    1.0020\n[60 rows x 20 columns]")},
            "execution_count": index + 1,
            "metadata": {},
            "output_type": "execute_result"
        }]),
        Kind::Picture => json!([{
            "data": {"image/png": "", "text/plain": lines("<Figure size 800x500 with 1 Axes>")},
            "metadata": {},
            "output_type": "display_data"
        }]),
    }
}

fn table(dice: &mut Dice) -> String {
    let mut html = String::from(
        "<div>\n<style scoped>\n    .dataframe tbody tr th {\n        vertical-align: top;\n    }\n</style>\n<table border=\"1\" class=\"dataframe\">\n  <tbody>\n",
    );
    for row in 0..dice.between(30, 60) {
        html.push_str(&format!("    <tr>\n      <th>{row}</th>\n"));
        for _ in 0..20 {
            html.push_str(&format!("      <td>{}.{:06}</td>\n", row, dice.between(0, 999_999)));
        }
        html.push_str("    </tr>\n");
    }
    html + "  </tbody>\n</table>\n</div>"
}

/// Splits text as nbformat stores it: a list of lines that keep their line ends.
fn lines(text: &str) -> Value {
    text.split_inclusive('\n').collect()
}

/// Makes a PNG in base64: its fixed beginning, then bytes without pattern.
fn picture(dice: &mut Dice, size: usize) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(size + 10);
    text.push_str("iVBORw0KGgoAAAANSUhEUgAA");
    while text.len() < size {
        let bits = dice.next();
        text.extend((0..10).map(|digit| char::from(DIGITS[(bits >> (6 * digit)) as usize & 63])));
    }
    text.truncate(size);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notebook_has_the_size_it_is_called_by() {
        let text = to_text(&build(1)).unwrap();
        assert!(text.len().abs_diff(1_000_000) < 1_000, "{}", text.len());
    }

    #[test]
    fn the_target_is_a_code_cell_that_was_never_run() {
        for megabytes in [1, 10] {
            let cell = &build(megabytes)["cells"][target_index(megabytes)];
            assert_eq!(cell["source"], lines(SOURCE_BEFORE));
            assert_eq!(cell["outputs"], json!([]));
            assert!(cell["execution_count"].is_null());
        }
    }
}
