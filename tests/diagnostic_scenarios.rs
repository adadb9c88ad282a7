//! The scenarios of fixtures/diagnostic-scenarios.md, one test each, by number; and four more that real services met.

use forge_x402::diagnostic::classify::classify;
use forge_x402::diagnostic::{
    Brought, Code, Diagnostic, DiagnosticOptions, Diagnostics, Exchange, Failure, Observed, Payer, Phase, Reason,
    Request, RetryPolicy,
};

const EXPIRED: &str = "invalid_exact_evm_payload_authorization_valid_before";
const BAD_SIGNATURE: &str = "invalid_exact_evm_payload_signature";
const SECOND: u64 = 1_000;
const DAY: u64 = 86_400 * SECOND;
/// 2026-03-10T00:00:00Z.
const START: u64 = 1_773_100_800_000;

/// A merchant, and time from [`START`] on in milliseconds.
struct Merchant(Diagnostics);

impl Merchant {
    fn new() -> Merchant {
        Merchant(Diagnostics::new(DiagnosticOptions::default()))
    }

    fn leg(&self, at: u64, client: &Request<'_>) -> Observed {
        self.0.observe(START + at, client, Exchange::Unpaid)
    }

    fn pay(&self, at: u64, client: &Request<'_>, error: &str) -> Observed {
        self.0.observe(START + at, client, Exchange::Failed(&failure(error)))
    }

    fn ok(&self, at: u64, client: &Request<'_>) {
        assert_eq!(self.0.observe(START + at, client, Exchange::Settled), Observed::default());
    }
}

fn failure(error: &str) -> Failure {
    classify(Some(error), Phase::Verify, Brought::Payment).unwrap()
}

fn client<'a>(ip: &'a str, user_agent: &'a str) -> Request<'a> {
    Request { client_ip: ip, user_agent: user_agent.as_bytes(), ..Request::default() }
}

fn with<'a>(request: Request<'a>, credential: &'a str) -> Request<'a> {
    Request { credential: Some(credential.as_bytes()), ..request }
}

fn said(observed: &Observed) -> (&'static str, &'static str, &'static str, bool) {
    let diagnostic = observed.diagnostic.as_ref().expect("a diagnostic");
    let reason = diagnostic.reason.facts().name;
    (diagnostic.code.as_str(), reason, diagnostic.retry_policy.as_str(), diagnostic.escalate)
}

fn json(diagnostic: &Diagnostic) -> serde_json::Value {
    serde_json::from_slice(&diagnostic.to_json()).unwrap()
}

#[test]
fn s01_a_paying_client_hears_nothing() {
    let merchant = Merchant::new();
    let a = client("203.0.113.1", "agent");
    merchant.ok(0, &a);
    assert_eq!(merchant.leg(5 * SECOND, &a), Observed::default());
}

#[test]
fn s02_a_broken_agent_of_18_days_is_told_and_one_event_says_so() {
    let merchant = Merchant::new();
    let a = client("203.0.113.1", "python-requests/2.34");
    let total = 144_000u64;
    let (mut events, mut ids) = (0, std::collections::HashSet::new());
    let mut last = None;
    for index in 0..total {
        let observed = merchant.leg(index * 18 * DAY / (total - 1), &a);
        events += usize::from(observed.escalation.is_some());
        if index + 1 < 100 {
            assert_eq!(observed, Observed::default(), "attempt {}", index + 1);
            continue;
        }
        let expected = ("PAYMENT_ATTEMPTS_EXCEEDED", "no_payment", "do_not_retry", true);
        assert_eq!(said(&observed), expected, "attempt {}", index + 1);
        let diagnostic = observed.diagnostic.unwrap();
        ids.insert(diagnostic.correlation_id.to_string());
        last = Some(diagnostic);
    }
    let last = last.unwrap();
    assert_eq!((events, ids.len(), last.attempts), (1, 1, total));
    assert_eq!(json(&last)["message"], "144,000 requests received with no valid payment in 18 days.");
    assert_eq!(json(&last)["since"], "2026-03-10T00:00:00Z");
}

