//! Tables of keys and their effects.

use super::*;

fn at(index: i64) -> CellRef {
    CellRef::Index(index)
}

fn change(what: &'static str, op: EditOp) -> Vec<Effect> {
    vec![Effect::Change { what, ops: vec![op] }]
}

fn only(id: &str) -> Effect {
    Effect::Run(CellChoice { list: Some(id.to_owned()), ..CellChoice::default() })
}

#[test]
fn keys_move_the_cursor_and_stay_in_the_notebook() {
    let table =
        [("j", 1), ("jj", 2), ("jjjj", 2), ("jk", 0), ("k", 0), ("G", 2), ("Ggg", 0), ("Gg", 2)];
    for (keys, wanted) in table {
        let mut model = three();
        assert!(press(&mut model, keys).is_empty());
        assert_eq!(model.cursor, wanted, "{keys}");
    }
    let mut model = three();
    model.update(key(KeyCode::Down, KeyModifiers::NONE));
    model.update(key(KeyCode::End, KeyModifiers::NONE));
    model.update(key(KeyCode::Up, KeyModifiers::NONE));
    assert_eq!(model.cursor, 1);
}

#[test]
fn keys_ask_for_changes_of_the_cell_under_the_cursor() {
    let insert = |at| EditOp::Insert { at, kind: CellKind::Code, source: String::new() };
    let kind = |kind| EditOp::SetKind { cell: at(1), kind };
    let table = [
        ("ja", change("inserted", insert(CellPlace::Before(at(1))))),
        ("jb", change("inserted", insert(CellPlace::After(at(1))))),
        ("jdd", change("deleted", EditOp::Delete { cell: at(1) })),
        ("jdj", vec![]),
        ("jd", vec![]),
        ("jm", change("changed the type", kind(CellKind::Markdown))),
        ("jy", change("changed the type", kind(CellKind::Code))),
        ("jr", change("changed the type", kind(CellKind::Raw))),
        ("j>", change("moved", EditOp::Move { cell: at(1), to: CellPlace::After(at(2)) })),
        ("j<", change("moved", EditOp::Move { cell: at(1), to: CellPlace::Before(at(0)) })),
        ("<", vec![]),
        ("G>", vec![]),
        ("C", change("cleared", EditOp::Clear { cell: Some(at(0)) })),
        ("z", vec![Effect::Undo]),
        ("Z", vec![Effect::Redo]),
        ("q", vec![Effect::Quit]),
        ("00", vec![Effect::Restart]),
        ("0\u{12}0", vec![only("aaaa")]),
        ("ii", vec![Effect::Interrupt]),
        ("e", vec![Effect::EditOutside { cell: 0, text: "x = 1".to_owned() }]),
    ];
    for (keys, wanted) in table {
        assert_eq!(press(&mut three(), keys), wanted, "{keys}");
    }
    let mut model = three();
    assert_eq!(
        model.update(key(KeyCode::Char('c'), KeyModifiers::CONTROL)),
        vec![Effect::Interrupt]
    );
}

/// Issue 24, 12: cut, copy and paste as in Jupyter. A pasted cell has outputs, count and metadata, and a new id.
#[test]
fn a_cell_is_cut_and_pasted_with_all_it_has() {
    let rich = serde_json::json!({"cell_type": "code", "id": "aaaa", "source": "x = 1",
        "metadata": {"tags": ["kept"], "odd": {"n": 1.5}}, "execution_count": 7, "outputs": [
        {"output_type": "stream", "name": "stdout", "text": "from the run\n"}]});
    let plain = serde_json::json!({"cell_type": "markdown", "id": "bbbb", "metadata": {},
        "source": "words"});
    for (keys, wanted, selected) in [
        ("xv", ["words", "x = 1"].as_slice(), 1),
        ("xV", &["x = 1", "words"], 0),
        ("cv", &["x = 1", "x = 1", "words"], 1),
        ("cjvv", &["x = 1", "words", "x = 1", "x = 1"], 3),
    ] {
        let mut model = model_of(of_cells(&[rich.clone(), plain.clone()]));
        for key in keys.chars() {
            let effects = press(&mut model, &key.to_string());
            assert!(perform(&mut model, effects).is_empty());
        }
        assert_eq!(sources(&model), wanted, "{keys}");
        assert_eq!(model.cursor, selected, "{keys}");
        let pasted = model.notebook.cell(selected).unwrap();
        assert_eq!(pasted.execution_count(), Some(7));
        assert_eq!(pasted.tags(), ["kept"]);
        let json = String::from_utf8_lossy(pasted.json()).into_owned();
        assert!(json.contains("from the run") && json.contains("1.5"), "{json}");
        assert_ne!(pasted.id().as_deref(), Some("aaaa"));
    }
    let mut model = three();
    assert!(press(&mut model, "v").is_empty());
    assert!(frame(&mut model, 60, 10).contains("nothing to paste"));
}

