//! Outputs of executions: for readers of the answer, and for the notebook file.
//!
//! `clean` turns bytes into text, `keep` bounds it, and `rich` makes values and pictures fit. `sink` combines them for
//! a reader, and `record` for a file.

mod clean;
mod keep;
mod limits;
mod model;
mod record;
mod rich;
mod sink;

pub use clean::sanitize::Cleaner;
pub use keep::spill::{ArtifactLimit, Content, Spill, SpillFile};
pub use keep::window::{Extent, Repeats};
pub(crate) use limits::CallBudget;
pub use limits::{Excerpt, OutputLimits, TextLimit};
pub use model::{
    ArtifactRef, Counts, ImageItem, JsonItem, Mark, ModelOutput, Notice, Part, RichItem, RichKind,
    Truncation, guarded, size, without_ranges,
};
pub use record::{DisplayChange, ExecutionOutputs, OutputRecorder, SizePolicy};
pub use rich::RichLimits;
pub use rich::image::{FittedPicture, ImageLimits, PictureFit, PictureFitter, SVG};
pub use rich::looks::{Looks, LooksDifference};
pub use rich::mime::find_picture;
pub use rich::raster;
pub use rich::svg::DrawingEffort;
pub use sink::{OutputSink, Preview};
