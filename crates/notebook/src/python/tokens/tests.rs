use proptest::prelude::*;

use super::*;

/// The tokens of a source that are not blanks, each with a letter for its kind.
fn read(source: &str) -> Vec<(char, &str)> {
    let letter = |kind| match kind {
        PythonTokenKind::Word => 'w',
        PythonTokenKind::Number => '1',
        PythonTokenKind::String(StringEnd::Closed) => 's',
        PythonTokenKind::String(StringEnd::Broken) => 'b',
        PythonTokenKind::String(StringEnd::Unfinished) => 'u',
        PythonTokenKind::Comment => '#',
        PythonTokenKind::Open => '(',
        PythonTokenKind::Close => ')',
        PythonTokenKind::LineEnd => 'n',
        PythonTokenKind::Join => 'j',
        PythonTokenKind::Blank => '_',
        PythonTokenKind::Other => '.',
    };
    let tokens = python_tokens(source).map(|token| (letter(token.kind), token.text));
    tokens.filter(|token| token.0 != '_').collect()
}

#[test]
fn tokens_are_told_apart() {
    let found = read("x1 = f(1e-5, 0xe-1) # no 'x'\n\\\ny");
    let wanted = [
        ('w', "x1"),
        ('.', "="),
        ('w', "f"),
        ('(', "("),
        ('1', "1e-5"),
        ('.', ","),
        ('1', "0xe"),
        ('.', "-"),
        ('1', "1"),
        (')', ")"),
        ('#', "# no 'x'"),
        ('n', "\n"),
        ('j', "\\\n"),
        ('w', "y"),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn strings_end_where_python_ends_them() {
    // Each source begins with one string; the second column is its length.
    let table = [
        ("'a' b", 3, 's'),
        ("''", 2, 's'),
        ("'' ''", 2, 's'),
        ("'''a'b''' c", 9, 's'),
        ("\"\"\"\"\"\"", 6, 's'),
        ("rb'it\\'s' 1", 9, 's'),
        ("r'\\\\' 1", 5, 's'),
        ("'a\\\nb' c", 6, 's'),
        ("f'{x}' y", 6, 's'),
        ("f'{{' y", 5, 's'),
        ("f'{x['a']}' y", 11, 's'),
        ("f'{x!r:>{w}}' y", 13, 's'),
        ("rf'{f\"{f'{1}'}\"}' y", 17, 's'),
        ("f'{x:' y", 6, 's'),
        ("f'''{\nx # '''\n}''' y", 18, 's'),
        ("'open", 5, 'b'),
        ("'open\n'", 5, 'b'),
        ("f'open\n'", 6, 'b'),
        ("f'{x", 4, 'b'),
        ("'open\\", 6, 'b'),
        ("'''open\n''", 10, 'u'),
        ("f'''{x}''", 9, 'u'),
    ];
    for (source, length, end) in table {
        let first = read(source)[0];
        assert_eq!((first.0, first.1.len()), (end, length), "{source:?}");
    }
    // Other words before quotes are no prefix.
    assert_eq!(read("bad'x'"), [('w', "bad"), ('s', "'x'")]);
}

/// Any nesting of fields costs no stack.
#[test]
fn fields_nest_deep() {
    let source = "f'{".repeat(100_000);
    assert_eq!(read(&source), [('b', &*source)]);
}

proptest! {
    /// The tokens are the source, in order and without gaps; only strings and joins cross lines.
    #[test]
    fn tokens_are_the_source(source in "[a-f0-9_ '\"\\\\#{}\\[\\]:=.?é日\u{a0}\r\n]{0,60}") {
        let mut end = 0;
        for token in python_tokens(&source) {
            prop_assert_eq!(token.start, end);
            prop_assert!(!token.text.is_empty());
            prop_assert_eq!(token.text, &source[end..token.end()]);
            let may_cross = matches!(
                token.kind,
                PythonTokenKind::String(_) | PythonTokenKind::Join | PythonTokenKind::LineEnd
            );
            prop_assert!(may_cross || !token.text.contains('\n'));
            end = token.end();
        }
        prop_assert_eq!(end, source.len());
    }

    /// What stands behind a closed string does not change it.
    #[test]
    fn closed_strings_stay_closed(source in "[rf]{0,2}['\"]{1,3}[a'\"{}:\\\\\n]{0,20}", more in "[a'\"\n ]{0,5}") {
        let Some(first) = python_tokens(&source).next() else { return Ok(()) };
        if first.kind == PythonTokenKind::String(StringEnd::Closed) && first.end() < source.len() {
            let longer = format!("{source}{more}");
            prop_assert_eq!(python_tokens(&longer).next(), Some(first));
        }
    }
}
