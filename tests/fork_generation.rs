//! Forks and raw clones, seen from real child processes. A program of its own (no test harness: children of a
//! many-threaded harness prove little), one function per promise, named after its case where there is one.

use forge_x402::sys::{fork, random};
use std::collections::HashSet;
use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn main() {
    if !cfg!(target_os = "linux") {
        println!("skipped: forks are tested on Linux");
        return;
    }
    let tests: [(&str, fn()); 6] = [
        ("a_forked_child_has_a_generation_of_its_own", a_forked_child_has_a_generation_of_its_own),
        ("a_raw_clone_has_a_generation_of_its_own", a_raw_clone_has_a_generation_of_its_own),
        ("f06_ids_never_repeat_in_forked_children", f06_ids_never_repeat_in_forked_children),
        ("f06_ids_never_repeat_in_raw_clones", f06_ids_never_repeat_in_raw_clones),
        (
            "h02_state_is_replaced_whole_even_if_its_lock_was_held_at_the_fork",
            h02_state_is_replaced_whole_even_if_its_lock_was_held_at_the_fork,
        ),
        (
            "p22_children_of_a_busy_process_race_their_first_use_and_end",
            p22_children_of_a_busy_process_race_their_first_use_and_end,
        ),
    ];
    for (name, test) in tests {
        test();
        println!("test {name} ... ok");
    }
}

fn a_forked_child_has_a_generation_of_its_own() {
    let parent = fork::generation();
    let child = in_child(Start::Fork, || fork::generation().to_le_bytes().to_vec());
    assert_ne!(number(&child), parent);
    let grandchild = in_child(Start::Fork, || {
        let child = fork::generation();
        let grandchild = number(&in_child(Start::Fork, || fork::generation().to_le_bytes().to_vec()));
        assert!(grandchild > child, "newer than all its ancestors");
        grandchild.to_le_bytes().to_vec()
    });
    assert!(number(&grandchild) > number(&child));
    assert_eq!(fork::generation(), parent, "nothing changed here");
}

fn a_raw_clone_has_a_generation_of_its_own() {
    let parent = fork::generation();
    let child = in_child(Start::RawClone, || fork::generation().to_le_bytes().to_vec());
    assert_ne!(number(&child), parent);
}

fn f06_ids_never_repeat_in_forked_children() {
    ids_never_repeat(Start::Fork);
}

fn f06_ids_never_repeat_in_raw_clones() {
    ids_never_repeat(Start::RawClone);
}

/// The pool is warm before each child starts: a copied pool would give child and parent the same bytes.
fn ids_never_repeat(start: Start) {
    let mut seen = HashSet::new();
    for _ in 0..100 {
        assert!(seen.insert(random::six_bytes()));
        let child = in_child(start, || (0..50).flat_map(|_| random::six_bytes()).collect());
        assert_eq!(child.len(), 300, "the child ran to its end");
        for draw in child.chunks(6) {
            assert!(seen.insert(draw.try_into().unwrap()), "a child repeats an id");
        }
        for _ in 0..50 {
            assert!(seen.insert(random::six_bytes()), "the parent repeats an id");
        }
    }
}

fn h02_state_is_replaced_whole_even_if_its_lock_was_held_at_the_fork() {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let state = Arc::new(fork::PerProcess::new(|| {
        MADE.fetch_add(1, Ordering::SeqCst);
        Mutex::new(Vec::<u8>::new())
    }));
    let held = state.get().lock().unwrap();
    let from_child = state.clone();
    let child = in_child(Start::Fork, move || {
        let mut list = from_child.get().lock().unwrap();
        assert!(list.is_empty());
        list.push(1);
        vec![MADE.load(Ordering::SeqCst) as u8, list.len() as u8]
    });
    assert_eq!(child, [2, 1]);
    drop(held);
    assert!(state.get().lock().unwrap().is_empty());
    assert_eq!(MADE.load(Ordering::SeqCst), 1);
}

fn p22_children_of_a_busy_process_race_their_first_use_and_end() {
    let state = Arc::new(fork::PerProcess::new(|| Mutex::new(0u64)));
    let stop = Arc::new(AtomicBool::new(false));
    let busy: Vec<_> = (0..4)
        .map(|_| {
            let (state, stop) = (state.clone(), stop.clone());
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    *state.get().lock().unwrap() += 1;
                    random::six_bytes();
                }
            })
        })
        .collect();
    for _ in 0..100 {
        let state = state.clone();
        let before = Instant::now();
        let child = in_child(Start::Fork, move || {
            let state = &state;
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(move || *state.get().lock().unwrap() += 1);
                }
            });
            state.get().lock().unwrap().to_le_bytes().to_vec()
        });
        assert_eq!(number(&child), 4, "one fresh value, shared by the threads of the child");
        assert!(before.elapsed() < Duration::from_secs(5));
    }
    stop.store(true, Ordering::Relaxed);
    for thread in busy {
        thread.join().unwrap();
    }
}

#[derive(Clone, Copy)]
enum Start {
    Fork,
    RawClone,
}

/// Runs `child` in a child process and gives back the bytes it answered. A child that panics or hangs answers nothing.
fn in_child(start: Start, child: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
    use std::os::fd::FromRawFd;
    let mut ends = [0; 2];
    // SAFETY: plain pipe, fork, clone, write, alarm, _exit and waitpid; the child leaves by _exit in every case.
    unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        let pid = match start {
            Start::Fork => libc::fork(),
            Start::RawClone => libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as i32,
        };
        assert!(pid >= 0);
        if pid == 0 {
            libc::alarm(10);
            let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).unwrap_or_default();
            libc::write(ends[1], answer.as_ptr().cast(), answer.len());
            libc::_exit(0);
        }
        libc::close(ends[1]);
        let mut answer = Vec::new();
        std::fs::File::from_raw_fd(ends[0]).read_to_end(&mut answer).unwrap();
        let mut status = 0;
        libc::waitpid(pid, &mut status, 0);
        assert_eq!(status, 0, "the child ended by itself");
        answer
    }
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes: the child ran to its end"))
}
