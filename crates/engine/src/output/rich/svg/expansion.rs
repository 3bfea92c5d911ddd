//! How far the references in an SVG document multiply its parts, counted before anything is built from it.
//!
//! Owns the limits on the document. `meter` has those on the drawing, once the document is resolved. A part counts
//! once for every place that refers to it. Where it is not clear how often a reference is followed, the higher number
//! counts, so that a document within the limits is also built within them.

use std::collections::HashMap;

use resvg::usvg::roxmltree::{Attribute, Document, Node, NodeId};

use super::SvgRefusal;

/// `<` and `=` in a document, each an element or an attribute at most.
const MAX_ELEMENTS: usize = 500_000;
const MAX_ATTRIBUTES: usize = 2_000_000;
/// Attributes of one element: they are compared with each other.
const MAX_TAG_ATTRIBUTES: usize = 256;
/// Declarations of namespaces: elements inherit them one by one.
const MAX_NAMESPACES: usize = 1000;
/// References from one part to another, before they are followed.
const MAX_REFERENCES: usize = 300_000;
/// Elements, after all references were followed.
const MAX_NODES: u64 = 150_000;
/// Bytes of attributes and text, after all references were followed.
const MAX_BYTES: u64 = 32 << 20;
/// Characters to be shaped, after all references were followed.
const MAX_CHARACTERS: u64 = 40_000;
/// Elements within each other, through references too.
const MAX_DEPTH: u64 = 128;
/// Attributes that the builder looks at, and elements that selectors look at.
const MAX_STEPS: u64 = 50_000_000;

/// Whether a document is small enough to be parsed.
pub(super) fn check_text(text: &str) -> Result<(), SvgRefusal> {
    // Entities may stand for any amount of text.
    if text.contains("<!ENTITY") {
        return Err(SvgRefusal::Entities);
    }
    let (mut elements, mut attributes) = (0, 0);
    // A `<` cannot stand in the value of an attribute.
    for tag in text.split('<') {
        let in_tag = memchr::memchr_iter(b'=', tag.as_bytes()).count();
        elements += 1;
        attributes += in_tag;
        if in_tag > MAX_TAG_ATTRIBUTES {
            return Err(SvgRefusal::Complex);
        }
    }
    let is_small = elements <= MAX_ELEMENTS
        && attributes <= MAX_ATTRIBUTES
        && text.matches("xmlns").count() <= MAX_NAMESPACES;
    if is_small { Ok(()) } else { Err(SvgRefusal::Complex) }
}

/// Whether a document is small enough to be built. Returns whether it has text to draw.
pub(super) fn check(document: &Document<'_>) -> Result<bool, SvgRefusal> {
    let css = style_sheet(document)?;
    let mut survey = Survey::new(document)?;
    let all = survey.follow(document)?;
    // Each selector is tried for each element, and each part of it for each ancestor.
    let selectors = selector_steps(&css, all.depth).saturating_mul(all.nodes);
    let declared = memchr::memchr_iter(b':', css.as_bytes()).count() as u64;
    let attributes = all.nodes.saturating_mul(all.chain + declared.min(200) * all.depth);
    if selectors.max(attributes) > MAX_STEPS {
        return Err(SvgRefusal::Complex);
    }
    Ok(survey.has_text)
}

/// What an element amounts to, with everything in it and everything that it refers to.
#[derive(Clone, Copy, Default)]
struct Extent {
    nodes: u64,
    bytes: u64,
    characters: u64,
    depth: u64,
    /// The most attributes on the way from here to an element without children.
    chain: u64,
}

impl Extent {
    fn add(&mut self, part: Extent, times: u64) {
        let more = |sum: u64, each: u64| sum.saturating_add(each.saturating_mul(times));
        self.nodes = more(self.nodes, part.nodes);
        self.bytes = more(self.bytes, part.bytes);
        self.characters = more(self.characters, part.characters);
    }

    fn check(&self) -> Result<(), SvgRefusal> {
        let is_small = self.nodes <= MAX_NODES
            && self.bytes <= MAX_BYTES
            && self.characters <= MAX_CHARACTERS
            && self.depth <= MAX_DEPTH;
        if is_small { Ok(()) } else { Err(SvgRefusal::Expansion) }
    }
}

