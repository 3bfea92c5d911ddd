//! A batch as JUnit XML, which every CI shows.
//!
//! Owns the elements: a row is a test case; one that ended well at its second try is a flaky one, as Maven's
//! Surefire writes it. It must not know where the text goes.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};

use super::report::{BatchReport, Fate, RowReport, Try};
use crate::exit::Exit;
use crate::words;

pub(crate) fn junit(report: &BatchReport) -> String {
    let counts = report.counts();
    let failures = report.rows.iter().filter(|row| of(row) == Kind::Failure).count();
    let errors = report.rows.iter().filter(|row| of(row) == Kind::Error).count();
    let skipped = counts.not_run + counts.unchanged;
    let sums = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{}\"",
        counts.all,
        seconds(report.took)
    );
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out.push_str(&format!("<testsuites name=\"inkcell\" {sums}>\n"));
    let began = escaped(&report.began);
    out.push_str(&format!("  <testsuite name=\"inkcell\" timestamp=\"{began}\" {sums}>\n"));
    for row in &report.rows {
        case(row, &mut out);
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

/// The class of a row for readers of such files: a failure comes from the code, an error from anything else.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Passed,
    Failure,
    Error,
    Skipped,
}

fn of(row: &RowReport) -> Kind {
    match row.fate {
        Fate::Ok => Kind::Passed,
        Fate::FailedCells => Kind::Failure,
        Fate::Unchanged | Fate::NotRun => Kind::Skipped,
        Fate::Cancelled => Kind::Error,
        Fate::Failed => match row.last().map(|last| last.exit) {
            Some(Exit::Failed | Exit::TimedOut) => Kind::Failure,
            _ => Kind::Error,
        },
    }
}

fn case(row: &RowReport, out: &mut String) {
    let path = Path::new(&row.row.input);
    let folder = path.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
    let class = if folder.is_empty() { "notebooks".to_owned() } else { folder };
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let short = super::plan::Row { input: name.unwrap_or_default(), ..row.row.clone() };
    let took = row.tries.iter().map(|one| one.took).sum();
    let (class, name) = (escaped(&class), escaped(&short.name()));
    let file = escaped(&row.row.input);
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "    <testcase classname=\"{class}\" name=\"{name}\" file=\"{file}\" time=\"{}\"",
        seconds(took)
    );
    let mut body = properties(&row.row.parameters);
    let earlier = row.tries.split_last().map_or(&[][..], |(_, earlier)| earlier);
    match (of(row), row.last()) {
        (Kind::Passed, _) => {
            earlier.iter().for_each(|one| element("flakyFailure", one, &mut body));
        }
        (Kind::Skipped, _) => {
            let why = if row.fate == Fate::Unchanged { "done before" } else { "not run" };
            body.push_str(&format!("      <skipped message=\"{why}\"/>\n"));
        }
        (kind, Some(_)) => {
            let tag = if kind == Kind::Failure { "failure" } else { "error" };
            // The first try is the one that counts, and the others are its repetitions.
            for (at, one) in row.tries.iter().enumerate() {
                element(if at == 0 { tag } else { "rerunFailure" }, one, &mut body);
            }
        }
        (_, None) => {
            body.push_str(&format!("      <error message=\"{}\"/>\n", words::batch::NOT_RUN));
        }
    }
    if body.is_empty() {
        out.push_str("/>\n");
    } else {
        out.push_str(">\n");
        out.push_str(&body);
        out.push_str("    </testcase>\n");
    }
}

/// The parameters of a row. XML has no numbers, so they are written as JSON does it.
fn properties(parameters: &Map<String, Value>) -> String {
    if parameters.is_empty() {
        return String::new();
    }
    let property = |(name, value): (&String, &Value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let (name, text) = (escaped(name), escaped(&text));
        format!("        <property name=\"{name}\" value=\"{text}\"/>\n")
    };
    let all: String = parameters.iter().map(property).collect();
    format!("      <properties>\n{all}      </properties>\n")
}

fn element(tag: &str, one: &Try, out: &mut String) {
    let (kind, message, details) = match &one.error {
        Some(trouble) => {
            (trouble.kind.as_str(), trouble.message.as_str(), trouble.details.as_str())
        }
        None => (one.status, one.status, ""),
    };
    let (kind, message, details) = (escaped(kind), escaped(message), escaped(details));
    let details = if tag == "rerunFailure" || tag == "flakyFailure" {
        format!("<stackTrace>{details}</stackTrace>")
    } else {
        details
    };
    out.push_str(&format!(
        "      <{tag} type=\"{kind}\" message=\"{message}\">{details}</{tag}>\n"
    ));
}

pub(crate) fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

