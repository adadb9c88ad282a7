#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| forge_x402_fuzz::options::run(data));