#[test]
fn s03_a_developer_who_tries_nine_times_is_helped_and_not_reported() {
    let merchant = Merchant::new();
    let a = client("203.0.113.1", "curl");
    for index in 0..9u64 {
        let credential = format!("attempt {index}");
        let observed = merchant.pay(index * 442 * SECOND / 8, &with(a, &credential), "invalid_payload");
        assert_eq!(said(&observed), ("PAYMENT_UNVERIFIED", "malformed_payment", "fix_and_retry", false));
        assert_eq!(observed.escalation, None);
    }
    merchant.ok(450 * SECOND, &a);
    let again = merchant.pay(460 * SECOND, &a, "invalid_payload");
    assert_eq!(again.diagnostic.unwrap().attempts, 1, "reset by the payment");
}

#[test]
fn s04_ten_thousand_purchases_never_lead_to_a_word() {
    let merchant = Merchant::new();
    let a = client("203.0.113.1", "agent");
    for index in 0..10_000 {
        assert_eq!(merchant.leg(index * SECOND, &a), Observed::default());
        merchant.ok(index * SECOND + 500, &a);
    }
}

#[test]
fn s05_after_a_payment_nobody_at_that_address_is_escalated_for_a_day() {
    let merchant = Merchant::new();
    merchant.ok(0, &client("203.0.113.2", "payer"));
    let other = client("203.0.113.2", "other");
    for index in 0..200 {
        assert_eq!(merchant.leg(index * 18 * SECOND, &other), Observed::default());
    }
    let next_day = merchant.leg(DAY + SECOND, &other);
    assert!(said(&next_day).3, "and after the day it is");
}

#[test]
fn s06_an_error_that_proves_nothing_counts_for_nobody_named_in_it() {
    let merchant = Merchant::new();
    let named = |ip| Request { payer: Payer::Claimed("0xVictim"), ..client(ip, "x") };
    for index in 0..150 {
        let credential = format!("forged {index}");
        merchant.pay(index * SECOND, &with(named("203.0.113.3"), &credential), EXPIRED);
    }
    let victim = merchant.pay(200 * SECOND, &with(named("198.51.100.4"), "its own"), EXPIRED);
    assert_eq!(said(&victim), ("INVOICE_EXPIRED", "authorization_expired", "retry_new_payment", false));
    assert_eq!(victim.diagnostic.unwrap().attempts, 1);
}

#[test]
fn s07_an_empty_wallet_is_for_a_person_at_once_and_forgotten_once_filled() {
    let merchant = Merchant::new();
    let a = with(client("203.0.113.1", "agent"), "c1");
    let observed = merchant.pay(0, &a, "insufficient_funds");
    assert_eq!(said(&observed), ("WALLET_INSUFFICIENT_FUNDS", "insufficient_balance", "do_not_retry", true));
    assert!(observed.escalation.is_some());
    merchant.ok(10 * SECOND, &a);
    assert_eq!(merchant.leg(20 * SECOND, &a), Observed::default());
}

