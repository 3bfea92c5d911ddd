//! Any text written onto a notebook: it is refused, or the notebook then says what the text says and
//! can be read again.
#![no_main]

use std::sync::LazyLock;

use inkcell_notebook::{
    DropRule, IdSource, MarkerIds, Notebook, OutputsAfter, TextRules, is_same_text, parse_text,
};
use inkcell_testkit::{laws, notebooks};
use libfuzzer_sys::fuzz_target;

static NOTEBOOK: LazyLock<Notebook> = LazyLock::new(|| {
    let cells = [
        ("markdown", "intro-md", "# Title\n\nSome prose."),
        ("code", "aaaa1111", "# %% [code] cell:0\nx = 1\r\n"),
        ("raw", "0", ""),
        ("code", "bbbb2222", "\n\ny = 2\n"),
    ];
    Notebook::parse(notebooks::jupyter(&cells).into_bytes()).expect("it is a notebook")
});

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let rules =
        TextRules { drop: DropRule::Any, outputs: OutputsAfter::ClearIfChanged, ..laws::KEEP_ALL };
    let mut notebook = NOTEBOOK.clone();
    if notebook.apply_text(text, rules, &mut IdSource::seeded(1)).is_err() {
        assert!(!notebook.is_changed(), "a refused text changes nothing");
        return;
    }
    let mut again = Notebook::parse(notebook.to_bytes()).expect("the result is a notebook");
    let cells = parse_text(text).expect("a text that was applied can be taken apart");
    assert_eq!(again.len(), cells.len(), "as many cells as the text has");
    for (cell, wanted) in again.cells().zip(&cells) {
        assert_eq!(cell.kind(), Some(wanted.kind));
        assert!(is_same_text(&cell.source().text, &wanted.source), "the source of the text");
    }
    for markers in [MarkerIds::Auto, MarkerIds::Off] {
        let shown = again.to_text(markers).expect("it has a text form");
        again.apply_text(&shown, laws::KEEP_ALL, &mut IdSource::seeded(1)).expect("its own text");
        assert!(!again.is_changed(), "its own text changes nothing");
    }
});
