//! Progress of a batch, for users and for programs: one block on a terminal, a line for each finished row elsewhere.
//!
//! Owns the messages on the way. The final report belongs to `crate::batch`. It must not know how rows are run.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::fold::{CallNews, CallView};
use super::run::{Following, duration};
use crate::batch::{Again, BatchReport, Row, Tone, Try};
use crate::output::{Output, Stream};
use crate::view::paint::{Colour, Frame, Line, Look, Repaint, Role, Size, Wrap, fit, wrap};
use crate::words;

pub(crate) struct Board {
    following: Following,
    looks: Looks,
    rows: Vec<Row>,
    live: Option<Repaint>,
    running: BTreeMap<usize, Now>,
    ended: usize,
    failed: usize,
    /// Messages already shown, so that twenty rows do not repeat the same one.
    said: HashSet<String>,
    is_stopping: bool,
    began: Instant,
    painted: Option<Instant>,
}

/// How a batch appears on our two streams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Looks {
    pub(crate) stdout: Look,
    pub(crate) stderr: Look,
    /// True if standard error is a terminal that can be painted on.
    pub(crate) can_draw: bool,
}

/// State of a running row.
struct Now {
    began: Instant,
    call: CallView,
}

/// Time between two repaints of the terminal.
const TICK: Duration = Duration::from_millis(100);

impl Board {
    pub(crate) fn new(following: Following, rows: Vec<Row>, looks: Looks) -> Board {
        let is_live = following == Following::Lines && looks.can_draw;
        Board {
            following,
            looks,
            rows,
            live: is_live.then(Repaint::default),
            running: BTreeMap::new(),
            ended: 0,
            failed: 0,
            said: HashSet::new(),
            is_stopping: false,
            began: Instant::now(),
            painted: None,
        }
    }

    /// Notes that the user has asked the batch to stop.
    pub(crate) fn stop(&mut self) {
        self.is_stopping = true;
    }

    pub(crate) fn began(&mut self, row: usize, output: &mut Output) -> io::Result<()> {
        let now = Now { began: Instant::now(), call: CallView::new(Vec::new()) };
        self.running.insert(row, now);
        self.json("notebook_started", row, json!({}), output)
    }

    /// Takes news of a row's call.
    pub(crate) fn apply(&mut self, row: usize, news: CallNews<'_>) {
        self.running.get_mut(&row).into_iter().for_each(|now| now.call.apply(news));
    }

    /// Shows a message about the whole batch, once.
    pub(crate) fn said(&mut self, line: &str, output: &mut Output) {
        if self.said.insert(line.to_owned()) && self.following != Following::Quiet {
            match &self.live {
                Some(_) => {
                    line.lines().for_each(|line| drop(self.settle(&Line::of(Role::Plain, line))));
                }
                None => output.aside(line),
            }
        }
    }

    pub(crate) fn tried(
        &mut self,
        row: usize,
        tried: &Try,
        again: Again,
        output: &mut Output,
    ) -> io::Result<()> {
        self.running.remove(&row);
        let is_well = tried.error.is_none();
        if again == Again::No {
            self.ended += 1;
            self.failed += usize::from(!is_well);
        }
        let mut more = serde_json::to_value(tried).unwrap_or_default();
        more["again"] = json!(again == Again::Yes);
        self.json("notebook_finished", row, more, output)?;
        if self.following == Following::Lines || (self.following == Following::Quiet && !is_well) {
            let line = finished(&self.rows[row], (self.ended, self.rows.len()), tried, again);
            self.line(line)?;
        }
        if self.following == Following::Quiet {
            // Quiet hides progress, but not outputs that are missing from the file.
            let name = self.rows[row].name();
            for loss in tried.notes.iter().filter(|note| note.is_loss) {
                self.line(Line::of(Role::Plain, &words::batch::note(&[&name], &loss.text)))?;
            }
        }
        Ok(())
    }

