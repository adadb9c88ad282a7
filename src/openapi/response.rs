//! One response of an operation: may its JSON body take our fields, and if the operation is paid, describing
//! them and the id header.
//!
//! A response that is shared by reference is copied to where it is used; the shared one stays as it is.

use super::document::{Place, Version};
use super::operation::Work;
use super::schema::{Examiner, Fit, Refusal};
use crate::feedback::wording::ID_HEADER;
use crate::json::{At, Found, Kind, Splice};

/// Where the response stands, for warnings and for what its schemas are.
pub(crate) struct Answer<'l> {
    /// `GET /weather 200`.
    pub label: &'l str,
    pub site: At,
    /// Whether the media types of a Swagger 2.0 response include JSON.
    pub produces_json: bool,
    /// Whether a body of this status is ever edited: 204, 205 and 206 are not.
    pub editable: bool,
    /// Whether the document is to describe our additions here.
    pub paid: bool,
}

/// A JSON schema of a body, and what stands between it and the response.
pub(crate) struct Body {
    /// The media type object, which may be a reference of its own.
    media: Option<(At, Place)>,
    schema: At,
    pub fit: Fit,
}

impl<'t> Work<'_, 't, '_> {
    /// Whether JSON bodies of the response may take fields.
    pub fn response(&mut self, splice: &mut Splice<'t>, answer: &Answer<'_>) -> bool {
        let place = match self.document.follow(answer.site) {
            Ok(place) => place,
            Err(refusal) => return self.refuse(answer.label, refusal),
        };
        let bodies = match self.bodies(place.target, answer.produces_json, &self.responses) {
            Ok(bodies) => bodies,
            Err(refusal) => {
                if answer.paid && self.document.reserve(&place).is_ok() {
                    self.document.edit_at(splice, answer.site, &place, |splice| self.id_header(splice, place.target));
                }
                return self.refuse(answer.label, refusal);
            }
        };
        let open = bodies.iter().all(|body| !body.fit.closed);
        if !answer.paid {
            return answer.editable && open;
        }
        if let Err(refusal) = self.document.reserve(&place) {
            self.warn(answer.label, refusal);
            return answer.editable && open;
        }
        let describe = answer.editable && !self.additions.field_properties.is_empty();
        let room = match describe {
            true => bodies.iter().try_for_each(|body| self.reserve(body)),
            false => Ok(()),
        };
        self.document.edit_at(splice, answer.site, &place, |splice| {
            if describe && room.is_ok() {
                for body in &bodies {
                    self.describe(splice, body, &self.additions.field_properties, None);
                }
            }
            self.id_header(splice, place.target);
        });
        match room {
            Err(refusal) => {
                self.warn(answer.label, refusal);
                open
            }
            Ok(()) => answer.editable,
        }
    }

    /// The schemas of all JSON bodies of a response or request body; the first that does not fit ends it.
    pub fn bodies(&self, holder: At, json: bool, examiner: &Examiner<'_, '_>) -> Result<Vec<Body>, Refusal> {
        let outline = &self.document.outline;
        let mut bodies = Vec::new();
        if self.document.version == Version::Swagger2 {
            if let Some(schema) = outline.one(holder, "schema").filter(|_| json) {
                bodies.push(Body { media: None, schema, fit: examiner.examine(schema)? });
            }
            return Ok(bodies);
        }
        let content = match outline.get(holder, "content") {
            Found::One(content) => content,
            Found::Absent => return Ok(bodies),
            Found::Repeated => return Err(Refusal::Repeated("content")),
        };
        for (name, site) in outline.members(content) {
            if !self.is_json(&outline.string(name).unwrap_or_default()) {
                continue;
            }
            let place = self.document.follow(site)?;
            if outline.get(place.target, "itemSchema") != Found::Absent {
                return Err(Refusal::Keyword("itemSchema"));
            }
            match outline.get(place.target, "schema") {
                Found::One(schema) => {
                    let fit = examiner.examine(schema)?;
                    bodies.push(Body { media: Some((site, place)), schema, fit });
                }
                Found::Absent => {}
                Found::Repeated => return Err(Refusal::Repeated("schema")),
            }
        }
        Ok(bodies)
    }

    pub fn reserve(&self, body: &Body) -> Result<(), Refusal> {
        if let Some((_, place)) = &body.media {
            self.document.reserve(place)?;
        }
        self.document.reserve(&body.fit.place)
    }

    /// Adds members to the `properties` of a body's schema, and a name to its `required` list if one is given.
    pub fn describe(&self, splice: &mut Splice<'t>, body: &Body, properties: &str, required: Option<&str>) {
        let edit = |splice: &mut Splice<'t>| self.describe_at(splice, body.schema, &body.fit, properties, required);
        match &body.media {
            Some((site, place)) => self.document.edit_at(splice, *site, place, edit),
            None => edit(splice),
        }
    }

    pub fn describe_at(&self, splice: &mut Splice<'t>, site: At, fit: &Fit, properties: &str, required: Option<&str>) {
        if fit.anything {
            return;
        }
        self.document.edit_at(splice, site, &fit.place, |splice| {
            let mut members = Vec::new();
            match fit.properties {
                Some(object) => self.document.append(splice, object, properties),
                None => members.push(format!("\"properties\":{{{properties}}}")),
            }
            if let Some(name) = required {
                let outline = &self.document.outline;
                match outline.get(fit.place.target, "required") {
                    Found::One(list) if outline.kind(list) == Kind::Array => {
                        self.document.append(splice, list, &format!("\"{name}\""));
                    }
                    Found::Absent => members.push(format!("\"required\":[\"{name}\"]")),
                    _ => {}
                }
            }
            if !members.is_empty() {
                self.document.append(splice, fit.place.target, &members.join(","));
            }
        });
    }

    /// Whether bodies of this media type are edited at run time. A range such as `*/*` covers JSON too.
    pub fn is_json(&self, media_type: &[u8]) -> bool {
        let essence = media_type.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
        essence == b"*/*"
            || essence.eq_ignore_ascii_case(b"application/*")
            || self.plan.json_types.iter().any(|json| essence.eq_ignore_ascii_case(json.as_bytes()))
    }

    fn id_header(&self, splice: &mut Splice<'t>, response: At) {
        let outline = &self.document.outline;
        let header = &self.additions.id_header;
        match outline.get(response, "headers") {
            Found::One(headers) if outline.kind(headers) == Kind::Object => {
                let there = outline.members(headers).any(|(name, _)| {
                    outline.string(name).unwrap_or_default().eq_ignore_ascii_case(ID_HEADER.as_bytes())
                });
                if !there {
                    self.document.append(splice, headers, header);
                }
            }
            Found::Absent if outline.kind(response) == Kind::Object => {
                self.document.append(splice, response, &format!("\"headers\":{{{header}}}"));
            }
            _ => {}
        }
    }

    fn refuse(&mut self, label: &str, refusal: Refusal) -> bool {
        self.warn(label, refusal);
        false
    }
}
