use super::*;

fn pair<'a>(timestamp: &'a str, nonce: &'a str) -> Vec<HeaderLine<'a>> {
    vec![(b"X-x402-Timestamp", timestamp.as_bytes()), (b"X-x402-Nonce", nonce.as_bytes())]
}

fn body(refusal: &Refusal) -> &str {
    std::str::from_utf8(&refusal.body).unwrap()
}

#[test]
fn a_nonce_is_used_up_by_a_2xx_and_refused_within_the_window() {
    let guard = ReplayGuard::new(300);
    let headers = pair("1796038177.673", "1cb0cb1c7ddb4221841cd798dc31adaf");
    let first = guard.reserve(0, &headers).unwrap();
    guard.finish(1_000, first, 200);
    let refusal = guard.reserve(61_000, &headers).unwrap_err();
    assert_eq!(refusal.status, 403);
    assert_eq!(body(&refusal), r#"{"error":"Replay rejected","detail":"Duplicate nonce (possible replay)"}"#);
    assert_eq!(refusal.retry_after_s, Some(240));
    assert!(guard.reserve(301_000, &headers).is_ok(), "the window is over");
}

#[test]
fn a_nonce_is_given_back_unless_the_answer_is_a_2xx() {
    let guard = ReplayGuard::new(300);
    let headers = pair("1", "n");
    for status in [402, 403, 409, 429, 500, 502, 0] {
        let reservation = guard.reserve(0, &headers).unwrap();
        guard.finish(0, reservation, status);
        assert_eq!(guard.len(), 0, "{status}");
    }
}

#[test]
fn two_requests_at_once_with_one_nonce_are_one_too_many() {
    let guard = ReplayGuard::new(300);
    let headers = pair("1", "n");
    let first = guard.reserve(0, &headers).unwrap();
    assert!(guard.reserve(1, &headers).is_err());
    guard.finish(2, first, 500);
    assert!(guard.reserve(3, &headers).is_ok());
}

#[test]
fn a_payer_who_paid_slowly_or_whose_clock_is_off_is_not_refused_for_it() {
    let guard = ReplayGuard::new(300);
    let now_ms = 1_796_038_177_673;
    for (index, age_s) in [0i64, 30, 45, 299, 301, 3_600, 86_400, -30, -900].into_iter().enumerate() {
        let timestamp = format!("{}.673", 1_796_038_177 - age_s);
        let nonce = format!("nonce-{index}");
        assert!(guard.reserve(now_ms, &pair(&timestamp, &nonce)).is_ok(), "{age_s} s old");
    }
}

#[test]
fn what_is_missing_or_malformed_is_named() {
    let guard = ReplayGuard::new(300);
    let long = "n".repeat(129);
    for (headers, detail) in [
        (vec![], "Missing X-x402-Timestamp header"),
        (pair("1", "n")[..1].to_vec(), "Missing X-x402-Nonce header"),
        (pair("1", ""), "Missing X-x402-Nonce header"),
        (pair("soon", "n"), "Invalid timestamp format"),
        (pair("-1", "n"), "Invalid timestamp format"),
        (pair("1e9", "n"), "Invalid timestamp format"),
        (pair("1", "a b"), "Invalid nonce format"),
        (pair("1", &long), "Nonce too long (max 128)"),
        ([pair("1", "n"), pair("2", "n")].concat(), "Invalid timestamp format"),
    ] {
        let refusal = guard.reserve(0, &headers).unwrap_err();
        assert_eq!(body(&refusal), format!(r#"{{"error":"Replay rejected","detail":"{detail}"}}"#));
        assert_eq!(refusal.retry_after_s, None);
    }
    assert_eq!(guard.len(), 0);
}

#[test]
fn nonces_are_bounded_and_the_oldest_goes() {
    let guard = ReplayGuard::new(300);
    for index in 0..NONCES + 10 {
        let nonce = index.to_string();
        let reservation = guard.reserve(0, &pair("1", &nonce)).unwrap();
        guard.finish(0, reservation, 200);
    }
    assert_eq!(guard.len(), NONCES);
    assert!(guard.reserve(0, &pair("1", "0")).is_ok(), "the oldest is forgotten");
    let newest = (NONCES + 9).to_string();
    assert!(guard.reserve(0, &pair("1", &newest)).is_err());
}

#[test]
fn a_reservation_that_was_evicted_takes_nobody_elses_nonce_back() {
    let guard = ReplayGuard::new(300);
    let old = guard.reserve(0, &pair("1", "same")).unwrap();
    for index in 0..NONCES {
        let reservation = guard.reserve(0, &pair("1", &index.to_string())).unwrap();
        guard.finish(0, reservation, 200);
    }
    let new = guard.reserve(1, &pair("1", "same")).unwrap();
    guard.finish(2, old, 500);
    assert!(guard.reserve(3, &pair("1", "same")).is_err(), "still reserved by the second");
    guard.finish(4, new, 200);
}

#[test]
fn a_payer_at_an_address_has_its_share_of_a_minute() {
    let limit = RateLimit::new(3);
    for second in 0..3 {
        assert!(limit.admit(second * 1_000, "P", "203.0.113.7").is_ok());
    }
    let refusal = limit.admit(20_500, "P", "203.0.113.7").unwrap_err();
    assert_eq!((refusal.status, refusal.retry_after_s), (429, Some(40)));
    assert_eq!(body(&refusal), r#"{"error":"Too Many Requests","detail":"Rate limit exceeded"}"#);
    assert!(limit.admit(60_000, "P", "203.0.113.7").is_ok(), "a new minute");
}

#[test]
fn nobody_uses_up_a_payers_share_under_its_name() {
    let limit = RateLimit::new(3);
    for _ in 0..50 {
        let _ = limit.admit(0, "victim", "198.51.100.1");
        let _ = limit.admit(0, "victim", "127.0.0.1");
        let _ = limit.admit(0, "victim", "");
    }
    assert!(limit.admit(1, "victim", "203.0.113.7").is_ok());
    assert!(limit.admit(1, "victim", "").is_ok());
}

#[test]
fn settled_payments_count_for_the_payer_wherever_it_is() {
    let limit = RateLimit::new(3);
    for address in ["203.0.113.1", "203.0.113.2", "203.0.113.3"] {
        assert!(limit.admit(0, "P", address).is_ok());
        limit.settled(0, "P");
    }
    assert_eq!(limit.admit(1, "P", "203.0.113.4").unwrap_err().status, 429);
    assert!(limit.admit(1, "Q", "203.0.113.4").is_ok());
}

#[test]
fn a_limit_of_zero_limits_nothing() {
    let limit = RateLimit::new(0);
    assert!((0..1_000).all(|_| limit.admit(0, "P", "203.0.113.1").is_ok()));
}

#[test]
fn eight_threads_share_one_exact_limit() {
    let limit = RateLimit::new(1_000);
    let admitted: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| (0..500).filter(|_| limit.admit(0, "P", "203.0.113.1").is_ok()).count()))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(admitted as u64, 1_000 + limit.unlimited());
}
