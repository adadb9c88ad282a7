//! What a client does with a diagnostic: every code, every policy, and the rule that none of them makes it pay more.

use forge_x402::client::{
    Action, Amount, Call, CallState, Code, ReceivedDiagnostic, RetryPolicy, Send, decide, escalation_event,
    parse_diagnostic,
};
use forge_x402::diagnostic::{CorrelationId, Diagnostic, Reason, placement};

fn diagnostic(code: Option<Code>, policy: Option<RetryPolicy>, escalate: bool) -> ReceivedDiagnostic {
    ReceivedDiagnostic {
        code: code.map_or("SOMETHING_NEW", Code::as_str).to_owned(),
        known_code: code,
        retry_policy: policy,
        escalate,
        ..ReceivedDiagnostic::default()
    }
}

fn states() -> Vec<CallState> {
    let mut all = Vec::new();
    for payments_sent in 0..4 {
        for waits in [0, 1, 5, 6, 100] {
            for (last_payment_expired, within_budget) in [(true, true), (true, false), (false, true), (false, false)] {
                for retry_after_s in [None, Some(0), Some(7), Some(u64::MAX)] {
                    all.push(CallState { payments_sent, last_payment_expired, waits, within_budget, retry_after_s });
                }
            }
        }
    }
    all
}

#[test]
fn no_diagnostic_ever_makes_a_client_pay_where_it_would_not_have() {
    let codes = Code::ALL.into_iter().map(Some).chain([None]);
    let policies: Vec<_> = RetryPolicy::ALL.into_iter().map(Some).chain([None]).collect();
    for code in codes {
        for &policy in &policies {
            for escalate in [false, true] {
                for state in states() {
                    let alone = decide(None, &state);
                    let told = decide(Some(&diagnostic(code, policy, escalate)), &state);
                    assert!(
                        told.send != Send::NewPayment || alone.send == Send::NewPayment,
                        "{code:?} {policy:?} {escalate} {state:?}"
                    );
                    assert_eq!(told.action == Action::Pay, told.send == Send::NewPayment);
                    assert!(told.send != Send::SamePayment || state.payments_sent > 0, "there is one to send");
                    assert!(told.wait_s <= 600 && (told.action == Action::Wait) == (told.wait_s > 0));
                    assert!(told.action != Action::Wait || state.waits < 6, "patience ends");
                    if escalate {
                        assert!(told.action == Action::Escalate && told.block_endpoint && told.tell_operator);
                    }
                }
            }
        }
    }
}

#[test]
fn a_code_alone_is_enough() {
    let fresh = CallState { within_budget: true, ..CallState::default() };
    let paid = CallState { payments_sent: 1, ..fresh };
    let act = |code, state: &CallState| decide(Some(&diagnostic(Some(code), None, false)), state).action;
    assert_eq!(act(Code::PaymentRequired, &fresh), Action::Pay);
    assert_eq!(act(Code::PaymentRequired, &paid), Action::Stop, "it has paid");
    assert_eq!(act(Code::InvoiceExpired, &CallState { last_payment_expired: true, ..paid }), Action::Pay);
    assert_eq!(act(Code::InvoiceExpired, &paid), Action::Wait, "its own clock says the first may still settle");
    let second = CallState { payments_sent: 2, last_payment_expired: true, ..fresh };
    assert_eq!(act(Code::InvoiceExpired, &second), Action::Stop, "one fresh payment, not two");
    assert_eq!(act(Code::PaymentUnverified, &paid), Action::Stop);
    assert!(decide(Some(&diagnostic(Some(Code::PaymentUnverified), None, false)), &paid).tell_operator);
    for code in [Code::PaymentAttemptsExceeded, Code::WalletInsufficientFunds, Code::OperatorAlert] {
        for state in [&fresh, &paid] {
            assert_eq!(act(code, state), Action::Escalate, "{code:?}");
        }
    }
}

#[test]
fn a_policy_is_followed() {
    let paid = CallState { payments_sent: 1, within_budget: true, ..CallState::default() };
    let told = |policy| decide(Some(&diagnostic(Some(Code::PaymentUnverified), Some(policy), false)), &paid);
    let same = told(RetryPolicy::RetrySamePayment);
    assert_eq!((same.action, same.send, same.wait_s), (Action::Wait, Send::SamePayment, 2));
    let backoff = told(RetryPolicy::RetryWithBackoff);
    assert_eq!((backoff.action, backoff.send), (Action::Wait, Send::SamePayment));
    assert_eq!(told(RetryPolicy::FixAndRetry).action, Action::Fix);
    assert_eq!(told(RetryPolicy::DoNotRetry).action, Action::Stop);
    assert_eq!(told(RetryPolicy::Pay).action, Action::Stop);
    let later = CallState { waits: 3, ..paid };
    let again = decide(Some(&diagnostic(None, Some(RetryPolicy::RetryWithBackoff), false)), &later);
    assert_eq!(again.wait_s, 16, "doubled with each wait");
    let asked = CallState { retry_after_s: Some(42), ..later };
    assert_eq!(decide(Some(&diagnostic(None, Some(RetryPolicy::RetryWithBackoff), false)), &asked).wait_s, 42);
}

