//! Keeps every core busy, to run tests under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps the cores busy until this value is dropped.
pub(crate) struct Busy {
    stop: Arc<AtomicBool>,
}

impl Busy {
    pub(crate) fn on_every_core() -> Busy {
        let stop = Arc::new(AtomicBool::new(false));
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Busy { stop }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
