//! A part of the terminal that is painted again and again, below text that has scrolled away.
//!
//! Owns the position of the cursor: always on the line below the painted part. It must not know the content. It
//! never touches a row above the first one that it painted.

use std::os::fd::AsFd;

use rustix::termios::tcgetwinsize;

use super::{Frame, Line, columns, paint_line};

/// Size of a terminal in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

impl Size {
    /// The size of the terminal behind a stream. The usual size if the stream has no terminal or reports no
    /// size.
    pub(crate) fn of(stream: impl AsFd) -> Size {
        let known = tcgetwinsize(stream).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
        let (columns, rows) = known.map_or((80, 24), |size| (size.ws_col, size.ws_row));
        Size { columns: usize::from(columns), rows: usize::from(rows) }
    }
}

/// The rows on the screen below the text that stays.
#[derive(Debug, Default)]
pub(crate) struct Repaint {
    /// The columns of each painted row.
    painted: Vec<usize>,
    last: Vec<Line>,
}

impl Repaint {
    /// The bytes that print `settled` for good and paint `live` below it. A live part taller than the screen
    /// shows its end.
    pub(crate) fn paint(&mut self, settled: &Frame, live: &Frame, size: Size) -> String {
        // The last row belongs to the cursor.
        let room = size.rows.saturating_sub(1).max(1);
        let skipped = live.lines.len().saturating_sub(room);
        // Draw a picture only once it is settled. A live line only reserves its place.
        let shown: Vec<Line> = live.lines[skipped..].iter().map(Line::undrawn).collect();
        if settled.lines.is_empty() && shown == self.last {
            return String::new();
        }
        let mut out = self.wipe(size);
        for line in settled.lines.iter().chain(&shown) {
            paint_line(line, &mut out);
            out.push_str("\r\n");
        }
        self.painted = shown.iter().map(|line| columns(&line.text())).collect();
        self.last = shown;
        out
    }

    /// The bytes that erase the painted part.
    pub(crate) fn wipe(&mut self, size: Size) -> String {
        let painted = std::mem::take(&mut self.painted);
        self.last.clear();
        // A terminal that is narrower now has wrapped the old rows.
        let rows =
            painted.iter().map(|wide| wide.div_ceil(size.columns.max(1)).max(1)).sum::<usize>();
        match rows.min(size.rows.saturating_sub(1)) {
            0 => String::new(),
            rows => format!("\r\u{1b}[{rows}A\u{1b}[J"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Picture, Role};
    use super::*;

    const SIZE: Size = Size { columns: 20, rows: 6 };

    fn frame(lines: &[&str]) -> Frame {
        Frame { lines: lines.iter().map(|line| Line::of(Role::Error, line)).collect() }
    }

    fn screen() -> vt100::Parser {
        vt100::Parser::new(6.try_into().unwrap(), 20.try_into().unwrap(), 100)
    }

    fn contents(screen: &vt100::Parser) -> String {
        screen.screen().contents()
    }

    /// S-050: earlier text stays, and only the live part is repainted.
    #[test]
    fn settled_text_stays_and_live_text_is_replaced() {
        let mut screen = screen();
        screen.process(b"$ inkcell attach\r\n");
        let mut repaint = Repaint::default();
        let none = Frame::default();
        screen.process(repaint.paint(&none, &frame(&["one", "two"]), SIZE).as_bytes());
        assert_eq!(contents(&screen), "$ inkcell attach\none\ntwo");
        screen.process(repaint.paint(&none, &frame(&["three"]), SIZE).as_bytes());
        assert_eq!(contents(&screen), "$ inkcell attach\nthree");
        assert_eq!(repaint.paint(&none, &frame(&["three"]), SIZE), "");
        screen.process(repaint.paint(&frame(&["three, done"]), &frame(&["four"]), SIZE).as_bytes());
        assert_eq!(contents(&screen), "$ inkcell attach\nthree, done\nfour");
        screen.process(repaint.wipe(SIZE).as_bytes());
        assert_eq!(contents(&screen), "$ inkcell attach\nthree, done");
    }

    /// B:T-17: a picture is sent once, when its rows are no longer repainted.
    #[test]
    fn pictures_are_drawn_where_they_stay() {
        let picture = Line::drawn(Picture::new(4, 2, "PICTURE".into()));
        let with_picture = Frame { lines: vec![picture, Line::default()] };
        let mut repaint = Repaint::default();
        assert!(!repaint.paint(&Frame::default(), &with_picture, SIZE).contains("PICTURE"));
        assert_eq!(repaint.paint(&Frame::default(), &with_picture, SIZE), "");
        let drawn = repaint.paint(&with_picture, &Frame::default(), SIZE);
        assert_eq!(drawn.matches("PICTURE").count(), 1);
    }

    /// A live part taller than the screen shows its end, and no earlier line is lost.
    #[test]
    fn a_high_live_part_shows_its_end() {
        let mut screen = screen();
        screen.process(b"$ inkcell attach\r\n");
        let mut repaint = Repaint::default();
        let lines: Vec<String> = (1..=50).map(|n| format!("line {n}")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        for end in 1..=50 {
            let bytes = repaint.paint(&Frame::default(), &frame(&lines[..end]), SIZE);
            screen.process(bytes.as_bytes());
        }
        assert_eq!(contents(&screen), "line 46\nline 47\nline 48\nline 49\nline 50");
        screen.process(repaint.paint(&frame(&["done"]), &Frame::default(), SIZE).as_bytes());
        assert_eq!(contents(&screen), "done");
        screen.screen_mut().set_scrollback(100);
        assert!(contents(&screen).starts_with("$ inkcell attach\ndone"), "{}", contents(&screen));
    }
}
