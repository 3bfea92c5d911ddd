//! The indentation of typed code: where the next line begins, and where a clause such as `else:` belongs.
//!
//! Owns the rules, which are those of IPython, plus one: a clause finds the statement that it continues. Columns are
//! characters. Pure.

use super::scan::{CodeScan, Statement, first_word};

pub(super) use super::scan::leading;

/// The blanks of one level of indentation.
pub(super) const LEVEL: &str = "    ";

/// Words that end a block: the next line is one level out.
const ENDERS: [&str; 5] = ["return", "pass", "break", "continue", "raise"];

/// Cell magics whose text is Python.
const PYTHON_MAGICS: [&str; 4] = ["%%time", "%%timeit", "%%capture", "%%prun"];

/// The start of the next line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct NextLine {
    pub(super) indent: String,
    /// The line begins a statement, so that its indentation has a meaning.
    pub(super) is_statement: bool,
}

/// Decides where the line behind these lines begins. They end with a line end.
pub(super) fn next_line(before: &str) -> NextLine {
    let within = |indent: String| NextLine { indent, is_statement: false };
    let Some(code) = python(before) else { return within(last_indent(before).to_owned()) };
    let scan = CodeScan::of(code);
    if scan.is_in_string {
        return within(last_indent(code).to_owned());
    }
    if let Some(bracket) = scan.brackets.last() {
        return within(inside(code, *bracket));
    }
    let Some(last) = scan.last() else {
        return NextLine { indent: last_indent(code).to_owned(), is_statement: true };
    };
    if scan.is_continued {
        let is_first = !last.text.trim_end().contains('\n');
        let more = if is_first { LEVEL } else { "" };
        return within(format!("{}{more}", last_indent(code)));
    }
    // A comment on a line of its own was put where it is by hand.
    let comment = code[last.end()..].split_once('\n').map(|(_, rest)| rest);
    let comment = comment.filter(|rest| !rest.trim().is_empty()).map(last_indent);
    let indent = match comment {
        Some(indent) if !last.is_header() || indent.len() > last.indent().len() => {
            indent.to_owned()
        }
        _ if last.is_header() => deeper(last.indent()),
        _ if ENDERS.contains(&last.first_word()) => enclosing(&scan, last).to_owned(),
        _ => last.indent().to_owned(),
    };
    NextLine { indent, is_statement: true }
}

/// Decides where the typed line belongs if it is not where it stands, behind these lines. A clause belongs below the
/// statement that it continues. A line whose author typed this many blanks, over an indentation that was there
/// already, belongs to the block with that indentation.
pub(super) fn moved(before: &str, line: &str, blanks: usize) -> Option<String> {
    let scan = CodeScan::of(python(before)?);
    let indent = leading(line);
    if scan.is_open() || indent.len() == line.len() {
        return None;
    }
    let chosen = outer_indents(&scan, indent).find(|place| blanks > 0 && place.len() == blanks);
    let place = chosen.or_else(|| continued(&scan, line));
    place.filter(|place| *place != indent).map(str::to_owned)
}

/// The indentations of the blocks around a line with this one, from the inside out.
fn outer_indents<'a>(scan: &CodeScan<'a>, indent: &str) -> impl Iterator<Item = &'a str> {
    let mut bound = indent.len();
    let places = scan.statements.iter().rev().map(|statement| statement.indent());
    places.filter(move |place| {
        let is_outer = place.len() < bound;
        bound = bound.min(place.len());
        is_outer
    })
}

