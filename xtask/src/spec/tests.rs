//! Tests the spec chore on small samples of its three inputs.

use super::*;

const BEHAVIOUR: &str = "\
# Behaviour
- an ordinary item
- N-01 Editing never starts a kernel. (S0)
- N-04 The reference writes no final newline.
- X-09b A suffix.
- W-01 A weakness of another program.
  - N-99 nested, no statement
- N-1 one digit, no statement
";

const RELIABILITY: &str = "\
| id | pri | what |
| --- | --- | --- |
| F-060 | P0 | crash enumeration | count calls | old or new |
| S-044 | P0 | artifact ids | `a|b` | refused |
| CVE-1 | x | y | F-061 |
";

fn id(text: &str) -> Id {
    Id::parse(text).unwrap()
}

fn statements() -> Vec<Statement> {
    let mut all = documents::parse_behaviour(BEHAVIOUR);
    all.extend(documents::parse_reliability(RELIABILITY));
    all
}

fn places(path: &str, text: &str) -> Vec<String> {
    let found = mentions::in_file(path, text);
    found.into_iter().map(|mention| format!("{} {}", mention.name, mention.place)).collect()
}

#[test]
fn ids_are_read_in_the_spelling_of_the_documents() {
    for good in ["N-01", "X-09b", "F-060", "W-26"] {
        assert_eq!(id(good).to_string(), good);
    }
    for bad in ["N-1", "N-001", "F-60", "n-01", "NN-01", "N01", "N-0x", "N-+1", "", "N-é"] {
        assert_eq!(Id::parse(bad), None, "{bad}");
    }
    assert!(id("X-09") < id("X-09b") && id("X-09b") < id("X-10"));
}

#[test]
fn statements_are_read_from_lists_and_tables() {
    let read: Vec<_> = statements().iter().map(|s| format!("{}: {}", s.id, s.text)).collect();
    assert_eq!(
        read,
        [
            "N-01: Editing never starts a kernel. (S0)",
            "N-04: The reference writes no final newline.",
            "X-09b: A suffix.",
            "W-01: A weakness of another program.",
            "F-060: crash enumeration",
            "S-044: artifact ids",
        ]
    );
}

#[test]
fn reasons_are_read_from_the_table_and_bad_rows_are_faults() {
    let text = "\
Prose.
| statement | what | why |
| --- | --- | --- |
| N-04 | difference | keeps what `a | b` was |
| X-09b, `N-01` | later | sessions |
| N-05; N-06 | elsewhere | list with the wrong mark |
| N-07 | sometimes | no such word |
| N-08 | difference | |
| N-04 | elsewhere | again |
";
    let mut faults = Vec::new();
    let reasons = documents::parse_reasons(text, &mut faults);
    assert_eq!(reasons[&id("X-09b")].kind, ReasonKind::Later);
    assert_eq!(reasons[&id("N-01")].text, "sessions");
    let said = faults.join("\n");
    assert_eq!(faults.len(), 4, "{said}");
    for part in ["N-05; N-06", "sometimes", "no reason given: | N-08", "N-04 has two reasons"] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn a_mention_belongs_to_the_function_around_it_or_the_next() {
    let text = r##"
//! Laws of saving, F-061.

/// B:N-01
#[test]
fn first<'a>(x: &'a [u8; 3]) -> [u8; 2] {
    let brace = '{';
    let sample = r#"{ "a": "}" "#; // B:N-04
    let quote = '"';
    /* } F-060 /* nested } */ } */
    assert!(true, "}}}} B:V-02");
}

// B:N-05, B:N-06b
proptest! {
    #[test]
    fn second(x in 0..3u8) { check(x) }
}

trait Shape {
    fn no_body(&self) -> [u8; 2];
}
// B:V-03
"##;
    assert_eq!(
        places("crates/notebook/tests/it/save.rs", text),
        [
            "F-061 notebook::it::save::first",
            "N-01 notebook::it::save::first",
            "N-04 notebook::it::save::first",
            "F-060 notebook::it::save::first",
            "V-02 notebook::it::save::first",
            "N-05 notebook::it::save::second",
            "N-06b notebook::it::save::second",
            "V-03 notebook::it::save",
        ]
    );
}

