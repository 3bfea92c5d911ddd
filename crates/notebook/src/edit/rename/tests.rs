use proptest::prelude::*;

use super::*;
use crate::cell::{CellKind, CellRef, IdSource};
use crate::document::Notebook;
use crate::edit::{CellPlace, EditOp};

/// Renames a name in the cells with these sources.
fn renamed(sources: &[&str], old: &str, new: &str) -> Result<Vec<CellRename>, String> {
    let cell = |(index, source): (usize, &&str)| CellCode {
        cell: CellCandidate { index, id: None },
        source: (*source).to_owned(),
    };
    let cells: Vec<CellCode> = sources.iter().enumerate().map(cell).collect();
    rename(&cells, old, new).map_err(|error| error.to_string())
}

/// Compares a cell with what becomes of it when a cell above makes `x` and that is called `y`.
fn check(table: &[(&str, &str)]) {
    for &(before, after) in table {
        let cells = renamed(&["x = 0", before], "x", "y").expect(before);
        let text = if cells[1].source.is_empty() { before } else { &*cells[1].source };
        assert_eq!(text, after, "{before}");
    }
}

#[test]
fn expressions_and_assignments_are_renamed() {
    check(&[
        ("print(x)", "print(y)"),
        ("x += x", "y += y"),
        ("x: int = x", "y: int = y"),
        ("x, (a, *x) = x[x].x, x", "y, (a, *y) = y[y].x, y"),
        ("x.x = x[0] = (x)[0] = f(x).a = b", "y.x = y[0] = (y)[0] = f(y).a = b"),
        ("f(x=1, *x, **x)(x==1, x = x)", "f(x=1, *y, **y)(y==1, x = y)"),
        ("xx = x_ = _x = xé = 1; x", "xx = x_ = _x = xé = 1; y"),
        ("a. x; a.\\\nx; x . a", "a. x; a.\\\nx; y . a"),
        ("del x, a.x", "del y, a.x"),
        ("for x in x: pass", "for y in y: pass"),
        ("with open(x) as x, (x) as a: x", "with open(y) as y, (y) as a: y"),
        ("with (x as x, b as x.a): pass", "with (y as y, b as y.a): pass"),
        ("try:\n    x\nexcept x as x: x", "try:\n    y\nexcept y as y: y"),
        ("if (x := 1): x", "if (y := 1): y"),
        ("if a:\n  x\n\nelif x: x\nelse:\n\tx\n#\nx", "if a:\n  y\n\nelif y: y\nelse:\n\ty\n#\ny"),
        ("@x.a(x=x)\ndef f(): pass", "@y.a(x=y)\ndef f(): pass"),
        ("match = x; match[x]", "match = y; match[y]"),
        ("type x = x", "type y = y"),
        ("  x\n  x", "  y\n  y"),
    ]);
}

#[test]
fn texts_and_comments_stay() {
    check(&[
        ("'x' \"x\" b'x' '''x''' # x", "'x' \"x\" b'x' '''x''' # x"),
        ("__all__ = ['x'] # x\nx", "__all__ = ['x'] # x\ny"),
        (
            "f'x {x} {x!r:{x}x} {{x}} {f\"x{x}\"} {a!x} {x=}'",
            "f'x {y} {y!r:{y}x} {{x}} {f\"x{y}\"} {a!x} {y=}'",
        ),
        ("f'{x!=x} {a[\"x\"]:x}' rf'\\N{x}'", "f'{y!=y} {a[\"x\"]:x}' rf'\\N{y}'"),
        ("f'\\N{x} \\\\N{x}'", "f'\\N{x} \\\\N{y}'"),
        ("f'''{\n  x # x\n}'''", "f'''{\n  y # x\n}'''"),
    ]);
}

