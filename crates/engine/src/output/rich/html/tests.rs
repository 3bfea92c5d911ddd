//! HTML and the Markdown it becomes.

use proptest::prelude::*;

use super::*;

fn check(html: &str, expected: &str) {
    assert_eq!(to_markdown(html, 1 << 20).markdown, expected, "{html}");
}

/// B:X-33.
#[test]
fn common_tags_become_markdown() {
    let table = [
        ("<b>Hello</b>", "**Hello**"),
        ("<strong>a</strong> <em>b</em> <i>c</i>", "**a** *b* *c*"),
        ("a <code>x = 1</code> b", "a `x = 1` b"),
        ("<pre><code>a\n  b</code></pre>", "```\na\n  b\n```"),
        ("<pre>a\n</pre>after", "```\na\n```\n\nafter"),
        ("<a href=\"http://x/?a=1&amp;b\">link <b>b</b></a>", "[link **b**](http://x/?a=1&b)"),
        ("<a name=\"x\">no link</a>", "no link"),
        ("<p>one</p><p>two</p>", "one\n\ntwo"),
        ("one<br>two<br/>three", "one\ntwo\nthree"),
        ("<ul><li>a</li><li>b</li></ul>", "- a\n- b"),
        ("<ol><li>a<li>b</ol>", "1. a\n2. b"),
        ("<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "- a\n  - b\n- c"),
        ("<h1>One</h1>text<h3>Three</h3>", "# One\n\ntext\n\n### Three"),
        ("<blockquote>a<br>b</blockquote>c", "> a\n> b\n\nc"),
        ("&lt;x&gt; &amp; &quot;q&quot; &#39;s&#39;&nbsp;n &eacute;", "<x> & \"q\" 's' n é"),
        ("<div>a</div><div>b</div>", "a\nb"),
        ("<span style=\"x\">a</span><custom-tag>b</custom-tag>", "ab"),
        ("a\n\n\n\n  b", "a b"),
        ("<p></p><p></p><p>x</p>", "x"),
        ("<style>p { a: b }</style><script>if (a < b) { x(\"</p>\") }</script>x", "x"),
        ("<!-- no --><title>t</title>x", "x"),
        ("<b></b>x<b> </b>", "x"),
        ("<b>not closed", "**not closed**"),
        ("<code></b>x", "`x`"),
        ("<a href=u><b>in</a> out", "[**in**](u) out"),
        ("<b>a<i>b</b>c</i>", "**a*bc***"),
        ("a < b and c > d", "a < b and c > d"),
        ("", ""),
    ];
    for (html, expected) in table {
        check(html, expected);
    }
}

fn frame(head: &str, body: &str) -> String {
    format!(
        "<div>\n<style scoped>\n    .dataframe tbody tr th {{\n }}\n</style>\n<table border=\"1\" \
         class=\"dataframe\">\n  <thead>\n    {head}\n  </thead>\n  <tbody>\n{body}\n  </tbody>\n</table>\n</div>"
    )
}

#[test]
fn tables_become_markdown_tables() {
    check(
        &frame(
            "<tr style=\"text-align: right;\"><th></th><th>a|b</th><th>*c*</th></tr>",
            "<tr><th>0</th><td>1</td><td>&lt;x&gt;</td></tr>\n<tr><th>1</th><td>2</td><td>y\nz</td></tr>",
        ),
        "| | a\\|b | *c* |\n| --- | --- | --- |\n| 0 | 1 | <x> |\n| 1 | 2 | y z |",
    );
    check(
        "<table><caption>Cap</caption><tr><th>a</th><th>b</th></tr><tr><td>1<td>2</table>after",
        "Cap\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nafter",
    );
    check("<table><tr><td>only</td></tr></table>", "| |\n| --- |\n| only |");
    check(
        "<table><tr><td>out<table><tr><td>in</td><td>ner</td></tr></table></td><td>x</td></tr></table>",
        "| | |\n| --- | --- |\n| out in ner | x |",
    );
    check("<table></table>", "");
}

/// A pandas frame with two levels of rows and columns, as pandas 2 writes it: spanning labels are repeated, levels are
/// joined, and names stand in the corner.
#[test]
fn levels_of_frames_are_joined() {
    check(
        &frame(
            "<tr><th></th><th>U</th><th colspan=\"2\" halign=\"left\">A</th><th colspan=\"2\">B</th></tr>\n\
             <tr><th></th><th>L</th><th>p</th><th>q</th><th>p</th><th>q</th></tr>\n\
             <tr><th>k</th><th>n</th><th></th><th></th><th></th><th></th></tr>",
            "<tr><th rowspan=\"2\" valign=\"top\">x</th><th>1</th><td>0</td><td>1</td><td>2</td><td>3</td></tr>\n\
             <tr><th>2</th><td>4</td><td>5</td><td>6</td><td>7</td></tr>\n\
             <tr><th rowspan=\"2\" valign=\"top\">y</th><th>1</th><td>8</td><td>9</td><td>10</td><td>11</td></tr>\n\
             <tr><th>2</th><td>12</td><td>13</td><td>14</td><td>15</td></tr>",
        ),
        "| k | n (columns: U / L) | A / p | A / q | B / p | B / q |\n\
         | --- | --- | --- | --- | --- | --- |\n\
         | x | 1 | 0 | 1 | 2 | 3 |\n| x | 2 | 4 | 5 | 6 | 7 |\n\
         | y | 1 | 8 | 9 | 10 | 11 |\n| y | 2 | 12 | 13 | 14 | 15 |",
    );
    // A grouped frame: two levels of columns without names, one index with a name.
    check(
        &frame(
            "<tr><th></th><th colspan=\"2\">n</th><th>v</th></tr>\n\
             <tr><th></th><th>min</th><th>max</th><th>mean</th></tr>\n\
             <tr><th>k</th><th></th><th></th><th></th></tr>",
            "<tr><th>a</th><td>1</td><td>2</td><td>0.15</td></tr>",
        ),
        "| k | n / min | n / max | v / mean |\n| --- | --- | --- | --- |\n| a | 1 | 2 | 0.15 |",
    );
    // A Styler writes non-breaking blanks where pandas writes nothing.
    check(
        "<table id=\"T_1\"><thead><tr><th class=\"blank level0\" >&nbsp;</th><th>a</th></tr></thead>\
         <tbody><tr><th class=\"row_heading\">0</th><td id=\"T_1_row0_col0\">1.5</td></tr></tbody></table>",
        "| | a |\n| --- | --- |\n| 0 | 1.5 |",
    );
    // A heading that spans two rows of the head appears once.
    check(
        "<table><thead><tr><th rowspan=2>Name</th><th colspan=2>Size</th></tr><tr><th>w</th><th>h</th></tr>\
         </thead><tbody><tr><td>a</td><td colspan=2>none</td></tr></tbody></table>",
        "| Name | Size / w | Size / h |\n| --- | --- | --- |\n| a | none | |",
    );
}

/// F-041: a table of a million rows is read up to the budget, and all rows are counted.
#[test]
fn a_giant_table_is_counted() {
    let row = "<tr><th>1</th><td>some value</td></tr>\n";
    let html = frame("<tr><th></th><th>a</th></tr>", &row.repeat(100_000));
    let converted = to_markdown(&html, 10_000);
    assert!(converted.is_cut);
    assert!(converted.markdown.len() < 200_000, "{}", converted.markdown.len());
    let table = converted.table.unwrap();
    assert_eq!(table.digest(), "table of 100000 rows and 2 columns: a");
    assert!(converted.markdown.ends_with(" more rows)"));
}

/// Hostile pages cost little stack, memory and time.
#[test]
fn hostile_pages_are_bounded() {
    for tag in ["div", "b", "blockquote", "a href=x", "ul", "table", "table><tr><td", "pre"] {
        let nested = format!("<{tag}>").repeat(20_000) + "x";
        to_markdown(&nested, 100_000);
    }
    let spans = "<table><tr><td colspan=999999999 rowspan=999999999>x</td></tr><tr></tr></table>";
    assert!(to_markdown(&spans.repeat(3), 100_000).markdown.len() < 20_000);
    assert_eq!(to_markdown(&"x".repeat(300_000), 1000).markdown.len(), 64 * 1024);
}

proptest! {
    /// Any text is converted, without three line feeds in a row and without blanks at either end.
    #[test]
    fn any_html_is_taken(pieces in prop::collection::vec(prop_oneof![
        "[a-z &;<>\"=/\n]{0,8}",
        prop::sample::select(vec![
            "<p>", "</p>", "<b>", "</b>", "<table>", "</table>", "<tr>", "</tr>", "<td>", "</td>",
            "<th rowspan=2>", "<td colspan=3>", "<thead>", "<tbody>", "<li>", "<ul>", "</ul>", "<ol>",
            "<pre>", "</pre>", "<code>", "</code>", "<a href=x>", "</a>", "<blockquote>", "</blockquote>",
            "<br>", "<h2>", "</h2>", "<caption>", "<style>", "</style>", "<script>", "&amp;", "&#x1b;",
        ]).prop_map(str::to_owned),
    ], 0..40)) {
        let markdown = to_markdown(&pieces.concat(), 1000).markdown;
        prop_assert!(!markdown.contains("\n\n\n"));
        prop_assert_eq!(markdown.trim(), &markdown);
    }
}
