//! The code for `inkcell py`, from any source: an argument, a file, a pipe.
//!
//! Owns how bytes become the text of a program. Running it is `py.rs`.

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::os::unix::fs::FileTypeExt;

use inkcell_engine::api::{CellKernel, CellSource};
use inkcell_engine::{EngineError, Kind, is_notebook_path};

use super::input;
use crate::args::Py;
use crate::exit::Failure;
use crate::settings::Settings;
use crate::words;

/// The most bytes of a program. A pipe that supplies more is not a program.
const MAX_BYTES: u64 = 64 << 20;

/// The cells of the program, from whichever source the arguments name.
pub(crate) fn of(args: &Py, settings: &Settings) -> Result<Vec<CellSource>, Failure> {
    let texts = match (&*args.code, &args.file) {
        ([], Some(path)) if path != "-" => vec![text(file_bytes(path, settings)?, "--file")?],
        ([], None) if std::io::stdin().is_terminal() => {
            return Err(Failure::argument("CODE", words::code::NO_CODE));
        }
        ([], _) => vec![from_stdin()?],
        (codes, _) if codes.iter().filter(|code| *code == "-").count() > 1 => {
            return Err(Failure::argument("CODE", words::code::STDIN_TWICE));
        }
        (codes, _) => codes
            .iter()
            .map(|code| if code == "-" { from_stdin() } else { Ok(code.clone()) })
            .collect::<Result<_, _>>()?,
    };
    let mut cells: Vec<CellSource> = match args.cells {
        true => texts.iter().flat_map(|text| cells_of(text)).collect(),
        false => texts.into_iter().map(|code| cell(None, code)).collect(),
    };
    if cells.is_empty() {
        return Err(Failure::argument("--cells", words::code::NONE_BETWEEN_MARKS));
    }
    if args.reset {
        cells[0].kernel = CellKernel::Fresh;
    }
    Ok(cells)
}

fn from_stdin() -> Result<String, Failure> {
    if std::io::stdin().is_terminal() {
        return Err(Failure::argument("standard input", words::code::PIPE_IT_IN));
    }
    text(input::stdin_bytes()?, "standard input")
}

fn cell(title: Option<String>, code: String) -> CellSource {
    CellSource { code, title, timeout: None, kernel: CellKernel::Same }
}

/// Splits a program at `# %%` lines into cells, as editors do. The rest of that line is the title. Cells without
/// code are left out, and so are those marked as Markdown or raw.
fn cells_of(program: &str) -> Vec<CellSource> {
    let mut cells = vec![cell(None, String::new())];
    let mut is_code = true;
    for line in program.split_inclusive('\n') {
        let title = line.strip_prefix('#').and_then(|rest| rest.trim_start().strip_prefix("%%"));
        // `# %%time` is a comment about a magic.
        match title.filter(|title| title.is_empty() || title.starts_with(char::is_whitespace)) {
            Some(title) => {
                let title = title.trim();
                // The marks of exporters for cells without code.
                let mut words = title.split_whitespace();
                is_code = !words.any(|word| matches!(word, "[markdown]" | "[md]" | "[raw]"));
                let title = (!title.is_empty()).then(|| title.to_owned());
                cells.push(cell(title, String::new()));
            }
            None => {
                if let Some(last) = cells.last_mut().filter(|_| is_code) {
                    last.code.push_str(line);
                }
            }
        }
    }
    cells.retain(|cell| !cell.code.trim().is_empty());
    cells
}

fn file_bytes(path: &str, settings: &Settings) -> Result<Vec<u8>, Failure> {
    if path.is_empty() {
        return Err(Failure::argument("--file", words::code::NAME_A_FILE));
    }
    if is_notebook_path(path) {
        let problem = words::code::is_notebook(path);
        return Err(Failure::argument("--file", problem));
    }
    // The code may come from another program: `<(...)`, a named pipe, `/dev/stdin`.
    let place = settings.cwd.join(path);
    let kind = std::fs::metadata(&place).map(|found| found.file_type());
    let is_stream = kind.is_ok_and(|kind| kind.is_fifo() || kind.is_char_device());
    let is_own = place.starts_with("/dev") || place.starts_with("/proc/self/fd");
    if is_stream || (is_own && place.is_file()) {
        let mut bytes = Vec::new();
        let read = File::open(&place)
            .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|error| Failure::argument("--file", format!("cannot read {path}: {error}")))?;
        if read as u64 > MAX_BYTES {
            let problem = words::code::too_long(path, MAX_BYTES);
            return Err(Failure::argument("--file", problem));
        }
        return Ok(bytes);
    }
    match settings.notebooks.read_bytes(path) {
        Ok((bytes, _)) => Ok(bytes),
        Err(error @ EngineError::NotFound { .. }) => Err(Failure::new(
            Kind::NotFound,
            format!("--file: {error}"),
            Some(words::code::CHECK_PATH.to_owned()),
        )),
        Err(error) => Err(Failure::argument("--file", error.to_string())),
    }
}

