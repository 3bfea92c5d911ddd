//! Markdown as styled lines: headings, emphasis, code, lists, quotes, links, tables.
//!
//! Owns a modest reading that never fails. It keeps lines as lines, because text that a program printed may
//! stand between them. Unknown syntax stays as written. Only tables depend on the width.

use super::highlight;
use super::markdown_table::table;
use crate::view::fold::lines::TextLine;
use crate::view::paint::{Line, Role};

/// Levels of emphasis within emphasis. Deeper marks stay text.
const MAX_DEPTH: usize = 4;

/// Renders lines of Markdown, each with its count of cut characters. Tables keep to `width`.
pub(in crate::view) fn lines<'a>(
    text: impl Iterator<Item = &'a TextLine>,
    width: usize,
) -> Vec<Line> {
    let text: Vec<&TextLine> = text.collect();
    let plain: Vec<&str> = text.iter().map(|line| line.text()).collect();
    let mut out = Vec::new();
    let mut fence: Option<Fence> = None;
    let mut at = 0;
    while let Some(line) = text.get(at) {
        at += 1;
        let mark = fence_mark(line.text());
        match (&mut fence, mark) {
            (Some(open), Some((mark, ""))) if mark.starts_with(&open.mark) => {
                out.append(&mut fence.take().map(Fence::lines).unwrap_or_default());
            }
            (Some(open), _) => open.code.push(line.text().to_owned()),
            (None, Some((mark, language))) => {
                let is_python = ["python", "py", "python3"].contains(&language);
                fence = Some(Fence { mark: mark.to_owned(), is_python, code: Vec::new() });
            }
            (None, None) => {
                if let Some((mut rows, taken)) = table(&plain[at - 1..], width, &inline) {
                    out.append(&mut rows);
                    at += taken - 1;
                    continue;
                }
                let mut shown = block(line.text());
                if let Some(omitted) = line.omitted() {
                    shown.push(Role::Dim, &omitted);
                }
                out.push(shown);
            }
        }
    }
    out.append(&mut fence.map(Fence::lines).unwrap_or_default());
    out
}

/// A block of code between two fences.
struct Fence {
    mark: String,
    is_python: bool,
    code: Vec<String>,
}

impl Fence {
    fn lines(self) -> Vec<Line> {
        let lines = match self.is_python {
            true if self.code.is_empty() => Vec::new(),
            true => highlight::python(&self.code.join("\n")),
            false => self.code.iter().map(|line| Line::of(Role::Code, line)).collect(),
        };
        lines.into_iter().map(|line| behind("  ", Role::Plain, &line)).collect()
    }
}

/// The fence at the start of a line, and the language named behind it.
fn fence_mark(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let letter = line.chars().next().filter(|c| ['`', '~'].contains(c))?;
    let mark = &line[..line.len() - line.trim_start_matches(letter).len()];
    let language = line[mark.len()..].trim();
    (mark.len() >= 3 && !language.contains('`')).then_some((mark, language))
}

fn behind(prefix: &str, role: Role, line: &Line) -> Line {
    line.behind(Line::of(role, prefix))
}

/// Renders one line outside of code.
fn block(text: &str) -> Line {
    let margin = text.len() - text.trim_start_matches(' ').len();
    let (margin, body) = text.split_at(margin);
    let level = body.len() - body.trim_start_matches('#').len();
    if (1..=6).contains(&level) && body[level..].starts_with(' ') {
        let title = body[level..].trim().trim_end_matches('#').trim_end();
        return inline(title, Role::Title);
    }
    let is_rule = |c: char| body.len() >= 3 && body.chars().all(|one| one == c);
    if is_rule('-') || is_rule('*') || is_rule('_') {
        return Line::of(Role::Dim, "───");
    }
    if let Some(rest) = body.strip_prefix('>') {
        let inner = block(rest.strip_prefix(' ').unwrap_or(rest));
        return behind(&format!("{margin}│ "), Role::Dim, &inner);
    }
    if let Some(rest) = ["- ", "* ", "+ "].iter().find_map(|mark| body.strip_prefix(mark)) {
        return behind(&format!("{margin}• "), Role::Plain, &inline(rest, Role::Plain));
    }
    behind(margin, Role::Plain, &inline(body, Role::Plain))
}

fn inline(text: &str, role: Role) -> Line {
    let mut line = Line::default();
    add_inline(&mut line, text, role, 0);
    line
}

/// Marks of emphasis. Longer marks come first.
const MARKS: [(&str, Role); 4] =
    [("**", Role::Strong), ("__", Role::Strong), ("*", Role::Emphasis), ("_", Role::Emphasis)];

fn add_inline(line: &mut Line, text: &str, role: Role, depth: usize) {
    // Remember marks without a closing mark: a line full of marks then costs no more than any other.
    let mut unclosed = [false; MARKS.len()];
    let mut written = 0;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let before = text[..at].chars().next_back();
        let found = match c {
            '\\' if rest[1..].starts_with(|c: char| c.is_ascii_punctuation()) => {
                Some(InlineSpan { inner: &rest[1..2], kind: Kind::Literal, len: 2 })
            }
            '`' => code(rest),
            '[' => link(rest),
            '!' if rest[1..].starts_with('[') => link(&rest[1..]).map(|found| InlineSpan {
                len: found.len + 1,
                kind: Kind::Image,
                ..found
            }),
            '*' | '_' if depth < MAX_DEPTH => emphasis(rest, before, &mut unclosed),
            _ => None,
        };
        let Some(InlineSpan { inner, kind, len }) = found else {
            at += match c {
                // Skip a run of backquotes without a closing run at once.
                '`' => rest.len() - rest.trim_start_matches('`').len(),
                c => c.len_utf8(),
            };
            continue;
        };
        line.push(role, &text[written..at]);
        match kind {
            Kind::Literal => line.push(role, inner),
            Kind::Code => line.push(Role::Code, inner),
            Kind::Emphasis(inside) => add_inline(line, inner, inside, depth + 1),
            Kind::Link(target) => {
                line.push(Role::Emphasis, inner);
                line.push(Role::Dim, &format!(" ({target})"));
            }
            Kind::Image => line.push(Role::Dim, &format!("[image: {inner}]")),
        }
        at += len;
        written = at;
    }
    line.push(role, &text[written..]);
}