/// The indentation of the statement that this clause continues; none if the line is not a clause, or continues
/// nothing.
fn continued<'a>(scan: &CodeScan<'a>, line: &str) -> Option<&'a str> {
    let word = first_word(line.trim_start());
    let is_case = word == "case" && line.trim_end().ends_with(':');
    // The usual statements, then those that have this clause rarely.
    let (usual, rare): (&[&str], &[&str]) = match word {
        "else" => (&["if", "elif", "except", "try"], &["for", "while", "async"]),
        "elif" => (&["if", "elif"], &[]),
        "except" => (&["try", "except"], &[]),
        "finally" => (&["try", "except"], &[]),
        "case" if is_case => (&["case"], &[]),
        _ => return None,
    };
    let indent = leading(line);
    // From the last statement outwards: each hides those that are as deep or deeper.
    let (mut bound, mut second) = (indent.len() + 1, None);
    for statement in scan.statements.iter().rev() {
        let place = statement.indent();
        if place.len() >= bound {
            continue;
        }
        // The statement that an `else` continues may still get a `finally`.
        let is_passed = word == "finally" && statement.first_word() == "else";
        bound = place.len() + usize::from(is_passed);
        let is_there = place == indent;
        if usual.contains(&statement.first_word()) {
            return Some(place);
        }
        if rare.contains(&statement.first_word()) {
            if is_there {
                return Some(place);
            }
            second = second.or(Some(place));
        }
    }
    second
}

/// The Python of a cell: all of it, or what is below a magic. None if it is another language.
fn python(typed: &str) -> Option<&str> {
    let first = typed.trim_start();
    if !first.starts_with("%%") {
        return Some(typed);
    }
    let (magic, code) = first.split_once('\n').unwrap_or((first, ""));
    let name = magic.split_whitespace().next().unwrap_or_default();
    PYTHON_MAGICS.contains(&name).then_some(code)
}

/// The indentation inside of an open bracket: below what stands first in it, else one level deeper than its line.
fn inside(code: &str, bracket: usize) -> String {
    let start = |at: usize| code[..at].rfind('\n').map_or(0, |end| end + 1);
    let scan = CodeScan::of(&code[bracket + 1..]);
    match scan.statements.first() {
        Some(first) => {
            let at = bracket + 1 + first.end() - first.text.trim_start().len();
            let blank = |c: char| if c == '\t' { '\t' } else { ' ' };
            code[start(at)..at].chars().map(blank).collect()
        }
        None => deeper(leading(&code[start(bracket)..])),
    }
}

fn deeper(indent: &str) -> String {
    let level = if indent.ends_with('\t') { "\t" } else { LEVEL };
    format!("{indent}{level}")
}

/// The indentation of the statement whose block has this one.
fn enclosing<'a>(scan: &CodeScan<'a>, inner: Statement<'a>) -> &'a str {
    outer_indents(scan, inner.indent()).next().unwrap_or_default()
}

