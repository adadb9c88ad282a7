//! Diagnostics: tells an agent why its payments keep failing, and the merchant when a person is needed.
//!
//! `classify` turns an error into a reason, `attempts` counts per client, `code` writes the answer, `placement` puts it into a body. This
//! file joins them: one call per request that was challenged, refused or settled.
//!
//! Pure but for the memory of attempts: time is an argument, nothing is sent, nothing blocks.
//! Public for this crate's own tests and benches only; what hosts use is re-exported by the crate.

mod attempts;
pub mod classify;
pub mod code;
pub mod contact;
pub mod placement;
mod reasons;
mod texts;
pub mod writer;

use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_queue::ArrayQueue;

use crate::bounded::Keyer;
use crate::brief_lock::enter;

use attempts::{Attempts, Happened, Keys, Standing, Thresholds};
pub use classify::{Brought, Failure, Phase};
use code::Escalate;
pub use code::{Code, CorrelationId, Diagnostic, Reason, RetryPolicy};

/// The option `diagnostics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiagnosticOptions {
    /// Requests without a valid payment from which PAYMENT_ATTEMPTS_EXCEEDED is said. 100 by default.
    pub attempts: u64,
    /// And how old the first of them has to be, in milliseconds: parallel first requests are no failure. 60,000 by default.
    pub min_age_ms: u64,
    /// Whether private and loopback addresses tell clients apart. Off by default: behind a proxy they are the proxy's.
    pub count_private_ips: bool,
    /// Whether the header of a v2 challenge may carry the diagnostic too. Off by default.
    pub header: bool,
}

impl Default for DiagnosticOptions {
    fn default() -> DiagnosticOptions {
        DiagnosticOptions { attempts: 100, min_age_ms: 60_000, count_private_ips: false, header: false }
    }
}

/// What is known of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'a> {
    /// The client's address as the host gives it, after its own trust in proxies; empty where unknown.
    pub client_ip: &'a str,
    pub user_agent: &'a [u8],
    /// The payment header's value, whether it decodes or not.
    pub credential: Option<&'a [u8]>,
    pub payer: Payer<'a>,
    /// Unix seconds until which the payment is valid.
    pub valid_before: Option<u64>,
    /// `X-Agent-ID`: groups events, decides nothing.
    pub agent_id: Option<&'a str>,
    /// `X-Operator-Contact` as [`contact::operator_contact`] lets it pass.
    pub operator_contact: Option<&'a str>,
}

/// Who pays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Payer<'a> {
    #[default]
    Unknown,
    /// The payment says so: anybody can write that. It counts only under an error that comes after the signature check.
    Claimed(&'a str),
    /// A successful receipt says so.
    Proven(&'a str),
}

/// How the exchange went.
#[derive(Clone, Copy, Debug)]
pub enum Exchange<'a> {
    /// A paid 2xx without a failed receipt.
    Settled,
    /// A 402 to a request without a payment.
    Unpaid,
    /// A payment that was refused.
    Failed(&'a Failure),
}

/// What one observed request leads to. Empty for the ordinary one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// To be placed into the body; with [`placement::CACHE_CONTROL`].
    pub diagnostic: Option<Diagnostic>,
    /// Whether the option `header` may act: never on first contact.
    pub header_allowed: bool,
    /// To be reported, once per sequence.
    pub escalation: Option<Escalation>,
    /// To be reported, once per sequence, after it has escalated.
    pub operator_contact: Option<OperatorContact>,
    /// A fault of the merchant's side that is news: one entry for an outage, however many clients meet it.
    pub merchant_notice: Option<MerchantNotice>,
}

/// The facts of an escalation event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Escalation {
    pub code: Code,
    pub reason: &'static str,
    pub attempts: u64,
    pub first_attempt_ms: u64,
    pub correlation_id: CorrelationId,
    pub agent_id: Option<String>,
}

/// An operator's contact, unverified: a text to show, never an address to call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorContact {
    pub correlation_id: CorrelationId,
    pub contact: String,
}

/// A fault that only the merchant's side can mend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MerchantNotice {
    pub reason: &'static str,
    pub facilitator_error_code: Option<String>,
}

