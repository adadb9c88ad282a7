//! The engine: options made ready, shared by all exchanges of a process and by the children it forks.
//!
//! Opening starts nothing: no thread, no socket. What changes at run time hangs on one per-process state, which a
//! forked child gets anew.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::bounded::{Bounded, Key, Keyer};
use crate::dialect::{self, Challenge, x402_v2};
use crate::feedback::body::{self, Standing};
use crate::feedback::challenge::{Additions, decorate_v1, decorate_v2};
use crate::feedback::id::{self, Keys};
use crate::feedback::{FeedbackId, Link, Verification, receipt};
use crate::guard;
use crate::http::{envelope, origin};
use crate::options::{self, Options};
use crate::sys::clock::Now;
use crate::sys::fork::PerProcess;
use crate::sys::random;
use crate::verdict::Skip;

/// A merchant's engine. Cheap to clone; any threads at once; exchanges keep it alive.
#[derive(Clone)]
pub struct Engine {
    pub(crate) shared: Arc<Shared>,
}

/// What [`Engine::open`] refuses with in strict mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// One message an option: what came, what goes, the way out.
    pub faults: Vec<String>,
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.faults.join("; "))
    }
}

impl std::error::Error for ConfigError {}

/// Which form a stand-alone challenge has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChallengeForm {
    /// The value of a `PAYMENT-REQUIRED` header.
    Header,
    /// A JSON body, v1 or v2.
    Body,
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
}

pub(crate) struct Shared {
    pub options: Options,
    /// False after a non-strict open with bad options: all traffic passes.
    pub enabled: bool,
    faults: Vec<String>,
    keys: Keys,
    public_link: Option<Arc<Link>>,
    pub path_link: Arc<Link>,
    state: PerProcess<State>,
}

/// Everything that changes.
pub(crate) struct State {
    keyer: Keyer,
    minted: AtomicU64,
    described: AtomicU64,
    internal_errors: AtomicU64,
    skips: [AtomicU64; Skip::ALL.len()],
    /// The newest moment an id was made at: a clock that jumps back must not kill fresh ids.
    newest_mint_ms: AtomicU64,
    /// Routes that have shown a successful receipt.
    settling_routes: Mutex<Bounded<()>>,
    /// Origins this process has challenged with.
    challenged_origins: Mutex<Bounded<()>>,
}

impl Engine {
    /// Makes an engine from a JSON object of options. Starts nothing; reads `api_key_file` if given.
    ///
    /// # Errors
    /// With `strict` on, any fault. Without it a fault gives an engine that lets everything pass, with the
    /// faults in [`Engine::faults`].
    pub fn open(options_json: &[u8]) -> Result<Engine, ConfigError> {
        guard::run(
            || {},
            || Err(ConfigError { faults: vec!["options: a defect inside; please report it".into()] }),
            || {
                let (options, faults) = options::parse(options_json);
                if options.strict && !faults.is_empty() {
                    return Err(ConfigError { faults });
                }
                Ok(Engine { shared: Arc::new(Shared::new(options, faults)) })
            },
        )
    }

    /// Why the engine is off; empty when it is on.
    pub fn faults(&self) -> &[String] {
        &self.shared.faults
    }

    pub fn stats(&self) -> Stats {
        self.shared.guarded(Stats::default, || self.shared.state.get().stats())
    }

    /// A fresh feedback id.
    pub fn mint_id(&self, now: Now) -> FeedbackId {
        self.shared.mint(now)
    }

    /// Whether `text` is an id of ours that is alive at `now`, or at the newest moment this process made one.
    pub fn verify_id(&self, text: &[u8], now: Now) -> Verification {
        let newest = self.shared.state.get().newest_mint_ms.load(Ordering::Relaxed);
        self.shared.keys.verify(text, now.unix_ms.max(newest), self.shared.options.ttl_ms)
    }

    /// As [`Engine::verify_id`], at an exact moment in unix milliseconds.
    pub fn verify_id_at(&self, text: &[u8], unix_ms: u64) -> Verification {
        self.shared.keys.verify(text, unix_ms, self.shared.options.ttl_ms)
    }

    /// A challenge with the ask; `None`: send the original. Sees no head, so sizes are the caller's business.
    pub fn transform_challenge(&self, form: ChallengeForm, input: &[u8]) -> Option<Vec<u8>> {
        self.shared.stand_alone(|shared| match form {
            ChallengeForm::Header => {
                let text = envelope::decode(input).ok_or(Skip::NotBase64)?;
                let found = Challenge::V2(x402_v2::challenge(&text)?);
                shared.describe(&text, &found, None, |_| true).map(|made| envelope::encode(&made))
            }
            ChallengeForm::Body => shared.describe(input, &dialect::challenge(input)?, None, |_| true),
        })
    }

