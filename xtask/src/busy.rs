//! A program that keeps every core busy, to try tests beside it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps the cores busy until it is dropped.
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
