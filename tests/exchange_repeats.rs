//! A challenge that comes again becomes what it became the first time, and only where everything that decides it is the same.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use forge_x402::{Action, Body, Engine, HeaderLine, Now, RequestHead, ResponseHead, Verdict};

const OPTIONS: &str = r#"{"api_key":"ffk_test_0123456789abcdef","public_url":"https://api.example.com"}"#;

fn engine() -> Engine {
    Engine::open(OPTIONS.as_bytes()).unwrap()
}

fn value(amount: u32) -> Vec<u8> {
    let json = format!(
        r#"{{"x402Version":2,"error":"Payment required","resource":{{"url":"https://api.example.com/weather","description":"Weather."}},"accepts":[{{"scheme":"exact","network":"eip155:84532","amount":"{amount}"}}]}}"#
    );
    STANDARD.encode(json).into_bytes()
}

fn verdict(engine: &Engine, path: &str, value: &[u8], filler: usize) -> Verdict {
    let filler = vec![b'x'; filler];
    let headers: [HeaderLine<'_>; 2] = [(b"PAYMENT-REQUIRED", value), (b"X-Filler", &filler)];
    let request = RequestHead { method: b"GET", target: path.as_bytes(), ..RequestHead::default() };
    let response = ResponseHead { status: 402, headers: &headers, body: Body::None, ..ResponseHead::default() };
    let now = Now::read();
    match engine.on_response_late(now, &request, &response) {
        Some((exchange, verdict)) => {
            exchange.end(now, None);
            verdict
        }
        None => Verdict::pass(),
    }
}

#[test]
fn a_challenge_becomes_the_same_each_time() {
    let engine = engine();
    let first = verdict(&engine, "/weather", &value(1_000), 0);
    assert_eq!(first.edits.len(), 1);
    for _ in 0..5 {
        assert_eq!(verdict(&engine, "/weather", &value(1_000), 0), first);
    }
    assert_eq!(engine.stats().described, 6);
}

#[test]
fn another_value_on_the_same_route_is_read_anew() {
    let engine = engine();
    let often = [4_000; 40];
    for amount in [1_000, 1_000, 1_000, 2_000, 1_000, 3_000, 3_000].into_iter().chain(often) {
        let expected = verdict(&self::engine(), "/weather", &value(amount), 0);
        assert_eq!(verdict(&engine, "/weather", &value(amount), 0), expected, "{amount}");
    }
    for broken in [&b"e30="[..], b"?", b""] {
        assert_eq!(verdict(&engine, "/weather", broken, 0), Verdict::pass());
    }
    assert_eq!(verdict(&engine, "/weather", &value(3_000), 0).edits.len(), 1);
}

#[test]
fn a26_what_fitted_once_is_not_taken_to_fit_into_a_larger_head() {
    let engine = engine();
    let small = verdict(&engine, "/weather", &value(1_000), 0);
    verdict(&engine, "/weather", &value(1_000), 0);
    for filler in [1_000, 2_400, 2_600, 2_900, 3_300, 6_000, 15_700, 16_100] {
        let expected = verdict(&self::engine(), "/weather", &value(1_000), filler);
        assert_eq!(verdict(&engine, "/weather", &value(1_000), filler), expected, "{filler}");
        assert_eq!(verdict(&engine, "/weather", &value(1_000), 0), small, "and back: {filler}");
    }
}

#[test]
fn more_routes_than_are_remembered_are_all_answered_right() {
    let engine = engine();
    for round in 0..3 {
        for route in 0..300u32 {
            let made = verdict(&engine, &format!("/route/{route}"), &value(route), 0);
            assert_eq!(made, verdict(&self::engine(), "/", &value(route), 0), "{round} {route}");
        }
    }
}

/// The verdict on a head that was shown without its body first, perhaps another one.
fn shown_again(first: &[HeaderLine<'_>], second: &[HeaderLine<'_>]) -> Verdict {
    let engine = engine();
    let request = RequestHead { method: b"GET", target: b"/weather", ..RequestHead::default() };
    let now = Now::read();
    let head = |headers| ResponseHead { status: 402, headers, ..ResponseHead::default() };
    let (mut exchange, verdict) = engine.on_response_late(now, &request, &head(first)).unwrap();
    assert_eq!(verdict.action, Action::WantBody);
    let whole = ResponseHead { body: Body::Whole(b"{\"why\":\"unpaid\"}"), ..head(second) };
    let verdict = exchange.on_response(now, &whole);
    exchange.end(now, None);
    verdict
}

#[test]
fn a_head_that_was_changed_before_it_came_back_is_judged_as_it_is_now() {
    let json: HeaderLine<'_> = (b"Content-Type", b"application/json");
    let (one, other) = (value(1_000), value(2_000));
    let [asks_one, asks_other] = [&one, &other].map(|value| [(&b"PAYMENT-REQUIRED"[..], &value[..]), json]);
    let expected = shown_again(&asks_other, &asks_other);
    assert_ne!(expected, shown_again(&asks_one, &asks_one));
    assert_eq!(shown_again(&asks_one, &asks_other), expected);
    assert_eq!(shown_again(&asks_one, &[json]).edits, [], "the challenge has gone");
}
