//! Tables of HTML as Markdown tables.
//!
//! Owns spans, header rows of several levels, and the corner of a pandas frame. It must not know tags:
//! rows and cells come one by one. Rows beyond the budget are counted and not kept.

/// Spans and columns beyond this are not played: a hostile page could ask for billions.
const MAX_COLUMNS: usize = 512;
/// Rows a cell may span.
const MAX_SPAN: usize = 65_534;

/// Whether a cell is a heading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CellKind {
    Heading,
    Data,
}

/// In which part of the table a row stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Section {
    Head,
    Body,
}

/// One place of the grid.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Place {
    text: String,
    /// Which cell it belongs to; a cell with spans has several places.
    cell: usize,
    is_heading: bool,
    /// Not the first place of its cell in this row.
    is_across: bool,
}

/// A cell that reaches into rows to come.
#[derive(Clone, Debug)]
struct Reaching {
    place: Place,
    rows: usize,
}

/// A table while it is read.
#[derive(Debug)]
pub(super) struct Table {
    head: Vec<Vec<Place>>,
    body: Vec<Vec<Place>>,
    /// Cells that reach down, by column.
    reaching: Vec<Option<Reaching>>,
    section: Section,
    row: Option<Vec<Place>>,
    cells: usize,
    kept_bytes: usize,
    max_bytes: usize,
    /// Rows of the body that came.
    rows: u64,
    pub(super) caption: String,
}

impl Table {
    /// Keeps rows up to so many bytes.
    pub(super) fn new(max_bytes: usize) -> Table {
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

    pub(super) fn section(&mut self, section: Section) {
        self.end_row();
        self.section = section;
        self.reaching.clear();
    }

    pub(super) fn begin_row(&mut self) {
        self.end_row();
        self.row = Some(Vec::new());
    }

    pub(super) fn is_full(&self) -> bool {
        self.kept_bytes > self.max_bytes
    }

    /// Forgets the row that is being read.
    pub(super) fn abandon_row(&mut self) {
        self.row = None;
    }

    /// More rows that were only counted.
    pub(super) fn skip_rows(&mut self, rows: u64) {
        self.rows += rows;
    }

    /// Places of cells from above that stand at the end of this row so far.
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

    /// Adds a cell to the row, beginning one where there is none.
    pub(super) fn cell(&mut self, kind: CellKind, text: &str, across: usize, down: usize) {
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

    pub(super) fn end_row(&mut self) {
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

    /// The table, when all of it was read.
    pub(super) fn finish(mut self) -> Finished {
        self.end_row();
        // Without a head, a first row of headings is one.
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
        Finished { header, body: rows, rows: self.rows, caption: self.caption }
    }

    /// One heading for each column: its levels from above, joined.
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

/// A row of the body. A label that spans rows is repeated, since a reader looks at one row at a time; a
/// text that spans columns stands once.
fn body_row(row: &[Place], width: usize) -> Vec<String> {
    let mut texts: Vec<String> = row
        .iter()
        .map(|place| if place.is_across { String::new() } else { place.text.clone() })
        .collect();
    texts.resize(width, String::new());
    texts
}

/// A table that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Finished {
    pub(super) header: Vec<String>,
    pub(super) body: Vec<Vec<String>>,
    /// Rows in all.
    pub(super) rows: u64,
    pub(super) caption: String,
}

impl Finished {
    /// As Markdown; the rows that were not kept are counted below it.
    pub(super) fn markdown(&self) -> String {
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
    pub(super) fn digest(&self) -> String {
        let (rows, columns) = (self.rows, self.header.len());
        format!("table of {rows} rows and {columns} columns: {}", self.names())
    }

    /// The names of the columns.
    pub(super) fn names(&self) -> String {
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