/// Issue 24, 12: keys 1 to 6 make headings, and o hides the output until it is pressed again.
#[test]
fn headings_and_hidden_output_are_as_in_jupyter() {
    let mut model = three();
    let effects = press(&mut model, "j3");
    assert!(perform(&mut model, effects).is_empty());
    assert_eq!(model.source(1), "### Title\n\nsome *words*");
    let effects = press(&mut model, "k1");
    perform(&mut model, effects);
    assert_eq!((model.source(0).as_str(), model.is_code(0)), ("# x = 1", false));
    let output = serde_json::json!({"output_type": "stream", "name": "stdout", "text": "shown\n"});
    let mut model = model_of(of_cells(&[serde_json::json!({"cell_type": "code", "id": "aaaa",
        "metadata": {}, "execution_count": 1, "source": "go()", "outputs": [output]})]));
    assert!(frame(&mut model, 60, 10).contains("shown"));
    press(&mut model, "o");
    let shown = frame(&mut model, 60, 10);
    assert!(!shown.contains("shown") && shown.contains("output hidden"), "{shown}");
    press(&mut model, "/shown\n");
    assert!(frame(&mut model, 60, 10).contains("  shown"), "a hit is seen");
}

/// Issue 24, 12: a cell is split at the cursor and the new one is edited; Shift-M joins it again.
#[test]
fn a_cell_is_split_and_merged() {
    let alt_s = || key(KeyCode::Char('s'), KeyModifiers::ALT);
    let minus = |c, modifiers| key(KeyCode::Char(c), modifiers);
    let control = KeyModifiers::CONTROL;
    for split in [alt_s(), minus('7', control), minus('-', control | KeyModifiers::SHIFT)] {
        let mut model =
            model_of(notebook(&[("markdown", "aaaa", "one\ntwo"), ("code", "bbbb", "x = 1")]));
        press(&mut model, "\n");
        model.update(key(KeyCode::Down, KeyModifiers::NONE));
        let effects = model.update(split);
        assert!(perform(&mut model, effects).is_empty());
        assert_eq!(sources(&model), ["one", "two", "x = 1"]);
        assert!(!model.is_code(1), "it has the kind of the cell");
        assert_eq!(model.editor().unwrap().cell, Some(1));
        press(&mut model, "\u{1b}k");
        let effects = press(&mut model, "M");
        assert!(perform(&mut model, effects).is_empty());
        assert_eq!(sources(&model), ["one\n\ntwo", "x = 1"]);
        assert_eq!(model.cursor, 0);
        assert!(press(&mut model, "jM").is_empty());
        assert!(frame(&mut model, 60, 12).contains("no cell below"));
    }
    // Text that another program has changed is not split.
    let mut model = three();
    press(&mut model, "\n#");
    read_by(&mut model, notebook(&[("code", "aaaa", "x = 2")]), By::Others);
    assert!(model.update(alt_s()).is_empty());
    assert!(frame(&mut model, 80, 12).contains("this cell changed on disk"));
}

/// No operation can move attachments, so a cell with some is not merged away.
#[test]
fn attachments_are_not_lost_in_a_merge() {
    let cell = |id: &str, attachments: serde_json::Value| {
        serde_json::json!({"cell_type": "markdown", "id": id, "metadata": {}, "source": id,
            "attachments": attachments})
    };
    let picture = serde_json::json!({"a.png": {"image/png": "aGk="}});
    let mut model =
        model_of(of_cells(&[cell("aaaa", serde_json::json!({})), cell("bbbb", picture)]));
    assert!(press(&mut model, "M").is_empty());
    assert!(frame(&mut model, 80, 12).contains("has attachments"));
}

