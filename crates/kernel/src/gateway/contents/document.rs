//! Finds out if a local file is a document of a server, which other users may have open there.
//!
//! Owns the search. A server does not say which folder it serves, but it says when a file changed
//! and how large it is. This module must not know the contents of a file.

use std::path::{Component, Path};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::gateway::GatewayError;
use crate::gateway::contents::{ContentsError, Model, Open, ServerContents};
use crate::gateway::transport::path::ContentsPath;

/// Number of folders above a file that are tried as the server's root.
const DEEPEST: usize = 16;

/// A server's time of a file may differ from the file's own by this rounding.
const ROUNDING: Duration = Duration::from_millis(1);

/// Size and time of change: the marks by which a local file is recognized on the server.
struct Marks {
    size: u64,
    changed: SystemTime,
}

impl ServerContents {
    /// Returns the document of this server that has a local file open, and the evidence.
    ///
    /// `file` must be absolute and free of symbolic links.
    pub async fn open_document(&self, file: &Path) -> Result<Option<Open>, GatewayError> {
        let Some(path) = self.document(file).await? else { return Ok(None) };
        let reason = self.collaboration(&path).await?.reason();
        Ok(reason.map(|reason| Open { path, reason }))
    }

    /// Returns the path of a local file on the server, if the server serves it.
    async fn document(&self, file: &Path) -> Result<Option<ContentsPath>, GatewayError> {
        if !self.is_there().await? {
            return Ok(None);
        }
        // Look twice: another program may save the file between two looks.
        for _ in 0..2 {
            let Some(marks) = Marks::of(file) else { return Ok(None) };
            let mut is_another = false;
            for path in names(file) {
                match self.model(&path, "?content=0").await {
                    Ok(model) if marks.are_of(&model) => return Ok(Some(path)),
                    Ok(_) => is_another = true,
                    Err(ContentsError::Gateway(
                        problem @ (GatewayError::Timeout { .. } | GatewayError::Unreachable { .. }),
                    )) => return Err(problem),
                    // The server does not serve a file under this path.
                    Err(_) => {}
                }
            }
            if !is_another {
                break;
            }
        }
        Ok(None)
    }
}

impl Marks {
    fn of(file: &Path) -> Option<Marks> {
        let found = std::fs::metadata(file).ok()?;
        Some(Marks { size: found.len(), changed: found.modified().ok()? })
    }

    fn are_of(&self, model: &Model) -> bool {
        let Some(changed) = moment(&model.last_modified) else { return false };
        let apart = match self.changed.duration_since(changed) {
            Ok(apart) => apart,
            Err(before) => before.duration(),
        };
        model.size.is_none_or(|size| size == self.size) && apart <= ROUNDING
    }
}

/// Yields the paths that a server may use for a file: its name, then with one more parent folder
/// each time.
fn names(file: &Path) -> impl Iterator<Item = ContentsPath> {
    let parts: Vec<&str> = file
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_str().unwrap_or("")),
            _ => None,
        })
        .collect();
    let first = parts.len().saturating_sub(DEEPEST);
    let joined: Vec<String> = (first..parts.len()).rev().map(|at| parts[at..].join("/")).collect();
    joined.into_iter().filter_map(|name| ContentsPath::parse(&name))
}

/// Parses a time as servers write it, such as `2026-11-15T21:24:07.123456Z`.
fn moment(text: &str) -> Option<SystemTime> {
    let text = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00"))?;
    let (date, time) = text.split_once('T')?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut time = time.splitn(3, ':');
    let (hour, minute) = (time.next()?.parse::<u64>().ok()?, time.next()?.parse::<u64>().ok()?);
    let seconds = time.next()?.parse::<f64>().ok().filter(|it| (0.0..61.0).contains(it))?;
    let is_fine = (1970..10_000).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60;
    if !is_fine {
        return None;
    }
    // Years are counted from March, so that a leap day is the last day of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    // Subtract the days up to 1 January 1970, counted in the same way.
    let days = days.checked_sub(719_468)?;
    let whole = Duration::from_secs((days * 24 + hour) * 3600 + minute * 60);
    Some(UNIX_EPOCH + whole + Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read() {
        let check = |text: &str, wanted: Option<f64>| {
            let found = moment(text).map(|it| it.duration_since(UNIX_EPOCH).unwrap().as_secs_f64());
            assert_eq!(found, wanted, "{text}");
        };
        check("1970-01-01T00:00:00Z", Some(0.0));
        check("2000-02-29T12:00:00.5Z", Some(951_825_600.5));
        check("2026-11-15T21:24:07.250000Z", Some(1_794_777_847.25));
        check("2026-03-01T00:00:00+00:00", Some(1_772_323_200.0));
        for text in [
            "",
            "now",
            "2026-11-15",
            "2026-13-01T00:00:00Z",
            "2026-01-01T00:00:99Z",
            "1-1-1T1:1:1Z",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn a_file_may_be_called_by_any_part_of_its_path() {
        let found: Vec<String> =
            names(Path::new("/home/me/a b.ipynb")).map(|path| path.to_string()).collect();
        assert_eq!(found, ["a b.ipynb", "me/a b.ipynb", "home/me/a b.ipynb"]);
        let deep = format!("/{}x.ipynb", "d/".repeat(100));
        assert_eq!(names(Path::new(&deep)).count(), DEEPEST);
    }
}
