//! The dashboard's pages as text: who may see them, what they say, and that nothing from outside is ever code.

mod common;

use common::{Collector, NOW, Reply, send};
use forge_collector::clock::HOUR_MS;
use forge_collector::config::Config;
use forge_collector::key;
use serde_json::json;

on_both_databases! {
    the_page_shows_the_funnel_the_escalations_and_the_feed
    hostile_text_in_every_field_shows_up_as_text
}

const HOSTILE: [&str; 6] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' OR 1=1; DROP TABLE events; --",
    "x\r\nSet-Cookie: evil=1\r\n\r\n<html>",
    "{{7*7}}${7*7}</textarea></title>",
    "javascript:alert(1)//\u{202e}gnp.\u{1b}[31m",
];

async fn the_page_shows_the_funnel_the_escalations_and_the_feed(collector: Collector) {
    let id = collector.feedback_id(1);
    collector
        .events(json!([
            {"type": "challenge", "route": "GET /weather", "ts": NOW},
            {"type": "interaction", "feedback_id": id, "route": "GET /weather", "ts": NOW, "status": 200, "latency_ms": 41, "settled": true,
             "agent_context": {"agent_type": "Claude Code", "client": "agentcash"}, "user_agent": "python-httpx/0.27"},
            {"type": "escalation", "route": "GET /weather", "code": "PAYMENT_ATTEMPTS_EXCEEDED", "attempts": 102, "correlation_id": "abcdef0123456789",
             "operator_contact": "mailto:ops@example.com"},
        ]))
        .await;
    collector
        .post(
            "/feedback",
            &json!({"feedback_id": id, "outcome": "partially", "issue": "slow", "note": "took a while", "via": "POST"}),
        )
        .await;
    let unsettled = collector.feedback_id(2);
    collector
        .events(json!([{"type": "interaction", "feedback_id": unsettled, "route": "GET /weather", "ts": NOW, "status": 200, "settled": false}]))
        .await;
    assert_eq!(collector.rate(&unsettled, "no").await.status, 200);
    let cookie = collector.sign_in().await;
    for path in ["/", "/?days=1", "/?days=30&route=GET%20/weather", "/?days=nonsense"] {
        let page = collector.page(path, &cookie).await;
        assert_eq!(page.status, 200);
        for text in [
            "GET /weather",
            "PAYMENT_ATTEMPTS_EXCEEDED",
            "abcdef0123456789",
            "mailto:ops@example.com",
            "Claude Code",
            "agentcash",
            "python-httpx",
            "took a while",
            "1 partially",
            "Rated: partially",
        ] {
            assert!(page.text.contains(text), "{path} lacks {text}");
        }
        assert!(page.text.contains("Kept apart: 1 rating of"), "{path}");
        let chart = page.text.split("id=\"chart-ratings\"").nth(1).unwrap().split("</figure>").next().unwrap();
        assert_eq!(
            chart.matches("<td class=\"n\">1</td>").count(),
            1,
            "the chart counts what the funnel counts: {chart}"
        );
    }
    let other = collector.page("/?route=GET%20/nothing", &cookie).await;
    assert!(other.text.contains("No challenge and no paid call in this time."));
    collector.stop().await;
}

async fn hostile_text_in_every_field_shows_up_as_text(collector: Collector) {
    for (n, text) in HOSTILE.iter().enumerate() {
        let id = collector.feedback_id(u8::try_from(n).unwrap());
        let headers = json!({text.to_string(): text, "referer": text, "user-agent": text});
        let context = json!({"agent_type": text, "agent_type_other": text, "client": text, "search_query": text});
        let all = |kind: &str| {
            json!({"type": kind, "id": format!("{kind}{text}"), "route": text, "feedback_id": if kind == "interaction" { id.as_str() } else { text }, "user_agent": text, "request_headers": headers,
                "agent_context": context, "payer": text, "network": text, "amount": text, "scheme": text, "asset": text, "transaction": text,
                "status": 200, "latency_ms": 1, "dialect": text, "code": text, "attempts": 5, "correlation_id": text, "operator_contact": text, text.to_string(): text})
        };
        let kinds = ["challenge", "interaction", "discovery", "visit", "escalation", text];
        let reply = collector.events(json!(kinds.map(all))).await;
        assert_eq!(reply["accepted"], 6, "{reply}");
        let rating = json!({"feedback_id": id, "outcome": "no", "issue": "slow", "note": text, "via": "POST", "user_agent": text, "request_headers": headers});
        assert_eq!(collector.post("/feedback", &rating).await.status, 200);
    }
    let cookie = collector.sign_in().await;
    for path in ["/", "/live", "/?days=1&route=%3Cscript%3Ealert(1)%3C/script%3E", "/?route=%22%3E%3Cimg%20src=x%3E"] {
        assert_only_our_markup(&collector.page(path, &cookie).await);
    }
    let page = collector.page("/", &cookie).await.text;
    assert!(page.contains("&#60;script&#62;alert(1)&#60;/script&#62;"), "shown, not dropped");
    assert!(page.contains("DROP TABLE events"));
    for path in ["/summary", "/metrics"] {
        let reply = collector.get(path).await;
        assert_eq!(reply.status, 200);
        assert!(
            !reply.headers.iter().any(|(name, value)| name == "set-cookie" || value.contains("evil")),
            "{:?}",
            reply.headers
        );
    }
    let (_, rows) = collector.store.export_events(1, 0, 0).await.unwrap();
    assert_eq!(rows.len(), 36, "no table was dropped");
    collector.stop().await;
}

