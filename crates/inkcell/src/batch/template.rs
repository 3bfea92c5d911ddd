//! Names of outputs with fields in braces: `out/{stem}-{year}.ipynb`.
//!
//! Owns the list of fields and the form of a value in a name. It must not know which files exist.

use std::path::Path;

use thiserror::Error;

/// A name with fields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    Text(String),
    Field(String),
}

/// The reason why a template is refused.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub(crate) enum TemplateError {
    #[error("a brace is not closed in {template:?}; a brace itself is written {{{{ or }}}}")]
    OpenBrace { template: String },
    #[error("unknown field {{{field}}}; the fields are: {}", known(.fields))]
    Unknown { field: String, fields: Vec<String> },
}

fn known(fields: &[String]) -> String {
    fields.iter().map(|field| format!("{{{field}}}")).collect::<Vec<_>>().join(", ")
}

/// The fields of every row, besides its parameters.
const OWN: [&str; 4] = ["stem", "name", "parent", "index"];

impl Template {
    /// Parses a template. A final slash means the notebooks' own names in that folder.
    pub(crate) fn parse(text: &str) -> Result<Template, TemplateError> {
        let open = || TemplateError::OpenBrace { template: text.to_owned() };
        let whole = if text.ends_with('/') { format!("{text}{{name}}") } else { text.to_owned() };
        let (mut parts, mut plain) = (Vec::new(), String::new());
        let mut signs = whole.chars().peekable();
        while let Some(sign) = signs.next() {
            match sign {
                '{' | '}' if signs.next_if_eq(&sign).is_some() => plain.push(sign),
                '}' => return Err(open()),
                '{' => {
                    let mut field = String::new();
                    loop {
                        match signs.next().ok_or_else(open)? {
                            '}' => break,
                            '{' => return Err(open()),
                            sign => field.push(sign),
                        }
                    }
                    if !plain.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut plain)));
                    }
                    parts.push(Part::Field(field));
                }
                sign => plain.push(sign),
            }
        }
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Template { parts })
    }

    /// Refuses fields that no row has.
    pub(crate) fn must_be_known(&self, names: &[String]) -> Result<(), TemplateError> {
        let unknown = self.parts.iter().find_map(|part| match part {
            Part::Field(field) if !is_own(field) && !names.contains(field) => Some(field.clone()),
            _ => None,
        });
        let fields = || names.iter().cloned().chain(OWN.map(str::to_owned)).collect();
        unknown.map_or(Ok(()), |field| Err(TemplateError::Unknown { field, fields: fields() }))
    }

    /// The name for one row. A parameter takes precedence over a field of the same name.
    pub(crate) fn fill(&self, input: &str, index: usize, values: &[(String, String)]) -> String {
        let path = Path::new(input);
        let text = |part: Option<&std::ffi::OsStr>| {
            part.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let parent = || match path.parent().map(|parent| parent.display().to_string()) {
            Some(parent) if !parent.is_empty() => parent,
            _ => ".".to_owned(),
        };
        let field = |field: &str| match values.iter().find(|(name, _)| name == field) {
            Some((_, value)) => in_a_name(value),
            None => match field {
                "stem" => text(path.file_stem()),
                "name" => text(path.file_name()),
                "parent" => parent(),
                "index" => (index + 1).to_string(),
                _ => String::new(),
            },
        };
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Field(name) => field(name),
        };
        self.parts.iter().map(part).collect()
    }
}

fn is_own(field: &str) -> bool {
    OWN.contains(&field)
}

/// A value as a part of a name, which opens no folder and leads out of none.
fn in_a_name(value: &str) -> String {
    if value == "." || value == ".." {
        return "_".repeat(value.len());
    }
    value.chars().map(|sign| if sign == '/' || sign.is_control() { '_' } else { sign }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Vec<(String, String)> {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        vec![pair("year", "2022"), pair("region", "a/b"), pair("up", "..")]
    }

    #[test]
    fn fields_are_filled() {
        let table = [
            ("out/{stem}-{year}.ipynb", "nb/report.ipynb", "out/report-2022.ipynb"),
            ("{parent}/{name}", "nb/report.ipynb", "nb/report.ipynb"),
            ("{parent}/done-{name}", "report.ipynb", "./done-report.ipynb"),
            ("{index}.ipynb", "x.ipynb", "3.ipynb"),
            ("{region}.ipynb", "x.ipynb", "a_b.ipynb"),
            ("{up}/x.ipynb", "x.ipynb", "__/x.ipynb"),
            ("{{{year}}}.ipynb", "x.ipynb", "{2022}.ipynb"),
            ("out/", "nb/x.ipynb", "out/x.ipynb"),
            ("{stem}.ipynb", "a.b.ipynb", "a.b.ipynb"),
        ];
        for (template, input, wanted) in table {
            let template = Template::parse(template).unwrap();
            assert_eq!(template.fill(input, 2, &values()), wanted);
        }
        // A parameter of the user takes precedence.
        let own = [("name".to_owned(), "mine".to_owned())];
        assert_eq!(Template::parse("{name}").unwrap().fill("x.ipynb", 0, &own), "mine");
    }

    #[test]
    fn what_is_no_template_is_told_in_a_sentence() {
        for text in ["{stem", "a}b", "{a{b}}", "{"] {
            let error = Template::parse(text).unwrap_err().to_string();
            let wanted = format!(
                "a brace is not closed in {text:?}; a brace itself is written {{{{ or }}}}"
            );
            assert_eq!(error, wanted);
        }
        let names = ["year".to_owned()];
        let template = Template::parse("{stem}-{yaer}.ipynb").unwrap();
        let error = template.must_be_known(&names).unwrap_err().to_string();
        let wanted =
            "unknown field {yaer}; the fields are: {year}, {stem}, {name}, {parent}, {index}";
        assert_eq!(error, wanted);
        assert!(Template::parse("{year}").unwrap().must_be_known(&names).is_ok());
    }
}
