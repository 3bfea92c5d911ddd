//! Frames at several widths, and the number of cells rendered for them.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier};

use super::*;
use crate::term::screen::Ground;

/// A notebook with every kind of content.
fn rich() -> Model {
    let long: Vec<String> = (0..30).map(|at| format!("line {at}\n")).collect();
    let code = |id: &str, source: &str, outputs: serde_json::Value| {
        serde_json::json!({
            "cell_type": "code", "id": id, "metadata": {}, "source": source,
            "outputs": outputs, "execution_count": 3
        })
    };
    let prose = serde_json::json!({
        "cell_type": "markdown", "id": "prose", "metadata": {},
        "source": "# Report\n\nSome *emphasis*, `code`, and 日本語."
    });
    let cells = vec![
        prose,
        code(
            "stream",
            "for i in range(30):\n    print(f'line {i}')",
            serde_json::json!([
                {"output_type": "stream", "name": "stdout", "text": long}
            ]),
        ),
        code(
            "result",
            "1 + 1",
            serde_json::json!([
                {"output_type": "execute_result", "execution_count": 3, "metadata": {},
                 "data": {"text/plain": "2"}}
            ]),
        ),
        code(
            "failed",
            "1/0",
            serde_json::json!([
                {"output_type": "error", "ename": "ZeroDivisionError", "evalue": "division by zero",
                 "traceback": ["\u{1b}[31mZeroDivisionError\u{1b}[0m: division by zero"]}
            ]),
        ),
    ];
    model_of(of_cells(&cells))
}

#[test]
fn frames_at_three_widths() {
    for width in [20, 80, 200] {
        insta::with_settings!({prepend_module_to_snapshot => false, snapshot_path => "../snapshots"}, {
            insta::assert_snapshot!(format!("tui_{width}"), frame(&mut rich(), width, 40));
        });
    }
}

#[test]
fn frames_of_other_modes() {
    let mut model = rich();
    press(&mut model, "jj\n");
    press(&mut model, "y = ");
    let editing = frame(&mut model, 80, 16);
    model.mode = Mode::Browse;
    press(&mut model, "?");
    let help = frame(&mut model, 80, 70);
    insta::with_settings!({prepend_module_to_snapshot => false, snapshot_path => "../snapshots"}, {
        insta::assert_snapshot!("tui_editing", editing);
        insta::assert_snapshot!("tui_help", help);
    });
}

/// Every size can be drawn, also those that occur only during a resize.
#[test]
fn any_size_is_drawn() {
    for width in 1..24 {
        for height in 1..8 {
            let mut model = rich();
            frame(&mut model, width, height);
            press(&mut model, "G\n");
            frame(&mut model, width, height);
            press(&mut model, "\u{1b}?");
            frame(&mut model, width, height);
        }
    }
}

/// B:T-03, B:T-11
#[test]
fn more_is_shown_when_it_is_asked_for() {
    let mut model = rich();
    press(&mut model, "j");
    let shown = frame(&mut model, 80, 60);
    assert!(shown.contains("… 20 more lines (ctrl+o to expand)") && !shown.contains("line 3\n"));
    for keys in ["O", "OE"] {
        press(&mut model, keys);
        assert!(frame(&mut model, 80, 60).contains("line 3\n"));
        press(&mut model, "E");
    }
}

/// B:T-04: a frame of a long notebook renders only the cells that it shows, and the next frame renders
/// none.
#[test]
fn a_frame_makes_only_what_it_shows() {
    let cells: Vec<(String, String)> =
        (0..10_000).map(|at| (format!("c{at}"), format!("x = {at}"))).collect();
    let cells: Vec<(&str, &str, &str)> =
        cells.iter().map(|(id, source)| ("code", id.as_str(), source.as_str())).collect();
    let mut model = model_of(notebook(&cells));
    frame(&mut model, 80, 24);
    let first = model.renders();
    assert!(first <= 9, "{first} cells for 22 rows of cells that have three");
    frame(&mut model, 80, 24);
    assert_eq!(model.renders(), first);
    press(&mut model, "G");
    assert!(frame(&mut model, 80, 24).contains("x = 9999"));
    assert!(model.renders() <= 2 * first + 2, "{} cells", model.renders());
    press(&mut model, "gg");
    frame(&mut model, 80, 24);
    assert!(model.renders() <= 2 * first + 2, "{} cells", model.renders());
    frame(&mut model, 60, 24);
    assert!(
        model.renders() <= 3 * first + 4,
        "another width makes them again: {}",
        model.renders()
    );
}