#[test]
fn functions_have_names_of_their_own() {
    check(&[
        ("def f(x): return x", "def f(x): return x"),
        ("def f(a: x = x, *, b=x) -> x: return x", "def f(a: y = y, *, b=y) -> y: return y"),
        ("def f():\n    x = 1\n    return x\nx", "def f():\n    x = 1\n    return x\ny"),
        ("def f():\n    return x", "def f():\n    return y"),
        ("def f():\n    global x\n    x = 1", "def f():\n    global y\n    y = 1"),
        (
            "def f():\n    x = 1\n    def g():\n        nonlocal x\n        x = 2",
            "def f():\n    x = 1\n    def g():\n        nonlocal x\n        x = 2",
        ),
        (
            "def f():\n    def g(): return x\n    g.x = x",
            "def f():\n    def g(): return y\n    g.x = y",
        ),
        (
            "def f(a):\n    if a:\n        import x\n    x",
            "def f(a):\n    if a:\n        import x\n    x",
        ),
        ("def f():\n    import x.a\n    x", "def f():\n    import x.a\n    x"),
        ("def f(a):\n    x[a] = x.a = a", "def f(a):\n    y[a] = y.a = a"),
        ("def f():\n    x: int\n    return x", "def f():\n    x: int\n    return x"),
        ("def x(): return x()", "def y(): return y()"),
        ("lambda x: x, x", "lambda x: x, y"),
        ("lambda a=x, *x: (a, x)", "lambda a=y, *x: (a, x)"),
        ("a(lambda b=lambda: x: x, x=x)", "a(lambda b=lambda: y: y, x=y)"),
        (
            "async def f():\n    async with x as a: pass\n    async for b in x: pass",
            "async def f():\n    async with y as a: pass\n    async for b in y: pass",
        ),
    ]);
}

#[test]
fn classes_comprehensions_and_patterns_have_names_of_their_own() {
    check(&[
        ("class x(x, x=x): x = x", "class y(y, x=y): x = y"),
        (
            "class A:\n    x = 1\n    z = x\n    x += 1\n    def f(self): return x",
            "class A:\n    x = 1\n    z = x\n    x += 1\n    def f(self): return y",
        ),
        (
            "class A:\n    def x(self, a=x): return x\n    z = x",
            "class A:\n    def x(self, a=y): return y\n    z = x",
        ),
        ("class A:\n    x: int = x", "class A:\n    x: int = y"),
        (
            "class A:\n    z = [x for _ in x]\n    x = 1",
            "class A:\n    z = [y for _ in y]\n    x = 1",
        ),
        ("{x: x for x in x}", "{x: x for x in y}"),
        ("[x for a in x if x for x in x]", "[x for a in y if x for x in x]"),
        ("[a for a in b if x for c in x]", "[a for a in b if y for c in y]"),
        ("sum(x for b in x), x", "sum(y for b in y), y"),
        ("[(x := a) for a in x]", "[(y := a) for a in y]"),
        (
            "match x:\n    case x.a: x\n    case {'x': x, **b} if x: pass\n    case P(x=1) | x(): pass",
            "match y:\n    case y.a: y\n    case {'x': y, **b} if y: pass\n    case P(x=1) | y(): pass",
        ),
        (
            "def f(a):\n    match a:\n        case [x, _]:\n            return x",
            "def f(a):\n    match a:\n        case [x, _]:\n            return x",
        ),
    ]);
    // Inside classes Python changes private names, so they are not those of the notebook.
    let source = "__x = 1\nclass A:\n    def f(self): return __x\n__x";
    let cells = renamed(&[source], "__x", "y").unwrap();
    assert_eq!(cells[0].source, "y = 1\nclass A:\n    def f(self): return __x\ny");
}

#[test]
fn imports_keep_the_name_of_the_module() {
    check(&[
        ("import x", "import x as y"),
        ("import a, x, b", "import a, x as y, b"),
        ("import a.b as x, x.a as b", "import a.b as y, x.a as b"),
        ("import y as x", "import y"),
        ("import y  as x", "import y  as y"),
        ("from x import x, a as x, y as x", "from x import x as y, a as y, y"),
        ("from . x import (a,\n  x, # x\n)", "from . x import (a,\n  x as y, # x\n)"),
        ("from x import a", "from x import a"),
        ("from __future__ import x; x", "from __future__ import x as y; y"),
    ]);
}

#[test]
fn magics_stay_and_are_counted() {
    let table = [
        ("%%time x\nx", "%%time x\ny", 1),
        ("\n%%capture\n%%time\nx", "\n%%capture\n%%time\ny", 0),
        ("%%bash\necho x $x xx\n", "%%bash\necho x $x xx\n", 2),
        ("%timeit x\nx?\n!echo {x}\nx", "%timeit x\nx?\n!echo {x}\ny", 3),
        ("x = !ls {x}", "y = !ls {x}", 1),
        ("if x:\n    %time x\nelse:\n    !x\nx", "if y:\n    %time x\nelse:\n    !x\ny", 2),
    ];
    for (before, after, in_commands) in table {
        let cells = renamed(&["x = 0", before], "x", "y").expect(before);
        assert_eq!((&*cells[1].source, cells[1].in_commands), (after, in_commands), "{before}");
    }
}

