//! Compares cells of values with those that papermill writes, if it is installed: every type in every language, the
//! position of the cell, and the parameters read from the cell with the defaults.

use std::process::{Command, Stdio};

use inkcell_notebook::{
    IdSource, Notebook, ParameterLanguage, ParameterValue, Parameters, WholeNumber, parameters_cell,
};
use inkcell_testkit::need;
use serde_json::{Value, json};

use ParameterLanguage::{Bash, CSharp, FSharp, Julia, Matlab, PowerShell, Python, R, Scala};

/// Answers every question on standard input with papermill's result.
const ASK: &str = r##"
import json, logging, sys
logging.disable(logging.CRITICAL)
import nbformat
from papermill.parameterize import parameterize_notebook
from papermill.translators import papermill_translators, PythonTranslator

def cell(language, value):
    try:
        translator = papermill_translators.find_translator(language, language)
        return translator.codify({"x": eval(value)})
    except NotImplementedError:
        return None

def inspect(source):
    found = PythonTranslator.inspect({"source": source})
    return [list(parameter) for parameter in found]

def place(notebook, parameters):
    node = nbformat.reads(notebook, as_version=4)
    for one in node.cells:
        one.metadata.setdefault("tags", [])
    node.metadata.setdefault("papermill", {})
    done = parameterize_notebook(node, parameters, kernel_name="python3", language="python")
    return [[one.cell_type, one.source, list(one.metadata.tags)] for one in done.cells]

questions = json.load(sys.stdin)
json.dump({
    "cells": [cell(*question) for question in questions["cells"]],
    "inspected": [inspect(question) for question in questions["inspected"]],
    "placed": [place(*question) for question in questions["placed"]],
}, sys.stdout)
"##;

/// Asks papermill; none if it is not installed.
fn papermill(test: &str, questions: &Value) -> Option<Value> {
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    if !need::python_package(test, &python, "papermill") {
        return None;
    }
    let mut child = Command::new(python)
        .args(["-c", ASK])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a Python");
    serde_json::to_writer(child.stdin.take().expect("a pipe"), questions).expect("questions");
    let answered = child.wait_with_output().expect("an answer");
    assert!(answered.status.success());
    Some(serde_json::from_slice(&answered.stdout).expect("JSON"))
}

fn questions(key: &str, asked: Vec<Value>) -> Value {
    let mut all = json!({"cells": [], "inspected": [], "placed": []});
    all[key] = Value::Array(asked);
    all
}

fn int(digits: &str) -> ParameterValue {
    ParameterValue::Int(WholeNumber::parse(digits).expect("digits"))
}

fn text(text: &str) -> ParameterValue {
    ParameterValue::Text(text.to_owned())
}

fn list(items: &[ParameterValue]) -> ParameterValue {
    ParameterValue::List(items.to_vec())
}

fn map(entries: &[(&str, ParameterValue)]) -> ParameterValue {
    let entry = |(key, value): &(&str, ParameterValue)| ((*key).to_owned(), value.clone());
    ParameterValue::Map(entries.iter().map(entry).collect())
}

