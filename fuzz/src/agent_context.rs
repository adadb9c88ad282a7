//! What an agent says of itself is cut out of targets and bodies; every other byte stays where it was.
//!
//! Input: a byte of choices, the target up to a newline, the body.

use forge_x402::{Action, Engine, HeaderLine, RequestHead};

use crate::support::{NOW, assert_unhurt, choice, engines, is_json, is_only_added_to, payment};

thread_local! {
    static STAGE: (Vec<Engine>, String) = (engines(), payment());
}

pub fn run(data: &[u8]) {
    let Some((chosen, rest)) = choice(data, 16) else { return };
    let at = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    let (target, body) = (&rest[..at], rest.get(at + 1..).unwrap_or_default());
    STAGE.with(|(engines, payment)| {
        let engine = &engines[chosen % 4];
        let length = body.len().to_string();
        let all: [HeaderLine<'_>; 3] = [
            (b"Content-Type", if chosen & 8 != 0 { b"text/plain" } else { b"application/json" }),
            (b"Content-Length", length.as_bytes()),
            (b"PAYMENT-SIGNATURE", payment.as_bytes()),
        ];
        let headers = &all[..if chosen & 4 != 0 { 2 } else { 3 }];
        let request = RequestHead { method: b"POST", target, headers, ..RequestHead::default() };
        if let Some((mut exchange, verdict)) = engine.on_request(NOW, &request) {
            if let Some(cut) = &verdict.target {
                assert!(is_only_added_to(cut, target), "a target gained something");
            }
            if verdict.action == Action::WantBody {
                let verdict = exchange.on_request_body(NOW, body);
                if let Some(cut) = verdict.body
                    && verdict.action == Action::Pass
                {
                    let cut = cut.whole(body);
                    assert!(is_json(body) && is_json(&cut));
                    assert!(is_only_added_to(&cut, body), "a body gained something");
                }
            }
        }
        assert_unhurt(engine);
    });
}
