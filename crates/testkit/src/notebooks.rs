//! Generates notebooks for tests, ordinary and odd.
//!
//! Owns the shapes that tests need; it reads no files.

use serde_json::{Value, json};

/// Makes a notebook of nbformat 4.5 as Jupyter writes it, with these `(kind, id, source)` cells. Its code has run once.
pub fn jupyter(cells: &[(&str, &str, &str)]) -> String {
    let hi = json!([{"name": "stdout", "output_type": "stream", "text": ["hi\n"]}]);
    with_outputs(cells, &json!(3), &hi)
}

/// Makes the same notebook before its code has run.
pub fn never_run(cells: &[(&str, &str, &str)]) -> String {
    with_outputs(cells, &Value::Null, &json!([]))
}

fn with_outputs(cells: &[(&str, &str, &str)], count: &Value, outputs: &Value) -> String {
    let cells: Vec<Value> = cells
        .iter()
        .map(|(kind, id, source)| {
            let lines: Vec<&str> = source.split_inclusive('\n').collect();
            match *kind {
                "code" => json!({
                    "cell_type": "code", "execution_count": count, "id": id, "metadata": {},
                    "outputs": outputs, "source": lines,
                }),
                _ => json!({"cell_type": kind, "id": id, "metadata": {}, "source": lines}),
            }
        })
        .collect();
    let metadata = json!({"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}});
    pretty(&json!({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}))
}

/// Formats a value with one blank of indentation and a final newline, as Jupyter does.
pub fn pretty(value: &Value) -> String {
    let mut out = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
    serde::Serialize::serialize(value, &mut serializer).expect("a value can be written");
    out.push(b'\n');
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// A notebook that suits most tests: markdown, code, code.
pub fn small() -> String {
    jupyter(&[
        ("markdown", "intro-md", "# Title\n\nSome prose."),
        ("code", "aaaa1111", "x = 1\nprint(x)"),
        ("code", "bbbb2222", "y = 2\n"),
    ])
}

/// Valid notebooks with unusual layout or spelling; every law must hold on each.
pub fn odd() -> Vec<(&'static str, Vec<u8>)> {
    let small = small();
    let mut files: Vec<(&'static str, Vec<u8>)> = vec![
        ("plain", small.clone().into_bytes()),
        ("bom", [b"\xEF\xBB\xBF", small.as_bytes()].concat()),
        ("crlf", small.replace('\n', "\r\n").into_bytes()),
        ("no final newline", small.trim_end().as_bytes().to_vec()),
        ("blank lines at the end", format!("{small}\n\n  \n").into_bytes()),
        ("tabs", tabbed(&small).into_bytes()),
        ("four blanks", small.replace("\n ", "\n    ").into_bytes()),
    ];
    let picture =
        format!("{}\n{}", "iVBORw0KGgo".repeat(300), "é\\u00e9\\ud83d\\ude00 ".repeat(300));
    files.push((
        "several KiB in one output",
        small.replace("hi\\n", &picture.replace('\n', "\\n")).into_bytes(),
    ));
    let one = |text: &str| text.as_bytes().to_vec();
    files.push(("compact", one(r##"{"cells":[{"cell_type":"code","execution_count":null,"id":"a1","metadata":{},"outputs":[],"source":["a\n","b"]},{"cell_type":"markdown","id":"b2","metadata":{},"source":"x"}],"metadata":{},"nbformat":4,"nbformat_minor":5}"##)));
    files.push(("one line with blanks", one(r##"{"cells": [{"cell_type": "code", "metadata": {}, "source": ["a"], "outputs": [], "execution_count": 1}], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}"##)));
    files.push(("string sources", one("{\n  \"cells\": [\n    {\n      \"source\": \"a\\nb\\n\",\n      \"cell_type\": \"code\", \"metadata\": {}, \"outputs\": [], \"execution_count\": null\n    } ,\n\n    { \"cell_type\" : \"raw\", \"source\" : [ ], \"metadata\" : { } } ],\n  \"nbformat\": 4,\n  \"nbformat_minor\": 2, \"metadata\": {}\n}")));
    files.push(("odd spellings", one(r##"{"cells": [{"cell_type": "code", "metadata": {"n": [1.0, 1e400, -0, 1E+2, 12345678901234567890123, NaN, -Infinity]}, "source": ["\u00e9\/\ud83d\n", "\u001B[0m"], "outputs": [], "execution_count": 1.0}], "metadata": {"a": 1, "a": 2}, "nbformat": 4, "nbformat_minor": 4, "x-top": Infinity}"##)));
    files.push(("no cells", one("{\n \"cells\": [],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n")));
    files.push(("no cells, blanks inside", one("{\n \"cells\": [\n ],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n")));
    files.push(("cells last", one("{\"nbformat\": 4, \"nbformat_minor\": 5,\n\"metadata\": {},\n\"cells\": [\n{\"cell_type\": \"code\", \"metadata\": {}}\n,{\"cell_type\": \"markdown\", \"metadata\": {}}\n]}")));
    files.push(("entries that are no cells", one(r##"{"cells": [1, {"cell_type": "code", "source": "x", "metadata": {}}, null, {"cell_type": "heading", "source": "y"}, [], {}], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}"##)));
    files.push(("duplicate keys in a cell", one(r##"{"cells": [{"cell_type": "code", "source": "one", "source": "two", "metadata": {}, "outputs": [], "execution_count": null}, {"cell_type": "raw", "source": "x", "metadata": {}}], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}"##)));
    files.push(("duplicate ids", one(r##"{"cells": [{"cell_type": "raw", "id": "same", "source": "1", "metadata": {}}, {"cell_type": "raw", "id": "same", "source": "2", "metadata": {}}, {"cell_type": "raw", "id": "3", "source": "3", "metadata": {}}, {"cell_type": "raw", "id": 7, "source": "4", "metadata": {}}, {"cell_type": "raw", "id": "no spaces!", "source": "5", "metadata": {}}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"##)));
    files.push(("odd sources", one(r##"{"cells": [{"cell_type": "raw", "source": ["a\nb", 1, "c\r\nd", null], "metadata": {}}, {"cell_type": "raw", "source": {"x": 1}, "metadata": {}}, {"cell_type": "raw", "metadata": {}}, {"cell_type": "code", "source": ["\u2028\f\r", "# %% [code] cell:0\n", "# %%% [raw]\r\n", "\n"], "metadata": {}}], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}"##)));
    files.push((
        "unknown minor",
        small.replace("\"nbformat_minor\": 5", "\"nbformat_minor\": 99").into_bytes(),
    ));
    files.push((
        "minor as text",
        small.replace("\"nbformat_minor\": 5", "\"nbformat_minor\": \"5\"").into_bytes(),
    ));
    files.push(("no minor", one(r##"{"cells": [{"cell_type": "raw", "source": "x", "metadata": {}}], "metadata": {}, "nbformat": 4}"##)));
    files.push(("escaped key", one(r##"{"cells": [{"cell_type": "code", "\u0073ource": ["x"], "metadata": {}, "outputs": [], "execution_count": null}], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}"##)));
    files
}

fn tabbed(text: &str) -> String {
    let line = |line: &str| {
        let blanks = line.len() - line.trim_start_matches(' ').len();
        format!("{}{}", "\t".repeat(blanks), &line[blanks..])
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}
