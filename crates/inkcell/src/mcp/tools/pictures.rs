//! The pictures of an answer: of code that ran, of a notebook's file, of the store.
//!
//! Owns how many one answer shows, and where the others are. The engine makes copies that fit, and draws SVG.

use bytes::Bytes;
use inkcell_engine::artifact::{Artifact, ArtifactInfo, ArtifactSession, ArtifactSpec, Scope};
use inkcell_engine::notebook::{Form, OutputDigest};
use inkcell_engine::output::{
    ArtifactRef, DrawingEffort, FittedPicture, ImageItem, PictureFit, RichItem, SVG, find_picture,
    size,
};
use inkcell_engine::{Engine, OpenNotebook};
use serde_json::Value;

use super::answer::MAX_LINKS;
use super::session::profile;
use super::{Content, Desk, weight};
use crate::settings::Images;
use crate::view::execution::stored_cell::bundle;
use crate::words;

/// The most pictures that one answer shows.
const MAX_IMAGES: usize = 8;

/// How many pictures of a file are stored for one answer; the others are counted.
const MAX_STORED: usize = 24;

/// Bytes kept free for notes and links.
const SPARE_BYTES: usize = 32 << 10;

/// Larger files are not read to be shown.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The pictures of one answer, in the order in which they are added.
pub(super) struct Pictures<'a> {
    engine: &'a Engine,
    images: Images,
    /// Bytes that the answer still has for pictures.
    room: usize,
    effort: DrawingEffort,
    shown: usize,
    left_out: usize,
    /// Pictures of a file that this answer has put into the store, and those that came after too many of them.
    stored: usize,
    beyond: usize,
    content: Vec<Content>,
    /// The lines about them in the text.
    lines: Vec<String>,
}