    /// Counts a row that is skipped because an earlier batch completed it.
    pub(crate) fn unchanged(&mut self, row: usize, output: &mut Output) -> io::Result<()> {
        self.ended += 1;
        self.json("notebook_unchanged", row, json!({}), output)?;
        if self.following == Following::Lines {
            let (ended, all) = (self.ended, self.rows.len());
            let mut line = progress((ended, all));
            line.push(Role::Dim, "done before");
            line.push(Role::Plain, &format!("  {}", self.rows[row].name()));
            self.line(line)?;
        }
        Ok(())
    }

    /// Prints a line that stays.
    fn line(&mut self, line: Line) -> io::Result<()> {
        if self.live.is_some() {
            return self.settle(&line);
        }
        // A closed standard error must not stop the batch.
        drop(Stream::stderr().write_all(self.looks.stderr.sentences(&[line]).as_bytes()));
        Ok(())
    }

    fn json(&self, event: &str, row: usize, more: Value, output: &mut Output) -> io::Result<()> {
        if self.following != Following::Json {
            return Ok(());
        }
        let Row { input, output: written, parameters, .. } = &self.rows[row];
        let mut object = json!({
            "event": event,
            "number": row + 1,
            "of": self.rows.len(),
            "path": input,
            "written": written.as_ref().unwrap_or(input),
            "parameters": parameters,
        });
        if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
            object.extend(more);
        }
        output.json(&object)?;
        output.flush()
    }

    /// Repaints the block if `TICK` has passed.
    pub(crate) fn tick(&mut self) -> io::Result<()> {
        if self.painted.is_some_and(|painted| painted.elapsed() < TICK) {
            return Ok(());
        }
        self.painted = Some(Instant::now());
        self.paint(&Frame::default())
    }

    /// Prints a line above the block, where it stays.
    fn settle(&mut self, line: &Line) -> io::Result<()> {
        let lines = wrap(line, Size::of(io::stderr()).columns, Wrap::Words);
        self.paint(&Frame { lines })
    }

    fn paint(&mut self, settled: &Frame) -> io::Result<()> {
        let size = Size::of(io::stderr());
        let live = self.block(size);
        let Some(repaint) = &mut self.live else { return Ok(()) };
        let bytes = match self.looks.stderr.colour {
            Colour::On => repaint.paint(settled, &live, size),
            Colour::Off => repaint.paint(&settled.uncoloured(), &live.uncoloured(), size),
        };
        Stream::stderr().write_all(bytes.as_bytes())
    }

    /// The block: a line for the whole batch, then a line for each running row.
    fn block(&self, size: Size) -> Frame {
        let width = size.columns.saturating_sub(1);
        let mut lines = vec![Line::of(Role::Strong, &self.head())];
        // Show the rows that fit. The head line has the total.
        let room = size.rows.saturating_sub(2).max(1);
        lines.extend(self.running.iter().take(room).map(|(row, now)| now.line(&self.rows[*row])));
        Frame { lines: lines.iter().map(|line| fit(line, width)).collect() }
    }

    fn head(&self) -> String {
        let stopping = if self.is_stopping { words::call::STOPPING } else { "" };
        let failed = match self.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        let (ended, all, running) = (self.ended, self.rows.len(), self.running.len());
        let took = duration(self.began.elapsed());
        format!("{stopping}{ended} of {all} done{failed}, {running} running, {took}")
    }

    /// Removes the block and prints the report.
    pub(crate) fn end(&mut self, report: &BatchReport, output: &mut Output) -> io::Result<()> {
        if let Some(repaint) = &mut self.live {
            let bytes = repaint.wipe(Size::of(io::stderr()));
            Stream::stderr().write_all(bytes.as_bytes())?;
        }
        match self.following {
            Following::Json => output.json(&report.to_json()),
            Following::Quiet => Ok(()),
            Following::Lines => {
                let mut lines = report.lines(duration);
                // Messages shown on the way are not repeated.
                lines.retain(|line| !self.said.contains(&line.text));
                let painted = lines.iter().map(|line| match line.tone {
                    Tone::Bad => Line::of(Role::Error, &line.text),
                    Tone::Counts => Line::of(Role::Strong, &line.text),
                    Tone::Plain => Line::of(Role::Plain, &line.text),
                });
                let painted: Vec<Line> = painted.collect();
                Stream::stdout().write_all(self.looks.stdout.sentences(&painted).as_bytes())
            }
        }
    }
}

