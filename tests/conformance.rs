//! The conformance suite: every case of tests/conformance, exact bytes, and the properties that hold for all of them.
//! README.md there is the contract; the other languages run the same files.

#[path = "conformance/case.rs"]
mod case;
#[path = "conformance/requests.rs"]
mod requests;
#[path = "conformance/run.rs"]
mod run;

use case::{Case, Fill, Line};
use forge_x402::{Engine, Now, Verification};
use run::{Head, Host, Sent, apply};

macro_rules! suite {
    ($($name:ident),* $(,)?) => {
        $(#[test] fn $name() { every_case_of(concat!(stringify!($name), ".json")); })*

        #[test]
        fn every_file_of_cases_is_run() {
            let mut run = vec![$(concat!(stringify!($name), ".json")),*];
            run.sort_unstable();
            assert_eq!(case::files(), run);
        }
    };
}

suite!(
    budgets,
    captured,
    challenge_both,
    challenge_v1,
    challenge_v2,
    envelope,
    headers,
    paid_body,
    passthrough,
    receipt,
);

fn every_case_of(file: &str) {
    let mut faults = Vec::new();
    for case in case::load(file) {
        if let Err(fault) = check(&case) {
            faults.push(format!("{}\n{fault}", case.name()));
        }
    }
    assert!(faults.is_empty(), "{} cases of {file}:\n\n{}", faults.len(), faults.join("\n\n"));
}

type Checked = Result<(), String>;

fn check(case: &Case) -> Checked {
    let engine = run::engine(case);
    let mut fill = run::fill(case, &engine);
    let sent = run::whole(&engine, case, &fill, Host::Asked);
    the_id_is_right(case, &engine, &sent, &fill)?;
    fill.id.clone_from(&sent.id);

    let before = case.response.head(&fill);
    same_head(&sent.head, &apply(&before, &case.expect.edits(&fill)))?;
    same_body(&sent.body, &case.expect.body(&fill).unwrap_or_else(|| case.response.body(&fill)))?;
    that(!case.expect.nothing || sent.nothing, || "the engine looked at it".into())?;
    that(case.expect.want_body.is_none_or(|want| want == sent.asked), || {
        format!("asked for the body: {}", sent.asked)
    })?;
    if let Some(edits) = case.expect.first_edits(&fill) {
        let first = sent.first.as_ref().ok_or("the body was not asked for")?;
        same_head(&apply(&before, &run::listed(first)), &apply(&before, &edits))?;
    }
    twice_is_once(case, &sent, &fill).map_err(|fault| format!("twice is once: {fault}"))?;
    shown_at_once(case, &sent, &fill).map_err(|fault| format!("shown at once: {fault}"))?;
    head_first(case, &sent, &fill).map_err(|fault| format!("head first: {fault}"))?;
    no_prefix_is_edited(case, &fill)?;
    terms_stay(case, &sent, &fill)
}

fn the_id_is_right(case: &Case, engine: &Engine, sent: &Sent, fill: &Fill) -> Checked {
    let named = sent.id.as_deref();
    match case.expect.id.as_deref() {
        None => that(named.is_none(), || format!("named an id: {named:?}")),
        Some("own") => that(named == fill.own_id.as_deref(), || format!("not the body's own id: {named:?}")),
        Some("new") => {
            let id = named.ok_or("no id")?;
            let verified = engine.verify_id(id.as_bytes(), Now::read());
            that(matches!(verified, Verification::Valid { .. }), || format!("{id}: {verified:?}"))?;
            that(named != fill.own_id.as_deref(), || "the body's own id".into())
        }
        Some(other) => panic!("{}: id {other}", case.name()),
    }
}

fn twice_is_once(case: &Case, sent: &Sent, fill: &Fill) -> Checked {
    let layer = run::engine(case);
    let lines = sent.head.lines();
    let again = run::send(&layer, &case.request, case.response.status, &lines, &sent.body, fill, Host::Asked);
    same_head(&again.head, &Head { kept: lines, appended: Vec::new() })?;
    same_body(&again.body, &sent.body)
}

fn shown_at_once(case: &Case, sent: &Sent, fill: &Fill) -> Checked {
    let engine = run::engine(case);
    let once = run::whole(&engine, case, fill, Host::AtOnce);
    let expected = Fill { id: once.id.clone(), ..fill.clone() };
    same_head(&once.head, &apply(&case.response.head(fill), &case.expect.edits(&expected)))?;
    same_body(&once.body, &case.expect.body(&expected).unwrap_or_else(|| sent.body.clone()))
}

/// The head has left without Content-Length and validators if the body may still change; the body is as ever.
fn head_first(case: &Case, sent: &Sent, fill: &Fill) -> Checked {
    let engine = run::engine(case);
    let early = run::whole(&engine, case, fill, Host::HeadFirst);
    let expected = Fill { id: early.id.clone(), ..fill.clone() };
    if early.body_replaced {
        same_body(&early.body, &case.expect.body(&expected).ok_or("a body that should have stayed")?)?;
        let stale = |line: &Line| {
            ["content-length", "etag", "last-modified"].iter().any(|name| line.0.eq_ignore_ascii_case(name.as_bytes()))
        };
        that(!early.head.lines().iter().any(stale), || "a line about the old body is left".into())
    } else {
        same_body(&early.body, &case.response.body(fill))?;
        that(!sent.body_replaced, || "the body should have changed".into())
    }
}

/// A cut body is not the object it was: nothing may be added to it.
fn no_prefix_is_edited(case: &Case, fill: &Fill) -> Checked {
    let body = case.response.body(fill);
    if !case.expect.changes_body() || !body.starts_with(b"{") {
        return Ok(());
    }
    let end = body.iter().rposition(|byte| !byte.is_ascii_whitespace()).unwrap_or(0);
    // A long body is cut in fewer places, so that the whole of it stays a matter of seconds.
    let step = (end / (2_000_000 / (end + 1)).clamp(3, 200)).max(1);
    let engine = run::engine(case);
    for cut in (0..end).step_by(step).chain(end.saturating_sub(3)..=end) {
        let mut head = case.response.head(fill);
        for line in &mut head {
            if line.0.eq_ignore_ascii_case(b"content-length") {
                line.1 = cut.to_string().into_bytes();
            }
        }
        let sent = run::send(&engine, &case.request, case.response.status, &head, &body[..cut], fill, Host::Asked);
        that(!sent.body_replaced, || format!("the first {cut} bytes were edited"))?;
    }
    Ok(())
}

fn terms_stay(case: &Case, sent: &Sent, fill: &Fill) -> Checked {
    if case.response.status != 402 {
        return Ok(());
    }
    let before = [header(&case.response.head(fill)), Some(case.response.body(fill))];
    let after = [header(&sent.head.lines()), Some(sent.body.clone())];
    for (before, after) in before.into_iter().zip(after) {
        let (Some(before), Some(after)) = (before, after) else { continue };
        if member(&before, "x402Version") == Some(b"2") {
            let (old, new) = (member(&before, "accepts"), member(&after, "accepts"));
            that(old == new, || "accepts changed".into())?;
        }
    }
    Ok(())
}

/// The decoded PAYMENT-REQUIRED, if it is standard base64.
fn header(lines: &[Line]) -> Option<Vec<u8>> {
    use base64::Engine as _;
    let line = lines.iter().find(|line| line.0.eq_ignore_ascii_case(b"payment-required"))?;
    base64::engine::general_purpose::STANDARD.decode(&line.1).ok()
}

/// The bytes of a top-level member, by counting brackets; good enough for text that is an object.
fn member<'a>(text: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let (mut depth, mut at, mut found) = (0_usize, 0, None);
    while at < text.len() {
        match text[at] {
            b'"' => {
                let start = at + 1;
                at += 1;
                while *text.get(at)? != b'"' {
                    at += if text[at] == b'\\' { 2 } else { 1 };
                }
                let after = text[at + 1..].iter().position(|byte| !byte.is_ascii_whitespace())? + at + 1;
                if depth == 1 && found.is_none() && &text[start..at] == key.as_bytes() && text[after] == b':' {
                    found = Some(after + 1);
                }
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 1 => return found.map(|start| text[start..at].trim_ascii()),
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b',' if depth == 1 && found.is_some() => return found.map(|start| text[start..at].trim_ascii()),
            _ => {}
        }
        at += 1;
    }
    None
}

#[test]
fn a_top_level_member_is_found_by_the_test_itself() {
    let text = br#"{"b":{"a":0}, "a" : [1,{"c":"}"}] ,"z":2}"#;
    assert_eq!(member(text, "a"), Some(&br#"[1,{"c":"}"}]"#[..]));
    assert_eq!(member(text, "z"), Some(&b"2"[..]));
    assert_eq!(member(text, "c"), None);
}

/// The recorded answers of real packages stand in the cases as they were recorded.
#[test]
fn captured_cases_are_the_recorded_bytes() {
    let mut used = std::collections::BTreeSet::new();
    for case in case::load("captured.json") {
        let fixture = case.fixture.as_deref().unwrap_or_else(|| panic!("{}: no fixture", case.name()));
        used.insert(fixture.to_owned());
        let recorded = std::fs::read(fixtures().join(fixture)).unwrap();
        let (head, body) = (case.response.head(&Fill::default()), case.response.body(&Fill::default()));
        if fixture.ends_with(".raw.txt") {
            let mut wire = format!("HTTP/1.1 {} ", case.response.status).into_bytes();
            let reason_end = recorded.iter().position(|byte| *byte == b'\r').unwrap();
            assert!(recorded.starts_with(&wire), "{}", case.name());
            wire = recorded[..reason_end].to_vec();
            wire.extend_from_slice(b"\r\n");
            for (name, value) in head {
                wire.extend([name.as_slice(), b": ", &value, b"\r\n"].concat());
            }
            wire.extend([b"\r\n", body.as_slice()].concat());
            assert_eq!(wire, recorded, "{}", case.name());
        } else if fixture.ends_with(".body.json") {
            assert_eq!(parsed(&body), parsed(&recorded), "{}", case.name());
        } else if fixture.ends_with(".json") {
            let decoded = head.iter().find_map(|line| header_value(line, fixture)).unwrap();
            assert_eq!(parsed(&decoded), parsed(&recorded), "{}", case.name());
        } else {
            assert_eq!(body, recorded, "{}", case.name());
        }
    }
    for name in std::fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
        let decoded_twin = name.ends_with(".payment-required.json") || name.ends_with(".body.json");
        let twin = format!("{}.raw.txt", name.split('.').next().unwrap());
        let answer = name.ends_with(".raw.txt") || (decoded_twin && !fixtures().join(twin).exists());
        assert!(!answer || used.contains(&name), "{name} is no case");
    }
}

fn header_value(line: &Line, fixture: &str) -> Option<Vec<u8>> {
    use base64::Engine as _;
    let wanted = if fixture.contains("payment-response") { "payment-response" } else { "payment-required" };
    let is = line.0.eq_ignore_ascii_case(wanted.as_bytes());
    is.then(|| base64::engine::general_purpose::STANDARD.decode(&line.1).unwrap())
}

fn parsed(text: &[u8]) -> serde_json::Value {
    serde_json::from_slice(text).unwrap()
}

fn fixtures() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// F01, F05: ids minted and judged by another implementation.
#[test]
fn ids_of_another_implementation_are_judged_alike() {
    let serde_json::Value::Array(rows) = case::json("ids.json") else { panic!("not a list") };
    assert!(rows.len() > 60);
    for row in rows {
        let options = serde_json::json!({"api_key": row["api_key"], "ttl_ms": row["ttl_ms"], "strict": true});
        let engine = Engine::open(options.to_string().as_bytes()).unwrap_or_else(|fault| panic!("{row}: {fault}"));
        let verdict =
            match engine.verify_id_at(row["value"].as_str().unwrap().as_bytes(), row["now_ms"].as_u64().unwrap()) {
                Verification::Valid { .. } => "valid",
                Verification::Malformed => "malformed",
                Verification::BadSignature => "bad_signature",
                Verification::Expired => "expired",
            };
        assert_eq!(verdict, row["expect"], "{row}");
    }
}

/// Depth is a matter of the heap: the whole exchange runs on the smallest stack a host may have.
#[test]
fn p35_a_deep_body_needs_no_stack() {
    for case in case::load("paid_body.json").into_iter().filter(|case| case.id.starts_with("P35") || case.id == "C18") {
        let engine = run::engine(&case);
        let thread = std::thread::Builder::new().stack_size(64 * 1024).spawn(move || {
            let sent = run::whole(&engine, &case, &Fill::default(), Host::Asked);
            assert!(sent.body_replaced, "{}", case.name());
        });
        thread.unwrap().join().unwrap();
    }
}

#[test]
fn case_ids_are_unique() {
    let mut seen = std::collections::BTreeSet::new();
    for case in case::files().iter().flat_map(|file| case::load(file)) {
        assert!(seen.insert(case.id.clone()), "{} stands twice", case.name());
    }
    for case in case::RequestCase::load() {
        assert!(seen.insert(case.id), "{} stands twice", case.name);
    }
    assert!(seen.len() > 450, "{} cases", seen.len());
}

fn same_head(got: &Head, expected: &Head) -> Checked {
    that(got == expected, || {
        let show = |head: &Head| {
            let all = head.kept.iter().map(|line| (" ", line)).chain(head.appended.iter().map(|line| ("+", line)));
            all.map(|(mark, (name, value))| format!("    {mark} {}: {}\n", show(name), show_value(value)))
                .collect::<String>()
        };
        format!("  head expected\n{}  got\n{}", show(expected), show(got))
    })
}

fn same_body(got: &[u8], expected: &[u8]) -> Checked {
    that(got == expected, || format!("  body expected {}\n  got           {}", show(expected), show(got)))
}

fn that(holds: bool, fault: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(fault()) }
}

fn show_value(value: &[u8]) -> String {
    use base64::Engine as _;
    match base64::engine::general_purpose::STANDARD.decode(value) {
        Ok(inner) if value.len() > 60 => format!("base64 of {}", show(&inner)),
        _ => show(value),
    }
}

fn show(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(2_000)]).escape_debug().to_string();
    if bytes.len() > 2_000 { format!("{text}… ({} bytes)", bytes.len()) } else { text }
}
