//! The price of drawing a resolved SVG document, computed before the first pixel.
//!
//! Owns the prices of drawing, in units of about a nanosecond, and the limit on memory for layers. The prices were
//! measured in a release build, and rounded up. It follows the renderer step by step: a layer for each group that is not
//! simply painted, patterns that are painted again for each use, outlines line by line. It must not know XML.

use resvg::tiny_skia::{Path as Outline, PathSegment, Point, Rect, Transform};
use resvg::usvg::filter::Kind;
use resvg::usvg::{
    BlendMode, ClipPath, Group, Image, ImageKind, Mask, Node, Paint, Path, Pattern, Tree,
};

use super::SvgRefusal;

/// Pixels of layers that exist at the same time.
const MAX_LIVE_PIXELS: f64 = 32e6;
/// The most dashes that a path is cut into; the renderer refuses more.
const MAX_DASHES: f64 = 1e6;

/// Looking at one node.
const NODE: f64 = 5000.0;
/// Choosing and placing the glyphs of one text.
const TEXT: f64 = 300_000.0;
/// One piece of an outline, filled or stroked.
const PIECE: f64 = 400.0;
/// One edge in one of the four lines that a row of pixels has.
const EDGE: f64 = 20.0;
/// Two edges that change places.
const CROSSING: f64 = 2.0;
/// One pixel of a thin line.
const HAIRLINE: f64 = 120.0;
/// One pixel: of a colour, a gradient with its stops, a pattern, a picture.
const COLOUR: f64 = 5.0;
const GRADIENT: f64 = 60.0;
const STOP: f64 = 2.0;
const PATTERN: f64 = 600.0;
const PICTURE: f64 = 400.0;
/// One pixel of a picture that is decoded.
const DECODING: f64 = 60.0;
/// One pixel of a layer: made empty, then painted, perhaps in a special way.
const LAYER: f64 = 50.0;
const BLENDING: f64 = 100.0;
/// One pixel of a layer that is clipped, and of one with a mask.
const CLIP: f64 = 10.0;
const MASK: f64 = 30.0;
/// One pixel of a filter.
const FILTER: f64 = 40.0;
const BLUR: f64 = 250.0;

/// Columns, and rows, in which the edges of an outline are counted.
const STRIPES: usize = 64;

/// The units that drawing takes; refused if they are more than `most`.
pub(super) fn measure(
    tree: &Tree,
    transform: Transform,
    (width, height): (u32, u32),
    most: u64,
) -> Result<u64, SvgRefusal> {
    let (width, height) = (width as f32, height as f32);
    let canvas = Rect::from_xywh(0.0, 0.0, width, height).ok_or(SvgRefusal::Failed)?;
    // The renderer cuts layers at twice the size of the picture around it.
    let most_layer = Some((f64::from(width) * 5.0, f64::from(height) * 5.0));
    let mut meter = Meter { left: most, live_pixels: 0.0, most_layer };
    meter.layer(pixels(canvas), |meter| meter.nodes(tree.root(), transform, canvas))?;
    Ok(most - meter.left)
}

struct Meter {
    left: u64,
    live_pixels: f64,
    /// The width and height at which layers are cut, if they are.
    most_layer: Option<(f64, f64)>,
}

type MeterResult = Result<(), SvgRefusal>;

impl Meter {
    fn spend(&mut self, units: f64) -> MeterResult {
        let units = if units.is_nan() { u64::MAX } else { units as u64 };
        self.left = self.left.checked_sub(units).ok_or(SvgRefusal::Complex)?;
        Ok(())
    }

    /// Something that is drawn while a layer of this size exists.
    fn layer(&mut self, pixels: f64, draw: impl FnOnce(&mut Meter) -> MeterResult) -> MeterResult {
        self.spend(pixels * LAYER)?;
        self.live_pixels += pixels;
        if self.live_pixels > MAX_LIVE_PIXELS {
            return Err(SvgRefusal::Complex);
        }
        draw(self)?;
        self.live_pixels -= pixels;
        Ok(())
    }

    fn nodes(&mut self, parent: &Group, transform: Transform, canvas: Rect) -> MeterResult {
        parent.children().iter().try_for_each(|node| {
            self.spend(NODE)?;
            match node {
                Node::Group(group) => self.group(group, transform, canvas),
                Node::Path(path) => self.path(path, transform, canvas),
                Node::Image(image) => self.image(image, transform, canvas),
                Node::Text(text) => {
                    self.spend(TEXT)?;
                    self.group(text.flattened(), transform, canvas)
                }
            }
        })
    }