/// Issue 24, 12: Tab asks an idle kernel for completions, and indents at the start of a line.
#[test]
fn tab_completes_in_the_editor() {
    let tab = || key(KeyCode::Tab, KeyModifiers::NONE);
    let mut model = model_of(notebook(&[("code", "aaaa", "")]));
    press(&mut model, "\n");
    assert!(model.update(tab()).is_empty());
    press(&mut model, "x.a");
    assert!(model.update(tab()).is_empty());
    assert!(frame(&mut model, 80, 10).contains("without a kernel"));
    model.kernel.state = KernelState::Busy;
    assert!(model.update(tab()).is_empty());
    assert!(frame(&mut model, 80, 10).contains("kernel is busy"));
    model.kernel.state = KernelState::Idle;
    let asked = Effect::Complete { code: "    x.a".to_owned(), cursor: 7 };
    assert_eq!(model.update(tab()), [asked]);
    let found = |texts: [&str; 2]| {
        let matches = texts.map(|text| Completion { text: text.to_owned(), kind: String::new() });
        Completions { start: 6, end: 7, matches: matches.to_vec(), total: 2 }
    };
    let told = |code: &str, found| Input::Completed { code: code.to_owned(), cursor: 7, found };
    model.update(told("    x.b", Some(found(["append", "apply"]))));
    assert_eq!(model.editor().unwrap().text(), "    x.a", "the answer to another text");
    model.update(told("    x.a", Some(found(["append", "apply"]))));
    assert_eq!(model.editor().unwrap().text(), "    x.app");
    assert!(frame(&mut model, 80, 10).contains("append  apply"));
    model.update(tab());
    model.update(tab());
    assert_eq!(model.editor().unwrap().text(), "    x.apply");
    model.update(key(KeyCode::BackTab, KeyModifiers::SHIFT));
    press(&mut model, "\n");
    assert_eq!(model.editor().unwrap().text(), "    x.append", "Enter takes it");
    press(&mut model, "(");
    assert!(!frame(&mut model, 80, 10).contains("append  apply"));
    let text = model.editor().unwrap().text();
    model.update(Input::Completed { cursor: text.chars().count(), code: text, found: None });
    assert!(frame(&mut model, 80, 10).contains("no completions"));
}

/// A key of Jupyter that has no meaning here answers with what to do instead.
#[test]
fn absent_keys_say_what_to_do() {
    for (keys, wanted) in [
        ("s", "saved already"),
        ("J", "one cell at a time"),
        ("p", "press h"),
        ("l", "line numbers"),
    ] {
        let mut model = three();
        assert!(press(&mut model, keys).is_empty());
        let shown = frame(&mut model, 80, 20);
        assert!(shown.contains(wanted), "{keys}: {shown}");
    }
}

#[test]
fn code_is_run_by_id_and_other_cells_are_not_run() {
    let from =
        |id: &str| Effect::Run(CellChoice { from: Some(id.to_owned()), ..CellChoice::default() });
    let end = EditOp::Insert { at: CellPlace::End, kind: CellKind::Code, source: String::new() };
    let table = [
        (RUN, vec![only("aaaa")], 0),
        ("j\u{12}", vec![], 1),
        ("R", vec![only("aaaa")], 1),
        ("jR", vec![], 2),
        ("GR", [vec![only("cccc")], change("inserted", end)].concat(), 2),
        ("F", vec![from("aaaa")], 0),
        ("jF", vec![from("bbbb")], 1),
        ("T", vec![Effect::Run(CellChoice::default())], 0),
    ];
    for (keys, wanted, cursor) in table {
        let mut model = three();
        assert_eq!(press(&mut model, keys), wanted, "{keys}");
        assert_eq!(model.cursor, cursor, "{keys}");
    }
    let mut model = three();
    let enter = |modifiers| key(KeyCode::Enter, modifiers);
    assert_eq!(model.update(enter(KeyModifiers::CONTROL)), vec![only("aaaa")]);
    assert_eq!(model.update(enter(KeyModifiers::SHIFT)), vec![only("aaaa")]);
    assert_eq!(model.cursor, 1);
}

#[test]
fn what_is_typed_goes_into_the_file_when_it_is_done() {
    let mut model = three();
    assert!(press(&mut model, "\n").is_empty());
    assert!(press(&mut model, "y = 0\n").is_empty());
    let effects = press(&mut model, "\u{1b}");
    let replace = EditOp::Replace {
        cell: at(0),
        source: "y = 0\nx = 1".to_owned(),
        kind: None,
        outputs: OutputsAfter::ClearIfChanged,
        shape: SourceShape::Keep,
    };
    assert_eq!(effects, change("saved", replace));
    assert!(matches!(model.mode, Mode::Edit(_)), "it is done when it is in the file");
    assert!(perform(&mut model, effects).is_empty());
    assert!(matches!(model.mode, Mode::Browse));
    assert_eq!(model.source(0), "y = 0\nx = 1");
}

