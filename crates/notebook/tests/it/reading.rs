//! Queries on a notebook: the outline, search, and comparison by cell.

use inkcell_notebook::{CellDiff, Compare, Hit, Notebook, SearchIn, diff, first_line};
use inkcell_testkit::notebooks;
use serde_json::json;

fn parse(text: &str) -> Notebook {
    Notebook::parse(text.as_bytes().to_vec()).unwrap()
}

fn sample() -> Notebook {
    let cells = json!([
        {"cell_type": "markdown", "id": "m", "metadata": {}, "source": "\n\n# Title\ntext"},
        {"cell_type": "code", "id": "c", "execution_count": 4, "metadata": {"tags": ["parameters", "x"]},
         "outputs": [
            {"output_type": "stream", "name": "stdout", "text": ["one\n", "two\n"]},
            {"output_type": "error", "ename": "ValueError", "evalue": "bad", "traceback": ["\u{1b}[31mred\u{1b}[0m line"]}],
         "source": ["%matplotlib inline\n", "!ls\n", "x = 1"]},
        {"cell_type": "raw", "metadata": {}, "source": ""},
    ]);
    let notebook = json!({"cells": cells, "metadata": {"kernelspec": {"language": "python", "name": "p"}}, "nbformat": 4, "nbformat_minor": 5});
    parse(&notebooks::pretty(&notebook))
}

#[test]
fn the_outline_is_one_entry_a_cell() {
    let notebook = sample();
    let lines: Vec<String> = notebook
        .cells()
        .map(|cell| {
            let line = cell.outline();
            let outputs: Vec<String> = line.outputs.iter().map(|one| one.to_string()).collect();
            let id = line.id.as_deref().unwrap_or("-");
            let count = line.execution_count.map_or("-".to_owned(), |count| count.to_string());
            format!(
                "{} {id} {} {count} {} {:?} {} {}",
                line.index,
                line.kind,
                line.lines,
                line.first_line,
                line.tags.join(","),
                outputs.join("; ")
            )
        })
        .collect();
    assert_eq!(
        lines,
        [
            "0 m markdown - 4 \"# Title\"  ",
            "1 c code 4 3 \"%matplotlib inline\" parameters,x stdout 2 lines 10B; error ValueError: bad",
            "2 - raw - 0 \"\"  ",
        ]
    );
}

#[test]
fn a_first_line_is_cut_by_characters() {
    let check = |text: &str, limit: usize, expected: &str| {
        assert_eq!(first_line(text, limit), expected, "{text:?}");
    };
    check("", 5, "");
    check(" \n\t\nabc  \nd", 5, "abc");
    check("abcde", 5, "abcde");
    check("abcdef", 5, "abcd…");
    check("éééééé", 5, "éééé…");
}

#[test]
fn search_gives_lines() {
    let notebook = sample();
    let search = |pattern: &str, place: SearchIn| {
        notebook.search(&regex::Regex::new(pattern).unwrap(), place)
    };
    let hit = |cell, output, line, text: &str| Hit { cell, output, line, text: text.to_owned() };
    let (sources, all) = (SearchIn::Sources, SearchIn::SourcesAndOutputs);
    assert_eq!(search("^# T", sources), [hit(0, None, 3, "# Title")]);
    assert_eq!(search("two|x =", sources), [hit(1, None, 3, "x = 1")]);
    let found = [hit(1, None, 3, "x = 1"), hit(1, Some(0), 2, "two")];
    assert_eq!(search("two|x =", all), found);
    assert_eq!(search("red", all).len(), 1);
    assert!(search("nowhere", all).is_empty());
}

#[test]
fn two_notebooks_are_compared_by_cell() {
    let old = notebooks::small();
    let new = notebooks::jupyter(&[
        ("code", "bbbb2222", "y = 2\n"),
        ("markdown", "intro-md", "# Title\n\nSome verse."),
        ("raw", "cccc3333", "new"),
    ]);
    let found = diff(&parse(&old), &parse(&new), Compare::All);
    let lines: Vec<String> = found
        .iter()
        .map(|one| match one {
            CellDiff::Added { new, .. } => format!("added {new}"),
            CellDiff::Removed { old, .. } => format!("removed {old}"),
            CellDiff::Changed { old, new, source, moved, .. } => {
                format!("changed {old} to {new}, source {}, moved {moved}", source.is_some())
            }
        })
        .collect();
    assert_eq!(
        lines,
        [
            "changed cell 2 (id bbbb2222) to cell 0 (id bbbb2222), source false, moved true",
            "changed cell 0 (id intro-md) to cell 1 (id intro-md), source true, moved false",
            "added cell 2 (id cccc3333)",
            "removed cell 1 (id aaaa1111)",
        ]
    );
    assert!(diff(&parse(&old), &parse(&old), Compare::All).is_empty());
    // A cell that went to the front is the only one that moved.
    let cells = [("raw", "a1", "1"), ("raw", "b2", "2"), ("raw", "c3", "3"), ("raw", "d4", "4")];
    let turned = [cells[3], cells[0], cells[1], cells[2]];
    let found = diff(
        &parse(&notebooks::jupyter(&cells)),
        &parse(&notebooks::jupyter(&turned)),
        Compare::All,
    );
    assert!(
        matches!(found.as_slice(), [CellDiff::Changed { new, moved: true, .. }] if new.index == 0),
        "{found:?}"
    );
    // Layout does not count as a difference.
    let wide = old.replace("\n ", "\n     ");
    assert!(diff(&parse(&old), &parse(&wide), Compare::All).is_empty());
    // Outputs and counts differ only if everything is compared.
    let ran = old.replace("\"execution_count\": 3", "\"execution_count\": 4").replace("hi", "ho");
    assert_eq!(diff(&parse(&old), &parse(&ran), Compare::All).len(), 2);
    assert!(diff(&parse(&old), &parse(&ran), Compare::Sources).is_empty());
    // Attachments differ likewise.
    let attached = |files: &str| {
        old.replacen(
            "\"metadata\": {}",
            &format!("\"attachments\": {files}, \"metadata\": {{}}"),
            1,
        )
    };
    let (one, other) = (attached("{\"a.png\": {}}"), attached("{\"b.png\": {}}"));
    let found = diff(&parse(&one), &parse(&other), Compare::All);
    assert!(
        matches!(
            found.as_slice(),
            [CellDiff::Changed { source: None, metadata: false, attachments: true, .. }]
        ),
        "{found:?}"
    );
    assert!(diff(&parse(&one), &parse(&other), Compare::Sources).is_empty());
    assert!(diff(&parse(&old), &parse(&attached("{}")), Compare::All).is_empty());
    // Cells without ids are paired by their content.
    let bare = |text: &str| parse(&text.replace("\"id\"", "\"x\""));
    let changed = old.replace("x = 1", "x = 5");
    let found = diff(&bare(&old), &bare(&changed), Compare::Sources);
    let [CellDiff::Changed { old: cell, source: Some(lines), .. }] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(cell.index, 1);
    assert!(lines.contains("-x = 1\n+x = 5\n"), "{lines}");
}
