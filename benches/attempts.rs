//! What one observed request costs the request path: an unpaid leg, a refused payment, a settled one; in a full table.

use criterion::{Criterion, criterion_group, criterion_main};
use forge_x402::diagnostic::classify::classify;
use forge_x402::diagnostic::{Brought, DiagnosticOptions, Diagnostics, Exchange, Payer, Phase, Request};

const USER_AGENT: &[u8] = b"python-requests/2.34.1";

fn full() -> Diagnostics {
    let diagnostics = Diagnostics::new(DiagnosticOptions::default());
    for index in 0..20_000u32 {
        let ip = std::net::Ipv4Addr::from(0xCB00_0000 + index).to_string();
        let request = Request { client_ip: &ip, user_agent: USER_AGENT, ..Request::default() };
        diagnostics.observe(u64::from(index), &request, Exchange::Unpaid);
    }
    diagnostics
}

fn attempts(criterion: &mut Criterion) {
    let diagnostics = full();
    let mut group = criterion.benchmark_group("attempts");
    let addresses: Vec<String> =
        (0..16_384u32).map(|index| std::net::Ipv4Addr::from(0xCB00_1000 + index).to_string()).collect();
    // More than the table holds, so that each is long gone when its turn comes again; few enough not to be the bench.
    let fresh: Vec<String> =
        (0..100_000u32).map(|index| std::net::Ipv4Addr::from(0x2000_0000 + index).to_string()).collect();
    let credential = vec![b'e'; 1_504];
    let failure = classify(Some("invalid_payload"), Phase::Verify, Brought::Payment).unwrap();

    let mut turn = 0usize;
    group.bench_function("unpaid leg of a known client", |bench| {
        bench.iter(|| {
            turn += 7_919;
            let ip = &addresses[turn % addresses.len()];
            let request = Request { client_ip: ip, user_agent: USER_AGENT, ..Request::default() };
            diagnostics.observe(30_000, &request, Exchange::Unpaid)
        })
    });
    group.bench_function("unpaid leg of a new client, one evicted", |bench| {
        bench.iter(|| {
            turn += 1;
            let ip = &fresh[turn % fresh.len()];
            let request = Request { client_ip: ip, user_agent: USER_AGENT, ..Request::default() };
            diagnostics.observe(30_000, &request, Exchange::Unpaid)
        })
    });
    let paid = Request {
        client_ip: "198.51.100.7",
        user_agent: USER_AGENT,
        credential: Some(&credential),
        payer: Payer::Claimed("0x857b06519E91e3A54538791bDbb0E22373e36b66"),
        ..Request::default()
    };
    group.bench_function("refused payment of 1.5 kB, with its diagnostic", |bench| {
        bench.iter(|| diagnostics.observe(30_000, &paid, Exchange::Failed(&failure)))
    });
    group.bench_function("settled payment of 1.5 kB", |bench| {
        bench.iter(|| diagnostics.observe(30_000, &paid, Exchange::Settled))
    });
    group.finish();
}

criterion_group!(benches, attempts);
criterion_main!(benches);