#[test]
fn a_text_that_was_not_changed_is_not_written() {
    for leave in ["\u{1b}", "a\u{8}\u{1b}"] {
        let mut model = three();
        press(&mut model, "\n");
        for c in leave.chars() {
            let code = match c {
                '\u{1b}' => KeyCode::Esc,
                '\u{8}' => KeyCode::Backspace,
                c => KeyCode::Char(c),
            };
            assert!(model.update(key(code, KeyModifiers::NONE)).is_empty());
        }
        assert!(matches!(model.mode, Mode::Browse));
    }
    let mut model = three();
    press(&mut model, "\nlost");
    assert!(model.update(key(KeyCode::Char('q'), KeyModifiers::CONTROL)).is_empty());
    assert!(matches!(model.mode, Mode::Browse));
    assert_eq!(model.source(0), "x = 1");
}

#[test]
fn a_text_is_saved_before_it_is_run() {
    for (code, modifiers, cursor) in [
        (KeyCode::Char('r'), KeyModifiers::CONTROL, 0),
        (KeyCode::Enter, KeyModifiers::CONTROL, 0),
        (KeyCode::Char('g'), KeyModifiers::CONTROL, 1),
        (KeyCode::Enter, KeyModifiers::SHIFT, 1),
    ] {
        let mut model = three();
        press(&mut model, "\n#");
        let effects = model.update(key(code, modifiers));
        assert!(matches!(&effects[..], [Effect::Change { what: "saved", .. }]), "{effects:?}");
        assert_eq!(perform(&mut model, effects), vec![only("aaaa")]);
        assert_eq!(model.cursor, cursor);
    }
}

/// Alt-Enter runs the cell and inserts one below, in both modes.
#[test]
fn alt_enter_runs_and_inserts_below() {
    let below =
        EditOp::Insert { at: CellPlace::After(at(0)), kind: CellKind::Code, source: String::new() };
    let wanted = [vec![only("aaaa")], change("inserted", below)].concat();
    let mut model = three();
    assert_eq!(model.update(key(KeyCode::Enter, KeyModifiers::ALT)), wanted);
    let mut model = three();
    press(&mut model, "\n#");
    let effects = model.update(key(KeyCode::Enter, KeyModifiers::ALT));
    let rest = perform(&mut model, effects);
    assert_eq!(rest, wanted);
}

/// A text that cannot be saved is kept and not run.
#[test]
fn a_refusal_keeps_the_text() {
    let mut model = three();
    press(&mut model, "\n#");
    model.update(key(KeyCode::Char('r'), KeyModifiers::CONTROL));
    assert!(model.update(Input::Refused("the disk is full".to_owned())).is_empty());
    assert_eq!(model.editor().unwrap().text(), "#x = 1");
    assert!(frame(&mut model, 60, 10).contains("the disk is full"));
    // A later change by another program does not run it either.
    let other = model.notebook.clone();
    assert!(read_by(&mut model, other, By::Others).is_empty());
    assert!(matches!(model.mode, Mode::Edit(_)));
}

#[test]
fn lines_begin_where_the_last_one_did() {
    let mut model = model_of(notebook(&[("code", "aaaa", "")]));
    press(&mut model, "\nif x:\ny()\nz()");
    assert_eq!(model.editor().unwrap().text(), "if x:\n    y()\n    z()");
}

#[test]
fn text_is_pasted_as_it_is_and_never_as_keys() {
    let mut model = three();
    assert!(model.update(Input::Paste("dd\nq".to_owned())).is_empty());
    assert_eq!(model.cells.len(), 3);
    press(&mut model, "\n");
    model.update(Input::Paste("a\r\nb\r\u{1b}[2J".to_owned()));
    assert_eq!(model.editor().unwrap().text(), "a\nb\n\u{1b}[2Jx = 1");
}

