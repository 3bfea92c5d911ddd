//! The start of a kernel, as far as every transport shares it.
//!
//! Owns the second try after a damaged file, and the report to the trace.

use std::path::Path;
use std::sync::Arc;

use tokio::time::Instant;

use crate::error::LaunchError;
use crate::kernel::LaunchedKernel;
use crate::python::package::repair;
use crate::trace::KernelTrace;

/// Starts a kernel, and once more if files of ours in `state_dir` were damaged.
pub(crate) async fn start<F>(
    state_dir: &Path,
    trace: Option<&Arc<dyn KernelTrace>>,
    try_once: impl Fn() -> F,
) -> Result<LaunchedKernel, LaunchError>
where
    F: Future<Output = Result<LaunchedKernel, LaunchError>>,
{
    let began = Instant::now();
    let launched = match try_once().await {
        Err(error) if repair(state_dir, &error) => try_once().await,
        tried => tried,
    };
    if let (Ok(launched), Some(trace)) = (&launched, trace) {
        trace.started(launched.kernel.info(), began.elapsed());
    }
    launched
}
