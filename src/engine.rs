//! The engine: options made ready, shared by all exchanges of a process and by the children it forks.
//!
//! Opening starts nothing: no thread, no socket. What changes at run time hangs on one per-process state, which a
//! forked child gets anew.

use std::sync::Arc;
use std::time::Duration;

use crate::agent_context;
use crate::backend::{BackendOptions, Settings};
use crate::dialect::{self, Challenge, x402_v2};
use crate::feedback::body::{self, Layout, Standing};
use crate::feedback::challenge::{Additions, Extra, decorate_v1, decorate_v2};
use crate::feedback::id::{self, Keys};
use crate::feedback::route_texts::context_ask;
use crate::feedback::routes::Paths;
use crate::feedback::wording::Sentence;
use crate::feedback::{FeedbackId, Link, Verification, receipt};
use crate::guard;
use crate::http::{envelope, origin};
use crate::openapi::{self, Enriched, Plan};
use crate::options::{self, ContextMode, Options};
use crate::skip::Skip;
use crate::state::{State, Stats};
use crate::sys::clock::Now;
use crate::sys::fork::PerProcess;

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

pub(crate) struct Shared {
    pub options: Arc<Options>,
    /// False after a non-strict open with bad options: all traffic passes.
    pub enabled: bool,
    faults: Vec<String>,
    keys: Keys,
    public_link: Option<Arc<Link>>,
    pub path_link: Arc<Link>,
    /// The rating routes; `None` where ratings are off.
    pub rating_paths: Option<Paths>,
    /// What the document given at open says.
    given_document: Option<Arc<Enriched>>,
    state: PerProcess<State>,
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
        self.shared.guarded(Stats::default, || self.shared.state().stats())
    }

    /// Takes the lines for the merchant's log, as a JSON array of strings: faults of the options, an unreachable
    /// backend, documents that were left alone. At most one line a minute of a topic; the oldest go.
    pub fn diagnostics(&self) -> String {
        let drain = || {
            let lines = self.shared.state().backend.diagnostics().drain();
            serde_json::to_string(&lines).unwrap_or_else(|_| "[]".into())
        };
        self.shared.guarded(|| "[]".to_owned(), drain)
    }

    /// Hands in an event of the host's own: one JSON object with a text `type`, at most 16 KiB.
    ///
    /// # Errors
    /// Says what is wrong with it. A full queue is no error: the oldest event goes and is counted.
    pub fn enqueue_event(&self, json: &[u8]) -> Result<(), crate::backend::EventRefused> {
        let refused = || Err(crate::backend::EventRefused::NotJson);
        self.shared.guarded(refused, || {
            let event = crate::backend::Event::from_json(json, Now::read().unix_ms)?;
            self.shared.state().backend.push(event);
            Ok(())
        })
    }

    /// Waits until the events handed in so far are sent or dropped. BLOCKS for `limit` at most.
    ///
    /// # Errors
    /// The limit passed, or no worker can run; the events stay queued.
    pub fn flush(&self, limit: Duration) -> Result<(), crate::backend::Unfinished> {
        self.shared.guarded(|| Ok(()), || self.shared.state().backend.flush(limit))
    }

    /// Sends what there is, stops the worker. BLOCKS for `limit` at most. Traffic is transformed as before; later events
    /// are dropped and counted. Twice is once.
    ///
    /// # Errors
    /// The limit passed; so many events were dropped and counted.
    pub fn shutdown(&self, limit: Duration) -> Result<(), crate::backend::Lost> {
        self.shared.guarded(|| Ok(()), || self.shared.state().backend.shutdown(limit))
    }

    /// An OpenAPI document with what agents need to know about ratings; `None`: serve the original. JSON only.
    pub fn enrich_openapi(&self, document: &[u8]) -> Option<Vec<u8>> {
        if !self.shared.enabled {
            return None;
        }
        self.shared.guarded(
            || None,
            || {
                let plan = self.shared.plan(self.shared.fixed_or_path());
                self.shared.state().documents.enrich(document, &plan).ok().map(|enriched| enriched.text.clone())
            },
        )
    }

    /// A fresh feedback id.
    pub fn mint_id(&self, now: Now) -> FeedbackId {
        self.shared.mint(now)
    }

    /// Whether `text` is an id of ours that is alive at `now`, or at the newest moment this process made one.
    pub fn verify_id(&self, text: &[u8], now: Now) -> Verification {
        let judging_ms = self.shared.state().judging_ms(now);
        self.shared.keys.verify(text, judging_ms, self.shared.options.ttl_ms)
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
                shared
                    .describe(&text, &found, shared.fixed_link().as_ref(), &shared.asked_extras(), &|_| true)
                    .map(|made| envelope::encode(&made))
            }
            ChallengeForm::Body => {
                let link = shared.fixed_link();
                shared.describe(input, &dialect::challenge(input)?, link.as_ref(), &shared.asked_extras(), &|_| true)
            }
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
            let options = &shared.options;
            let made = shared.with_fixed_or_path(|link| {
                receipt::decorate(&text, &found, link, id, options.tone, options.extension_schema, |_| true)
            })?;
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
                Standing::Free { close, empty } => Ok(shared.with_fixed_or_path(|link| {
                    body::enrich(body, (close, empty), link, id, options.body_layout, options.rate_hint)
                })),
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
        let options = Arc::new(options);
        let settings = Arc::new(Settings::new(BackendOptions {
            backend_url: options.backend_url.clone(),
            api_key: options.api_key.clone(),
            telemetry: options.telemetry && faults.is_empty(),
            flush_interval_ms: options.flush_interval_ms,
            tls_ca_file: options.tls_ca_file.clone(),
            proxy: options.proxy.clone(),
            ..BackendOptions::default()
        }));
        let link = |origin: &str| Arc::new(Link::new(origin, &options.base_path));
        let public_link = options.public_url.as_deref().map(link);
        let path_link = link("");
        let made_from = options.clone();
        let mut shared = Shared {
            enabled: faults.is_empty(),
            keys: Keys::new(&options.api_key, options.previous_api_keys.iter().map(String::as_str)),
            rating_paths: options.feedback.then(|| Paths::new(&options.base_path, options.discovery)),
            given_document: None,
            state: PerProcess::new(move || State::new(&made_from, settings.clone())),
            public_link,
            path_link,
            faults,
            options,
        };
        if !shared.faults.is_empty() {
            shared.say("options", || format!("off, all traffic passes unchanged: {}", shared.faults.join("; ")));
        }
        if let Some(document) = shared.options.openapi.as_ref().and_then(|openapi| openapi.document.clone()) {
            // Only its rules are kept, so the link does not matter; asking for the registered one would start the worker.
            match openapi::enrich(document.as_bytes(), &shared.plan(shared.path_link.clone())) {
                Ok(enriched) => shared.given_document = Some(Arc::new(enriched)),
                Err(skip) => shared.say("openapi", || format!("openapi.document is not used: {}", skip.name())),
            }
        }
        shared
    }

    pub fn state(&self) -> &State {
        self.state.get()
    }

    /// Runs `work` under the panic guard.
    pub fn guarded<T>(&self, fallback: impl FnOnce() -> T, work: impl FnOnce() -> T) -> T {
        guard::run(|| self.state().count_internal_error(), fallback, work)
    }

    pub fn skip(&self, skip: Skip) {
        self.state().skip(skip);
    }

    /// A line for the merchant's log, at most one a minute of a topic.
    pub fn say(&self, topic: &'static str, line: impl Fn() -> String) {
        self.state().backend.diagnostics().say(topic, line);
    }

    /// Whether events go anywhere.
    pub fn reports(&self) -> bool {
        self.options.telemetry && self.options.backend_url.is_some()
    }

    pub fn mint(&self, now: Now) -> FeedbackId {
        self.state().count_minted(now);
        self.keys.mint(now.unix_ms, crate::sys::random::six_bytes())
    }

    /// An id that this engine may have put into an answer before: ours and alive.
    pub fn is_own(&self, id: FeedbackId, now: Now) -> bool {
        let judging_ms = self.state().judging_ms(now);
        matches!(self.keys.verify(id.as_str().as_bytes(), judging_ms, self.options.ttl_ms), Verification::Valid { .. })
    }

    /// What the merchant's OpenAPI document says, as given at open or as served last.
    pub fn document(&self) -> Option<Arc<Enriched>> {
        self.given_document.clone().or_else(|| self.state().learned())
    }

    /// What an OpenAPI document is to gain; `link` is one that all readers may share.
    pub fn plan(&self, link: Arc<Link>) -> Plan {
        let options = &self.options;
        let required = options.agent_context == ContextMode::Required;
        let asks = required || options.agent_context == ContextMode::Ask;
        Plan {
            feedback: options.feedback.then(|| openapi::Feedback {
                sentence: Sentence::Full.text(&link),
                rate_url: link.rate().to_owned(),
                base_path: options.base_path.clone(),
                body_layout: match options.body_layout {
                    Layout::Flat => openapi::BodyLayout::Flat,
                    Layout::Nested => openapi::BodyLayout::Nested,
                },
                rate_hint: options.rate_hint,
                inject_body: options.inject_body,
            }),
            context: asks.then(|| openapi::Context {
                ask: context_ask(required, options.search_query),
                required,
                search_query: options.search_query,
            }),
            json_types: options.json_types.iter().map(|name| name.to_ascii_lowercase()).collect(),
            also_paid: Vec::new(),
        }
    }

    /// The link whose origin does not depend on the request, if there is one.
    pub fn fixed_link(&self) -> Option<Arc<Link>> {
        match &self.public_link {
            Some(link) => Some(link.clone()),
            None if self.options.backend_url.is_some() => self.state().registered_link(&self.options.base_path),
            None => None,
        }
    }

    /// A link that all readers of a shared document may have.
    pub fn fixed_or_path(&self) -> Arc<Link> {
        self.fixed_link().unwrap_or_else(|| self.path_link.clone())
    }

    /// The same, lent: where the merchant has named the origin nothing is counted up and down.
    fn with_fixed_or_path<T>(&self, work: impl FnOnce(&Link) -> T) -> T {
        match &self.public_link {
            Some(link) => work(link),
            None => work(&self.fixed_or_path()),
        }
    }

    /// The link for a challenge about `resource_url`, used for that challenge and its payment only.
    fn link_of_resource(&self, resource_url: Option<&str>) -> Arc<Link> {
        match resource_url.and_then(origin::of_url) {
            Some(origin) => self.state().challenging_link(origin, &self.options.base_path),
            None => self.path_link.clone(),
        }
    }

    /// The link for a payer's copy of a resource: its origin counts only if this process has challenged with it.
    pub fn link_of_payer(&self, resource_url: Option<&str>) -> Arc<Link> {
        let origin = resource_url.and_then(origin::of_url);
        origin.and_then(|origin| self.state().challenged_link(origin)).unwrap_or_else(|| self.path_link.clone())
    }

    /// A challenge with as much of the ask as fits (v2; told the new length in bytes). `link`: the exchange's, if it is fixed.
    pub fn describe(
        &self,
        text: &[u8],
        challenge: &Challenge,
        link: Option<&Arc<Link>>,
        extras: &[Extra],
        fits: &dyn Fn(usize) -> bool,
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
                    sentence: options.feedback && options.describe_challenges,
                    extension: options.feedback && options.challenge_extension,
                    schema: options.extension_schema,
                    tone: options.tone,
                    max_description: options.max_description,
                };
                decorate_v2(text, found, &link, wanted, extras, fits)
            }
        }
    }

    /// The extensions that a challenge gains besides the ask, in the modes that ask for agent context.
    pub fn asked_extras(&self) -> Vec<Extra> {
        let required = self.options.agent_context == ContextMode::Required;
        if !required && self.options.agent_context != ContextMode::Ask {
            return Vec::new();
        }
        let value = agent_context::extension(required, self.options.search_query);
        vec![Extra { name: agent_context::EXTENSION_NAME, value }]
    }

    fn stand_alone(&self, work: impl FnOnce(&Shared) -> Result<Vec<u8>, Skip>) -> Option<Vec<u8>> {
        if !self.enabled || !self.options.feedback {
            return None;
        }
        let made = || work(self).map_err(|skip| self.skip(skip)).ok();
        self.guarded(|| None, made).filter(|made| !made.is_empty())
    }
}
