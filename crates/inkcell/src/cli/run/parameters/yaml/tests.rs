use super::*;

/// The values of a text, as the lines of a Python cell.
fn lines(text: &str) -> Result<String, Problem> {
    use inkcell_engine::notebook::{ParameterLanguage, parameters_cell};
    let cell = parameters_cell(&parameters(text)?, ParameterLanguage::Python).unwrap();
    Ok(cell.strip_prefix("# Parameters\n").unwrap().to_owned())
}

/// PyYAML's types of words, which differ from those of YAML 1.2.
#[test]
fn words_mean_what_they_mean_to_pyyaml() {
    for (word, wanted) in [
        ("1", "1"),
        ("-12", "-12"),
        ("+12", "12"),
        ("1_000", "1000"),
        ("017", "15"),
        ("08", "\"08\""),
        ("0o17", "\"0o17\""),
        ("0x1F", "31"),
        ("0b101", "5"),
        ("1:30", "90"),
        ("-1:30:00", "-5400"),
        ("1.5", "1.5"),
        ("1.", "1.0"),
        (".5", "0.5"),
        ("-.5", "\"-.5\""),
        ("1e5", "\"1e5\""),
        ("1.0e5", "\"1.0e5\""),
        ("1.0e+5", "100000.0"),
        ("1:30.5", "90.5"),
        (".inf", "float('inf')"),
        ("-.INF", "float('-inf')"),
        (".NaN", "float('nan')"),
        ("nan", "\"nan\""),
        ("true", "True"),
        ("Yes", "True"),
        ("OFF", "False"),
        ("yEs", "\"yEs\""),
        ("y", "\"y\""),
        ("~", "None"),
        ("null", "None"),
        ("Null", "None"),
        ("None", "\"None\""),
        ("", "None"),
        ("2024-01-02", "\"2024-01-02\""),
        ("a word", "\"a word\""),
        ("'1'", "\"1\""),
        ("\"yes\"", "\"yes\""),
        ("!!str 1", "\"1\""),
        ("!!float 1", "1.0"),
        ("!!int '7'", "7"),
        ("!!bool 'no'", "False"),
        ("!!null x", "None"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
    ] {
        assert_eq!(lines(&format!("x: {word}")), Ok(format!("x = {wanted}\n")), "{word}");
    }
}

#[test]
fn lists_mappings_anchors_and_merges_are_values() {
    for (text, wanted) in [
        ("x: [1, a, [true]]", "x = [1, \"a\", [True]]\n"),
        ("x:\n- 1\n- b: 2\n", "x = [1, {\"b\": 2}]\n"),
        (
            "x: {1: a, true: b, ~: c, 1.5: d}",
            "x = {\"1\": \"a\", \"True\": \"b\", \"None\": \"c\", \"1.5\": \"d\"}\n",
        ),
        ("a: &v [1]\nb: *v", "a = [1]\nb = [1]\n"),
        (
            "a: &d {k: 1, l: 2}\nb: {<<: *d, l: 3}",
            "a = {\"k\": 1, \"l\": 2}\nb = {\"k\": 1, \"l\": 3}\n",
        ),
        (
            "a: &d {k: 1}\nb: &e {k: 2, m: 4}\nc: {<<: [*d, *e]}",
            "a = {\"k\": 1}\nb = {\"k\": 2, \"m\": 4}\nc = {\"k\": 1, \"m\": 4}\n",
        ),
        ("a: 1\nb: 2\na: 3", "a = 3\nb = 2\n"),
        ("a: |\n  one\n  two\n", "a = \"one\\ntwo\\n\"\n"),
        ("{\"a\": 1, \"b\": [null]}", "a = 1\nb = [None]\n"),
        ("--- \na: 1\n...\n", "a = 1\n"),
        ("", ""),
        ("# nothing\n", ""),
        ("~", ""),
    ] {
        assert_eq!(lines(text), Ok(wanted.to_owned()), "{text}");
    }
}

#[test]
fn what_is_no_set_of_parameters_is_told_in_a_sentence() {
    for (text, wanted) in [
        ("[1, 2]", "give parameters as names with values, such as year: 2024; this is a list"),
        ("year", "give parameters as names with values, such as year: 2024; this is text"),
        ("a: [1", "this is not YAML, at line 2"),
        ("a: 1\n b: 2", "this is not YAML, at line 2"),
        ("a: 1\n---\nb: 2", "it holds more than one document; give one"),
        (
            "a: !!python/object:os.system x",
            "!!python/object:os.system is not a type of a parameter",
        ),
        ("a: !own x", "!own is not a type of a parameter"),
        ("a: !!int x", "\"x\" is tagged as !!int, but is not one"),
        ("? [1, 2]\n: x", "a key must be a single word; one is a list"),
        ("a: &x [*x]", "an alias is inside the value that it names"),
        ("a: *nowhere", "this is not YAML"),
        ("a: {<<: 1}", "<< is for a mapping"),
    ] {
        let problem = lines(text).unwrap_err();
        assert!(problem.starts_with(wanted), "{text}: {problem}");
    }
}

#[test]
fn neither_depth_nor_repeated_aliases_run_away() {
    let deep = |depth: usize| format!("a: {}1{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parameters(&deep(MAX_PARAMETER_DEPTH - 1)).is_ok());
    assert_eq!(parameters(&deep(200)).unwrap_err(), TOO_DEEP);
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let before = format!("*a{}", level - 1);
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", [before.as_str(); 10].join(", ")));
    }
    assert!(parameters(&bomb).unwrap_err().contains("200000 values"));
}
