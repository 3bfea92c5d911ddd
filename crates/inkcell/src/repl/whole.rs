//! Whether what was typed is a whole cell, or more of it is to come.
//!
//! Owns a reading of Python that knows brackets, strings and blocks, and no more: what is wrong with a cell is for
//! Python to say. Pure.

/// Whether a cell can be run as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Whole {
    Yes,
    /// The next line belongs to it.
    NotYet,
}

/// What begins a statement that has a block.
const OPENERS: [&str; 11] =
    ["if", "for", "while", "def", "class", "with", "try", "async", "elif", "else", "except"];

/// Looks at what was typed so far, without the line end that would be next.
pub(crate) fn whole(typed: &str) -> Whole {
    let first = typed.trim_start().lines().next().unwrap_or_default();
    if first.is_empty() || first.starts_with(':') {
        return Whole::Yes;
    }
    // How many lines at the end are empty, the one that is being typed among them.
    let empty = typed.rsplit('\n').take_while(|line| line.trim().is_empty()).count();
    if first.starts_with("%%") {
        // What a cell magic takes is anything, so only an empty line ends it.
        return if empty > 0 { Whole::Yes } else { Whole::NotYet };
    }
    if first.starts_with(['%', '!', '?']) {
        return if first.ends_with('\\') { Whole::NotYet } else { Whole::Yes };
    }
    let read = Read::of(typed);
    if read.is_open || read.is_continued {
        return Whole::NotYet;
    }
    let is_header = read.last.ends_with(':');
    let opens = OPENERS.contains(&first_word(read.last)) || read.last.starts_with('@');
    let is_inside = read.last.starts_with([' ', '\t']);
    match (is_header, opens || is_inside) {
        // A block is still to come; whoever leaves two lines empty wants to hear what Python says.
        (true, _) if empty < 2 => Whole::NotYet,
        (false, true) if empty == 0 => Whole::NotYet,
        _ => Whole::Yes,
    }
}

fn first_word(line: &str) -> &str {
    let is_end = |c: char| !(c.is_alphanumeric() || c == '_');
    &line[..line.find(is_end).unwrap_or(line.len())]
}

/// What was seen of some code.
struct Read<'a> {
    /// A bracket or a string with three quotes goes on.
    is_open: bool,
    /// The last line ends in a backslash.
    is_continued: bool,
    /// The last statement's first line to its end, without comments that stand at its end.
    last: &'a str,
}

impl<'a> Read<'a> {
    fn of(code: &'a str) -> Read<'a> {
        let mut depth = 0_usize;
        let mut open: Option<&str> = None;
        let (mut start, mut last) = (0, (0, 0));
        let mut is_continued = false;
        let mut at = 0;
        while at < code.len() {
            let rest = &code[at..];
            let c = rest.chars().next().unwrap_or('\n');
            let mut length = c.len_utf8();
            if let Some(quotes) = open {
                if c == '\\' {
                    length += rest[1..].chars().next().map_or(0, char::len_utf8);
                } else if rest.starts_with(quotes) {
                    length = quotes.len();
                    open = None;
                } else if c == '\n' && quotes.len() == 1 {
                    // Python will say that it has no end.
                    open = None;
                    continue;
                }
                at += length;
                last.1 = at;
                continue;
            }
            is_continued = false;
            match c {
                '#' => length = rest.find('\n').unwrap_or(rest.len()),
                '"' | '\'' => {
                    let quotes = ["\"\"\"", "'''", "\"", "'"];
                    open = quotes.into_iter().find(|quotes| rest.starts_with(quotes));
                    length = open.map_or(1, str::len);
                }
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                '\\' if rest[1..].starts_with('\n') || rest.len() == 1 => {
                    is_continued = rest.len() <= 2;
                    length = rest.len().min(2);
                }
                '\n' if depth == 0 => start = at + 1,
                _ => {}
            }
            at += length;
            if !c.is_whitespace() && c != '#' {
                last = (start, at);
            }
        }
        let is_open = depth > 0 || open.is_some_and(|quotes| quotes.len() == 3);
        Read { is_open, is_continued, last: &code[last.0..last.1] }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Issue 9: what Python itself takes for whole.
    #[test]
    fn python_decides_by_its_rules() {
        let whole_ones = [
            "",
            "  ",
            "x = 1",
            "print('a')  # note:",
            "f(1,\n  2)",
            "'''a\nb'''",
            "x = [1,\n2]\n",
            "'unfinished",
            "x = lambda: 1",
            "def f():\n    return 1\n",
            "def f():\n    return 1\n\n",
            "def f():\n    return 1\nf()",
            "for i in range(3): print(i)\n",
            "if x:\n    pass\nelse:\n    pass\n",
            "if x:\n\n",
            "@d\ndef f(): pass\n",
            "x = {'a': 1}",
            "x: int = 1",
            ":save a.ipynb",
            "%time f(",
            "!ls (",
            "?print",
            "print?",
            "%%time\nf()\n",
            "%%bash\necho (\n",
            "a = ')'",
            "\"\\\"\"",
            "raise ValueError(\"(\")",
            ")",
            "x = 1 \\\n  + 2",
            "forest = 1",
            "'a' 'b:'",
        ];
        for typed in whole_ones {
            assert_eq!(whole(typed), Whole::Yes, "{typed:?}");
        }
        let unfinished = [
            "f(1,",
            "x = [",
            "x = {'a': [1, 2}",
            "'''a",
            "\"\"\"a\nb",
            "f'''{x}",
            "x = 1 + \\",
            "x = 1 + \\\n",
            "def f():",
            "def f():\n    return 1",
            "def f():  # note",
            "for i in range(3): print(i)",
            "if x:\n    f(1,\n2)",
            "if x:\n",
            "if x:\n    pass\nelse:",
            "with a as b:\n    '''x\n",
            "@decorated",
            "async def f():",
            "class A:\n    x = 1\n    def f(self):",
            "try:\n    x\nexcept E:\n    y",
            "%%time",
            "%%time\nf()",
            "%%bash\necho",
        ];
        for typed in unfinished {
            assert_eq!(whole(typed), Whole::NotYet, "{typed:?}");
        }
    }

    proptest! {
        /// Nothing that is typed breaks it, and an end is always within reach.
        #[test]
        fn every_text_is_read(typed in "[a-z(){}\\[\\]'\"\\\\:#%@ \n日é]{0,40}") {
            whole(&typed);
        }
    }
}
