//! A matrix of parameters: names with the values that each takes, and their combinations.
//!
//! Owns the syntax of an axis and the order of the combinations. The type of a value, number or text, is decided
//! with the other parameters.

use thiserror::Error;

/// All axes. Without any, there is one combination, which sets nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Matrix {
    axes: Vec<Axis>,
}

/// One parameter and its values, as they were written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Axis {
    pub(crate) name: String,
    pub(crate) values: Vec<String>,
}

/// The reason why a matrix is refused.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub(crate) enum MatrixError {
    #[error("{given:?} is not NAME=VALUE,VALUE; for example year=2022,2023")]
    NoAxis { given: String },
    #[error("{name:?} cannot be the name of a parameter; use letters, digits and _")]
    NoName { name: String },
    #[error("{name} has no values, so nothing would run; give some, as in {name}=1,2")]
    NoValues { name: String },
    #[error("{name} has an empty value; remove the comma, or write \"\" for an empty text")]
    EmptyValue { name: String },
    #[error("a quote of {name} is not closed")]
    OpenQuote { name: String },
    #[error("{name} is given twice; put all its values behind one name")]
    Twice { name: String },
    #[error("{name} has the value {value:?} twice")]
    SameValue { name: String, value: String },
    #[error("the matrix has {rows} combinations, and at most {most} are run at once")]
    TooMany { rows: usize, most: usize },
}

/// The most combinations; more are a typo.
const MOST: usize = 100_000;

/// Returns whether an argument among notebooks is one more axis.
pub(crate) fn is_axis(given: &str) -> bool {
    let is_name = |name: &str| is_identifier(name) || name.is_empty();
    !given.ends_with(".ipynb") && given.split_once('=').is_some_and(|(name, _)| is_name(name))
}

fn is_identifier(name: &str) -> bool {
    let mut signs = name.chars();
    signs.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && signs.all(|sign| sign.is_alphanumeric() || sign == '_')
}

impl Matrix {
    pub(crate) fn parse<'a>(
        given: impl IntoIterator<Item = &'a str>,
    ) -> Result<Matrix, MatrixError> {
        let mut axes: Vec<Axis> = Vec::new();
        for given in given {
            let axis = Axis::parse(given)?;
            if axes.iter().any(|known| known.name == axis.name) {
                return Err(MatrixError::Twice { name: axis.name });
            }
            axes.push(axis);
        }
        let sizes = axes.iter().map(|axis| axis.values.len());
        let rows = sizes.fold(1, usize::saturating_mul);
        if rows > MOST {
            return Err(MatrixError::TooMany { rows, most: MOST });
        }
        Ok(Matrix { axes })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.axes.is_empty()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.axes.iter().map(|axis| axis.name.as_str())
    }

    /// Every combination; the last name changes first, like the digits of a counter.
    pub(crate) fn combinations(&self) -> Vec<Vec<(String, String)>> {
        let mut all = vec![Vec::new()];
        for axis in &self.axes {
            let with = |row: &Vec<(String, String)>| {
                let row = row.clone();
                axis.values.iter().map(move |value| {
                    let mut row = row.clone();
                    row.push((axis.name.clone(), value.clone()));
                    row
                })
            };
            all = all.iter().flat_map(with).collect();
        }
        all
    }
}

impl Axis {
    fn parse(given: &str) -> Result<Axis, MatrixError> {
        let Some((name, values)) = given.split_once('=') else {
            return Err(MatrixError::NoAxis { given: given.to_owned() });
        };
        let name = name.trim().to_owned();
        if !is_identifier(&name) {
            return Err(MatrixError::NoName { name });
        }
        if values.trim().is_empty() {
            return Err(MatrixError::NoValues { name });
        }
        let mut found: Vec<String> = Vec::new();
        for value in split(values).ok_or_else(|| MatrixError::OpenQuote { name: name.clone() })? {
            match value {
                MatrixWord::Plain(text) if text.is_empty() => {
                    return Err(MatrixError::EmptyValue { name });
                }
                MatrixWord::Plain(value) | MatrixWord::Quoted(value) => {
                    if found.contains(&value) {
                        return Err(MatrixError::SameValue { name, value });
                    }
                    found.push(value);
                }
            }
        }
        Ok(Axis { name, values: found })
    }
}

