use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn cell(source: &str, tags: &[&str], outputs: &Value) -> Value {
    json!({"cell_type": "code", "id": "c", "execution_count": 1, "metadata": {"tags": tags},
        "outputs": outputs, "source": source})
}

fn notebook(cells: &[Value]) -> Notebook {
    let text = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    Notebook::parse(text.to_string().into_bytes()).unwrap()
}

fn stream(name: &str, text: &str) -> Value {
    json!({"output_type": "stream", "name": name, "text": text})
}

fn data(forms: &Value) -> Value {
    json!({"output_type": "display_data", "data": forms, "metadata": {"random": 7}})
}

fn failed(name: &str, value: &str) -> Value {
    json!({"output_type": "error", "ename": name, "evalue": value, "traceback": ["at 0x1"]})
}

fn never(_: &Pictures<'_>) -> Option<String> {
    Some("another picture".to_owned())
}

fn rules(rtol: f64, atol: f64) -> CompareRules {
    let numbers = Some(Tolerance { relative: rtol, absolute: atol });
    CompareRules { numbers, ..CompareRules::default() }
}

/// Returns the verdict on one cell with these stored and new outputs.
fn verdict_of(old: &Value, new: &Value, rules: &CompareRules) -> CellVerdict {
    verdict_of_cell("x", &[], old, new, rules)
}

fn verdict_of_cell(
    source: &str,
    tags: &[&str],
    old: &Value,
    new: &Value,
    rules: &CompareRules,
) -> CellVerdict {
    let (old, new) = (notebook(&[cell(source, tags, old)]), notebook(&[cell(source, tags, new)]));
    compare(&old, &new, rules, &never).remove(0).verdict
}

