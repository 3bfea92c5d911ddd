//! The rich items of an execution: a bounded number of them, prepared when needed.
//!
//! Owns which items stay if there are too many, and how each is stored. It must not know text.
//! Pictures are decoded late, because most of a storm of displays is never shown.

pub(super) mod chart;
pub(super) mod html;
pub(super) mod image;
pub(super) mod json_text;
pub(super) mod looks;
pub(super) mod mime;
pub mod raster;
pub(super) mod svg;
pub(super) mod table;

use std::collections::VecDeque;

use super::keep::spill::Spill;
use super::model::{ImageItem, JsonItem, Notice, RichItem, RichKind};
use image::ImageLimits;
use mime::{RichForm, one_line};

/// Limits for rich items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RichLimits {
    /// Maximum number of items; beyond it, the first fifth and the last items are kept.
    pub max_items: usize,
    /// Characters of a status line that are shown.
    pub max_status: usize,
    /// Bytes of items that are not prepared yet.
    pub max_held_bytes: usize,
    /// Limits for pictures that are decoded and made smaller.
    pub images: ImageLimits,
    /// Characters of JSON that are shown.
    pub json_chars: usize,
    /// Bytes of JSON that are passed on as a value.
    pub json_bytes: usize,
}

impl Default for RichLimits {
    fn default() -> RichLimits {
        RichLimits {
            max_items: 50,
            max_status: 1000,
            max_held_bytes: 32 * 1024 * 1024,
            images: ImageLimits::default(),
            json_chars: 8000,
            json_bytes: 64 * 1024,
        }
    }
}

#[derive(Debug)]
struct Entry {
    number: u64,
    /// Number among the JSON items only.
    json_number: u64,
    /// The display of this item, if it may be updated.
    slot: Option<u64>,
    state: State,
}

#[derive(Debug)]
enum State {
    AsItCame(RichForm),
    Ready(RichItem),
}

impl Entry {
    fn is_status(&self) -> bool {
        match &self.state {
            State::AsItCame(found) => matches!(found, RichForm::Status(_)),
            State::Ready(item) => matches!(item.kind, RichKind::Status(_)),
        }
    }

    fn held_bytes(&self) -> usize {
        match &self.state {
            State::AsItCame(found) => found.held_bytes(),
            State::Ready(_) => 0,
        }
    }
}

/// The items so far.
#[derive(Debug)]
pub(super) struct RichList {
    limits: RichLimits,
    entries: VecDeque<Entry>,
    notices: Vec<Notice>,
    count: u64,
    json_count: u64,
    status: usize,
    dropped: u64,
    held_bytes: usize,
}

impl RichList {
    pub(super) fn new(limits: RichLimits) -> RichList {
        RichList {
            limits,
            entries: VecDeque::new(),
            notices: Vec::new(),
            count: 0,
            json_count: 0,
            status: 0,
            dropped: 0,
            held_bytes: 0,
        }
    }

    /// Number of items that came, kept or not.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Adds an item and returns its number.
    pub(super) fn push(&mut self, found: RichForm, slot: Option<u64>, spill: &mut Spill) -> u64 {
        self.count += 1;
        self.json_count += u64::from(matches!(found, RichForm::Json { .. }));
        self.held_bytes += found.held_bytes();
        let (number, json_number) = (self.count, self.json_count);
        let entry = Entry { number, json_number, slot, state: State::AsItCame(found) };
        self.status += usize::from(entry.is_status());
        self.entries.push_back(entry);
        self.keep_to_limits(spill);
        self.count
    }

    fn keep_to_limits(&mut self, spill: &mut Spill) {
        let others = self.entries.len() - self.status;
        let too_many =
            [(true, self.status, self.limits.max_status), (false, others, self.limits.max_items)];
        for (is_status, count, max) in too_many {
            if count > max {
                let mut of_this =
                    (0..self.entries.len()).filter(|at| self.entries[*at].is_status() == is_status);
                if let Some(at) = of_this.nth(max / 5) {
                    self.remove(at);
                    self.dropped += 1;
                }
            }
        }
        while self.held_bytes > self.limits.max_held_bytes {
            let Some(at) = self.entries.iter().position(|entry| entry.held_bytes() > 0) else {
                break;
            };
            self.make_ready(at, spill);
        }
    }

    fn remove(&mut self, at: usize) {
        if let Some(entry) = self.entries.remove(at) {
            self.held_bytes -= entry.held_bytes();
            self.status -= usize::from(entry.is_status());
        }
    }

