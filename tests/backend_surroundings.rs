//! What surrounds the process: a name service that hangs, and environment variables that are none of our business.
//!
//! A program of its own that starts itself again with a preloaded resolver (built with `cc`) and a hostile environment.

mod support;

use forge_x402::backend::{Answer, BackendOptions};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use support::*;

fn main() {
    if !cfg!(target_os = "linux") {
        println!("skipped: the resolver is replaced by LD_PRELOAD, on Linux");
        return;
    }
    if let Ok(stall) = std::env::var("FX402_TEST_STALL") {
        return inside(Path::new(&stall));
    }
    let directory = std::env::temp_dir().join(format!("fx402-surroundings-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let library = build(&directory);
    let stall = directory.join("stall");
    std::fs::write(&stall, "").unwrap();
    let status = Command::new(std::env::current_exe().unwrap())
        .env("LD_PRELOAD", &library)
        .env("FX402_TEST_STALL", &stall)
        .envs(
            ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"]
                .map(|name| (name, "http://127.0.0.1:9")),
        )
        .env("NO_PROXY", "")
        .env("SSL_CERT_FILE", "/nonexistent.pem")
        .status()
        .unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(status.success());
}

fn build(directory: &Path) -> PathBuf {
    let library = directory.join("stalled_resolver.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/stalled_resolver.c");
    let status =
        Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-ldl").status();
    assert!(status.expect("cc builds the preloaded resolver").success());
    library
}

fn inside(stall: &Path) {
    p28_the_environment_names_no_proxy_for_us();
    println!("test p28_the_environment_names_no_proxy_for_us ... ok");
    e08_e09_a_name_service_that_hangs_holds_nobody_beyond_the_limit(stall);
    println!("test e08_e09_a_name_service_that_hangs_holds_nobody_beyond_the_limit ... ok");
}

fn p28_the_environment_names_no_proxy_for_us() {
    let server = FaultBackend::start(Mode::Ok);
    let backend = quick(server.url());
    push(&backend, 0..10);
    assert_eq!(backend.flush(LONG), Ok(()));
    assert_eq!(server.numbers(), (0..10).collect::<Vec<_>>());
}

fn e08_e09_a_name_service_that_hangs_holds_nobody_beyond_the_limit(stall: &Path) {
    let server = FaultBackend::start(Mode::Ok);
    let url = format!("http://stalled.example:{}", server.address().port());
    let backend = quick(&url);
    push(&backend, 0..10);

    let start = Instant::now();
    assert!(matches!(backend.rating(b"{}", Duration::from_millis(500)), Answer::None(_)));
    assert!(matches!(backend.summary(Duration::from_millis(500)), Answer::None(_)));
    let took = start.elapsed();
    assert!((1_000..1_400).contains(&(took.as_millis() as u64)), "{took:?}");

    let many: Vec<_> = (0..20)
        .map(|_| {
            let url = url.clone();
            std::thread::spawn(move || {
                let other = support::backend(BackendOptions { flush_interval_ms: 20, ..options(url) });
                push(&other, 0..3);
                let start = Instant::now();
                assert!(other.shutdown(Duration::from_millis(500)).is_err());
                assert!(start.elapsed() < Duration::from_millis(700));
                assert_eq!(other.counters().dropped, 3);
            })
        })
        .collect();
    for thread in many {
        thread.join().unwrap();
    }

    assert!(eventually(Duration::from_secs(7), || backend.counters().failed_posts >= 1), "given up after 5 s");
    let lines = backend.diagnostics().drain();
    assert!(lines.iter().any(|line| line.contains("no answer in time")), "{lines:?}");
    let threads = threads_named("fx402-resolver");
    assert!((1..=21).contains(&threads), "one for each engine at most: {threads}");

    std::fs::remove_file(stall).unwrap();
    assert!(eventually(LONG, || backend.flush(Duration::from_secs(1)).is_ok()), "the name service is back");
    assert_eq!(server.numbers(), (0..10).collect::<Vec<_>>());
    assert!(eventually(LONG, || threads_named("fx402-resolver") == 0), "no name is left, no thread is left");
}

fn threads_named(name: &str) -> usize {
    std::fs::read_dir("/proc/self/task")
        .unwrap()
        .flatten()
        .filter(|task| std::fs::read_to_string(task.path().join("comm")).is_ok_and(|comm| comm.trim() == name))
        .count()
}
