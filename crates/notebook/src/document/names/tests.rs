use super::*;

const IDS: [Option<&str>; 7] =
    [Some("abcd1234"), Some("abcd5678"), Some("3"), Some("2024-q1"), None, Some("2"), Some("twin")];

fn candidate(index: usize, id: Option<&str>) -> CellCandidate {
    CellCandidate { index, id: id.map(str::to_owned) }
}

fn resolve(ids: &[Option<&str>], cell: &CellRef) -> Result<usize, RefError> {
    CellNames::new(ids.iter().copied()).resolve(cell)
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
    // An id that looks like a number is found as an id first.
    check("3", 2);
    check("2", 5);
    check("2024", 3);
    // These equal no id, so they are positions.
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
    let ambiguous = |given: &str, candidates: Vec<CellCandidate>| RefError::Ambiguous {
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

    // A prefix that is also the position of another cell.
    let mut many: Vec<Option<&str>> = vec![None; 1001];
    many[3] = Some("1000-abc");
    let found = resolve(&many, &CellRef::Text("1000".to_owned())).unwrap_err();
    let expected = vec![candidate(3, Some("1000-abc")), candidate(1000, None)];
    assert_eq!(found, ambiguous("1000", expected));
}

#[test]
fn what_names_nothing_suggests_the_nearest() {
    let check = |given: &str, nearest: &[CellCandidate]| {
        let nearest = nearest.to_vec();
        let expected = RefError::Unknown { given: given.to_owned(), nearest, count: 7 };
        assert_eq!(text(given), Err(expected), "{given}");
    };
    let twin = [candidate(6, Some("twin"))];
    check("abcd1243", &[candidate(0, Some("abcd1234")), candidate(1, Some("abcd5678"))]);
    check("twinn", &twin);
    check("zzzz", &[]);
    // Three characters are too few for a prefix, but the error still names the nearest id.
    check("twi", &twin);
    check("", &[]);
    for given in ["+1", " 1", "1.0", "1e0", "--1", "-"] {
        assert!(matches!(text(given), Err(RefError::Unknown { .. })), "{given}");
    }
    let message = text("abcd1243").unwrap_err().to_string();
    let nearest = "the nearest are cell 0 (id abcd1234), cell 1 (id abcd5678)";
    assert!(message.contains(nearest), "{message}");
    assert!(message.contains("0 to 6"), "{message}");
    // A number is out of range, however large it is.
    for given in
        ["99", "-8", "9223372036854775808", "-9223372036854775809", "00000000000000000000007"]
    {
        assert_eq!(text(given), Err(RefError::OutOfRange { given: given.to_owned(), count: 7 }));
    }
}

#[test]
fn an_empty_notebook_has_no_cell_of_any_name() {
    for cell in [CellRef::Index(0), CellRef::Index(-1), CellRef::Text("abcd".to_owned())] {
        let error = resolve(&[], &cell).unwrap_err();
        assert_eq!(error, RefError::Empty { given: cell.text() });
        assert!(error.to_string().contains("no cells"), "{error}");
    }
}

/// Without an index, each of these references would be searched for in every cell.
#[test]
fn many_references_are_found_in_many_cells() {
    let ids: Vec<String> = (0..100_000).map(|at| format!("{at:08x}")).collect();
    let names = CellNames::new(ids.iter().map(|id| Some(id.as_str())));
    for (at, id) in ids.iter().enumerate() {
        assert_eq!(names.resolve(&CellRef::Text(id.clone())), Ok(at));
    }
    let many = names.resolve(&CellRef::Text("00018".to_owned())).unwrap_err().to_string();
    assert!(many.contains("(id 00018013), and 1677 more"), "{many}");
    let Err(RefError::Unknown { nearest, .. }) =
        names.resolve(&CellRef::Text("0001869z".to_owned()))
    else {
        panic!("found")
    };
    // Several ids share seven characters with it; the first five are named.
    assert_eq!((nearest.len(), &nearest[0]), (5, &candidate(0x1869, Some("00001869"))));
}

/// The label of a marker is a valid reference.
#[test]
fn a_label_of_a_marker_is_understood() {
    let names = [Some("ab12"), Some("cell:0"), None];
    let find = |text: &str| resolve(&names, &CellRef::Text(text.to_owned())).ok();
    assert_eq!(find("cell:2"), Some(2));
    assert_eq!(find("id:ab12"), Some(0));
    assert_eq!(find("cell:0"), Some(1), "an id is an id first");
    assert_eq!(find("cell:x"), None);
}
