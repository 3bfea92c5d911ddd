use super::*;

/// A cheap save is made after every cell, a dear one seldom.
#[test]
fn saves_keep_their_distance() {
    let start = Instant::now();
    let after = |millis| start + Duration::from_millis(millis);
    let mut pace = Pace::default();
    assert!(pace.is_due(start));
    pace.saved(start, after(49));
    assert!(pace.is_due(after(50)));
    pace.saved(start, after(60));
    assert!(!pace.is_due(after(2000)));
    assert!(pace.is_due(after(2060)));
    pace.saved(start, after(1000));
    assert!(!pace.is_due(after(10_900)));
    assert!(pace.is_due(after(11_000)));
}
