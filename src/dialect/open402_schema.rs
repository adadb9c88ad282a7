//! The JSON Schema of the open402 challenge and proof, as machine-readable companion of the document.

/// The schema as a JSON text: members `x402_challenge`, `x402_proof` (each a draft 2020-12 schema) and
/// `protocol_version`. It is the one the reference implementation serves, without a default for `service_tier`
/// that its own enum excludes.
pub fn json_schema() -> &'static str {
    include_str!("open402_schema.json")
}
