//! HTML tables as Markdown tables.
//!
//! Owns spans, header rows of several levels, and the corner of a pandas frame. It must not know tags: rows and cells
//! come one by one. Rows beyond the budget are counted and not kept.

/// Maximum number of columns, also by spans: a hostile page could ask for billions.
const MAX_COLUMNS: usize = 512;
/// Maximum number of rows that a cell may span.
const MAX_SPAN: usize = 65_534;

/// The kind of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CellKind {
    Heading,
    Data,
}

/// The part of the table where a row stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Section {
    Head,
    Body,
}

/// One place of the grid.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Place {
    text: String,
    /// Number of its cell; a cell with spans has several places.
    cell: usize,
    is_heading: bool,
    /// True if another place of the same cell precedes it in this row.
    is_across: bool,
}

/// A cell that extends into later rows.
#[derive(Clone, Debug)]
struct Reaching {
    place: Place,
    rows: usize,
}

/// A table while it is read.
#[derive(Debug)]
pub(crate) struct Table {
    head: Vec<Vec<Place>>,
    body: Vec<Vec<Place>>,
    /// Cells that extend downward, by column.
    reaching: Vec<Option<Reaching>>,
    section: Section,
    row: Option<Vec<Place>>,
    cells: usize,
    kept_bytes: usize,
    max_bytes: usize,
    /// Number of body rows so far.
    rows: u64,
    pub(crate) caption: String,
}

impl Table {
    /// Keeps rows up to `max_bytes` of text.
    pub(crate) fn new(max_bytes: usize) -> Table {
        Table {
            head: Vec::new(),
            body: Vec::new(),
            reaching: Vec::new(),
            section: Section::Body,
            row: None,
            cells: 0,
            kept_bytes: 0,
            max_bytes,
            rows: 0,
            caption: String::new(),
        }
    }

    pub(crate) fn section(&mut self, section: Section) {
        self.end_row();
        self.section = section;
        self.reaching.clear();
    }

    pub(crate) fn begin_row(&mut self) {
        self.end_row();
        self.row = Some(Vec::new());
    }

    pub(crate) fn is_full(&self) -> bool {
        self.kept_bytes > self.max_bytes
    }

    /// Drops the row that is being read.
    pub(crate) fn abandon_row(&mut self) {
        self.row = None;
    }

    /// Counts rows that are not read.
    pub(crate) fn skip_rows(&mut self, rows: u64) {
        self.rows += rows;
    }

    /// Fills in cells from above that reach the end of this row so far.
    fn fill_from_above(&mut self) {
        let Some(row) = &mut self.row else {
            return;
        };
        while let Some(slot) = self.reaching.get_mut(row.len())
            && let Some(reaching) = slot
        {
            row.push(reaching.place.clone());
            reaching.rows -= 1;
            if reaching.rows == 0 {
                *slot = None;
            }
        }
    }

    /// Adds a cell to the row, and begins a row if none is open.
    pub(crate) fn cell(&mut self, kind: CellKind, text: &str, across: usize, down: usize) {
        if self.row.is_none() {
            self.begin_row();
        }
        self.fill_from_above();
        let Some(row) = &mut self.row else {
            return;
        };
        self.cells += 1;
        let is_heading = kind == CellKind::Heading;
        for at in 0..across.clamp(1, MAX_COLUMNS) {
            if row.len() >= MAX_COLUMNS {
                break;
            }
            let is_across = at > 0;
            let place = Place { text: text.to_owned(), cell: self.cells, is_heading, is_across };
            let column = row.len();
            if down > 1 {
                self.reaching.resize(self.reaching.len().max(column + 1), None);
                let rows = down.min(MAX_SPAN) - 1;
                self.reaching[column] = Some(Reaching { place: place.clone(), rows });
            }
            row.push(place);
        }
    }

    pub(crate) fn end_row(&mut self) {
        self.fill_from_above();
        let Some(row) = self.row.take() else {
            return;
        };
        if row.is_empty() {
            return;
        }
        let is_head = self.section == Section::Head;
        self.rows += u64::from(!is_head);
        if self.is_full() {
            return;
        }
        self.kept_bytes += row.iter().map(|place| place.text.len() + 3).sum::<usize>();
        if is_head {
            self.head.push(row);
        } else {
            self.body.push(row);
        }
    }