#[test]
fn s08_a_second_expiry_in_a_row_is_for_a_person() {
    let by_address = |_| client("203.0.113.1", "agent");
    let by_payer = |turn: usize| Request {
        payer: Payer::Proven("0xPayer"),
        ..client(["203.0.113.1", "198.51.100.7"][turn], ["a", "b"][turn])
    };
    let same: [&dyn Fn(usize) -> Request<'static>; 2] = [&by_address, &by_payer];
    for client_of in same {
        let merchant = Merchant::new();
        let first = merchant.pay(0, &with(client_of(0), "c1"), EXPIRED);
        // The unpaid leg in between belongs to every retry.
        merchant.leg(4 * SECOND, &client_of(1));
        let second = merchant.pay(5 * SECOND, &with(client_of(1), "c2"), EXPIRED);
        let expected = |escalate| ("INVOICE_EXPIRED", "authorization_expired", "retry_new_payment", escalate);
        assert_eq!((said(&first), said(&second)), (expected(false), expected(true)));
    }
}

#[test]
fn s09_a_payment_on_its_way_is_sent_again_never_made_again_and_never_counted() {
    for error in ["Payment not confirmed on-chain", "settlement_pending"] {
        let merchant = Merchant::new();
        let a = with(client("203.0.113.1", "agent"), "c");
        for index in 0..5 {
            let observed = merchant.pay(index * 100 * SECOND, &a, error);
            assert_eq!(said(&observed), ("PAYMENT_UNVERIFIED", "settlement_pending", "retry_same_payment", false));
            assert_eq!(observed.diagnostic.unwrap().attempts, 0);
        }
    }
}

#[test]
fn s10_a_payment_used_before_is_no_attempt() {
    let merchant = Merchant::new();
    let a = with(client("203.0.113.1", "agent"), "c");
    for index in 0..20 {
        let observed = merchant.pay(index * 100 * SECOND, &a, "invalid_exact_evm_nonce_already_used");
        assert_eq!(said(&observed), ("PAYMENT_UNVERIFIED", "payment_already_used", "do_not_retry", false));
        assert_eq!(observed.diagnostic.unwrap().attempts, 0);
    }
}

#[test]
fn s11_an_outage_of_the_facilitator_is_one_notice_and_no_clients_fault() {
    let merchant = Merchant::new();
    let mut notices = 0;
    for index in 0..500u64 {
        let (ip, credential) = (format!("203.0.113.{}", index % 50), format!("c{index}"));
        let a = client(&ip, "agent");
        let observed =
            merchant.pay(index * SECOND, &with(a, &credential), "Facilitator verify failed (500): <html>oops</html>");
        assert_eq!(said(&observed), ("PAYMENT_REQUIRED", "facilitator_unavailable", "retry_with_backoff", false));
        assert_eq!(observed.diagnostic.unwrap().attempts, 0);
        notices += usize::from(observed.merchant_notice.is_some());
    }
    assert_eq!(notices, 1);
    merchant.ok(DAY, &client("203.0.113.1", "agent"));
    let next = merchant.pay(DAY + SECOND, &client("203.0.113.1", "agent"), "Facilitator verify failed (500): x");
    assert!(next.merchant_notice.is_some(), "the next outage is news again");
}

#[test]
fn s12_a_stale_request_keeps_its_payment() {
    let merchant = Merchant::new();
    let body = br#"{"error":"Replay rejected","detail":"Request too old (45.0s > 30s window)"}"#;
    let failure = forge_x402::diagnostic::classify::from_open402_body(body, Brought::Proof).unwrap();
    let a = with(client("203.0.113.1", "ag402"), "x402 h");
    let observed = merchant.0.observe(START, &a, Exchange::Failed(&failure));
    assert_eq!(said(&observed), ("PAYMENT_UNVERIFIED", "stale_request_timestamp", "retry_same_payment", false));
    assert_eq!(json(observed.diagnostic.as_ref().unwrap())["client_error_code"], "request_too_old");
}

#[test]
fn s13_a_million_networks_stay_within_the_bound() {
    let merchant = Merchant::new();
    let mut largest = 0;
    for index in 0..1_000_000u64 {
        let ip = format!("2001:db8:{:x}:{:x}::1", index >> 16, index & 0xFFFF);
        assert_eq!(merchant.leg(index, &client(&ip, "flood")), Observed::default());
        largest = largest.max(if index % 4_096 == 0 { merchant.0.keys_held() } else { 0 });
    }
    assert_eq!((largest, merchant.0.keys_held()), (16_384, 16_384));
}

#[test]
fn s14_seven_addresses_escalate_each_on_its_own_and_the_agent_id_groups_the_events() {
    let merchant = Merchant::new();
    let mut events = Vec::new();
    for turn in 0..101u64 {
        for host in 1..=7 {
            let ip = format!("203.0.113.{host}");
            let a = Request { agent_id: Some("fleet-1"), ..client(&ip, "fleet") };
            let observed = merchant.leg(turn * 6 * SECOND, &a);
            assert_eq!(observed.diagnostic.is_some(), turn >= 99, "turn {turn}");
            events.extend(observed.escalation);
        }
    }
    assert_eq!(events.len(), 7);
    let ids: std::collections::HashSet<_> = events.iter().map(|event| event.correlation_id).collect();
    assert_eq!(ids.len(), 7);
    assert!(events.iter().all(|event| event.agent_id.as_deref() == Some("fleet-1") && event.attempts == 100));
}

#[test]
fn s15_an_address_that_tells_nobody_apart_is_no_key() {
    for ip in [
        "",
        "127.0.0.1",
        "::1",
        "10.1.2.3",
        "192.168.0.1",
        "172.16.0.9",
        "169.254.1.1",
        "100.64.0.1",
        "fd00::1",
        "fe80::1",
        "::ffff:127.0.0.1",
        "0.0.0.0",
        "unknown",
        "203.0.113.1, 10.0.0.1",
    ] {
        let merchant = Merchant::new();
        for index in 0..5_000 {
            assert_eq!(merchant.leg(index * SECOND, &client(ip, "x")), Observed::default(), "{ip}");
        }
        assert_eq!(merchant.0.keys_held(), 0, "{ip}");
    }
    let counted =
        Merchant(Diagnostics::new(DiagnosticOptions { count_private_ips: true, ..DiagnosticOptions::default() }));
    for index in 0..99 {
        counted.leg(index * SECOND, &client("127.0.0.1", "x"));
    }
    assert!(counted.leg(99 * SECOND, &client("127.0.0.1", "x")).escalation.is_some(), "unless the option says so");
}

#[test]
fn s16_a_burst_of_first_requests_is_no_failure() {
    let merchant = Merchant::new();
    let a = client("203.0.113.1", "agent");
    for index in 0..150 {
        assert_eq!(merchant.leg(index * 6, &a), Observed::default());
    }
    merchant.ok(SECOND, &a);
    assert_eq!(merchant.leg(120 * SECOND, &a), Observed::default());
}

#[test]
fn s17_a_signer_that_is_broken_is_for_a_person_at_the_third_and_exceeds_at_the_hundredth() {
    let merchant = Merchant::new();
    let a = client("203.0.113.1", "agent");
    let mut events = 0;
    for index in 1..=120u64 {
        let credential = format!("fresh {index}");
        let observed = merchant.pay((index - 1) * 5 * SECOND, &with(a, &credential), BAD_SIGNATURE);
        let code = if index < 100 { "PAYMENT_UNVERIFIED" } else { "PAYMENT_ATTEMPTS_EXCEEDED" };
        assert_eq!(said(&observed), (code, "signature_invalid", "do_not_retry", index >= 3), "attempt {index}");
        events += usize::from(observed.escalation.is_some());
    }
    assert_eq!(events, 1);
}

#[test]
fn s18_two_workers_count_each_their_half() {
    let workers = [Merchant::new(), Merchant::new()];
    let a = client("203.0.113.1", "agent");
    for index in 0..198u64 {
        assert_eq!(workers[index as usize % 2].leg(index * SECOND, &a), Observed::default());
    }
    for (offset, worker) in workers.iter().enumerate() {
        let observed = worker.leg((198 + offset as u64) * SECOND, &a);
        assert_eq!(observed.diagnostic.unwrap().attempts, 100);
    }
}

#[test]
fn a_clock_30_seconds_off_fails_twice_and_is_named() {
    // Signed 30 s in the future: not yet valid, however often it is repeated.
    let merchant = Merchant::new();
    let a = client("203.0.113.1", "agent");
    let error = "invalid_exact_evm_payload_authorization_valid_after";
    let first = merchant.pay(0, &with(a, "c1"), error);
    assert_eq!(said(&first), ("INVOICE_EXPIRED", "authorization_not_yet_valid", "retry_with_backoff", false));
    assert!(json(first.diagnostic.as_ref().unwrap())["suggestion"].as_str().unwrap().contains("clock"));
    assert!(said(&merchant.pay(30 * SECOND, &with(a, "c2"), error)).3);
}

#[test]
fn a_settlement_that_timed_out_never_leads_to_a_second_payment() {
    let timed_out = [
        ("settle_exact_evm_transaction_confirmation_timed_out", Phase::Settle),
        ("Facilitator settle failed (504): upstream timed out", Phase::Settle),
        ("Facilitator settle failed (500): oops", Phase::Settle),
        ("unexpected_settle_error", Phase::Settle),
        ("Settlement failed", Phase::Settle),
        ("request timed out after 30000ms", Phase::Settle),
        ("fetch failed", Phase::Settle),
        ("", Phase::Settle),
        ("something nobody has seen before", Phase::Settle),
        ("Failed to settle payment: 503", Phase::Either),
        ("Failed to settle payment: Service Unavailable", Phase::Either),
        ("Unexpected token 'o', \"oops\" is not valid JSON", Phase::Either),
        ("Payment settlement failed", Phase::Either),
    ];
    for (error, phase) in timed_out {
        let merchant = Merchant::new();
        let a = with(client("203.0.113.1", "agent"), "c");
        for index in 0..150 {
            let failure = classify(Some(error), phase, Brought::Payment).unwrap();
            let observed = merchant.0.observe(START + index * SECOND, &a, Exchange::Failed(&failure));
            let diagnostic = observed.diagnostic.unwrap();
            assert_eq!(diagnostic.retry_policy, RetryPolicy::RetrySamePayment, "{error}");
            assert_eq!(diagnostic.code, Code::PaymentUnverified, "{error}");
            assert_eq!(diagnostic.attempts, 0, "{error}");
        }
    }
}

#[test]
fn an_office_behind_one_address_is_not_escalated_for_one_of_its_agents() {
    let merchant = Merchant::new();
    let office = |agent| client("203.0.113.9", agent);
    for minute in 0..600u64 {
        let at = minute * 60 * SECOND;
        // Thirty agents pay; one, with the same library as another, never does.
        for payer in 0..3 {
            let credential = format!("{payer} {minute}");
            merchant.ok(at, &with(office("python-httpx/0.28"), &credential));
        }
        let broken = merchant.leg(at + 1, &office("python-requests/2.34"));
        assert_eq!(broken, Observed::default(), "minute {minute}");
        assert_eq!(merchant.leg(at + 2, &office("python-httpx/0.28")), Observed::default());
    }
    // Its credential is its own: what it does with that is told, whoever else pays there.
    let mut told = false;
    for index in 0..10 {
        let observed =
            merchant.pay(36_000 * SECOND + index, &with(office("python-requests/2.34"), "one"), "invalid_payload");
        told = said(&observed).3;
    }
    assert!(told, "the tenth of one credential");
}

#[test]
fn eight_threads_count_exactly() {
    let merchant = Merchant::new();
    let (threads, each) = (8u64, 20_000u64);
    let events: usize = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|thread| {
                let merchant = &merchant;
                scope.spawn(move || {
                    let own = format!("203.0.113.{}", thread + 10);
                    let mut events = 0;
                    for index in 0..each {
                        let ip = if index % 2 == 0 { "203.0.113.1" } else { own.as_str() };
                        let observed = merchant.leg(index * 10, &client(ip, "agent"));
                        events += usize::from(observed.escalation.is_some());
                    }
                    events
                })
            })
            .collect();
        running.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(merchant.0.lost(), 0);
    let shared = merchant.leg(each * 10, &client("203.0.113.1", "agent")).diagnostic.unwrap();
    assert_eq!(shared.attempts, threads * each / 2 + 1);
    for thread in 0..threads {
        let own = format!("203.0.113.{}", thread + 10);
        let diagnostic = merchant.leg(each * 10, &client(&own, "agent")).diagnostic.unwrap();
        assert_eq!(diagnostic.attempts, each / 2 + 1);
    }
    assert_eq!(events, 1 + threads as usize, "one event a sequence, whoever comes first");
}