    fn group(&mut self, group: &Group, transform: Transform, canvas: Rect) -> MeterResult {
        let mut transform = transform.pre_concat(group.transform());
        if !group.should_isolate() {
            return self.nodes(group, transform, canvas);
        }
        let most_layer = self.most_layer;
        if !group.filters().is_empty() {
            // The renderer skips a group that cannot be turned upright.
            let Some(upright) = upright(transform) else { return Ok(()) };
            if transform.has_skew() {
                self.most_layer = None;
            }
            transform = upright;
        }
        let Some(bounds) = group.layer_bounding_box().transform(transform) else {
            self.most_layer = most_layer;
            return Ok(());
        };
        let bounds = bounds.to_rect();
        let (mut width, mut height) =
            (f64::from(bounds.width()) + 5.0, f64::from(bounds.height()) + 5.0);
        if let Some((most_width, most_height)) = self.most_layer {
            (width, height) = (width.min(most_width), height.min(most_height));
        }
        let pixels = width * height;
        if group.blend_mode() != BlendMode::Normal {
            self.spend(pixels * BLENDING)?;
        }
        self.layer(pixels, |meter| {
            meter.nodes(group, transform, bounds)?;
            for filter in group.filters() {
                // The result of each step is kept until the last.
                let steps = filter.primitives();
                meter.layer(pixels * (1 + steps.len()) as f64, |meter| {
                    steps
                        .iter()
                        .try_for_each(|step| meter.spend(pixels * filter_price(step.kind())?))
                })?;
            }
            if let Some(clip) = group.clip_path() {
                meter.clip(clip, transform, bounds, pixels)?;
            }
            group.mask().map_or(Ok(()), |mask| meter.mask(mask, transform, bounds, pixels))
        })?;
        self.most_layer = most_layer;
        Ok(())
    }

    fn clip(
        &mut self,
        clip: &ClipPath,
        transform: Transform,
        canvas: Rect,
        pixels: f64,
    ) -> MeterResult {
        self.spend(pixels * CLIP)?;
        self.layer(pixels, |meter| {
            let inner = transform.pre_concat(clip.transform());
            meter.clip_nodes(clip.root(), inner, canvas, pixels)?;
            clip.clip_path().map_or(Ok(()), |clip| meter.clip(clip, transform, canvas, pixels))
        })
    }

    fn clip_nodes(
        &mut self,
        parent: &Group,
        transform: Transform,
        canvas: Rect,
        pixels: f64,
    ) -> MeterResult {
        parent.children().iter().try_for_each(|node| {
            self.spend(NODE)?;
            match node {
                Node::Path(path) => self.path(path, transform, canvas),
                Node::Text(text) => self.clip_nodes(text.flattened(), transform, canvas, pixels),
                Node::Image(_) => Ok(()),
                Node::Group(group) => {
                    let transform = transform.pre_concat(group.transform());
                    let Some(clip) = group.clip_path() else {
                        return self.clip_nodes(group, transform, canvas, pixels);
                    };
                    self.layer(pixels, |meter| {
                        meter.clip_nodes(group, transform, canvas, pixels)?;
                        meter.clip(clip, transform, canvas, pixels)
                    })
                }
            }
        })
    }

    fn mask(
        &mut self,
        mask: &Mask,
        transform: Transform,
        canvas: Rect,
        pixels: f64,
    ) -> MeterResult {
        self.spend(pixels * MASK)?;
        self.layer(pixels, |meter| {
            meter.nodes(mask.root(), transform, canvas)?;
            mask.mask().map_or(Ok(()), |mask| meter.mask(mask, transform, canvas, pixels))
        })
    }

    fn image(&mut self, image: &Image, transform: Transform, canvas: Rect) -> MeterResult {
        if !image.is_visible() {
            return Ok(());
        }
        // Documents within documents are refused before.
        if matches!(image.kind(), ImageKind::SVG(_)) {
            return Err(SvgRefusal::Complex);
        }
        let Some(bounds) = image.size().to_rect(0.0, 0.0) else { return Ok(()) };
        let decoded = pixels(bounds);
        let shown = bounds.transform(transform).map_or(0.0, |bounds| overlap(bounds, canvas));
        self.layer(decoded, |meter| meter.spend(decoded * DECODING + shown * PICTURE))
    }

