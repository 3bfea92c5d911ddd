//! The operations of an edit, a row for each.
//!
//! Owns their names, their fields and the edit that each becomes. The JSON parser, the schema of the tool, the
//! commands and the page about operations are made from these rows. The notebook crate owns what an edit does.

use inkcell_notebook::{
    CellKind, CellPlace, CellRef, EditOp, Matches, MetaChange, OutputsAfter, SourceShape,
};

/// An operation that callers may ask for.
#[derive(Debug)]
pub struct Operation {
    /// Its name in JSON.
    pub name: &'static str,
    /// What it does, without a full stop.
    pub about: &'static str,
    /// Its subcommand of `inkcell edit`, which is its name or the name of another operation.
    pub command: &'static str,
    /// Other names of the subcommand.
    pub command_aliases: &'static [&'static str],
    /// Its fields besides `op`.
    pub fields: &'static [Field],
    /// Fields of which it needs at least one.
    pub choice: Option<Choice>,
    /// The operation in JSON, as an example.
    pub example: &'static str,
    build: fn(&mut FieldValues) -> Result<EditOp, String>,
}

/// Fields of which an operation needs at least one, with the errors about their absence.
#[derive(Debug)]
pub struct Choice {
    /// The names of these fields.
    pub fields: &'static [&'static str],
    /// The error for an operation in JSON.
    pub json_error: &'static str,
    /// The error for a command.
    pub command_error: &'static str,
}

/// A field of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name in JSON.
    pub name: &'static str,
    /// Names that models and other tools use for it.
    pub aliases: &'static [&'static str],
    /// What its value may be.
    pub kind: FieldKind,
    /// Whether the operation needs it.
    pub is_required: bool,
    /// The word that counts when it is left out.
    pub default: Option<&'static str>,
    /// How it is written on the command line.
    pub argument: Argument,
    /// The explanation in the help of the command.
    pub about: &'static str,
    /// The description in the schema. A model reads every word with every question, so most are empty.
    pub hint: Option<&'static str>,
}

/// The values that a field takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldKind {
    /// A cell, by id or position.
    Cell,
    /// Any text, taken as it is.
    Text,
    /// The source of a cell, as a notebook may store it.
    Source,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A choice between true and false.
    Switch,
    /// Keys with JSON values.
    Keys,
    /// A list of texts.
    Texts,
}

/// The form of a field on the command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Argument {
    /// A value in its place, with the name that the help shows.
    Place(&'static str),
    /// A flag, with the name of its value.
    Flag(&'static str, &'static str),
    /// `-`, `--source TEXT` or `--source-file FILE`.
    Source,
    /// None: a flag of the whole command says it.
    Absent,
}

