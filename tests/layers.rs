//! The arrows of the design, as a test: a room uses only the rooms below it.
//!
//! Read from the text of the sources: each `crate::name` outside a comment is a use. A name that the crate
//! re-exports counts as its room.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A room, and what it may use. Every room under src/ stands here.
const MAY_USE: &[(&str, &[&[&str]])] = &[
    // Below all.
    ("sys", &[]),
    ("bounded", &[&["sys"]]),
    ("guard", &[]),
    ("skip", &[]),
    ("text", &[]),
    ("brief_lock", &[]),
    // Bytes, then HTTP, then the protocols.
    ("json", &[]),
    ("http", &[&["json"]]),
    ("dialect", &[&["json", "http", "skip"]]),
    // What is added to the traffic, side by side. Only feedback has words for agents, so others
    // take names and texts from there.
    ("feedback", &[BELOW]),
    ("agent_context", &[BELOW, &["feedback"]]),
    ("diagnostic", &[BELOW]),
    ("openapi", &[BELOW, &["feedback"]]),
    ("backend", &[BELOW]),
    // A refusal of ours carries a diagnostic, as any other.
    ("replay", &[BELOW, &["diagnostic"]]),
    // The agent's half stands alone: it reads what servers send.
    ("client", &[&["dialect", "diagnostic", "http", "json"]]),
    ("options", &[&["diagnostic", "feedback", "http", "json"]]),
    ("verdict", &[&["feedback"]]),
    ("state", &[BELOW, SIDE_BY_SIDE, &["options"]]),
    ("engine", &[BELOW, SIDE_BY_SIDE, &["guard", "options", "state"]]),
    ("exchange", &[BELOW, SIDE_BY_SIDE, &["engine", "options", "state", "verdict"]]),
];

const SIDE_BY_SIDE: &[&str] = &["feedback", "agent_context", "diagnostic", "openapi", "backend", "replay"];
const BELOW: &[&str] = &["bounded", "brief_lock", "dialect", "http", "json", "skip", "sys", "text"];

#[test]
fn arrows_go_down_only() {
    let re_exported = re_exported();
    let mut faults = Vec::new();
    for (room, path, text) in sources() {
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == room) else {
            faults.push(format!("{}: the room {room} is not in MAY_USE", path.display()));
            continue;
        };
        for name in used(&text) {
            let target = re_exported.get(&name).unwrap_or(&name);
            if target != &room && !allowed.iter().any(|group| group.contains(&target.as_str())) {
                faults.push(format!("{} uses {name} of {target}", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// `#[no_mangle]` in this crate would leak into every artifact that links it.
#[test]
fn the_engine_exports_no_c_symbol() {
    for (_, path, text) in sources() {
        for mark in ["no_mangle", "export_name", "extern \"C\" fn"] {
            assert!(!text.contains(mark), "{} has {mark}", path.display());
        }
    }
}

#[test]
fn uses_are_found_and_comments_are_not() {
    let text = "//! [`crate::a`]\nuse crate::{b, c::{d, e}};\nfn f() { crate::g::h() } // crate::i\n    super::super::json::x();\n";
    assert_eq!(used(text), ["b", "c", "g", "json"]);
}

/// The first segment after each `crate::`, and rooms reached by `super::`.
fn used(text: &str) -> Vec<String> {
    let code: String =
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).flat_map(|line| [line, "\n"]).collect();
    let mut names = Vec::new();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            Some(group) => names.extend(first_names(group)),
            None => names.push(identifier(rest)),
        }
    }
    for rest in code.split("super::").skip(1) {
        let name = identifier(rest);
        if MAY_USE.iter().any(|(room, _)| *room == name) {
            names.push(name);
        }
    }
    names
}

/// Of `a, b::{c, d}}…` the names `a` and `b`.
fn first_names(group: &str) -> Vec<String> {
    let (mut depth, mut names, mut fresh) = (0, Vec::new(), true);
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => fresh = true,
            _ if fresh && !letter.is_whitespace() => {
                names.push(identifier(&group[at..]));
                fresh = false;
            }
            _ => {}
        }
    }
    names
}

fn identifier(text: &str) -> String {
    text.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
}

/// Names of lib.rs's `pub use room::{…}`, with their rooms.
fn re_exported() -> BTreeMap<String, String> {
    let lib = std::fs::read_to_string(src().join("lib.rs")).unwrap();
    let mut names = BTreeMap::new();
    for line in lib.split("pub use ").skip(1) {
        let path = line.split(';').next().unwrap();
        let room = identifier(path);
        for name in path[room.len()..]
            .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .filter(|name| !name.is_empty())
        {
            names.insert(name.to_owned(), room.clone());
        }
    }
    names
}

/// Every source but lib.rs: room, path, text.
fn sources() -> Vec<(String, PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![src()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "rs") && path != src().join("lib.rs") {
                let inside = path.strip_prefix(src()).unwrap().to_owned();
                let first = inside.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((first.trim_end_matches(".rs").to_owned(), inside, text));
            }
        }
    }
    found
}

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}
