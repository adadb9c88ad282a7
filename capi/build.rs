//! Link options of the shared library, and the facts that `fx402_build_info` tells.
//!
//! The soname carries the ABI's major number; the image stays mapped after dlclose (rule R9), because a thread that ran
//! code of ours may still be there. Exports need no list here: rustc exports what is marked and hides the rest.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=FORGE_X402_COMMIT");
    link_options();
    println!("cargo::rustc-env=FX402_RUSTC={}", output(&env("RUSTC"), &["--version"]).unwrap_or_default());
    println!("cargo::rustc-env=FX402_COMMIT={}", commit());
    println!("cargo::rustc-env=FX402_TARGET={}", env("TARGET"));
}

fn link_options() {
    match env("CARGO_CFG_TARGET_OS").as_str() {
        "macos" | "ios" => println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libforge_x402.1.dylib"),
        "windows" => {}
        _ => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libforge_x402.so.1");
            println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        }
    }
}

/// The commit a builder names, else that of the checkout, else "unknown" (a source archive).
fn commit() -> String {
    if let Ok(given) = std::env::var("FORGE_X402_COMMIT") {
        return given;
    }
    // Built again when HEAD moves, so that a library never names a commit it was not made from.
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = output("git", &["rev-parse", "--path-format=absolute", "--git-path", name])
            && std::path::Path::new(&path).exists()
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    output("git", &["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".into())
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}

fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}
