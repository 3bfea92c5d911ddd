//! Waits in real time, for tests. Only one other place waits: a scripted gateway that answers late.
//!
//! A test waits for a condition, never for a time: [`until`] and [`until_async`] check until it holds. To let time
//! pass in this process, skip it with [`skip_time`] and [`on_skipping_clock`].

use std::panic::Location;
use std::time::{Duration, Instant};

/// The time limit of a condition. Only a hang takes this long, even on a busy machine.
pub const LIMIT: Duration = Duration::from_secs(180);

/// The interval between two checks.
const STEP: Duration = Duration::from_millis(5);

/// The result of one check: `bool`, or an `Option` or `Result` with the value that the test waits for.
pub trait Check {
    /// The value once the condition holds.
    type Value;

    /// Returns the value, or a description of what the check found instead.
    fn into_value(self) -> Result<Self::Value, String>;
}

impl Check for bool {
    type Value = ();

    fn into_value(self) -> Result<(), String> {
        if self { Ok(()) } else { Err(String::new()) }
    }
}

impl<T> Check for Option<T> {
    type Value = T;

    fn into_value(self) -> Result<T, String> {
        self.ok_or_else(String::new)
    }
}

impl<T> Check for Result<T, String> {
    type Value = T;

    fn into_value(self) -> Result<T, String> {
        self
    }
}

/// Waits until a check succeeds and returns its value.
///
/// Panics after [`LIMIT`]; the message names `what` and the last error of the check.
#[track_caller]
pub fn until<C: Check>(what: &str, mut check: impl FnMut() -> C) -> C::Value {
    let end = Instant::now() + LIMIT;
    loop {
        match check().into_value() {
            Ok(value) => return value,
            Err(found) if Instant::now() >= end => fail(what, &found, Location::caller()),
            Err(_) => std::thread::sleep(STEP),
        }
    }
}

/// [`until`] for a test that runs in a Tokio runtime.
#[track_caller]
pub fn until_async<C: Check>(
    what: &str,
    mut check: impl AsyncFnMut() -> C,
) -> impl Future<Output = C::Value> {
    let caller = Location::caller();
    async move {
        let end = Instant::now() + LIMIT;
        loop {
            match check().await.into_value() {
                Ok(value) => return value,
                Err(found) if Instant::now() >= end => fail(what, &found, caller),
                Err(_) => tokio::time::sleep(STEP).await,
            }
        }
    }
}

/// True if a condition holds within [`LIMIT`], for helpers whose callers report failures better.
pub async fn holds_in_time(is_so: impl Fn() -> bool) -> bool {
    let end = Instant::now() + LIMIT;
    loop {
        if is_so() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        tokio::time::sleep(STEP).await;
    }
}

fn fail(what: &str, found: &str, caller: &Location<'_>) -> ! {
    let seconds = LIMIT.as_secs();
    let found = if found.is_empty() { String::new() } else { format!(": {found}") };
    panic!("{caller}: waited {seconds} s for {what}{found}")
}

/// Lets time pass for the timers of this runtime without waiting for it.
///
/// The runtime must have one thread, and its clock must run.
pub async fn skip_time(time: Duration) {
    on_skipping_clock(tokio::time::sleep(time)).await;
}

/// Awaits a future while the clock of this runtime jumps to the next timer whenever the runtime is idle.
///
/// The runtime must have one thread, and its clock must run.
pub async fn on_skipping_clock<T>(future: impl Future<Output = T>) -> T {
    tokio::time::pause();
    let value = future.await;
    tokio::time::resume();
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn until_checks_again_and_returns_the_value() {
        let mut checks = 0;
        let value = until("a third check", || {
            checks += 1;
            (checks == 3).then_some("found")
        });
        assert_eq!((value, checks), ("found", 3));
    }

    #[tokio::test]
    async fn until_async_checks_again_and_returns_the_value() {
        let mut checks = 0;
        let value = until_async("a third check", async || {
            checks += 1;
            if checks == 3 { Ok("found") } else { Err(format!("{checks} checks")) }
        });
        assert_eq!(value.await, "found");
    }

    #[tokio::test]
    async fn skip_time_moves_the_clock_and_lets_it_run_again() {
        let (begun, clock) = (Instant::now(), tokio::time::Instant::now());
        skip_time(100 * LIMIT).await;
        assert!(clock.elapsed() >= 100 * LIMIT && begun.elapsed() < 100 * LIMIT);
        let moved = tokio::time::Instant::now();
        until("the clock to run", || moved.elapsed() > Duration::ZERO);
    }

    #[test]
    #[should_panic(expected = "waited 180 s for the end: 2 are left")]
    fn a_failure_names_what_was_awaited() {
        fail("the end", "2 are left", Location::caller());
    }
}
