//! What must hold for any input. Each module is one target: `run` takes arbitrary bytes and panics where a promise is
//! broken. `fuzz_targets/` hands them to libFuzzer, `bin/mutate.rs` to a bounded mutator that needs no nightly.

pub mod agent_context;
pub mod body;
pub mod challenge;
mod judges;
pub mod openapi;
pub mod options;
pub mod packed_headers;
pub mod receipt;
pub mod splice;
mod support;

// The engine keeps this room to itself; the target compiles the same files.
#[allow(dead_code, unused_imports)]
#[path = "../../src/json/mod.rs"]
mod json;

/// Every target by its name.
pub const TARGETS: [(&str, fn(&[u8])); 8] = [
    ("splice", splice::run),
    ("challenge", challenge::run),
    ("receipt", receipt::run),
    ("body", body::run),
    ("options", options::run),
    ("packed_headers", packed_headers::run),
    ("openapi", openapi::run),
    ("agent_context", agent_context::run),
];
