use super::*;

/// B:N-38
#[test]
fn ids_have_eight_hexadecimal_digits_and_the_form_nbformat_wants() {
    let mut source = IdSource::seeded(0);
    let made: Vec<CellId> = (0..1000).map(|_| source.next_id()).collect();
    for id in &made {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        assert!(id.as_str().len() == 8 && id.as_str().bytes().all(is_hex), "{id}");
        assert_eq!(CellId::parse(id.as_str()).as_ref(), Some(id));
    }
    let distinct: std::collections::HashSet<_> = made.iter().collect();
    assert!(distinct.len() > 990, "the sequence repeats itself");
    assert_eq!(IdSource::seeded(0).next_id(), made[0]);
    assert_ne!(IdSource::seeded(1).next_id(), made[0]);
}

/// F-074
#[test]
fn ids_that_nbformat_does_not_allow_are_told() {
    let check = |id: &str, expected: bool| assert_eq!(is_valid_id(id), expected, "{id:?}");
    check("a", true);
    check("A-z_09", true);
    check(&"x".repeat(64), true);
    check(&"x".repeat(65), false);
    check("", false);
    check("a b", false);
    check("é", false);
    check("a\n", false);
}

#[test]
fn kinds_are_named_in_lower_case_only() {
    for kind in CellKind::ALL {
        assert_eq!(CellKind::from_name(kind.name()), Some(kind));
    }
    for name in ["Code", "", "heading", "code "] {
        assert_eq!(CellKind::from_name(name), None, "{name}");
    }
}