    /// Replaces the items of a display, the first of them in its place.
    pub(super) fn replace(&mut self, slot: u64, found: Vec<RichForm>, spill: &mut Spill) {
        let places: Vec<usize> =
            (0..self.entries.len()).filter(|at| self.entries[*at].slot == Some(slot)).collect();
        let mut found = found.into_iter();
        let in_place = !places.is_empty() && found.len() > 0;
        for at in places.iter().skip(usize::from(in_place)).rev() {
            self.remove(*at);
        }
        if in_place
            && let (Some(at), Some(first)) = (places.first(), found.next())
            && let Some(entry) = self.entries.get_mut(*at)
        {
            self.held_bytes = self.held_bytes - entry.held_bytes() + first.held_bytes();
            self.status -= usize::from(entry.is_status());
            if entry.json_number == 0 && matches!(first, RichForm::Json { .. }) {
                self.json_count += 1;
                entry.json_number = self.json_count;
            }
            entry.state = State::AsItCame(first);
            self.status += usize::from(entry.is_status());
            self.keep_to_limits(spill);
        }
        for more in found {
            self.push(more, Some(slot), spill);
        }
    }

    /// Removes the items at the program's request. Status events are not output and stay.
    pub(super) fn clear(&mut self) {
        self.entries.retain(Entry::is_status);
        self.held_bytes = self.entries.iter().map(Entry::held_bytes).sum();
        self.dropped = 0;
    }

    fn make_ready(&mut self, at: usize, spill: &mut Spill) {
        let Some(entry) = self.entries.get_mut(at) else {
            return;
        };
        let State::AsItCame(found) = &entry.state else {
            return;
        };
        self.held_bytes -= found.held_bytes();
        let (number, json_number) = (entry.number, entry.json_number);
        let (item, notice) = ready(number, json_number, found, &self.limits, spill);
        entry.state = State::Ready(item);
        self.notices.extend(notice);
    }

    /// Returns the kept items, with the notices about them.
    pub(super) fn finish(mut self, spill: &mut Spill) -> (Vec<RichItem>, Vec<Notice>) {
        for at in 0..self.entries.len() {
            self.make_ready(at, spill);
        }
        // One full disk is one notice, however many pictures did not fit.
        self.notices.dedup();
        if self.dropped > 0 {
            self.notices.push(Notice::RichDropped { items: self.dropped });
        }
        let item = |entry: Entry| match entry.state {
            State::Ready(item) => Some(item),
            State::AsItCame(_) => None,
        };
        (self.entries.into_iter().filter_map(item).collect(), self.notices)
    }
}

fn ready(
    number: u64,
    json_number: u64,
    found: &RichForm,
    limits: &RichLimits,
    spill: &mut Spill,
) -> (RichItem, Option<Notice>) {
    let (kind, digest, notice) = match found {
        RichForm::Image { mime, data } => {
            let (artifact, notice) = spill.store(mime, data);
            let look = image::fit(mime, data, limits.images);
            let shown = look.fitted.as_ref().map(|copy| (copy.width, copy.height));
            let item = ImageItem {
                mime: look.fitted.as_ref().map_or(mime.clone(), |copy| copy.mime.to_owned()),
                pixels: shown.or(look.pixels),
                data: look.fitted.map(|copy| copy.data),
                artifact,
            };
            (RichKind::Image(item), look.digest, notice)
        }
        RichForm::Json { text, is_in_text } => {
            let is_small = text.len() <= limits.json_bytes;
            let (artifact, notice) = match is_small {
                true => (None, None),
                false => spill.store("application/json", text.as_bytes()),
            };
            let item = JsonItem {
                raw: is_small.then(|| text.clone()),
                shown: json_text::render_json(json_number, text, limits.json_chars),
                is_in_text: *is_in_text,
                artifact,
            };
            (RichKind::Json(item), format!("JSON {}", json_text::shape(text)), notice)
        }
        RichForm::Status(text) => (RichKind::Status(text.clone()), "status".to_owned(), None),
        RichForm::Digest { mime, digest, data } => {
            let (artifact, notice) =
                data.as_ref().map_or((None, None), |data| spill.store(mime, data));
            (RichKind::Digest { mime: mime.clone(), artifact }, digest.clone(), notice)
        }
    };
    (RichItem { number, kind, digest: one_line(&digest) }, notice)
}
