//! May values of a schema carry a few more members, and where are those described?
//!
//! A schema fits only if it is understood whole: anything that could make a validator, or a client generated
//! from the document, refuse the added members is a [`Refusal`], and the response then gets the header only.
//!
//! Not done on purpose: `oneOf` and `anyOf` are refused even where every branch is open, because generated
//! clients pick a branch by its members.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use super::document::{Document, Place};
use crate::json::{At, Found, Kind};

/// Why a schema does not take members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A keyword that may exclude further members.
    Keyword(&'static str),
    /// A keyword stands there twice; readers disagree about which counts.
    Repeated(&'static str),
    /// The merchant's own member of that name.
    OwnField(&'static str),
    /// `additionalProperties` is a schema that our values do not satisfy.
    TypedMap,
    /// A part of `allOf` admits only its own members.
    ClosedPart,
    NotAnObject,
    /// A `$ref` that leaves the document.
    Remote,
    /// A `$ref` to something that is not there.
    Dangling,
    /// A `$ref` with constraints beside it.
    ReferenceSiblings,
    /// More than 16 references or parts deep, or a circle.
    TooDeep,
    /// The shared schema names itself, so no copy can be made.
    Anchor,
    /// Too much has been copied already.
    NoRoom,
    UnknownForm,
}

/// A schema whose values may carry the members.
#[derive(Clone, Debug)]
pub(crate) struct Fit {
    pub place: Place,
    /// The `properties` object, if there is one.
    pub properties: Option<At>,
    /// Only described members are admitted, so ours must be described.
    pub closed: bool,
    /// There is no object to describe members in (the schema `true`), and no need to.
    pub anything: bool,
}

/// Looks for room for one set of names; what it found of shared schemas is remembered.
pub(crate) struct Examiner<'d, 't> {
    document: &'d Document<'t>,
    names: &'static [&'static str],
    /// The JSON type of the added values.
    value_type: &'static str,
    /// The document was enriched before: a schema that has all the names is one of ours.
    already_ours: bool,
    known: RefCell<HashMap<At, Result<Shape, Refusal>>>,
}

/// What was found at one schema object.
#[derive(Clone, Copy, Debug)]
struct Shape {
    properties: Option<At>,
    closed: bool,
}

impl<'d, 't> Examiner<'d, 't> {
    pub fn new(
        document: &'d Document<'t>,
        names: &'static [&'static str],
        value_type: &'static str,
        already_ours: bool,
    ) -> Self {
        Examiner { document, names, value_type, already_ours, known: RefCell::default() }
    }

    pub fn examine(&self, schema: At) -> Result<Fit, Refusal> {
        let place = self.document.follow(schema)?;
        let anything = self.document.outline.kind(place.target) == Kind::True;
        let shape = self.shape(place.target, 0)?;
        Ok(Fit { place, properties: shape.properties, closed: shape.closed, anything })
    }

    fn shape(&self, schema: At, depth: usize) -> Result<Shape, Refusal> {
        match self.document.outline.kind(schema) {
            Kind::True => return Ok(Shape { properties: None, closed: false }),
            Kind::False => return Err(Refusal::Keyword("false")),
            Kind::Object => {}
            _ => return Err(Refusal::UnknownForm),
        }
        if depth > MAX_DEPTH {
            return Err(Refusal::TooDeep);
        }
        // The entry made first stops a circle of parts.
        if let Some(known) = self.known.borrow().get(&schema) {
            return *known;
        }
        self.known.borrow_mut().insert(schema, Err(Refusal::TooDeep));
        let found = self.object(schema, depth);
        self.known.borrow_mut().insert(schema, found);
        found
    }

    fn object(&self, schema: At, depth: usize) -> Result<Shape, Refusal> {
        let outline = &self.document.outline;
        for (key, value) in outline.members(schema) {
            let name = outline.string(key).unwrap_or_default();
            if let Some(keyword) = EXCLUDING.iter().find(|keyword| name == keyword.as_bytes()) {
                return Err(Refusal::Keyword(keyword));
            }
            if *name == b"unevaluatedProperties"[..] && outline.kind(value) != Kind::True {
                return Err(Refusal::Keyword("unevaluatedProperties"));
            }
        }
        let one = |name| match outline.get(schema, name) {
            Found::Absent => Ok(None),
            Found::One(value) => Ok(Some(value)),
            Found::Repeated => Err(Refusal::Repeated(name)),
        };
        if let Some(kinds) = one("type")?
            && !self.is_of_type(kinds, "object")
        {
            return Err(Refusal::NotAnObject);
        }
        let properties = one("properties")?;
        let required = one("required")?;
        let described = self.own_names(properties, required)?;
        let closed = match one("additionalProperties")? {
            Some(rest) if outline.kind(rest) == Kind::False => !described,
            Some(rest) if described || self.admits_our_values(rest) => false,
            Some(_) => return Err(Refusal::TypedMap),
            None => false,
        };
        if let Some(parts) = one("allOf")? {
            self.open_parts(parts, depth)?;
        }
        Ok(Shape { properties, closed })
    }

    /// Whether all our names are described already; some of them, or any that is not ours, is a refusal.
    fn own_names(&self, properties: Option<At>, required: Option<At>) -> Result<bool, Refusal> {
        let outline = &self.document.outline;
        if properties.is_some_and(|properties| outline.kind(properties) != Kind::Object) {
            return Err(Refusal::UnknownForm);
        }
        let keys = || properties.into_iter().flat_map(|properties| outline.members(properties).map(|(key, _)| key));
        let described = |name: &str| keys().any(|key| outline.reads(key, name));
        if self.already_ours && !self.names.is_empty() && self.names.iter().all(|name| described(name)) {
            return Ok(true);
        }
        let demanded = required.into_iter().flat_map(|list| outline.elements(list));
        for at in keys().chain(demanded) {
            if let Some(name) = self.names.iter().find(|name| outline.reads(at, name)) {
                return Err(Refusal::OwnField(name));
            }
        }
        Ok(false)
    }

    /// Every part of `allOf` sees the whole value, so each must admit members it does not describe.
    fn open_parts(&self, parts: At, depth: usize) -> Result<(), Refusal> {
        let outline = &self.document.outline;
        if outline.kind(parts) != Kind::Array {
            return Err(Refusal::UnknownForm);
        }
        for part in outline.elements(parts) {
            let place = self.document.follow(part)?;
            if self.shape(place.target, depth + 1)?.closed {
                return Err(Refusal::ClosedPart);
            }
        }
        Ok(())
    }

    fn admits_our_values(&self, rest: At) -> bool {
        let outline = &self.document.outline;
        let Ok(place) = self.document.follow(rest) else { return false };
        match outline.kind(place.target) {
            Kind::True => true,
            Kind::Object => outline.members(place.target).all(|(key, value)| {
                if outline.reads(key, "type") {
                    return self.is_of_type(value, self.value_type);
                }
                let name = outline.string(key).unwrap_or_default();
                name.starts_with(b"x-") || ANNOTATIONS.iter().any(|annotation| name == annotation.as_bytes())
            }),
            _ => false,
        }
    }

    fn is_of_type(&self, kinds: At, wanted: &str) -> bool {
        let outline = &self.document.outline;
        outline.reads(kinds, wanted) || outline.elements(kinds).any(|kind| outline.reads(kind, wanted))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Keyword(name) => write!(out, "the schema uses {name}"),
            Refusal::Repeated(name) => write!(out, "the schema has {name} more than once"),
            Refusal::OwnField(name) => write!(out, "the schema has its own {name}"),
            Refusal::TypedMap => out.write_str("additionalProperties does not admit the added values"),
            Refusal::ClosedPart => out.write_str("a part of allOf admits no further members"),
            Refusal::NotAnObject => out.write_str("the schema is not an object"),
            Refusal::Remote => out.write_str("$ref leaves the document"),
            Refusal::Dangling => out.write_str("$ref points to nothing in the document"),
            Refusal::ReferenceSiblings => out.write_str("$ref has other keywords beside it"),
            Refusal::TooDeep => out.write_str("references or allOf go in a circle or more than 16 deep"),
            Refusal::Anchor => out.write_str("the shared schema has $id or $anchor and cannot be copied"),
            Refusal::NoRoom => out.write_str("too many shared schemas would have to be copied"),
            Refusal::UnknownForm => out.write_str("the schema has a form that is not known"),
        }
    }
}

const EXCLUDING: [&str; 17] = [
    "oneOf",
    "anyOf",
    "not",
    "if",
    "then",
    "else",
    "$dynamicRef",
    "$recursiveRef",
    "discriminator",
    "propertyNames",
    "maxProperties",
    "enum",
    "const",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
    "$id",
];
const ANNOTATIONS: [&str; 11] = [
    "title",
    "description",
    "example",
    "examples",
    "default",
    "deprecated",
    "nullable",
    "readOnly",
    "writeOnly",
    "externalDocs",
    "$comment",
];
const MAX_DEPTH: usize = 16;
