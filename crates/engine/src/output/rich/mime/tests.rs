//! The form of a display that a reader gets.

use super::*;

/// A MIME type and its content.
type Form = (&'static str, MimeData);

fn bundle(forms: &[Form]) -> MimeBundle {
    let data = forms.iter().map(|(mime, data)| ((*mime).to_owned(), data.clone())).collect();
    MimeBundle { data, metadata: String::new() }
}

fn text(text: &str) -> MimeData {
    MimeData::Text(text.to_owned())
}

fn json(text: &str) -> MimeData {
    MimeData::Json(text.to_owned())
}

fn png() -> MimeData {
    MimeData::Binary(Bytes::from_static(b"\x89PNG"))
}

fn read_bundle(forms: &[Form]) -> DisplayForms {
    read(&bundle(forms), 64 * 1024)
}

/// B:X-30: Markdown, then plain text, then HTML; one of them, ending with a line feed.
#[test]
fn one_text_is_chosen() {
    let (markdown, plain, html) = (
        ("text/markdown", text("# m")),
        ("text/plain", text("p\n")),
        ("text/html", text("<b>h</b>")),
    );
    let table: [(&[Form], Option<&str>, bool); 7] = [
        (&[plain.clone(), html.clone(), markdown.clone()], Some("# m\n"), true),
        (&[html.clone(), plain.clone()], Some("p\n"), false),
        (std::slice::from_ref(&html), Some("**h**\n"), true),
        (&[("text/html", text("<script>x</script>"))], None, false),
        (
            &[("text/plain", text("<IPython.core.display.HTML object>")), html.clone()],
            Some("**h**\n"),
            true,
        ),
        (
            &[
                ("text/plain", text("<IPython.core.display.Latex object>")),
                ("text/latex", text("$x$")),
            ],
            Some("$x$\n"),
            false,
        ),
        (&[("text/plain", text(""))], Some("\n"), false),
    ];
    for (forms, expected, is_markdown) in table {
        let shown = read_bundle(forms);
        assert_eq!(shown.text.as_deref(), expected, "{forms:?}");
        assert_eq!(shown.is_markdown, is_markdown, "{forms:?}");
    }
}

/// B:X-31: images, then JSON, beside the text.
#[test]
fn rich_forms_stand_beside_the_text() {
    let shown = read_bundle(&[
        ("application/json", json("{\"a\":1}")),
        ("text/plain", text("x")),
        ("image/png", png()),
    ]);
    assert_eq!(shown.text.as_deref(), Some("x\n"));
    assert!(
        matches!(&shown.rich[..], [RichForm::Image { .. }, RichForm::Json { text, .. }] if text == "{\"a\":1}")
    );
    let both = read_bundle(&[("image/jpeg", png()), ("image/png", png())]);
    assert!(matches!(&both.rich[..], [RichForm::Image { mime, .. }] if mime == "image/png"));
    assert_eq!(both.text, None);
}

/// A drawing is a picture, unless the display has pixels too. An empty one is nothing.
#[test]
fn drawing_is_a_picture() {
    let svg = || (SVG, text("<svg/>"));
    let is_drawing = |form: &RichForm| matches!(form, RichForm::Image { mime, data } if mime == SVG && **data == *b"<svg/>");
    for forms in [vec![svg()], vec![svg(), ("text/plain", text("<Digraph at 0x7f>"))]] {
        assert!(matches!(&read_bundle(&forms).rich[..], [form] if is_drawing(form)), "{forms:?}");
    }
    let both = read_bundle(&[svg(), ("image/png", png())]);
    assert!(matches!(&both.rich[..], [RichForm::Image { mime, .. }] if mime == "image/png"));
    assert_eq!(read_bundle(&[(SVG, text(""))]), DisplayForms::default());
}

/// B:X-32: a status event excludes all other forms.
#[test]
fn a_status_event_is_alone() {
    let mime = "application/x-omp-status";
    let plain = ("text/plain", text("x"));
    let event =
        read_bundle(&[plain.clone(), (mime, json("{\"op\":\"read\"}")), ("image/png", png())]);
    assert_eq!(event.rich, [RichForm::Status("{\"op\":\"read\"}".to_owned())]);
    assert_eq!(event.text, None);
    for bad in ["{}", "[]", "{\"op\":1}", "7", "nonsense"] {
        assert_eq!(
            read_bundle(&[(mime, json(bad)), plain.clone()]),
            DisplayForms::default(),
            "{bad}"
        );
    }
}

/// Charts are described in one line, and their data are not shown as text.
#[test]
fn charts_have_a_digest() {
    let figure = json("{\"data\":[{\"type\":\"bar\",\"y\":[1,2]}],\"layout\":{}}");
    let shown = read_bundle(&[
        ("application/vnd.plotly.v1+json", figure),
        ("text/html", text("<div>script</div>")),
        ("text/plain", text("Figure({'data': [1, 2]})")),
    ]);
    assert_eq!(shown.text, None);
    let [RichForm::Digest { digest, data: Some(_), .. }] = &shown.rich[..] else {
        panic!("{:?}", shown.rich);
    };
    assert_eq!(digest, "plotly figure, 1 trace: bar (2 points, y 1..2)");
}

/// A frame is shown as pandas aligns it, under its header. Markdown of its HTML is longer.
#[test]
fn a_frame_is_its_own_text() {
    let head = "<tr><th></th><th>a</th><th>b</th></tr>";
    let levels = "<tr><th></th><th colspan=\"2\">A</th></tr><tr><th></th><th>x</th><th>y</th></tr>";
    let row = "<tr><th>0</th><td>1</td><td>2</td></tr>";
    let html = |head: &str, rows: &str| {
        let table = "<table border=\"1\" class=\"dataframe\">";
        format!("<div>{table}<thead>{head}</thead><tbody>{rows}</tbody></table></div>")
    };
    let described = "         a    b\ncount  1.0  1.0\nmean   1.0  2.0\nmax    1.0  2.0";
    let rows = "<tr><th>count</th><td>1.0</td><td>1.0</td></tr><tr><th>mean</th><td>1.0</td><td>2.0</td></tr>\
                <tr><th>max</th><td>1.0</td><td>2.0</td></tr>";
    let cut = "     a  b\n0    1  2\n..  .. ..\n999  1  2\n\n[1000 rows x 2 columns]";
    let long = format!("   a  b\n{}", "0  1  2\n".repeat(500));
    let table = [
        ("   a  b\n0  1  2", html(head, row)),
        (described, html(head, rows)),
        ("   A   \n   x  y\n0  1  2", html(levels, row)),
        (cut, html(head, &row.repeat(3))),
        (&*long, html(head, &row.repeat(500))),
    ];
    for (plain, html) in table {
        let markdown = html::to_markdown(&html, 1 << 20).markdown;
        assert!(markdown.len() > plain.len(), "{markdown}");
        let shown = read_bundle(&[("text/html", text(&html)), ("text/plain", text(plain))]);
        assert_eq!(shown.text.as_deref().map(str::trim_end), Some(plain.trim_end()));
        assert!(shown.rich.is_empty() && !shown.is_markdown, "{plain}");
    }
}

/// A styled frame has no text of its own.
#[test]
fn a_styled_frame_is_a_table() {
    let address = ("text/plain", text("<pandas.io.formats.style.Styler at 0x7f00a0>"));
    let html = "<style></style><table><thead><tr><th>&nbsp;</th><th>a</th></tr></thead>\
                <tbody><tr><th>0</th><td>1.50</td></tr></tbody></table>";
    let styled = read_bundle(&[address.clone(), ("text/html", text(html))]);
    assert_eq!(styled.text.as_deref(), Some("| | a |\n| --- | --- |\n| 0 | 1.50 |\n"));
    let map = read_bundle(&[address, ("text/html", text("<iframe></iframe>"))]);
    assert_eq!(map.text.as_deref(), Some("<pandas.io.formats.style.Styler at 0x7f00a0>\n"));
}

/// `display` of a dictionary or a list sends its `repr` and its JSON. Where both say the same, one of them is enough.
#[test]
fn json_that_the_text_says_is_known() {
    let table = [
        ("{'a': 1}", r#"{"a": 1}"#, true),
        ("[1, (2,)]", "[1, [2]]", true),
        (
            "{'a': None, 'b': [True, False], 'None': -1.5e-07}",
            r#"{"a": null, "b": [true, false], "None": -1.5e-07}"#,
            true,
        ),
        ("{'é': 'it\\'s \\n'}", r#"{"\u00e9": "it's \n"}"#, true),
        ("{1: 'x'}", r#"{"1": "x"}"#, true),
        ("{}", "{}", true),
        ("{'a': 1, ...}", r#"{"a": 1, "b": 2}"#, false),
        ("Result: 1", r#"{"a": 1}"#, false),
        ("{'a': 1} and more", r#"{"a": 1}"#, false),
        ("{'a': 15}", r#"{"a": 1.5}"#, false),
        ("Tree(1)", "{}", false),
    ];
    for (plain, value, wanted) in table {
        let shown = read_bundle(&[("application/json", json(value)), ("text/plain", text(plain))]);
        assert_eq!(shown.text.as_deref(), Some(&*format!("{plain}\n")));
        let is_known = |form: &RichForm| matches!(form, RichForm::Json { is_in_text, .. } if *is_in_text == wanted);
        assert!(shown.rich.iter().all(is_known) && shown.rich.len() == 1, "{plain}");
    }
    let long = |open: char, close: char| format!("{open}{}1{close}", "1, ".repeat(100_000));
    let forms =
        [("application/json", json(&long('[', ']'))), ("text/plain", text(&long('(', ')')))];
    assert!(matches!(&read_bundle(&forms).rich[..], [RichForm::Json { is_in_text: true, .. }]));
    // Without a text, or with only the name of a class, the JSON is what is shown.
    let name = ("text/plain", text("<IPython.core.display.JSON object>"));
    for forms in
        [vec![("application/json", json("{}"))], vec![name, ("application/json", json("{}"))]]
    {
        let shown = read_bundle(&forms);
        assert_eq!(shown.text, None);
        assert!(matches!(&shown.rich[..], [RichForm::Json { is_in_text: false, .. }]));
    }
}

#[test]
fn other_forms_are_named() {
    let table = [
        (
            ("application/vnd.x+json", json("[1,2]")),
            "application/vnd.x+json: array of 2, first number",
        ),
        (("audio/wav", MimeData::Binary(Bytes::from_static(&[0; 2048]))), "audio/wav, 2.0KB"),
    ];
    for (form, expected) in table {
        let shown = read_bundle(&[form]);
        assert!(
            matches!(&shown.rich[..], [RichForm::Digest { digest, .. }] if digest == expected),
            "{:?}",
            shown.rich
        );
    }
    assert_eq!(read_bundle(&[]), DisplayForms::default());
}

#[test]
fn digests_are_one_bounded_line() {
    assert_eq!(one_line("a\n\tb\u{1b}[31mc\u{9b}"), "a  b[31mc");
    assert_eq!(one_line(&"é".repeat(5000)).chars().count(), MAX_DIGEST_CHARS + 1);
}
