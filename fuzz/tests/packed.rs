//! The target of packed header lines on a few inputs: short enough for Miri.

use forge_x402_fuzz::packed_headers;

fn line(name: &[u8], value: &[u8]) -> Vec<u8> {
    [&(name.len() as u32).to_ne_bytes()[..], &(value.len() as u32).to_ne_bytes(), name, value].concat()
}

#[test]
fn whole_and_cut_lines_are_told_apart() {
    let lines = [line(b"host", b"api.example.com"), line(b"", b""), line(b"accept", b"*/*")].concat();
    for end in 0..=lines.len() {
        packed_headers::run(&lines[..end]);
    }
    packed_headers::run(&line(b"a", b"b").repeat(65));
    packed_headers::run(&[0xff; 8]);
}
