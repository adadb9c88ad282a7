//! Which ratings count: those of calls that were paid for, as far as anybody can see.

use std::collections::HashMap;

use crate::store::{RatingGroup, RouteFigures};

/// Whether a rating counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Counted,
    /// Known not to have settled, or not shown to have although the route shows receipts.
    Unsettled,
    /// The call's event has not arrived.
    Waiting,
}

/// The rule for ratings of calls without a visible settlement: they count only on a route that asks for payment (it has
/// challenged) and never shows receipts, as open402 and some x402 v1 servers do. Otherwise anybody could rate by sending a
/// payment header that nobody checks.
pub struct Standings<'a> {
    routes: HashMap<&'a str, &'a RouteFigures>,
}

impl<'a> Standings<'a> {
    pub fn new(routes: &'a [RouteFigures]) -> Self {
        Self { routes: routes.iter().map(|figures| (figures.route.as_str(), figures)).collect() }
    }

    pub fn of(&self, rating: &RatingGroup) -> Standing {
        if rating.matched == 0 {
            return Standing::Waiting;
        }
        match rating.settled {
            Some(1) => return Standing::Counted,
            Some(_) => return Standing::Unsettled,
            None => {}
        }
        let figures =
            rating.route.as_deref().and_then(|route| self.routes.get(route).or_else(|| self.routes.get("(other)")));
        let delivered = rating.status.is_some_and(|status| (200..300).contains(&status));
        match figures {
            Some(figures) if delivered && figures.challenges > 0 && figures.settled == 0 => Standing::Counted,
            _ => Standing::Unsettled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Standing, Standings};
    use crate::store::{RatingGroup, RouteFigures};

    fn route(route: &str, challenges: i64, settled: i64) -> RouteFigures {
        RouteFigures { route: route.into(), challenges, paid: 9, settled, unsettled: 0, delivered: 9, failed: 0 }
    }

    fn rating(route: &str, matched: i64, settled: Option<i64>, status: i64) -> RatingGroup {
        RatingGroup {
            matched,
            route: Some(route.into()),
            status: Some(status),
            settled,
            outcome: "fully".into(),
            issue: None,
            ratings: 1,
        }
    }

    #[test]
    fn d01_a_rating_counts_only_for_a_call_that_was_paid_for() {
        let routes = [route("GET /receipts", 5, 3), route("GET /no-receipts", 5, 0), route("GET /free", 0, 0)];
        let standings = Standings::new(&routes);
        for (rating, expected) in [
            (rating("GET /receipts", 1, Some(1), 200), Standing::Counted),
            (rating("GET /receipts", 1, Some(0), 200), Standing::Unsettled),
            (rating("GET /receipts", 1, None, 200), Standing::Unsettled),
            (rating("GET /no-receipts", 1, None, 200), Standing::Counted),
            (rating("GET /no-receipts", 1, None, 500), Standing::Unsettled),
            (rating("GET /free", 1, None, 200), Standing::Unsettled),
            (rating("GET /receipts", 0, None, 200), Standing::Waiting),
        ] {
            assert_eq!(standings.of(&rating), expected, "{rating:?}");
        }
    }
}