/// The memory of who fails, and what to say. One per engine and process generation.
pub struct Diagnostics {
    options: DiagnosticOptions,
    keyer: Keyer,
    memory: Mutex<Memory>,
    /// Observations that found the memory busy; the next one that gets in takes them along.
    parked: ArrayQueue<Parked>,
    lost: AtomicU64,
}

struct Memory {
    attempts: Attempts,
    /// Per reason: when the merchant was told last, and whether a payment has settled since.
    notices: [Option<(u64, bool)>; Reason::ALL.len()],
}

struct Parked {
    now_ms: u64,
    keys: Keys,
    happened: Happened,
}

impl Diagnostics {
    pub fn new(options: DiagnosticOptions) -> Diagnostics {
        let keyer = Keyer::new();
        Diagnostics {
            options,
            memory: Mutex::new(Memory { attempts: Attempts::new(keyer.clone()), notices: [None; Reason::ALL.len()] }),
            keyer,
            parked: ArrayQueue::new(PARKED),
            lost: AtomicU64::new(0),
        }
    }

    /// Takes in how one request went. `now_ms` is unix time in milliseconds.
    ///
    /// Never waits for long: where other threads hold the memory the observation is parked, counted by the next caller, and
    /// this request gets no diagnostic.
    pub fn observe(&self, now_ms: u64, request: &Request<'_>, exchange: Exchange<'_>) -> Observed {
        let (happened, proves) = match exchange {
            Exchange::Settled => (Happened::Settled, true),
            Exchange::Unpaid => (Happened::Unpaid, false),
            Exchange::Failed(failure) => (Happened::Failed(failure.reason), failure.payer_proven),
        };
        let keys = self.keys(request, proves);
        let Some(mut memory) = enter(&self.memory) else {
            if self.parked.push(Parked { now_ms, keys, happened }).is_err() {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
            return Observed::default();
        };
        let limits = Thresholds { attempts: self.options.attempts, min_age_ms: self.options.min_age_ms };
        for earlier in std::iter::from_fn(|| self.parked.pop()).take(PARKED) {
            memory.attempts.update(earlier.now_ms, &earlier.keys, earlier.happened, &limits);
        }
        let standing = memory.attempts.update(now_ms, &keys, happened, &limits);
        match exchange {
            Exchange::Settled => {
                memory.settled();
                Observed::default()
            }
            Exchange::Unpaid => match standing.filter(|standing| standing.exceeded) {
                Some(standing) => memory.answer(now_ms, request, &keys, standing, None),
                None => Observed::default(),
            },
            Exchange::Failed(failure) => {
                let standing = standing.unwrap_or_else(|| Standing::of_nobody(now_ms));
                memory.answer(now_ms, request, &keys, standing, Some(failure))
            }
        }
    }

    /// Observations that were dropped because too many threads came at once.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Keys held now: bounded, whatever comes.
    pub fn keys_held(&self) -> usize {
        enter(&self.memory).map_or(0, |memory| memory.attempts.keys_held())
    }

    fn keys(&self, request: &Request<'_>, proves: bool) -> Keys {
        let payer = match request.payer {
            Payer::Proven(payer) => Some(payer),
            Payer::Claimed(payer) if proves => Some(payer),
            _ => None,
        };
        let place = place(request.client_ip, self.options.count_private_ips);
        Keys {
            payer: payer.map(|payer| self.keyer.key(attempts::PAYER, &[payer.as_bytes()])),
            credential: request.credential.map(|bytes| self.keyer.key(attempts::CREDENTIAL, &[bytes])),
            address: place.map(|place| self.keyer.key(attempts::ADDRESS, &[&place, request.user_agent])),
            place,
        }
    }
}

impl Memory {
    fn settled(&mut self) {
        for (_, settled_since) in self.notices.iter_mut().flatten() {
            *settled_since = true;
        }
    }

