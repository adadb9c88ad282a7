//! A receipt: only a successful one gains the extension, by addition alone.

use std::cell::RefCell;

use forge_x402::Engine;

use crate::judges::{Judges, Question};
use crate::support::{assert_unhurt, base64, choice, engines, from_base64, id, is_json, is_only_added_to};

thread_local! {
    static STAGE: (Vec<Engine>, RefCell<Judges>) = (engines(), RefCell::new(Judges::default()));
}

pub fn run(data: &[u8]) {
    let Some((chosen, text)) = choice(data, 4) else { return };
    STAGE.with(|(engines, judges)| {
        let engine = &engines[chosen];
        let id = id(engine);
        engine.enrich_receipt(text, id.as_str().as_bytes());
        let made = engine.enrich_receipt(base64(text).as_bytes(), id.as_str().as_bytes());
        assert_unhurt(engine);
        let Some(made) = made else { return };
        assert_eq!(engine.enrich_receipt(&made, id.as_str().as_bytes()), None, "twice is once");
        let made = from_base64(&made);
        assert!(is_json(text) && is_json(&made));
        let was_null = memchr::memmem::find(text, b"null").is_some();
        assert!(was_null || is_only_added_to(text, &made));
        assert!(memchr::memmem::find(&made, id.as_str().as_bytes()).is_some());
        judges.borrow_mut().ask(Question::Receipt, text, &made);
    });
}
