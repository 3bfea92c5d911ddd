use inkcell_testkit::notebooks;

use super::*;
use crate::cell::{CellKind, CellRef, IdSource};
use crate::document::Notebook;
use crate::edit::{EditOp, OutputsAfter, SourceShape};

fn int(number: i64) -> ParameterValue {
    ParameterValue::Int(number.into())
}

fn text(text: &str) -> ParameterValue {
    ParameterValue::Text(text.to_owned())
}

fn one(value: ParameterValue) -> Parameters {
    [("x".to_owned(), value)].into_iter().collect()
}

/// Returns the line that sets a value.
fn line(language: ParameterLanguage, value: ParameterValue) -> String {
    let cell = parameters_cell(&one(value), language).unwrap();
    cell.split_once('\n').unwrap().1.trim_end_matches('\n').to_owned()
}

fn parse(text: &str) -> Notebook {
    Notebook::parse(text.as_bytes().to_vec()).unwrap()
}

/// Makes a notebook whose cells have these tags.
fn tagged(tags: &[&str]) -> Notebook {
    let cell = |(at, tag): (usize, &&str)| {
        let tags = if tag.is_empty() { String::new() } else { format!("\"tags\": [\"{tag}\"]") };
        format!(
            "{{\"cell_type\": \"code\", \"id\": \"cell{at}\", \"execution_count\": null, \
             \"metadata\": {{{tags}}}, \"outputs\": [], \"source\": \"a{at} = 1\"}}"
        )
    };
    let cells: Vec<String> = tags.iter().enumerate().map(cell).collect();
    parse(&format!(
        "{{\"cells\": [{}], \"metadata\": {{}}, \"nbformat\": 4, \"nbformat_minor\": 5}}",
        cells.join(", ")
    ))
}

fn inject(notebook: &mut Notebook, parameters: &Parameters) -> Injection {
    notebook.inject(parameters, ParameterLanguage::Python, &mut IdSource::seeded(3)).unwrap()
}

fn sources(notebook: &Notebook) -> Vec<String> {
    notebook.cells().map(|cell| cell.source().text.into_owned()).collect()
}

#[test]
fn values_stand_after_the_defaults_or_in_place_of_earlier_ones_or_at_the_top() {
    let cases: [(&[&str], usize, InjectionWay); 7] = [
        (&["", "parameters", ""], 2, InjectionWay::AfterDefaults),
        (&["", "parameters", "parameters"], 2, InjectionWay::AfterDefaults),
        (&["parameters", "", "injected-parameters"], 2, InjectionWay::InPlace),
        (&["injected-parameters", "parameters"], 0, InjectionWay::InPlace),
        (&["injected-parameters", "injected-parameters"], 0, InjectionWay::InPlace),
        (&["", ""], 0, InjectionWay::AtTop),
        (&[], 0, InjectionWay::AtTop),
    ];
    for (tags, index, way) in cases {
        let mut notebook = tagged(tags);
        let before = sources(&notebook);
        let injected = inject(&mut notebook, &one(int(5)));
        assert_eq!(injected, Injection { index, way }, "{tags:?}");
        let mut after = sources(&notebook);
        assert_eq!(after.remove(index), "# Parameters\nx = 5\n", "{tags:?}");
        let stayed: Vec<&String> = (0..before.len())
            .filter(|at| way != InjectionWay::InPlace || *at != index)
            .map(|at| &before[at])
            .collect();
        assert_eq!(after.iter().collect::<Vec<_>>(), stayed, "{tags:?}");
        let cell = notebook.cell(index).unwrap();
        assert_eq!(cell.tags(), ["injected-parameters"]);
        assert_eq!(cell.kind(), Some(CellKind::Code));
        // `moved` gives the new position of every cell.
        for (at, source) in before.iter().enumerate() {
            if way != InjectionWay::InPlace || at != index {
                let moved = injected.moved(at);
                assert_eq!(&notebook.cell(moved).unwrap().source().text, source, "{tags:?}");
            }
        }
    }
}