#[test]
fn a_rename_that_would_change_the_meaning_is_refused() {
    let taken = "y is a name in the notebook already (cell 1, line 2); choose another one";
    let hidden = "cell 1, line 2: y would mean a local name there; choose another one, or change the local one first";
    let table = [
        ("\nx = y", taken),
        ("\ndef f(): return y", taken),
        ("\n[y for _ in y]", taken),
        ("\nclass y: pass", taken),
        ("\ndef f(y): return x", hidden),
        ("def f(y):\n    global x", hidden),
        ("def f(y):\n    def g(): return x", hidden),
        ("\n[x + y for y in a]", hidden),
        ("\n[(x := y) for y in a]", hidden),
        ("\nlambda y: x", hidden),
        ("class A: y = 1; z = a\\\n+ x", hidden),
    ];
    for (source, wanted) in table {
        assert_eq!(
            renamed(&["x = 0", source], "x", "y").err().as_deref(),
            Some(wanted),
            "{source}"
        );
    }
    // A local y that nothing is renamed beside stays.
    check(&[
        ("def f(y): return y\nx", "def f(y): return y\ny"),
        ("[y for y in x]", "[y for y in y]"),
    ]);
}

#[test]
fn code_that_cannot_be_followed_is_refused_where_it_has_the_name() {
    let class = "this name may be one of the class or of the notebook";
    let deep = format!("{}x{}", "(".repeat(201), ")".repeat(201));
    let lambdas = format!("{}x", "lambda: ".repeat(201));
    let table: &[(&str, usize, &str)] = &[
        ("a\nimport x.a", 2, "an import of a part of a package has no other name for it"),
        ("class A:\n    if a: x = 1\n    z = x", 3, class),
        ("class A:\n    x += 1", 2, class),
        ("class A:\n    x = 1\n    del x\n    x", 4, class),
        ("a\nx = (", 2, "a bracket is not closed"),
        ("x = [1)", 1, "a bracket is closed that is not open"),
        ("x = 'a", 1, "a text is not closed"),
        ("if x\n    a", 1, "a colon is missing"),
        ("if a:\nx", 2, "an indented block is missing"),
        ("x\nif a:\n", 3, "an indented block is missing"),
        ("if a:\n    b\n  x", 3, "the indentation fits no block"),
        ("for x: pass", 1, "a loop has no in"),
        ("def f[a, x](b): pass", 1, "a type parameter has this name"),
        (&deep, 1, "brackets are nested too deep"),
        (&lambdas, 1, "expressions are nested too deep"),
    ];
    for &(source, line, problem) in table {
        let wanted =
            format!("cell 1, line {line}: {problem}; change this line first, then rename x");
        assert_eq!(renamed(&["x = 0", source], "x", "y").err(), Some(wanted), "{source}");
    }
    check(&[("a = (", "a = (")]);
}

#[test]
fn names_that_cannot_be_renamed_are_refused() {
    for (old, new) in
        [("x", "1a"), ("x", "class"), ("x", "a b"), ("x", ""), ("x.a", "b"), ("if", "b")]
    {
        let error = renamed(&["x = 0"], old, new).err().unwrap();
        assert!(error.contains("cannot be a name in Python"), "{old} {new}: {error}");
    }
    for source in ["print(x)", "def f(x): x", "%time x = 1", "a.x = 1", "[x for x in a]", "'x'"] {
        let error = renamed(&[source], "x", "y").err().unwrap();
        assert!(error.starts_with("no cell defines x at the top level"), "{source}: {error}");
    }
}