#[test]
fn a_contact_is_reported_once_and_only_after_the_escalation() {
    let merchant = Merchant::new();
    let a = Request { operator_contact: Some("mailto:ops@example.com"), ..client("203.0.113.1", "agent") };
    let mut reported = Vec::new();
    for index in 0..200 {
        let observed = merchant.leg(index * SECOND, &a);
        assert!(index >= 99 || observed.operator_contact.is_none(), "inert before");
        reported.extend(observed.operator_contact.map(|contact| (contact.contact, contact.correlation_id)));
        if let Some(diagnostic) = observed.diagnostic {
            assert!(!String::from_utf8(diagnostic.to_json()).unwrap().contains("ops@"), "never echoed");
        }
    }
    assert_eq!(reported.len(), 1);
    // A client sends it only after it was told to escalate: later is soon enough.
    let late = Merchant::new();
    let b = client("203.0.113.1", "agent");
    for index in 0..100 {
        late.leg(index * SECOND, &b);
    }
    let observed = late.leg(101 * SECOND, &Request { operator_contact: Some("https://ops.example/x"), ..b });
    assert_eq!(
        (observed.escalation, observed.operator_contact.unwrap().contact.as_str()),
        (None, "https://ops.example/x")
    );
}

#[test]
fn nothing_is_said_in_a_header_on_first_contact() {
    let merchant = Merchant::new();
    let a = client("203.0.113.1", "agent");
    assert!(!merchant.leg(0, &a).header_allowed);
    assert!(merchant.pay(SECOND, &with(a, "c"), "invalid_payload").header_allowed);
}