#[test]
fn a_cell_of_values_that_is_no_code_becomes_code() {
    let text = String::from_utf8(tagged(&["injected-parameters"]).to_bytes()).unwrap();
    let text = text.replace("\"code\"", "\"markdown\"");
    let text = text.replace("\"execution_count\": null, ", "").replace("\"outputs\": [], ", "");
    let mut notebook = parse(&text);
    inject(&mut notebook, &one(int(1)));
    assert_eq!(notebook.cell(0).unwrap().kind(), Some(CellKind::Code));
}

/// Laws, on odd notebooks: injecting twice equals injecting the later values once, and other cells keep their
/// bytes.
#[test]
fn putting_values_in_twice_is_putting_the_later_ones_in_once() {
    let mut seen = 0;
    for (name, bytes) in notebooks::odd() {
        let Ok(notebook) = Notebook::parse(bytes.clone()) else { continue };
        if notebook.read_only().is_some() {
            continue;
        }
        seen += 1;
        let (mut once, mut twice) = (notebook.clone(), notebook.clone());
        let later = one(text("later \"é\""));
        let first: Parameters =
            [("x".to_owned(), int(1)), ("y".to_owned(), text("earlier\n"))].into_iter().collect();
        let injected = inject(&mut once, &later);
        inject(&mut twice, &first);
        // If the cell is new, both notebooks are equal; otherwise the cell keeps its first spelling.
        inject(&mut twice, &later);
        assert_eq!(twice.to_bytes(), once.to_bytes(), "{name}");
        let again = once.to_bytes();
        inject(&mut once, &later);
        assert_eq!(once.to_bytes(), again, "{name}: the same values change nothing");
        if injected.way != InjectionWay::InPlace && !notebook.is_empty() {
            let gone = EditOp::Delete { cell: CellRef::Index(injected.index as i64) };
            once.apply(&[gone], &mut IdSource::seeded(3)).unwrap();
            assert_eq!(once.to_bytes(), bytes, "{name}: every other byte is as it was");
        }
    }
    assert!(seen > 5, "{seen}");
}

#[test]
fn a_refused_value_changes_nothing() {
    let mut notebook = tagged(&["parameters"]);
    let before = notebook.to_bytes();
    let map = ParameterValue::Map(Vec::new());
    let refused = notebook.inject(&one(map), ParameterLanguage::Bash, &mut IdSource::seeded(1));
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the parameter x is a mapping, which cannot be written in Bash; give it as text"
    );
    assert_eq!(notebook.to_bytes(), before);
}

#[test]
fn names_that_are_none_are_refused() {
    use ParameterLanguage::{Bash, Matlab, Python, R, Scala};
    let name = |language, name: &str| {
        let given: Parameters = [(name.to_owned(), int(1))].into_iter().collect();
        parameters_cell(&given, language).map_err(|error| error.to_string())
    };
    for (language, good) in [
        (Python, "größe_2"),
        (Python, "_x"),
        (Python, "match"),
        (R, "a.b"),
        (R, ".hidden"),
        (R, "_dropped"),
        (Scala, "x"),
        (Bash, "X"),
    ] {
        name(language, good).unwrap_or_else(|error| panic!("{good}: {error}"));
    }
    for (language, bad) in [
        (Python, ""),
        (Python, "2x"),
        (Python, "a.b"),
        (Python, "a b"),
        (Python, "a=1;b"),
        (Python, "x\n"),
        (R, "___"),
        (R, ".2"),
        (Matlab, "größe"),
        (Bash, "a-b"),
    ] {
        let error = name(language, bad).unwrap_err();
        assert!(error.contains("cannot be the name of a parameter"), "{bad:?}: {error}");
    }
    assert_eq!(
        name(Python, "class").unwrap_err(),
        "class is a reserved word of Python and cannot name a parameter; choose another name"
    );
    assert_eq!(name(R, "__x").unwrap(), "# Parameters\nx = 1\n");
}

