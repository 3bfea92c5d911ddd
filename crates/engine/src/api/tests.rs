//! Every value reads back equal after it is written, and unknown fields are refused.

mod dice;

use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::*;
use dice::Dice;

/// A request of any form.
#[derive(PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AnyRequest {
    Python(PythonRequest),
    Inspect(InspectRequest),
    Kernel(KernelRequest),
    Result(ResultRequest),
}

/// A report of any form.
#[derive(PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AnyReport {
    Python(Box<PythonReport>),
    Inspect(InspectReport),
    Kernel(KernelReport),
    Result(ResultReport),
}

fn again<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) {
    let text = serde_json::to_string(value).expect("it can be written");
    let read: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(&read, value, "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn every_request_and_every_report_reads_back_equal(seed in any::<u64>()) {
        let mut dice = Dice::new(seed);
        again(&dice.any_request());
        again(&dice.any_report());
    }
}

/// An optional part may be left out, and an unknown field is refused by its name.
#[test]
fn requests_have_defaults_and_refuse_what_they_do_not_know() {
    let least = r#"{"python": {"cells": [{"code": "1"}], "cwd": "/"}}"#;
    let Ok(AnyRequest::Python(request)) = serde_json::from_str(least) else { panic!("{least}") };
    assert_eq!((request.mode, request.timeout), (KernelMode::Session, None));
    assert_eq!(request.cells[0].kernel, CellKernel::Same);
    for least in [
        r#"{"kernel": "list"}"#,
        r#"{"kernel": {"stop": {"cwd": "/"}}}"#,
        r#"{"kernel": {"keep": {"session": {"session": "a", "cwd": "/"}, "keep": "always"}}}"#,
        r#"{"inspect": {"session": {"cwd": "/"}, "what": {"variables": {}}}}"#,
        r#"{"inspect": {"session": {"cwd": "/"}, "what": {"complete": {"code": "x"}}, "wait": 2.5}}"#,
        r#"{"result": {"execution": {"id": "x1"}}}"#,
        r#"{"result": {"artifact": {"id": "a", "part": {"lines": {"start": 3}}}}}"#,
    ] {
        serde_json::from_str::<AnyRequest>(least)
            .unwrap_or_else(|error| panic!("{least}: {error}"));
    }
    for (bad, problem) in [
        (r#"{"python": {"cells": [], "cwd": "/", "tiemout": 3}}"#, "unknown field `tiemout`"),
        (
            r#"{"python": {"cells": [{"code": "1", "rest": true}], "cwd": "/"}}"#,
            "unknown field `rest`",
        ),
        (
            r#"{"python": {"cells": [], "cwd": "/", "timeout": -1}}"#,
            "-1 is not a number of seconds",
        ),
        (
            r#"{"python": {"cells": [], "cwd": "/", "timeout": 1e300}}"#,
            "is not a number of seconds",
        ),
        (r#"{"python": {"cells": []}}"#, "missing field `cwd`"),
        (r#"{"kernel": {"stop": {"cwd": "/", "force": 1}}}"#, "unknown field `force`"),
        (
            r#"{"kernel": {"keep": {"session": {"cwd": "/"}, "keep": "always", "x": 1}}}"#,
            "unknown field `x`",
        ),
        (r#"{"kernel": "kill"}"#, "unknown variant `kill`"),
        (
            r#"{"inspect": {"session": {"cwd": "/"}, "what": {"name": {"name": "x", "y": 1}}}}"#,
            "unknown field `y`",
        ),
        (r#"{"result": {"execution": {"id": "x1", "lines": 3}}}"#, "unknown field `lines`"),
        (
            r#"{"result": {"artifact": {"id": "a", "part": {"grep": {"pattern": "", "i": 1}}}}}"#,
            "unknown field `i`",
        ),
    ] {
        let error = serde_json::from_str::<AnyRequest>(bad).expect_err(bad).to_string();
        assert!(error.contains(problem), "{bad}: {error}");
    }
}

/// The visible forms stay as they are: bytes as base64, durations as seconds.
#[test]
fn bytes_are_base64_and_durations_seconds() {
    let mut dice = Dice::new(1);
    let request = PythonRequest { timeout: Some(Duration::from_millis(1500)), ..dice.python() };
    assert_eq!(serde_json::to_value(&request).expect("written")["timeout"], 1.5);
    let piece = LinesPiece { first: 1, last: 1, bytes: b"\xffx".to_vec() };
    assert_eq!(serde_json::to_value(&piece).expect("written")["bytes"], "/3g=");
}