impl<'a> Pictures<'a> {
    /// For an answer with this much else in it.
    pub(super) fn beside(desk: &'a Desk, bytes: usize) -> Pictures<'a> {
        Pictures {
            engine: &desk.engine,
            images: desk.settings.calls(profile(desk)).images,
            room: weight::MOST_BYTES.saturating_sub(SPARE_BYTES + bytes),
            effort: DrawingEffort::default(),
            shown: 0,
            left_out: 0,
            stored: 0,
            beyond: 0,
            content: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// The pictures, and the lines about them.
    pub(super) fn finish(mut self) -> (Vec<Content>, Vec<String>) {
        if self.left_out > 0 {
            self.lines.push(words::output::images_not_shown(&self.left_out));
        }
        if self.beyond > 0 {
            self.lines.push(words::output::images_beyond(self.beyond));
        }
        (self.content, self.lines)
    }

    /// Adds a picture that code has shown. The text of the answer names it.
    pub(super) fn add(&mut self, item: &RichItem, image: &ImageItem) {
        let stored = image.artifact.as_ref();
        match self.images {
            Images::Off => {}
            Images::Path => {
                let path = stored.and_then(|stored| file(self.engine, stored));
                self.lines.extend(path.map(|path| words::output::image_file(&path)));
            }
            Images::Inline => self.show(item, image),
        }
        let is_link = |part: &&Content| matches!(part, Content::Link { .. });
        let has_room = self.content.iter().filter(is_link).count() < MAX_LINKS;
        if let Some(ArtifactRef { id, bytes }) = stored.filter(|_| has_room) {
            self.content.push(link(id, item.digest.clone(), &image.mime, *bytes));
        }
    }

    fn show(&mut self, item: &RichItem, image: &ImageItem) {
        let stored = image.artifact.as_ref();
        let is_drawing = image.mime == SVG && stored.is_some();
        if self.shown == MAX_IMAGES {
            self.left_out += usize::from(image.data.is_some() || is_drawing);
            return;
        }
        let (mime, data) = match &image.data {
            Some(data) => (image.mime.clone(), data.clone()),
            None => {
                let drawing = stored.filter(|_| is_drawing).and_then(|it| self.drawing(it));
                let Some(PictureFit { fitted, digest, is_whole, .. }) = drawing else { return };
                if !is_whole {
                    self.lines.push(format!("[{digest}]"));
                }
                let Some(FittedPicture { mime, data, .. }) = fitted else { return };
                (mime.to_owned(), data)
            }
        };
        if !self.push_picture(mime, data) {
            let file = stored.and_then(|stored| file(self.engine, stored));
            self.lines.push(words::output::not_shown(&item.digest, file.as_deref()));
        }
    }

    /// The drawing of a stored document.
    fn drawing(&mut self, stored: &ArtifactRef) -> Option<PictureFit> {
        let found = self.engine.artifacts().find_reference(&stored.id, Scope::All).ok()?;
        Some(self.engine.pictures().fit(SVG, &read(&found)?, &mut self.effort))
    }

    /// Puts a picture into the answer, if there is room.
    fn push_picture(&mut self, mime: String, data: Bytes) -> bool {
        let bytes = weight::of_bytes(data.len());
        if bytes > self.room {
            return false;
        }
        self.room -= bytes;
        self.shown += 1;
        self.content.push(Content::Image { mime, data });
        true
    }

    /// Adds the pictures in the outputs of these cells. Those that do not fit are stored and named.
    pub(super) fn add_stored(&mut self, opened: &OpenNotebook, cells: &[usize]) {
        if self.images == Images::Off {
            return;
        }
        for cell in cells.iter().filter_map(|&index| opened.notebook.cell(index)) {
            for (at, output) in cell.outputs().into_iter().enumerate() {
                let is_picture = |(mime, _): &(String, usize)| mime.starts_with("image/");
                let OutputDigest::Data { forms, .. } = output.digest() else { continue };
                if !forms.iter().any(is_picture) {
                    continue;
                }
                // Python accepts JSON that serde rejects; such an output is shown as text alone.
                let value = serde_json::from_slice::<Value>(output.json()).unwrap_or_default();
                if let Some((mime, data)) = find_picture(&bundle(&value["data"])) {
                    let place = words::output::output_place(cell.index(), at);
                    self.add_output(opened, &place, mime, &data);
                }
            }
        }
    }

    fn add_output(&mut self, opened: &OpenNotebook, place: &str, mime: &str, data: &Bytes) {
        let pictures = self.engine.pictures();
        let is_full =
            self.images == Images::Path || self.shown == MAX_IMAGES || self.stored == MAX_STORED;
        let (digest, fitted) = if is_full {
            (pictures.describe(mime, data), None)
        } else {
            let PictureFit { digest, fitted, .. } = pictures.fit(mime, data, &mut self.effort);
            (digest, fitted)
        };
        let is_broken = !is_full && fitted.is_none() && mime != SVG;
        let is_shown = fitted.is_some_and(|it| self.push_picture(it.mime.to_owned(), it.data));
        if is_shown || is_broken {
            self.lines.push(words::output::stored_image(place, &digest));
            return;
        }
        if self.stored == MAX_STORED {
            self.beyond += 1;
            return;
        }
        self.stored += 1;
        let path = opened.path.display().to_string();
        let spec = ArtifactSpec {
            session: ArtifactSession::new(&path, &[b"file"]),
            kind: mime.to_owned(),
            title: place.to_owned(),
        };
        let stored = self.engine.artifacts().store_once(&spec, data).ok().flatten();
        self.lines.push(match (&stored, self.images) {
            (Some(info), Images::Path) => {
                words::output::image_file(&info.path.display().to_string())
            }
            (Some(info), _) => {
                words::output::stored_image_elsewhere(place, &digest, &info.id.to_string())
            }
            (None, _) => words::output::stored_image_not_shown(place, &digest),
        });
        if let Some(ArtifactInfo { id, kind, bytes, .. }) = stored {
            self.content.push(link(id.as_str(), place.to_owned(), &kind, bytes));
        }
    }

    /// Adds an artifact if it is a picture, and returns a line that describes it.
    pub(super) fn add_artifact(&mut self, found: &Artifact) -> String {
        let ArtifactInfo { id, kind, bytes, path, .. } = found.info();
        let mut digest = format!("{kind}, {}", size(*bytes));
        let mut notes = String::new();
        let is_picture = matches!(&**kind, "image/png" | "image/jpeg" | SVG);
        if is_picture && self.images == Images::Inline {
            let data = read(found);
            let fit = data.map(|data| self.engine.pictures().fit(kind, &data, &mut self.effort));
            let is_too_large = fit.as_ref().is_none_or(|fit| fit.fitted.is_some());
            let fitted = fit.and_then(|fit| {
                digest = fit.digest;
                fit.fitted
            });
            let is_shown = fitted.is_some_and(|it| self.push_picture(it.mime.to_owned(), it.data));
            if is_too_large && !is_shown {
                notes.push_str(&format!("\n{}", words::output::TOO_LARGE));
            }
        }
        if kind == SVG {
            notes.push_str(&format!("\n{}", words::output::TEXT_OF_DRAWING));
        }
        format!("{digest}, {}\nfile: {}{notes}", id.reference(), path.display())
    }
}

/// The bytes of a stored picture.
fn read(found: &Artifact) -> Option<Bytes> {
    let bytes = found.info().bytes;
    let length = usize::try_from(bytes).ok().filter(|_| bytes <= MAX_FILE_BYTES)?;
    found.bytes(0, length, Form::Raw).ok().map(|read| read.bytes.into())
}

/// The file of a picture.
fn file(engine: &Engine, stored: &ArtifactRef) -> Option<String> {
    let found = engine.artifacts().find_reference(&stored.id, Scope::All).ok()?;
    Some(found.info().path.display().to_string())
}

/// A stored thing that the client can fetch.
pub(super) fn link(id: &str, name: String, mime: &str, bytes: u64) -> Content {
    Content::Link { uri: format!("artifact://{id}"), name, mime: mime.to_owned(), bytes }
}
