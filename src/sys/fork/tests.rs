//! The parts that need no child process; forks and raw clones are in tests/fork_generation.rs.

use super::*;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Barrier};

#[test]
fn the_generation_is_one_number_for_all_threads() {
    let here = generation();
    assert_ne!(here, 0);
    let there = std::thread::spawn(generation).join().unwrap();
    assert_eq!(here, there);
}

#[test]
fn a_changed_process_id_is_a_new_generation_and_stays_one() {
    let first = generation_by_pid(70_001);
    assert_eq!(generation_by_pid(70_001), first);
    let child = generation_by_pid(70_002);
    assert_ne!(child, first);
    assert_eq!(generation_by_pid(70_002), child);
}

#[test]
fn threads_that_race_the_first_use_get_one_value() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    for _ in 0..50 {
        let alive = Arc::new(AtomicUsize::new(0));
        let made = alive.clone();
        let state = Arc::new(PerProcess::new(move || {
            made.fetch_add(1, Ordering::SeqCst);
            Counted(made.clone())
        }));
        assert!(state.get_existing().is_none());
        let start = Arc::new(Barrier::new(8));
        let seen: Vec<usize> = (0..8)
            .map(|_| {
                let (state, start) = (state.clone(), start.clone());
                std::thread::spawn(move || {
                    start.wait();
                    ptr::from_ref(state.get()) as usize
                })
            })
            .collect::<Vec<_>>()
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect();
        assert!(seen.iter().all(|at| *at == seen[0]));
        assert_eq!(alive.load(Ordering::SeqCst), 1, "the values of losers are dropped");
        drop(state);
        assert_eq!(alive.load(Ordering::SeqCst), 0, "the owner drops this process's value");
    }
}