/// Values as Python writes them, with the same values in Rust.
fn values() -> Vec<(&'static str, ParameterValue)> {
    let float = ParameterValue::Float;
    vec![
        ("None", ParameterValue::Null),
        ("True", ParameterValue::Bool(true)),
        ("False", ParameterValue::Bool(false)),
        ("0", int("0")),
        ("-7", int("-7")),
        ("2147483647", int("2147483647")),
        ("2147483648", int("2147483648")),
        ("-2147483649", int("-2147483649")),
        ("12345678901234567890123", int("12345678901234567890123")),
        ("0.5", float(0.5)),
        ("-1.0", float(-1.0)),
        ("1e16", float(1e16)),
        ("1e-5", float(1e-5)),
        ("1.7976931348623157e308", float(f64::MAX)),
        ("123456789.125", float(123_456_789.125)),
        ("float('nan')", float(f64::NAN)),
        ("float('inf')", float(f64::INFINITY)),
        ("float('-inf')", float(f64::NEG_INFINITY)),
        ("''", text("")),
        ("'plain'", text("plain")),
        ("'two words'", text("two words")),
        ("'it\\'s'", text("it's")),
        ("'a \"quote\"'", text("a \"quote\"")),
        ("'a\\nb\\tc\\rd'", text("a\nb\tc\rd")),
        ("'back\\\\slash'", text("back\\slash")),
        ("'\\x1b\\x07'", text("\u{1b}\u{7}")),
        ("'é ÿ'", text("é ÿ")),
        ("'ł € 漢'", text("ł € 漢")),
        ("'😀'", text("😀")),
        ("'$HOME `x` {y} %z'", text("$HOME `x` {y} %z")),
        ("'./a-b_c@d:e,f=g+1'", text("./a-b_c@d:e,f=g+1")),
        ("[]", list(&[])),
        ("[1, 2, 3]", list(&[int("1"), int("2"), int("3")])),
        ("['a', 'b c']", list(&[text("a"), text("b c")])),
        (
            "[1, 'a', None, True, 0.5]",
            list(&[
                int("1"),
                text("a"),
                ParameterValue::Null,
                ParameterValue::Bool(true),
                float(0.5),
            ]),
        ),
        ("[[1], []]", list(&[list(&[int("1")]), list(&[])])),
        ("{}", map(&[])),
        ("{'a': 1, 'b \"c\"': 'd'}", map(&[("a", int("1")), ("b \"c\"", text("d"))])),
        ("{'k': {'l': [True]}}", map(&[("k", map(&[("l", list(&[ParameterValue::Bool(true)]))]))])),
        ("{'é': 1.5}", map(&[("é", float(1.5))])),
    ]
}

/// True if papermill writes another value or invalid code in the language. There inkcell's text is right, as the
/// tables beside the code show.
fn is_mended(language: ParameterLanguage, value: &ParameterValue) -> bool {
    let is_odd = |c: char| match language {
        Python | Bash => false,
        R => ('\u{80}'..'\u{100}').contains(&c),
        Julia => ('\u{80}'..'\u{100}').contains(&c) || c == '$',
        Scala => {
            !(' '..='~').contains(&c)
                && !"\n\r\t".contains(c)
                && !('\u{100}'..'\u{10000}').contains(&c)
        }
        CSharp | FSharp => !(' '..='~').contains(&c) && !"\n\r\t".contains(c) && c < '\u{100}',
        Matlab => !(' '..='~').contains(&c) || c == '\\',
        PowerShell => !(' '..='~').contains(&c) || "\\$`".contains(c),
    };
    match value {
        ParameterValue::Text(text) => text.contains(is_odd),
        ParameterValue::Float(number) => {
            !number.is_finite() && !matches!(language, Python | PowerShell | Bash | FSharp)
                || !number.is_finite() && language == FSharp && !number.is_nan()
        }
        ParameterValue::Int(number) => {
            number.as_i64().is_none() && matches!(language, Scala | CSharp | FSharp)
        }
        ParameterValue::Bool(_) => false,
        ParameterValue::Null => language == CSharp,
        ParameterValue::List(items) => {
            let is_mixed = items.iter().any(|item| item.kind() != items[0].kind());
            let is_deep = items.iter().any(|item| matches!(item, ParameterValue::List(_)));
            items.iter().any(|item| is_mended(language, item))
                || language == CSharp && (is_mixed || is_deep || items.is_empty())
                || language == Bash && (is_deep || items.contains(&ParameterValue::Null))
        }
        ParameterValue::Map(entries) => {
            entries.iter().any(|(key, value)| key.contains(is_odd) || is_mended(language, value))
        }
    }
}

/// Papermill's name of each language.
const NAMES: [(ParameterLanguage, &str); 9] = [
    (Python, "python"),
    (R, "R"),
    (Scala, "scala"),
    (Julia, "julia"),
    (Matlab, "matlab"),
    (CSharp, ".net-csharp"),
    (FSharp, ".net-fsharp"),
    (PowerShell, ".net-powershell"),
    (Bash, "bash"),
];

#[test]
fn every_type_is_written_as_papermill_writes_it_in_every_language() {
    let values = values();
    let asked =
        NAMES.iter().flat_map(|(_, name)| values.iter().map(move |(code, _)| json!([name, code])));
    let questions = questions("cells", asked.collect());
    let Some(answers) = papermill("papermill_cells", &questions) else { return };
    let mut answers = answers["cells"].as_array().expect("a list").iter();
    let (mut alike, mut mended) = (0, 0);
    for (language, name) in NAMES {
        for (code, value) in &values {
            let theirs = answers.next().expect("an answer").as_str();
            let given: Parameters = [("x".to_owned(), value.clone())].into_iter().collect();
            let ours = parameters_cell(&given, language).ok();
            if is_mended(language, value) {
                assert_ne!(ours.as_deref(), theirs, "{name}: {code} is not another any more");
                mended += 1;
            } else {
                assert_eq!(ours.as_deref(), theirs, "{name}: {code}");
                alike += 1;
            }
        }
    }
    assert!(alike > 4 * mended, "{alike} alike, {mended} mended");
}

