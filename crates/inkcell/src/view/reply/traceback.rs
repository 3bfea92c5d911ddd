//! Tracebacks for a model: a frame of a library takes one line.
//!
//! Owns what a library is, and the layouts in which IPython and Python write frames. Frames of other files and of cells
//! keep their code: they are what a reader can change.

use std::borrow::Cow;

/// A path with one of these belongs to an installed package or to Python itself.
const LIBRARY: [&str; 4] = ["site-packages", "dist-packages", "lib/python3.", "<frozen "];

/// The traceback without the code of library frames; borrowed if there is none.
pub(super) fn folded(text: &str) -> Cow<'_, str> {
    let mut shown = String::with_capacity(text.len());
    let mut is_folded = false;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        shown.push_str(line);
        shown.push('\n');
        let Some(column) = library_frame(line) else { continue };
        while lines.next_if(|line| is_inside(line, column)).is_some() {
            is_folded = true;
        }
        // IPython writes an empty line after each frame. Frames without code need none between them.
        let mut ahead = lines.clone();
        if ahead.next() == Some("") && ahead.next().and_then(library_frame).is_some() {
            lines.next();
        }
    }
    if is_folded { Cow::Owned(shown) } else { Cow::Borrowed(text) }
}

/// The column where a frame of a library begins, if this line begins one.
fn library_frame(line: &str) -> Option<usize> {
    let column = margin(line);
    let place = line[column..].strip_prefix("File ")?;
    // The place of a syntax error has no function, and the code below it is what is wrong.
    let is_frame = column == 0 || place.contains(" in ");
    (is_frame && LIBRARY.iter().any(|part| place.contains(part))).then_some(column)
}

/// Whether a line is code of the frame that begins at this column. IPython begins some lines with their number or with
/// an arrow to it.
fn is_inside(line: &str, column: usize) -> bool {
    let is_numbered = || line.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '>'));
    let text = line.trim();
    let is_code = margin(line) > column || (column == 0 && is_numbered());
    is_code && !text.is_empty() && !text.starts_with("[... skipping")
}

/// The bytes before the text of a line. Python draws a line down the side of exceptions in a group.
fn margin(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '|']).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the runner and ipykernel write it; the cell and the file of the project stay whole.
    const IPYTHON: &str = "\
---------------------------------------------------------------------------
KeyError                                  Traceback (most recent call last)
File ~/.venv/lib/python3.12/site-packages/pandas/core/indexes/base.py:3805, in Index.get_loc(self, key)
   3804 try:
-> 3805     return self._engine.get_loc(casted_key)
   3806 except KeyError as err:

File pandas/_libs/index.pyx:167, in pandas._libs.index.IndexEngine.get_loc()

KeyError: 'a'

The above exception was the direct cause of the following exception:

KeyError                                  Traceback (most recent call last)
Cell In[2], line 1
----> 1 load('x')

File ~/project/data.py:12, in load(name)
     11 def load(name):
---> 12     return frame['a']

File ~/.venv/lib/python3.12/site-packages/pandas/core/frame.py:4102, in DataFrame.__getitem__(self, key)
   4100 if self.columns.nlevels > 1:
   (...)
-> 4102 indexer = self.columns.get_loc(key)
   4103

File /usr/lib/python3/dist-packages/pandas/core/indexes/base.py:10812, in Index.get_loc(self, key)
  10807     if isinstance(casted_key, slice):
> 10812     raise KeyError(key) from err
10813 # the end

KeyError: 'a'
";

    const IPYTHON_FOLDED: &str = "\
---------------------------------------------------------------------------
KeyError                                  Traceback (most recent call last)
File ~/.venv/lib/python3.12/site-packages/pandas/core/indexes/base.py:3805, in Index.get_loc(self, key)

File pandas/_libs/index.pyx:167, in pandas._libs.index.IndexEngine.get_loc()

KeyError: 'a'

The above exception was the direct cause of the following exception:

KeyError                                  Traceback (most recent call last)
Cell In[2], line 1
----> 1 load('x')

File ~/project/data.py:12, in load(name)
     11 def load(name):
---> 12     return frame['a']

File ~/.venv/lib/python3.12/site-packages/pandas/core/frame.py:4102, in DataFrame.__getitem__(self, key)
File /usr/lib/python3/dist-packages/pandas/core/indexes/base.py:10812, in Index.get_loc(self, key)

KeyError: 'a'
";

    const PYTHON: &str = "\
Traceback (most recent call last):
  File \"/home/me/project/main.py\", line 3, in <module>
    json.loads('')
    ~~~~~~~~~~^^^^
  File \"/usr/lib/python3.13/json/__init__.py\", line 346, in loads
    return _default_decoder.decode(s)
           ~~~~~~~~~~~~~~~~~~~~~~~^^^
  File \"/usr/lib/python3.13/json/decoder.py\", line 345, in decode
    obj, end = self.raw_decode(s, idx=_w(s, 0).end())
  [Previous line repeated 996 more times]
  File \"<frozen importlib._bootstrap>\", line 1360, in _find_and_load
json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)
";

    const PYTHON_FOLDED: &str = "\
Traceback (most recent call last):
  File \"/home/me/project/main.py\", line 3, in <module>
    json.loads('')
    ~~~~~~~~~~^^^^
  File \"/usr/lib/python3.13/json/__init__.py\", line 346, in loads
  File \"/usr/lib/python3.13/json/decoder.py\", line 345, in decode
  [Previous line repeated 996 more times]
  File \"<frozen importlib._bootstrap>\", line 1360, in _find_and_load
json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)
";

    const GROUP: &str = "\
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File \"/x/site-packages/a.py\", line 1, in f
    |     g()
    |   File \"/x/own.py\", line 2, in g
    |     1/0
    | ZeroDivisionError: division by zero
    +------------------------------------
";

    const GROUP_FOLDED: &str = "\
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File \"/x/site-packages/a.py\", line 1, in f
    |   File \"/x/own.py\", line 2, in g
    |     1/0
    | ZeroDivisionError: division by zero
    +------------------------------------
";

    const IMPORT: &str = "\
File /x/lib/python3.12/site-packages/a/__init__.py:5
      3 import os
----> 5 from . import b

    [... skipping similar frames: f at line 2 (996 times)]

ImportError: no b
";

    const IMPORT_FOLDED: &str = "\
File /x/lib/python3.12/site-packages/a/__init__.py:5

    [... skipping similar frames: f at line 2 (996 times)]

ImportError: no b
";

    #[test]
    fn library_frames_take_one_line_each() {
        let table = [
            (IPYTHON, IPYTHON_FOLDED),
            (PYTHON, PYTHON_FOLDED),
            (GROUP, GROUP_FOLDED),
            (IMPORT, IMPORT_FOLDED),
        ];
        for (text, wanted) in table {
            assert_eq!(folded(text), wanted);
            assert!(matches!(folded(wanted), Cow::Borrowed(_)), "twice is once: {wanted}");
        }
    }

    #[test]
    fn what_is_no_library_frame_stays_as_it_is() {
        let table = [
            "  File ~/x/site-packages/a.py:12\n    x = = 1\n        ^\nSyntaxError: invalid syntax\n",
            "  File \"/x/lib/python3.12/a.py\", line 3\n    x = = 1\nSyntaxError: invalid syntax\n",
            "Cell In[1], line 2\n      1 # site-packages\n----> 2 1/0\n\nZeroDivisionError: division by zero",
            "ValueError: File x\n    in site-packages\n",
            "",
        ];
        for text in table {
            assert!(matches!(folded(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }
}