/// How often the target of a reference is built.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repetition {
    Once,
    /// Once for each element within, since elements inherit it.
    Elements,
    /// Once for each point of the paths within.
    Points,
}

/// The target, and how often it is built.
type Reference = (NodeId, Repetition);

enum Count {
    Open,
    Closed(Extent),
}

/// The references of a document.
struct Survey {
    references: HashMap<NodeId, Vec<Reference>>,
    counts: HashMap<NodeId, Count>,
    elements: u64,
    has_text: bool,
}

impl Survey {
    fn new(document: &Document<'_>) -> Result<Survey, SvgRefusal> {
        let mut ids: HashMap<&str, Vec<NodeId>> = HashMap::new();
        let (mut elements, mut has_text) = (0, false);
        for node in document.descendants().filter(Node::is_element) {
            elements += 1;
            has_text |= name(node) == "text";
            if let Some(id) = node.attribute("id") {
                ids.entry(id).or_default().push(node.id());
            }
        }
        // Then a reference that counts once on an element may be inherited by others.
        let inherits = document.input_text().contains("inherit");
        let mut references: HashMap<NodeId, Vec<Reference>> = HashMap::new();
        let mut total = 0;
        for node in document.descendants().filter(Node::is_element) {
            for attribute in node.attributes() {
                for (id, repetition) in targets(node, attribute, inherits) {
                    // Which of several elements with the same id is meant differs, so all of them count.
                    let meant = ids.get(id).map(Vec::as_slice).unwrap_or_default();
                    total += meant.len();
                    if total > MAX_REFERENCES {
                        return Err(SvgRefusal::Expansion);
                    }
                    if !meant.is_empty() {
                        let found = references.entry(node.id()).or_default();
                        found.extend(meant.iter().map(|target| (*target, repetition)));
                    }
                }
            }
        }
        Ok(Survey { references, counts: HashMap::new(), elements, has_text })
    }

