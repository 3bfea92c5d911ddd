use super::*;

const IDS: [Option<&str>; 7] =
    [Some("abcd1234"), Some("abcd5678"), Some("3"), Some("2024-q1"), None, Some("2"), Some("twin")];

fn candidate(index: usize, id: Option<&str>) -> Candidate {
    Candidate { index, id: id.map(str::to_owned) }
}

fn text(given: &str) -> Result<usize, RefError> {
    resolve(&IDS, &CellRef::Text(given.to_owned()))
}

/// F-074
#[test]
fn a_text_is_an_id_then_a_prefix_then_a_position() {
    let check = |given: &str, expected: usize| assert_eq!(text(given), Ok(expected), "{given}");
    check("abcd1234", 0);
    check("abcd1", 0);
    check("abcd5", 1);
    // Ids that look like numbers are found as ids first.
    check("3", 2);
    check("2", 5);
    check("2024", 3);
    // No id is equal to these, so they are positions.
    check("0", 0);
    check("6", 6);
    check("-1", 6);
    check("-7", 0);
    check("006", 6);
}

/// F-074
#[test]
fn a_number_is_a_position_and_never_an_id() {
    let check = |index: i64, expected: Result<usize, RefError>| {
        assert_eq!(resolve(&IDS, &CellRef::Index(index)), expected, "{index}");
    };
    check(0, Ok(0));
    check(3, Ok(3));
    check(-1, Ok(6));
    check(-7, Ok(0));
    for index in [7, -8, i64::MAX, i64::MIN] {
        check(index, Err(RefError::OutOfRange { given: index.to_string(), count: 7 }));
    }
}

/// F-074
#[test]
fn what_fits_more_than_one_cell_lists_them() {
    let ambiguous = |given: &str, candidates: Vec<Candidate>| RefError::Ambiguous {
        given: given.to_owned(),
        candidates,
    };
    let two = vec![candidate(0, Some("abcd1234")), candidate(1, Some("abcd5678"))];
    assert_eq!(text("abcd"), Err(ambiguous("abcd", two)));

    let twins = [Some("same"), None, Some("same"), Some("same-not")];
    let found = resolve(&twins, &CellRef::Text("same".to_owned())).unwrap_err();
    let expected = vec![candidate(0, Some("same")), candidate(2, Some("same"))];
    assert_eq!(found, ambiguous("same", expected));
    assert_eq!(
        found.to_string(),
        "\"same\" names more than one cell: cell 0 (id same), cell 2 (id same); give the whole id or \
         the position"
    );

    // A prefix that is also a position of another cell.
    let mut many: Vec<Option<&str>> = vec![None; 1001];
    many[3] = Some("1000-abc");
    let found = resolve(&many, &CellRef::Text("1000".to_owned())).unwrap_err();
    let expected = vec![candidate(3, Some("1000-abc")), candidate(1000, None)];
    assert_eq!(found, ambiguous("1000", expected));
}

#[test]
fn what_names_nothing_suggests_the_nearest() {
    let check = |given: &str, nearest: Option<Candidate>| {
        let expected = RefError::Unknown { given: given.to_owned(), nearest, count: 7 };
        assert_eq!(text(given), Err(expected), "{given}");
    };
    check("abcd1243", Some(candidate(0, Some("abcd1234"))));
    check("twinn", Some(candidate(6, Some("twin"))));
    check("zzzz", None);
    // Three characters are too few for a prefix, but the nearest is still named.
    check("twi", Some(candidate(6, Some("twin"))));
    check("", None);
    for given in ["+1", " 1", "1.0", "1e0", "--1", "-"] {
        assert!(matches!(text(given), Err(RefError::Unknown { .. })), "{given}");
    }
    let message = text("abcd1243").unwrap_err().to_string();
    assert!(message.contains("the nearest is cell 0 (id abcd1234)"), "{message}");
    assert!(message.contains("0 to 6"), "{message}");
    assert_eq!(text("99"), Err(RefError::OutOfRange { given: "99".to_owned(), count: 7 }),);
}

#[test]
fn an_empty_notebook_has_no_cell_of_any_name() {
    for cell in [CellRef::Index(0), CellRef::Index(-1), CellRef::Text("abcd".to_owned())] {
        let error = resolve(&[], &cell).unwrap_err();
        assert_eq!(error, RefError::Empty { given: cell.shown() });
        assert!(error.to_string().contains("no cells"), "{error}");
    }
}

/// B:N-38
#[test]
fn ids_have_eight_hexadecimal_digits_and_the_form_nbformat_wants() {
    let mut source = IdSource::seeded(0);
    let made: Vec<CellId> = (0..1000).map(|_| source.next_id()).collect();
    for id in &made {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        assert!(id.as_str().len() == 8 && id.as_str().bytes().all(is_hex), "{id}");
        assert_eq!(CellId::parse(id.as_str()).as_ref(), Some(id));
    }
    let distinct: std::collections::HashSet<_> = made.iter().collect();
    assert!(distinct.len() > 990, "the sequence repeats itself");
    assert_eq!(IdSource::seeded(0).next_id(), made[0]);
    assert_ne!(IdSource::seeded(1).next_id(), made[0]);
}

/// F-074
#[test]
fn ids_that_nbformat_does_not_allow_are_told() {
    let check = |id: &str, expected: bool| assert_eq!(is_valid_id(id), expected, "{id:?}");
    check("a", true);
    check("A-z_09", true);
    check(&"x".repeat(64), true);
    check(&"x".repeat(65), false);
    check("", false);
    check("a b", false);
    check("é", false);
    check("a\n", false);
}

/// B:N-07 B:N-08 B:N-09
#[test]
fn sources_are_split_as_jupyter_stores_them() {
    let check = |source: &str, expected: &[&str]| {
        assert_eq!(split_lines(source), expected, "{source:?}");
        assert_eq!(split_lines(source).concat(), source);
    };
    check("", &[]);
    check("a", &["a"]);
    check("a\n", &["a\n"]);
    check("a\nb", &["a\n", "b"]);
    check("\n", &["\n"]);
    check("\n\n", &["\n", "\n"]);
    check("a\r\nb\rc", &["a\r\n", "b\rc"]);
    check("a\u{c}b\u{2028}c\u{85}d\u{b}e\n", &["a\u{c}b\u{2028}c\u{85}d\u{b}e\n"]);
}

#[test]
fn the_nearest_looks_alike_or_is_not_named() {
    let check = |candidates: &[&str], wanted: &str, expected: Option<usize>| {
        assert_eq!(nearest(candidates.iter().copied(), wanted), expected, "{wanted}");
    };
    check(&["x = 1", "y = 1", "print(x)"], "print(y)", Some(2));
    check(&["alpha", "beta"], "qqqq", None);
    check(&[], "a", None);
    // Of two that are as near the first is named; one too long to compare is passed over.
    check(&["ab1", "ab2"], "ab3", Some(0));
    check(&[&"a".repeat(401), "aa"], "aab", Some(1));
}

#[test]
fn kinds_are_named_in_lower_case_only() {
    for kind in CellKind::ALL {
        assert_eq!(CellKind::from_name(kind.name()), Some(kind));
    }
    for name in ["Code", "", "heading", "code "] {
        assert_eq!(CellKind::from_name(name), None, "{name}");
    }
}
