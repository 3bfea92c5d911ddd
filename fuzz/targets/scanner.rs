//! Any bytes as a notebook: whatever they are, reading them ends in a notebook on which all document
//! laws hold, or in an error.
#![no_main]

use inkcell_testkit::laws;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Err(law) = laws::check(data) {
        panic!("{law}");
    }
});
