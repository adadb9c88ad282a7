//! The request of a paid operation, where agents are asked for their context: a member of the JSON body, or
//! query parameters where there is no such body. Also which `agent_` parameters are the merchant's own.

use super::document::{Place, Version};
use super::operation::{Operation, Work};
use super::response::Body;
use super::schema::Refusal;
use super::texts;
use crate::json::{At, Found, Kind, Splice};

impl<'t> Work<'_, 't, '_> {
    /// Describes agent context. `appended` collects members for the end of the operation.
    pub fn request(&mut self, splice: &mut Splice<'t>, operation: &Operation<'_>, appended: &mut Vec<String>) {
        let Some(context) = &self.plan.context else { return };
        let required = context.required.then_some("agent_context");
        match self.request_body(operation) {
            Ok(Some((site, place, bodies))) => self.document.edit_at(splice, site, &place, |splice| {
                for body in &bodies {
                    self.describe(splice, body, &self.additions.context_property, required);
                }
            }),
            Ok(None) => self.parameters(splice, operation, appended),
            Err(refusal) => {
                self.warn(&format!("{} request", operation.label), refusal);
                self.parameters(splice, operation, appended);
            }
        }
    }

    /// Names of the merchant's query parameters that begin with `agent_`.
    pub fn agent_parameters(&self, operation: &Operation<'_>) -> Vec<String> {
        let outline = &self.document.outline;
        let lists = [operation.item, operation.object].map(|holder| outline.one(holder, "parameters"));
        let mut names = Vec::new();
        for site in lists.into_iter().flatten().flat_map(|list| outline.elements(list)) {
            let Ok(place) = self.document.follow(site) else { continue };
            let parameter = place.target;
            let in_query = outline.one(parameter, "in").is_some_and(|place| outline.reads(place, "query"));
            if !in_query || outline.get(parameter, texts::CONTEXT_MARK) != Found::Absent {
                continue;
            }
            let name = outline.one(parameter, "name").and_then(|name| outline.string(name)).unwrap_or_default();
            if name.starts_with(b"agent_") {
                names.push(String::from_utf8_lossy(&name).into_owned());
            }
        }
        names
    }

    /// The JSON body of the request, if there is one, with room for the member in each of its schemas.
    fn request_body(&self, operation: &Operation<'_>) -> Result<Option<(At, Place, Vec<Body>)>, Refusal> {
        let Some(site) = self.body_site(operation) else { return Ok(None) };
        let place = self.document.follow(site)?;
        let bodies = self.bodies(place.target, operation.consumes_json, &self.requests)?;
        if bodies.is_empty() {
            return Ok(None);
        }
        if bodies.iter().any(|body| body.fit.anything) {
            return Err(Refusal::UnknownForm);
        }
        self.document.reserve(&place)?;
        bodies.iter().try_for_each(|body| self.reserve(body))?;
        Ok(Some((site, place, bodies)))
    }

    fn body_site(&self, operation: &Operation<'_>) -> Option<At> {
        let outline = &self.document.outline;
        if self.document.version == Version::OpenApi3 {
            return outline.one_of_kind(operation.object, "requestBody", Kind::Object);
        }
        let parameters = outline.one_of_kind(operation.object, "parameters", Kind::Array)?;
        outline.elements(parameters).find(|&site| {
            let place = self.document.follow(site);
            place.is_ok_and(|place| outline.one(place.target, "in").is_some_and(|place| outline.reads(place, "body")))
        })
    }

    fn parameters(&self, splice: &mut Splice<'t>, operation: &Operation<'_>, appended: &mut Vec<String>) {
        let taken = self.agent_parameters(operation);
        let missing =
            self.additions.context_parameters.iter().filter(|(name, _)| !taken.iter().any(|known| known == name));
        let added: Vec<&str> = missing.map(|(_, parameter)| parameter.as_str()).collect();
        if added.is_empty() {
            return;
        }
        let outline = &self.document.outline;
        match outline.get(operation.object, "parameters") {
            Found::One(list) if outline.kind(list) == Kind::Array => {
                self.document.append(splice, list, &added.join(","));
            }
            Found::Absent => appended.push(format!("\"parameters\":[{}]", added.join(","))),
            _ => {}
        }
    }
}
