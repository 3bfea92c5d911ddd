//! Failed cells mark the failing line; long and wide text, and foreign folders.

use super::*;

/// A function that fails when the twelfth line of a long cell calls it.
fn failed() -> CellReport {
    let code: String = (1..=11).map(|n| format!("x{n} = {n}\n")).collect::<String>() + "f(1 / 0)";
    let plain = [
        "---------------------------------------------------------------------------",
        "ZeroDivisionError                         Traceback (most recent call last)",
        "Cell In[4], line 12",
        "     11 x11 = 11",
        "---> 12 f(1 / 0)",
        "",
        "ZeroDivisionError: division by zero",
    ];
    let error = PyError { plain: plain.map(str::to_owned).to_vec(), ..error() };
    let end = Some(EndReport::Exception(error));
    CellReport { count: Some(4), end, ..cell(source(&code), State::Error, 12) }
}

/// The failing line is marked, even if the preview of the code ends before it.
#[test]
fn the_line_that_failed_is_marked() {
    check("failed", execution(vec![failed()]));
    let frame = plain(&execution(vec![failed()]).frame(COLLAPSED));
    let wanted = "  x10 = 10\n… 2 more lines (ctrl+o to expand)\n→ f(1 / 0)\nOutput\n";
    assert!(frame.contains(wanted), "{frame}");
    let frame = plain(&execution(vec![failed()]).frame(EXPANDED));
    assert!(frame.contains("  x11 = 11\n→ f(1 / 0)\nOutput\n"), "{frame}");
    // A line of another cell must not be marked in this one.
    let other = CellReport { count: Some(5), ..failed() };
    assert!(!plain(&execution(vec![other]).frame(EXPANDED)).contains('→'));
    let frame = execution(vec![failed()]).frame(EXPANDED);
    let row = frame.lines.iter().find(|line| line.text().contains("---> 12")).unwrap();
    assert_eq!(row.spans().last().unwrap().role(), Role::Failing);
}

/// The same before the report, from events alone.
#[test]
fn the_line_that_failed_is_marked_at_once() {
    let mut execution = Execution::new(vec![failed().source]);
    let Some(EndReport::Exception(error)) = failed().end else { panic!() };
    execution.event(&(0, ExecEvent::Finished(Outcome::Error(error))));
    let frame = plain(&execution.frame(EXPANDED));
    assert!(frame.contains("→ f(1 / 0)\nOutput\n  -----"), "{frame}");
}

/// Markdown tables have aligned columns. HTML tables become Markdown first.
#[test]
fn tables_have_their_columns_in_line() {
    let table = "| name | mean | note |\n| --- | ---: | --- |\n| first | 1.5 | a **bold** word |\n| 日本 | 22.25 | \
                 and a very long remark that goes on and on |\n";
    check("tables", one(ModelOutput { has_markdown: true, ..text(table) }));
}

/// B:T-21: code, titles and JSON have the same limit as printed text.
#[test]
fn nothing_is_longer_than_is_read() {
    let long = "y".repeat(10_000);
    let frame = plain(
        &execution(vec![cell(source(&format!("x = '{long}'")), State::Done, 1)])
            .frame(Area { width: 5000, ..EXPANDED }),
    );
    assert!(frame.contains("y… [6006 chars omitted]\n"), "{}", frame.len());
    let frame = plain(
        &one(with_rich(vec![json(1, &format!("[\"{long}\"]"))]))
            .frame(Area { width: 5000, ..EXPANDED }),
    );
    assert!(frame.contains("y… [6010 chars omitted]\n"), "{}", frame.len());
    let frame = execution(vec![cell(titled("f()", &long), State::Done, 1)]).frame(COLLAPSED);
    assert!(frame.lines.len() < 12, "{}", frame.lines.len());
}

/// B:T-23
#[test]
fn the_folder_is_shown_where_it_is_another() {
    let in_folder = |cwd: &str| {
        let cells = Execution::new(vec![source("f()")]);
        plain(&cells.with_cwd(Path::new(cwd), Path::new("/w/p")).frame(COLLAPSED))
    };
    assert!(in_folder("/w/p").starts_with("○ pending\n"));
    assert!(in_folder("/w/p/data").starts_with("in data\n○ pending\n"));
    assert!(in_folder("/tmp").starts_with("in /tmp\n"));
}