    fn references_of(&self, element: NodeId) -> &[Reference] {
        self.references.get(&element).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the extent of the whole document. Each element is counted once, after everything that it leads to.
    fn follow(&mut self, document: &Document<'_>) -> Result<Extent, SvgRefusal> {
        let root = document.root_element();
        let mut stack = vec![(root, false)];
        while let Some((node, is_left)) = stack.pop() {
            let element = node.id();
            if is_left {
                let extent = self.extent(node);
                extent.check()?;
                self.counts.insert(element, Count::Closed(extent));
                continue;
            }
            match self.counts.get(&element) {
                Some(Count::Closed(_)) => continue,
                // It leads to itself.
                Some(Count::Open) => return Err(SvgRefusal::Cycle),
                None => {}
            }
            self.counts.insert(element, Count::Open);
            stack.push((node, true));
            stack.extend(node.children().filter(Node::is_element).map(|child| (child, false)));
            for (target, _) in self.references_of(element) {
                stack.extend(document.get_node(*target).map(|target| (target, false)));
            }
        }
        Ok(self.closed(root.id()))
    }

    fn closed(&self, element: NodeId) -> Extent {
        match self.counts.get(&element) {
            Some(Count::Closed(extent)) => *extent,
            _ => Extent::default(),
        }
    }

    fn extent(&self, node: Node<'_, '_>) -> Extent {
        let attributes = node.attributes();
        let mut own = Extent { nodes: 1, ..Extent::default() };
        own.bytes = attributes.map(|it| (it.name().len() + it.value().len()) as u64).sum();
        let declared = node.attribute("style").map_or(0, |style| style.len() as u64 / 8);
        own.chain = 1 + node.attributes().len() as u64 + declared;
        let (mut depth, mut chain) = (0, 0);
        let mut below = |part: Extent| {
            depth = depth.max(part.depth);
            chain = chain.max(part.chain);
            part
        };
        for child in node.children() {
            if child.is_element() {
                own.add(below(self.closed(child.id())), 1);
            } else if let Some(text) = child.text().filter(|_| child.is_text()) {
                own.bytes = own.bytes.saturating_add(text.len() as u64);
                let is_drawn = !matches!(name(node), "style" | "script" | "title" | "desc");
                if is_drawn && !text.trim().is_empty() {
                    own.characters = own.characters.saturating_add(text.chars().count() as u64);
                }
            }
        }
        let references = self.references_of(node.id());
        for (target, _) in references.iter().filter(|(_, times)| *times == Repetition::Once) {
            own.add(below(self.closed(*target)), 1);
        }
        let (elements, points) = (own.nodes, own.nodes.saturating_add(own.bytes / 2));
        for (target, repetition) in references {
            let times = match repetition {
                Repetition::Once => continue,
                Repetition::Elements => elements,
                Repetition::Points => points,
            };
            own.add(below(self.closed(*target)), times);
        }
        own.depth = depth + 1;
        own.chain = own.chain.saturating_add(chain);
        match name(node) {
            // The text is shaped again for each part with a style of its own.
            "text" => own.characters = own.characters.saturating_mul(elements),
            // The place of each character is searched along the path.
            "textPath" => own.characters = own.characters.saturating_mul(10),
            // It is searched among all elements.
            "tref" => own.nodes = own.nodes.saturating_add(self.elements),
            _ => {}
        }
        own
    }
}

fn name<'a>(node: Node<'a, '_>) -> &'a str {
    node.tag_name().name()
}

/// The ids to which an attribute refers.
fn targets<'a>(
    node: Node<'_, '_>,
    attribute: Attribute<'a, '_>,
    inherits: bool,
) -> Vec<(&'a str, Repetition)> {
    let (key, value) = (attribute.name(), attribute.value());
    if key == "href" {
        // A link is not followed, and may lead to where it stands.
        let id = value.trim().strip_prefix('#').filter(|_| name(node) != "a");
        return id.map(|id| (id, Repetition::Once)).into_iter().collect();
    }
    let repetition = match key {
        "marker" | "marker-mid" => Repetition::Points,
        "style" if value.contains("marker-mid") || value.contains("marker:") => Repetition::Points,
        "fill" | "stroke" | "marker-start" | "marker-end" | "style" => Repetition::Elements,
        _ if inherits => Repetition::Elements,
        _ => Repetition::Once,
    };
    parts(value).map(|id| (id, repetition)).collect()
}

/// The ids in the `url(#id)` of a text.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let is_quote = |c: char| c.is_whitespace() || c == '\'' || c == '"';
    text.split("url(").skip(1).filter_map(move |rest| {
        let id = rest.trim_start_matches(is_quote).strip_prefix('#')?;
        let end = id.find(|c: char| is_quote(c) || c == ')').unwrap_or(id.len());
        Some(&id[..end])
    })
}

/// The text of all style sheets, without comments. They may not refer to other parts: which elements they are for is
/// known too late.
fn style_sheet(document: &Document<'_>) -> Result<String, SvgRefusal> {
    let sheets = document.descendants().filter(|node| name(*node) == "style");
    let texts = sheets.flat_map(|sheet| sheet.children().filter_map(|child| child.text()));
    let all: String = texts.collect();
    if parts(&all.to_ascii_lowercase()).next().is_some() {
        return Err(SvgRefusal::Styles);
    }
    let mut css = String::with_capacity(all.len());
    for (at, piece) in all.split("/*").enumerate() {
        let text = if at == 0 { Some(piece) } else { piece.split_once("*/").map(|(_, text)| text) };
        css.push_str(text.unwrap_or_default());
    }
    Ok(css)
}

/// The elements that all selectors look at, to be tried for one element.
fn selector_steps(css: &str, depth: u64) -> u64 {
    let rules = css.split('{').map(|rule| rule.rsplit('}').next().unwrap_or_default());
    let selectors = rules.flat_map(|rule| rule.split(','));
    let steps = selectors.map(|selector| {
        let parts = selector.split(|c: char| c.is_whitespace() || matches!(c, '>' | '+'));
        let parts = parts.filter(|part| !part.is_empty()).count();
        let ancestors = u32::try_from(parts.saturating_sub(1)).unwrap_or(u32::MAX);
        depth.saturating_pow(ancestors)
    });
    steps.fold(0, u64::saturating_add)
}
