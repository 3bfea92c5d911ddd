//! Drawings: SVG documents turned into pixels, for readers who cannot read the document.
//!
//! Owns which documents are drawn. A document reads no file and no address, and what it costs is worked out before:
//! `expansion` counts what its references multiply, `meter` what is painted how often. What is refused says why.
//! Nothing is drawn before a picture is to be shown. It must not know limits on bytes or where documents come from.

mod expansion;
mod meter;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Family, ID};
use resvg::usvg::roxmltree::{Document, ParsingOptions};
use resvg::usvg::{FontResolver, ImageHrefResolver, ImageKind, Options, Tree};

use super::raster::{PixelLayout, PngEffort, Raster, RasterHeader, RasterLimits};

/// Bytes of a document; longer ones are not drawn.
const MAX_BYTES: usize = 4 << 20;
/// Nodes of a document: elements, texts and comments.
const MAX_NODES: u32 = 400_000;
/// Pixels of all pictures within a document together.
const MAX_EMBEDDED_PIXELS: u64 = 16_000_000;
/// Fonts that are looked at for characters which the chosen font lacks.
const MAX_FALLBACK_FONTS: usize = 20_000;
/// Units of work for one drawing, each about a nanosecond.
const DRAWING: u64 = 2_000_000_000;
/// Time after which a drawing is given up, because its price was wrong.
const LONGEST: Duration = Duration::from_secs(20);
/// The renderer recurses into nested elements.
const STACK_BYTES: usize = 64 << 20;

/// How much work the drawings of one answer may still take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DrawingEffort {
    units: u64,
}

impl Default for DrawingEffort {
    /// Enough for two drawings of the most work, and for many simple ones.
    fn default() -> DrawingEffort {
        DrawingEffort { units: 2 * DRAWING }
    }
}

/// Why a document is not drawn.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum SvgRefusal {
    #[error("not drawn: more than 4 MB")]
    Long,
    #[error("not drawn: not UTF-8")]
    NotText,
    #[error("not drawn: {0}")]
    Malformed(String),
    #[error("not drawn: it defines entities")]
    Entities,
    #[error("not drawn: its style sheet refers to elements")]
    Styles,
    #[error("not drawn: a part of it contains itself")]
    Cycle,
    #[error("not drawn: its parts are repeated or nested too often")]
    Expansion,
    #[error("not drawn: it uses a costly filter")]
    Filter,
    #[error("not drawn: too complex")]
    Complex,
    #[error("not drawn: the other drawings took too much time")]
    Exhausted,
    #[error("not drawn: the renderer failed")]
    Failed,
}

/// What is missing in a drawing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Omissions {
    /// Pictures that the document names by an address, or that cannot be decoded.
    pub(super) pictures: usize,
    /// True if there is text, and no font to draw it with.
    pub(super) text: bool,
}

/// A document as pixels.
#[derive(Debug)]
pub(super) struct Drawing {
    pub(super) raster: Raster,
    /// Width and height that the document asks for, in pixels.
    pub(super) size: (u32, u32),
    pub(super) omissions: Omissions,
}

/// Draws documents. The fonts of the system are loaded once, when the first text is drawn.
#[derive(Clone, Debug, Default)]
pub(super) struct SvgPainter {
    fonts: Arc<OnceLock<Arc<Database>>>,
}

impl SvgPainter {
    /// Draws a document on white, at the size that it asks for, or scaled down to this longer side.
    pub(super) fn draw(
        &self,
        svg: &Bytes,
        max_side: u32,
        effort: &mut DrawingEffort,
    ) -> Result<Drawing, SvgRefusal> {
        if svg.len() > MAX_BYTES {
            return Err(SvgRefusal::Long);
        }
        if effort.units == 0 {
            return Err(SvgRefusal::Exhausted);
        }
        let (sender, receiver) = mpsc::channel();
        let (svg, fonts, units) = (svg.clone(), Arc::clone(&self.fonts), effort.units);
        // Only a thread of its own has enough stack, and can be left behind. It ends by itself, as its work is bounded.
        let work = move || {
            // The receiver is gone if it waited too long.
            let _ = sender.send(draw(&svg, max_side, &fonts, units));
        };
        let thread = thread::Builder::new().name("svg".to_owned()).stack_size(STACK_BYTES);
        let started = Instant::now();
        thread.spawn(work).map_err(|_| SvgRefusal::Failed)?;
        // If the renderer panics, no answer is sent.
        let drawn = receiver.recv_timeout(LONGEST).unwrap_or(Err(SvgRefusal::Failed));
        // A unit is about a nanosecond, so a refused document costs the time that it took.
        let elapsed = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let spent = drawn.as_ref().map_or(elapsed, |(_, spent)| *spent);
        effort.units = effort.units.saturating_sub(spent);
        drawn.map(|(drawing, _)| drawing)
    }
}