    /// A successful v2 receipt (the value of `PAYMENT-RESPONSE`) with the extension; `None`: send the original.
    pub fn enrich_receipt(&self, value: &[u8], id: &[u8]) -> Option<Vec<u8>> {
        self.shared.stand_alone(|shared| {
            let id = id::parse(id).ok_or(Skip::NotRecognised)?;
            let text = envelope::decode(value).ok_or(Skip::NotBase64)?;
            let found = x402_v2::receipt(&text)?;
            if found.settlement != Some(crate::dialect::Settlement::Succeeded) {
                return Err(Skip::NotSettled);
            }
            let (link, options) = (shared.fixed_or_path(), &shared.options);
            let made =
                receipt::decorate(&text, &found, &link, id.as_str(), options.tone, options.extension_schema, |_| true)?;
            Ok(envelope::encode(&made))
        })
    }

    /// A JSON object body with the rating members; `None`: send the original.
    pub fn enrich_body(&self, body: &[u8], id: &[u8]) -> Option<Vec<u8>> {
        self.shared.stand_alone(|shared| {
            let id = id::parse(id).ok_or(Skip::NotRecognised)?;
            let options = &shared.options;
            match body::standing(body, options.body_layout, options.rate_hint)? {
                Standing::Taken(_) => Err(Skip::AlreadyOurs),
                Standing::Free { close, empty } => {
                    let link = shared.fixed_or_path();
                    Ok(body::enrich(body, (close, empty), &link, id, options.body_layout, options.rate_hint))
                }
            }
        })
    }

    /// Panics inside the guard, to show that a real panic is contained. For self-tests.
    #[doc(hidden)]
    pub fn panic_contained() -> bool {
        guard::run(|| {}, || true, || panic!("self-test"))
    }
}

impl Shared {
    fn new(options: Options, faults: Vec<String>) -> Shared {
        let link = |origin: &str| Arc::new(Link::new(origin, &options.base_path));
        Shared {
            enabled: faults.is_empty(),
            keys: Keys::new(&options.api_key, options.previous_api_keys.iter().map(String::as_str)),
            public_link: options.public_url.as_deref().map(link),
            path_link: link(""),
            state: PerProcess::new(State::new),
            faults,
            options,
        }
    }

    pub fn state(&self) -> &State {
        self.state.get()
    }

    /// Runs `work` under the panic guard.
    pub fn guarded<T>(&self, fallback: impl FnOnce() -> T, work: impl FnOnce() -> T) -> T {
        let count = || {
            self.state.get().internal_errors.fetch_add(1, Ordering::Relaxed);
        };
        guard::run(count, fallback, work)
    }