struct InlineSpan<'a> {
    inner: &'a str,
    kind: Kind<'a>,
    len: usize,
}

enum Kind<'a> {
    Literal,
    Code,
    Emphasis(Role),
    Link(&'a str),
    Image,
}

fn code(rest: &str) -> Option<InlineSpan<'_>> {
    let mark = &rest[..rest.len() - rest.trim_start_matches('`').len()];
    let body = &rest[mark.len()..];
    let end = body.find(mark)?;
    let inner = body[..end].trim();
    Some(InlineSpan { inner, kind: Kind::Code, len: mark.len() * 2 + end })
}

fn link(rest: &str) -> Option<InlineSpan<'_>> {
    let middle = rest.find("](")?;
    let target = &rest[middle + 2..];
    let end = target.find(')')?;
    let inner = &rest[1..middle];
    let is_plain = !inner.contains('[') && !target[..end].contains(' ');
    let len = middle + 2 + end + 1;
    is_plain.then_some(InlineSpan { inner, kind: Kind::Link(&target[..end]), len })
}

fn emphasis<'a>(
    rest: &'a str,
    before: Option<char>,
    unclosed: &mut [bool],
) -> Option<InlineSpan<'a>> {
    for (number, (mark, role)) in MARKS.iter().enumerate() {
        let Some(body) = rest.strip_prefix(mark) else { continue };
        let is_word = |c: char| c.is_alphanumeric();
        let is_inside_word = mark.starts_with('_') && before.is_some_and(is_word);
        if unclosed[number] || is_inside_word || body.starts_with([' ', '*', '_']) {
            continue;
        }
        let closing = body.match_indices(mark).find(|(at, _)| {
            let after = body[at + mark.len()..].chars().next();
            let ends_word = !mark.starts_with('_') || !after.is_some_and(is_word);
            *at > 0 && !body[..*at].ends_with([' ', '\\']) && ends_word
        });
        match closing {
            Some((end, _)) => {
                let (inner, len) = (&body[..end], end + 2 * mark.len());
                return Some(InlineSpan { inner, kind: Kind::Emphasis(*role), len });
            }
            None => unclosed[number] = true,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::view::fold::lines::Lines;

    /// The text with its roles in angle brackets.
    fn tagged_text(text: &str) -> String {
        let name = |span: &crate::view::paint::Span| match span.role() {
            Role::Plain => span.text().to_owned(),
            role => format!("<{role:?} {}>", span.text()),
        };
        let text = Lines::of(text);
        let lines = lines(text.iter(), 80);
        let lines: Vec<String> =
            lines.iter().map(|line| line.spans().iter().map(name).collect()).collect();
        lines.join("\n")
    }

    /// B:T-11
    #[test]
    fn markdown_is_shown_as_it_is_meant() {
        let table = [
            ("# A *b*", "<Title A ><Emphasis b>"),
            ("#no", "#no"),
            ("**bold** and `x*y*`", "<Strong bold> and <Code x*y*>"),
            ("a * b * c, snake_case_name", "a * b * c, snake_case_name"),
            ("2*3*4", "2<Emphasis 3>4"),
            ("**open", "**open"),
            ("**a *b* c**", "<Strong a ><Emphasis b><Strong  c>"),
            ("\\*no\\*", "*no*"),
            ("- one\n  - two\n1. three", "• one\n  • two\n1. three"),
            ("> said *so*", "<Dim │ >said <Emphasis so>"),
            ("---", "<Dim ───>"),
            ("[docs](http://x.y)", "<Emphasis docs><Dim  (http://x.y)>"),
            ("![cat](a.png)", "<Dim [image: cat]>"),
            ("list[0](x y)", "list[0](x y)"),
            ("```python\nx = 1\n```\nend", "  x = <Number 1>\nend"),
            ("```\n**raw**\n", "  <Code **raw**>"),
            (
                "| a | b |\n|---|---|\n| 1 | 2 |",
                "<Strong a><Dim  │ ><Strong b>\n<Dim ──┼──>\n1<Dim  │ >2",
            ),
            ("| a |\nno table", "| a |\nno table"),
            ("``` a ``` b", "<Code a> b"),
            ("````x", ""),
        ];
        for (text, wanted) in table {
            assert_eq!(tagged_text(text), wanted, "{text}");
        }
    }

    proptest! {
        /// Odd text neither fails nor takes long.
        #[test]
        fn any_text_is_read(text in "[*_`\\[\\]()!\\\\ a#>é\n-]{0,200}") {
            tagged_text(&text);
        }
    }

    #[test]
    fn a_line_of_marks_is_read_quickly() {
        for marks in ["*", "_", "`", "[", "**a", "_a ", "![", "`a``b```", "[]("] {
            tagged_text(&marks.repeat(4000));
        }
    }
}
