//! The client's functions over JSON texts, as the bindings of other languages call them: same answers, strict about input.

use forge_x402::client::{
    Amount, Budget, Call, CallState, OverBudget, decide, decide_json, escalation_event, escalation_event_json,
    parse_diagnostic,
};
use forge_x402::open402::{Challenge, Proof};

const BODY: &[u8] = br#"{"diagnostic":{"code":"INVOICE_EXPIRED","reason":"authorization_expired","retry_policy":"retry_new_payment",
    "retry_after":9,"attempts":3,"since":"2026-03-10T00:00:00Z","message":"m","suggestion":"s","escalate":false,
    "correlation_id":"00c0ffee01234567","expires_at":1796038177,"facilitator_error_code":"f","client_error_code":"c"}}"#;

#[test]
fn a_diagnostic_is_the_same_after_a_trip_through_its_text() {
    let read = parse_diagnostic(&[], BODY).unwrap();
    let text = read.to_json();
    assert_eq!(forge_x402::client::ReceivedDiagnostic::from_json(&text), Some(read.clone()));
    let spaced = [b" \n", &text[..], b"\t"].concat();
    assert_eq!(forge_x402::client::ReceivedDiagnostic::from_json(&spaced), Some(read));
    for bad in [
        &b""[..],
        b"null",
        b"[]",
        b"{}",
        br#"{"code":""}"#,
        br#"{"code":7}"#,
        br#"{"code":"A"} x"#,
        b"{\"code\":\"\xff\"}",
    ] {
        assert_eq!(forge_x402::client::ReceivedDiagnostic::from_json(bad), None, "{}", String::from_utf8_lossy(bad));
    }
}

