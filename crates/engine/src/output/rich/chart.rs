//! Charts in one line: the content of a plotly or vega display, from its JSON.
//!
//! Owns which parts of those formats a digest names. It must not know displays. Data are counted while they are read
//! and never kept, so a chart of any size costs little.

use std::collections::BTreeMap;

use inkcell_notebook::{JsonKind, JsonRole, json_tokens};
use serde::de::{Deserialize, Deserializer, IgnoredAny};
use serde_json::Value;
use serde_json::value::RawValue;

/// Maximum number of series, fields or names in a digest.
const MAX_LISTED: usize = 8;

/// Describes a chart, if its MIME type is known and its JSON has the expected shape.
pub(crate) fn digest(mime: &str, json: &str) -> Option<String> {
    if !json.trim_start().starts_with('{') {
        return None;
    }
    if mime == "application/vnd.plotly.v1+json" {
        return plotly(json);
    }
    if mime.starts_with("application/vnd.vegalite.") {
        return vega_lite(json);
    }
    if mime.starts_with("application/vnd.vega.") {
        return vega(json);
    }
    if mime == "application/geo+json" {
        return geo(json);
    }
    None
}

/// Summary of a series: the number of values, and the range of its numbers.
#[derive(Default, Debug)]
struct Values {
    count: u64,
    range: Option<(f64, f64)>,
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Values, D::Error> {
        Ok(Values::count(<&RawValue>::deserialize(from)?.get()))
    }
}

impl Values {
    /// Counts a list, or numbers that newer plotly packs as base64 with a type. Any other value has none.
    fn count(json: &str) -> Values {
        let mut values = Values::default();
        let (mut key, mut width, mut packed) = ("", None, 0);
        for token in json_tokens(json.as_bytes()).map_while(Result::ok) {
            let text = &json[token.start as usize..token.end as usize];
            match (token.role, token.depth) {
                (JsonRole::Key, 1) => key = text,
                (JsonRole::Scalar, 1) if key == "\"dtype\"" => width = width_of(text),
                (JsonRole::Scalar, 1) if key == "\"bdata\"" => {
                    packed = text.trim_matches(['"', '=']).len() as u64 * 3 / 4;
                }
                _ => {}
            }
            if token.depth != 1 || !token.is_entry || token.role == JsonRole::Key {
                continue;
            }
            values.count += 1;
            let number = text.parse::<f64>().ok().filter(|_| token.kind == JsonKind::Number);
            if let Some(number) = number {
                let (low, high) = values.range.unwrap_or((number, number));
                values.range = Some((low.min(number), high.max(number)));
            }
        }
        if let Some(width) = width {
            values.count = packed / width;
        }
        values
    }
}

fn width_of(kind: &str) -> Option<u64> {
    let digits = kind.trim_matches(|c: char| !c.is_ascii_digit());
    digits.parse().ok().filter(|width| *width > 0)
}

#[derive(serde::Deserialize, Default)]
struct Trace {
    #[serde(rename = "type", default)]
    kind: Value,
    #[serde(default)]
    name: Value,
    #[serde(default)]
    x: Values,
    #[serde(default)]
    y: Values,
    #[serde(default)]
    z: Values,
    #[serde(default)]
    values: Values,
}

#[derive(serde::Deserialize, Default)]
struct Layout {
    #[serde(default)]
    title: Value,
    #[serde(default)]
    xaxis: Axis,
    #[serde(default)]
    yaxis: Axis,
}

#[derive(serde::Deserialize, Default)]
struct Axis {
    #[serde(default)]
    title: Value,
}

#[derive(serde::Deserialize)]
struct Plotly {
    #[serde(default)]
    data: Vec<Trace>,
    #[serde(default)]
    layout: Layout,
}

