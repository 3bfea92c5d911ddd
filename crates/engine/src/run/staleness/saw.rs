//! The inputs of an execution: the names it used, and where their values came from.
//!
//! Owns the order of the names. A long notebook has thousands of them on record, and every outline reads them all. So
//! they lie in a sorted list instead of a tree.

use std::fmt;

use inkcell_kernel::Name;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Sorted, distinct names, each with the execution that made its value, if known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Saw(Vec<(Name, Option<u64>)>);

impl Saw {
    /// Returns true if no name was used.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The origin of this name; the outer `None` means that it was not used.
    pub(crate) fn get(&self, name: &str) -> Option<Option<u64>> {
        let at = self.0.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
        Some(self.0[at].1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Option<u64>)> {
        self.0.iter().map(|(name, made)| (name.as_str(), *made))
    }
}

impl FromIterator<(Name, Option<u64>)> for Saw {
    /// If a name occurs twice, the last one counts.
    fn from_iter<I: IntoIterator<Item = (Name, Option<u64>)>>(names: I) -> Saw {
        let mut names: Vec<_> = names.into_iter().collect();
        if !names.is_sorted_by(|one, two| one.0 < two.0) {
            names.reverse();
            names.sort_by(|one, two| one.0.cmp(&two.0));
            names.dedup_by(|two, one| one.0 == two.0);
        }
        Saw(names)
    }
}

impl Serialize for Saw {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Saw {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Saw, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = Saw;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("names with numbers of executions")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut names: A) -> Result<Saw, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = names.next_entry()? {
                    all.push(one);
                }
                Ok(all.into_iter().collect())
            }
        }
        from.deserialize_map(Names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names are found in any order of the file, and the last of two counts, as in a map.
    #[test]
    fn names_are_in_order_each_once() {
        let saw: Saw =
            serde_json::from_str(r#"{"b": 2, "a": null, "b": 3, "c": 1}"#).expect("names");
        let all: Vec<_> = saw.iter().collect();
        assert_eq!(all, [("a", None), ("b", Some(3)), ("c", Some(1))]);
        assert_eq!([saw.get("b"), saw.get("a"), saw.get("d")], [Some(Some(3)), Some(None), None]);
        let text = serde_json::to_string(&saw).expect("a map");
        assert_eq!(text, r#"{"a":null,"b":3,"c":1}"#);
        assert_eq!(serde_json::from_str::<Saw>(&text).expect("the same"), saw);
        assert!(serde_json::from_str::<Saw>("[]").is_err());
    }
}