#[test]
fn decide_over_texts_is_decide() {
    let read = parse_diagnostic(&[], BODY).unwrap();
    for (json, state) in [
        ("{}", CallState::default()),
        (r#"{"payments_sent":null}"#, CallState::default()),
        (r#"{"payments_sent":1,"waits":2.0}"#, CallState { payments_sent: 1, waits: 2, ..CallState::default() }),
        (
            r#"{"payments_sent":1,"last_payment_expired":true,"within_budget":true,"retry_after_s":7}"#,
            CallState {
                payments_sent: 1,
                last_payment_expired: true,
                within_budget: true,
                retry_after_s: Some(7),
                waits: 0,
            },
        ),
        (r#"{"payments_sent":99999999999}"#, CallState { payments_sent: u32::MAX, ..CallState::default() }),
    ] {
        assert_eq!(decide_json(&read.to_json(), json.as_bytes()).unwrap(), decide(Some(&read), &state).to_json());
        for nothing in ["", "null", " null "] {
            assert_eq!(decide_json(nothing.as_bytes(), json.as_bytes()).unwrap(), decide(None, &state).to_json());
        }
    }
}

#[test]
fn a_state_or_diagnostic_that_is_none_is_an_error_and_never_a_payment() {
    for (diagnostic, state, says) in [
        ("", "", "state: not JSON"),
        ("", "[]", "state: not a JSON object"),
        ("", r#"{"payment_sent":0}"#, r#"state: no member is called "payment_sent""#),
        ("", r#"{"within_budget":"yes"}"#, "state.within_budget: not true or false"),
        ("", r#"{"payments_sent":-1}"#, "state.payments_sent: not a whole number, 0 or more"),
        ("", r#"{"waits":0.5}"#, "state.waits: not a whole number, 0 or more"),
        ("{}", "{}", "diagnostic: no JSON object with a text `code`"),
        (r#"{"code":"PAYMENT_REQUIRED""#, "{}", "diagnostic: no JSON object with a text `code`"),
    ] {
        let error = decide_json(diagnostic.as_bytes(), state.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(says), "{diagnostic} {state}: {error}");
    }
}

#[test]
fn escalation_event_over_texts_is_escalation_event() {
    let read = parse_diagnostic(&[], BODY).unwrap();
    let call = Call {
        endpoint: "https://api.example.com/weather",
        amount: Some(Amount::from_decimal("0.001").unwrap()),
        currency: Some("USDC"),
        balance: Some(Amount::ZERO),
        request_id: Some("r-1"),
        now_ms: 1_796_038_177_000,
    };
    let json = br#"{"endpoint":"https://api.example.com/weather","amount":"0.001","currency":"USDC","balance":0,
        "request_id":"r-1","now_ms":1796038177000}"#;
    assert_eq!(escalation_event_json(&read.to_json(), json).unwrap(), escalation_event(&read, &call));
    for (json, says) in [
        (r#"{"now_ms":1}"#, "call.endpoint: missing"),
        (r#"{"endpoint":"x"}"#, "call.now_ms: missing"),
        (r#"{"endpoint":"x","now_ms":1,"amount":"1e3"}"#, "call.amount: not a plain decimal"),
        (r#"{"endpoint":"x","now_ms":1,"amount":-1}"#, "call.amount: not a plain decimal"),
        (r#"{"endpoint":"x","now_ms":1,"amount":true}"#, "call.amount: not an amount"),
        (r#"{"endpoint":"x","now_ms":1,"url":"x"}"#, r#"call: no member is called "url""#),
    ] {
        let error = escalation_event_json(&read.to_json(), json.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(says), "{json}: {error}");
    }
    assert!(escalation_event_json(b"null", json).is_err());
}

#[test]
fn a_budget_of_a_text_has_its_limits_and_the_defaults() {
    let amount = |text| Amount::from_decimal(text).unwrap();
    for nothing in ["", "null", "{}", r#"{"per_day":null}"#] {
        assert_eq!(Budget::from_json(nothing.as_bytes()).unwrap().left_today(0), amount("10"));
    }
    let mut budget = Budget::from_json(br#"{"per_call":"0.5","per_minute":0.7,"per_day":1000}"#).unwrap();
    assert_eq!(budget.left_today(0), amount("1000"));
    assert_eq!(budget.spend(0, amount("0.51")), Err(OverBudget::Call));
    assert_eq!(budget.spend(0, amount("0.5")), Ok(()));
    assert_eq!(budget.spend(0, amount("0.2")), Ok(()));
    assert_eq!(budget.check(0, amount("0.000000000000000001")), Err(OverBudget::Minute));
    for (json, says) in [
        (r#"{"per_day":"1000.01"}"#, "limits.per_day: 1000.01 is above the ceiling"),
        (r#"{"per_dey":"1"}"#, r#"limits: no member is called "per_dey""#),
        (r#"{"per_call":"ten"}"#, "limits.per_call: not a plain decimal"),
        ("7", "limits: not a JSON object"),
    ] {
        let error = Budget::from_json(json.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(says), "{json}: {error}");
    }
    assert_eq!(Amount::from_text(b"1000", Some(6)).unwrap(), amount("0.001"));
    assert_eq!(Amount::from_text(b"0.001", None).unwrap(), amount("0.001"));
    for (bytes, decimals) in [(&b"\xff"[..], None), (b"0.1", Some(6)), (b"1", Some(19)), (b"", None)] {
        assert!(Amount::from_text(bytes, decimals).unwrap_err().to_string().starts_with("amount: "));
    }
}

#[test]
fn open402_objects_make_the_headers_they_were_read_from() {
    let header = br#"x402 chain="solana" token="USDC" amount="0.05" address="Addr" service_tier="basic""#;
    let json = Challenge::parse(header).unwrap().to_json();
    assert_eq!(
        String::from_utf8(json.clone()).unwrap(),
        r#"{"chain":"solana","token":"USDC","amount":"0.05","address":"Addr","service_tier":"basic"}"#
    );
    assert_eq!(Challenge::header_of_json(&json).unwrap().as_bytes(), header);
    let proof = br#"x402 tx_hash="5Kd3" payer_address="P" chain="solana" request_id="r""#;
    let json = Proof::parse(proof).unwrap().to_json();
    assert_eq!(
        String::from_utf8(json.clone()).unwrap(),
        r#"{"tx_hash":"5Kd3","payer_address":"P","chain":"solana","request_id":"r"}"#
    );
    assert_eq!(Proof::header_of_json(&json).unwrap().as_bytes(), proof);
}

#[test]
fn open402_objects_that_could_smuggle_make_no_header() {
    for (json, says) in [
        ("[]", "not a JSON object"),
        (r#"{"chain":"s","token":"U","amount":0.05,"address":"A"}"#, "amount: not a text"),
        (r#"{"chain":"s","token":"U","amount":"0","address":"A"}"#, "amount: not a plain decimal"),
        (r#"{"chain":"s","token":"U","amount":"1"}"#, "address: missing"),
        (r#"{"chain":"s","token":"U","amount":"1","address":"A\" amount=\"9"}"#, "address: holds a quote"),
        (r#"{"chain":"s\r\nX: y","token":"U","amount":"1","address":"A"}"#, "chain: holds a quote"),
        (r#"{"chain":"s","token":"U","amount":"1","address":"A","max-amount":"9"}"#, r#""max-amount": no field"#),
    ] {
        let error = Challenge::header_of_json(json.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(says), "{json}: {error}");
    }
    let error = Proof::header_of_json(br#"{"tx_hash":""}"#).unwrap_err().to_string();
    assert!(error.starts_with("tx_hash: missing"), "{error}");
}