/// The indentation of the last line that is not empty.
fn last_indent(text: &str) -> &str {
    text.lines().rev().find(|line| !line.trim().is_empty()).map_or("", leading)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Issue 24: where the cursor goes when Enter is pressed behind each text.
    #[test]
    fn next_line_begins_where_python_expects_it() {
        let table = [
            ("x = 1", 0),
            ("  x = 1", 2),
            ("def f():", 4),
            ("def f(): # note", 4),
            ("class A:\n    def f(self):", 8),
            ("if a:\n\tif b:", 2),
            ("if x: y", 0),
            ("def f():\n    x = 1", 4),
            ("def f():\n    return 1", 0),
            ("def f():\n    pass  # later", 0),
            ("for i in x:\n    if i:\n        break", 4),
            ("for i in x:\n    if i:\n        continue", 4),
            ("def f():\n  if x:\n      raise E(\n  1)", 2),
            ("return", 0),
            ("passed", 0),
            ("if x:\n    returned = 1", 4),
            ("@d", 0),
            ("@d\ndef f():", 4),
            ("match x:\n    case 1:", 8),
            ("match x:\n    case 1:\n        pass", 4),
            ("try:\n    x\nexcept E as e:", 4),
            ("x = {'a':", 5),
            ("x = {", 4),
            ("x = {  # note", 4),
            ("x = {\n    'a': 1,", 4),
            ("x = {\n  'a': [1,\n        2],", 2),
            ("    f(", 8),
            ("f(a,", 2),
            ("f('(', [", 4),
            ("def f(a,\n      b):", 4),
            ("x = f(a,\n      b)", 0),
            ("x = 1 + \\", 4),
            ("x = 1 + \\\n  2 + \\", 2),
            ("x = ':'", 0),
            ("x = d['a':", 6),
            ("'''a", 0),
            ("def f():\n    '''Say:", 4),
            ("def f():\n    '''Say.'''", 4),
            ("x = '''\n  if a:", 2),
            ("# note:", 0),
            ("def f():\n    # note:", 4),
            ("def f():\n# note", 4),
            ("def f():\n    return 1\n    # note", 4),
            ("def f():\n", 4),
            ("def f():\n    x\n", 4),
            ("%%time\nfor i in x:", 4),
            ("%%bash\nfor i in x; do\n  (", 2),
            ("%%html\n<p>", 0),
            ("", 0),
        ];
        for (typed, wanted) in table {
            let next = next_line(&format!("{typed}\n"));
            assert_eq!(next.indent.chars().count(), wanted, "{typed:?} {next:?}");
        }
        assert_eq!(next_line("if a:\n\tif b:\n").indent, "\t\t");
    }

    /// Issue 24: an `else` that is typed where the cursor was goes below its `if`.
    #[test]
    fn clause_goes_below_the_statement_it_continues() {
        let table = [
            ("if a:\n    x", "    else:", Some(0)),
            ("if a:\n    x", "    elif b:", Some(0)),
            ("if a:\n    x", "else:", None),
            ("if a:\n    if b:\n        x", "        else:", Some(4)),
            ("if a:\n    if b:\n        x", "    else:", None),
            ("if a:\n    for i in x:\n        y", "        else:", Some(0)),
            ("if a:\n    for i in x:\n        y", "    else:", None),
            ("for i in x:\n    y", "    else:", Some(0)),
            ("try:\n    x", "    except E:", Some(0)),
            ("try:\n    x\nexcept E:\n    y", "    finally:", Some(0)),
            ("try:\n    x\nexcept E:\n    y", "    else: z", Some(0)),
            ("try:\n    x\nexcept E:\n    y\nelse:\n    z", "    finally:", Some(0)),
            ("try:\n    if a:\n        x\n    else:\n        y", "        finally:", Some(0)),
            ("if a:\n    if b:\n        x\n    else:\n        y", "        else:", Some(0)),
            ("match x:\n    case 1:\n        y", "        case 2:", Some(4)),
            ("match x:", "    case 1:", None),
            ("match x:\n    case 1:\n        y", "        case = 2", None),
            ("def f():\n    x", "    else:", None),
            ("if a:\n    x", "    elsewhere = 1", None),
            ("if a:\n    f(", "        else:", None),
            ("if a:\n    '''", "    else:", None),
            ("%%bash\nif a; then\n  b", "  else:", None),
        ];
        for (before, line, wanted) in table {
            let place = moved(&format!("{before}\n"), line, 0);
            let place = place.map(|indent| indent.len());
            assert_eq!(place, wanted, "{before:?} {line:?}");
        }
    }

    /// Issue 24: blanks that were typed over an indentation choose one of the blocks that are open.
    #[test]
    fn blanks_typed_over_an_indentation_choose_a_block() {
        let before = "class A:\n    def f(self):\n        x = 1\n";
        let table = [(0, None), (3, None), (4, Some("    ")), (8, None), (9, None)];
        for (blanks, wanted) in table {
            let place = moved(before, "        def g(self):", blanks);
            assert_eq!(place.as_deref(), wanted, "{blanks}");
        }
    }

    proptest! {
        /// Any text has a next line, which begins with blanks alone.
        #[test]
        fn every_text_has_a_next_line(
            typed in "[a-z(){}\\[\\]'\"\\\\:#%@ \n\té日]{0,40}",
            line in "[a-z: ]{0,12}",
            blanks in 0_usize..9,
        ) {
            let next = next_line(&format!("{typed}\n"));
            prop_assert!(next.indent.trim().is_empty(), "{next:?}");
            let place = moved(&typed, &line, blanks).unwrap_or_default();
            prop_assert!(place.trim().is_empty(), "{place:?}");
        }
    }
}
