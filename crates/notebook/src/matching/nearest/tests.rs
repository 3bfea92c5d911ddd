use super::*;

#[test]
fn the_nearest_looks_alike_or_is_not_named() {
    let check = |candidates: &[&str], wanted: &str, expected: Option<usize>| {
        assert_eq!(nearest(candidates.iter().copied(), wanted), expected, "{wanted}");
    };
    check(&["x = 1", "y = 1", "print(x)"], "print(y)", Some(2));
    check(&["alpha", "beta"], "qqqq", None);
    check(&[], "a", None);
    // Of two equally similar texts, the first one wins; a text too long to compare is skipped.
    check(&["ab1", "ab2"], "ab3", Some(0));
    check(&[&"a".repeat(401), "aa"], "aab", Some(1));
}

#[test]
fn the_nearest_few_are_in_order() {
    let ids = ["ab12cd", "zzzz", "ab12ce", "ab1", "ab12cd7"];
    let few = |wanted: &str, most| nearest_few(ids.into_iter(), wanted, most);
    assert_eq!(few("ab12cd", 9), [0, 4, 2, 3]);
    assert_eq!(few("ab12cd", 2), [0, 4]);
    assert_eq!(few("qqqq", 2), [0; 0]);
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
    // All of these consist of the same characters, so only a comparison can rule one out.
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
