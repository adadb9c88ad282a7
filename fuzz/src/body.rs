//! A whole exchange, paid or not, with arbitrary response heads and bodies: no panic, no broken head, no broken body.
//!
//! Input: a byte of choices, a status byte, header lines up to an empty line, the body.

use forge_x402::{Action, Body, Engine, HeaderLine, Outcome, RequestHead, ResponseHead, Verdict};

use crate::support::{NOW, assert_unhurt, choice, engines, is_json, is_only_added_to, payment};

thread_local! {
    static STAGE: (Vec<Engine>, String) = (engines(), payment());
}

const STATUSES: [u16; 16] = [200, 402, 200, 402, 201, 204, 206, 400, 403, 409, 422, 304, 500, 101, 103, 999];

pub fn run(data: &[u8]) {
    let Some((chosen, rest)) = choice(data, 128) else { return };
    let Some((status, rest)) = choice(rest, STATUSES.len()) else { return };
    let (lines, body) = match memchr::memmem::find(rest, b"\n\n") {
        Some(at) => (&rest[..at], &rest[at + 2..]),
        None => (&rest[..0], rest),
    };
    let headers: Vec<HeaderLine<'_>> = lines
        .split(|byte| *byte == b'\n')
        .filter_map(|line| memchr::memchr(b':', line).map(|at| (&line[..at], &line[at + 1..])))
        .collect();
    STAGE.with(|(engines, payment)| {
        let engine = &engines[chosen % 4];
        let paid = chosen & 4 != 0;
        let method: &[u8] = if chosen & 8 != 0 { b"HEAD" } else { b"GET" };
        let request_headers =
            [(&b"PAYMENT-SIGNATURE"[..], payment.as_bytes()), (b"Origin", b"https://shop.example.net")];
        let request = RequestHead {
            method,
            target: b"/weather?city=Oslo",
            client_ip: b"192.0.2.7",
            headers: &request_headers[usize::from(!paid)..],
            ..RequestHead::default()
        };
        let head = ResponseHead {
            status: STATUSES[status],
            headers: &headers,
            head_first: chosen & 16 != 0,
            ..Default::default()
        };
        let whole = ResponseHead { body: Body::Whole(body), ..head };
        let first = if chosen & 32 != 0 { whole } else { head };
        let begun = match engine.on_request(NOW, &request) {
            Some((mut exchange, _)) => {
                let verdict = exchange.on_response(NOW, &first);
                Some((exchange, verdict))
            }
            None => engine.on_response_late(NOW, &request, &first),
        };
        if let Some((mut exchange, mut verdict)) = begun {
            check(&verdict, &headers, body);
            if verdict.action == Action::WantBody {
                verdict = exchange.on_response(NOW, &whole);
                check(&verdict, &headers, body);
                assert_ne!(verdict.action, Action::WantBody, "a body is asked for once");
            }
            if chosen & 64 != 0 {
                exchange.on_response(NOW, &whole);
            }
            exchange.end(NOW, Some(Outcome::Delivered { status: STATUSES[status], body_bytes: body.len() as u64 }));
        }
        assert_unhurt(engine);
    });
}

fn check(verdict: &Verdict, headers: &[HeaderLine<'_>], body: &[u8]) {
    for edit in &verdict.edits {
        // What the merchant's own lines had in them may come back; nothing else that ends a line.
        let theirs = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(edit.name.as_bytes()));
        assert!(theirs || !edit.value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)), "{edit:?}");
    }
    if let Some(made) = &verdict.body {
        let length = made.len();
        let made = made.clone().whole(body);
        assert_eq!(made.len(), length);
        assert!(is_only_added_to(body, &made) || memchr::memmem::find(body, b"null").is_some());
        if is_json(body) {
            assert!(is_json(&made) || made.ends_with(b"&outcome=\n"), "valid JSON became something else");
        }
    }
}
