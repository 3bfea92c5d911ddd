//! Sample notebooks for the commands.

use inkcell_testkit::notebooks::pretty;
use serde_json::json;

/// One cell of each kind; the code cell has tags and an output of each kind.
pub(crate) fn rich() -> String {
    let outputs = json!([
        {"name": "stdout", "output_type": "stream", "text": ["hi\n", "two\n"]},
        {"data": {"text/plain": ["42"], "image/png": "aGVsbG8="}, "execution_count": 3, "metadata": {},
         "output_type": "execute_result"},
        {"ename": "ValueError", "evalue": "bad value", "output_type": "error",
         "traceback": ["\u{1b}[31mValueError\u{1b}[0m: bad value"]},
    ]);
    pretty(&json!({
        "cells": [
            {"cell_type": "markdown", "id": "intro-md", "metadata": {},
             "source": ["# Title\n", "\n", "Some prose."]},
            {"cell_type": "code", "execution_count": 3, "id": "aaaa1111", "metadata": {"tags": ["keep", "x"]},
             "outputs": outputs, "source": ["x = 1\n", "print(x)"]},
            {"cell_type": "raw", "id": "cccc3333", "metadata": {}, "source": []},
        ],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }))
}

/// Many cells of several lines, more than fit on a page.
pub(crate) fn long(cells: usize) -> String {
    let source =
        |number: usize| (0..40).map(|line| format!("x{number}_{line} = 1\n")).collect::<String>();
    let cells: Vec<_> = (0..cells)
        .map(|number| json!({"cell_type": "raw", "id": format!("cell-{number}"), "metadata": {}, "source": source(number)}))
        .collect();
    pretty(&json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
}