impl Now {
    fn line(&self, row: &Row) -> Line {
        let mut line = Line::of(Role::Plain, &format!("  {}", row.name()));
        line.push(Role::Dim, &format!("  {}", duration(self.began.elapsed())));
        if self.call.state().is_some() {
            let at = self.call.running().map_or(self.call.ended(), |at| at + 1);
            let cells = self.call.cells().len();
            line.push(Role::Plain, &format!("  {at}/{cells}"));
        }
        if !self.call.last_line().is_empty() {
            line.push(Role::Dim, &format!("  | {}", self.call.last_line()));
        }
        line
    }
}

fn progress((ended, all): (usize, usize)) -> Line {
    let width = all.to_string().len();
    Line::of(Role::Dim, &format!("{ended:>width$}/{all}  "))
}

/// The line for a finished row.
fn finished(row: &Row, ended: (usize, usize), tried: &Try, again: Again) -> Line {
    let mut line = progress(ended);
    let role = if tried.error.is_none() { Role::Success } else { Role::Error };
    line.push(role, &tried.status.replace('_', " "));
    if again == Again::Yes {
        line.push(Role::Plain, ", is tried again");
    }
    line.push(Role::Dim, &format!("  {}", duration(tried.took)));
    line.push(Role::Plain, &format!("  {}", row.name()));
    if let Some(trouble) = &tried.error {
        line.push(Role::Error, &format!("  → {}", trouble.message));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Trouble;
    use crate::exit::Exit;

    fn row(name: &str) -> Row {
        let values = vec![("y".to_owned(), "1".to_owned())];
        Row { input: name.to_owned(), output: None, values, parameters: serde_json::Map::new() }
    }

    #[test]
    fn an_end_is_told_in_one_line() {
        let mut tried = Try {
            status: "ok",
            exit: Exit::Ok,
            took: Duration::from_millis(1200),
            cells: 3,
            failed_cells: 0,
            error: None,
            notes: Vec::new(),
        };
        let line = finished(&row("a.ipynb"), (1, 3), &tried, Again::No).text();
        assert_eq!(line, "1/3  ok  1.2 s  a.ipynb [y=1]");
        tried.status = "timed_out";
        tried.error = Some(Trouble {
            kind: "timed_out".to_owned(),
            message: "cell 2: late".to_owned(),
            cell: Some(2),
            details: String::new(),
        });
        let line = finished(&row("a.ipynb"), (1, 3), &tried, Again::Yes).text();
        assert_eq!(line, "1/3  timed out, is tried again  1.2 s  a.ipynb [y=1]  → cell 2: late");
    }

    /// The block has one line for the batch and one for each running row, none wider than the terminal.
    #[test]
    fn the_block_has_a_line_for_each_that_runs() {
        let looks = Looks { stdout: Look::PLAIN, stderr: Look::PLAIN, can_draw: false };
        let mut board = Board::new(Following::Quiet, vec![row("a.ipynb"), row("b.ipynb")], looks);
        for at in 0..2 {
            let mut call = CallView::new(Vec::new());
            call.apply(CallNews::Line(&"x".repeat(100)));
            board.running.insert(at, Now { began: Instant::now(), call });
        }
        (board.ended, board.failed) = (3, 1);
        let texts = |size| -> Vec<String> {
            board.block(size).lines.iter().map(|line| line.text()).collect()
        };
        let lines = texts(Size { columns: 60, rows: 24 });
        assert!(lines[0].starts_with("3 of 2 done, 1 failed, 2 running"), "{lines:?}");
        assert!(lines[1].starts_with("  a.ipynb [y=1]") && lines[2].contains("b.ipynb"));
        assert!(lines.iter().all(|line| line.chars().count() < 60), "{lines:?}");
        assert_eq!(texts(Size { columns: 60, rows: 3 }).len(), 2);
    }
}
