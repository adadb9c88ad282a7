//! forge-x402: the feedback loop for paid HTTP APIs, as a library any server can embed.
#![allow(dead_code, unused_imports)]

mod http;
mod json;
