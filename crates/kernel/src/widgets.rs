//! The widgets of a kernel, as a notebook stores them.
//!
//! Owns the form in which they leave a backend. Where they are stored is not known here.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// All widgets that a kernel has, by their ids. Each is the JSON object that stands for it in a notebook.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WidgetStates(pub BTreeMap<String, Arc<str>>);
