//! Random notebooks: their content and their layout.

use proptest::prelude::*;

/// JSON whose scalars are given in their spelling.
#[derive(Clone, Debug)]
enum Json {
    Raw(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

#[derive(Clone, Debug)]
struct Cell {
    kind: &'static str,
    source: String,
    is_list: bool,
    id: Option<String>,
    extra: Vec<(String, Json)>,
    is_reversed: bool,
}

#[derive(Clone, Debug)]
struct Layout {
    /// One level of indentation; none for a file on one line.
    unit: Option<&'static str>,
    newline: &'static str,
    colon: &'static str,
    comma: &'static str,
    is_ascii: bool,
    has_bom: bool,
    end: &'static str,
    /// Blanks before the comma after every third cell.
    untidy: &'static str,
}

/// A random notebook before it is rendered.
#[derive(Clone, Debug)]
pub(crate) struct File {
    cells: Vec<Cell>,
    minor: Option<u64>,
    is_reversed: bool,
    has_metadata: bool,
    layout: Layout,
}

/// Text with everything that is awkward in a source.
pub(crate) fn source() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => "[a-z =+()']{0,12}",
        1 => any::<String>(),
        1 => Just(String::new()),
        1 => Just("# %% [code] cell:0".to_owned()),
        1 => Just("# %%% [raw] cell:1 id:abcd\r".to_owned()),
        1 => Just("# %% [markdown]".to_owned()),
        1 => Just("# %% text".to_owned()),
        1 => Just("é 😀 \u{2028}\u{c}\u{7f} \\n \" / \t".to_owned()),
        1 => Just("carriage\rreturn\r".to_owned()),
    ];
    prop::collection::vec(line, 0..5).prop_map(|lines| lines.join("\n"))
}