#[test]
fn without_a_diagnostic_a_client_pays_once() {
    let fresh = CallState { within_budget: true, ..CallState::default() };
    assert_eq!(decide(None, &fresh).send, Send::NewPayment);
    assert_eq!(decide(None, &CallState { within_budget: false, ..fresh }).action, Action::Stop);
    assert_eq!(decide(None, &CallState { payments_sent: 1, ..fresh }).action, Action::Stop);
    let expired = CallState { payments_sent: 1, last_payment_expired: true, ..fresh };
    assert_eq!(decide(None, &expired).send, Send::NewPayment);
    assert_eq!(decide(None, &CallState { payments_sent: 2, ..expired }).action, Action::Stop);
    let unknown = diagnostic(None, None, false);
    assert_eq!(decide(Some(&unknown), &fresh), decide(None, &fresh), "an unknown code leaves the client's own rule");
}

fn ours(reason: Reason, escalate: bool) -> Vec<u8> {
    let facts = reason.facts();
    Diagnostic {
        code: facts.code,
        reason,
        retry_policy: facts.retry_policy,
        attempts: 8_432,
        first_attempt_ms: 1_773_100_800_000,
        now_ms: 1_773_100_800_000,
        escalate,
        correlation_id: CorrelationId(7),
        facilitator_error_code: Some("insufficient_funds".to_owned()),
        client_error_code: None,
        expires_at: Some(99),
    }
    .to_json()
}

