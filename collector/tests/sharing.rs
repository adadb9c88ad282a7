//! Several collectors on one PostgreSQL, and moving from SQLite to PostgreSQL.

mod common;

use common::{Collector, NOW, fresh_postgres, send};
use forge_collector::config::Config;
use forge_collector::store::{Page, Store};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_collectors_given_the_same_batches_store_each_event_once() {
    let one = Collector::postgres(Config::default()).await;
    let two = Collector::on(one.database.clone(), tempfile::tempdir().unwrap(), Config::default()).await;
    let (addresses, key) = ([one.address, two.address], one.key.clone());
    let batches: u32 = std::env::var("DUPLICATED_BATCHES").ok().and_then(|batches| batches.parse().ok()).unwrap_or(30);
    let room = std::sync::Arc::new(tokio::sync::Semaphore::new(16));
    let mut sends = tokio::task::JoinSet::new();
    for batch in 0..batches {
        for address in addresses {
            let room = room.clone();
            let bearer = format!("Bearer {key}");
            sends.spawn(async move {
                let _turn = room.acquire_owned().await.unwrap();
                // One of the two may get them in another order: a fixed lock order must hold whatever comes in.
                let mut events: Vec<Value> = (0..100)
                    .map(|n| json!({"type": "challenge", "id": format!("{batch}/{n}"), "route": format!("GET /{}", (n + batch) % 7), "user_agent": "a/1"}))
                    .collect();
                if address == addresses[1] {
                    events.reverse();
                }
                let body = json!({"events": events}).to_string();
                let reply = send(address, "POST", "/events", &[("authorization", &bearer)], body.as_bytes()).await;
                assert_eq!(reply.status, 200, "{}", reply.text);
                reply.json()["accepted"].as_i64().unwrap()
            });
        }
    }
    assert_eq!(sends.join_all().await.into_iter().sum::<i64>(), i64::from(batches) * 100);
    let page = Page { project_id: 1, from_ms: NOW - 86_400_000, route: None, step_hours: 1 };
    assert_eq!(
        one.store.route_figures(&page).await.unwrap().iter().map(|f| f.challenges).sum::<i64>(),
        i64::from(batches) * 100
    );
    let (mut stored, mut after) = (0, 0);
    loop {
        let (last, rows) = one.store.export_events(1, 0, after).await.unwrap();
        if rows.is_empty() {
            break;
        }
        (after, stored) = (last, stored + rows.len());
    }
    assert_eq!(stored, batches as usize * 100);
    println!("{batches} batches given to both: {stored} events stored, each once");

    // Signed in at one is signed in at the other.
    let cookie = one.sign_in().await;
    assert_eq!(two.page("/", &cookie).await.status, 200);
    two.stop().await;
    one.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rating_and_its_call_at_two_collectors_find_each_other() {
    let one = Collector::postgres(Config::default()).await;
    let two = Collector::on(one.database.clone(), tempfile::tempdir().unwrap(), Config::default()).await;
    let ids: Vec<String> = (0..40).map(|n| one.feedback_id(n)).collect();
    let mut sends = tokio::task::JoinSet::new();
    for id in ids.clone() {
        let (one, two, bearer) = (one.address, two.address, format!("Bearer {}", one.key));
        sends.spawn(async move {
            let event = json!({"events": [{"type": "interaction", "feedback_id": id, "route": "GET /x", "settled": true, "status": 200}]})
                .to_string();
            let rating = json!({"feedback_id": id, "outcome": "fully"}).to_string();
            let headers = [("authorization", bearer.as_str())];
            let (a, b) = tokio::join!(
                send(one, "POST", "/events", &headers, event.as_bytes()),
                send(two, "POST", "/feedback", &headers, rating.as_bytes())
            );
            assert_eq!((a.status, b.status), (200, 200));
        });
    }
    sends.join_all().await;
    one.store.match_waiting_ratings(NOW).await.unwrap();
    let summary = one.get("/summary").await.json();
    assert_eq!((&summary["ratings"], &summary["not_counted"]["waiting_for_call"]), (&json!(40), &json!(0)));
    two.stop().await;
    one.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moving_from_sqlite_to_postgresql_keeps_everything() {
    let from = Collector::sqlite(Config::default()).await;
    for batch in 0..25 {
        let events: Vec<Value> = (0..100)
            .map(|n| json!({"type": "challenge", "id": format!("{batch}-{n}"), "route": format!("GET /{n}"), "user_agent": "é😀/1"}))
            .collect();
        from.events(json!(events)).await;
    }
    for random in 0..20 {
        let id = from.feedback_id(random);
        from.events(
            json!([{"type": "interaction", "feedback_id": id, "route": "GET /x", "settled": true, "status": 200, "latency_ms": 30}]),
        )
        .await;
        from.post(
            "/feedback",
            &json!({"feedback_id": id, "outcome": "no", "issue": "slow", "note": "n", "via": "POST"}),
        )
        .await;
    }
    let target = fresh_postgres().await;
    let to = Store::open(&target).await.unwrap();
    let copied = from.store.copy_to(&to).await.unwrap();
    assert_eq!((copied.projects, copied.keys, copied.events, copied.ratings), (1, 1, 2520, 20));
    for store in [&from.store, &to] {
        let page = Page { project_id: 1, from_ms: NOW - 86_400_000, route: None, step_hours: 1 };
        let traffic = store.traffic(&page).await.unwrap();
        assert_eq!((traffic[0].challenges, traffic[0].paid, traffic[0].l2), (2500, 20, 20));
    }
    let (one, two) =
        (from.store.export_events(1, 0, 2000).await.unwrap().1, to.export_events(1, 0, 2000).await.unwrap().1);
    assert_eq!(
        one.iter().map(|row| &row.json).collect::<Vec<_>>(),
        two.iter().map(|row| &row.json).collect::<Vec<_>>()
    );
    assert!(from.store.copy_to(&to).await.unwrap_err().to_string().contains("holds projects already"));

    // The same key goes on, repeats are still recognised and new rows get new ids.
    let moved = Collector::on(target, tempfile::tempdir().unwrap(), Config::default()).await;
    let body = json!({"events": [{"type": "challenge", "id": "0-0"}, {"type": "challenge", "id": "new"}]}).to_string();
    let reply = moved.post_as(&from.key, "/events", &[], body.as_bytes()).await.json();
    assert_eq!((&reply["accepted"], &reply["duplicates"]), (&json!(1), &json!(1)));
    moved.store.add_project("second", None, "ffk_second_project_key_0", NOW).await.unwrap();
    moved.stop().await;
    from.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_cut_its_connections_is_used_again() {
    let collector = Collector::postgres(Config::default()).await;
    collector.events(json!([{"type": "challenge", "id": "before"}])).await;
    let admin = sqlx::PgPool::connect(&collector.database).await.unwrap();
    sqlx::query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
        .execute(&admin)
        .await
        .unwrap();
    let body = json!({"events": [{"type": "challenge", "id": "before"}, {"type": "challenge", "id": "after"}]});
    let mut reply = collector.post("/events", &body).await;
    for _ in 0..10 {
        if reply.status == 200 {
            break;
        }
        assert_eq!(reply.status, 503);
        reply = collector.post("/events", &body).await;
    }
    assert_eq!(reply.json()["accepted"], 1, "{}", reply.text);
    collector.stop().await;
}
