//! Why something was left alone.

/// Why something was left alone. Counted in the stats; never an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// Our own additions, or a second layer's, are there already.
    AlreadyOurs,
    /// A receipt, digest or signature covers these bytes, or they are encoded, partial, or of another media type.
    BodyNotEditable,
    /// The description is there and is not a string, or nothing more fits into it.
    DescriptionNotText,
    /// A name we would edit stands there twice, or a header on two lines.
    Ambiguous,
    /// Adding would make a header too large for somebody on the way.
    NoRoom,
    /// Not valid JSON, or not an object.
    NotJson,
    /// Not strict base64.
    NotBase64,
    /// Valid, but of no dialect we know.
    NotRecognised,
    /// Larger than what is read.
    TooLarge,
    /// No settlement was seen where one is needed for an id.
    NotSettled,
    /// The merchant's schema has no room for more members.
    SchemaClosed,
    /// A phase was called out of order.
    OutOfOrder,
}

impl Skip {
    pub(crate) const ALL: [Skip; 12] = [
        Skip::AlreadyOurs,
        Skip::BodyNotEditable,
        Skip::DescriptionNotText,
        Skip::Ambiguous,
        Skip::NoRoom,
        Skip::NotJson,
        Skip::NotBase64,
        Skip::NotRecognised,
        Skip::TooLarge,
        Skip::NotSettled,
        Skip::SchemaClosed,
        Skip::OutOfOrder,
    ];

    /// The name under which the stats count it.
    pub fn name(self) -> &'static str {
        match self {
            Skip::AlreadyOurs => "already_ours",
            Skip::BodyNotEditable => "body_not_editable",
            Skip::DescriptionNotText => "description_not_text",
            Skip::Ambiguous => "ambiguous",
            Skip::NoRoom => "no_room",
            Skip::NotJson => "not_json",
            Skip::NotBase64 => "not_base64",
            Skip::NotRecognised => "not_recognised",
            Skip::TooLarge => "too_large",
            Skip::NotSettled => "not_settled",
            Skip::SchemaClosed => "schema_closed",
            Skip::OutOfOrder => "out_of_order",
        }
    }
}
