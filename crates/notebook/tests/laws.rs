//! The document laws over odd files and over files made at random.

use inkcell_testkit::{laws, notebooks};

/// F-062 F-063 F-071 F-072 F-074 F-075 F-076
#[test]
fn laws_hold_on_odd_files() {
    for (name, bytes) in notebooks::odd() {
        let verdict = laws::check(&bytes);
        assert_eq!(verdict, Ok(laws::Verdict::Editable), "{name}");
    }
}