/// The value of a field, read by one of the faces.
#[derive(Clone, PartialEq, Debug)]
pub enum FieldValue {
    /// The value of a [`FieldKind::Cell`].
    Cell(CellRef),
    /// The value of a [`FieldKind::Text`] or a [`FieldKind::Source`].
    Text(String),
    /// The value of a [`FieldKind::Word`].
    Word(&'static str),
    /// The value of a [`FieldKind::Switch`].
    Switch(bool),
    /// The value of a [`FieldKind::Keys`]: each key with its value as JSON text.
    Keys(Vec<(String, String)>),
    /// The value of a [`FieldKind::Texts`].
    Texts(Vec<String>),
}

/// The fields that say where a cell goes. An operation takes one of them.
pub const PLACE_FIELDS: &[&str] = &["after", "before", "at"];

/// The error for a `meta` command that changes nothing. It sets tags too.
const NO_METADATA: &str = "give --set, --unset, --tag or --untag";

const CELL: Field =
    field("cell", FieldKind::Cell, Argument::Place("CELL"), "Cell: an ID or a position")
        .called(&["cell_id", "cell_index"]);
const SOURCE: Field = field("source", FieldKind::Source, Argument::Source, "Source of the cell")
    .called(&["new_source", "content"]);
const TYPE: Field =
    field("type", FieldKind::Word(&CellKind::NAMES), Argument::Flag("type", "TYPE"), "Cell type")
        .called(&["cell_type"]);
const AFTER: Field =
    field("after", FieldKind::Cell, Argument::Flag("after", "CELL"), "Place after this cell")
        .optional();
const BEFORE: Field =
    field("before", FieldKind::Cell, Argument::Flag("before", "CELL"), "Place before this cell")
        .optional();
const AT: Field = field(
    "at",
    FieldKind::Word(&["start", "end"]),
    Argument::Flag("at", "AT"),
    "Place first or last",
)
.optional();
const OLD: Field = field("old", FieldKind::Text, Argument::Flag("old", "TEXT"), "Text to find")
    .called(&["old_text"]);
const NEW: Field =
    field("new", FieldKind::Text, Argument::Flag("new", "TEXT"), "Text to put in its place")
        .called(&["new_text"]);
const OUTPUTS: Field = field(
    "outputs",
    FieldKind::Word(&["keep", "clear"]),
    Argument::Absent,
    "Keep or clear outputs and counts",
)
.optional();

/// The operations, in the order in which every face lists them.
pub static OPERATIONS: &[Operation] = &[
    Operation {
        name: "replace",
        about: "Set the source of a cell",
        command: "replace",
        command_aliases: &["set", "update"],
        fields: &[CELL, SOURCE, TYPE.described("Also change the cell type").optional(), OUTPUTS],
        choice: None,
        example: r#"{"op": "replace", "cell": "ab12", "source": "x = 2", "outputs": "keep"}"#,
        build: |given| {
            Ok(EditOp::Replace {
                cell: given.cell()?,
                source: given.text("source")?,
                kind: given.cell_kind(),
                outputs: given.outputs(),
                shape: SourceShape::Keep,
            })
        },
    },
    Operation {
        name: "insert",
        about: "Add a cell [default: at the end]",
        command: "insert",
        command_aliases: &["add", "append"],
        fields: &[SOURCE, TYPE.or("code"), AFTER, BEFORE, AT],
        choice: None,
        example: r##"{"op": "insert", "after": "ab12", "type": "markdown", "source": "# Results"}"##,
        build: |given| {
            Ok(EditOp::Insert {
                at: given.take_place()?.unwrap_or(CellPlace::End),
                kind: given.cell_kind().ok_or_else(|| missing("type"))?,
                source: given.text("source")?,
            })
        },
    },
    Operation {
        name: "delete",
        about: "Delete a cell",
        command: "delete",
        command_aliases: &["rm", "remove"],
        fields: &[CELL],
        choice: None,
        example: r#"{"op": "delete", "cell": 3}"#,
        build: |given| Ok(EditOp::Delete { cell: given.cell()? }),
    },
    Operation {
        name: "move",
        about: "Move a cell",
        command: "move",
        command_aliases: &[],
        fields: &[CELL, AFTER, BEFORE, AT],
        choice: Some(Choice {
            fields: PLACE_FIELDS,
            json_error: "give the place: one of after, before (a cell) or at (start, end)",
            command_error: "give the place: --after CELL, --before CELL or --at start|end",
        }),
        example: r#"{"op": "move", "cell": 5, "before": 0}"#,
        build: |given| {
            Ok(EditOp::Move {
                cell: given.cell()?,
                to: given.take_place()?.ok_or("the place is missing")?,
            })
        },
    },
    Operation {
        name: "sub",
        about: "Replace text in one cell or all cells (must match exactly once)",
        command: "sub",
        command_aliases: &[],
        fields: &[
            CELL.described("Cell: an ID or a position [default: all cells]").optional(),
            OLD,
            NEW,
            field("all", FieldKind::Switch, Argument::Flag("all", ""), "Replace every match")
                .optional(),
            OUTPUTS,
        ],
        choice: None,
        example: r#"{"op": "sub", "cell": 2, "old": "x = 1", "new": "x = 2"}"#,
        build: |given| {
            Ok(EditOp::Sub {
                cell: given.cell().ok(),
                old: given.text("old")?,
                new: given.text("new")?,
                matches: if given.switch("all") { Matches::All } else { Matches::One },
                outputs: given.outputs(),
            })
        },
    },
    Operation {
        name: "rename",
        about: "Rename a Python name in all cells",
        command: "rename",
        command_aliases: &[],
        fields: &[
            Field { argument: Argument::Place("OLD"), ..OLD.described("Current name") },
            Field { argument: Argument::Place("NEW"), ..NEW.described("New name") },
            OUTPUTS,
        ],
        choice: None,
        example: r#"{"op": "rename", "old": "df", "new": "sales"}"#,
        build: |given| {
            Ok(EditOp::Rename {
                old: given.text("old")?,
                new: given.text("new")?,
                outputs: given.outputs(),
            })
        },
    },
    Operation {
        name: "type",
        about: "Change the type of a cell",
        command: "type",
        command_aliases: &[],
        fields: &[CELL, Field { argument: Argument::Place("KIND"), ..TYPE.described("New type") }],
        choice: None,
        example: r#"{"op": "type", "cell": 2, "type": "raw"}"#,
        build: |given| {
            Ok(EditOp::SetKind {
                cell: given.cell()?,
                kind: given.cell_kind().ok_or_else(|| missing("type"))?,
            })
        },
    },
    Operation {
        name: "clear",
        about: "Clear outputs and counts of one cell or all cells",
        command: "clear",
        command_aliases: &[],
        fields: &[CELL.described("Cell: an ID or a position [default: all cells]").optional()],
        choice: None,
        example: r#"{"op": "clear", "cell": 2}"#,
        build: |given| Ok(EditOp::Clear { cell: given.cell().ok() }),
    },
    Operation {
        name: "meta",
        about: "Change metadata and tags of a cell or the notebook",
        command: "meta",
        command_aliases: &[],
        fields: &[
            CELL.described("Cell: an ID or a position [default: the notebook]").optional(),
            field(
                "set",
                FieldKind::Keys,
                Argument::Flag("set", "KEY=VALUE"),
                "Set KEY to a JSON value, or else to text (repeatable)",
            )
            .hinted("Metadata keys and values")
            .optional(),
            field(
                "unset",
                FieldKind::Texts,
                Argument::Flag("unset", "KEY"),
                "Remove KEY (repeatable)",
            )
            .optional(),
        ],
        choice: Some(Choice {
            fields: &["set", "unset"],
            json_error: "meta needs \"set\" or \"unset\"",
            command_error: NO_METADATA,
        }),
        example: r#"{"op": "meta", "cell": 2, "set": {"name": "load"}, "unset": ["collapsed"]}"#,
        build: |given| {
            let change = MetaChange { set: given.keys("set"), unset: given.texts("unset") };
            Ok(EditOp::SetMeta { cell: given.cell().ok(), change })
        },
    },
    Operation {
        name: "tags",
        about: "Add and remove tags of a cell",
        command: "meta",
        command_aliases: &[],
        fields: &[
            CELL,
            field("add", FieldKind::Texts, Argument::Flag("tag", "TAG"), "Add TAG (repeatable)")
                .hinted("Tags")
                .optional(),
            field(
                "remove",
                FieldKind::Texts,
                Argument::Flag("untag", "TAG"),
                "Remove TAG (repeatable)",
            )
            .optional(),
        ],
        choice: Some(Choice {
            fields: &["add", "remove"],
            json_error: "tags needs \"add\" or \"remove\"",
            command_error: NO_METADATA,
        }),
        example: r#"{"op": "tags", "cell": 2, "add": ["parameters"], "remove": ["draft"]}"#,
        build: |given| {
            let (add, remove) = (given.texts("add"), given.texts("remove"));
            let cell = given.cell().map_err(|_| "tags belong to a cell; name it")?;
            Ok(EditOp::SetTags { cell, add, remove })
        },
    },
];

const fn field(
    name: &'static str,
    kind: FieldKind,
    argument: Argument,
    about: &'static str,
) -> Field {
    let aliases = &[];
    Field { name, aliases, kind, is_required: true, default: None, argument, about, hint: None }
}

impl Field {
    const fn called(self, aliases: &'static [&'static str]) -> Field {
        Field { aliases, ..self }
    }