fn draw(
    svg: &[u8],
    max_side: u32,
    fonts: &OnceLock<Arc<Database>>,
    units: u64,
) -> Result<(Drawing, u64), SvgRefusal> {
    let text = std::str::from_utf8(svg).map_err(|_| SvgRefusal::NotText)?;
    expansion::check_text(text)?;
    // Graphviz names a document type. Nothing is fetched for one.
    let parsing =
        ParsingOptions { allow_dtd: true, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, parsing)
        .map_err(|error| SvgRefusal::Malformed(error.to_string()))?;
    let has_text = expansion::check(&document)?;
    let embedded = EmbeddedPictures::default();
    let mut options = Options { image_href_resolver: embedded.resolver(), ..Options::default() };
    if has_text {
        options.fontdb = Arc::clone(fonts.get_or_init(|| Arc::new(load_fonts())));
        options.font_resolver = font_resolver();
    }
    let lacks_fonts = has_text && options.fontdb.is_empty();
    let tree = Tree::from_xmltree(&document, &options)
        .map_err(|error| SvgRefusal::Malformed(error.to_string()))?;
    let (wide, high) = (f64::from(tree.size().width()), f64::from(tree.size().height()));
    let scale = (f64::from(max_side) / wide.max(high)).min(1.0);
    let pixels = |length: f64| ((length * scale).round() as u32).clamp(1, max_side.max(1));
    let (width, height) = (pixels(wide), pixels(high));
    let transform = Transform::from_scale(
        width as f32 / tree.size().width(),
        height as f32 / tree.size().height(),
    );
    let most = units.min(DRAWING);
    let spent = meter::measure(&tree, transform, (width, height), most);
    let spent = spent.map_err(|refusal| match refusal {
        SvgRefusal::Complex if most < DRAWING => SvgRefusal::Exhausted,
        refusal => refusal,
    })?;
    let mut canvas = Pixmap::new(width, height).ok_or(SvgRefusal::Failed)?;
    // Many documents have no background, because they are made for paper.
    canvas.fill(Color::WHITE);
    resvg::render(&tree, transform, &mut canvas.as_mut());
    let colours = canvas.pixels().iter().flat_map(|it| [it.red(), it.green(), it.blue()]);
    let raster = Raster::new(width, height, PixelLayout::Rgb, colours.collect());
    let drawing = Drawing {
        raster: raster.ok_or(SvgRefusal::Failed)?,
        size: (wide.round().max(1.0) as u32, high.round().max(1.0) as u32),
        omissions: Omissions {
            pictures: embedded.omitted.load(Ordering::Relaxed),
            text: lacks_fonts,
        },
    };
    Ok((drawing, spent))
}

/// The pictures within a document.
struct EmbeddedPictures {
    pixels_left: AtomicU64,
    omitted: AtomicUsize,
}

impl Default for EmbeddedPictures {
    fn default() -> EmbeddedPictures {
        EmbeddedPictures { pixels_left: MAX_EMBEDDED_PIXELS.into(), omitted: AtomicUsize::new(0) }
    }
}

impl EmbeddedPictures {
    /// Decodes what is in the document itself, and never opens an address.
    fn resolver(&self) -> ImageHrefResolver<'_> {
        let omitted = |picture: Option<ImageKind>| {
            self.omitted.fetch_add(usize::from(picture.is_none()), Ordering::Relaxed);
            picture
        };
        ImageHrefResolver {
            resolve_data: Box::new(move |_, file, _| omitted(self.decode(&file))),
            resolve_string: Box::new(move |_, _| omitted(None)),
        }
    }

    /// A picture in a form that the renderer cannot fail to decode.
    fn decode(&self, file: &[u8]) -> Option<ImageKind> {
        let RasterHeader { format, width, height } = RasterHeader::read(file)?;
        let pixels = u64::from(width) * u64::from(height);
        let take = |left: u64| left.checked_sub(pixels);
        self.pixels_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        let limits = RasterLimits { max_pixels: pixels, max_bytes: pixels.saturating_mul(8) };
        let picture = Raster::decode(format, file, limits).ok()?;
        Some(ImageKind::PNG(Arc::new(picture.encode_png(PngEffort::Fast).ok()?)))
    }
}