fn extra() -> impl Strategy<Value = Vec<(String, Json)>> {
    let raw = |text: &str| Json::Raw(text.to_owned());
    let all = vec![
        ("attachments".to_owned(), Json::Object(vec![])),
        ("metadata".to_owned(), Json::Object(vec![("n".to_owned(), raw("1.50"))])),
        ("metadata".to_owned(), Json::Object(vec![])),
        ("x-odd".to_owned(), Json::List(vec![raw("1e400"), raw("-0"), raw("NaN")])),
        ("é".to_owned(), raw(r#""\ud83d\/\u001B""#)),
        ("collapsed".to_owned(), raw("true")),
    ];
    prop::sample::subsequence(all, 0..=6).prop_map(|mut picked| {
        // Each key occurs once: duplicates have tests of their own.
        let mut seen = Vec::new();
        picked.retain(|(key, _)| {
            !seen.contains(key) && {
                seen.push(key.clone());
                true
            }
        });
        picked
    })
}

fn cell() -> impl Strategy<Value = Cell> {
    let kind = prop::sample::select(vec!["code", "markdown", "raw"]);
    let id = prop::option::weighted(0.8, "[a-z]{1,3}-[a-z0-9]{4}|[0-9]{1,2}|[ -~]{0,3}");
    (kind, source(), any::<bool>(), id, extra(), any::<bool>()).prop_map(
        |(kind, source, is_list, id, extra, is_reversed)| Cell {
            kind,
            source,
            is_list,
            id,
            extra,
            is_reversed,
        },
    )
}

fn layout() -> impl Strategy<Value = Layout> {
    let select = prop::sample::select::<&'static str>;
    let unit = prop::sample::select(vec![None, Some(""), Some(" "), Some("    "), Some("\t")]);
    let blanks = (select(vec![": ", ":", " : "]), select(vec![", ", ",", " , "]));
    let newline = select(vec!["\n", "\n", "\r\n"]);
    let end = select(vec!["", "\n", "\r\n", "\n\n "]);
    let untidy = select(vec!["", "", " ", "\n\n"]);
    (unit, newline, blanks, any::<bool>(), any::<bool>(), end, untidy).prop_map(
        |(unit, newline, (colon, comma), is_ascii, has_bom, end, untidy)| Layout {
            unit,
            newline,
            colon,
            comma,
            is_ascii,
            has_bom,
            end,
            untidy,
        },
    )
}

pub(crate) fn file() -> impl Strategy<Value = File> {
    let cells = prop::collection::vec(cell(), 0..7);
    let minor = prop::option::weighted(0.9, 0..7u64);
    (cells, minor, any::<bool>(), any::<bool>(), layout()).prop_map(
        |(cells, minor, is_reversed, has_metadata, layout)| File {
            cells,
            minor,
            is_reversed,
            has_metadata,
            layout,
        },
    )
}

impl Layout {
    fn quoted(&self, text: &str) -> String {
        let quoted = serde_json::to_string(text).unwrap();
        if !self.is_ascii {
            return quoted;
        }
        let mut out = String::new();
        for unit in quoted.encode_utf16() {
            match u8::try_from(unit) {
                Ok(byte) if byte.is_ascii() => out.push(byte as char),
                _ => out.push_str(&format!("\\u{unit:04x}")),
            }
        }
        out
    }

    fn gap(&self, depth: usize) -> String {
        self.unit.map(|unit| format!("{}{}", self.newline, unit.repeat(depth))).unwrap_or_default()
    }

    fn write(&self, value: &Json, depth: usize, out: &mut String) {
        let (brackets, count) = match value {
            Json::Raw(text) => return out.push_str(text),
            Json::List(items) => (['[', ']'], items.len()),
            Json::Object(members) => (['{', '}'], members.len()),
        };
        out.push(brackets[0]);
        for at in 0..count {
            if at > 0 {
                out.push_str(if depth == 1 && at % 3 == 0 { self.untidy } else { "" });
                out.push_str(if self.unit.is_some() { "," } else { self.comma });
            }
            out.push_str(&self.gap(depth + 1));
            match value {
                Json::List(items) => self.write(&items[at], depth + 1, out),
                Json::Object(members) => {
                    out.push_str(&self.quoted(&members[at].0));
                    out.push_str(self.colon);
                    self.write(&members[at].1, depth + 1, out);
                }
                Json::Raw(_) => {}
            }
        }
        out.push_str(&if count > 0 { self.gap(depth) } else { String::new() });
        out.push(brackets[1]);
    }
}

impl File {
    /// Renders the bytes of the file.
    pub(crate) fn render(&self) -> Vec<u8> {
        let raw = |text: String| Json::Raw(text);
        let text = |text: &str| Json::Raw(self.layout.quoted(text));
        let cell = |cell: &Cell| {
            let lines = cell.source.split_inclusive('\n').map(text).collect();
            let source = if cell.is_list { Json::List(lines) } else { text(&cell.source) };
            let mut members = cell.extra.clone();
            members.push(("cell_type".to_owned(), text(cell.kind)));
            members.push(("source".to_owned(), source));
            members.extend(cell.id.as_deref().map(|id| ("id".to_owned(), text(id))));
            if cell.kind == "code" {
                members.retain(|(key, _)| key != "attachments");
                members.push(("execution_count".to_owned(), raw("12".to_owned())));
                members.push(("outputs".to_owned(), Json::List(vec![Json::Object(vec![])])));
            }
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            if cell.is_reversed {
                members.reverse();
            }
            Json::Object(members)
        };
        let mut top = vec![("cells".to_owned(), Json::List(self.cells.iter().map(cell).collect()))];
        if self.has_metadata {
            top.push(("metadata".to_owned(), Json::Object(vec![("k".to_owned(), text("é"))])));
        }
        top.push(("nbformat".to_owned(), raw("4".to_owned())));
        top.extend(self.minor.map(|minor| ("nbformat_minor".to_owned(), raw(minor.to_string()))));
        if self.is_reversed {
            top.reverse();
        }
        let mut out = String::from(if self.layout.has_bom { "\u{feff}" } else { "" });
        self.layout.write(&Json::Object(top), 0, &mut out);
        out.push_str(self.layout.end);
        out.into_bytes()
    }
}
