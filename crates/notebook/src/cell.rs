//! Cell kinds, cell ids and references to cells.
//!
//! Owns this vocabulary; `document/names.rs` finds the cell that a reference names. It must not know bytes
//! or spans.

/// The three kinds of cells in nbformat 4.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum CellKind {
    /// Source that the kernel runs.
    Code,
    /// Prose, rendered as Markdown.
    Markdown,
    /// Text for converters; neither run nor rendered.
    Raw,
}

impl CellKind {
    /// All kinds, in the order in which messages list them.
    pub const ALL: [CellKind; 3] = [CellKind::Code, CellKind::Markdown, CellKind::Raw];

    /// The names of all kinds, in the same order.
    pub const NAMES: [&'static str; 3] =
        [CellKind::Code.name(), CellKind::Markdown.name(), CellKind::Raw.name()];

    /// The value of `cell_type` in the file, for example `code`.
    pub const fn name(self) -> &'static str {
        match self {
            CellKind::Code => "code",
            CellKind::Markdown => "markdown",
            CellKind::Raw => "raw",
        }
    }

    /// The kind with this `cell_type`; none for any other text.
    pub fn from_name(name: &str) -> Option<CellKind> {
        CellKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl std::fmt::Display for CellKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A cell id that nbformat allows: 1 to 64 letters, digits, `-` and `_`.
#[derive(Clone, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct CellId(String);

impl CellId {
    /// Checks an id; none if nbformat does not allow it.
    pub fn parse(id: &str) -> Option<CellId> {
        is_valid_id(id).then(|| CellId(id.to_owned()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for CellId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

pub(crate) fn is_valid_id(id: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=64).contains(&id.len()) && id.bytes().all(allowed)
}

/// A generator of new cell ids. The caller supplies the randomness; tests give a fixed seed.
#[derive(Clone, Debug)]
pub struct IdSource {
    state: u64,
}

impl IdSource {
    /// A generator whose ids follow from `seed` alone.
    pub fn seeded(seed: u64) -> IdSource {
        IdSource { state: seed }
    }

    /// The next id: eight lower-case hexadecimal digits.
    pub fn next_id(&mut self) -> CellId {
        // SplitMix64: every seed gives a full-period sequence. That is enough, because the batch checks each
        // id against the notebook.
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        CellId(format!("{:08x}", (z ^ (z >> 31)) as u32))
    }
}

/// A cell as a caller names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CellRef {
    /// A position; negative counts from the end.
    Index(i64),
    /// An id, a unique prefix of an id, or a position in digits, tried in this order.
    Text(String),
}

impl CellRef {
    /// The reference as text, for messages.
    pub fn text(&self) -> String {
        match self {
            CellRef::Index(index) => index.to_string(),
            CellRef::Text(text) => text.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
