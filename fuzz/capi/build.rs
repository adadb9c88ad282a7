//! The facts that the real build script of the C interface finds out; no target looks at them.

fn main() {
    for name in ["FX402_RUSTC", "FX402_COMMIT", "FX402_TARGET"] {
        println!("cargo::rustc-env={name}=fuzz");
    }
}