    /// Ends the last row and converts the table.
    pub(crate) fn finish(mut self) -> TextTable {
        self.end_row();
        // Without a head, a first row of headings becomes the head.
        if self.head.is_empty()
            && self.body.len() > 1
            && self.body[0].iter().all(|place| place.is_heading)
        {
            self.head.push(self.body.remove(0));
            self.rows -= 1;
        }
        let width = self.head.iter().chain(&self.body).map(Vec::len).max().unwrap_or(0);
        let header = self.header(width);
        let rows = self.body.iter().map(|row| body_row(row, width)).collect();
        TextTable { header, body: rows, rows: self.rows, caption: self.caption }
    }

    /// One heading for each column: the levels above it, joined.
    fn header(&self, width: usize) -> Vec<String> {
        let index_columns = self
            .body
            .first()
            .map_or(0, |row| row.iter().take_while(|place| place.is_heading).count());
        let is_blank = |place: &Place| place.text.is_empty();
        // pandas puts the names of the index on a row of their own, below the names of the columns.
        let names = self.head.last().filter(|row| {
            let is_named = row.iter().take(index_columns).any(|place| !is_blank(place));
            self.head.len() > 1 && is_named && row.iter().skip(index_columns).all(is_blank)
        });
        let levels = self.head.len() - usize::from(names.is_some());
        let joined = |column: usize| {
            let mut last = 0;
            let mut texts: Vec<&str> = Vec::new();
            for row in &self.head[..levels] {
                let Some(place) = row.get(column) else {
                    continue;
                };
                if !is_blank(place) && place.cell != last {
                    texts.push(&place.text);
                    last = place.cell;
                }
            }
            texts.join(" / ")
        };
        (0..width)
            .map(|column| {
                let name = names.and_then(|row| row.get(column)).map_or("", |place| &place.text);
                match (joined(column), name) {
                    (levels, "") => levels,
                    (levels, name) if levels.is_empty() => name.to_owned(),
                    (levels, name) => format!("{name} (columns: {levels})"),
                }
            })
            .collect()
    }
}

/// A row of the body. A label that spans rows is repeated, since a reader sees one row at a time. A text that spans
/// columns appears once.
fn body_row(row: &[Place], width: usize) -> Vec<String> {
    let mut texts: Vec<String> = row
        .iter()
        .map(|place| if place.is_across { String::new() } else { place.text.clone() })
        .collect();
    texts.resize(width, String::new());
    texts
}

/// A finished table, converted to text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TextTable {
    pub(crate) header: Vec<String>,
    pub(crate) body: Vec<Vec<String>>,
    pub(crate) rows: u64,
    pub(crate) caption: String,
}

impl TextTable {
    /// The table as Markdown; a line below it counts the rows that were not kept.
    pub(crate) fn markdown(&self) -> String {
        if self.header.is_empty() {
            return self.caption.clone();
        }
        let mut text = String::new();
        if !self.caption.is_empty() {
            text.push_str(&self.caption);
            text.push_str("\n\n");
        }
        add_row(&mut text, &self.header);
        text.push('|');
        self.header.iter().for_each(|_| text.push_str(" --- |"));
        text.push('\n');
        self.body.iter().for_each(|row| add_row(&mut text, row));
        let missing = self.rows - self.body.len() as u64;
        if missing > 0 {
            text.push_str(&format!("({missing} more rows)\n"));
        }
        text
    }

    /// Rows, columns and the names of the columns, in one line.
    pub(crate) fn digest(&self) -> String {
        let (rows, columns) = (self.rows, self.header.len());
        format!("table of {rows} rows and {columns} columns: {}", self.names())
    }

    /// The names of the columns.
    pub(crate) fn names(&self) -> String {
        let names: Vec<&str> =
            self.header.iter().filter(|name| !name.is_empty()).map(String::as_str).collect();
        let mut listed = names.iter().take(24).copied().collect::<Vec<_>>().join(", ");
        if names.len() > 24 {
            listed.push_str(&format!(", and {} more", names.len() - 24));
        }
        listed
    }
}

fn add_row(text: &mut String, row: &[String]) {
    text.push('|');
    for cell in row {
        text.push(' ');
        for c in cell.chars() {
            if c == '|' {
                text.push('\\');
            }
            text.push(c);
        }
        text.push_str(if cell.is_empty() { "|" } else { " |" });
    }
    text.push('\n');
}
