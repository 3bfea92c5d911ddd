//! Pictures reach a model as pictures: drawings, and what a notebook's file holds.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::env;

const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4zwAE/xkgFAAb8gP91pbyKwAAAABJRU5ErkJggg==";
const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"40\" height=\"30\">\n\
                   <circle cx=\"20\" cy=\"15\" r=\"15\"/>\n</svg>";

/// The MIME type, width and height of each picture; all are PNG files.
fn sizes(answer: &Answer) -> Vec<(u32, u32)> {
    let size = |block: Value| {
        assert_eq!(block["mimeType"], "image/png", "{block:.200}");
        let file = STANDARD.decode(block["data"].as_str().expect("base64")).expect("base64");
        assert!(file.starts_with(b"\x89PNG\r\n\x1a\n") && file.ends_with(b"IEND\xaeB`\x82"));
        let number = |at: usize| u32::from_be_bytes(file[at..at + 4].try_into().expect("4 bytes"));
        (number(16), number(20))
    };
    answer.blocks("image").into_iter().map(size).collect()
}

/// The ids of the artifacts that an answer names in its text.
fn artifacts(answer: &Answer) -> Vec<String> {
    let text = answer.text();
    let ids = text.split("artifact://").skip(1);
    ids.map(|rest| rest.chars().take_while(char::is_ascii_alphanumeric).collect()).collect()
}

/// A code cell with these outputs, each with forms by their MIME types.
fn cell(id: &str, outputs: &[Value]) -> Value {
    let display =
        |data: &Value| json!({"output_type": "display_data", "metadata": {}, "data": data});
    json!({
        "cell_type": "code", "execution_count": 1, "id": id, "metadata": {}, "source": "draw()",
        "outputs": outputs.iter().map(display).collect::<Vec<_>>(),
    })
}

fn notebook(cells: &[Value]) -> String {
    json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).to_string()
}

/// A drawing is displayed, returned and run in a notebook. The store has the drawing itself, which is text, too.
#[test]
fn drawing_of_code_is_a_picture() {
    let env = env();
    let mut client = Client::start(&env, &[]);
    let displayed = format!("display({{'image/svg+xml': '''{SVG}'''}}, raw=True)");
    let returned = format!(
        "class Drawing:\n    def _repr_svg_(self): return '''{SVG}'''\n    \
         def __repr__(self): return 'a drawing'\nDrawing()"
    );
    for code in [&displayed, &returned] {
        let answer = client.ok("python", json!({"code": code}));
        assert_eq!(sizes(&answer), [(40, 30)], "{answer:?}");
        assert!(answer.text().contains("image/svg+xml 40×30, "), "{answer:?}");
        assert!(!answer.text().contains("<circle"), "{answer:?}");
        let id = &artifacts(&answer)[0];
        let whole = client.ok("result", json!({"id": id}));
        assert_eq!(sizes(&whole), [(40, 30)]);
        assert!(whole.text().starts_with("image/svg+xml 40×30, "), "{whole:?}");
        for part in [json!({"lines": "2"}), json!({"grep": "circle"}), json!({"raw": true})] {
            let mut asked = part.clone();
            asked["id"] = json!(id);
            let text = client.ok("result", asked);
            assert!(text.text().contains("<circle cx=") && sizes(&text).is_empty(), "{part}");
        }
        let path = answer.blocks("resource_link")[0]["uri"].clone();
        let stored = client.ok("python", json!({"code": format!("output({path})")}));
        assert!(stored.text().contains("<circle"), "{stored:?}");
    }

    env.put("nb.ipynb", notebook(&[]));
    let op = json!({"op": "insert", "at": "end", "type": "code", "source": displayed});
    let edited =
        client.ok("notebook_edit", json!({"path": "nb.ipynb", "ops": [op], "run": "changed"}));
    assert_eq!(sizes(&edited), [(40, 30)], "{edited:?}");
    // Of several cells, those with the output they had are only named.
    let op = json!({"op": "insert", "at": "end", "type": "code", "source": "1"});
    client.ok("notebook_edit", json!({"path": "nb.ipynb", "ops": [op], "run": "changed"}));
    let ran = client.ok("notebook_run", json!({"path": "nb.ipynb", "fresh": true}));
    assert!(sizes(&ran).is_empty() && ran.text().contains("same output as before"), "{ran:?}");
    let read = client.ok("notebook_read", json!({"path": "nb.ipynb", "outputs": "full"}));
    assert_eq!(sizes(&read), [(40, 30)], "{read:?}");
}

/// Of many pictures an answer shows and links eight. Its text names all of them once.
#[test]
fn many_pictures_are_named_once_and_eight_are_linked() {
    let env = env();
    let mut client = Client::start(&env, &[]);
    let code = "svg = '<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"9\"></svg>'\n\
        for n in range(12): display({'image/svg+xml': svg % (n + 1)}, raw=True)";
    let answer = client.ok("python", json!({"code": code}));
    assert_eq!(sizes(&answer).len(), 8, "{answer:?}");
    assert_eq!(answer.blocks("resource_link").len(), 8, "{answer:?}");
    assert_eq!(answer.text().matches("artifact://").count(), 12, "{answer:?}");
    assert!(answer.text().contains("4 more images are not shown"), "{answer:?}");
}