/// S-050, S-006: no content of a notebook brings a control character into a frame.
#[test]
fn nothing_in_a_notebook_commands_the_terminal() {
    let evil = "\u{1b}[2J\u{9b}31m\u{202e}x\u{7}\r\u{1b}]0;title\u{7}\u{0}";
    let cells = vec![
        serde_json::json!({"cell_type": "code", "id": evil, "metadata": {}, "source": evil,
            "execution_count": 1, "outputs": [
            {"output_type": "stream", "name": evil, "text": evil},
            {"output_type": "display_data", "metadata": {}, "data": {evil: evil, "text/plain": evil}},
            {"output_type": evil},
            {"output_type": "error", "ename": evil, "evalue": evil, "traceback": []}]}),
        serde_json::json!({"cell_type": "markdown", "metadata": {}, "source": evil}),
        serde_json::json!({"cell_type": evil, "metadata": {}, "source": evil}),
    ];
    let version = version(&of_cells(&cells));
    let mut model = Model::new(evil, of_cells(&cells), version, Lasting::GoesOn);
    let check = |model: &mut Model| {
        let shown = frame(model, 60, 40);
        let is_bad = |c: &char| (c.is_control() && *c != '\n') || *c == '\u{202e}';
        assert_eq!(shown.chars().find(is_bad), None, "{shown:?}");
    };
    check(&mut model);
    press(&mut model, "E");
    check(&mut model);
    press(&mut model, "\n");
    model.update(Input::Paste(evil.to_owned()));
    check(&mut model);
    press(&mut model, "\u{1b}");
    model.mode = Mode::Browse;
    press(&mut model, "/");
    model.update(Input::Paste(evil.to_owned()));
    check(&mut model);
    model.update(Input::Refused(evil.to_owned()));
    model.mode = Mode::Browse;
    check(&mut model);
}

/// The row of the cursor is visible, for a text of any length.
#[test]
fn a_long_text_is_scrolled_while_it_is_edited() {
    let text: Vec<String> = (0..200).map(|at| format!("line{at}")).collect();
    let mut model = model_of(notebook(&[("code", "a", "1"), ("code", "b", &text.join("\n"))]));
    press(&mut model, "j\n");
    for _ in 0..150 {
        model.update(key(KeyCode::Down, KeyModifiers::NONE));
    }
    assert!(frame(&mut model, 40, 12).contains("line150"));
    for _ in 0..150 {
        model.update(key(KeyCode::Up, KeyModifiers::NONE));
    }
    assert!(frame(&mut model, 40, 12).contains("line0\n"));
    press(&mut model, &"w".repeat(100));
    press(&mut model, "END");
    let shown = frame(&mut model, 40, 12);
    assert!(shown.contains("wwwEND"), "{shown}");
}

/// The selection stays visible at any size of the screen, and below any message.
#[test]
fn the_selection_is_seen_at_every_size() {
    for cursor in 0..4 {
        for sizes in [[(200, 50), (20, 6)], [(80, 24), (20, 6)], [(20, 6), (80, 10)]] {
            let mut model = rich();
            for (width, height) in sizes {
                frame(&mut model, width, height);
                model.select(cursor);
                frame(&mut model, width, height);
            }
            // The sizes change without any key press in between.
            for (width, height) in [(80, 24), (20, 6), (200, 50), (20, 4), (20, 6), (40, 12)] {
                let shown = frame(&mut model, width, height);
                assert!(shown.contains('▌'), "{cursor}, {width}x{height}: {shown}");
            }
            model.update(Input::Refused("many words that need several rows ".repeat(9)));
            let shown = frame(&mut model, 40, 12);
            assert!(shown.contains('▌'), "{cursor}: {shown}");
        }
    }
}

