//! Everything of an engine that changes, for one process; a forked child gets a new one.
//!
//! All of it is bounded, and a request never waits for another: a lock that is busy costs a memory, not time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::backend::{Backend, Settings};
use crate::bounded::{Bounded, Keyer};
use crate::brief_lock::enter;
use crate::diagnostic::Diagnostics;
use crate::feedback::Link;
use crate::feedback::challenge_memo::ChallengeMemo;
use crate::feedback::limits::Limits;
use crate::feedback::summary::Summary;
use crate::openapi;
use crate::options::Options;
use crate::replay::{RateLimit, ReplayGuard};
use crate::skip::Skip;
use crate::sys::clock::Now;

pub(crate) struct State {
    pub backend: Backend,
    pub limits: Mutex<Limits>,
    pub summary: Mutex<Summary>,
    pub diagnostics: Option<Diagnostics>,
    pub replay: Option<ReplayGuard>,
    pub rate_limit: Option<RateLimit>,
    pub documents: openapi::Cache,
    learned: Mutex<Option<Arc<openapi::Enriched>>>,
    registered_link: Mutex<Option<(Arc<str>, Arc<Link>)>>,
    keyer: Keyer,
    minted: AtomicU64,
    described: AtomicU64,
    internal_errors: AtomicU64,
    skips: [AtomicU64; Skip::ALL.len()],
    newest_mint_ms: AtomicU64,
    waiting: AtomicU64,
    /// Routes that have shown a successful receipt.
    settling_routes: Mutex<Bounded<()>>,
    /// Routes that have challenged, with the price in the dialects whose payments do not repeat it.
    challenging_routes: Mutex<Bounded<Option<Price>>>,
    /// What became of a route's last challenge.
    challenge_memos: Mutex<Bounded<Arc<ChallengeMemo>>>,
    /// The links of the origins this process has challenged with.
    challenged_origins: Mutex<Bounded<Arc<Link>>>,
    visits: Mutex<(u64, u32)>,
}

/// What an open402 challenge asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Price {
    pub amount: String,
    pub token: String,
}

/// What has happened in this process so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Which process of a line of forks this is; counting starts anew in each.
    pub generation: u64,
    /// Ids made.
    pub minted: u64,
    /// Challenges that gained the ask.
    pub described: u64,
    /// Things left alone, in all.
    pub skipped: u64,
    /// Things left alone, by reason; reasons that did not occur are left out.
    pub skips: Vec<(&'static str, u64)>,
    /// Panics contained.
    pub internal_errors: u64,
    /// Events that wait or are being sent.
    pub queued: u64,
    /// Events the backend has accepted.
    pub sent: u64,
    /// Events that were pushed out, refused, or not sent by the end.
    pub dropped: u64,
    /// Calls with events that were not answered by a 2xx.
    pub failed_posts: u64,
    pub worker_running: bool,
    /// Requests that were not guarded against replay, limited, or remembered as failing, because too many threads came at once.
    pub busy: u64,
}

impl State {
    pub fn new(options: &Options, settings: Arc<Settings>) -> State {
        State {
            backend: Backend::new(settings),
            limits: Mutex::new(Limits::new()),
            summary: Mutex::new(Summary::default()),
            diagnostics: options.diagnostics.map(Diagnostics::new),
            replay: options.replay_guard.then(|| ReplayGuard::new(options.replay_window_s)),
            rate_limit: (options.rate_limit_per_minute > 0)
                .then(|| RateLimit::new(u32::try_from(options.rate_limit_per_minute).unwrap_or(u32::MAX))),
            documents: openapi::Cache::default(),
            learned: Mutex::new(None),
            registered_link: Mutex::new(None),
            keyer: Keyer::new(),
            minted: AtomicU64::new(0),
            described: AtomicU64::new(0),
            internal_errors: AtomicU64::new(0),
            skips: [const { AtomicU64::new(0) }; Skip::ALL.len()],
            newest_mint_ms: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            settling_routes: Mutex::new(Bounded::new(ROUTES)),
            challenging_routes: Mutex::new(Bounded::new(ROUTES)),
            challenge_memos: Mutex::new(Bounded::new(MEMOS)),
            challenged_origins: Mutex::new(Bounded::new(ORIGINS)),
            visits: Mutex::new((0, 0)),
        }
    }

