//! Outputs: pictures in each protocol, and long outputs by pages.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use inkcell_engine::output::ModelOutput;
use inkcell_engine::output::raster::{PixelLayout, PngEffort, Raster};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Color;

use super::super::pages::LinesRequest;
use super::*;
use crate::view::execution::Page;
use crate::view::image::protocol::Depth;
use crate::view::image::{Gallery, Protocol};

/// A notebook with a picture of this size in pixels.
fn with_picture(wide: u32, high: u32) -> Model {
    let samples = [200, 30, 30].repeat((wide * high) as usize);
    let picture = Raster::new(wide, high, PixelLayout::Rgb, samples).unwrap();
    let file = picture.encode_png(PngEffort::Fast).unwrap();
    let output = serde_json::json!({"output_type": "display_data", "metadata": {},
        "data": {"image/png": BASE64_STANDARD.encode(file), "text/plain": "<Figure>"}});
    model_of(of_cells(&[
        serde_json::json!({"cell_type": "code", "id": "aaaa", "metadata": {}, "execution_count": 1,
            "source": "plot()", "outputs": [output]}),
        serde_json::json!({"cell_type": "markdown", "id": "bbbb", "metadata": {}, "source": "words"}),
    ]))
}

/// Counts the characters of a frame that show a part of a picture.
fn painted(model: &mut Model, (width, height): (u16, u16)) -> usize {
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    model.draw(&mut buffer, Colour::On);
    buffer.content().iter().filter(|cell| matches!(cell.bg, Color::Rgb(..))).count()
}

/// B:T-17: a terminal with its own pictures draws one between the text before and after it. A partly visible
/// picture appears as text. Other terminals show characters, or a placeholder.
#[test]
fn pictures_are_drawn_as_the_terminal_can() {
    let mut model = with_picture(80, 96);
    let shown = frame(&mut model, 60, 24);
    assert!(shown.contains("[image/png 80x96, "), "{shown}");
    for protocol in [Protocol::Kitty, Protocol::Iterm, Protocol::Sixel] {
        model.draw_with(Gallery::new(protocol).with_text());
        let shown = frame(&mut model, 60, 24);
        assert!(!shown.contains("image/png") && painted(&mut model, (60, 24)) == 0, "{shown}");
        let [(place, picture)] = &model.pictures[..] else { panic!("{protocol:?}: {shown}") };
        assert_eq!((picture.columns(), picture.rows()), (10, 6));
        // Rows before the picture: bar, label, source, text. Its columns start behind the gutter and the margin of
        // outputs.
        assert_eq!((place.x, place.y), (11, 4), "{shown}");
        let rows: Vec<&str> = shown.lines().collect();
        assert!(rows[3].contains("<Figure>"), "{shown}");
        assert!(rows[4..10].iter().all(|row| row.trim_matches(['▌', ' ']).is_empty()), "{shown}");
        assert!(rows[11].contains("markdown"), "{shown}");
        // Only four of its rows are on this screen.
        let shown = painted(&mut model, (60, 9));
        assert!(model.pictures.is_empty());
        assert_eq!(shown, 40);
        press(&mut model, "?");
        frame(&mut model, 60, 24);
        assert!(model.pictures.is_empty(), "nothing is drawn over the keys");
        press(&mut model, "q");
    }
    model.draw_with(Gallery::new(Protocol::Blocks(Depth::True)));
    assert!(painted(&mut model, (60, 40)) > 40 && model.pictures.is_empty());
}

/// Issue 24, 12: the last picture of the cell is opened outside.
#[test]
fn a_picture_is_opened_outside() {
    let mut model = with_picture(8, 8);
    let effects = press(&mut model, "w");
    assert!(matches!(&effects[..], [Effect::OpenPicture(_)]), "{effects:?}");
    assert!(press(&mut model, "jw").is_empty());
    assert!(frame(&mut model, 60, 24).contains("no picture"));
}

