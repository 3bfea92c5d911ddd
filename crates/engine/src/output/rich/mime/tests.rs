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

fn shown(forms: &[Form]) -> DisplayForms {
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
        let shown = shown(forms);
        assert_eq!(shown.text.as_deref(), expected, "{forms:?}");
        assert_eq!(shown.is_markdown, is_markdown, "{forms:?}");
    }
}

/// B:X-31: images, then JSON, beside the text.
#[test]
fn rich_forms_stand_beside_the_text() {
    let shown = shown(&[
        ("application/json", json("{\"a\":1}")),
        ("text/plain", text("x")),
        ("image/png", png()),
    ]);
    assert_eq!(shown.text.as_deref(), Some("x\n"));
    assert!(
        matches!(&shown.rich[..], [RichForm::Image { .. }, RichForm::Json(text)] if text == "{\"a\":1}")
    );
    let both = self::shown(&[("image/jpeg", png()), ("image/png", png())]);
    assert!(matches!(&both.rich[..], [RichForm::Image { mime, .. }] if mime == "image/png"));
    assert_eq!(both.text, None);
}

/// B:X-32: a status event excludes all other forms.
#[test]
fn a_status_event_is_alone() {
    let mime = "application/x-omp-status";
    let plain = ("text/plain", text("x"));
    let event = shown(&[plain.clone(), (mime, json("{\"op\":\"read\"}")), ("image/png", png())]);
    assert_eq!(event.rich, [RichForm::Status("{\"op\":\"read\"}".to_owned())]);
    assert_eq!(event.text, None);
    for bad in ["{}", "[]", "{\"op\":1}", "7", "nonsense"] {
        assert_eq!(shown(&[(mime, json(bad)), plain.clone()]), DisplayForms::default(), "{bad}");
    }
}

/// Charts are described in one line, and their data are not shown as text.
#[test]
fn charts_have_a_digest() {
    let figure = json("{\"data\":[{\"type\":\"bar\",\"y\":[1,2]}],\"layout\":{}}");
    let shown = shown(&[
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

#[test]
fn frames_that_are_cut_have_a_digest() {
    let html = "<table class=\"dataframe\"><thead><tr><th></th><th>a</th><th>b</th></tr></thead>\
                <tbody><tr><th>0</th><td>1</td><td>2</td></tr></tbody></table>";
    let small = [("text/plain", text("   a  b\n0  1  2")), ("text/html", text(html))];
    assert_eq!(shown(&small).rich, []);
    let cut = "   a  b\n0  1  2\n..\n\n[1000 rows x 2 columns]";
    let cut = shown(&[("text/plain", text(cut)), ("text/html", text(html))]);
    assert!(cut.text.is_some());
    let [RichForm::Digest { digest, .. }] = &cut.rich[..] else {
        panic!("{:?}", cut.rich);
    };
    assert_eq!(digest, "table of 1000 rows x 2 columns, shown: a, b");
}

#[test]
fn other_forms_are_named() {
    let table = [
        (
            ("image/svg+xml", text("<?xml?><svg a=\"1\" width=\"20px\" height=\"10\"></svg>")),
            "image/svg+xml 20×10, 49B",
        ),
        (
            ("application/vnd.x+json", json("[1,2]")),
            "application/vnd.x+json: array of 2, first number",
        ),
        (("audio/wav", MimeData::Binary(Bytes::from_static(&[0; 2048]))), "audio/wav, 2.0KB"),
    ];
    for (form, expected) in table {
        let shown = shown(&[form]);
        assert!(
            matches!(&shown.rich[..], [RichForm::Digest { digest, .. }] if digest == expected),
            "{:?}",
            shown.rich
        );
    }
    assert_eq!(shown(&[]), DisplayForms::default());
}

#[test]
fn digests_are_one_bounded_line() {
    assert_eq!(one_line("a\n\tb\u{1b}[31mc\u{9b}"), "a  b[31mc");
    assert_eq!(one_line(&"é".repeat(5000)).chars().count(), MAX_DIGEST_CHARS + 1);
}