/// The fonts of the system, with families that exist behind the general names.
fn load_fonts() -> Database {
    let mut fonts = Database::new();
    fonts.load_system_fonts();
    let families = fonts.faces().flat_map(|face| &face.families);
    let known: Vec<String> = families.map(|(name, _)| name.clone()).collect();
    let choose = |usual: &str, names: &[&str]| {
        let mut names = std::iter::once(usual).chain(names.iter().copied());
        let found = names.find(|name| known.iter().any(|known| known == name));
        found.map(str::to_owned).or_else(|| known.first().cloned())
    };
    let serif = choose(fonts.family_name(&Family::Serif), &SERIF);
    let sans_serif = choose(fonts.family_name(&Family::SansSerif), &SANS_SERIF);
    let monospace = choose(fonts.family_name(&Family::Monospace), &MONOSPACE);
    serif.into_iter().for_each(|name| fonts.set_serif_family(name));
    sans_serif.into_iter().for_each(|name| fonts.set_sans_serif_family(name));
    monospace.into_iter().for_each(|name| fonts.set_monospace_family(name));
    fonts
}

/// Families that machines have, in the order in which they are wanted.
const SERIF: [&str; 4] = ["Times New Roman", "Liberation Serif", "DejaVu Serif", "Noto Serif"];
const SANS_SERIF: [&str; 4] = ["Arial", "Liberation Sans", "DejaVu Sans", "Noto Sans"];
const MONOSPACE: [&str; 4] =
    ["Courier New", "Liberation Mono", "DejaVu Sans Mono", "Noto Sans Mono"];

/// Chooses fonts as the renderer does, but looks at a bounded number of them for characters that a font lacks.
fn font_resolver() -> FontResolver<'static> {
    let usual = FontResolver::default_fallback_selector();
    let left = AtomicUsize::new(MAX_FALLBACK_FONTS);
    // Fonts have whole blocks of characters.
    let blocks = Mutex::new(HashMap::<u32, ID>::new());
    let select_fallback = move |character: char, used: &[ID], fonts: &mut Arc<Database>| {
        let block = u32::from(character) >> 8;
        let mut blocks = blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = blocks.get(&block).filter(|known| !used.contains(known)) {
            return Some(*known);
        }
        let take = |left: usize| left.checked_sub(fonts.len().max(1));
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        let found = usual(character, used, fonts)?;
        blocks.insert(block, found);
        Some(found)
    };
    FontResolver { select_fallback: Box::new(select_fallback), ..FontResolver::default() }
}

/// The size that the first tag of a document claims, in pixels. Nothing else of the document is looked at.
pub(super) fn claimed_size(svg: &str) -> Option<(u32, u32)> {
    let (_, tag) = svg.split_once("<svg")?;
    let tag = tag.split('>').next()?;
    let value = |name: &str| {
        let found = tag.match_indices(name).find_map(|(at, _)| {
            let is_name = tag[..at].ends_with(char::is_whitespace);
            let value = tag[at + name.len()..].trim_start().strip_prefix('=')?.trim_start();
            let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
            value[1..].split(quote).next().filter(|_| is_name)
        });
        found.map(str::trim)
    };
    let side = |name: &str, place: usize| {
        let view = || value("viewBox")?.split([' ', ',']).filter(|it| !it.is_empty()).nth(place);
        let length = value(name).and_then(length).or_else(|| length(view()?));
        length.filter(|length| *length > 0.0).map(|length| length.round().max(1.0) as u32)
    };
    Some((side("width", 2)?, side("height", 3)?))
}

/// A length in pixels; none for a part of something else.
fn length(text: &str) -> Option<f64> {
    let unit = text.find(|c: char| c.is_ascii_alphabetic() && c != 'e' && c != 'E');
    let (number, unit) = text.split_at(unit.unwrap_or(text.len()));
    let pixels = match unit {
        "" | "px" => 1.0,
        "pt" => 96.0 / 72.0,
        "pc" => 16.0,
        "in" => 96.0,
        "cm" => 96.0 / 2.54,
        "mm" => 96.0 / 25.4,
        _ => return None,
    };
    number.trim().parse::<f64>().ok().map(|number| number * pixels).filter(|it| it.is_finite())
}

#[cfg(test)]
mod tests;
