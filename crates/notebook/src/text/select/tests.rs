use super::*;

fn lines(ranges: &[(usize, Option<usize>)]) -> Vec<LineRange> {
    ranges.iter().map(|&(start, end)| LineRange { start, end }).collect()
}

fn check(path: &str, name: &str, form: Form, ranges: &[(usize, Option<usize>)]) {
    let expected = Selector { form, ranges: lines(ranges) };
    assert_eq!(split_selector(path), Ok((name, expected)), "{path}");
}

/// B:V-19
#[test]
fn ranges_and_raw_are_split_off_a_path() {
    let text = |path: &str, ranges: &[(usize, Option<usize>)]| {
        check(path, "nb.ipynb", Form::Text, ranges);
    };
    text("nb.ipynb", &[]);
    text("nb.ipynb:5", &[(5, None)]);
    text("nb.ipynb:L5", &[(5, None)]);
    text("nb.ipynb:l5", &[(5, None)]);
    text("nb.ipynb:5-", &[(5, None)]);
    text("nb.ipynb:5..", &[(5, None)]);
    text("nb.ipynb:5-9", &[(5, Some(9))]);
    text("nb.ipynb:5..9", &[(5, Some(9))]);
    text("nb.ipynb:L5-l9", &[(5, Some(9))]);
    text("nb.ipynb:5-5", &[(5, Some(5))]);
    text("nb.ipynb:5+1", &[(5, Some(5))]);
    text("nb.ipynb:L5+10", &[(5, Some(14))]);
    text("nb.ipynb:007", &[(7, None)]);
    let raw = |path: &str, ranges: &[(usize, Option<usize>)]| {
        check(path, "nb.ipynb", Form::Raw, ranges);
    };
    raw("nb.ipynb:raw", &[]);
    raw("nb.ipynb:RAW", &[]);
    raw("nb.ipynb:raw:2-3", &[(2, Some(3))]);
    raw("nb.ipynb:2-3:raw", &[(2, Some(3))]);
    raw("nb.ipynb:1,L9+2:Raw", &[(1, None)]);
}

/// B:V-19
#[test]
fn several_ranges_are_sorted_and_merged() {
    let text = |selector: &str, ranges: &[(usize, Option<usize>)]| {
        check(&format!("a:{selector}"), "a", Form::Text, ranges);
    };
    text("1-2,5-6", &[(1, Some(2)), (5, Some(6))]);
    text("5-6,1-2", &[(1, Some(2)), (5, Some(6))]);
    text("1-5,3-9", &[(1, Some(9))]);
    text("1-9,3-5", &[(1, Some(9))]);
    text("1-2,3-4", &[(1, Some(4))]);
    text("1-2,4-5", &[(1, Some(2)), (4, Some(5))]);
    text("8,1-2,20-30", &[(1, Some(2)), (8, None)]);
    text("1-8,8", &[(1, None)]);
    text("3+2,5..6,L40", &[(3, Some(6)), (40, None)]);
}

/// B:V-20
#[test]
fn a_selector_without_meaning_is_an_error() {
    let refused = |path: &str, message: &str| {
        assert_eq!(split_selector(path).unwrap_err().to_string(), message, "{path}");
    };
    let zero = "Line selector 0 is invalid; lines are 1-indexed. Use :1.";
    refused("a:0", zero);
    refused("a:L0", zero);
    refused("a:0-5", zero);
    refused("a:0+5", zero);
    refused("a:3,0", zero);
    refused("a:0:raw", zero);
    refused("a:raw:0", zero);
    refused("a:9-3", "Invalid range 9-3: end must be >= start.");
    refused("a:L9..L3", "Invalid range 9-3: end must be >= start.");
    refused("a:raw:9-3", "Invalid range 9-3: end must be >= start.");
    refused("a:7+0", "Invalid range 7+0: count must be >= 1.");
}