/// B:T-11: an expanded long output is shown by pages, the last one first. Collapsed, it shows its end.
#[test]
fn a_long_output_is_shown_by_pages() {
    let text: String = (1..=5000).map(|at| format!("row {at}\n")).collect();
    let output = serde_json::json!({"output_type": "stream", "name": "stdout", "text": text});
    let mut model = model_of(of_cells(&[serde_json::json!({"cell_type": "code", "id": "aaaa",
        "metadata": {}, "execution_count": 1, "source": "go()", "outputs": [output]})]));
    let shown = frame(&mut model, 60, 20);
    assert!(shown.contains("row 5000") && !shown.contains("Lines"), "{shown}");
    press(&mut model, "[");
    assert!(frame(&mut model, 60, 20).contains("no more lines"));
    assert!(press(&mut model, "O").is_empty(), "the file has all of it");
    assert!(frame(&mut model, 60, 20).contains("Lines 4501-5000 of 5000"));
    press(&mut model, "[");
    assert!(frame(&mut model, 60, 20).contains("Lines 4001-4500 of 5000"));
    assert!(frame(&mut model, 60, 600).contains("press [ for earlier lines"));
    press(&mut model, "]");
    assert!(frame(&mut model, 60, 20).contains("Lines 4501-5000 of 5000"));
}

/// B:T-11: pages of stored output are fetched from the host, each once.
#[test]
fn pages_of_stored_output_are_fetched() {
    let mut model = three();
    model.update(others::began("cccc", 2, 0));
    model.update(others::wrote(0, "the end of it\n"));
    let mut output = ModelOutput::default();
    let id = "abcdefgh2345abcd".to_owned();
    output.artifact = Some(inkcell_engine::output::ArtifactRef { id, bytes: 100 });
    model.update(others::ended_with(0, State::Done, output));
    press(&mut model, "jj");
    let wanted =
        |first| Effect::Page(LinesRequest { artifact: "abcdefgh2345abcd".to_owned(), first });
    assert_eq!(press(&mut model, "O"), [wanted(None)]);
    assert_eq!(press(&mut model, "kj"), [], "it is on its way");
    let page = |first_line, text: &str| {
        let page = Some(Page { first_line, total_lines: 9000, text: text.to_owned() });
        Input::Paged { artifact: "abcdefgh2345abcd".to_owned(), page }
    };
    model.update(page(8501, "far down\n"));
    let shown = frame(&mut model, 60, 40);
    assert!(shown.contains("Lines 8501-8501 of 9000") && shown.contains("far down"), "{shown}");
    assert_eq!(press(&mut model, "["), [wanted(Some(8001))]);
    model.update(Input::Paged { artifact: "abcdefgh2345abcd".to_owned(), page: None });
    let shown = frame(&mut model, 60, 40);
    assert!(shown.contains("stored output was deleted"), "{shown}");
}

/// Every word of a message can be read on any screen. A message that needs more than half of the screen is read
/// with P.
#[test]
fn long_messages_are_seen_whole() {
    let words: Vec<String> = (0..40).map(|at| format!("word{at}")).collect();
    let mut model = three();
    model.update(Input::Refused(words.join(" ")));
    for (width, height) in [(80, 20), (200, 20), (40, 40)] {
        let shown = frame(&mut model, width, height);
        assert!(words.iter().all(|word| shown.contains(word.as_str())), "{width}: {shown}");
        assert!(shown.contains("x = 1"), "the notebook is still there: {shown}");
    }
    let shown = frame(&mut model, 20, 10);
    assert!(shown.contains("word0") && shown.contains("press P to read"), "{shown}");
    press(&mut model, "P");
    let mut seen = frame(&mut model, 20, 10);
    for _ in 0..20 {
        press(&mut model, "j");
        seen.push_str(&frame(&mut model, 20, 10));
    }
    assert!(words.iter().all(|word| seen.contains(word.as_str())), "{seen}");
    press(&mut model, "q");
    assert!(matches!(model.mode, Mode::Browse));
}

/// The description of every key can be read on a narrow screen.
#[test]
fn help_is_seen_whole_on_a_narrow_screen() {
    for width in [20, 80] {
        let mut model = three();
        frame(&mut model, width, 200);
        press(&mut model, "?");
        let shown = frame(&mut model, width, 200);
        let words: String = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        for (keys, text) in super::super::keys::help() {
            assert!(
                words.contains(keys.trim()) && words.contains(text),
                "{width}: {text}: {shown}"
            );
        }
        assert!(!shown.contains("…") || width == 20, "{shown}");
    }
}
