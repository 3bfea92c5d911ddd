//! Outputs of executions: for whoever reads the answer, and for the notebook file.

mod chart;
mod html;
mod image;
mod json_text;
mod limits;
mod line;
mod mime;
mod model;
mod plain;
pub mod raster;
mod recorder;
mod rich;
mod sanitize;
mod shelf;
mod sink;
mod spill;
mod stage;
mod table;
mod text;
mod truncate;
mod window;

pub use image::ImageLimits;
pub use limits::{CallBudget, OutputLimits};
pub use model::{
    Counts, ImageItem, JsonItem, Mark, ModelOutput, Notice, Part, RichItem, RichKind, Stored,
    Truncation, guarded, size,
};
pub use recorder::{DisplayChange, OutputRecorder, Recorded, SizePolicy};
pub use rich::RichLimits;
pub use sanitize::Cleaner;
pub use sink::{OutputSink, Preview};
pub use spill::{ArtifactLimit, Content, Spill, SpillFile};
pub use truncate::{
    Cut, CutBy, TailBuffer, TextLimit, continue_notice, partial_line_notice, truncate_head,
    truncate_tail,
};
pub use window::{Extent, Repeats};