/// B:V-20
#[test]
fn a_suffix_outside_the_grammar_is_part_of_the_name() {
    let whole = |path: &str| check(path, path, Form::Text, &[]);
    for path in [
        "a:b",
        "a:",
        "a: 5",
        "a:5 ",
        "a:-5",
        "a:+5",
        "a:5-9-12",
        "a:5+L2",
        "a:5,",
        "a:,5",
        "a:1.5",
        "a:1...5",
        "a:rawr",
        "a:LL5",
        "a:L",
        "a:0,x",
        "a:5:",
        "a:９",
        "C:\\nb.ipynb",
        "",
    ] {
        whole(path);
    }
    // Only the last suffix counts, unless one of two is raw.
    check("a:3:5", "a:3", Form::Text, &[(5, None)]);
    check("a:0:5", "a:0", Form::Text, &[(5, None)]);
    check("a:raw:raw", "a:raw", Form::Raw, &[]);
    check("a:1:raw:2", "a:1", Form::Raw, &[(2, None)]);
    check("dir:7/nb.ipynb:2", "dir:7/nb.ipynb", Form::Text, &[(2, None)]);
}

/// B:V-19
#[test]
fn numbers_beyond_the_machine_do_not_wrap() {
    let huge = "99999999999999999999999999";
    check(&format!("a:{huge}"), "a", Form::Text, &[(usize::MAX, None)]);
    check(&format!("a:2+{huge}"), "a", Form::Text, &[(2, Some(usize::MAX))]);
    check(&format!("a:1-{huge},5"), "a", Form::Text, &[(1, None)]);
}

/// B:V-19
#[test]
fn lines_are_picked_with_their_ends() {
    let text = b"one\ntwo\r\nthree\nfour";
    let picks = |selector: &str, expected: &[&str]| {
        let (_, selector) = split_selector(selector).unwrap();
        let found: Vec<String> = selector
            .pick(text)
            .into_iter()
            .map(|line| String::from_utf8(line.to_vec()).unwrap())
            .collect();
        assert_eq!(found, expected, "{selector:?}");
    };
    picks("a", &["one\ntwo\r\nthree\nfour"]);
    picks("a:1", &["one\n", "two\r\n", "three\n", "four"]);
    picks("a:2-3", &["two\r\n", "three\n"]);
    picks("a:1-1,4-9", &["one\n", "four"]);
    picks("a:4+1", &["four"]);
    picks("a:5", &[]);
    picks("a:3,1+1", &["one\n", "three\n", "four"]);
}

/// B:V-21
#[test]
fn ranges_are_exact_unless_padding_is_asked_for() {
    let padded = |selector: &str, ranges: &[(usize, Option<usize>)]| {
        let (_, selector) = split_selector(selector).unwrap();
        assert_eq!(selector.padded().ranges, lines(ranges));
    };
    check("a:5-9", "a", Form::Text, &[(5, Some(9))]);
    padded("a:5-9", &[(4, Some(12))]);
    padded("a:1-2", &[(1, Some(5))]);
    padded("a:7", &[(6, None)]);
    padded("a:1-2,7-8", &[(1, Some(11))]);
    padded("a:1-2,8-9", &[(1, Some(5)), (7, Some(12))]);
    padded("a", &[]);
}

/// B:V-22
#[test]
fn a_long_text_is_shown_in_pages() {
    let text: String = (1..=10).map(|number| format!("line {number}\n")).collect();
    let limits = |max_lines, max_bytes| PageLimits { max_lines, max_bytes };
    let paged = |selector: &str, limits: PageLimits, shown: &str| {
        let (_, selector) = split_selector(selector).unwrap();
        assert_eq!(page(&text, &selector, limits), shown, "{selector:?}");
    };
    paged("a", PageLimits::STANDARD, &text);
    paged("a", limits(10, 1000), &text);
    let notice = "line 1\nline 2\n\n[Showing lines 1-2 of 10. Use :3 to continue]";
    paged("a", limits(2, 1000), notice);
    paged("a", limits(100, 14), notice);
    paged("a", limits(100, 20), notice);
    let notice = "line 4\n\n[Showing lines 4-4 of 10. Use :5 to continue]";
    paged("a:4", limits(1, 1000), notice);
    paged("a:4-4", limits(1, 1000), "line 4\n");
    // A line longer than a page appears in full, so that a page always makes progress.
    paged("a:9", limits(5, 1), "line 9\n\n[Showing lines 9-9 of 10. Use :10 to continue]");
    paged(
        "a:2-3,9-9",
        limits(2, 1000),
        "line 2\nline 3\n\n[Showing lines 2-3 of 10. Use :9 to continue]",
    );
    paged("a:10", limits(5, 1), "line 10\n");
    assert_eq!((PageLimits::STANDARD.max_lines, PageLimits::STANDARD.max_bytes), (3000, 51_200));
}