#[test]
fn what_our_server_says_our_client_reads_in_every_place() {
    for reason in Reason::ALL {
        let json = ours(reason, false);
        let body = placement::into_body(b"{}", &json).unwrap();
        let read = parse_diagnostic(&[], &body).unwrap();
        let facts = reason.facts();
        assert_eq!((read.known_code, read.retry_policy), (Some(facts.code), Some(facts.retry_policy)));
        assert_eq!(read.reason.as_deref(), Some(facts.name));
        assert_eq!((read.attempts, read.expires_at), (Some(8_432), Some(99)));
        assert_eq!(read.correlation_id.as_deref(), Some("0000000000000007"));
        assert_eq!(read.first_attempt.as_deref(), Some("2026-03-10T00:00:00Z"));
        assert_eq!(read.facilitator_error_code.as_deref(), Some("insufficient_funds"));
        let text = String::from_utf8(json).unwrap();
        let extension = format!(r#"{{"extensions":{{"diagnostic":{{"info":{text},"schema":{{"type":"object"}}}}}}}}"#);
        assert_eq!(parse_diagnostic(&[], extension.as_bytes()).as_ref(), Some(&read), "in a body's extensions");
        use base64::Engine;
        let header = base64::engine::general_purpose::STANDARD.encode(&extension);
        let lines: &[(&[u8], &[u8])] = &[(b"PAYMENT-REQUIRED", header.as_bytes())];
        assert_eq!(parse_diagnostic(lines, b"{}").as_ref(), Some(&read), "in the header");
        let bare = format!(r#"{{"extensions":{{"diagnostic":{text}}}}}"#);
        assert_eq!(parse_diagnostic(&[], bare.as_bytes()).as_ref(), Some(&read), "without info");
    }
}

#[test]
fn other_peoples_spellings_are_read() {
    let rfc = br#"{"error":"Payment required","accepts":["x402"],"x402":{},"diagnostic":{"code":"PAYMENT_ATTEMPTS_EXCEEDED","attempts":8432,"since":"2026-03-10T00:00:00Z","message":"8,432 requests received with no valid payment in 18 days.","suggestion":"Check payment handler configuration. See https://docs.x402.org/troubleshooting","escalate":true}}"#;
    let read = parse_diagnostic(&[], rfc).unwrap();
    assert_eq!(read.known_code, Some(Code::PaymentAttemptsExceeded));
    assert!(read.escalate && read.first_attempt.as_deref() == Some("2026-03-10T00:00:00Z"));
    let camel =
        br#"{"diagnostic":{"code":"X","retryPolicy":"do_not_retry","retryAfter":9,"hint":"h","escalate":"true"}}"#;
    let read = parse_diagnostic(&[], camel).unwrap();
    assert_eq!((read.retry_policy, read.retry_after_s), (Some(RetryPolicy::DoNotRetry), Some(9)));
    assert_eq!((read.suggestion.as_deref(), read.escalate), (Some("h"), false), "only a literal true escalates");
}

#[test]
fn hostile_diagnostics_are_cut_or_ignored() {
    for body in [
        "",
        "[]",
        "{}",
        r#"{"diagnostic":1}"#,
        r#"{"diagnostic":{}}"#,
        r#"{"diagnostic":{"code":1}}"#,
        r#"{"diagnostic":{"code":""}}"#,
        r#"{"diagnostic":{"code":"A"},"diagnostic":{"code":"B"}}"#,
        r#"{"diagnostic":{"code":"A","code":"B"}}"#,
        r#"{"diagnostic":[{"code":"A"}]}"#,
    ] {
        assert_eq!(parse_diagnostic(&[], body.as_bytes()), None, "{body}");
    }
    let long = "x".repeat(100_000);
    let body = format!(
        r#"{{"diagnostic":{{"code":"A","message":"{long}","suggestion":"a\u0000\nb","correlation_id":"a b","attempts":-1,"expires_at":1e9,"retry_after":99999999999999999999}}}}"#
    );
    let read = parse_diagnostic(&[], body.as_bytes()).unwrap();
    assert_eq!(read.message.unwrap().len(), 512);
    assert_eq!(read.suggestion.as_deref(), Some("a  b"));
    assert_eq!((read.correlation_id, read.attempts, read.expires_at, read.retry_after_s), (None, None, None, None));
    let deep = format!(r#"{{"diagnostic":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(parse_diagnostic(&[], deep.as_bytes()), None);
}

#[test]
fn an_operator_gets_the_event_of_the_proposal() {
    let body = placement::into_body(b"{}", &ours(Reason::InsufficientBalance, true)).unwrap();
    let call = Call {
        endpoint: "https://api.example.com/resource",
        amount: Some(Amount::from_decimal("0.010").unwrap()),
        currency: Some("USDC"),
        balance: Some(Amount::ZERO),
        request_id: Some("mine"),
        now_ms: 1_774_742_400_000,
    };
    let event = escalation_event(&parse_diagnostic(&[], &body).unwrap(), &call);
    let expected = concat!(
        r#"{"type":"x402_escalation","endpoint":"https://api.example.com/resource","amount":0.01,"currency":"USDC","#,
        r#""balance":0,"correlation_id":"0000000000000007","diagnostic":{"code":"WALLET_INSUFFICIENT_FUNDS","#,
        r#""reason":"insufficient_balance","retry_policy":"do_not_retry","attempts":8432,"#,
        r#""firstAttempt":"2026-03-10T00:00:00Z","message":"The wallet balance is too low for this payment.","#,
        r#""suggestion":"Top up the wallet, then try again.","escalate":true,"correlation_id":"0000000000000007","#,
        r#""facilitator_error_code":"insufficient_funds","expires_at":99},"#,
        r#""timestamp":"2026-03-29T00:00:00Z"}"#
    );
    assert_eq!(String::from_utf8(event).unwrap(), expected);
    let short = escalation_event(&diagnostic(None, None, true), &Call { request_id: Some("mine"), ..Call::default() });
    let short: serde_json::Value = serde_json::from_slice(&short).unwrap();
    assert_eq!((&short["correlation_id"], &short["diagnostic"]["code"]), (&"mine".into(), &"SOMETHING_NEW".into()));
}

#[test]
fn answers_are_told_as_json() {
    let told = diagnostic(Some(Code::PaymentUnverified), Some(RetryPolicy::RetrySamePayment), false);
    let state = CallState { payments_sent: 1, within_budget: true, ..CallState::default() };
    let decision = String::from_utf8(decide(Some(&told), &state).to_json()).unwrap();
    let expected = r#"{"action":"wait","wait_s":2,"send":"same_payment","block_endpoint":false,"tell_operator":false}"#;
    assert_eq!(decision, expected);
    let once = told.to_json();
    assert_eq!(once, br#"{"code":"PAYMENT_UNVERIFIED","retry_policy":"retry_same_payment","escalate":false}"#);
    let body = placement::into_body(b"{}", &ours(Reason::SignatureInvalid, true)).unwrap();
    let read = parse_diagnostic(&[], &body).unwrap();
    let again = placement::into_body(b"{}", &read.to_json()).unwrap();
    assert_eq!(parse_diagnostic(&[], &again), Some(read), "nothing is lost");
}