/// The text of a program, decoded as Python decodes a file: a byte order mark is removed, and an encoding comment
/// in the first two lines counts.
fn text(bytes: Vec<u8>, argument: &str) -> Result<String, Failure> {
    let bytes = match bytes.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) => rest.to_vec(),
        None => bytes,
    };
    match encoding(&bytes) {
        Some(Encoding::Latin1) => return Ok(bytes.into_iter().map(char::from).collect()),
        Some(Encoding::Other(name)) if !bytes.is_ascii() => {
            let problem = words::code::other_encoding(&name);
            return Err(Failure::argument(argument, problem));
        }
        _ => {}
    }
    input::text(bytes, argument)
}

#[derive(PartialEq, Eq, Debug)]
enum Encoding {
    Utf8,
    Latin1,
    Other(String),
}

/// The encoding that a comment names.
fn encoding(bytes: &[u8]) -> Option<Encoding> {
    for line in bytes.split(|byte| matches!(byte, b'\n' | b'\r')).take(2) {
        let line = line.trim_ascii_start();
        // The second line counts only if the first is blank or an ordinary comment.
        let comment = match line.first() {
            None => continue,
            Some(b'#') => String::from_utf8_lossy(line),
            Some(_) => return None,
        };
        if let Some(name) = named(&comment) {
            let plain = name.to_ascii_lowercase().replace('_', "-");
            return Some(match plain.as_str() {
                "utf-8" | "utf8" | "utf-8-sig" | "ascii" | "us-ascii" => Encoding::Utf8,
                "latin-1" | "latin1" | "iso-8859-1" | "iso8859-1" | "iso-latin-1" | "l1" => {
                    Encoding::Latin1
                }
                _ => Encoding::Other(name),
            });
        }
    }
    None
}

/// The name after `coding:` or `coding=`.
fn named(comment: &str) -> Option<String> {
    comment.match_indices("coding").find_map(|(at, word)| {
        let rest =
            comment[at + word.len()..].strip_prefix([':', '='])?.trim_start_matches([' ', '\t']);
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let name: String = rest.chars().take_while(|c| is_part(*c)).collect();
        (!name.is_empty()).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_begin_with_their_lines() {
        let program =
            "import x\n# %% Load the data\na = 1\n#%%\n\n# %%time\nb = 2\n# %% empty\n \n";
        let found: Vec<(Option<String>, String)> =
            cells_of(program).into_iter().map(|cell| (cell.title, cell.code)).collect();
        let wanted = [
            (None, "import x\n".to_owned()),
            (Some("Load the data".to_owned()), "a = 1\n".to_owned()),
            (None, "\n# %%time\nb = 2\n".to_owned()),
        ];
        assert_eq!(found, wanted);
        assert_eq!(cells_of("# %%\n").len(), 0);
        let exported = "# %% [markdown]\n# # Title\n# %%\nx = 1\n# %% Notes [raw]\nnot code\n";
        let codes: Vec<String> = cells_of(exported).into_iter().map(|cell| cell.code).collect();
        assert_eq!(codes, ["x = 1\n"]);
    }

    #[test]
    fn code_is_decoded_as_python_decodes_a_file() {
        let table: [(&[u8], Result<&str, &str>); 9] = [
            (b"x = 1", Ok("x = 1")),
            (b"\xef\xbb\xbfx = '\xc3\xa9'", Ok("x = 'é'")),
            (b"# -*- coding: latin-1 -*-\nx = '\xe9'", Ok("# -*- coding: latin-1 -*-\nx = 'é'")),
            (
                b"#!/bin/x\n# vim: set fileencoding=ISO_8859_1 :\n'\xe9'",
                Ok("#!/bin/x\n# vim: set fileencoding=ISO_8859_1 :\n'é'"),
            ),
            (b"# coding: utf-8\n'\xc3\xa9'", Ok("# coding: utf-8\n'é'")),
            (b"# coding: cp1251\nx = 1", Ok("# coding: cp1251\nx = 1")),
            (b"# coding: cp1251\nx = '\xe9'", Err("its first lines declare the encoding cp1251")),
            (b"x = 1\n# coding: latin-1\n'\xe9'", Err("it is not UTF-8 text (byte 25)")),
            (b"x = '\xe9'", Err("it is not UTF-8 text (byte 5)")),
        ];
        for (bytes, wanted) in table {
            let shown = String::from_utf8_lossy(bytes);
            match (text(bytes.to_vec(), "CODE"), wanted) {
                (Ok(found), Ok(wanted)) => assert_eq!(found, wanted),
                (Err(Failure::Engine(error)), Err(wanted)) => {
                    assert!(error.to_string().contains(wanted), "{shown}: {error}");
                }
                (found, _) => panic!("{shown}: {found:?}"),
            }
        }
    }
}