fn assert_only_our_markup(reply: &Reply) {
    let html = &reply.text;
    assert_eq!(reply.status, 200);
    assert!(!html.contains("<script>") && !html.contains("<img src=x") && !html.contains("<textarea"), "{html}");
    for (at, _) in html.match_indices("<script") {
        assert!(html[at..].starts_with("<script src=\"/assets/"), "{}", &html[at..at + 60]);
    }
    for forbidden in [" onerror=", " onload=", " onclick=", " style=\"", "<style", "href=\"javascript:"] {
        for (at, _) in html.match_indices(forbidden) {
            // Inside escaped text there is an escaped bracket or quote close before it, never a real tag.
            let tag = html[..at].rfind('<').unwrap();
            assert!(html[tag..at].contains('>') || html[tag..at].contains("&#"), "{}", &html[tag..at + 40]);
        }
    }
    let terminal = html.contains('\u{1b}');
    assert!(!terminal, "control characters are gone");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_who_signed_in_sees_anything() {
    let collector = Collector::sqlite(Config::default()).await;
    for cookie in ["", "forge_session=1.9999999999999.AAAA", "forge_session=", "forge_session=1.2", "forge_session=é"]
    {
        let reply = send(collector.address, "GET", "/", &[("cookie", cookie)], b"").await;
        assert_eq!((reply.status, reply.header("location")), (303, Some("/login")), "{cookie}");
        assert_eq!(send(collector.address, "GET", "/live", &[("cookie", cookie)], b"").await.status, 401);
    }
    let form = ("content-type", "application/x-www-form-urlencoded");
    let wrong = send(collector.address, "POST", "/login", &[form], b"key=ffk_wrong").await;
    assert_eq!((wrong.status, wrong.header("set-cookie")), (401, None));
    assert!(wrong.text.contains("That key belongs to no project"));
    let foreign = [form, ("sec-fetch-site", "cross-site")];
    let body = format!("key={}", collector.key);
    assert_eq!(send(collector.address, "POST", "/login", &foreign, body.as_bytes()).await.status, 403);
    assert_eq!(send(collector.address, "POST", "/logout", &foreign, b"").await.status, 403);
    for (kind, body) in [
        ("text/plain", "key=x"),
        ("application/x-www-form-urlencoded", "%zz=%"),
        ("application/x-www-form-urlencoded", ""),
    ] {
        let status = send(collector.address, "POST", "/login", &[("content-type", kind)], body.as_bytes()).await.status;
        assert!([400, 401].contains(&status), "{kind} {body}: {status}");
    }

    let cookie = collector.sign_in().await;
    let page = collector.page("/", &cookie).await;
    assert!(page.text.contains("Waiting for the first call"), "the empty state helps");
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        policy.contains("script-src 'self';") && policy.contains("default-src 'none'") && !policy.contains("unsafe"),
        "{policy}"
    );
    assert_eq!((page.header("x-frame-options"), page.header("cache-control")), (Some("DENY"), Some("no-store")));
    assert_eq!(collector.page("/login", &cookie).await.status, 303, "signed in already");
    let out = send(collector.address, "POST", "/logout", &[("cookie", &cookie)], b"").await;
    assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"));
    collector.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retired_key_closes_its_sessions() {
    let collector = Collector::sqlite(Config::default()).await;
    let cookie = collector.sign_in().await;
    collector.store.rotate_key(1, &key::generate().unwrap(), NOW + HOUR_MS, NOW).await.unwrap();
    assert_eq!(collector.page("/", &cookie).await.status, 200, "in its grace");
    collector.clock.set(NOW + HOUR_MS);
    assert_eq!(collector.page("/", &cookie).await.status, 303);
    collector.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn assets_are_in_the_binary_and_nothing_else_is() {
    let collector = Collector::sqlite(Config::default()).await;
    for (name, kind) in [
        ("dashboard.css", "text/css"),
        ("dashboard.js", "text/javascript"),
        ("uPlot.js", "text/javascript"),
        ("uPlot.LICENSE.txt", "text/plain"),
    ] {
        let reply = send(collector.address, "GET", &format!("/assets/{name}"), &[], b"").await;
        assert_eq!(reply.status, 200);
        assert!(reply.header("content-type").unwrap().starts_with(kind));
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    }
    for path in ["/assets/..%2fmain.rs", "/assets/nope", "/assets/"] {
        assert_eq!(send(collector.address, "GET", path, &[], b"").await.status, 404, "{path}");
    }
    collector.stop().await;
}