/// Each cell that has the name is reported, and nothing else of the file changes.
#[test]
fn a_notebook_is_renamed_in_its_code_cells() {
    let cell = |kind: &str, more: &str, source: &str| {
        format!("{{\"cell_type\": \"{kind}\", \"metadata\": {{}}, {more}\"source\": {source}}}")
    };
    let code = |source: &str| cell("code", "\"execution_count\": 1, \"outputs\": [], ", source);
    let book = |language: &str, name: &str| {
        let cells = [
            code(&format!("[\"{name} = 1 \\u0023\\n\", \"\\u0061 = {name}\"]")),
            cell("markdown", "", "\"x\""),
            code("\"%time x\""),
            code("\"z\""),
        ];
        format!(
            "{{\"cells\": [{}], \"metadata\": {{\"language_info\": {{\"name\": \"{language}\"}}}}, \
             \"nbformat\": 4, \"nbformat_minor\": 4}}",
            cells.join(", ")
        )
    };
    let rename = |book: &str, outputs| {
        let mut notebook = Notebook::parse(book.as_bytes().to_vec()).unwrap();
        let op = EditOp::Rename { old: "x".to_owned(), new: "y".to_owned(), outputs };
        let report = notebook.apply(&[op], &mut IdSource::seeded(1));
        report.map(|report| (String::from_utf8(notebook.to_bytes()).unwrap(), report.changes))
    };
    let (after, changes) = rename(&book("python", "x"), OutputsAfter::Keep).unwrap();
    // Lines that change are written as the file writes others.
    assert_eq!(after, book("python", "y").replace("\\u0023", "#").replace("\\u0061", "a"));
    let told: Vec<_> =
        changes.iter().map(|change| (change.index, change.action, change.notes.clone())).collect();
    let left = vec![EditNote::Unchanged, EditNote::LeftInCommands(1)];
    let wanted = [
        (Some(0), Action::Renamed { count: 2 }, vec![]),
        (Some(2), Action::Renamed { count: 0 }, left),
    ];
    assert_eq!(told, wanted);
    let (after, _) = rename(&book("ipython", "x"), OutputsAfter::ClearIfChanged).unwrap();
    assert_eq!(after.matches("\"execution_count\": null").count(), 1, "{after}");
    let error = rename(&book("julia", "x"), OutputsAfter::Keep).unwrap_err();
    assert!(error.to_string().starts_with("the notebook is in julia"), "{error}");
}

/// A rename is done in the order of its batch, on cells as the operations before left them.
#[test]
fn a_rename_sees_the_batch_before_it() {
    let mut notebook = Notebook::empty();
    let insert =
        EditOp::Insert { at: CellPlace::End, kind: CellKind::Code, source: "x = 1".to_owned() };
    let outputs = OutputsAfter::Keep;
    let rename = EditOp::Rename { old: "x".to_owned(), new: "y".to_owned(), outputs };
    notebook.apply(&[insert, rename], &mut IdSource::seeded(1)).unwrap();
    assert_eq!(notebook.cell(0).unwrap().source().text, "y = 1");
    let delete = EditOp::Delete { cell: CellRef::Index(0) };
    let rename = EditOp::Rename { old: "y".to_owned(), new: "z".to_owned(), outputs };
    assert!(notebook.apply(&[delete, rename], &mut IdSource::seeded(1)).is_err());
}

/// Pieces of cells with `x`; none has a `q`.
fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "x",
        "x",
        "a",
        ".",
        ",",
        ":",
        "=",
        "+=",
        ":=",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "'",
        "f'",
        "\"",
        "{x}",
        "\\",
        " ",
        " ",
        "\n",
        "\n    ",
        "\n",
        ";",
        "# x",
        "lambda ",
        "def ",
        "class ",
        "for ",
        " in ",
        "if ",
        "import ",
        "from a ",
        "import x",
        " as x",
        "with ",
        "global x",
        "nonlocal x",
        "del ",
        "match ",
        "case ",
        "*",
        "%x",
        "!x",
        "?",
        "\t",
        "\r\n",
        "async ",
        "x = 1\n",
        "def f(x):\n    ",
        "def f():\n    ",
        "class A:\n    ",
        "[x for x in a]",
        "x\n",
        "def g(a):\n    ",
        "except ",
        "try:\n    ",
        "else:\n    ",
        "import x\n",
        "f(x=x)\n",
        "é",
    ])
}

proptest! {
    /// A name that was renamed and renamed back leaves the source as it was; only the name changes on the way.
    #[test]
    fn a_rename_and_its_way_back_change_nothing(pieces in prop::collection::vec(piece(), 0..30)) {
        let source = pieces.concat();
        // The way back of `import x as x` is `import x`.
        if source.contains("x as x") {
            return Ok(());
        }
        let after = |cell: &CellRename, before: &str| match &*cell.source {
            "" => before.to_owned(),
            after => after.to_owned(),
        };
        let Ok(cells) = renamed(&["x = 0", &source], "x", "q") else { return Ok(()) };
        let there = after(&cells[1], &source);
        prop_assert_eq!(&there.replace("x as q", "x").replace('q', "x"), &source);
        let cells = renamed(&["q = 0", &there], "q", "x");
        let cells = cells.map_err(|error| TestCaseError::fail(format!("{there:?}: {error}")))?;
        prop_assert_eq!(after(&cells[1], &there), source);
    }
}
