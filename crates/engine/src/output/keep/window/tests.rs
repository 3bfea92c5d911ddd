//! Tests of the kept parts, and that the numbers add up.

use proptest::prelude::*;

use super::*;

fn window(budget: usize, head: usize, repeats: Repeats, chunks: &[&str]) -> Window {
    let mut window = Window::new(budget, head, repeats);
    chunks.iter().for_each(|chunk| window.push(chunk));
    window
}

fn join_parts(kept: &Kepts) -> String {
    let text = |part: &Part| match part {
        Part::Text(text) => text.clone(),
        Part::Mark(mark) => format!("{mark}"),
    };
    kept.parts.iter().map(text).collect()
}

/// A text that fits is whole; of one that does not, less is kept than would fit.
#[test]
fn a_text_over_the_budget_is_cut_to_less() {
    let table: [(usize, &str, &str); 4] = [
        (2, "0123456789", "0123456789"),
        (2, "01234567890", "01[… part of a line elided (7B) …]90"),
        (0, "01234567890", "[… part of a line elided (7B) …]7890"),
        (2, "a\nb\nc\nd\ne\nf\n", "a\n[… 4 lines elided (8B) …]f\n"),
    ];
    for (head, text, expected) in table {
        let mut window = Window::new(10, head, Repeats::Keep).cut_to(4);
        window.push(text);
        assert_eq!(join_parts(&window.parts()), expected, "{text:?} with {head}");
    }
}

/// B:O-06, B:O-07, B:O-11: beginning and end are kept, cut between characters; a text that fits
/// stays complete.
#[test]
fn beginning_and_end_are_kept() {
    let table: [(usize, usize, &[&str], &str); 10] = [
        (10, 2, &["0123456789"], "0123456789"),
        (10, 2, &["01234567890"], "01[… part of a line elided (1B) …]34567890"),
        (10, 0, &["01234567890"], "[… part of a line elided (1B) …]1234567890"),
        (10, 2, &["0123456789", "0123456789"], "01[… part of a line elided (10B) …]23456789"),
        (4, 0, &["😀", "x"], "[… part of a line elided (4B) …]x"),
        (6, 0, &["a😀b"], "a😀b"),
        (5, 0, &["a😀b"], "[… part of a line elided (1B) …]😀b"),
        (5, 3, &["a😀b"], "a[… part of a line elided (4B) …]b"),
        (0, 0, &["abc"], "[… part of a line elided (3B) …]"),
        (8, 4, &["a\nb\nc\nd\ne\nf\n"], "a\nb\n[… 2 lines elided (4B) …]e\nf\n"),
    ];
    for (budget, head, chunks, expected) in table {
        let kept = window(budget, head, Repeats::Keep, chunks).parts();
        assert_eq!(join_parts(&kept), expected, "{chunks:?} in {budget}");
    }
}

/// B:O-04: line feeds, and one more for a text that is not empty.
#[test]
fn lines_are_counted() {
    let table: [(&[&str], u64); 5] =
        [(&[], 0), (&["a\n", "b\n\n", "c"], 4), (&["abc", "def"], 1), (&["\n"], 2), (&["", ""], 0)];
    for (chunks, lines) in table {
        let window = window(100, 20, Repeats::Keep, chunks);
        assert_eq!(window.total().lines(), lines, "{chunks:?}");
    }
}

/// Repeated lines are counted only if the text would not fit.
#[test]
fn repeated_lines_are_counted() {
    let line = "the same line\n";
    let few = line.repeat(5);
    let kept = window(100, 20, Repeats::Count, &[&few]).parts();
    assert_eq!(join_parts(&kept), few);
    let many = format!("start\n{}end\n", line.repeat(1000));
    let kept = window(200, 40, Repeats::Count, &[&many]).parts();
    assert_eq!(join_parts(&kept), "start\nthe same line\n[… repeated 999 more times …]end\n");
    assert_eq!(kept.elided, Extent::default());
    assert_eq!(kept.head.feeds + kept.tail.feeds, 1002);
    let kept = window(200, 40, Repeats::Keep, &[&many]).parts();
    assert!(kept.elided.bytes > 0);
}

#[test]
fn a_display_is_replaced_where_it_stands() {
    let mut window = Window::new(100, 20, Repeats::Count);
    window.push("before\n");
    window.push_slot(1, "10%\n".to_owned());
    window.push("after\n");
    assert!(window.replace_slot(1, "100%\n"));
    assert!(!window.replace_slot(2, "other\n"));
    let kept = window.parts();
    assert_eq!(join_parts(&kept), "before\n100%\nafter\n");
    assert_eq!(kept.cleared.bytes, 4);
    window.clear();
    assert_eq!(join_parts(&window.parts()), "");
    assert_eq!(window.total().bytes, 7 + 4 + 6 + 5);
}

/// Lines, many of them equal.
fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        3 => ("[ab]\n", 1usize..40).prop_map(|(line, times)| line.repeat(times)),
        2 => "[a-zé😀]{0,30}\n",
        1 => "[a-zé]{0,120}",
        1 => Just("a line that is a little longer\n".repeat(12)),
    ];
    prop::collection::vec(line, 0..20).prop_map(|lines| lines.concat())
}

proptest! {
    /// Shown, left out and counted text add up to the input, and the kept text is within the
    /// budget.
    #[test]
    fn the_numbers_add_up(text in text(), budget in 0usize..300, head in 0usize..300, count in any::<bool>()) {
        let repeats = if count { Repeats::Count } else { Repeats::Keep };
        let mut window = window(budget, head, repeats, &[&text]);
        let kept = window.parts();
        let mut sum = kept.head;
        sum += kept.tail;
        sum += kept.elided;
        prop_assert_eq!(sum, Extent::of(&text));
        if text.len() <= budget {
            prop_assert_eq!(join_parts(&kept), text);
        } else {
            let is_text = |part: &&Part| matches!(part, Part::Text(_));
            let bytes: usize = kept.parts.iter().filter(is_text).map(|part| match part {
                Part::Text(text) => text.len(),
                Part::Mark(_) => 0,
            }).sum();
            prop_assert!(bytes <= budget + MARK_BYTES, "{} in {}", bytes, budget);
        }
    }

    /// Without counting, the kept text is a prefix and a suffix of the input.
    #[test]
    fn ends_are_ends(text in text(), budget in 0usize..300, head in 0usize..100) {
        let kept = window(budget, head, Repeats::Keep, &[&text]).parts();
        let texts: Vec<&String> = kept.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text),
            Part::Mark(_) => None,
        }).collect();
        if let [first, .., last] = texts[..] {
            prop_assert!(text.starts_with(first.as_str()) && text.ends_with(last.as_str()));
        }
    }

    /// The kept text does not depend on how whole lines arrive.
    #[test]
    fn chunks_do_not_matter(text in text(), budget in 0usize..300, head in 0usize..300, size in 1usize..9) {
        let whole = window(budget, head, Repeats::Count, &[&text]).parts();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let chunks: Vec<String> = lines.chunks(size).map(|lines| lines.concat()).collect();
        let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
        let cut = window(budget, head, Repeats::Count, &chunks).parts();
        prop_assert_eq!(join_parts(&cut), join_parts(&whole));
        prop_assert_eq!(cut.elided, whole.elided);
    }
}
