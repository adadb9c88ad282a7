//! An OpenAPI document: whatever comes out is JSON with everything that went in.

use std::cell::RefCell;

use forge_x402::Engine;

use crate::judges::{Judges, Question};
use crate::support::{assert_unhurt, choice, engines, is_json};

thread_local! {
    static STAGE: (Vec<Engine>, RefCell<Judges>) = (engines(), RefCell::new(Judges::default()));
}

pub fn run(data: &[u8]) {
    let Some((chosen, text)) = choice(data, 4) else { return };
    STAGE.with(|(engines, judges)| {
        let engine = &engines[chosen];
        let made = engine.enrich_openapi(text);
        assert_unhurt(engine);
        let Some(made) = made else { return };
        assert!(is_json(text) && is_json(&made));
        judges.borrow_mut().ask(Question::OpenApi, text, &made);
    });
}