/// A value, and whether quotes protect its commas and blanks.
enum MatrixWord {
    Plain(String),
    Quoted(String),
}

/// The values between commas; a quote inside quotes is doubled. None if a quote is not closed.
fn split(text: &str) -> Option<Vec<MatrixWord>> {
    let mut values = Vec::new();
    let mut rest = text;
    loop {
        if let Some(quoted) = rest.trim_start().strip_prefix('"') {
            let mut value = String::new();
            let mut signs = quoted.char_indices().peekable();
            let after = loop {
                let (at, sign) = signs.next()?;
                if sign != '"' {
                    value.push(sign);
                } else if signs.next_if(|(_, next)| *next == '"').is_some() {
                    value.push('"');
                } else {
                    break at + 1;
                }
            };
            let after = quoted[after..].trim_start();
            values.push(MatrixWord::Quoted(value));
            match after.strip_prefix(',') {
                Some(more) => rest = more,
                None if after.is_empty() => return Some(values),
                None => return None,
            }
        } else if let Some((value, more)) = rest.split_once(',') {
            values.push(MatrixWord::Plain(value.trim().to_owned()));
            rest = more;
        } else {
            values.push(MatrixWord::Plain(rest.trim().to_owned()));
            return Some(values);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(given: &str) -> Result<Vec<String>, MatrixError> {
        Axis::parse(given).map(|axis| axis.values)
    }

    #[test]
    fn values_are_taken_apart_at_commas() {
        let table: [(&str, &[&str]); 6] = [
            ("year=2022,2023", &["2022", "2023"]),
            ("a= x , y ", &["x", "y"]),
            ("a=\"x,y\",z", &["x,y", "z"]),
            ("a=\"\",\"say \"\"so\"\"\"", &["", "say \"so\""]),
            ("a=b=c", &["b=c"]),
            ("größe=1", &["1"]),
        ];
        for (given, wanted) in table {
            assert_eq!(values(given).unwrap(), wanted, "{given}");
        }
    }

    /// Each error is one sentence that says what to write.
    #[test]
    fn what_is_no_matrix_is_told_in_a_sentence() {
        let table = [
            (vec!["year"], "\"year\" is not NAME=VALUE,VALUE; for example year=2022,2023"),
            (vec!["year="], "year has no values, so nothing would run; give some, as in year=1,2"),
            (vec!["=1"], "\"\" cannot be the name of a parameter; use letters, digits and _"),
            (vec!["2x=1"], "\"2x\" cannot be the name of a parameter; use letters, digits and _"),
            (
                vec!["y=1,,2"],
                "y has an empty value; remove the comma, or write \"\" for an empty text",
            ),
            (vec!["y=\"a"], "a quote of y is not closed"),
            (vec!["y=\"a\"b"], "a quote of y is not closed"),
            (vec!["y=1", "y=2"], "y is given twice; put all its values behind one name"),
            (vec!["y=1,1"], "y has the value \"1\" twice"),
        ];
        for (given, wanted) in table {
            assert_eq!(Matrix::parse(given).unwrap_err().to_string(), wanted);
        }
        let long = (0..400).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
        let axes = ["a", "b", "c"].map(|name| format!("{name}={long}"));
        let error = Matrix::parse(axes.iter().map(String::as_str)).unwrap_err();
        assert_eq!(error, MatrixError::TooMany { rows: 64_000_000, most: MOST });
    }

    #[test]
    fn every_combination_comes_once_and_in_order() {
        let matrix = Matrix::parse(["year=1,2", "region=a,b"]).unwrap();
        let rows: Vec<String> = matrix
            .combinations()
            .iter()
            .map(|row| row.iter().map(|(_, value)| value.as_str()).collect())
            .collect();
        assert_eq!(rows, ["1a", "1b", "2a", "2b"]);
        assert_eq!(Matrix::default().combinations(), [Vec::new()]);
    }

    #[test]
    fn an_axis_is_told_from_a_notebook() {
        for (given, wanted) in
            [("region=a,b", true), ("a=b.ipynb", false), ("nb/x=1", false), ("nb.ipynb", false)]
        {
            assert_eq!(is_axis(given), wanted, "{given}");
        }
    }
}