#[test]
fn a_language_is_known_by_its_kernel_and_then_by_its_name() {
    use ParameterLanguage::{Bash, CSharp, FSharp, Julia, Matlab, PowerShell, Python, R, Scala};
    for (kernel, language, wanted) in [
        (None, None, Python),
        (Some("python3"), Some("python"), Python),
        (Some("my-env"), Some("python"), Python),
        (Some("ir"), Some("R"), R),
        (Some("sparkkernel"), Some("python"), Scala),
        (Some("julia-1.10"), None, Julia),
        (Some(".net-csharp"), Some("polyglot-notebook"), CSharp),
        (Some(".net-fsharp"), None, FSharp),
        (None, Some("PowerShell"), PowerShell),
        (None, Some("matlab"), Matlab),
        (Some("bash"), None, Bash),
    ] {
        assert_eq!(ParameterLanguage::of(kernel, language), Ok(wanted), "{kernel:?} {language:?}");
    }
    let unknown = ParameterLanguage::of(Some("xcpp17"), Some("C++")).unwrap_err().to_string();
    assert_eq!(
        unknown,
        "parameters cannot be written in C++; they can be in Python, R, Scala, Julia, MATLAB, C#, F#, PowerShell \
         and Bash"
    );
}

#[test]
fn numbers_are_written_as_python_writes_them() {
    for (number, wanted) in [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (0.1, "0.1"),
        (1e15, "1000000000000000.0"),
        (1e16, "1e+16"),
        (1.5e300, "1.5e+300"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1.25e-7, "1.25e-07"),
        (5e-324, "5e-324"),
        (f64::NAN, "nan"),
        (f64::NEG_INFINITY, "-inf"),
    ] {
        assert_eq!(value::format_float(number), wanted);
    }
    for (given, wanted) in [
        ("007", Some("7")),
        ("-0", Some("0")),
        ("+12", Some("12")),
        ("", None),
        ("-", None),
        ("1.0", None),
    ] {
        let found = WholeNumber::parse(given);
        assert_eq!(found.as_ref().map(WholeNumber::as_str), wanted, "{given}");
    }
}

/// Papermill writes another value or invalid code for these texts; inkcell writes the value.
#[test]
fn text_that_a_language_would_read_differently_is_written_its_way() {
    use ParameterLanguage::{Bash, CSharp, FSharp, Julia, Matlab, PowerShell, R, Scala};
    for (language, value, wanted) in [
        (R, text("é"), "x = \"\\u00e9\""),
        (Julia, text("a$b é"), "x = \"a\\$b \\u00e9\""),
        (Scala, text("é😀"), "val x = \"\\u00e9\\ud83d\\ude00\""),
        (CSharp, text("é\u{1}a"), "var x = \"\\u00e9\\u0001a\";"),
        (FSharp, text("😀"), "let x = \"\\U0001f600\""),
        (PowerShell, text("a\\b $c `d`\n\u{1b}"), "$x = \"a\\b `$c ``d```n$([char]27)\""),
        (Matlab, text("C:\\a"), "x = \"C:\\a\";"),
        (Matlab, text("\na"), "x = \"\" + char(10) + \"a\";"),
        (
            Matlab,
            ParameterValue::Map(vec![("a\tb".to_owned(), int(1))]),
            "x = containers.Map({['a', char(9), 'b']}, {1});",
        ),
        (Scala, ParameterValue::Float(f64::NAN), "val x = Double.NaN"),
        (R, ParameterValue::Float(f64::NEG_INFINITY), "x = -Inf"),
        (CSharp, ParameterValue::Null, "object x = null;"),
        (
            CSharp,
            ParameterValue::List(vec![int(1), text("a")]),
            "var x = new object[] { 1, \"a\" };",
        ),
        (CSharp, ParameterValue::List(Vec::new()), "var x = new object[] {  };"),
        (Bash, ParameterValue::List(vec![ParameterValue::Null, int(1)]), "x=('' 1)"),
        (
            Scala,
            ParameterValue::Int(WholeNumber::parse("9223372036854775808").unwrap()),
            "val x = BigInt(\"9223372036854775808\")",
        ),
    ] {
        assert_eq!(line(language, value), wanted, "{language}");
    }
    let nested = ParameterValue::List(vec![ParameterValue::List(Vec::new())]);
    let refused = parameters_cell(&one(nested), Bash).unwrap_err().to_string();
    assert!(refused.starts_with("the parameter x is a list with lists"), "{refused}");
}

