//! The protocol of an exchange. Bytes of each document are held by the conformance cases.

use super::*;
use crate::http::envelope;
use crate::verdict::{Action, EditOp};

const NOW: Now = Now { unix_ms: 1_796_000_000_999, monotonic_ms: 1 };

fn engine(more: &str) -> Engine {
    Engine::open(
        format!(r#"{{"api_key":"ffk_fake","public_url":"https://api.example.com","strict":true{more}}}"#).as_bytes(),
    )
    .unwrap()
}

fn payment() -> Vec<u8> {
    envelope::encode(br#"{"x402Version":2,"payload":{},"accepted":{},"resource":{"url":"https://shop.example/x"}}"#)
}

fn receipt(success: bool) -> Vec<u8> {
    envelope::encode(format!(r#"{{"success":{success},"transaction":"0xfake","network":"eip155:84532"}}"#).as_bytes())
}

fn paid<'a>(headers: &'a [HeaderLine<'a>]) -> RequestHead<'a> {
    RequestHead { method: b"GET", target: b"/weather?city=Oslo", headers, ..RequestHead::default() }
}

fn value<'v>(verdict: &'v Verdict, name: &str) -> Option<&'v str> {
    verdict
        .edits
        .iter()
        .find(|edit| edit.name == name && edit.op == EditOp::Set)
        .map(|edit| std::str::from_utf8(&edit.value).unwrap())
}

#[test]
fn d01_a_junk_payment_header_is_no_payment() {
    for junk in [&b"junk"[..], b"e30=", b"", b"bm90IGpzb257"] {
        let headers = [(&b"PAYMENT-SIGNATURE"[..], junk)];
        assert!(engine("").on_request(NOW, &paid(&headers)).is_none(), "{junk:?}");
    }
}

#[test]
fn a_paid_answer_is_asked_for_and_gets_one_id_everywhere() {
    let engine = engine("");
    let (payment, receipt) = (payment(), receipt(true));
    let headers = [(&b"payment-signature"[..], &payment[..])];
    let (mut exchange, verdict) = engine.on_request(NOW, &paid(&headers)).unwrap();
    assert_eq!(verdict, Verdict::pass());
    let answer = [
        (&b"Content-Type"[..], &b"application/json"[..]),
        (b"Content-Length", b"7"),
        (b"ETag", b"\"x\""),
        (b"PAYMENT-RESPONSE", &receipt),
    ];
    let mut response = ResponseHead { status: 200, headers: &answer, ..ResponseHead::default() };
    let first = exchange.on_response(NOW, &response);
    assert_eq!((first.action, first.body_limit), (Action::WantBody, 1 << 20));
    let id = first.feedback_id.unwrap();
    let id = id.as_str();
    response.body = Body::Whole(br#"{"a":1}"#);
    let second = exchange.on_response(NOW, &response);
    assert_eq!(value(&second, "Forge-Feedback-Id"), Some(id));
    let body = String::from_utf8(second.body.clone().unwrap().whole(br#"{"a":1}"#)).unwrap();
    assert!(body.starts_with(&format!(r#"{{"a":1,"feedback_id":"{id}","feedback_url":"https://api.example.com/feedback/rate?feedback_id={id}&outcome=""#)));
    assert_eq!(value(&second, "Content-Length"), Some(body.len().to_string().as_str()));
    let text = envelope::decode(value(&second, "PAYMENT-RESPONSE").unwrap().as_bytes()).unwrap();
    assert!(String::from_utf8(text).unwrap().contains(id));
    assert!(second.edits.iter().any(|edit| edit.op == EditOp::Remove && edit.name == "ETag"));
    assert!(matches!(engine.verify_id(id.as_bytes(), NOW), crate::Verification::Valid { .. }));
    // Out of order: nothing happens, and it is counted.
    assert_eq!(exchange.on_response(NOW, &response), Verdict::pass());
    assert_eq!(engine.stats().skips, [("out_of_order", 1)]);
}

#[test]
fn b03_no_id_when_settlement_is_known_to_have_failed() {
    let engine = engine("");
    let (payment, receipt) = (payment(), receipt(false));
    let headers = [(&b"PAYMENT-SIGNATURE"[..], &payment[..])];
    let (mut exchange, _) = engine.on_request(NOW, &paid(&headers)).unwrap();
    let answer = [(&b"content-type"[..], &b"application/json"[..]), (b"payment-response", &receipt)];
    let response = ResponseHead { status: 200, headers: &answer, body: Body::Whole(b"{}"), ..ResponseHead::default() };
    assert_eq!(exchange.on_response(NOW, &response), Verdict::pass());
    assert_eq!(engine.stats().minted, 0);
}

#[test]
fn l09_a_route_that_settles_gives_no_id_without_a_receipt() {
    let engine = engine("");
    let (payment, receipt) = (payment(), receipt(true));
    let headers = [(&b"PAYMENT-SIGNATURE"[..], &payment[..])];
    let ask = |answer: &[HeaderLine]| {
        let (mut exchange, _) = engine.on_request(NOW, &paid(&headers)).unwrap();
        exchange.on_response(NOW, &ResponseHead { status: 200, headers: answer, ..ResponseHead::default() }).feedback_id
    };
    assert!(ask(&[]).is_some(), "before any receipt");
    assert!(ask(&[(b"payment-response", &receipt)]).is_some());
    assert!(ask(&[]).is_none(), "the route settles, so this one was not paid");
}

#[test]
fn d19_the_payer_does_not_choose_the_origin() {
    let engine = Engine::open(br#"{"api_key":"ffk_fake","strict":true}"#).unwrap();
    let payment = payment();
    let headers =
        [(&b"PAYMENT-SIGNATURE"[..], &payment[..]), (b"Host", b"evil.example"), (b"X-Forwarded-Host", b"evil.example")];
    let link = |engine: &Engine| {
        let (mut exchange, _) = engine.on_request(NOW, &paid(&headers)).unwrap();
        let answer = [(&b"content-type"[..], &b"application/json"[..])];
        let response =
            ResponseHead { status: 200, headers: &answer, body: Body::Whole(b"{}"), ..ResponseHead::default() };
        let body = String::from_utf8(exchange.on_response(NOW, &response).body.unwrap().whole(b"{}")).unwrap();
        body.split("feedback_url\":\"").nth(1).unwrap().split('?').next().unwrap().to_owned()
    };
    assert_eq!(link(&engine), "/feedback/rate");
    // Once this process has challenged with that origin, the payer's copy is an echo and counts.
    let challenge =
        envelope::encode(br#"{"x402Version":2,"resource":{"url":"https://shop.example/x"},"accepts":[{}]}"#);
    let answer = [(&b"PAYMENT-REQUIRED"[..], &challenge[..])];
    let response = ResponseHead { status: 402, headers: &answer, ..ResponseHead::default() };
    assert!(engine.on_response_late(NOW, &paid(&[]), &response).is_some());
    assert_eq!(link(&engine), "https://shop.example/feedback/rate");
}

#[test]
fn a_head_that_leaves_first_does_without_length_and_its_body_comes_alone() {
    let engine = engine("");
    let payment = payment();
    let headers = [(&b"PAYMENT-SIGNATURE"[..], &payment[..])];
    let (mut exchange, _) = engine.on_request(NOW, &paid(&headers)).unwrap();
    let answer = [(&b"content-type"[..], &b"application/json"[..]), (b"content-length", b"2"), (b"etag", b"x")];
    let mut response = ResponseHead { status: 200, headers: &answer, head_first: true, ..ResponseHead::default() };
    let first = exchange.on_response(NOW, &response);
    assert_eq!(first.action, Action::WantBody);
    for name in ["Content-Length", "ETag"] {
        assert!(first.edits.iter().any(|edit| edit.op == EditOp::Remove && edit.name == name), "{name}");
    }
    response.body = Body::Whole(b"{}");
    let second = exchange.on_response(NOW, &response);
    assert!(second.edits.is_empty() && second.body.unwrap().whole(b"{}").starts_with(br#"{"feedback_id":"#));
}

#[test]
fn options_with_a_fault_let_everything_pass() {
    let engine = Engine::open(br#"{"api_key":"ffk_fake","nonsense":1}"#).unwrap();
    assert_eq!(engine.faults().len(), 1);
    let payment = payment();
    assert!(engine.on_request(NOW, &paid(&[(b"PAYMENT-SIGNATURE", &payment)])).is_none());
    assert_eq!(engine.transform_challenge(crate::ChallengeForm::Body, br#"{"x402Version":1,"accepts":[{}]}"#), None);
    assert!(Engine::open(br#"{"api_key":"ffk_fake","nonsense":1,"strict":true}"#).is_err());
}

#[test]
fn a_body_that_the_head_has_no_room_for_leaves_no_edit_behind() {
    let engine = engine("");
    let (payment, receipt) = (payment(), receipt(true));
    let headers = [(&b"payment-signature"[..], &payment[..])];
    let mut seen = [0; 2];
    for filling in (3_000..3_840).step_by(2) {
        let fill = vec![b'x'; filling];
        let answer = [
            (&b"Content-Type"[..], &b"application/json"[..]),
            (b"Content-Length", b"7"),
            (b"PAYMENT-RESPONSE", &receipt),
            (b"X-Fill", &fill),
        ];
        let (mut exchange, _) = engine.on_request(NOW, &paid(&headers)).unwrap();
        let body = Body::Whole(br#"{"a":1}"#);
        let verdict =
            exchange.on_response(NOW, &ResponseHead { status: 200, headers: &answer, body, ..ResponseHead::default() });
        let needed = ["Accept-Ranges", "Content-Length"].map(|name| value(&verdict, name).is_some());
        assert_eq!(needed, [verdict.body.is_some(); 2], "{filling} bytes");
        if value(&verdict, "Forge-Feedback-Id").is_some() {
            seen[usize::from(verdict.body.is_some())] += 1;
        }
    }
    assert!(seen[0] > 0 && seen[1] > 0, "with and without room: {seen:?}");
}
