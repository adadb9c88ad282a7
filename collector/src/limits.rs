//! How often: requests per project, and wrong keys per address. Memory is bounded by construction.
//!
//! Addresses are hashed into a fixed number of slots (IPv6 by /64), so nobody can grow the table; two addresses that share a
//! slot share its allowance. Only wrong keys cost anything there: a right key is never slowed down by its neighbours.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::num::NonZeroU32;

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter};

const SLOTS: u64 = 8192;

pub struct Limits {
    per_project: DefaultKeyedRateLimiter<i64>,
    wrong_keys: Vec<DefaultDirectRateLimiter>,
    hasher: RandomState,
    clock: DefaultClock,
}

impl Limits {
    /// `requests_per_second` per project with a burst of twice that; `wrong_keys_per_minute` per client address.
    pub fn new(requests_per_second: NonZeroU32, wrong_keys_per_minute: NonZeroU32) -> Self {
        let burst = requests_per_second.saturating_add(requests_per_second.get());
        let wrong = Quota::per_minute(wrong_keys_per_minute);
        Self {
            per_project: RateLimiter::hashmap(Quota::per_second(requests_per_second).allow_burst(burst)),
            wrong_keys: (0..SLOTS).map(|_| RateLimiter::direct(wrong)).collect(),
            hasher: RandomState::new(),
            clock: DefaultClock::default(),
        }
    }

    /// Seconds to wait if this project has used up its allowance.
    pub fn request(&self, project_id: i64) -> Result<(), u64> {
        self.per_project.check_key(&project_id).map_err(|no| self.seconds(&no))
    }

    /// Counts one wrong key; seconds to wait if this address has sent too many.
    pub fn wrong_key(&self, address: IpAddr) -> Result<(), u64> {
        let slot = self.hasher.hash_one(network(address)) % SLOTS;
        self.wrong_keys[usize::try_from(slot).unwrap_or(0)].check().map_err(|no| self.seconds(&no))
    }

    fn seconds(&self, not_until: &governor::NotUntil<<DefaultClock as governor::clock::Clock>::Instant>) -> u64 {
        not_until.wait_time_from(self.clock.now()).as_secs() + 1
    }
}

fn network(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits() >> 64 << 64 | 1,
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::Limits;

    fn limits(requests: u32, wrong: u32) -> Limits {
        Limits::new(NonZeroU32::new(requests).unwrap(), NonZeroU32::new(wrong).unwrap())
    }

    #[test]
    fn a_project_has_its_own_allowance() {
        let limits = limits(5, 100);
        assert!((0..10).all(|_| limits.request(1).is_ok()));
        assert_eq!(limits.request(1), Err(1));
        assert_eq!(limits.request(2), Ok(()));
    }

    #[test]
    fn f02_wrong_keys_run_out_by_address_and_v6_counts_by_64() {
        let limits = limits(5, 3);
        for last in 0..3 {
            assert!(limits.wrong_key(format!("2001:db8::{last}").parse().unwrap()).is_ok());
        }
        assert!(limits.wrong_key("2001:db8::ffff".parse().unwrap()).is_err());
        assert!(limits.wrong_key("192.0.2.1".parse().unwrap()).is_ok());
    }
}
