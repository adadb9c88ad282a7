//! The scanner agrees with the reference on every text; a spliced body keeps every outside byte and parses the same in
//! Python and JavaScript.

use std::cell::RefCell;

use forge_x402::Engine;

use crate::json::scan;
use crate::judges::{Judges, Question};
use crate::support::{assert_unhurt, choice, engines, id, is_json};

thread_local! {
    static STAGE: (Vec<Engine>, RefCell<Judges>) = (engines(), RefCell::new(Judges::default()));
}

pub fn run(data: &[u8]) {
    let Some((chosen, text)) = choice(data, 4) else { return };
    let is_valid = is_json(text);
    assert_eq!(scan::is_valid(text), is_valid, "the scanner and the reference disagree");
    STAGE.with(|(engines, judges)| {
        let engine = &engines[chosen];
        let id = id(engine);
        let made = engine.enrich_body(text, id.as_str().as_bytes());
        assert_unhurt(engine);
        let is_object = is_valid && text.trim_ascii_start().first() == Some(&b'{');
        let Some(made) = made else {
            let may_be_ours = [&b"feedback"[..], b"rate_this_call", b"\\"]
                .iter()
                .any(|name| memchr::memmem::find(text, name).is_some());
            assert!(!is_object || may_be_ours, "a plain object was left alone");
            return;
        };
        assert!(is_object);
        let close = memchr::memrchr(b'}', text).expect("an object ends in a brace");
        let behind = text.len() - close;
        assert_eq!(made[..close], text[..close]);
        assert_eq!(made[made.len() - behind..], text[close..]);
        assert!(made[close..made.len() - behind].is_ascii());
        assert!(is_json(&made));
        judges.borrow_mut().ask(Question::Body, text, &made);
    });
}