    const fn optional(self) -> Field {
        Field { is_required: false, ..self }
    }

    const fn or(self, default: &'static str) -> Field {
        Field { is_required: false, default: Some(default), ..self }
    }

    const fn described(self, about: &'static str) -> Field {
        Field { about, ..self }
    }

    const fn hinted(self, hint: &'static str) -> Field {
        Field { hint: Some(hint), ..self }
    }
}

impl Operation {
    /// The fields of all operations, each name once, in the order of the operations.
    pub fn all_fields() -> Vec<&'static Field> {
        let mut all: Vec<&Field> = Vec::new();
        for field in OPERATIONS.iter().flat_map(|operation| operation.fields) {
            if !all.iter().any(|known| known.name == field.name) {
                all.push(field);
            }
        }
        all
    }

    /// Returns what the operation lacks if it needs one of several fields and none says anything.
    pub fn missing_choice(&self, given: &FieldValues) -> Option<&Choice> {
        let choice = self.choice.as_ref()?;
        let says = |value: &FieldValue| match value {
            FieldValue::Keys(keys) => !keys.is_empty(),
            FieldValue::Texts(texts) => !texts.is_empty(),
            _ => true,
        };
        let mut values = given.values.iter().filter(|(name, _)| choice.fields.contains(name));
        (!values.any(|(_, value)| says(value))).then_some(choice)
    }

    /// Makes the edit, or names what is missing or contradicts itself.
    pub fn edit(&self, mut given: FieldValues) -> Result<EditOp, String> {
        for field in self.fields {
            if let Some(word) = field.default
                && !given.values.iter().any(|(name, _)| *name == field.name)
            {
                given.add(field, FieldValue::Word(word));
            }
        }
        (self.build)(&mut given)
    }
}