/// Lists the parts that differ.
fn parts_of(old: &Value, new: &Value, rules: &CompareRules) -> Vec<String> {
    match verdict_of(old, new, rules) {
        CellVerdict::Different(found) => found.into_iter().map(|one| one.part).collect(),
        CellVerdict::Same => Vec::new(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn outputs_are_compared_part_by_part() {
    let exact = CompareRules::default();
    for (old, new, wanted) in [
        (json!([]), json!([]), vec![]),
        (json!([stream("stdout", "a\n")]), json!([stream("stdout", "a\n")]), vec![]),
        (json!([stream("stdout", "a\n")]), json!([stream("stdout", "b\n")]), vec!["stdout"]),
        // The pieces of a stream, and the mix of two streams, do not matter.
        (
            json!([stream("stdout", "ab")]),
            json!([stream("stdout", "a"), stream("stdout", "b")]),
            vec![],
        ),
        (
            json!([stream("stdout", "a"), stream("stderr", "e"), stream("stdout", "b")]),
            json!([stream("stderr", "e"), stream("stdout", "ab")]),
            vec![],
        ),
        (json!([stream("stdout", "a")]), json!([]), vec!["stdout"]),
        (json!([]), json!([stream("stderr", "a")]), vec!["stderr"]),
        (json!([stream("stdout", "")]), json!([]), vec![]),
        (
            json!([data(&json!({"text/plain": "1"}))]),
            json!([data(&json!({"text/plain": ["1"]}))]),
            vec![],
        ),
        (
            json!([data(&json!({"text/plain": "1", "text/html": "<b>1</b>"}))]),
            json!([data(&json!({"text/plain": "2"}))]),
            vec!["text/plain", "text/html"],
        ),
        // A result equals a display of the same value.
        (
            json!([data(&json!({"text/plain": "1"}))]),
            json!([{"output_type": "execute_result", "data": {"text/plain": "1"}, "metadata": {},
                "execution_count": 9}]),
            vec![],
        ),
        (
            json!([data(&json!({"application/json": {"a": [1, " "]}}))]),
            json!([data(&json!({"application/json": {"a": [1, "  "]}}))]),
            vec!["application/json"],
        ),
        (
            json!([data(&json!({"application/vnd.jupyter.widget-view+json": {"model_id": "1"}}))]),
            json!([data(&json!({"application/vnd.jupyter.widget-view+json": {"model_id": "2"}}))]),
            vec![],
        ),
        (json!([failed("E", "a")]), json!([failed("E", "a")]), vec![]),
        (json!([failed("E", "a")]), json!([failed("E", "b")]), vec!["error"]),
        (json!([failed("E", "a")]), json!([]), vec!["error"]),
        (
            json!([data(&json!({"image/png": "YQ=="}))]),
            json!([data(&json!({"image/png": "Yg=="}))]),
            vec!["image/png"],
        ),
        (
            json!([data(&json!({"image/svg+xml": "<svg/>"}))]),
            json!([data(&json!({"image/svg+xml": "<svg />"}))]),
            vec!["image/svg+xml"],
        ),
    ] {
        assert_eq!(parts_of(&old, &new, &exact), wanted, "{old} {new}");
        let mut back = parts_of_either(&new, &old, &exact);
        let mut there = parts_of_either(&old, &new, &exact);
        back.sort();
        there.sort();
        assert_eq!(back, there, "either way: {old} {new}");
    }
}

/// Lists the parts that differ; either side may have failed.
fn parts_of_either(old: &Value, new: &Value, rules: &CompareRules) -> Vec<String> {
    match verdict_of_cell("x", &["raises-exception"], old, new, rules) {
        CellVerdict::Different(found) => found.into_iter().map(|one| one.part).collect(),
        CellVerdict::Same => Vec::new(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn pictures_are_compared_by_the_caller() {
    let (old, new) = (
        json!([data(&json!({"image/png": "YQ==\n"}))]),
        json!([data(&json!({"image/png": "Yg=="}))]),
    );
    let seen = std::cell::RefCell::new(Vec::new());
    let look = |both: &Pictures<'_>| {
        seen.borrow_mut().push((both.mime.to_owned(), both.old.to_owned(), both.new.to_owned()));
        None
    };
    let (old, new) = (notebook(&[cell("x", &[], &old)]), notebook(&[cell("x", &[], &new)]));
    let found = compare(&old, &new, &CompareRules::default(), &look);
    assert_eq!(found[0].verdict, CellVerdict::Same);
    assert_eq!(seen.into_inner(), [("image/png".to_owned(), "YQ==".to_owned(), "Yg==".to_owned())]);
}

#[test]
fn a_cell_says_itself_how_it_is_checked() {
    let (old, new) = (json!([stream("stdout", "1")]), json!([stream("stdout", "2")]));
    let lax = CompareRules { which: CompareScope::Marked, ..CompareRules::default() };
    let exact = CompareRules::default();
    let different = |verdict: &CellVerdict| matches!(verdict, CellVerdict::Different(_));
    for source in [
        "# NBVAL_IGNORE_OUTPUT\nx",
        "x\n  ## NBVAL_IGNORE_OUTPUT",
        "#PYTEST_VALIDATE_IGNORE_OUTPUT",
    ] {
        assert_eq!(
            verdict_of_cell(source, &[], &old, &new, &exact),
            CellVerdict::Ignored,
            "{source}"
        );
    }
    for source in ["'NBVAL_IGNORE_OUTPUT'", "# nbval_ignore_output", "# NBVAL_IGNORE_OUTPUT?"] {
        assert!(different(&verdict_of_cell(source, &[], &old, &new, &exact)), "{source}");
    }
    let tagged = |tag: &str, rules: &CompareRules| verdict_of_cell("x", &[tag], &old, &new, rules);
    assert_eq!(tagged("nbval-ignore-output", &exact), CellVerdict::Ignored);
    assert_eq!(tagged("nbval-skip", &exact), CellVerdict::Skipped);
    assert_eq!(tagged("skip-execution", &exact), CellVerdict::Skipped);
    assert_eq!(tagged("other", &lax), CellVerdict::Ignored);
    assert!(different(&tagged("nbval-check-output", &lax)));
    assert!(different(&tagged("other", &exact)));
    // A failure counts even if outputs are not compared.
    let error = json!([failed("KeyError", "'a'")]);
    for tag in ["nbval-ignore-output", "other"] {
        let verdict = verdict_of_cell("x", &[tag], &old, &error, &exact);
        let (name, value) = ("KeyError".to_owned(), "'a'".to_owned());
        assert_eq!(verdict, CellVerdict::Failed { name, value }, "{tag}");
    }
    for tag in ["raises-exception", "nbval-raises-exception"] {
        assert!(different(&verdict_of_cell("x", &[tag], &old, &error, &exact)), "{tag}");
        assert_eq!(verdict_of_cell("x", &[tag], &error, &error, &exact), CellVerdict::Same);
    }
    assert_eq!(verdict_of(&error, &error, &exact), CellVerdict::Same);
}

#[test]
fn cells_without_code_are_not_compared() {
    let text = json!({"cell_type": "markdown", "id": "m", "metadata": {}, "source": "# t"});
    let book = notebook(&[text, cell("  \n", &[], &json!([])), cell("x", &[], &json!([]))]);
    let found = compare(&book, &book, &CompareRules::default(), &never);
    assert_eq!(found.iter().map(|one| one.cell.index).collect::<Vec<_>>(), [2]);
}

#[test]
fn numbers_within_the_tolerance_are_the_same() {
    for (one, two, wanted) in [
        ("1.0", "1.0001", true),
        ("1.0", "1.1", false),
        ("loss: 0.12345 (3)", "loss: 0.12346 (3)", true),
        ("loss: 0.12345", "acc: 0.12345", false),
        ("1e-30", "2e-30", true),
        ("[ 1.00001 10.]", "[1.00002  10.]", true),
        ("x1 = 1", "x2 = 1", false),
        ("a-1.00001", "a-1.00002", true),
        ("5-1.00001", "5-1.00002", true),
        ("-0.00000001", "0.00000001", true),
        ("nan", "nan", true),
        ("nan", "1.0", false),
        ("1.0", "1.0 2.0", false),
        ("3.11.4", "3.11.5", false),
        ("100", "101", false),
        ("é 2.00001", "é 2.00002", true),
        ("1.", "1.0", true),
        ("", "", true),
    ] {
        let (old, new) = (json!([stream("stdout", one)]), json!([stream("stdout", two)]));
        let rules = rules(1e-3, 1e-6);
        assert_eq!(parts_of(&old, &new, &rules).is_empty(), wanted, "{one} {two}");
        assert_eq!(parts_of(&new, &old, &rules).is_empty(), wanted, "{two} {one}");
    }
}

#[test]
fn patterns_and_parts_can_be_left_out() {
    let pattern = |text: &str| Regex::new(text).unwrap();
    let rules = CompareRules {
        ignore: vec![pattern("0x[0-9a-f]+"), pattern(r"took \d+ ms\n")],
        skip: vec!["stderr".to_owned()],
        ..CompareRules::default()
    };
    for (old, new, wanted) in [
        (
            json!([stream("stdout", "<A at 0x7f01>")]),
            json!([stream("stdout", "<A at 0x7fff>")]),
            true,
        ),
        (
            json!([stream("stdout", "<A at 0x7f01>")]),
            json!([stream("stdout", "<B at 0x7f01>")]),
            false,
        ),
        (json!([stream("stdout", "took 5 ms\n")]), json!([]), true),
        (json!([stream("stderr", "a")]), json!([stream("stderr", "b")]), true),
    ] {
        assert_eq!(parts_of(&old, &new, &rules).is_empty(), wanted, "{old} {new}");
    }
}

#[test]
fn a_difference_shows_the_lines_that_differ() {
    let old = json!([stream("stdout", "a\nb\nc\nd\ne\n")]);
    let new = json!([stream("stdout", "a\nb\nC\nd\ne\n")]);
    let CellVerdict::Different(found) = verdict_of(&old, &new, &CompareRules::default()) else {
        panic!("they differ");
    };
    let lines: Vec<String> = found[0]
        .how
        .lines()
        .iter()
        .map(|(side, line)| match side {
            None => format!(" {line}"),
            Some(RunSide::Old) => format!("-{line}"),
            Some(RunSide::New) => format!("+{line}"),
        })
        .collect();
    assert_eq!(lines, [" b", "-c", "+C", " d"]);
}

/// The outputs of a run, before they are in a file, by the same rules. Marks of the cell do not count.
#[test]
fn new_outputs_compare_with_stored_ones() {
    let differing = |stored: &Value, new: &[Value]| -> Vec<String> {
        let book = notebook(&[cell("x", &["nbval-ignore-output"], stored)]);
        let new: Vec<NbOutput> =
            new.iter().map(|output| NbOutput::from_json(&output.to_string()).unwrap()).collect();
        let rules = CompareRules::default();
        let found = compare_outputs(&book.cell(0).unwrap(), &new, &rules, &never);
        found.into_iter().map(|one| one.part).collect()
    };
    let stored = json!([stream("stdout", "a\nb\n"), data(&json!({"text/plain": ["7"]}))]);
    let pieces =
        [stream("stdout", "a\n"), stream("stdout", "b\n"), data(&json!({"text/plain": "7"}))];
    assert!(differing(&stored, &pieces).is_empty());
    assert_eq!(differing(&stored, &pieces[..2]), ["text/plain"]);
    assert_eq!(differing(&json!([]), &[stream("stderr", "a")]), ["stderr"]);
    assert_eq!(differing(&stored, &[]), ["stdout", "text/plain"]);
}

#[test]
fn a_notebook_without_counts_and_outputs_was_never_run() {
    let fresh = |outputs: Value| {
        let mut made = cell("x", &[], &outputs);
        made["execution_count"] = Value::Null;
        notebook(&[made])
    };
    assert!(is_never_run(&fresh(json!([]))));
    assert!(!is_never_run(&fresh(json!([stream("stdout", "a")]))));
    assert!(!is_never_run(&notebook(&[cell("x", &[], &json!([]))])));
    assert!(!is_never_run(&notebook(&[])), "there is nothing to run");
}

fn text_of_numbers() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<f64>().prop_map(|number| number.to_string()),
        (-1000..1000i32).prop_map(|number| number.to_string()),
        "[a-z é.+e-]{0,4}".prop_map(|word| word),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.join(""))
}

fn outputs() -> impl Strategy<Value = Value> {
    let output = prop_oneof![
        ("std(out|err)", text_of_numbers()).prop_map(|(name, text)| stream(&name, &text)),
        text_of_numbers().prop_map(|text| data(&json!({"text/plain": text}))),
        "[a-d]{1,4}".prop_map(|text| data(&json!({"image/png": text, "text/plain": "<Figure>"}))),
        "[a-b]".prop_map(|value| failed("E", &value)),
    ];
    prop::collection::vec(output, 0..4).prop_map(Value::Array)
}

proptest! {
    /// Everything equals itself, and the order of the two sides does not change the verdict.
    #[test]
    fn comparing_is_reflexive_and_symmetric(one in outputs(), two in outputs(), rtol in 0.0..0.5f64) {
        let lax = ["raises-exception"];
        for rules in [CompareRules::default(), rules(rtol, 0.5)] {
            let same = verdict_of_cell("x", &lax, &one, &one, &rules);
            prop_assert_eq!(same, CellVerdict::Same);
            let there = verdict_of_cell("x", &lax, &one, &two, &rules) == CellVerdict::Same;
            let back = verdict_of_cell("x", &lax, &two, &one, &rules) == CellVerdict::Same;
            prop_assert_eq!(there, back);
        }
    }

    /// Equal texts are equal with any tolerance, and more tolerance never finds more differences.
    #[test]
    fn more_tolerance_finds_less(one in outputs(), two in outputs(), rtol in 0.0..0.2f64, more in 0.0..0.2f64) {
        let strict = verdict_of_cell("x", &["raises-exception"], &one, &two, &rules(rtol, 0.0));
        let loose = verdict_of_cell("x", &["raises-exception"], &one, &two, &rules(rtol + more, 0.1));
        prop_assert!(strict != CellVerdict::Same || loose == CellVerdict::Same);
    }
}