/// A title is a text, or an object or a list that holds one.
fn title(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Object(map) => map.get("text")?.as_str()?.to_owned(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

fn plotly(json: &str) -> Option<String> {
    let figure: Plotly = serde_json::from_str(json).ok()?;
    let mut text = "plotly figure".to_owned();
    if let Some(title) = title(&figure.layout.title) {
        text.push_str(&format!(" {title:?}"));
    }
    let axes = [("x", &figure.layout.xaxis), ("y", &figure.layout.yaxis)];
    for (name, axis) in axes {
        if let Some(title) = title(&axis.title) {
            text.push_str(&format!(", {name}: {title}"));
        }
    }
    let traces: Vec<String> = figure.data.iter().map(trace).collect();
    let unit = if traces.len() == 1 { "trace" } else { "traces" };
    Some(format!("{text}, {} {unit}: {}", traces.len(), listed(&traces)))
}

fn trace(trace: &Trace) -> String {
    let mut text = trace.kind.as_str().unwrap_or("scatter").to_owned();
    if let Some(name) = trace.name.as_str().filter(|name| !name.is_empty()) {
        text.push_str(&format!(" {name:?}"));
    }
    let lists = [("y", &trace.y), ("x", &trace.x), ("z", &trace.z), ("values", &trace.values)];
    let points = lists.iter().map(|(_, values)| values.count).max().unwrap_or(0);
    text.push_str(&format!(" ({points} points"));
    for (name, values) in lists {
        if let Some((low, high)) = values.range {
            text.push_str(&format!(", {name} {low}..{high}"));
        }
    }
    text + ")"
}

/// A list of bounded length.
fn listed(items: &[String]) -> String {
    let mut text = items.iter().take(MAX_LISTED).cloned().collect::<Vec<_>>().join("; ");
    if items.len() > MAX_LISTED {
        text.push_str(&format!("; and {} more", items.len() - MAX_LISTED));
    }
    text
}

#[derive(serde::Deserialize)]
struct VegaLite {
    #[serde(default)]
    title: Value,
    #[serde(default)]
    mark: Value,
    #[serde(default)]
    encoding: Value,
    #[serde(default)]
    data: VegaData,
    #[serde(default)]
    datasets: BTreeMap<String, Values>,
    #[serde(default)]
    layer: Vec<Value>,
    #[serde(default)]
    hconcat: Vec<IgnoredAny>,
    #[serde(default)]
    vconcat: Vec<IgnoredAny>,
    #[serde(default)]
    concat: Vec<IgnoredAny>,
}

#[derive(serde::Deserialize, Default)]
struct VegaData {
    #[serde(default)]
    values: Values,
}

/// The kind of a mark: a text, or an object with a type.
fn mark(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value.get("type")?.as_str())
}

fn channels(encoding: &Value) -> Vec<String> {
    let Some(channels) = encoding.as_object() else {
        return Vec::new();
    };
    let field = |(name, channel): (&String, &Value)| {
        let field = channel.get("field").and_then(Value::as_str);
        let aggregate = channel.get("aggregate").and_then(Value::as_str);
        match (field, aggregate) {
            (Some(field), Some(aggregate)) => Some(format!("{name}: {aggregate}({field})")),
            (Some(field), None) => Some(format!("{name}: {field}")),
            (None, Some(aggregate)) => Some(format!("{name}: {aggregate}")),
            (None, None) => None,
        }
    };
    channels.iter().filter_map(field).collect()
}

fn vega_lite(json: &str) -> Option<String> {
    let chart: VegaLite = serde_json::from_str(json).ok()?;
    let mut text = "vega-lite chart".to_owned();
    if let Some(title) = title(&chart.title) {
        text.push_str(&format!(" {title:?}"));
    }
    let layers = chart.layer.iter().map(|layer| (&layer["mark"], &layer["encoding"]));
    let marks = std::iter::once((&chart.mark, &chart.encoding)).chain(layers);
    let mut views = Vec::new();
    for (kind, encoding) in marks {
        let channels = channels(encoding);
        match (mark(kind), channels.is_empty()) {
            (Some(kind), true) => views.push(kind.to_owned()),
            (Some(kind), false) => views.push(format!("{kind} ({})", channels.join(", "))),
            (None, false) => views.push(channels.join(", ")),
            (None, true) => {}
        }
    }
    if !views.is_empty() {
        text.push_str(&format!(", {}", listed(&views)));
    }
    let panels = chart.hconcat.len() + chart.vconcat.len() + chart.concat.len();
    if panels > 0 {
        text.push_str(&format!(", {panels} charts side by side"));
    }
    let rows =
        chart.data.values.count + chart.datasets.values().map(|rows| rows.count).sum::<u64>();
    if rows > 0 {
        text.push_str(&format!(", {rows} rows"));
    }
    Some(text)
}

#[derive(serde::Deserialize)]
struct Vega {
    #[serde(default)]
    title: Value,
    #[serde(default)]
    marks: Vec<Value>,
    #[serde(default)]
    data: Vec<VegaData>,
}

fn vega(json: &str) -> Option<String> {
    let chart: Vega = serde_json::from_str(json).ok()?;
    let name = title(&chart.title).map(|title| format!(" {title:?}")).unwrap_or_default();
    let marks: Vec<String> =
        chart.marks.iter().filter_map(|kind| mark(kind).map(str::to_owned)).collect();
    let rows: u64 = chart.data.iter().map(|data| data.values.count).sum();
    Some(format!("vega chart{name}, marks: {}, {rows} rows", listed(&marks)))
}

#[derive(serde::Deserialize)]
struct Geo {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    features: Values,
}

fn geo(json: &str) -> Option<String> {
    let geo: Geo = serde_json::from_str(json).ok()?;
    Some(format!("GeoJSON {}, {} features", geo.kind, geo.features.count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_are_told_in_a_line() {
        let table = [
            (
                "application/vnd.plotly.v1+json",
                r#"{"data":[{"type":"scatter","name":"a","x":[1,2,3],"y":[4.5,-1,null]},
                    {"type":"bar","y":{"dtype":"f8","bdata":"AAAAAAAA8D8AAAAAAAAAQA=="}}],
                    "layout":{"title":{"text":"Sales"},"xaxis":{"title":{"text":"day"}},"template":{}}}"#,
                "plotly figure \"Sales\", x: day, 2 traces: scatter \"a\" (3 points, y -1..4.5, x 1..3); \
                 bar (2 points)",
            ),
            (
                "application/vnd.vegalite.v5+json",
                r#"{"mark":{"type":"bar"},"encoding":{"x":{"field":"a","type":"nominal"},
                    "y":{"aggregate":"mean","field":"b"},"color":{"value":"red"}},
                    "data":{"name":"d"},"datasets":{"d":[{"a":1},{"a":2}]},"title":"T"}"#,
                "vega-lite chart \"T\", bar (x: a, y: mean(b)), 2 rows",
            ),
            (
                "application/vnd.vega.v5+json",
                r#"{"marks":[{"type":"rect"},{"type":"text"}],"data":[{"values":[1,2]},{"url":"x"}]}"#,
                "vega chart, marks: rect; text, 2 rows",
            ),
            (
                "application/geo+json",
                r#"{"type":"FeatureCollection","features":[{"a":1},{}]}"#,
                "GeoJSON FeatureCollection, 2 features",
            ),
        ];
        for (mime, json, expected) in table {
            assert_eq!(digest(mime, json).as_deref(), Some(expected), "{mime}");
        }
    }

    /// Malformed charts have no digest and do no harm.
    #[test]
    fn odd_charts_are_left() {
        for json in ["", "[]", "7", "{\"data\":7}", "{\"data\":[7]}", "{\"data\":[{\"x\":"] {
            assert_eq!(digest("application/vnd.plotly.v1+json", json), None, "{json}");
        }
        let deep = format!("{{\"layout\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
        assert_eq!(digest("application/vnd.plotly.v1+json", &deep), None);
        assert_eq!(digest("application/vnd.other+json", "{}"), None);
        let odd = r#"{"data":[{"x":"2024","y":7,"z":true,"name":3,"values":[{"a":1},[1],"b"]}]}"#;
        let text = digest("application/vnd.plotly.v1+json", odd);
        assert_eq!(text.as_deref(), Some("plotly figure, 1 trace: scatter (3 points)"));
    }
}
