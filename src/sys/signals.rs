//! Threads that take no signals: the host's handlers must run on the host's threads.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread named `name` (at most 15 bytes are shown) with a stack of 1 MiB and every signal blocked, except
/// those a fault of the thread itself raises (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS): blocked, they
/// would kill the process past the host's crash handler. The caller's own mask is as before when this returns.
///
/// A system that gives no more threads is an error here, never a panic.
pub fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    spawn_boxed(name, Box::new(run))
}

/// Boxed, so that std's part of a thread is in the library once.
fn spawn_boxed(name: &str, run: Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>> {
    if name.contains('\0') {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let _masked = Masked::new()?;
    Builder::new().name(name.to_owned()).stack_size(STACK_BYTES).spawn(run)
}

const STACK_BYTES: usize = 1024 * 1024;

/// A new thread inherits the mask of the one that starts it, so it never lives a moment unmasked.
#[cfg(unix)]
struct Masked {
    before: libc::sigset_t,
}

#[cfg(unix)]
impl Masked {
    fn new() -> io::Result<Masked> {
        // SAFETY: sigset_t is plain data that sigfillset and pthread_sigmask fill; both pointers are valid.
        unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&mut all);
            for fault in
                [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT, libc::SIGSYS]
            {
                libc::sigdelset(&mut all, fault);
            }
            match libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before) {
                0 => Ok(Masked { before }),
                code => Err(io::Error::from_raw_os_error(code)),
            }
        }
    }
}

#[cfg(unix)]
impl Drop for Masked {
    fn drop(&mut self) {
        // SAFETY: `before` was filled by pthread_sigmask.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

#[cfg(not(unix))]
struct Masked;

#[cfg(not(unix))]
impl Masked {
    fn new() -> io::Result<Masked> {
        Ok(Masked)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn blocked_signals() -> u64 {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("SigBlk:")).unwrap();
        u64::from_str_radix(line["SigBlk:".len()..].trim(), 16).unwrap()
    }

    fn bit(signal: i32) -> u64 {
        1 << (signal - 1)
    }

    #[test]
    fn the_thread_blocks_what_hosts_use_and_the_caller_keeps_its_mask() {
        let before = blocked_signals();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = spawn("fx402-test", move || {
            let name = std::fs::read_to_string("/proc/thread-self/comm").unwrap();
            tell.send((blocked_signals(), name)).unwrap();
        })
        .unwrap();
        let (inside, name) = told.recv().unwrap();
        thread.join().unwrap();
        for signal in [
            libc::SIGTERM,
            libc::SIGINT,
            libc::SIGHUP,
            libc::SIGCHLD,
            libc::SIGPROF,
            libc::SIGALRM,
            libc::SIGUSR1,
            libc::SIGPIPE,
            libc::SIGVTALRM,
            libc::SIGURG,
        ] {
            assert_ne!(inside & bit(signal), 0, "signal {signal} is blocked");
        }
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT] {
            assert_eq!(inside & bit(signal), 0, "signal {signal} is not blocked");
        }
        assert_eq!(name.trim(), "fx402-test");
        assert_eq!(blocked_signals(), before);
    }

    #[test]
    fn a_name_no_thread_can_have_is_an_error() {
        assert!(spawn("a\0b", || ()).is_err());
    }
}