    fn path(&mut self, path: &Path, transform: Transform, canvas: Rect) -> MeterResult {
        if !path.is_visible() {
            return Ok(());
        }
        let count = EdgeCount::of(path.data(), transform, canvas);
        let bounds = path.data().bounds().transform(transform);
        if let Some(fill) = path.fill() {
            let pixel = self.paint(fill.paint(), transform)?;
            self.spend(count.pieces * PIECE)?;
            let shown = bounds.map_or(0.0, |bounds| overlap(bounds, canvas));
            if shown > 0.0 {
                self.spend(count.lines * EDGE + count.crossings * CROSSING + shown * pixel)?;
            }
        }
        if let Some(stroke) = path.stroke() {
            let pixel = self.paint(stroke.paint(), transform)?;
            let (wide, high) = transform.get_scale();
            let width = stroke.width().get() * wide.max(high);
            let dashes = stroke.dasharray().map_or(0.0, |dashes| {
                let sum: f32 = dashes.iter().sum();
                let dashes = count.length * dashes.len() as f64 / f64::from(sum);
                if dashes.is_nan() { MAX_DASHES } else { dashes.min(MAX_DASHES) }
            });
            let pieces = count.pieces + 2.0 * dashes;
            self.spend(pieces * PIECE)?;
            let reach = width * (1.0 + stroke.miterlimit().get());
            let shown = bounds.and_then(|bounds| bounds.outset(reach, reach));
            // Bounds that overflow may cover the whole canvas.
            let is_shown = shown.is_none_or(|bounds| overlap(bounds, canvas) > 0.0);
            let is_smooth = path.rendering_mode().use_shape_antialiasing();
            if is_shown && width <= 1.0 && is_smooth && !transform.has_skew() {
                self.spend(count.run * (HAIRLINE + pixel))?;
            } else if is_shown {
                let width = f64::from(width);
                let high = width.min(f64::from(canvas.height()));
                let lines = 2.0 * count.lines + pieces * 32.0 * (1.0 + high);
                let area = (count.run * (width + 2.0) + pieces * width * width).min(pixels(canvas));
                let crossings = 4.0 * count.crossings;
                self.spend(lines * EDGE + crossings * CROSSING + area * pixel)?;
            }
        }
        Ok(())
    }

    /// The price of a pixel in this paint. A pattern is painted once before.
    fn paint(&mut self, paint: &Paint, transform: Transform) -> Result<f64, SvgRefusal> {
        let gradient = |stops: usize| GRADIENT + STOP * stops as f64;
        match paint {
            Paint::Color(_) => Ok(COLOUR),
            Paint::LinearGradient(base) => Ok(gradient(base.stops().len())),
            Paint::RadialGradient(base) => Ok(gradient(base.stops().len())),
            Paint::Pattern(pattern) => {
                self.pattern(pattern, transform)?;
                Ok(PATTERN)
            }
        }
    }

    fn pattern(&mut self, pattern: &Pattern, transform: Transform) -> MeterResult {
        self.spend(NODE)?;
        let (wide, high) = transform.pre_concat(pattern.transform()).get_scale();
        let (width, height) = (pattern.rect().width() * wide, pattern.rect().height() * high);
        // A tile whose size overflows is not drawn.
        let Some(tile) = Rect::from_xywh(0.0, 0.0, width, height) else { return Ok(()) };
        let scale = Transform::from_scale(wide, high);
        self.layer(pixels(tile), |meter| meter.nodes(pattern.root(), scale, tile))
    }
}

/// The transform of a layer to which filters are applied: without rotation and skew.
fn upright(transform: Transform) -> Option<Transform> {
    let (wide, high) = (transform.sx.hypot(transform.ky), transform.kx.hypot(transform.sy));
    let (sx, ky) = (transform.sx / wide, transform.ky / wide);
    let (kx, sy) = (transform.kx / high, transform.sy / high);
    let rest = Transform::from_row(sx, ky, kx, sy, 0.0, 0.0);
    Some(rest.invert()?.pre_concat(transform))
}

/// The price of a pixel in one step of a filter. Those that look at many pixels for one are refused.
fn filter_price(kind: &Kind) -> Result<f64, SvgRefusal> {
    match kind {
        Kind::Blend(_)
        | Kind::ColorMatrix(_)
        | Kind::ComponentTransfer(_)
        | Kind::Composite(_)
        | Kind::Flood(_)
        | Kind::Offset(_) => Ok(FILTER),
        Kind::Merge(merge) => Ok(FILTER * (1 + merge.inputs().len()) as f64),
        Kind::DropShadow(_) | Kind::GaussianBlur(_) => Ok(BLUR),
        _ => Err(SvgRefusal::Filter),
    }
}

