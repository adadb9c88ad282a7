//! A collector inside the test, on a database of its own, with a clock that the test moves; and a plain HTTP client.
#![allow(dead_code, reason = "each test file uses its part")]

use std::net::SocketAddr;
use std::time::Duration;

use forge_collector::clock::Clock;
use forge_collector::config::Config;
use forge_collector::http::{Running, start};
use forge_collector::store::Store;
use forge_collector::{feedback_id, key};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// 2026-11-30T14:00:00Z
pub const NOW: i64 = 1_796_047_200_000;

pub struct Collector {
    pub address: SocketAddr,
    pub store: Store,
    pub clock: Clock,
    pub key: String,
    pub database: String,
    running: Option<Running>,
    _folder: tempfile::TempDir,
}

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub text: String,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

impl Collector {
    pub async fn sqlite(config: Config) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("collector.db").to_str().unwrap().to_owned();
        Self::on(database, folder, config).await
    }

    pub async fn postgres(config: Config) -> Self {
        Self::on(fresh_postgres().await, tempfile::tempdir().unwrap(), config).await
    }

    pub async fn on(database: String, folder: tempfile::TempDir, config: Config) -> Self {
        let store = Store::open(&database).await.unwrap();
        let clock = Clock::fixed(NOW);
        let key = key::generate().unwrap();
        if store.projects().await.unwrap().is_empty() {
            store.add_project("demo", Some("https://api.example.com"), &key, NOW).await.unwrap();
        }
        let config = Config { listen: SocketAddr::from(([127, 0, 0, 1], 0)), ..config };
        let running = start(store.clone(), config, clock.clone()).await.unwrap();
        Self { address: running.address, store, clock, key, database, running: Some(running), _folder: folder }
    }

    pub async fn stop(mut self) {
        self.running.take().unwrap().stop(Duration::from_secs(5)).await;
    }

    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        self.post_as(&self.key, path, &[], body.to_string().as_bytes()).await
    }

    pub async fn post_as(&self, key: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let bearer = format!("Bearer {key}");
        let mut all = vec![("authorization", bearer.as_str()), ("content-type", "application/json")];
        all.extend(headers);
        send(self.address, "POST", path, &all, body).await
    }

    pub async fn get(&self, path: &str) -> Reply {
        let bearer = format!("Bearer {}", self.key);
        send(self.address, "GET", path, &[("authorization", &bearer)], b"").await
    }

    pub async fn events(&self, events: Value) -> Value {
        let reply = self.post("/events", &json!({"events": events})).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.json()
    }

    /// An id as the merchant's server mints it with this project's key.
    pub fn feedback_id(&self, random: u8) -> String {
        mint(&self.key, self.clock.now_ms(), random)
    }

    pub async fn rate(&self, id: &str, outcome: &str) -> Reply {
        self.post(
            "/feedback",
            &json!({"feedback_id": id, "outcome": outcome, "issue": null, "note": null, "via": "GET", "user_agent": "t/1"}),
        )
        .await
    }

    /// The cookie of a signed-in browser.
    pub async fn sign_in(&self) -> String {
        let body = format!("key={}", self.key);
        let form = [("content-type", "application/x-www-form-urlencoded")];
        let reply = send(self.address, "POST", "/login", &form, body.as_bytes()).await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        reply.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
    }

    pub async fn page(&self, path: &str, cookie: &str) -> Reply {
        send(self.address, "GET", path, &[("cookie", cookie)], b"").await
    }
}

pub fn mint(key: &str, now_ms: i64, random: u8) -> String {
    feedback_id::mint(&feedback_id::signing_key(key), u32::try_from(now_ms / 1000).unwrap(), [random; 6])
}

/// A new database on the server that scripts/collector_test.sh starts.
pub async fn fresh_postgres() -> String {
    let base = std::env::var("FORGE_TEST_POSTGRES")
        .expect("FORGE_TEST_POSTGRES is not set; scripts/collector_test.sh starts a PostgreSQL and sets it");
    let name = format!("test_{}", key::generate().unwrap()[4..].to_lowercase().replace('-', "_"));
    let pool = sqlx::PgPool::connect(&format!("{base}/postgres")).await.unwrap();
    let create = sqlx::AssertSqlSafe(format!("CREATE DATABASE \"{name}\""));
    sqlx::query(create).execute(&pool).await.unwrap();
    pool.close().await;
    format!("{base}/{name}")
}

pub async fn send(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    send_raw(address, &[head.as_bytes(), body].concat()).await
}

pub async fn send_raw(address: SocketAddr, request: &[u8]) -> Reply {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // A server that refuses early closes before it has read all; its answer still counts.
    let _ = stream.write_all(request).await;
    let mut bytes = Vec::new();
    let _ =
        tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut bytes)).await.expect("an answer in 30 s");
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    Reply { status, headers, text: body.to_owned() }
}

/// Runs each named async test once on SQLite and once on PostgreSQL.
#[macro_export]
macro_rules! on_both_databases {
    ($($name:ident)*) => {
        mod sqlite { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() { super::$name(super::common::Collector::sqlite(Default::default()).await).await }
        )* }
        mod postgres { $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() { super::$name(super::common::Collector::postgres(Default::default()).await).await }
        )* }
    };
}
