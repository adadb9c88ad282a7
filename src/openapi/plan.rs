//! What is to be added to a document, settled before the document is seen.

use crate::feedback::wording::{BODY_NAMES, Link, NESTED_NAME};

/// The additions to make. Two equal plans make the same document of the same text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Ratings; `None` leaves descriptions, responses and rating routes out.
    pub feedback: Option<Feedback>,
    /// Agent context, where agents are asked for it; `None` leaves requests alone.
    pub context: Option<Context>,
    /// Media types whose bodies take fields, lower case, without parameters: `application/json`.
    pub json_types: Vec<String>,
    /// Operations that are paid although the document does not say so: `GET /weather/{city}`,
    /// the path spelled as in the document.
    pub also_paid: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// The sentence that is put behind descriptions. ASCII.
    pub sentence: String,
    /// `<origin><base_path>/rate`, or `<base_path>/rate` where no origin is known.
    pub rate_url: String,
    /// Where the rating routes are on the merchant's origin: `/feedback`.
    pub base_path: String,
    pub body_layout: BodyLayout,
    /// Whether bodies carry `rate_this_call`.
    pub rate_hint: bool,
    /// Whether bodies carry fields at all; `false` leaves every schema alone.
    pub inject_body: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLayout {
    /// The fields stand beside the merchant's own.
    Flat,
    /// The fields stand in one object, `forge_feedback`.
    Nested,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// What agents are asked, ASCII; it becomes the description of the member.
    pub ask: String,
    pub required: bool,
    /// Whether the search query is asked for too.
    pub search_query: bool,
}

impl Feedback {
    /// Names that a paid JSON body gains at its top level.
    pub(crate) fn fields(&self) -> &'static [&'static str] {
        match (self.inject_body, self.body_layout, self.rate_hint) {
            (false, ..) => &[],
            (true, BodyLayout::Nested, _) => &[NESTED_NAME],
            (true, BodyLayout::Flat, true) => &BODY_NAMES,
            (true, BodyLayout::Flat, false) => BODY_NAMES.split_last().map_or(&[], |(_, names)| names),
        }
    }

    /// `<origin><base_path>`, where a rating with a note is sent.
    pub(crate) fn submit_url(&self) -> &str {
        self.rate_url.strip_suffix("/rate").unwrap_or(&self.rate_url)
    }

    pub(crate) fn link(&self) -> Link {
        Link::new(self.origin().unwrap_or_default(), &self.base_path)
    }

    /// The origin of the rating routes, if it is known.
    pub(crate) fn origin(&self) -> Option<&str> {
        self.submit_url().strip_suffix(self.base_path.as_str()).filter(|origin| !origin.is_empty())
    }
}
