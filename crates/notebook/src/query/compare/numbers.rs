//! Compares texts that may differ slightly in their numbers.
//!
//! Owns what a number in a text is. It must not know where the text comes from.

/// The largest distance between two numbers that count as equal.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tolerance {
    /// Allowed distance as a fraction of the larger number.
    pub relative: f64,
    /// Allowed distance added to the relative one.
    pub absolute: f64,
}

/// A number or other part of a text.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Piece<'a> {
    Number(&'a str),
    Word(&'a str),
}

impl Tolerance {
    /// True if two texts are equal except for numbers that are close. The amount of blanks between words does
    /// not count: columns are as wide as their numbers.
    pub(super) fn are_close(self, one: &str, two: &str) -> bool {
        let (mut one, mut two) =
            (Pieces { rest: one, before: ' ' }, Pieces { rest: two, before: ' ' });
        loop {
            match (one.next(), two.next()) {
                (None, None) => return true,
                (Some(one), Some(two)) if self.is_close(one, two) => {}
                _ => return false,
            }
        }
    }

    fn is_close(self, one: Piece<'_>, two: Piece<'_>) -> bool {
        match (one, two) {
            (Piece::Number(one), Piece::Number(two)) if one != two => {
                let (Ok(one), Ok(two)) = (one.parse::<f64>(), two.parse::<f64>()) else {
                    return false;
                };
                let largest = one.abs().max(two.abs());
                (one - two).abs() <= self.absolute + self.relative * largest
            }
            (one, two) => one == two,
        }
    }
}

struct Pieces<'a> {
    rest: &'a str,
    before: char,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let trimmed = self.rest.trim_start_matches([' ', '\t']);
        if trimmed.len() < self.rest.len() {
            self.before = ' ';
        }
        self.rest = trimmed;
        let first = self.rest.chars().next()?;
        let is_inside = self.before.is_alphanumeric() || self.before == '_';
        let (len, is_number) = match measure_number(self.rest) {
            // Digits inside a name belong to it, and a minus between two numbers is not a sign.
            Some(len) if !is_inside => (len, true),
            _ => (first.len_utf8(), false),
        };
        let (piece, rest) = self.rest.split_at(len);
        self.rest = rest;
        self.before = piece.chars().next_back().unwrap_or(' ');
        Some(if is_number { Piece::Number(piece) } else { Piece::Word(piece) })
    }
}

/// Measures the number that begins here, in bytes; none if no number does.
fn measure_number(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits =
        |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let whole = digits(sign);
    let mut at = sign + whole;
    let mut fraction = 0;
    if bytes.get(at) == Some(&b'.') {
        fraction = digits(at + 1);
        at += 1 + fraction;
    }
    if whole + fraction == 0 {
        return None;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'-' | b'+')));
        let exponent = digits((at + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    Some(at)
}
