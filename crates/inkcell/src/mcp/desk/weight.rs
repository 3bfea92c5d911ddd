//! The size of an answer as it is sent, and the removal of parts from an answer that is too large.
//!
//! Owns the bound and the order of removal: first the form for programs, then pictures and links, then text.
//! Clients refuse a message of more than a mebibyte, some of them silently, and their caller then waits for an
//! answer that never comes. The protocol owns the encoding.

use std::io;

use serde::Serialize;
use serde_json::{Value, json};

use super::reply::{Content, ToolReply};
use crate::output::count;
use crate::words;

/// The most bytes of one answer, as JSON with its escapes and with pictures in base64.
pub(crate) const MOST_BYTES: usize = 900 << 10;

/// Bytes of JSON around one piece of an answer.
const AROUND: usize = 64;

/// Bytes reserved for the note about omitted parts.
const NOTE: usize = 512;

/// The size of a text, with its quotes and escapes.
pub(crate) fn of_text(text: &str) -> usize {
    2 + text.bytes().map(of_byte).sum::<usize>()
}

/// The size of a value that is sent as JSON.
pub(crate) fn of_json(value: &impl Serialize) -> usize {
    let mut counted = ByteCount(0);
    // Writing only counts and cannot fail; a value that cannot be serialized is not sent either.
    let _ = serde_json::to_writer(&mut counted, value);
    counted.0
}

/// The size of this number of bytes in base64.
pub(crate) fn of_bytes(bytes: usize) -> usize {
    bytes.div_ceil(3).saturating_mul(4)
}

/// The size of one piece of an answer.
pub(crate) fn of_content(content: &Content) -> usize {
    AROUND
        + match content {
            Content::Text(text) => of_text(text),
            Content::Image { mime, data } => of_text(mime) + of_bytes(data.len()),
            Content::Link { uri, name, mime, .. } => of_text(uri) + of_text(name) + of_text(mime),
        }
}

/// The longest beginning of the text, in whole characters, whose size is at most `most`.
pub(crate) fn beginning(text: &str, most: usize) -> &str {
    let mut weight = 2;
    let end = text.bytes().position(|byte| {
        weight += of_byte(byte);
        weight > most
    });
    &text[..text.floor_char_boundary(end.unwrap_or(text.len()))]
}

/// The longest end of the text, in whole characters, whose size is at most `most`.
fn ending(text: &str, most: usize) -> &str {
    let mut weight = 2;
    let left_out = text.bytes().rposition(|byte| {
        weight += of_byte(byte);
        weight > most
    });
    &text[text.ceil_char_boundary(left_out.map_or(0, |at| at + 1))..]
}

/// The answer without the parts that make it larger than `most`.
pub(crate) fn within(mut reply: ToolReply, most: usize) -> ToolReply {
    let mut weight = of(&reply);
    if weight <= most {
        return reply;
    }
    weight += 2 * NOTE;
    for form in [&mut reply.structured, &mut reply.details].into_iter().flatten() {
        lighten(form, &mut weight, most);
    }
    let images =
        remove(&mut reply.content, &mut weight, most, |part| matches!(part, Content::Image { .. }));
    let links =
        remove(&mut reply.content, &mut weight, most, |part| matches!(part, Content::Link { .. }));
    for _ in 0..reply.content.len() {
        if weight <= most {
            break;
        }
        cut_longest(&mut reply.content, &mut weight, most);
    }
    let left_out: Vec<String> = [(images, "image"), (links, "link")]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, noun)| count(number, noun))
        .collect();
    if !left_out.is_empty() {
        let line = words::tool::left_out(&left_out.join(", "));
        reply.content.push(Content::Text(line));
    }
    reply
}

fn of(reply: &ToolReply) -> usize {
    let forms = [&reply.structured, &reply.details].into_iter().flatten();
    reply.content.iter().map(of_content).sum::<usize>()
        + forms.map(of_json).sum::<usize>()
        + 2 * AROUND
}

/// The form without the largest fields, which it names, if it is larger than `most`.
pub(crate) fn lightened(form: &mut Value, most: usize) {
    let mut weight = of_json(form);
    lighten(form, &mut weight, most);
}

/// Takes the largest fields out, and names them.
fn lighten(form: &mut Value, weight: &mut usize, most: usize) {
    let Value::Object(fields) = form else { return };
    let mut left_out = Vec::new();
    while *weight > most {
        let heaviest = fields.iter().max_by_key(|(_, value)| of_json(value));
        let Some((name, value)) = heaviest.map(|(name, value)| (name.clone(), of_json(value)))
        else {
            break;
        };
        fields.remove(&name);
        *weight = weight.saturating_sub(value);
        left_out.push(name);
    }
    if !left_out.is_empty() {
        fields.insert("leftOut".to_owned(), json!(left_out));
    }
}

