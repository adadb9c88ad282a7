//! What happens to an observation that finds the memory busy. Everything else is tested from outside.

use super::*;

fn leg(diagnostics: &Diagnostics, at: u64) -> Observed {
    let request = Request { client_ip: "203.0.113.1", user_agent: b"agent", ..Request::default() };
    diagnostics.observe(at, &request, Exchange::Unpaid)
}

#[test]
fn an_observation_that_finds_the_memory_busy_is_counted_by_the_next() {
    let options = DiagnosticOptions { attempts: 4, min_age_ms: 0, ..DiagnosticOptions::default() };
    let diagnostics = Diagnostics::new(options);
    let busy = diagnostics.memory.lock().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert_eq!(leg(&diagnostics, 0), Observed::default()));
        }
    });
    drop(busy);
    assert_eq!(leg(&diagnostics, 1).diagnostic.unwrap().attempts, 4);
    assert_eq!(diagnostics.lost(), 0);
}

#[test]
fn what_does_not_fit_into_the_waiting_room_is_lost_and_counted() {
    let diagnostics = Diagnostics::new(DiagnosticOptions::default());
    let keys = Keys::default();
    for _ in 0..PARKED {
        assert!(diagnostics.parked.push(Parked { now_ms: 0, keys, happened: Happened::Unpaid }).is_ok());
    }
    let busy = diagnostics.memory.lock().unwrap();
    std::thread::scope(|scope| scope.spawn(|| leg(&diagnostics, 0)).join().unwrap());
    drop(busy);
    assert_eq!(diagnostics.lost(), 1);
    leg(&diagnostics, 0);
    assert!(diagnostics.parked.is_empty(), "taken along");
}
