//! Laws of frames, for snapshots at every width and for any text.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::*;

fn without_colours(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(before);
        let (parameters, after) = after.split_once('m').unwrap();
        assert!(parameters.chars().all(|c| c.is_ascii_digit()), "{parameters}");
        rest = after;
    }
    out + rest
}

fn lawful(execution: &mut dyn Renderer, width: usize) {
    for expansion in [Expansion::Collapsed, Expansion::Expanded] {
        let area = Area { width, expansion };
        let frame = execution.frame(area);
        let painted = plain(&frame);
        for line in painted.lines() {
            let sum: usize = line.chars().filter_map(|c| c.width()).sum();
            assert!(sum <= width && line.width() <= width, "{line:?} is wider than {width}");
        }
        assert!(painted.chars().all(|c| c == '\n' || !c.is_control()), "{painted:?}");
        assert_eq!(without_colours(&ansi(&frame)), painted);
        assert_eq!(execution.frame(area), frame);
    }
}

/// B:T-22
#[test]
fn every_picture_keeps_to_every_width() {
    for width in 1..=200 {
        for mut execution in [
            several(),
            growing(),
            statuses(),
            cut(),
            one(markdown_output()),
            timed_out(),
            pictures(),
            trees(),
        ] {
            lawful(&mut execution, width);
        }
    }
    let frame = several().frame(Area { width: 0, ..COLLAPSED });
    assert_eq!(frame, several().frame(Area { width: 1, ..COLLAPSED }));
}

fn odd_text() -> impl Strategy<Value = String> {
    let odd = vec![
        "\t",
        "\n",
        "\r",
        "\u{1b}]0;title\u{7}",
        "\u{1b}[2J",
        "\u{9b}31m",
        "\u{202e}",
        "👩\u{200d}👩\u{200d}👧",
        "1\u{fe0f}\u{20e3}",
        "e\u{301}\u{301}",
        "日本語",
        "**a** `b` [c](d)\n```\n",
        "'''",
        "some words of prose, ",
    ];
    let odd = prop_oneof![
        8 => prop::sample::select(odd).prop_map(str::to_owned),
        1 => prop::collection::vec(any::<char>(), 0..8).prop_map(String::from_iter),
    ];
    prop::collection::vec(odd, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// B:T-22: for any code, titles, output and events, no row is too wide, no control character gets out,
    /// painters agree, and the same state gives the same frame.
    #[test]
    fn any_execution_at_any_width(
        code in odd_text(), title in odd_text(), written in odd_text(), status in odd_text(),
        state in 0usize..6, width in 1usize..200,
    ) {
        let state = [
            State::Running, State::Done, State::Error, State::TimedOut, State::Cancelled, State::KernelDied,
        ][state];
        let field = serde_json::Value::from(status.clone()).to_string();
        let event = format!(r#"{{"op":{field},"path":{field},"items":[{field}],"preview":{field}}}"#);
        let items = vec![
            rich(1, RichKind::Status(event)),
            json(2, &format!("{{{field}:[{field},1]}}")),
            json(3, &status),
            rich(4, RichKind::Digest { mime: status.clone(), artifact: None }),
        ];
        let output = ModelOutput {
            parts: vec![Part::Text(written.clone()), Part::Mark(Mark::Rich { number: 2 })],
            rich: items,
            has_markdown: width % 2 == 0,
            notices: vec![truncated()],
            ..ModelOutput::default()
        };
        let end = Some(EndReport::Died(Death { stderr_tail: status.clone(), ..Death::unknown() }));
        let told = CellReport { output, end, ..cell(titled(&code, &title), state, 1) };
        lawful(&mut execution(vec![told.clone(), cell(source(&code), State::Queued, 0)]), width);

        let mut prompt = Interactive::new(source(&code));
        for (at, c) in written.char_indices() {
            prompt.event(&(0, printed(&written[at..at + c.len_utf8()])));
        }
        let display = bundle("text/markdown", MimeData::Text(status));
        prompt.event(&(0, ExecEvent::Display { id: None, data: display }));
        lawful(&mut prompt, width);
        prompt.report(&told);
        lawful(&mut prompt, width);
    }
}