/// A search hit is visible, even far down in its cell, in code, in prose and in an output.
#[test]
fn what_was_found_is_seen() {
    let code: Vec<String> = (0..90).map(|at| format!("x{at} = {at}")).collect();
    let prose: Vec<String> = (0..90).map(|at| format!("word{at}")).collect();
    let text: String = (0..90).map(|at| format!("row{at}\n")).collect();
    let output = serde_json::json!({"output_type": "stream", "name": "stdout", "text": text});
    let mut model = model_of(of_cells(&[
        serde_json::json!({"cell_type": "code", "id": "aaaa", "metadata": {}, "outputs": [],
            "execution_count": null, "source": code.join("\n")}),
        serde_json::json!({"cell_type": "markdown", "id": "bbbb", "metadata": {}, "source": prose.join(" ")}),
        serde_json::json!({"cell_type": "code", "id": "cccc", "metadata": {}, "outputs": [output],
            "execution_count": 1, "source": "go()"}),
    ]));
    for (pattern, cell) in [("x70 ", 0), ("word70", 1), ("row20", 2), ("word3", 1), ("x2 ", 0)] {
        press(&mut model, &format!("/{pattern}\n"));
        let shown = frame(&mut model, 40, 12);
        let below = format!("/{pattern}");
        let body: Vec<&str> = shown.lines().filter(|line| !line.contains(&below)).collect();
        assert_eq!(model.cursor, cell, "{pattern}");
        assert!(body.iter().any(|line| line.contains(pattern.trim())), "{pattern}: {shown}");
    }
}

#[test]
fn a_search_goes_round_and_ends_with_a_word_where_there_is_none() {
    let mut model = three();
    press(&mut model, "/X\n");
    assert!(model.message.as_ref().unwrap().text.contains("not in this notebook"));
    press(&mut model, "/x\n");
    assert_eq!(model.cursor, 2);
    press(&mut model, "n");
    assert_eq!(model.cursor, 0);
    press(&mut model, "N");
    assert_eq!(model.cursor, 2);
    press(&mut model, "/Word\u{1b}n");
    assert_eq!(model.cursor, 0, "a search that was given up changes nothing");
}

#[test]
fn keys_in_an_empty_notebook_do_no_harm() {
    let insert =
        EditOp::Insert { at: CellPlace::Start, kind: CellKind::Code, source: String::new() };
    for keys in [
        "j", "G", "\n", "dd", "x", "c", "v", RUN, "R", "F", "T", ">", "m", "1", "o", "O", "e",
        "/a\n", "n",
    ] {
        let mut model = model_of(notebook(&[]));
        assert_eq!(press(&mut model, keys), vec![], "{keys}");
        frame(&mut model, 30, 8);
    }
    for keys in ["a", "b"] {
        let mut model = model_of(notebook(&[]));
        assert_eq!(press(&mut model, keys), change("inserted", insert.clone()), "{keys}");
    }
}

#[test]
fn whoever_leaves_code_that_would_end_is_asked() {
    let mut model = three();
    press(&mut model, RUN);
    assert!(press(&mut model, "q").is_empty());
    assert!(press(&mut model, "n").is_empty());
    assert!(press(&mut model, "q").is_empty());
    assert_eq!(press(&mut model, "y"), vec![Effect::Quit]);
    model.lasting = Lasting::GoesOn;
    model.mode = Mode::Browse;
    assert_eq!(press(&mut model, "q"), vec![Effect::Quit]);
}

#[test]
fn the_mouse_selects_and_scrolls() {
    let mut model = three();
    frame(&mut model, 60, 24);
    let (first, _, _) = model.drawn[2];
    let mouse = |kind, row| {
        Input::Mouse(MouseEvent { kind, column: 5, row, modifiers: KeyModifiers::NONE })
    };
    model.update(mouse(MouseEventKind::Down(MouseButton::Left), first));
    assert_eq!(model.cursor, 2);
    model.update(mouse(MouseEventKind::Down(MouseButton::Left), 23));
    assert_eq!(model.cursor, 2, "there is no cell");
    let mut model = model_of(notebook(&[("code", "a", "1"); 20].map(|cell| cell)));
    frame(&mut model, 60, 10);
    model.update(mouse(MouseEventKind::ScrollDown, 3));
    assert_eq!((model.top.cell, model.top.row), (1, 0));
    for _ in 0..100 {
        model.update(mouse(MouseEventKind::ScrollDown, 3));
    }
    let shown = frame(&mut model, 60, 10);
    assert!(shown.contains("#19") && shown.contains('▌'), "{shown}");
    for _ in 0..100 {
        model.update(mouse(MouseEventKind::ScrollUp, 3));
    }
    assert_eq!((model.top.cell, model.top.row), (0, 0));
    assert!(frame(&mut model, 60, 10).contains('▌'), "no key is about a cell that is not seen");
}
