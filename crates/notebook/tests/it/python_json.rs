//! The scanner accepts exactly what Python's `json.loads` accepts: both read the same broken JSON.

use std::io::Write as _;
use std::process::{Command, Stdio};

use inkcell_notebook::{Notebook, NotebookError};

/// Reads one text a line in hexadecimal digits and answers each with one digit on a line.
const JUDGE: &str = r"
import json, sys
lines = sys.stdin.read().split()
for line in lines:
    data = bytes.fromhex(line[1:])
    if data.startswith(b'\xef\xbb\xbf'):
        data = data[3:]
    try:
        json.loads(data.decode('utf-8'))
        print(1)
    except ValueError:
        print(0)
";

const SEEDS: [&str; 14] = [
    r#"{"cells": [{"cell_type": "code", "metadata": {}, "source": ["a\n", "b"], "outputs": [], "execution_count": null}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#,
    r#"[1, -2.50, 3e4, 5E-6, 7.8e+9, -0, 0.0, 1e400, -1E+2]"#,
    r#"[NaN, Infinity, -Infinity, true, false, null]"#,
    r#""plain \" \\ \/ \b \f \n \r \t \u00e9 \uD83D\uDE00 \ud800 \udc00x""#,
    "\"é 😀 \u{2028} \u{7f}\"",
    "{\"é\" : {\"a\" :\t[ ] ,\r\n \"b\": { } } }",
    "[[[[[[]]]]], {\"a\": {\"b\": [{}]}}]",
    "  \n\t\r 12345678901234567890 \n",
    "\u{feff}{\"bom\": 1}",
    "{\"a\": 1, \"a\": 2, \"\": \"\"}",
    "-Infinity",
    "0",
    "\"a string of more than thirty-two bytes, so that whole blocks are looked at\"",
    "[0.1, 10, 100.001, -9.9e-9]",
];

const TOKENS: [&[u8]; 44] = [
    b",",
    b":",
    b"[",
    b"]",
    b"{",
    b"}",
    b"\"",
    b"\\",
    b"\\u",
    b"\\u12",
    b"\\x41",
    b"-",
    b"+",
    b".",
    b"e",
    b"E+",
    b"0",
    b"00",
    b"1",
    b"NaN",
    b"-NaN",
    b"Infinity",
    b"null",
    b"nul",
    b"true",
    b" ",
    b"\n",
    b"\r",
    b"\t",
    b"\x0b",
    b"\x0c",
    b"\x00",
    b"\x1f",
    b"\x7f",
    b"\xc3\xa9",
    b"\xe9",
    b"\xc2\xa0",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xc0\x80",
    b"\xef\xbb\xbf",
    b"'",
    b"//",
    b"\"a\":1",
];

/// A sequence of numbers that is the same in every run (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % limit.max(1) as u64) as usize
    }

    fn text(&mut self) -> Vec<u8> {
        let mut text = SEEDS[self.below(SEEDS.len())].as_bytes().to_vec();
        for _ in 0..self.below(3) {
            let at = self.below(text.len() + 1);
            let token = TOKENS[self.below(TOKENS.len())];
            match self.below(6) {
                0 => drop(text.splice(at..at, token.iter().copied())),
                1 => drop(text.splice(at..(at + 1).min(text.len()), token.iter().copied())),
                2 => drop(text.drain(at..(at + 1).min(text.len()))),
                3 => drop(text.drain(at..(at + 1 + self.below(6)).min(text.len()))),
                4 => text.truncate(at),
                _ => {
                    let other = SEEDS[self.below(SEEDS.len())].as_bytes();
                    drop(text.splice(at..at, other.iter().copied()));
                }
            }
        }
        text
    }
}

/// Finds the interpreter to ask; none if a missing one is allowed.
fn python() -> Option<String> {
    let python = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found =
        Command::new(&python).args(["-c", ""]).status().is_ok_and(|status| status.success());
    if found {
        return Some(python);
    }
    assert!(std::env::var_os("INKCELL_TEST_REQUIRE").is_none(), "{python} does not run");
    eprintln!("SKIPPED: {python} does not run, so nothing was compared with Python's json");
    None
}

fn ask(python: &str, texts: &[Vec<u8>]) -> Vec<bool> {
    let mut child = Command::new(python)
        .args(["-c", JUDGE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The first letter keeps the line of an empty text from being blank.
    let line = |text: &Vec<u8>| {
        let digits: String = text.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("x{digits}\n")
    };
    let input: String = texts.iter().map(line).collect();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let answer = child.wait_with_output().unwrap();
    assert!(answer.status.success());
    String::from_utf8(answer.stdout).unwrap().lines().map(|line| line == "1").collect()
}

/// F-069
#[test]
fn the_same_texts_are_accepted() {
    let Some(python) = python() else { return };
    let mut dice = Dice(20);
    let mut texts: Vec<Vec<u8>> = SEEDS.iter().map(|seed| seed.as_bytes().to_vec()).collect();
    texts.push(Vec::new());
    texts.extend((0..6000).map(|_| dice.text()));
    let verdicts = ask(&python, &texts);
    assert_eq!(verdicts.len(), texts.len());
    let accepted = verdicts.iter().filter(|accepted| **accepted).count();
    assert!((1000..5000).contains(&accepted), "a mixture is wanted, {accepted} are accepted");
    for (text, accepted) in texts.iter().zip(verdicts) {
        let parsed = Notebook::parse(text.clone());
        let ours = !matches!(parsed, Err(NotebookError::Syntax { .. }));
        assert_eq!(ours, accepted, "ours and Python's verdict on {}", text.escape_ascii());
        if let Ok(notebook) = parsed {
            assert_eq!(notebook.to_bytes(), *text);
        }
    }
}
