//! A challenge, v1 or v2, header or body: only ever added to, valid afterwards, and never twice.

use std::cell::RefCell;

use forge_x402::{ChallengeForm, Engine};

use crate::json::{Slot, scan};
use crate::judges::{Judges, Question};
use crate::support::{assert_unhurt, base64, choice, engines, from_base64, is_json, is_only_added_to};

thread_local! {
    static STAGE: (Vec<Engine>, RefCell<Judges>) = (engines(), RefCell::new(Judges::default()));
}

pub fn run(data: &[u8]) {
    let Some((chosen, input)) = choice(data, 12) else { return };
    STAGE.with(|(engines, judges)| {
        let engine = &engines[chosen % 4];
        let transform = |form, input: &[u8]| {
            let made = engine.transform_challenge(form, input);
            assert_unhurt(engine);
            made
        };
        let (text, made) = match chosen / 4 {
            // The value as it comes, mostly no base64 at all.
            0 => {
                let made = transform(ChallengeForm::Header, input);
                let Some(made) = made else { return };
                (from_any_base64(input), from_base64(&made))
            }
            1 => {
                let Some(made) = transform(ChallengeForm::Header, base64(input).as_bytes()) else { return };
                assert_eq!(transform(ChallengeForm::Header, &made), None, "twice is once");
                (input.to_vec(), from_base64(&made))
            }
            _ => {
                let Some(made) = transform(ChallengeForm::Body, input) else { return };
                assert_eq!(transform(ChallengeForm::Body, &made), None, "twice is once");
                (input.to_vec(), made)
            }
        };
        assert!(is_json(&text) && is_json(&made));
        assert_eq!(of(&text, "x402Version"), of(&made, "x402Version"));
        if of(&text, "x402Version").as_deref() == Some(b"2") {
            assert_eq!(of(&text, "accepts"), of(&made, "accepts"), "servers compare accepts byte for byte");
        }
        if of(&text, "extensions").as_deref() != Some(b"null") {
            assert!(is_only_added_to(&text, &made));
        }
        judges.borrow_mut().ask(Question::Challenge, &text, &made);
    });
}

fn of(text: &[u8], name: &str) -> Option<Vec<u8>> {
    match &scan::document(text, [name]).ok()?.slots[0] {
        Slot::One(range) => Some(text[range.clone()].to_vec()),
        _ => None,
    }
}

fn from_any_base64(value: &[u8]) -> Vec<u8> {
    let mut standard: Vec<u8> = value
        .iter()
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            other => *other,
        })
        .collect();
    while !standard.len().is_multiple_of(4) {
        standard.push(b'=');
    }
    from_base64(&standard)
}