#[test]
fn in_product_code_only_what_follows_the_test_mark_counts() {
    let text = "\
// B:N-01 is only explained here.
fn product() {}
#[cfg(test)]
mod tests {
    // B:N-04
    #[test]
    fn shown() {}
}
";
    assert_eq!(places("crates/notebook/src/scan.rs", text), ["N-04 notebook::scan::shown"]);
    let declared = "#[cfg(test)]\nmod tests;\n// B:N-01\nfn product() {}\n";
    assert!(places("crates/notebook/src/scan.rs", declared).is_empty());
    let own = "// B:N-01\nfn shown() {}\n";
    assert_eq!(places("crates/engine/src/edit/tests.rs", own), ["N-01 engine::edit::tests::shown"]);
    assert!(places("crates/engine/src/edit.rs", own).is_empty());
}

#[test]
fn python_tests_count_by_their_name() {
    let text = "\
# B:R-01
def test_start():
    '''F-060'''
    def inner():
        pass

    x = 'B:R-02'

class TestIt:
    # B:R-03
    async def test_async(self):
        pass
";
    assert_eq!(
        places("crates/kernel/python/test_runner.py", text),
        [
            "R-01 kernel::python::test_runner::test_start",
            "F-060 kernel::python::test_runner::test_start",
            "R-02 kernel::python::test_runner::test_start",
            "R-03 kernel::python::test_runner::test_async",
        ]
    );
    assert!(places("crates/kernel/python/runner.py", text).is_empty());
}

#[test]
fn only_the_agreed_spelling_is_a_mention() {
    let text = "// N-01, UTF-160, xF-060, F-0601, AB:N-01, B:N, B:-1\nfn f() {}\n";
    assert_eq!(places("x/tests/a.rs", text), Vec::<String>::new());
    let slips = "// B:n-01 B:N-1 B:N-012 B:N-01bc\nfn f() {}\n";
    let mentions = mentions::in_file("x/tests/a.rs", slips);
    let reasons = BTreeMap::new();
    let report = Report::new(&[], &mentions, &reasons, Vec::new());
    assert_eq!(report.faults.len(), 4, "{:?}", report.faults);
}

#[test]
fn finished_statements_without_test_or_reason_are_open() {
    let documents = statements();
    let mentions =
        mentions::in_file("crates/notebook/tests/a.rs", "// B:N-01 B:V-77 B:W-01\nfn shown() {}\n");
    let mut faults = Vec::new();
    let page =
        "| N-04 | difference | ours keeps it |\n| F-060 | later | soon |\n| N-88 | later | x |";
    let reasons = documents::parse_reasons(page, &mut faults);
    let report = Report::new(&documents, &mentions, &reasons, faults);
    assert_eq!(
        report.faults,
        [
            "unknown: notebook::a::shown names V-77",
            "unknown: docs/reference/source-documents.md names N-88",
            "open: F-060 crash enumeration (`later` does not count here)",
        ]
    );
    assert_eq!(
        report.summary(),
        "spec: 3 statements of finished parts: 1 by test, 1 by reason, 1 open; 2 of later parts"
    );
    let listing = report.listing();
    let lines: Vec<_> = listing.lines().collect();
    assert_eq!(lines.len(), 5, "{listing}");
    assert!(lines[0].starts_with("N-01   Editing") && lines[0].ends_with("  notebook::a::shown"));
    assert!(lines[1].ends_with("  difference: ours keeps it"), "{listing}");
    assert!(lines[2].ends_with("  -"), "{listing}");
}

#[test]
fn prose_must_name_real_statements_and_shows_none() {
    let documents = statements();
    let mentions = mentions::in_prose("See B:N-01 and F-999.", "docs/page.md");
    let reasons = BTreeMap::new();
    let report = Report::new(&documents, &mentions, &reasons, Vec::new());
    assert_eq!(report.faults[0], "unknown: docs/page.md names F-999");
    assert!(report.faults[1].starts_with("open: N-01"), "{:?}", report.faults);
}

#[test]
fn long_statements_are_cut_at_a_character() {
    let cut = shorten(&"é".repeat(200));
    assert_eq!(cut.chars().count(), SHOWN_CHARS + 1);
    assert!(cut.ends_with('…'));
}