/// The fields of one operation with their values.
#[derive(Clone, PartialEq, Debug)]
pub struct FieldValues {
    values: Vec<(&'static str, FieldValue)>,
    outputs: OutputsAfter,
}

impl FieldValues {
    /// No field, with the fate of outputs unless a field decides it.
    pub fn new(outputs: OutputsAfter) -> FieldValues {
        FieldValues { values: Vec::new(), outputs }
    }

    /// Adds the value of a field.
    pub fn add(&mut self, field: &Field, value: FieldValue) {
        self.values.push((field.name, value));
    }

    fn take(&mut self, name: &str) -> Option<FieldValue> {
        let at = self.values.iter().position(|(given, _)| *given == name)?;
        Some(self.values.swap_remove(at).1)
    }

    fn cell(&mut self) -> Result<CellRef, String> {
        self.cell_in("cell").ok_or_else(|| missing("cell"))
    }

    fn cell_in(&mut self, name: &str) -> Option<CellRef> {
        match self.take(name) {
            Some(FieldValue::Cell(cell)) => Some(cell),
            _ => None,
        }
    }

    fn text(&mut self, name: &str) -> Result<String, String> {
        match self.take(name) {
            Some(FieldValue::Text(text)) => Ok(text),
            _ => Err(missing(name)),
        }
    }

    fn take_word(&mut self, name: &str) -> Option<&'static str> {
        match self.take(name) {
            Some(FieldValue::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn cell_kind(&mut self) -> Option<CellKind> {
        self.take_word("type").and_then(CellKind::from_name)
    }

    fn outputs(&mut self) -> OutputsAfter {
        match self.take_word("outputs") {
            Some("keep") => OutputsAfter::Keep,
            Some(_) => OutputsAfter::Clear,
            None => self.outputs,
        }
    }

    fn take_place(&mut self) -> Result<Option<CellPlace>, String> {
        let at = |end| if end == "start" { CellPlace::Start } else { CellPlace::End };
        let places = [
            self.cell_in("after").map(CellPlace::After),
            self.cell_in("before").map(CellPlace::Before),
            self.take_word("at").map(at),
        ];
        let mut given = places.into_iter().flatten();
        match (given.next(), given.next()) {
            (place, None) => Ok(place),
            _ => Err("give only one of after, before and at".to_owned()),
        }
    }

    fn switch(&mut self, name: &str) -> bool {
        self.take(name) == Some(FieldValue::Switch(true))
    }

    fn keys(&mut self, name: &str) -> Vec<(String, String)> {
        match self.take(name) {
            Some(FieldValue::Keys(keys)) => keys,
            _ => Vec::new(),
        }
    }

    fn texts(&mut self, name: &str) -> Vec<String> {
        match self.take(name) {
            Some(FieldValue::Texts(texts)) => texts,
            _ => Vec::new(),
        }
    }
}

fn missing(name: &str) -> String {
    format!("the field {name:?} is missing")
}