/// A drawing that costs too much is named with the reason, and its text can be read.
#[test]
fn drawing_that_costs_too_much_is_named() {
    let env = env();
    let mut client = Client::start(&env, &[]);
    let code = "rect = '<rect width=\"1000\" height=\"1000\" opacity=\"0.5\"/>' * 10000\n\
        svg = f'<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1000\" height=\"1000\">{rect}</svg>'\n\
        display({'image/svg+xml': svg}, raw=True)";
    let answer = client.ok("python", json!({"code": code}));
    assert!(sizes(&answer).is_empty());
    assert!(answer.text().contains("image/svg+xml 1000×1000, "), "{answer:?}");
    assert!(answer.text().contains("not drawn: too complex]"), "{answer:?}");
    let id = &artifacts(&answer)[0];
    let named = client.ok("result", json!({"id": id}));
    assert!(
        sizes(&named).is_empty() && named.text().contains("not drawn: too complex"),
        "{named:?}"
    );
    let text = client.ok("result", json!({"id": id, "offset": 0, "max_bytes": 500}));
    assert!(text.text().starts_with("<svg"), "{text:?}");
}

/// The pictures in a file come with its outputs, a page of text does not repeat them, and those beyond the budget of
/// one answer are named, by the same ids each time.
#[test]
fn stored_pictures_come_with_full_outputs() {
    let env = env();
    let png = json!({"image/png": format!("{PNG}\n"), "text/plain": "<Figure>"});
    let svg = json!({"image/svg+xml": SVG.split_inclusive('\n').collect::<Vec<_>>()});
    let broken = json!({"image/png": "aGVsbG8="});
    let cells = [
        cell("both", &[png.clone(), svg]),
        cell("text", &[json!({"text/plain": "5"}), broken]),
        cell("many", &vec![png; 10]),
    ];
    env.put("nb.ipynb", notebook(&cells));
    let mut client = Client::start(&env, &[]);
    let full = |more: Value| {
        let mut asked = json!({"path": "nb.ipynb", "outputs": "full"});
        asked.as_object_mut().expect("fields").extend(more.as_object().expect("fields").clone());
        asked
    };
    let one = client.ok("notebook_read", full(json!({"cells": "both"})));
    assert_eq!(sizes(&one), [(2, 2), (40, 30)], "{one:?}");
    for line in [
        "[image of cell 0, output 0: image/png 2×2, ",
        "[image of cell 0, output 1: image/svg+xml 40×30, ",
    ] {
        assert!(one.text().contains(line), "{one:?}");
    }
    let text = client.ok("notebook_read", full(json!({"cells": "text"})));
    assert!(sizes(&text).is_empty());
    assert!(
        text.text().contains("[image of cell 1, output 1: image/png, 5B, not a readable"),
        "{text:?}"
    );

    let all = client.ok("notebook_read", full(json!({})));
    assert_eq!(sizes(&all).len(), 8, "{all:?}");
    let ids = artifacts(&all);
    assert_eq!(ids.len(), 4, "{all:?}");
    assert!(
        all.text().contains("[image of cell 2, output 9 is not shown: image/png 2×2, "),
        "{all:?}"
    );
    assert_eq!(sizes(&client.ok("result", json!({"id": ids[0]}))), [(2, 2)]);
    assert_eq!(artifacts(&client.ok("notebook_read", full(json!({})))), ids);

    for other in [
        json!({"path": "nb.ipynb:1-9", "outputs": "full"}),
        json!({"path": "nb.ipynb", "outputs": "digest"}),
        json!({"path": "nb.ipynb", "outputs": "full", "search": "Figure"}),
        json!({"path": "nb.ipynb"}),
    ] {
        assert!(sizes(&client.ok("notebook_read", other.clone())).is_empty(), "{other}");
    }
    let text = "tool.notebook_read(path='nb.ipynb', outputs='full')";
    let by_code = client.ok("python", json!({"code": text}));
    assert!(sizes(&by_code).is_empty() && by_code.text().contains("image/png"), "{by_code:?}");
}

/// `output.images` holds for stored pictures, too.
#[test]
fn stored_pictures_are_files_where_a_setting_says_so() {
    let env = env();
    let svg = json!({"image/svg+xml": SVG});
    env.put("nb.ipynb", notebook(&[cell("one", &[json!({"image/png": PNG}), svg])]));
    for (images, files) in [("path", 2), ("off", 0)] {
        let mut client = Client::with(&env, &[], |command| {
            command.env("INKCELL_OUTPUT_IMAGES", images);
        });
        let read = client.ok("notebook_read", json!({"path": "nb.ipynb", "outputs": "full"}));
        assert!(sizes(&read).is_empty(), "{read:?}");
        assert_eq!(read.text().matches("[image file: /").count(), files, "{read:?}");
    }
}