#[test]
fn a_failure_without_any_key_is_still_explained() {
    let merchant = Merchant::new();
    for _ in 0..500 {
        let observed = merchant.pay(0, &client("", ""), BAD_SIGNATURE);
        assert_eq!(said(&observed), ("PAYMENT_UNVERIFIED", "signature_invalid", "do_not_retry", false));
    }
    assert_eq!(merchant.0.keys_held(), 0);
}

#[test]
fn what_a_payment_proves_follows_it_to_another_address() {
    let merchant = Merchant::new();
    let payer = |ip, ua| Request { payer: Payer::Claimed("0xPayer"), ..client(ip, ua) };
    let error = "invalid_exact_evm_transaction_simulation_failed";
    let first = merchant.pay(0, &with(payer("203.0.113.1", "a"), "c1"), error);
    let second = merchant.pay(SECOND, &with(payer("198.51.100.1", "b"), "c2"), error);
    let third = merchant.pay(2 * SECOND, &with(payer("192.0.2.1", "c"), "c3"), error);
    assert_eq!([&first, &second, &third].map(|one| said(one).3), [false, false, true]);
    let id = |observed: &Observed| observed.diagnostic.as_ref().unwrap().correlation_id;
    assert!(id(&first) == id(&second) && id(&second) == id(&third), "one sequence");
    merchant.ok(3 * SECOND, &Request { payer: Payer::Proven("0xPayer"), ..client("192.0.2.9", "d") });
    let after = merchant.pay(4 * SECOND, &with(payer("203.0.113.50", "e"), "c4"), error);
    assert_eq!((said(&after).3, after.diagnostic.as_ref().unwrap().attempts), (false, 1));
    assert_ne!(id(&after), id(&first), "a new sequence");
}

#[test]
fn every_reason_counts_as_the_rules_say() {
    for reason in Reason::ALL {
        let server = [
            Reason::SettlementPending,
            Reason::SettlementUnknown,
            Reason::FacilitatorUnavailable,
            Reason::ServerMisconfigured,
            Reason::PaymentAlreadyUsed,
        ];
        assert_eq!(reason.counts(), !server.contains(&reason), "{reason:?}");
    }
}
