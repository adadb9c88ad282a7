//! PostgreSQL over TLS, with a server whose certificate is of an authority that only its file makes known.
//!
//! scripts/collector_test.sh starts the server with a certificate for `localhost`; FORGE_TEST_AUTHORITY is its authority's file.

mod common;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

use common::{Collector, fresh_postgres};
use forge_collector::config::Config;
use serde_json::json;

/// A database by the name of the certificate, without parameters.
async fn by_name() -> String {
    fresh_postgres().await.replace("127.0.0.1", "localhost")
}

fn authority() -> String {
    std::env::var("FORGE_TEST_AUTHORITY").expect("FORGE_TEST_AUTHORITY is not set; scripts/collector_test.sh sets it")
}

/// Whether `project add` worked, and what it said.
fn add_project(database: &str) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_forge-collector"))
        .args(["--database", database, "project", "add", "demo"])
        // scripts/collector_test.sh sets it for the tests that do not care.
        .env_remove("PGSSLMODE")
        .output()
        .unwrap();
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_authoritys_file_everything_works_encrypted() {
    let database = format!("{}?sslmode=verify-full&sslrootcert={}", by_name().await, authority());
    let collector = Collector::on(database.clone(), tempfile::tempdir().unwrap(), Config::default()).await;
    let id = collector.feedback_id(1);
    let event = json!({"type": "interaction", "feedback_id": id, "route": "GET /x", "settled": true, "status": 200});
    assert_eq!(collector.events(json!([event])).await["accepted"], 1);
    assert_eq!(collector.rate(&id, "fully").await.status, 200);
    assert_eq!(collector.get("/summary").await.json()["ratings"], 1);

    let admin = sqlx::PgPool::connect(&database).await.unwrap();
    let open: Vec<bool> = sqlx::query_scalar(
        "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'forge-collector' AND datname = current_database()",
    )
    .fetch_all(&admin)
    .await
    .unwrap();
    assert!(open.len() >= 2 && open.iter().all(|encrypted| *encrypted), "readers and writer: {open:?}");
    let doctor =
        Command::new(env!("CARGO_BIN_EXE_forge-collector")).args(["--database", &database, "doctor"]).output().unwrap();
    let said = String::from_utf8(doctor.stdout).unwrap();
    assert!(said.contains("connection: TLSv1.3, the server's certificate and name are checked"), "{said}");
    collector.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_authoritys_file_it_is_refused_and_says_what_to_do() {
    for mode in ["verify-full", "verify-ca"] {
        let (added, said) = add_project(&format!("{}?sslmode={mode}", by_name().await));
        assert!(!added && said.contains("&sslrootcert=ca.pem must name that authority's file"), "{mode}: {said}");
    }
    let (added, said) = add_project(&format!("{}?sslmode=verify-full&sslrootcert=/no/such/file.pem", by_name().await));
    assert!(!added && said.contains("No such file"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_name_is_checked_in_verify_full_only() {
    let by_address = fresh_postgres().await;
    let with = |mode: &str| format!("{by_address}?sslmode={mode}&sslrootcert={}", authority());
    let (added, said) = add_project(&with("verify-full"));
    assert!(!added && said.contains("for another name than the URL's host"), "{said}");
    let (added, said) = add_project(&with("verify-ca"));
    assert!(added, "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_named_authority_is_asked_in_the_weaker_modes_too() {
    let stranger = tempfile::tempdir().unwrap();
    let file = stranger.path().join("stranger.pem");
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=a stranger", "-keyout", "/dev/null", "-out", file.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for mode in ["sslmode=require&", ""] {
        let database = by_name().await;
        let (added, said) = add_project(&format!("{database}?{mode}sslrootcert={}", file.display()));
        assert!(!added && said.contains("UnknownIssuer"), "{mode}: {said}");
        let (added, said) = add_project(&format!("{database}?{mode}sslrootcert={}", authority()));
        assert!(added, "{mode}: {said}");
    }
}

#[test]
fn a_server_without_tls_is_named_as_such() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut question = [0; 8];
        stream.read_exact(&mut question).unwrap();
        stream.write_all(b"N").unwrap();
    });
    let (added, said) = add_project(&format!("postgres://demo@{address}/demo?sslmode=verify-full"));
    assert!(!added && said.contains("takes no encrypted connections"), "{said}");
    server.join().unwrap();
}
