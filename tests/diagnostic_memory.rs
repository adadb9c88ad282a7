//! What the memory of attempts takes when every pool is full: counted by the allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

use forge_x402::diagnostic::classify::classify;
use forge_x402::diagnostic::{Brought, DiagnosticOptions, Diagnostics, Exchange, Payer, Phase, Request};

static HELD: AtomicIsize = AtomicIsize::new(0);

struct Counting;

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(block(layout.size()), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(block(layout.size()), Ordering::Relaxed);
        unsafe { System.dealloc(at, layout) }
    }
}

/// A block as glibc hands it out: eight bytes of header, rounded up to sixteen.
fn block(size: usize) -> isize {
    ((size + 8).next_multiple_of(16)) as isize
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn full_pools_take_less_than_four_megabytes() {
    let before = HELD.load(Ordering::Relaxed);
    let diagnostics = Diagnostics::new(DiagnosticOptions::default());
    let failure =
        classify(Some("invalid_exact_evm_transaction_simulation_failed"), Phase::Verify, Brought::Payment).unwrap();
    for index in 0..50_000u32 {
        let ip = std::net::Ipv4Addr::from(0xCB00_0000 + index).to_string();
        let (credential, payer) = (index.to_le_bytes(), format!("0x{index}"));
        let request = Request {
            client_ip: &ip,
            credential: Some(&credential),
            payer: Payer::Claimed(&payer),
            ..Request::default()
        };
        // Every pool is filled many times over: evictions make hash tables grow once more.
        if index % 2 == 0 {
            diagnostics.observe(u64::from(index), &request, Exchange::Settled);
        }
        diagnostics.observe(u64::from(index), &request, Exchange::Failed(&failure));
    }
    let held = HELD.load(Ordering::Relaxed) - before;
    assert_eq!(diagnostics.keys_held(), 16_384 + 3_584 + 1_792 + 7_168);
    println!("{held} bytes");
    assert!(held < 4_000_000, "{held} bytes");
}