fn pixels(rect: Rect) -> f64 {
    f64::from(rect.width()) * f64::from(rect.height())
}

/// The pixels of a canvas that these bounds cover.
fn overlap(bounds: Rect, canvas: Rect) -> f64 {
    let width = bounds.right().min(canvas.right()) - bounds.left().max(canvas.left());
    let height = bounds.bottom().min(canvas.bottom()) - bounds.top().max(canvas.top());
    match width >= 0.0 && height >= 0.0 {
        true => f64::from(width + 2.0) * f64::from(height + 2.0),
        false => 0.0,
    }
}

/// What the edges of an outline amount to on a canvas.
#[derive(Default)]
struct EdgeCount {
    pieces: f64,
    /// Lines that edges cross, four for each row of pixels.
    lines: f64,
    /// Pairs of edges that may cross.
    crossings: f64,
    /// The way along the edges in pixels, within the canvas.
    run: f64,
    /// The length before the transform.
    length: f64,
}

impl EdgeCount {
    fn of(outline: &Outline, transform: Transform, canvas: Rect) -> EdgeCount {
        let mut count = EdgeCount::default();
        let mut columns = Stripes::new(canvas.left(), canvas.right());
        let mut rows = Stripes::new(canvas.top(), canvas.bottom());
        let mut add = |from: Point, to: Point| {
            count.length += f64::from(from.distance(to));
            let mut ends = [from, to];
            transform.map_points(&mut ends);
            let [from, to] = ends;
            count.pieces += 1.0;
            // Beside the canvas an edge follows its border, and above and below it there is none.
            let high = rows.length(from.y, to.y);
            if rows.reaches(from.y, to.y) {
                count.lines += high * 4.0 + 1.0;
                if columns.reaches(from.x, to.x) {
                    count.run += columns.length(from.x, to.x) + high + 1.0;
                    columns.add(from.x, to.x);
                    rows.add(from.y, to.y);
                }
            }
        };
        let (mut start, mut last) = (Point::zero(), Point::zero());
        for segment in outline.segments() {
            // A curve stays among its points, so the way along these is not shorter.
            last = match segment {
                PathSegment::MoveTo(to) => {
                    start = to;
                    to
                }
                PathSegment::LineTo(to) => {
                    add(last, to);
                    to
                }
                PathSegment::QuadTo(by, to) => {
                    add(last, by);
                    add(by, to);
                    to
                }
                PathSegment::CubicTo(by, then, to) => {
                    add(last, by);
                    add(by, then);
                    add(then, to);
                    to
                }
                PathSegment::Close => {
                    add(last, start);
                    start
                }
            };
        }
        let all = count.pieces * count.pieces / 2.0;
        count.crossings = all.min(columns.pairs()).min(rows.pairs());
        count
    }
}

/// How many edges there are in each stripe of a canvas: edges without a stripe in common do not cross.
struct Stripes {
    low: f32,
    high: f32,
    /// Edges that begin in a stripe, less those that end before it.
    changes: [i64; STRIPES + 1],
}

impl Stripes {
    fn new(low: f32, high: f32) -> Stripes {
        Stripes { low, high, changes: [0; STRIPES + 1] }
    }

    /// Whether an edge from one place to another is on the canvas. NaN may be anywhere.
    fn reaches(&self, one: f32, other: f32) -> bool {
        let is_before = one < self.low && other < self.low;
        let is_after = one > self.high && other > self.high;
        !is_before && !is_after
    }

    /// The length of an edge within the canvas.
    fn length(&self, one: f32, other: f32) -> f64 {
        let (first, last) = (one.min(other), one.max(other));
        f64::from((last.min(self.high) - first.max(self.low)).max(0.0))
    }

    fn add(&mut self, one: f32, other: f32) {
        let stripe = |at: f32| {
            let at = (at - self.low) / (self.high - self.low) * STRIPES as f32;
            (at as usize).min(STRIPES - 1)
        };
        let (begin, end) = (stripe(one.min(other)), stripe(one.max(other)) + 1);
        for (at, change) in [(begin, 1), (end, -1)] {
            if let Some(count) = self.changes.get_mut(at) {
                *count += change;
            }
        }
    }

    fn pairs(&self) -> f64 {
        let (mut edges, mut pairs) = (0, 0.0);
        for change in self.changes {
            edges += change;
            pairs += edges as f64 * edges as f64 / 2.0;
        }
        pairs
    }
}
