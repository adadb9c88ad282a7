//! Names to addresses, with a limit: the system's look-up has none.
//!
//! One thread at most does the system's look-ups, one name after the other, and ends when no name is left. Whoever asks
//! waits for its own limit and no longer; questions for the same name share one look-up. A result is kept for a minute;
//! an older one is still better than none, so it is used when the look-up fails or takes too long.

use crate::sys::clock::monotonic_ms;
use crate::sys::signals;
use std::collections::VecDeque;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;
use ureq::{Error, Timeout};

/// A resolver for ureq. Clones share everything.
#[derive(Clone, Default)]
pub struct SharedResolver(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    answered: Condvar,
}

#[derive(Default)]
struct State {
    known: Vec<Known>,
    wanted: VecDeque<String>,
    thread: bool,
}

struct Known {
    name: String,
    addresses: Vec<SocketAddr>,
    /// Look-ups that came back, good or bad: whoever waits sees this move.
    rounds: u64,
    failed: bool,
    at_ms: u64,
}

impl SharedResolver {
    /// The addresses of `name` ("host:port"), within `limit`.
    pub fn look_up(&self, name: &str, limit: Duration) -> io::Result<Vec<SocketAddr>> {
        // An address needs no look-up and no thread.
        if let Ok(address) = name.parse() {
            return Ok(vec![address]);
        }
        let deadline = Instant::now().checked_add(limit.min(LONGEST));
        let mut state = self.0.lock();
        let asked_at = match state.known(name) {
            Some(known) if known.is_fresh() => return Ok(known.addresses.clone()),
            Some(known) => known.rounds,
            None => 0,
        };
        if !state.wanted.iter().any(|wanted| wanted == name) {
            state.wanted.push_back(name.to_owned());
        }
        if !state.thread {
            state.thread = true;
            let shared = self.0.clone();
            if let Err(refused) = signals::spawn("fx402-resolver", move || shared.run()) {
                state.thread = false;
                return state.stale(name).ok_or(refused);
            }
        }
        loop {
            let left = deadline.map_or(LONGEST, |at| at.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return state.stale(name).ok_or(io::ErrorKind::TimedOut.into());
            }
            state = match self.0.answered.wait_timeout(state, left) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
            if let Some(known) = state.known(name).filter(|known| known.rounds > asked_at) {
                return match known.failed && known.addresses.is_empty() {
                    true => Err(io::ErrorKind::NotFound.into()),
                    false => Ok(known.addresses.clone()),
                };
            }
        }
    }
}

impl Shared {
    fn run(&self) {
        loop {
            let mut state = self.lock();
            // Stays first in the list while it is looked up, so that others join it.
            let Some(name) = state.wanted.front().cloned() else {
                state.thread = false;
                return;
            };
            drop(state);
            let found = std::panic::catch_unwind(|| name.to_socket_addrs().map(Iterator::collect));
            let found: Option<Vec<SocketAddr>> = found.ok().and_then(Result::ok);
            let mut state = self.lock();
            state.wanted.pop_front();
            state.learn(name, found.filter(|addresses| !addresses.is_empty()));
            drop(state);
            self.answered.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn known(&self, name: &str) -> Option<&Known> {
        self.known.iter().find(|known| known.name == name)
    }

    fn stale(&self, name: &str) -> Option<Vec<SocketAddr>> {
        let known = self.known(name)?;
        (!known.addresses.is_empty()).then(|| known.addresses.clone())
    }

    fn learn(&mut self, name: String, found: Option<Vec<SocketAddr>>) {
        let at = match self.known.iter().position(|known| known.name == name) {
            Some(at) => at,
            None => {
                if self.known.len() == MAX_NAMES {
                    self.known.remove(0);
                }
                self.known.push(Known { name, addresses: Vec::new(), rounds: 0, failed: false, at_ms: 0 });
                self.known.len() - 1
            }
        };
        let known = &mut self.known[at];
        known.rounds += 1;
        known.at_ms = monotonic_ms();
        known.failed = found.is_none();
        if let Some(addresses) = found {
            known.addresses = addresses;
        }
    }
}

impl Known {
    fn is_fresh(&self) -> bool {
        !self.failed && monotonic_ms().saturating_sub(self.at_ms) < FRESH_MS
    }
}

impl Resolver for SharedResolver {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let host = uri.host().ok_or(Error::HostNotFound)?;
        let port = uri.port_u16().or(match uri.scheme_str() {
            Some("http") => Some(80),
            Some("https") => Some(443),
            _ => None,
        });
        let port = port.ok_or(Error::HostNotFound)?;
        let found = self.look_up(&format!("{host}:{port}"), *timeout.after).map_err(|fault| match fault.kind() {
            io::ErrorKind::TimedOut => Error::Timeout(Timeout::Resolve),
            io::ErrorKind::NotFound => Error::HostNotFound,
            _ => Error::Io(fault),
        })?;
        let mut addresses = self.empty();
        for address in config.ip_family().keep_wanted(found.into_iter()).take(MAX_ADDRESSES) {
            addresses.push(address);
        }
        if addresses.is_empty() {
            return Err(Error::HostNotFound);
        }
        Ok(addresses)
    }
}

impl fmt::Debug for SharedResolver {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SharedResolver")
    }
}

const FRESH_MS: u64 = 60_000;
/// The backend and its proxy are two; the rest is room.
const MAX_NAMES: usize = 8;
const MAX_ADDRESSES: usize = 16;
const LONGEST: Duration = Duration::from_secs(3_600);
