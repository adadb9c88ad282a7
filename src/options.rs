//! Options as data: one JSON object, the same in every language, checked once.
//!
//! Every fault is collected; a message names the option, what came, what goes, and the way out. Names, types and
//! defaults are listed in options.json, which a test holds to this file.

mod reader;

use crate::diagnostic::DiagnosticOptions;
use crate::feedback::body::Layout;
use crate::feedback::wording::Tone;
use crate::http::origin;
use reader::Reader;

/// How much of what agents say of themselves is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ContextMode {
    /// Nothing of the merchant's request is touched.
    Off,
    #[default]
    Read,
    Ask,
    Required,
}

/// Settings of OpenAPI enrichment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenApiOptions {
    pub paths: Vec<String>,
    pub document: Option<String>,
}

/// Everything a merchant can set, with defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub api_key: String,
    pub previous_api_keys: Vec<String>,
    pub backend_url: Option<String>,
    /// An origin without a trailing slash.
    pub public_url: Option<String>,
    pub feedback: bool,
    pub base_path: String,
    pub tone: Tone,
    pub body_layout: Layout,
    pub describe_challenges: bool,
    pub challenge_extension: bool,
    pub receipt_extension: bool,
    pub inject_body: bool,
    pub rate_hint: bool,
    pub inject_text: bool,
    pub extension_schema: bool,
    pub max_description: usize,
    pub require_settlement: bool,
    pub json_types: Vec<String>,
    pub agent_context: ContextMode,
    pub search_query: bool,
    pub openapi: Option<OpenApiOptions>,
    pub discovery: bool,
    pub diagnostics: Option<DiagnosticOptions>,
    pub service_description: Option<String>,
    pub replay_guard: bool,
    pub replay_window_s: u64,
    pub rate_limit_per_minute: u64,
    pub visits: bool,
    pub telemetry: bool,
    pub ttl_ms: u64,
    pub flush_interval_ms: u64,
    pub max_waits: u64,
    pub tls_ca_file: Option<String>,
    pub proxy: Option<String>,
    pub strict: bool,
}

/// Options, and every fault found on the way; with a fault the options are of no use but for `strict`.
pub(crate) fn parse(json: &[u8]) -> (Options, Vec<String>) {
    let mut read = Reader::new(json);
    let options = read_all(&mut read);
    (options, read.finish())
}

fn read_all(read: &mut Reader) -> Options {
    Options {
        api_key: api_key(read),
        previous_api_keys: read.texts("previous_api_keys", &[]),
        backend_url: backend_url(read),
        public_url: public_url(read),
        feedback: read.flag("feedback", true),
        base_path: base_path(read),
        tone: read.choice("tone", &[("default", Tone::Default), ("lifecycle", Tone::Lifecycle)]),
        body_layout: read.choice("body_layout", &[("flat", Layout::Flat), ("nested", Layout::Nested)]),
        describe_challenges: read.flag("describe_challenges", true),
        challenge_extension: read.flag("challenge_extension", true),
        receipt_extension: read.flag("receipt_extension", true),
        inject_body: read.flag("inject_body", true),
        rate_hint: read.flag("rate_hint", true),
        inject_text: read.flag("inject_text", false),
        extension_schema: read.flag("extension_schema", false),
        max_description: read.number("max_description", 500, 0, 500) as usize,
        require_settlement: read.flag("require_settlement", false),
        json_types: json_types(read),
        agent_context: read.choice(
            "agent_context",
            &[
                ("read", ContextMode::Read),
                ("off", ContextMode::Off),
                ("ask", ContextMode::Ask),
                ("required", ContextMode::Required),
            ],
        ),
        search_query: read.flag("search_query", true),
        openapi: openapi(read),
        discovery: read.flag("discovery", false),
        diagnostics: diagnostics(read),
        service_description: read.text("service_description"),
        replay_guard: read.flag("replay_guard", false),
        replay_window_s: read.number("replay_window_s", 300, 1, 86_400),
        rate_limit_per_minute: read.number("rate_limit_per_minute", 0, 0, 1_000_000),
        visits: read.flag("visits", false),
        telemetry: read.flag("telemetry", true),
        ttl_ms: read.number("ttl_ms", 86_400_000, 1_000, 31_536_000_000),
        flush_interval_ms: read.number("flush_interval_ms", 2_000, 100, 60_000),
        max_waits: read.number("max_waits", 2, 1, 64),
        tls_ca_file: read.text("tls_ca_file"),
        proxy: read.text("proxy"),
        strict: read.flag("strict", false),
    }
}

