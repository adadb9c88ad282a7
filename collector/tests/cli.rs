//! The program as a person runs it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_forge-collector"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("FORGE_COLLECTOR_DATABASE")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn project_add_works_in_an_empty_folder_and_prints_the_key_once() {
    let folder = tempfile::tempdir().unwrap();
    let added = run(folder.path(), &["project", "add", "demo"]);
    assert!(added.status.success());
    let key = text(&added.stdout);
    assert!(key.starts_with("ffk_") && key.trim_end().len() == 47 && key.ends_with('\n'), "{key:?}");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &folder.path().join("forge-collector.db").metadata().unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600, "for its owner only");
    let again = run(folder.path(), &["project", "add", "demo"]);
    assert!(!again.status.success());
    assert!(text(&again.stderr).contains("there is a project \"demo\" already"), "{}", text(&again.stderr));
    let everything = text(
        &std::fs::read(folder.path().join("forge-collector.db"))
            .map(|b| b.iter().filter(|b| b.is_ascii()).copied().collect::<Vec<_>>())
            .unwrap(),
    );
    assert!(!everything.contains(key.trim()), "the key is not kept");
    assert!(text(&run(folder.path(), &["project", "list"]).stdout).starts_with("demo\t-\t20"));
}

#[test]
fn p36_a_given_key_is_taken_over_without_its_newline() {
    let folder = tempfile::tempdir().unwrap();
    let add = |name: &str, key: &str| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_forge-collector"))
            .args(["project", "add", name, "--key-stdin"])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(key.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    assert!(add("one", "ffk_test_0123456789abcdef\n").status.success());
    assert!(!add("two", "ffk_test_0123456789abcdef").status.success(), "one key, one project");
    let refused = add("three", "a key with spaces\n");
    assert!(text(&refused.stderr).contains("visible ASCII"), "{}", text(&refused.stderr));
}

#[test]
fn errors_say_what_is_wrong_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, says) in [
        (vec!["project", "list"], "`forge-collector project add NAME` makes one"),
        (vec!["export"], "there is no such file"),
        (vec!["doctor", "--database", "mysql://x/y"], "not supported"),
        (vec!["project", "add", "x", "--public-origin", "http://api.example.com"], "only https://"),
        (vec!["project", "add", " x "], "without control characters or space around it"),
        (vec!["serve", "--max-body-kib", "1"], "--max-body-kib: 1 is out of range; use 64 to 65536"),
        (vec!["--database", "postgres://u:secret@127.0.0.1:1/x", "project", "list"], "postgres://u:***@127.0.0.1:1/x"),
        (vec!["nonsense"], "Usage:"),
    ] {
        let output = run(folder.path(), &arguments);
        let said = text(&output.stderr) + &text(&output.stdout);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(said.contains(says), "{arguments:?} said {said}");
        assert!(!said.contains("secret"));
    }
    run(folder.path(), &["project", "add", "demo"]);
    for (arguments, says) in [
        (vec!["export", "--since", "yesterday"], "use 2026-11-30"),
        (vec!["export", "--project", "nobody"], "there is no project \"nobody\""),
        (vec!["project", "remove", "demo"], "add --yes"),
        (vec!["project", "rotate", "nobody"], "`project list` shows what there is"),
    ] {
        let output = run(folder.path(), &arguments);
        assert!(
            !output.status.success() && text(&output.stderr).contains(says),
            "{arguments:?} said {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn doctor_finds_a_healthy_database_healthy_and_a_broken_one_broken() {
    let folder = tempfile::tempdir().unwrap();
    assert!(!run(folder.path(), &["doctor"]).status.success());
    run(folder.path(), &["project", "add", "demo"]);
    let healthy = run(folder.path(), &["doctor"]);
    assert!(healthy.status.success(), "{}", text(&healthy.stdout));
    assert!(text(&healthy.stdout).lines().all(|line| line.starts_with("ok    ")));
    run(folder.path(), &["project", "remove", "demo", "--yes"]);
    assert!(text(&run(folder.path(), &["doctor"]).stdout).contains("FAIL  projects: none"));
    std::fs::write(folder.path().join("broken.db"), "this is no database at all, just some text in a file").unwrap();
    assert!(!run(folder.path(), &["doctor", "--database", "broken.db"]).status.success());
}

#[test]
fn serve_ends_cleanly_on_sigterm_and_says_when_the_port_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_forge-collector"))
        .args(["serve", "--listen", "127.0.0.1:0", "--address-file", "address", "--log-format", "json"])
        .current_dir(folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let started = Instant::now();
    let address = loop {
        if let Ok(address) = std::fs::read_to_string(folder.path().join("address")) {
            break address;
        }
        assert!(started.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(50));
    };
    let taken = run(folder.path(), &["serve", "--listen", &address]);
    assert!(text(&taken.stderr).contains("another program may use it"), "{}", text(&taken.stderr));
    let killed = Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(killed.success());
    assert!(child.wait().unwrap().success(), "exit code 0");
    let mut log = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut log).unwrap();
    assert!(log.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{log}");
    assert!(log.contains("there is no project yet"));
    assert!(!folder.path().join("forge-collector.db-wal").exists(), "the log was folded back into the file");
}