    fn answer(
        &mut self,
        now_ms: u64,
        request: &Request<'_>,
        keys: &Keys,
        standing: Standing,
        failure: Option<&Failure>,
    ) -> Observed {
        let diagnostic = diagnose(now_ms, request, &standing, failure);
        let mut observed = Observed {
            header_allowed: failure.is_some() || diagnostic.escalate,
            merchant_notice: failure.and_then(|failure| self.notice(now_ms, failure)),
            ..Observed::default()
        };
        if diagnostic.escalate && self.attempts.tell_escalation(keys, standing.correlation_id) {
            observed.escalation = Some(Escalation {
                code: diagnostic.code,
                reason: diagnostic.reason.facts().name,
                attempts: diagnostic.attempts,
                first_attempt_ms: diagnostic.first_attempt_ms,
                correlation_id: diagnostic.correlation_id,
                agent_id: request.agent_id.map(str::to_owned),
            });
        }
        if let Some(contact) = request.operator_contact
            && self.attempts.tell_contact(keys, standing.correlation_id)
        {
            observed.operator_contact =
                Some(OperatorContact { correlation_id: diagnostic.correlation_id, contact: contact.to_owned() });
        }
        observed.diagnostic = Some(diagnostic);
        observed
    }

    fn notice(&mut self, now_ms: u64, failure: &Failure) -> Option<MerchantNotice> {
        if !failure.reason.concerns_merchant() {
            return None;
        }
        let told = &mut self.notices[failure.reason as usize];
        if let Some((told_ms, settled_since)) = *told
            && !(settled_since && now_ms.saturating_sub(told_ms) >= NOTICE_MS)
        {
            return None;
        }
        *told = Some((now_ms, false));
        Some(MerchantNotice {
            reason: failure.reason.facts().name,
            facilitator_error_code: failure.facilitator_error_code.clone(),
        })
    }
}

impl Standing {
    /// Of a request that has no key: nothing is remembered, nothing can escalate by repetition.
    fn of_nobody(now_ms: u64) -> Standing {
        let mut bytes = [0; 8];
        crate::sys::random::fill(&mut bytes);
        Standing {
            attempts: 0,
            first_ms: now_ms,
            exceeded: false,
            repeated: false,
            correlation_id: CorrelationId(u64::from_le_bytes(bytes)),
        }
    }
}

/// What to say to a client that stands there.
fn diagnose(now_ms: u64, request: &Request<'_>, standing: &Standing, failure: Option<&Failure>) -> Diagnostic {
    let reason = failure.map_or(Reason::NoPayment, |failure| failure.reason);
    let facts = reason.facts();
    // A fault of the server's, or a payment that may have settled, keeps its own advice however often it came.
    let exceeded = standing.exceeded && reason.counts() && facts.escalate != Escalate::Always;
    let keeps_policy = failure.is_some_and(|failure| failure.retry_policy == RetryPolicy::RetrySamePayment);
    Diagnostic {
        code: if exceeded { Code::PaymentAttemptsExceeded } else { facts.code },
        reason,
        retry_policy: match failure {
            Some(failure) if !exceeded || keeps_policy => failure.retry_policy,
            _ => RetryPolicy::DoNotRetry,
        },
        attempts: standing.attempts,
        first_attempt_ms: standing.first_ms,
        now_ms,
        escalate: exceeded || standing.repeated || facts.escalate == Escalate::Always,
        correlation_id: standing.correlation_id,
        facilitator_error_code: failure.and_then(|failure| failure.facilitator_error_code.clone()),
        client_error_code: failure.and_then(|failure| failure.client_error_code),
        expires_at: failure.and(request.valid_before),
    }
}

/// The network a client's address belongs to; `None` where the address tells no clients apart.
pub fn place(client_ip: &str, count_private: bool) -> Option<[u8; 16]> {
    let address = client_ip.trim().parse::<IpAddr>().ok()?.to_canonical();
    if !count_private && is_shared(address) {
        return None;
    }
    Some(match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => {
            let mut network = v6.octets();
            network[8..].fill(0);
            network
        }
    })
}

/// Loopback, private and carrier-grade ranges: behind such an address there may be anybody.
fn is_shared(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [first, second, ..] = v4.octets();
            v4.is_loopback()
                || v4.is_private()
                || v4.is_link_local()
                || v4.is_unspecified()
                || (first == 100 && second & 0xC0 == 64)
        }
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unspecified() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

/// The merchant hears of the same fault again only after a payment has settled, and not within an hour.
const NOTICE_MS: u64 = 3_600_000;
/// Parked observations at most.
const PARKED: usize = 256;

#[cfg(test)]
mod tests;
