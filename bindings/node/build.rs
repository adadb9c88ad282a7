fn main() {
    napi_build::setup();
    // Stays mapped when a worker thread of Node unloads it: our own threads may still be in it.
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