    pub fn skip(&self, skip: Skip) {
        self.skips[skip as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub fn count_internal_error(&self) {
        self.internal_errors.fetch_add(1, Ordering::Relaxed);
    }

    pub fn count_described(&self) {
        self.described.fetch_add(1, Ordering::Relaxed);
    }

    pub fn count_minted(&self, now: Now) {
        self.minted.fetch_add(1, Ordering::Relaxed);
        self.newest_mint_ms.fetch_max(now.unix_ms, Ordering::Relaxed);
    }

    /// The moment at which ids are judged: a clock that jumps back must not kill those made before it did.
    pub fn judging_ms(&self, now: Now) -> u64 {
        now.unix_ms.max(self.newest_mint_ms.load(Ordering::Relaxed))
    }

    pub fn route_settled(&self, method: &[u8], route: &[u8]) {
        self.put(&self.settling_routes, ROUTE, &[method, route], ());
    }

    pub fn route_settles(&self, method: &[u8], route: &[u8]) -> bool {
        self.get(&self.settling_routes, ROUTE, &[method, route]).is_some()
    }

    /// Whether the route had challenged before.
    pub fn route_challenged(&self, method: &[u8], route: &[u8], price: Option<Price>) -> bool {
        let Some(mut routes) = enter(&self.challenging_routes) else { return false };
        let key = self.keyer.key(ROUTE, &[method, route]);
        let known = routes.peek(key).is_some();
        routes.insert(key, price);
        known
    }

    /// `None`: this route has not challenged; else with the price if it has to be remembered.
    pub fn route_challenges(&self, method: &[u8], route: &[u8]) -> Option<Option<Price>> {
        self.get(&self.challenging_routes, ROUTE, &[method, route])
    }

    pub fn remember_challenge(&self, method: &[u8], path: &[u8], memo: ChallengeMemo) {
        self.put(&self.challenge_memos, ROUTE, &[method, path], Arc::new(memo));
    }

    pub fn remembered_challenge(&self, method: &[u8], path: &[u8]) -> Option<Arc<ChallengeMemo>> {
        self.get(&self.challenge_memos, ROUTE, &[method, path])
    }

    /// The link of an origin that is challenged with now; kept, because its texts are written once for a link.
    pub fn challenging_link(&self, origin: &str, base_path: &str) -> Arc<Link> {
        self.challenged_link(origin).unwrap_or_else(|| {
            let link = Arc::new(Link::new(origin, base_path));
            self.put(&self.challenged_origins, ORIGIN, &[origin.as_bytes()], link.clone());
            link
        })
    }

    /// The link of an origin, if this process has challenged with it.
    pub fn challenged_link(&self, origin: &str) -> Option<Arc<Link>> {
        self.get(&self.challenged_origins, ORIGIN, &[origin.as_bytes()])
    }

    /// Remembers the rules of the document that was enriched last.
    pub fn learn(&self, enriched: &Arc<openapi::Enriched>) {
        if let Some(mut learned) = enter(&self.learned) {
            *learned = Some(enriched.clone());
        }
    }

    pub fn learned(&self) -> Option<Arc<openapi::Enriched>> {
        enter(&self.learned)?.clone()
    }

    /// The link of the origin that is registered with the backend, made once per origin.
    pub fn registered_link(&self, base_path: &str) -> Option<Arc<Link>> {
        let origin = self.backend.registered_origin()?;
        let mut known = enter(&self.registered_link)?;
        match &*known {
            Some((of, link)) if Arc::ptr_eq(of, &origin) => Some(link.clone()),
            _ => {
                let link = Arc::new(Link::new(&origin, base_path));
                *known = Some((origin, link.clone()));
                Some(link)
            }
        }
    }

    /// A place among the calls that wait for the backend; `None` where `most` wait already.
    pub fn begin_waiting(&self, most: u64) -> Option<Waiting<'_>> {
        let taken = self.waiting.fetch_add(1, Ordering::AcqRel);
        let waiting = Waiting(&self.waiting);
        (taken < most).then_some(waiting)
    }

    /// Whether one more visit may be reported in this minute.
    pub fn admits_visit(&self, now: Now) -> bool {
        let Some(mut window) = enter(&self.visits) else { return false };
        if now.monotonic_ms.saturating_sub(window.0) >= 60_000 {
            *window = (now.monotonic_ms, 0);
        }
        window.1 += 1;
        window.1 <= VISITS && self.backend.counters().queued < 500
    }

    pub fn stats(&self) -> Stats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let skips: Vec<_> = Skip::ALL
            .iter()
            .map(|&skip| (skip.name(), read(&self.skips[skip as usize])))
            .filter(|(_, count)| *count > 0)
            .collect();
        let events = self.backend.counters();
        Stats {
            generation: crate::sys::fork::generation(),
            minted: read(&self.minted),
            described: read(&self.described),
            skipped: skips.iter().map(|(_, count)| count).sum(),
            skips,
            internal_errors: read(&self.internal_errors) + events.worker_panics,
            queued: events.queued,
            sent: events.sent,
            dropped: events.dropped,
            failed_posts: events.failed_posts,
            worker_running: events.worker_running,
            busy: self.replay.as_ref().map_or(0, ReplayGuard::unguarded)
                + self.rate_limit.as_ref().map_or(0, RateLimit::unlimited)
                + self.diagnostics.as_ref().map_or(0, Diagnostics::lost),
        }
    }

    fn put<V>(&self, map: &Mutex<Bounded<V>>, purpose: u8, parts: &[&[u8]], value: V) {
        if let Some(mut map) = enter(map) {
            map.insert(self.keyer.key(purpose, parts), value);
        }
    }

    fn get<V: Clone>(&self, map: &Mutex<Bounded<V>>, purpose: u8, parts: &[&[u8]]) -> Option<V> {
        enter(map)?.get(self.keyer.key(purpose, parts)).cloned()
    }
}

/// One of the places of `max_waits`, given back when dropped.
pub(crate) struct Waiting<'a>(&'a AtomicU64);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Purposes of the keyed hash, so that equal bytes in two maps are different keys.
const ROUTE: u8 = 1;
const ORIGIN: u8 = 2;
const ROUTES: usize = 1_024;
const ORIGINS: usize = 100;
const MEMOS: usize = 128;
/// Visits reported a minute.
const VISITS: u32 = 120;