/// Text for XML. Characters that XML forbids, even escaped, are shown by their numbers.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push('\t'),
            '\r' => out.push_str("&#13;"),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                let _ = write!(out, "\\x{:02x}", u32::from(sign));
            }
            sign => out.push(sign),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::{report, tried};
    use super::*;

    /// Numbers stay numbers, and texts are written without quotes.
    #[test]
    fn parameters_are_properties() {
        let tries = vec![tried(Exit::Ok, None)];
        let mut one = super::super::report::tests::row("a.ipynb", Fate::Ok, tries);
        one.row.parameters.insert("name".to_owned(), "a \"b\"".into());
        let text = junit(&report(vec![one]));
        let wanted = "time=\"1.500\">
      <properties>
        <property name=\"year\" value=\"2022\"/>
        <property name=\"name\" value=\"a &quot;b&quot;\"/>
      </properties>
    </testcase>
";
        assert!(text.contains(wanted), "{text}");
    }

    /// A row without parameters.
    fn row(name: &str, fate: Fate, tries: Vec<Try>) -> RowReport {
        let mut row = super::super::report::tests::row(name, fate, tries);
        row.row.parameters.clear();
        row
    }

    #[test]
    fn every_fate_has_its_element() {
        let text = junit(&report(vec![
            row("nb/a.ipynb", Fate::Ok, vec![tried(Exit::Ok, None)]),
            row(
                "nb/b.ipynb",
                Fate::Failed,
                vec![tried(Exit::Failed, Some("x < \"y\" & \u{1b}[0m"))],
            ),
            row("c.ipynb", Fate::Failed, vec![tried(Exit::KernelDied, Some("dead")); 2]),
            row(
                "d.ipynb",
                Fate::Ok,
                vec![tried(Exit::Failed, Some("once")), tried(Exit::Ok, None)],
            ),
            row("e.ipynb", Fate::NotRun, vec![]),
            row("f.ipynb", Fate::FailedCells, vec![tried(Exit::Ok, Some("cell 2: no"))]),
        ]));
        let wanted = "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites name=\"inkcell\" tests=\"6\" failures=\"2\" errors=\"1\" skipped=\"1\" time=\"3.000\">
  <testsuite name=\"inkcell\" timestamp=\"2024-01-01T00:00:00Z\" tests=\"6\" failures=\"2\" errors=\"1\" skipped=\"1\" time=\"3.000\">
    <testcase classname=\"nb\" name=\"a.ipynb [year=2022]\" file=\"nb/a.ipynb\" time=\"1.500\"/>
    <testcase classname=\"nb\" name=\"b.ipynb [year=2022]\" file=\"nb/b.ipynb\" time=\"1.500\">
      <failure type=\"ValueError\" message=\"x &lt; &quot;y&quot; &amp; \\x1b[0m\">Traceback&#10;x &lt; &quot;y&quot; &amp; \\x1b[0m</failure>
    </testcase>
    <testcase classname=\"notebooks\" name=\"c.ipynb [year=2022]\" file=\"c.ipynb\" time=\"3.000\">
      <error type=\"ValueError\" message=\"dead\">Traceback&#10;dead</error>
      <rerunFailure type=\"ValueError\" message=\"dead\"><stackTrace>Traceback&#10;dead</stackTrace></rerunFailure>
    </testcase>
    <testcase classname=\"notebooks\" name=\"d.ipynb [year=2022]\" file=\"d.ipynb\" time=\"3.000\">
      <flakyFailure type=\"ValueError\" message=\"once\"><stackTrace>Traceback&#10;once</stackTrace></flakyFailure>
    </testcase>
    <testcase classname=\"notebooks\" name=\"e.ipynb [year=2022]\" file=\"e.ipynb\" time=\"0.000\">
      <skipped message=\"not run\"/>
    </testcase>
    <testcase classname=\"notebooks\" name=\"f.ipynb [year=2022]\" file=\"f.ipynb\" time=\"1.500\">
      <failure type=\"ValueError\" message=\"cell 2: no\">Traceback&#10;cell 2: no</failure>
    </testcase>
  </testsuite>
</testsuites>
";
        assert_eq!(text, wanted);
    }

    /// No text of a notebook can make the file unreadable.
    #[test]
    fn every_sign_can_be_written() {
        for sign in (0..=0x1_0000).filter_map(char::from_u32) {
            let text = escaped(&sign.to_string());
            let is_allowed = |c: char| matches!(c, '\t' | ' '..='\u{fffd}' | '\u{10000}'..);
            assert!(text.chars().all(is_allowed), "{sign:?} became {text:?}");
            assert!(!text.contains(['<', '>', '"']), "{sign:?} became {text:?}");
        }
    }
}