    pub fn skip(&self, skip: Skip) {
        self.state.get().skips[skip as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub fn mint(&self, now: Now) -> FeedbackId {
        let state = self.state.get();
        state.minted.fetch_add(1, Ordering::Relaxed);
        state.newest_mint_ms.fetch_max(now.unix_ms, Ordering::Relaxed);
        self.keys.mint(now.unix_ms, random::six_bytes())
    }

    /// An id that this engine may have put into an answer before: ours and alive.
    pub fn is_own(&self, id: FeedbackId, now: Now) -> bool {
        matches!(self.keys.verify(id.as_str().as_bytes(), now.unix_ms, self.options.ttl_ms), Verification::Valid { .. })
    }

    /// The link whose origin does not depend on the request, if there is one.
    pub fn fixed_link(&self) -> Option<Arc<Link>> {
        self.public_link.clone()
    }

    fn fixed_or_path(&self) -> Arc<Link> {
        self.fixed_link().unwrap_or_else(|| self.path_link.clone())
    }

    /// The link for a challenge about `resource_url`, used for that challenge and its payment only.
    fn link_of_resource(&self, resource_url: Option<&str>) -> Arc<Link> {
        match resource_url.and_then(origin::of_url) {
            Some(origin) => {
                self.state.get().remember(&self.state.get().challenged_origins, CHALLENGED, origin.as_bytes());
                Arc::new(Link::new(origin, &self.options.base_path))
            }
            None => self.path_link.clone(),
        }
    }

    /// The link for a payer's copy of a resource: its origin counts only if this process has challenged with it.
    pub fn link_of_payer(&self, resource_url: Option<&str>) -> Arc<Link> {
        let state = self.state.get();
        match resource_url.and_then(origin::of_url) {
            Some(origin) if state.remembers(&state.challenged_origins, CHALLENGED, origin.as_bytes()) => {
                Arc::new(Link::new(origin, &self.options.base_path))
            }
            _ => self.path_link.clone(),
        }
    }

    /// A challenge with as much of the ask as fits (v2; told the new length in bytes). `link`: the exchange's, if it is fixed.
    pub fn describe(
        &self,
        text: &[u8],
        challenge: &Challenge,
        link: Option<&Arc<Link>>,
        fits: impl Fn(usize) -> bool,
    ) -> Result<Vec<u8>, Skip> {
        let resource_url = match challenge {
            Challenge::V1(found) => found.resource_url.as_deref(),
            Challenge::V2(found) => found.resource_url.as_deref(),
        };
        let link = link.cloned().unwrap_or_else(|| self.link_of_resource(resource_url));
        let options = &self.options;
        match challenge {
            Challenge::V1(_) if !options.describe_challenges => Err(Skip::DescriptionNotText),
            Challenge::V1(found) => decorate_v1(text, found, &link),
            Challenge::V2(found) => {
                let wanted = Additions {
                    sentence: options.describe_challenges,
                    extension: options.challenge_extension,
                    schema: options.extension_schema,
                    tone: options.tone,
                    max_description: options.max_description,
                };
                decorate_v2(text, found, &link, wanted, fits)
            }
        }
    }

    pub fn count_described(&self) {
        self.state.get().described.fetch_add(1, Ordering::Relaxed);
    }

    fn stand_alone(&self, work: impl FnOnce(&Shared) -> Result<Vec<u8>, Skip>) -> Option<Vec<u8>> {
        if !self.enabled || !self.options.feedback {
            return None;
        }
        let made = self.guarded(|| Ok(Vec::new()), || work(self));
        match made {
            Ok(made) if made.is_empty() => None,
            Ok(made) => Some(made),
            Err(skip) => {
                self.skip(skip);
                None
            }
        }
    }
}

impl State {
    fn new() -> State {
        State {
            keyer: Keyer::new(),
            minted: AtomicU64::new(0),
            described: AtomicU64::new(0),
            internal_errors: AtomicU64::new(0),
            skips: [const { AtomicU64::new(0) }; Skip::ALL.len()],
            newest_mint_ms: AtomicU64::new(0),
            settling_routes: Mutex::new(Bounded::new(SETTLING_ROUTES)),
            challenged_origins: Mutex::new(Bounded::new(CHALLENGED_ORIGINS)),
        }
    }

    pub fn route_settled(&self, method: &[u8], route: &[u8]) {
        let key = self.keyer.key(ROUTE, &[method, route]);
        insert(&self.settling_routes, key);
    }

    pub fn route_settles(&self, method: &[u8], route: &[u8]) -> bool {
        let key = self.keyer.key(ROUTE, &[method, route]);
        holds(&self.settling_routes, key)
    }

    fn remember(&self, set: &Mutex<Bounded<()>>, purpose: u8, what: &[u8]) {
        insert(set, self.keyer.key(purpose, &[what]));
    }

    fn remembers(&self, set: &Mutex<Bounded<()>>, purpose: u8, what: &[u8]) -> bool {
        holds(set, self.keyer.key(purpose, &[what]))
    }

    fn stats(&self) -> Stats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let skips: Vec<_> = Skip::ALL
            .iter()
            .map(|&skip| (skip.name(), read(&self.skips[skip as usize])))
            .filter(|(_, count)| *count > 0)
            .collect();
        Stats {
            generation: crate::sys::fork::generation(),
            minted: read(&self.minted),
            described: read(&self.described),
            skipped: skips.iter().map(|(_, count)| count).sum(),
            skips,
            internal_errors: read(&self.internal_errors),
        }
    }
}

/// Adds to a set unless another thread is in it: a request never waits, and what it would remember comes again.
fn insert(set: &Mutex<Bounded<()>>, key: Key) {
    if let Ok(mut set) = set.try_lock() {
        set.insert(key, ());
    }
}

fn holds(set: &Mutex<Bounded<()>>, key: Key) -> bool {
    set.try_lock().is_ok_and(|mut set| set.get(key).is_some())
}

/// Purposes of the keyed hash, so that equal bytes in two sets are different keys.
const ROUTE: u8 = 1;
const CHALLENGED: u8 = 2;
const SETTLING_ROUTES: usize = 1_024;
const CHALLENGED_ORIGINS: usize = 100;