/// Takes out pieces of one kind, the last first, and returns how many.
fn remove(
    content: &mut Vec<Content>,
    weight: &mut usize,
    most: usize,
    is_meant: impl Fn(&Content) -> bool,
) -> usize {
    let mut removed = 0;
    while *weight > most
        && let Some(at) = content.iter().rposition(&is_meant)
    {
        *weight = weight.saturating_sub(of_content(&content.remove(at)));
        removed += 1;
    }
    removed
}

/// Cuts the middle out of the longest text, because its end says how to go on.
fn cut_longest(content: &mut [Content], weight: &mut usize, most: usize) {
    let texts = content.iter_mut().filter_map(|part| match part {
        Content::Text(text) => Some(text),
        _ => None,
    });
    let Some(text) = texts.max_by_key(|text| of_text(text)) else { return };
    let before = of_text(text);
    let room = before.saturating_sub(*weight - most).saturating_sub(NOTE);
    let (head, tail) = (beginning(text, room / 4 * 3), ending(text, room / 4));
    let bytes = text.len().saturating_sub(head.len() + tail.len());
    let cut = format!("{head}\n{}\n{tail}", words::tool::bytes_left_out(bytes));
    *weight = weight.saturating_sub(before) + of_text(&cut);
    *text = cut;
}

/// The size of one byte of a text as JSON writes it.
fn of_byte(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..0x20 => 6,
        _ => 1,
    }
}

/// A writer that only counts.
struct ByteCount(usize);

impl io::Write for ByteCount {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn image(bytes: usize) -> Content {
        Content::Image { mime: "image/png".to_owned(), data: Bytes::from(vec![7; bytes]) }
    }

    /// A text weighs what JSON makes of it, and its parts fit between characters.
    #[test]
    fn texts_are_weighed_as_they_are_sent() {
        let odd: String =
            (0..0x300).filter_map(char::from_u32).chain("\u{2028}😀".chars()).collect();
        assert_eq!(of_text(&odd), serde_json::to_string(&odd).unwrap().len());
        for most in 0..of_text(&odd) {
            let (head, tail) = (beginning(&odd, most), ending(&odd, most));
            assert!(odd.starts_with(head) && odd.ends_with(tail));
            assert!(head.is_empty() || of_text(head) <= most, "{most}: {head:?}");
            assert!(tail.is_empty() || of_text(tail) <= most, "{most}: {tail:?}");
        }
        assert_eq!((beginning(&odd, of_text(&odd)), ending(&odd, of_text(&odd))), (&*odd, &*odd));
        assert_eq!((of_bytes(0), of_bytes(1), of_bytes(3), of_bytes(4)), (0, 4, 4, 8));
    }

    /// An answer that fits is unchanged.
    #[test]
    fn an_answer_that_fits_is_left_alone() {
        let reply = ToolReply {
            content: vec![Content::Text("a\n".repeat(100)), image(3000)],
            details: Some(json!({"cells": [1, 2]})),
            ..ToolReply::default()
        };
        assert_eq!(within(reply.clone(), MOST_BYTES), reply);
    }

    /// Whichever part is too large, the answer fits, says so, and keeps what it can.
    #[test]
    fn an_answer_that_is_too_heavy_loses_what_matters_least() {
        let text = |bytes: usize| Content::Text("\u{1}".repeat(bytes / 2) + &"x".repeat(bytes / 2));
        let link = || Content::Link {
            uri: "artifact://0123456789".to_owned(),
            name: "n".repeat(200),
            mime: "text/plain".to_owned(),
            bytes: 1,
        };
        let most = 20_000;
        let fits = |content: Vec<Content>, form: Option<Value>| {
            let reply = ToolReply { content, structured: form, ..ToolReply::default() };
            assert!(of(&reply) > most);
            let reply = within(reply, most);
            assert!(of(&reply) <= most, "{}", of(&reply));
            reply
        };

        let form = json!({"small": 1, "large": "x".repeat(30_000)});
        let reply = fits(vec![text(100), image(100)], Some(form));
        assert_eq!(reply.structured, Some(json!({"small": 1, "leftOut": ["large"]})));
        assert_eq!(reply.content, [text(100), image(100)]);

        let reply = fits(vec![text(100), image(9000), link(), image(9000)], None);
        let said = "[left out, the answer would be too large: 1 image]".to_owned();
        assert_eq!(reply.content, [text(100), image(9000), link(), Content::Text(said)]);

        let reply = fits(vec![text(100); 1].into_iter().chain(vec![link(); 200]).collect(), None);
        assert!(reply.content.len() > 50, "{}", reply.content.len());

        let reply = fits(vec![text(60_000), Content::Text("the end".to_owned())], None);
        let Content::Text(cut) = &reply.content[0] else { panic!("{reply:?}") };
        assert!(cut.starts_with('\u{1}') && cut.ends_with('x'), "{}", cut.len());
        assert!(cut.contains(" bytes left out, the answer would be too large …]"));
        assert!(of(&reply) > most / 2, "{}", of(&reply));
        fits(vec![text(60_000), text(60_000), text(60_000)], Some(json!("x".repeat(100))));
    }
}
