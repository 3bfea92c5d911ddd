use inkcell_engine::notebook::{ParameterLanguage, parameters_cell};

use super::*;
use crate::args::Word;

fn lines(given: &Parameters) -> String {
    let cell = parameters_cell(given, ParameterLanguage::Python).unwrap();
    cell.strip_prefix("# Parameters\n").unwrap().to_owned()
}

fn word(name: &str, value: &str) -> Word {
    Word { name: name.to_owned(), value: value.to_owned() }
}

#[test]
fn a_word_is_what_it_is_to_papermill() {
    for (given, wanted) in [
        ("True", "True"),
        ("true", "\"true\""),
        ("None", "None"),
        ("1", "1"),
        ("-1", "-1"),
        ("+1", "1"),
        (" 1 ", "1"),
        ("007", "7"),
        ("1_000", "1000"),
        ("_1", "\"_1\""),
        ("1__0", "\"1__0\""),
        ("0x10", "\"0x10\""),
        ("1.5", "1.5"),
        (".5", "0.5"),
        ("5.", "5.0"),
        ("1e3", "1000.0"),
        ("1_0.5", "10.5"),
        ("1e400", "float('inf')"),
        ("nan", "float('nan')"),
        ("-Infinity", "float('-inf')"),
        ("info", "\"info\""),
        ("", "\"\""),
        ("a b", "\"a b\""),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
    ] {
        let all: Parameters = [("x".to_owned(), of_word(given))].into_iter().collect();
        assert_eq!(lines(&all), format!("x = {wanted}\n"), "{given:?}");
    }
}

#[test]
fn what_is_more_exact_counts_more() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.yaml"), "a: file\nb: file\nc: file\nd: file\n").unwrap();
    let encode = |text: &str| base64::engine::general_purpose::STANDARD_NO_PAD.encode(text);
    let args = ParameterArgs {
        words: vec![word("c", "word"), word("d", "word")],
        raw: vec![word("d", "1")],
        files: vec!["p.yaml".into()],
        yaml: vec!["b: yaml\nc: yaml".to_owned()],
        base64: vec![encode("z: 0\na: base64")],
    };
    let all = given(&args, folder.path()).unwrap();
    assert_eq!(lines(&all), "z = 0\na = \"file\"\nb = \"yaml\"\nc = \"word\"\nd = \"1\"\n");
}

#[test]
fn files_are_read_by_the_end_of_their_name() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        of_file(&path).map(|given| lines(&given))
    };
    for (name, text, wanted) in [
        (
            "a.json",
            "{\"b\": 1e5, \"a\": [1.0, null, \"é\"], \"n\": 123456789012345678901}",
            "b = 100000.0\na = [1.0, None, \"\\xe9\"]\nn = 123456789012345678901\n",
        ),
        ("a.json", "{\"b\": {\"k\": {}}, \"b\": true}", "b = True\n"),
        (
            "a.toml",
            "b = 1\na = 1.5\nt = 2024-01-02\nh = 0x1f\ni = inf\n[s]\nk = ['x', 1_000]\n",
            "b = 1\na = 1.5\nt = \"2024-01-02\"\nh = 31\ni = float('inf')\ns = {\"k\": [\"x\", 1000]}\n",
        ),
        ("a.yml", "\u{feff}a: 1", "a = 1\n"),
        ("a.txt", "a: yes", "a = True\n"),
        ("empty.toml", "", ""),
    ] {
        assert_eq!(read(name, text), Ok(wanted.to_owned()), "{name}: {text}");
    }
    for (name, text, wanted) in [
        ("a.json", "{\"a\": }", "this is not JSON: "),
        ("a.json", "[1]", "give parameters as names with values"),
        ("a.toml", "a = 1\nb = ", "this is not TOML, at line 2: "),
        ("a.yaml", "a: [", "this is not YAML, at line "),
    ] {
        let problem = read(name, text).unwrap_err();
        assert!(problem.starts_with(wanted), "{name}: {problem}");
    }
    assert!(
        of_file(&folder.path().join("none.yaml")).unwrap_err().starts_with("it cannot be read: ")
    );
    let deep = format!("{{\"a\": {}1{}}}", "[".repeat(60), "]".repeat(60));
    assert_eq!(read("deep.json", &deep), Err(TOO_DEEP.to_owned()));
    let deep = format!("a = {}1{}", "[".repeat(60), "]".repeat(60));
    assert_eq!(read("deep.toml", &deep), Err(TOO_DEEP.to_owned()));
}

#[test]
fn what_is_no_base64_is_told() {
    assert!(of_base64("a?b").unwrap_err().starts_with("this is not base64 ("));
    assert_eq!(
        of_base64("gIA=").unwrap_err(),
        "the encoded value is not text; encode YAML, as in: base64 -w0 values.yaml"
    );
}