#[test]
fn values_as_json_keep_what_json_can_hold() {
    let given: Parameters = [
        ("a".to_owned(), int(-3)),
        ("b".to_owned(), ParameterValue::Float(1.0)),
        ("c".to_owned(), ParameterValue::Float(f64::NAN)),
        ("d".to_owned(), ParameterValue::Int(WholeNumber::parse("18446744073709551616").unwrap())),
        ("é\"".to_owned(), ParameterValue::Map(vec![("k".to_owned(), ParameterValue::Null)])),
        ("f".to_owned(), ParameterValue::List(vec![ParameterValue::Bool(true), text("\n")])),
    ]
    .into_iter()
    .collect();
    assert_eq!(
        given.to_json(),
        "{\"a\": -3, \"b\": 1.0, \"c\": \"nan\", \"d\": \"18446744073709551616\", \"é\\\"\": {\"k\": null}, \
         \"f\": [true, \"\\n\"]}"
    );
    serde_json::from_str::<serde_json::Value>(&given.to_json()).unwrap();
}

/// Formats each definition as `name|type|default|help`.
fn describe(source: &str) -> Vec<String> {
    let shown = |found: &Parameter| {
        let declared = found.declared.as_deref().unwrap_or("-");
        format!("{}|{declared}|{}|{}", found.name, found.default, found.help)
    };
    inspect::read_definitions(source).iter().map(shown).collect()
}

#[test]
fn parameters_are_read_with_annotations_and_comments() {
    for (source, wanted) in [
        ("a = 1", vec!["a|-|1|"]),
        ("a: int = 1", vec!["a|int|1|"]),
        ("a: 'int' = 1  # How many", vec!["a|int|1|How many"]),
        ("a = 1 # type: int", vec!["a|int|1|"]),
        ("a = 1  # type: int  How many", vec!["a|int|1|How many"]),
        (
            "a: List[str] = ['x',\n  'y'  # not this\n]  # these",
            vec!["a|List[str]|['x','y']|these"],
        ),
        ("# a = 1\n\nb = 2", vec!["b|-|2|"]),
        ("a = 'x=y'", vec!["a|-|'x=y'|"]),
        ("a = '#fff'  # colour", vec!["a|-|'#fff'|colour"]),
        ("a = f(x=1)", vec!["a|-|f(x=1)|"]),
        ("a = b = 3", vec!["a|-|3|", "b|-|3|"]),
        ("a = 1; b = 2  # both", vec!["a|-|1|both", "b|-|2|both"]),
        ("a: dict[str, int] = {'k': 1}", vec!["a|dict[str, int]|{'k': 1}|"]),
        ("a: pd.DataFrame = None", vec!["a|pd.DataFrame|None|"]),
        ("a = \"\"\"one\ntwo\"\"\"", vec!["a|-|\"\"\"one\ntwo\"\"\"|"]),
        ("a = 1 + \\\n  2", vec!["a|-|1 + 2|"]),
        ("a = 1\r\nb = 2", vec!["a|-|1|", "b|-|2|"]),
        (
            "import os\na += 1\nx.y = 1\na, b = 1, 2\nif a == 1:\n    c = 2\n%time d = 1\nprint(e)",
            vec![],
        ),
        ("a == b", vec![]),
        ("a: int", vec![]),
        ("größe = 1", vec!["größe|-|1|"]),
        ("", vec![]),
    ] {
        assert_eq!(describe(source), wanted, "{source}");
    }
}

#[test]
fn a_type_that_is_not_written_is_seen_from_the_default() {
    for (default, wanted) in [
        ("1", Some("int")),
        ("-1_000", Some("int")),
        ("0x1f", Some("int")),
        ("1.5", Some("float")),
        ("1e5", Some("float")),
        ("True", Some("bool")),
        ("None", Some("None")),
        ("'a'", Some("str")),
        ("r\"a\"", Some("str")),
        ("'a' + 'b'", None),
        ("[1, 2]", Some("list")),
        ("[1] + [2]", None),
        ("{}", Some("dict")),
        ("{'a': 1}", Some("dict")),
        ("{1, 2}", None),
        ("{':'}", None),
        ("date.today()", None),
        ("'", None),
    ] {
        let found = inspect::read_definitions(&format!("x = {default}"));
        let kind = found.first().and_then(Parameter::type_name);
        assert_eq!(kind, wanted, "{default}");
    }
}

