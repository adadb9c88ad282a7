//! tests/cases.toml: every case that really went wrong somewhere has its tests, and the tests exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// The ids of every letter. A number that is not here was a case about somebody else's internals.
const IDS: &[(&str, &[(u32, u32)])] = &[
    ("A", &[(1, 20), (22, 47), (49, 52)]),
    ("B", &[(1, 3), (5, 6)]),
    ("C", &[(1, 12), (14, 21), (23, 24), (26, 28), (30, 42)]),
    ("D", &[(1, 2), (4, 15), (18, 25)]),
    ("E", &[(1, 1), (3, 9), (11, 14), (16, 18)]),
    ("F", &[(1, 7)]),
    ("G", &[(1, 5), (7, 9), (11, 13), (15, 17)]),
    ("H", &[(1, 5), (7, 7)]),
    ("L", &[(1, 9), (11, 11), (13, 15)]),
    ("P", &[(1, 40)]),
];

#[test]
fn every_id_is_listed_and_no_other() {
    let expected: BTreeSet<String> = IDS
        .iter()
        .flat_map(|(letter, ranges)| {
            ranges.iter().flat_map(move |&(from, to)| (from..=to).map(move |number| format!("{letter}{number:02}")))
        })
        .collect();
    let listed: BTreeSet<String> = cases().into_iter().map(|(id, _)| id).collect();
    assert_eq!(listed, expected);
}

#[test]
fn every_id_has_a_test_or_an_owner() {
    for (id, case) in cases() {
        for key in case.keys() {
            assert!(["case", "right", "tests", "owner"].contains(&key.as_str()), "{id}: unknown key {key}");
        }
        for key in ["case", "right"] {
            assert!(!text(&case, key).unwrap_or_default().is_empty(), "{id}: no {key}");
        }
        let owner = text(&case, "owner").unwrap_or_default();
        assert!(owner.is_empty() || owner.starts_with("issue "), "{id}: owner {owner:?}");
        assert!(!tests(&case).is_empty() || !owner.is_empty(), "{id}: neither a test nor an owner");
    }
}

#[test]
fn every_named_test_exists() {
    let mut faults = Vec::new();
    for (id, case) in cases() {
        for test in tests(&case) {
            if let Err(fault) = find(&test) {
                faults.push(format!("{id}: {test}: {fault}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_test_that_does_not_exist_is_noticed() {
    for missing in [
        "tests/nowhere.rs#x",
        "tests/cases_toml.rs#a_test_nobody_wrote_",
        "tests/conformance/receipt.json#B99",
        "tests/conformance/receipt.json#B99*",
        "tests/cases_toml.rs",
    ] {
        // The second one stands in this file, in a list and not as a test.
        assert!(find(missing).is_err(), "{missing}");
    }
    assert_eq!(find("tests/cases_toml.rs#every_named_test_exists"), Ok(()));
    assert_eq!(find("tests/conformance/receipt.json#B0*"), Ok(()));
}

/// `file#name`: a Rust function, a conformance case (`B05*`: all whose ids begin so), or, in another language, a
/// test whose name is or begins with that text.
fn find(test: &str) -> Result<(), String> {
    let (file, name) = test.split_once('#').ok_or("no name")?;
    let text = std::fs::read_to_string(root().join(file)).map_err(|fault| fault.to_string())?;
    let found = match Path::new(file).extension().and_then(|kind| kind.to_str()) {
        Some("rs") => text.contains(&format!("fn {name}(")),
        Some("json") => {
            let cases: serde_json::Value = serde_json::from_str(&text).map_err(|fault| fault.to_string())?;
            let fits = |id: &str| name.strip_suffix('*').map_or(id == name, |start| id.starts_with(start));
            cases.as_array().ok_or("not a list")?.iter().any(|case| case["id"].as_str().is_some_and(fits))
        }
        Some("py" | "go" | "c" | "cpp") => text.contains(&format!("{name}(")),
        _ => ["\"", "'", "`"].iter().any(|quote| text.contains(&format!("{quote}{name}"))),
    };
    if found { Ok(()) } else { Err("not there".into()) }
}

fn cases() -> Vec<(String, Table)> {
    let text = std::fs::read_to_string(root().join("tests/cases.toml")).unwrap();
    let table: Table = text.parse().unwrap();
    let case = |(id, value)| match value {
        Value::Table(case) => (id, case),
        other => panic!("{id}: {other:?}"),
    };
    table.into_iter().map(case).collect()
}

fn text<'a>(case: &'a Table, key: &str) -> Option<&'a str> {
    case.get(key).map(|value| value.as_str().unwrap())
}

fn tests(case: &Table) -> Vec<String> {
    let listed = case.get("tests").map(|value| value.as_array().unwrap().as_slice()).unwrap_or_default();
    listed.iter().map(|value| value.as_str().unwrap().to_owned()).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}