/// A long name hides neither the position nor a busy kernel.
#[test]
fn a_long_name_hides_nothing() {
    for (name, width, wanted) in [
        ("a.ipynb", 40, " a.ipynb  #0 · 4 cells        no kernel"),
        ("a.ipynb", 22, " a.ipynb  #0 · 4 cells"),
        ("a-name-that-is-long.ipynb", 20, " a-na…  #0 · 4 cells"),
        ("長い名前のノート.ipynb", 20, " 長い…  #0 · 4 cells"),
        ("a-name-that-is-long.ipynb", 8, " a-na… …"),
    ] {
        let mut model = rich();
        model.name = name.to_owned();
        let shown = frame(&mut model, width, 10);
        assert_eq!(shown.lines().next(), Some(wanted), "{width}");
    }
    let mut model = rich();
    model.name = "a-name-that-is-long.ipynb".to_owned();
    model.kernel.state = KernelState::Busy;
    assert_eq!(frame(&mut model, 24, 10).lines().next(), Some(" a-na…  #0 · 4 cells  ●"));
}

/// Issue 24, 12: code has a ground of its own, and text on it has a colour that can be read there. Without a ground, a
/// line stands beside the code.
#[test]
fn code_stands_on_a_ground() {
    let ground_of = |ground, colour| {
        let mut model = rich();
        model.ground = ground;
        let mut buffer = Buffer::empty(Rect::new(0, 0, 60, 30));
        model.draw(&mut buffer, colour);
        let row = (0..30).find(|y| buffer[(9, *y)].symbol() == "f").unwrap();
        let cell = |x, y| (buffer[(x, y)].bg, buffer[(x, y)].fg);
        let output = cell(20, row + 2);
        assert_eq!(output.0, Color::Reset, "outputs stand on the ground of the screen");
        assert_eq!(cell(2, row).0, Color::Reset);
        (cell(9, row), cell(59, row), buffer[(8, row)].symbol().to_owned())
    };
    let (code, end, before) = ground_of(Ground::Dark, Colour::On);
    assert_eq!((code.0, end.0, before.as_str()), (Color::Indexed(235), Color::Indexed(235), " "));
    assert_eq!(code.1, Color::Indexed(176));
    let (code, _, _) = ground_of(Ground::Light, Colour::On);
    assert_eq!(code, (Color::Indexed(255), Color::Indexed(90)));
    for (ground, colour) in [(Ground::None, Colour::On), (Ground::Dark, Colour::Off)] {
        let (code, _, before) = ground_of(ground, colour);
        assert_eq!((code.0, before.as_str()), (Color::Reset, "│"));
    }
}

#[test]
fn selection_in_the_editor_is_shown_reversed() {
    let mut model = model_of(notebook(&[("code", "aaaa", "abc\n\nde")]));
    press(&mut model, "\n");
    model.update(key(KeyCode::Right, KeyModifiers::NONE));
    model.update(key(KeyCode::End, KeyModifiers::SHIFT));
    for _ in 0..3 {
        model.update(key(KeyCode::Right, KeyModifiers::SHIFT));
    }
    let mut buffer = Buffer::empty(Rect::new(0, 0, 20, 10));
    model.draw(&mut buffer, Colour::Off);
    let is_reversed = |x, y| buffer[(x, y)].modifier.contains(Modifier::REVERSED);
    let rows = (2..6).map(|y| (0..20).filter(|x| is_reversed(*x, y)).collect::<Vec<u16>>());
    assert_eq!(rows.collect::<Vec<_>>(), [vec![3, 4, 5], vec![2], vec![2], vec![]]);
}
