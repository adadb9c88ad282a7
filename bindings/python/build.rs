//! Keeps the module in memory: our thread may still run while an interpreter is torn down.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if ["linux", "freebsd", "netbsd", "openbsd"].contains(&target.as_str()) {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
