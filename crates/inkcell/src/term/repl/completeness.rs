//! The decision whether the typed text is a complete cell or needs another line.
//!
//! Owns when a block ends: with an empty line, as in IPython. Python itself reports any other mistake in a cell. Pure.

use super::scan::CodeScan;

/// The answer for a typed text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Completeness {
    Complete,
    /// The next line belongs to the same cell.
    Incomplete,
}

/// Words that begin a statement with a block.
const OPENERS: [&str; 11] =
    ["if", "for", "while", "def", "class", "with", "try", "async", "elif", "else", "except"];

/// Judges the text typed so far, without the line end that would come next.
pub(crate) fn completeness(typed: &str) -> Completeness {
    let first = typed.trim_start().lines().next().unwrap_or_default();
    if first.is_empty() || first.starts_with(':') {
        return Completeness::Complete;
    }
    // Number of empty lines at the end, including the current line.
    let empty = typed.rsplit('\n').take_while(|line| line.trim().is_empty()).count();
    if first.starts_with("%%") {
        // A cell magic accepts any text, so only an empty line ends it.
        return if empty > 0 { Completeness::Complete } else { Completeness::Incomplete };
    }
    if first.starts_with(['%', '!', '?']) {
        return if first.ends_with('\\') {
            Completeness::Incomplete
        } else {
            Completeness::Complete
        };
    }
    let scan = CodeScan::of(typed);
    if scan.is_open() {
        return Completeness::Incomplete;
    }
    let Some(last) = scan.last() else { return Completeness::Complete };
    let is_header = last.is_header();
    let is_inside = !last.indent().is_empty();
    let opens = !is_inside && (OPENERS.contains(&last.first_word()) || last.text.starts_with('@'));
    match (is_header, opens || is_inside) {
        // The block is still missing. After two empty lines run the cell anyway, so that Python reports the
        // mistake.
        (true, _) if empty < 2 => Completeness::Incomplete,
        (false, true) if empty == 0 => Completeness::Incomplete,
        _ => Completeness::Complete,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Issue 9: the same texts that Python considers complete.
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
            assert_eq!(completeness(typed), Completeness::Complete, "{typed:?}");
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
            assert_eq!(completeness(typed), Completeness::Incomplete, "{typed:?}");
        }
    }

    proptest! {
        /// Any typed text is accepted, and a few empty lines can always end it.
        #[test]
        fn every_text_is_read(typed in "[a-z(){}\\[\\]'\"\\\\:#%@ \n日é]{0,40}") {
            completeness(&typed);
        }
    }
}
