//! Notebooks of nbformat 1 to 3, read only: where they keep cells and how they name the fields.
//!
//! Owns the old names. Every caller sees the cells as if they were of nbformat 4.

use super::slot::{Body, Fields, Key, Slot};
use crate::cell::CellKind;
use crate::json::{self, Span};

/// Reads the cells of all worksheets, one worksheet after the other.
pub(crate) fn read_worksheets(bytes: &[u8], worksheets: Span) -> Vec<Slot> {
    let list = worksheets.of(bytes);
    let mut slots = Vec::new();
    for sheet in json::items(list) {
        let sheet_start = worksheets.start + sheet.start;
        let object = sheet.of(list);
        let Some(cells) = json::members(object)
            .into_iter()
            .rfind(|member| json::decode(member.key.of(object)).text == "cells")
        else {
            continue;
        };
        let array = cells.value.of(object);
        let start = sheet_start + cells.value.start;
        for cell in json::items(array) {
            let span = Span { start: start + cell.start, end: start + cell.end };
            slots.push(read_slot(bytes, span));
        }
    }
    slots
}

/// Reads the cells of an array `cells` again with the old names, for a file that states an old
/// version.
pub(crate) fn reread_cells(bytes: &[u8], slots: Vec<Slot>) -> Vec<Slot> {
    let again = |old: Slot| match old.body {
        Body::File(span) => Slot { origin: old.origin, ..read_slot(bytes, span) },
        Body::Own(_) => old,
    };
    slots.into_iter().map(again).collect()
}

fn read_slot(bytes: &[u8], span: Span) -> Slot {
    let cell = span.of(bytes);
    let mut fields = Fields::of(cell);
    for member in json::members(cell) {
        let name = json::decode(member.key.of(cell)).text;
        match &*name {
            "input" | "code" | "text" if fields.member(Key::Source).is_none() => {
                fields.set_member(Key::Source, member.value);
            }
            "prompt_number" => fields.set_member(Key::ExecutionCount, member.value),
            "level" => {
                let level = json::whole_number(member.value.of(cell)).unwrap_or(1).clamp(1, 6);
                fields.heading = level as u8;
            }
            _ => {}
        }
    }
    let kind = fields.value(cell, Key::CellType).map(|value| json::decode(value).text.into_owned());
    match kind.as_deref() {
        Some("heading") => fields.kind = Some(CellKind::Markdown),
        Some("text") => (fields.kind, fields.heading) = (Some(CellKind::Markdown), 0),
        Some("html") => (fields.kind, fields.heading) = (Some(CellKind::Raw), 0),
        _ => fields.heading = 0,
    }
    Slot { body: Body::File(span), fields, origin: None }
}
