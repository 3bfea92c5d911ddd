use super::*;

#[test]
fn days_have_dates() {
    for (days, expected) in [
        (0, (1970, 1, 1)),
        (58, (1970, 2, 28)),
        (59, (1970, 3, 1)),
        (11_016, (2000, 2, 29)),
        (11_017, (2000, 3, 1)),
        (19_675, (2023, 11, 14)),
        (47_540, (2100, 2, 28)),
        (47_541, (2100, 3, 1)),
    ] {
        assert_eq!(date(days), expected, "{days}");
    }
}

#[test]
fn a_time_has_microseconds() {
    let time = UNIX_EPOCH + Duration::new(951_782_399, 7_000);
    assert_eq!(naive(time), "2000-02-28T23:59:59.000007");
    assert_eq!(zulu(UNIX_EPOCH), "1970-01-01T00:00:00.000000Z");
}