fn api_key(read: &mut Reader) -> String {
    let explicit = read.text("api_key");
    let file = read.text("api_key_file");
    match (explicit, file) {
        (Some(_), Some(_)) => read.fault("api_key and api_key_file: both are given; leave one out".into()),
        (None, None) => read.fault(
            "api_key: is missing; give the project key, or api_key_file with the path of a file that holds it".into(),
        ),
        (Some(key), None) => match key_fault(&key) {
            None => return key,
            Some(why) => read.fault(format!("api_key: {why}; give the key as it was issued")),
        },
        (None, Some(path)) => {
            match std::fs::read(&path) {
                Err(error) => read
                    .fault(format!("api_key_file: {path:?} cannot be read ({}); give a readable file", error.kind())),
                Ok(bytes) => match key_of_file(&bytes) {
                    Ok(key) => return key,
                    Err(why) => read
                        .fault(format!("api_key_file: the key in {path:?} {why}; write the key alone into the file")),
                },
            }
        }
    }
    String::new()
}

/// The key a file holds: its text less one trailing newline.
fn key_of_file(bytes: &[u8]) -> Result<String, &'static str> {
    let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8")?;
    let line = text.strip_suffix('\n').unwrap_or(text);
    let key = line.strip_suffix('\r').unwrap_or(line);
    match key_fault(key) {
        None => Ok(key.to_owned()),
        Some(why) => Err(why),
    }
}

fn key_fault(key: &str) -> Option<&'static str> {
    if key.is_empty() {
        Some("is empty")
    } else if key.chars().any(char::is_control) {
        Some("has a control character such as a newline")
    } else if key.trim() != key {
        Some("has white space at an end")
    } else if key.len() > 4_096 {
        Some("is longer than 4096 bytes")
    } else {
        None
    }
}

fn backend_url(read: &mut Reader) -> Option<String> {
    let url = read.text("backend_url")?;
    let url = url.trim_end_matches('/');
    let plain = origin::of_url(url).is_some_and(|origin| {
        url[origin.len()..].bytes().all(|byte| byte.is_ascii_graphic() && !b"?#\\\"<>".contains(&byte))
    });
    if plain && url.len() <= 2_048 {
        return Some(url.to_owned());
    }
    read.fault(format!("backend_url: {url:?} is not an absolute http or https URL without credentials, query and fragment; give one such as https://collector.example/v1"));
    None
}

fn public_url(read: &mut Reader) -> Option<String> {
    let url = read.text("public_url")?;
    if let Some(origin) = origin::exact(&url) {
        return Some(origin.to_owned());
    }
    let way_out = match origin::of_url(&url) {
        Some(origin) => format!("has more than an origin; use {origin:?} and base_path for the path"),
        None => format!(
            "is not an http or https origin of at most {} ASCII bytes; use one such as \"https://api.example.com\"",
            origin::MAX
        ),
    };
    read.fault(format!("public_url: {url:?} {way_out}"));
    None
}

fn base_path(read: &mut Reader) -> String {
    let path = read.text("base_path").unwrap_or_else(|| "/feedback".into());
    let segments = || path.split('/').skip(1);
    let plain = |segment: &str| {
        !segment.is_empty()
            && segment != "."
            && segment != ".."
            && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
    };
    if path.starts_with('/') && path.len() <= 256 && segments().all(plain) {
        return path;
    }
    read.fault(format!("base_path: {path:?} is not an absolute path of letters, digits and -._~ without a slash at its end; use one such as \"/feedback\""));
    "/feedback".into()
}

fn json_types(read: &mut Reader) -> Vec<String> {
    let types = read.texts("json_types", &["application/json"]);
    for name in &types {
        if !name.split_once('/').is_some_and(|(kind, sub)| {
            !kind.is_empty()
                && !sub.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_graphic() && !b";,".contains(&byte))
        }) {
            read.fault(format!("json_types: {name:?} is not a media type; use names such as \"application/json\""));
        }
    }
    types
}

fn openapi(read: &mut Reader) -> Option<OpenApiOptions> {
    let defaults = || OpenApiOptions { paths: vec!["/openapi.json".into()], document: None };
    let Some(mut inner) = read.group("openapi", "false or an object with paths and document") else {
        return (!read.is_false("openapi")).then(defaults);
    };
    let paths = inner.texts("paths", &["/openapi.json"]);
    if let Some(bad) = paths.iter().find(|path| !path.starts_with('/')) {
        inner.fault(format!("paths: {bad:?} is not an absolute path; use one such as \"/openapi.json\""));
    }
    let document = inner.text("document");
    read.absorb("openapi", inner);
    Some(OpenApiOptions { paths, document })
}

fn diagnostics(read: &mut Reader) -> Option<DiagnosticOptions> {
    let Some(mut inner) =
        read.group("diagnostics", "true, false or an object with attempts, min_age_ms, count_private_ips and header")
    else {
        return read.is_true("diagnostics").then(DiagnosticOptions::default);
    };
    let options = DiagnosticOptions {
        attempts: inner.number("attempts", 100, 1, 1_000_000),
        min_age_ms: inner.number("min_age_ms", 60_000, 0, 86_400_000),
        count_private_ips: inner.flag("count_private_ips", false),
        header: inner.flag("header", false),
    };
    read.absorb("diagnostics", inner);
    Some(options)
}

#[cfg(test)]
mod tests;
