//! Under which paths of an origin a document's operations are reached: OpenAPI 3 `servers`, Swagger 2.0 `basePath`.
//!
//! A gateway may have taken the prefix off before the request is seen, so callers look for the bare path too.

use std::borrow::Cow;

use super::document::{Document, Version};
use crate::json::{At, Kind};

/// The prefixes of the servers listed in `object` (a document, path item or operation): `/v1`, or empty for the
/// root. `None` if it lists none. Variables are replaced by their defaults and, where one fills a segment, also kept.
pub(crate) fn prefixes(document: &Document<'_>, object: At) -> Option<Vec<String>> {
    let outline = &document.outline;
    if document.version == Version::Swagger2 {
        let base = outline.one_of_kind(object, "basePath", Kind::Text)?;
        return Some(vec![path_of(&text(document, base)).to_owned()]);
    }
    let mut found = Vec::new();
    for server in outline.elements(outline.one_of_kind(object, "servers", Kind::Array)?) {
        let Some(url) = outline.one_of_kind(server, "url", Kind::Text) else { continue };
        let url = text(document, url);
        for spelling in [path_of(&with_defaults(document, server, &url)), path_of(&url)] {
            if !found.iter().any(|known| known == spelling) && found.len() < MAX_PREFIXES {
                found.push(spelling.to_owned());
            }
        }
    }
    (!found.is_empty()).then_some(found)
}

/// The server entry that our own paths need because the document's servers are not where our routes are.
pub(crate) fn override_for<'u>(document: &Document<'_>, origin: Option<&'u str>) -> Option<&'u str> {
    let outline = &document.outline;
    let servers = outline.one_of_kind(outline.root(), "servers", Kind::Array)?;
    let reached = outline.elements(servers).all(|server| {
        let url = outline.one_of_kind(server, "url", Kind::Text).map(|url| text(document, url));
        let url = url.as_deref().unwrap_or("/");
        path_of(url).is_empty() && origin.is_none_or(|origin| url == "/" || url.trim_end_matches('/') == origin)
    });
    if reached { None } else { Some(origin.unwrap_or("/")) }
}

fn with_defaults(document: &Document<'_>, server: At, url: &str) -> String {
    let outline = &document.outline;
    let mut url = url.to_owned();
    let variables = outline.one_of_kind(server, "variables", Kind::Object);
    for (name, variable) in variables.into_iter().flat_map(|variables| outline.members(variables)) {
        if let Some(default) = outline.one_of_kind(variable, "default", Kind::Text) {
            url = url.replace(&format!("{{{}}}", text(document, name)), &text(document, default));
        }
    }
    url
}

/// The path of a URL, without a slash at its end.
fn path_of(url: &str) -> &str {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let after_scheme = url.find("://").map(|at| at + 3).or_else(|| url.starts_with("//").then_some(2));
    let path = match after_scheme.and_then(|at| url.get(at..)) {
        Some(rest) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or_default(),
        None => url,
    };
    path.trim_end_matches('/')
}

fn text<'t>(document: &Document<'t>, at: At) -> Cow<'t, str> {
    match document.outline.string(at) {
        Some(Cow::Borrowed(bytes)) => String::from_utf8_lossy(bytes),
        Some(Cow::Owned(bytes)) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        None => Cow::Borrowed(""),
    }
}

const MAX_PREFIXES: usize = 8;

#[cfg(test)]
mod tests {
    use super::path_of;

    #[test]
    fn the_path_of_a_server_url_is_what_follows_its_host() {
        for (url, path) in [
            ("https://api.example.com", ""),
            ("https://api.example.com/", ""),
            ("https://api.example.com/v1/", "/v1"),
            ("https://{region}.example.com:{port}/{base}/x?y", "/{base}/x"),
            ("//api.example.com/v1", "/v1"),
            ("/v1", "/v1"),
            ("/", ""),
            ("", ""),
        ] {
            assert_eq!(path_of(url), path, "{url}");
        }
    }
}
