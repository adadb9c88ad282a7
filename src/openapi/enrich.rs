//! The whole document: is it one we know, every operation, and what is added once.

use std::fmt;

use super::allow::{RouteRule, Rules};
use super::document::{Document, Version};
use super::operation::{Operation, Work, names_json};
use super::plan::Plan;
use super::{routes, servers, texts};
use crate::json::{At, Found, Kind, Outline, Splice};

/// A document with its additions, and what was learned from it.
#[derive(Debug)]
pub struct Enriched {
    /// The document to serve. Without its additions it is the merchant's text byte for byte, except where a
    /// reference to a shared part gave way to a copy.
    pub text: Vec<u8>,
    pub rules: Rules,
    /// What was left alone and why, one line each, at most 201.
    pub warnings: Vec<String>,
}

/// Why a document is served as it is, and nothing is learned from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skip {
    /// Over 5 MiB.
    TooLarge,
    Yaml,
    NotJson,
    /// JSON, but not OpenAPI 3.0 to 3.2 or Swagger 2.0 with a `paths` object.
    NotOpenapi,
    /// `paths`, `info` or the version stands there more than once; readers disagree about which counts.
    DuplicateKey,
}

/// Adds to `document` what `plan` says: OpenAPI 3.0, 3.1, 3.2 or Swagger 2.0 as JSON, at most 5 MiB.
/// A document that was enriched before keeps its text and is only learned from.
pub fn enrich(document: &[u8], plan: &Plan) -> Result<Enriched, Skip> {
    if document.len() > MAX_DOCUMENT {
        return Err(Skip::TooLarge);
    }
    let outline = Outline::of(document).map_err(|_| not_json(document))?;
    let root = outline.root();
    for name in ["openapi", "swagger", "info", "paths", "servers", "basePath"] {
        if outline.get(root, name) == Found::Repeated {
            return Err(Skip::DuplicateKey);
        }
    }
    let version = version(&outline).ok_or(Skip::NotOpenapi)?;
    let paths = outline.one_of_kind(root, "paths", Kind::Object).ok_or(Skip::NotOpenapi)?;
    let already_ours =
        ["x-forge-feedback", "x-forge-agent-context"].iter().any(|name| outline.get(root, name) != Found::Absent);

    let document = Document::new(outline, version);
    let mut work = Work::new(&document, plan, already_ours);
    let mut splice = Splice::new(document.outline.text);
    let mut learned = Learned { rules: Rules::default(), prefixes: servers::prefixes(&document, root) };
    for (key, item) in document.outline.members(paths) {
        let path = document.outline.string(key).unwrap_or_default();
        let Ok(path) = std::str::from_utf8(&path) else { continue };
        if path.starts_with('/') {
            path_item(&mut work, &mut splice, &mut learned, path, item, !already_ours);
        }
    }
    if !already_ours {
        once(&mut work, &mut splice, paths);
    }
    let warnings = work.warnings;
    Ok(Enriched { text: splice.finish(), rules: learned.rules, warnings })
}

impl Skip {
    /// The reason's name in statistics.
    pub fn name(self) -> &'static str {
        match self {
            Skip::TooLarge => "too_large",
            Skip::Yaml => "yaml",
            Skip::NotJson => "not_json",
            Skip::NotOpenapi => "not_openapi",
            Skip::DuplicateKey => "duplicate_key",
        }
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Skip::TooLarge => "the OpenAPI document is over 5 MiB; it is served as it is",
            Skip::Yaml => "the OpenAPI document is YAML; only JSON is enriched, so it is served as it is",
            Skip::NotJson => "the OpenAPI document is not valid JSON; it is served as it is",
            Skip::NotOpenapi => {
                "the document is not OpenAPI 3.0, 3.1, 3.2 or Swagger 2.0 with a paths object; it is served as it is"
            }
            Skip::DuplicateKey => {
                "the OpenAPI document has paths, info, servers or its version twice; it is served as it is"
            }
        })
    }
}

impl std::error::Error for Skip {}

/// All operations of one path. A path item that is itself a reference is learned from, never edited.
fn path_item<'t>(
    work: &mut Work<'_, 't, '_>,
    splice: &mut Splice<'t>,
    learned: &mut Learned,
    path: &str,
    site: At,
    editable: bool,
) {
    let document = work.document;
    let outline = &document.outline;
    let by_reference = outline.get(site, "$ref") != Found::Absent;
    if by_reference && editable {
        work.warn(path, "the path is a $ref");
    }
    let Ok(item) = document.follow(site).map(|place| place.target) else { return };
    let mut one = |work: &mut Work<'_, 't, '_>, method: &str, object: At| {
        if outline.kind(object) != Kind::Object {
            return;
        }
        let label = format!("{method} {path}");
        let operation = Operation {
            label: &label,
            item,
            object,
            consumes_json: names_json(work, object, "consumes"),
            produces_json: names_json(work, object, "produces"),
            editable: editable && !by_reference,
        };
        let rule = work.operation(splice, &operation);
        let nearer = [object, item].into_iter().find_map(|holder| servers::prefixes(document, holder));
        learned.add(method, path, nearer.as_deref(), &rule);
    };
    for (key, object) in outline.members(item) {
        if let Some(method) = METHODS.iter().find(|(name, _)| outline.reads(key, name)) {
            one(work, method.1, object);
        } else if outline.reads(key, "additionalOperations") {
            for (method, object) in outline.members(object) {
                let method = outline.string(method).unwrap_or_default();
                one(work, &String::from_utf8_lossy(&method), object);
            }
        }
    }
}

