use super::*;

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
fn a_text_too_long_to_compare_is_told_by_its_characters() {
    let near = |wanted: usize| nearest(["é".repeat(400).as_str()].into_iter(), &"é".repeat(wanted));
    assert_eq!((near(400), near(401)), (Some(0), None));
    assert_eq!(nearest_lines(&"é".repeat(400), &"é".repeat(500)), [(1, "é".repeat(400))]);
    assert_eq!(nearest_lines(&"é".repeat(401), &"é".repeat(500)), []);
}

#[test]
fn the_nearest_of_very_many_is_found() {
    // All of these hold the same characters, so each could be the nearest until it is compared.
    let ids: Vec<String> =
        (0..100_000).map(|at| format!("{:08x}", at * 7919 % 1_000_003)).collect();
    let found = nearest(ids.iter().map(String::as_str), &format!("{}z", ids[90_000])).unwrap();
    assert_eq!(found, 90_000);
    let long: Vec<String> = (0..20_000).map(|at| format!("{at:0400}")).collect();
    assert!(nearest(long.iter().map(String::as_str), &"0123456789".repeat(40)).is_none());

    let mut text: String = (0..100_000).map(|at| format!("value_{at} = compute({at})\n")).collect();
    text.push_str("print(the_total)\n");
    assert_eq!(
        nearest_lines(&text, "print(the_totals)")[0],
        (100_001, "print(the_total)".to_owned())
    );
}

#[test]
fn a_text_is_replaced_once_or_everywhere() {
    let (one, all) = (Matches::One, Matches::All);
    let check = |text: &str, old: &str, matches, expected: Result<(&str, usize), SubError>| {
        let expected = expected.map(|(text, count)| (text.to_owned(), count));
        assert_eq!(substitute(text, old, "-", matches), expected, "{text:?} {old:?}");
    };
    check("a b a", "b", one, Ok(("a - a", 1)));
    check("a b a", "a", all, Ok(("- b -", 2)));
    check("a b a", "b", all, Ok(("a - a", 1)));
    check("a\n\nb a\na", "a", one, Err(SubError::Many { count: 3, lines: vec![1, 3, 4] }));
    // Matches do not overlap, and one that spans lines is where it begins.
    check("aaaa", "aa", one, Err(SubError::Many { count: 2, lines: vec![1, 1] }));
    check("x\na\nb\na\nb", "a\nb", one, Err(SubError::Many { count: 2, lines: vec![2, 4] }));
    for matches in [one, all] {
        check("a", "", matches, Err(SubError::Empty));
        check("a", "q", matches, Err(SubError::NoMatch { nearest: Vec::new() }));
        let nearest = vec![(2, "print(x)".to_owned())];
        check("y\n  print(x)", "print(y)", matches, Err(SubError::NoMatch { nearest }));
    }
    // As many matches as lines: the lines are counted once, and twenty of them named.
    let error = substitute(&"a\n".repeat(800_000), "a", "b", one).unwrap_err();
    assert_eq!(error, SubError::Many { count: 800_000, lines: (1..=20).collect() });
    assert!(error.to_string().contains("19, 20, and 799980 more)"), "{error}");
}
