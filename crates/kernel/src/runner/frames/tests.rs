use proptest::prelude::*;

use super::*;

const NONCE: &str = "5ec2e7";

/// A stream frame in the runner's form.
fn stream(sequence: u64, payload: &[u8]) -> Vec<u8> {
    let head = format!(
        r#"{{"n":"{NONCE}","s":{sequence},"t":"stream","id":7,"name":"stdout","bytes":{}}}"#,
        payload.len()
    );
    [head.as_bytes(), b"\n", payload].concat()
}

fn decoder() -> Decoder {
    Decoder::new(NONCE.to_owned())
}

fn all(decoder: &mut Decoder) -> Result<Vec<(Frame, Bytes)>, FrameError> {
    let mut frames = Vec::new();
    while let Some(frame) = decoder.next()? {
        frames.push(frame);
    }
    Ok(frames)
}

proptest! {
    /// B:R-02 Any cut of the bytes gives the same frames, with payloads equal to the byte.
    #[test]
    fn any_cut_gives_the_same_frames(
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..8),
        cuts in prop::collection::vec(1usize..30, 0..60),
    ) {
        let bytes: Vec<u8> =
            (1..).zip(&payloads).flat_map(|(at, payload)| stream(at, payload)).collect();
        let mut decoder = decoder();
        let mut seen = Vec::new();
        let mut rest = &bytes[..];
        for cut in cuts.into_iter().chain(std::iter::repeat(1000)) {
            if rest.is_empty() {
                break;
            }
            let (now, later) = rest.split_at(cut.min(rest.len()));
            decoder.buffer().extend_from_slice(now);
            rest = later;
            seen.extend(all(&mut decoder).expect("frames"));
        }
        let seen: Vec<&[u8]> = seen.iter().map(|(_, payload)| &payload[..]).collect();
        let wanted: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
        prop_assert_eq!(seen, wanted);
    }

    /// F-032 Bytes that are not frames of this kernel give an error and never a panic.
    #[test]
    fn garbage_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut decoder = decoder();
        decoder.buffer().extend_from_slice(&bytes);
        decoder.buffer().extend_from_slice(b"\n");
        prop_assert!(all(&mut decoder).is_err());
    }
}

/// F-032
#[test]
fn a_frame_out_of_place_is_an_error() {
    let foreign = br#"{"n":"other","s":1,"t":"done","id":1}"#;
    let early = br#"{"n":"5ec2e7","s":2,"t":"done","id":1}"#;
    let unknown = br#"{"n":"5ec2e7","s":1,"t":"nothing"}"#;
    let greedy = br#"{"n":"5ec2e7","s":1,"t":"stream","id":1,"name":"stdout","bytes":99999999999}"#;
    let table: [(&[u8], FrameError); 3] = [
        (foreign, FrameError::WrongNonce),
        (early, FrameError::OutOfOrder { expected: 1, found: 2 }),
        (greedy, FrameError::TooLarge(99_999_999_999)),
    ];
    for (line, wanted) in table {
        let mut decoder = decoder();
        decoder.buffer().extend_from_slice(&[line, b"\n"].concat());
        assert_eq!(decoder.next().err(), Some(wanted));
    }
    let mut decoder = decoder();
    decoder.buffer().extend_from_slice(&[&unknown[..], b"\n"].concat());
    assert!(matches!(decoder.next(), Err(FrameError::NotAFrame(_))));
}

/// B:R-03
#[test]
fn commands_are_lines() {
    let run = Command::Run {
        id: 3,
        code: "print('a\n')\n",
        silent: false,
        asks: false,
        names: false,
        env: serde_json::Map::new(),
        cwd: None,
    };
    let line = String::from_utf8(run.to_line()).expect("text");
    assert_eq!(line, "{\"t\":\"run\",\"id\":3,\"code\":\"print('a\\n')\\n\"}\n");
    assert_eq!(Command::Exit.to_line(), b"{\"t\":\"exit\"}\n");
    let replies = [
        (InputReply::Line("Ada".to_owned()), r#"{"line":"Ada"}"#),
        (InputReply::End, r#""end""#),
        (InputReply::Refused, r#""refused""#),
    ];
    for (reply, form) in replies {
        let command = Command::Input { id: 3, reply: &reply };
        let line = String::from_utf8(command.to_line()).expect("text");
        assert_eq!(line, format!("{{\"t\":\"input\",\"id\":3,\"reply\":{form}}}\n"));
        assert!(!format!("{command:?}").contains("Ada"), "it may be a password");
    }
}

/// B:R-02 The end of a cell may bring its value; an incomplete value makes the frame invalid.
#[test]
fn an_end_may_bring_a_value() {
    let done = |fields: &str| {
        let mut decoder = decoder();
        let line = format!(r#"{{"n":"{NONCE}","s":1,"t":"done","id":4{fields}}}"#);
        decoder.buffer().extend_from_slice(&[line.as_bytes(), b"\n2"].concat());
        decoder.next()
    };
    let parts = vec![Part("text/plain".to_owned(), 't', 1)];
    let value = Value { count: 3, parts, metadata: String::new() };
    let wanted = Frame::Done { id: 4, value: Some(value), names: None };
    let whole = r#","count":3,"parts":[["text/plain","t",1]],"metadata":"","bytes":1"#;
    assert_eq!(done(whole), Ok(Some((wanted, Bytes::from_static(b"2")))));
    assert_eq!(done(""), Ok(Some((Frame::Done { id: 4, value: None, names: None }, Bytes::new()))));
    let named = done(r#","names":{"uses":["a"],"makes":[],"later":{},"files":[["/x",3,-5]]}"#);
    let files = vec![crate::FileRead("/x".to_owned(), 3, -5)];
    let names = CodeNames { uses: vec!["a".into()], files, ..CodeNames::default() };
    let wanted = Frame::Done { id: 4, value: None, names: Some(Box::new(names)) };
    assert_eq!(named, Ok(Some((wanted, Bytes::new()))));
    let torn = done(r#","parts":[["text/plain","t",1]],"bytes":1"#);
    assert_eq!(torn, Err(FrameError::NotAFrame("done".to_owned())));
}