/// The rules so far, and the prefixes of the document's own servers.
struct Learned {
    rules: Rules,
    prefixes: Option<Vec<String>>,
}

impl Learned {
    /// Keeps a rule under the bare path and under each server's prefix; the nearest list of servers counts.
    fn add(&mut self, method: &str, path: &str, nearer: Option<&[String]>, rule: &RouteRule) {
        self.rules.add(method, path, rule);
        let prefixes = nearer.or(self.prefixes.as_deref()).unwrap_or_default();
        for prefix in prefixes.iter().filter(|prefix| !prefix.is_empty()) {
            self.rules.add(method, &[prefix, path].concat(), rule);
        }
    }
}

/// The rating routes, the guidance and the extension of the document.
fn once<'t>(work: &mut Work<'_, 't, '_>, splice: &mut Splice<'t>, paths: At) {
    let document = work.document;
    let outline = &document.outline;
    let Some(feedback) = &work.plan.feedback else {
        if let Some(context) = &work.plan.context {
            document.append(splice, outline.root(), &texts::context_extension(context));
        }
        return;
    };
    let prefix = match document.version {
        Version::Swagger2 => servers::prefixes(document, outline.root()).and_then(|mut all| all.pop()),
        Version::OpenApi3 => None,
    };
    let servers = match document.version {
        Version::Swagger2 => None,
        Version::OpenApi3 => servers::override_for(document, feedback.origin()),
    };
    let mut added = Vec::new();
    for route in routes::routes(feedback, document.version, servers) {
        let Some(path) = route.path.strip_prefix(prefix.as_deref().unwrap_or_default()).filter(|p| p.starts_with('/'))
        else {
            work.warn(&route.path, "basePath does not reach the rating route, so it is not described");
            continue;
        };
        let taken = outline.members(paths).any(|(key, _)| {
            outline.string(key).is_some_and(|known| known.strip_suffix(b"/").unwrap_or(&known) == path.as_bytes())
        });
        if taken {
            work.warn(path, "the document has its own path where the rating route is");
        } else {
            added.push(format!("{}:{}", texts::quoted(path), route.item));
        }
    }
    if !added.is_empty() {
        document.append(splice, paths, &added.join(","));
    }
    if let Some(info) = outline.one_of_kind(outline.root(), "info", Kind::Object)
        && let Some(name) = work.sentence_after(splice, info, "x-guidance")
    {
        document.append(splice, info, &format!("\"{name}\":{}", texts::quoted(&feedback.sentence)));
    }
    document.append(splice, outline.root(), &texts::feedback_extension(feedback));
}

fn version(outline: &Outline<'_>) -> Option<Version> {
    let text = |name| outline.one(outline.root(), name).and_then(|value| outline.string(value));
    if let Some(openapi) = text("openapi") {
        let known = [&b"3.0"[..], b"3.1", b"3.2"]
            .iter()
            .any(|known| openapi.strip_prefix(*known).is_some_and(|rest| rest.is_empty() || rest.starts_with(b".")));
        return known.then_some(Version::OpenApi3);
    }
    text("swagger").is_some_and(|swagger| *swagger == *b"2.0").then_some(Version::Swagger2)
}

fn not_json(text: &[u8]) -> Skip {
    let names_version = |line: &[u8]| {
        let line = line.trim_ascii_end();
        [&b"openapi:"[..], b"swagger:", b"\"openapi\":", b"\"swagger\":", b"'openapi':", b"'swagger':"]
            .iter()
            .any(|name| line.starts_with(name))
    };
    let yaml = !text.trim_ascii_start().starts_with(b"{") && text.split(|&byte| byte == b'\n').any(names_version);
    if yaml { Skip::Yaml } else { Skip::NotJson }
}

const MAX_DOCUMENT: usize = 5 << 20;
const METHODS: [(&str, &str); 9] = [
    ("get", "GET"),
    ("put", "PUT"),
    ("post", "POST"),
    ("delete", "DELETE"),
    ("options", "OPTIONS"),
    ("head", "HEAD"),
    ("patch", "PATCH"),
    ("trace", "TRACE"),
    ("query", "QUERY"),
];