#[test]
fn of_a_name_that_is_set_twice_the_later_default_counts() {
    let mut notebook = tagged(&["parameters"]);
    let op = EditOp::Replace {
        cell: CellRef::Index(0),
        source: "a = 1\nb = 2\na = 3  # last".to_owned(),
        kind: None,
        outputs: OutputsAfter::Keep,
        shape: SourceShape::Keep,
    };
    notebook.apply(&[op], &mut IdSource::seeded(1)).unwrap();
    let found = notebook.parameters(ParameterLanguage::Python).unwrap();
    let names: Vec<(&str, &str)> = found.iter().map(|p| (&*p.name, &*p.default)).collect();
    assert_eq!(names, [("a", "3"), ("b", "2")]);
    let refused = |notebook: &Notebook, language| notebook.parameters(language).unwrap_err();
    let r = ParameterLanguage::R;
    assert_eq!(refused(&notebook, r), NoParameters::Language(r));
    assert_eq!(refused(&tagged(&[""]), ParameterLanguage::Python), NoParameters::NoCell);
}

/// An error names the line of code that cannot be Python; code that may be Python passes.
#[test]
fn a_broken_cell_is_told_by_its_line() {
    let (open, text) = ("a bracket is not closed", "a text is not closed");
    let (name, side) = (
        "the left side of an assignment is not a name",
        "something is missing next to an equals sign",
    );
    for (source, wanted) in [
        ("x = (1,\ny = 2", Some((1, open))),
        ("a = 1\nx = [1, 2\ny = 3\nz = 4", Some((2, open))),
        ("x = 1)", Some((1, "a bracket is closed that is not open"))),
        ("x = (1]", Some((1, "a bracket is closed that is not open"))),
        ("a = 1\n\nx = 'abc\ny = 3", Some((3, text))),
        ("\"\"\"\nx = 1", Some((1, text))),
        ("x =", Some((1, side))),
        ("x = = 3", Some((1, side))),
        ("x = 1 +", Some((1, "something is missing after an operator"))),
        ("a b = 3", Some((1, name))),
        ("year = 2024 region = 'a'", Some((1, name))),
        ("1x = 3", Some((1, name))),
        ("for = 3", Some((1, name))),
        ("x = 1.\ny = ...\nz = 'it\\'s'  # (\nd = {'a': [1,\n 2]}", None),
        ("if x: y = 1\nelse: y = 2\nf = lambda a=1: a\nx: int = 3\na = b = 4; c = 5", None),
        ("def f(a=1):\n    b = a\n    return b\nx.y = 1\nx[0] = 2\na, b = 1, 2\n*c, d = a", None),
        ("type X = int\nx = '''a\nb'''\ny = 'a\\\nb'\nz = f'{x}' 'more'\nassert x == 1", None),
        ("%time x = 1\n!ls (\nx = !ls", None),
    ] {
        assert_eq!(inspect::find_fault(source), wanted, "{source}");
    }
    let mut markdown = tagged(&["parameters"]);
    let op = EditOp::SetKind { cell: CellRef::Index(0), kind: CellKind::Markdown };
    markdown.apply(&[op], &mut IdSource::seeded(0)).unwrap();
    let told = markdown.parameters(ParameterLanguage::Python).unwrap_err().to_string();
    let wanted = "cell 0 has the tag parameters but is not code (markdown); tag the code cell that sets \
         the defaults";
    assert_eq!(told, wanted);
}

/// R refuses a text with both `\x` and `\u`, so inkcell never writes one.
#[test]
fn texts_of_r_have_one_kind_of_escape() {
    let text = || ParameterValue::Text("\u{1}\u{e9}\u{2028}\u{1f600}\n".to_owned());
    let wanted = r#"x = "\u0001\u00e9\u2028\U0001f600\n""#;
    assert_eq!(line(ParameterLanguage::R, text()), wanted);
    let text = ParameterValue::Text("\u{1}\n".to_owned());
    assert_eq!(line(ParameterLanguage::R, text), r#"x = "\x01\n""#);
}