#[test]
fn what_papermill_reads_of_defaults_is_read_the_same_way() {
    let sources = [
        "a = 1",
        "a: int = 1",
        "a: \"int\" = 1",
        "a: 'List[str]' = ['x']  # names",
        "a = 1  # type: int",
        "a = 1  # type: int and this is why",
        "a = 1  #no blank",
        "a = None\nb: float = 2.5\n\n# alone\nc = 'text'  # help, with words",
        "a = [\n    1,  # one\n    2,\n]  # both",
        "a: Dict[str, int] = {\n  'k': 1\n}",
        "_private = 1\nUPPER_2 = 2",
        "a='tight'",
        "# nothing at all",
        "",
    ];
    let questions = questions("inspected", sources.iter().map(|source| json!(source)).collect());
    let Some(answers) = papermill("papermill_defaults", &questions) else { return };
    for (source, theirs) in sources.iter().zip(answers["inspected"].as_array().expect("a list")) {
        let notebook = notebook(&[("code", source, &["parameters"])]);
        let ours = notebook.parameters(Python).expect("a cell with defaults");
        let told = |parameter: &inkcell_notebook::Parameter| {
            let declared = parameter.declared.as_deref().unwrap_or("None");
            json!([parameter.name, declared, parameter.default, parameter.help])
        };
        assert_eq!(&Value::Array(ours.iter().map(told).collect()), theirs, "{source}");
    }
}

fn notebook_text(cells: &[(&str, &str, &[&str])]) -> String {
    let cell = |(at, (kind, source, tags)): (usize, &(&str, &str, &[&str]))| {
        let mut cell = json!({"cell_type": kind, "id": format!("c{at}"), "metadata": {"tags": tags},
            "source": source});
        if *kind == "code" {
            cell["outputs"] = json!([]);
            cell["execution_count"] = json!(null);
        }
        cell
    };
    let cells: Vec<Value> = cells.iter().enumerate().map(cell).collect();
    json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).to_string()
}

fn notebook(cells: &[(&str, &str, &[&str])]) -> Notebook {
    Notebook::parse(notebook_text(cells).into_bytes()).expect("a notebook")
}

#[test]
fn values_are_put_where_papermill_puts_them() {
    type Cells = &'static [(&'static str, &'static str, &'static [&'static str])];
    let cases: [Cells; 8] = [
        &[("code", "a = 1", &["parameters"]), ("code", "a", &[])],
        &[("markdown", "# t", &[]), ("code", "a = 1", &["x", "parameters"]), ("code", "a", &[])],
        &[("code", "a", &[]), ("code", "b", &[])],
        &[
            ("code", "a = 1", &["parameters"]),
            ("code", "old", &["injected-parameters"]),
            ("code", "a", &[]),
        ],
        &[("code", "old", &["injected-parameters"]), ("code", "a = 1", &["parameters"])],
        &[("code", "a", &["parameters"]), ("code", "b", &["parameters"])],
        &[("markdown", "old", &["injected-parameters"]), ("code", "b", &[])],
        &[],
    ];
    let asked = cases.iter().map(|cells| json!([notebook_text(cells), {"a": 5, "b": "é"}]));
    let questions = questions("placed", asked.collect());
    let Some(answers) = papermill("papermill_places", &questions) else { return };
    for (cells, theirs) in cases.iter().zip(answers["placed"].as_array().expect("a list")) {
        let mut ours = notebook(cells);
        let given: Parameters =
            [("a".to_owned(), int("5")), ("b".to_owned(), text("é"))].into_iter().collect();
        ours.inject(&given, Python, &mut IdSource::seeded(1)).expect("values");
        let told =
            ours.cells().map(|cell| json!([cell.kind_name(), cell.source().text, cell.tags()]));
        assert_eq!(&Value::Array(told.collect()), theirs, "{cells:?}");
    }
}
