//! Packed header lines through the C interface: broken ones are refused with a message, no byte outside is read.

use std::cell::Cell;
use std::ffi::c_char;
use std::ptr::{null, null_mut};

// Links the functions that are declared below.
use forge_x402_capi as _;

#[repr(C)]
struct Span {
    ptr: *const u8,
    len: usize,
}

impl Span {
    const EMPTY: Span = Span { ptr: null(), len: 0 };

    fn of(bytes: &[u8]) -> Span {
        Span { ptr: bytes.as_ptr(), len: bytes.len() }
    }
}

#[repr(C)]
struct Headers {
    items: *const u8,
    count: usize,
    packed: Span,
}

#[repr(C)]
struct RequestIn {
    struct_size: u32,
    flags: u32,
    method: Span,
    target: Span,
    scheme: Span,
    authority: Span,
    route: Span,
    client_ip: Span,
    headers: Headers,
    body: Span,
}

#[repr(C)]
struct VerdictOut {
    struct_size: u32,
    action: u32,
    http_status: u32,
    flags: u32,
    edits: *const u8,
    edits_len: usize,
    target: Span,
    body: Span,
    feedback_id: Span,
    body_limit: usize,
}

#[repr(C)]
struct ErrorOut {
    struct_size: u32,
    status: i32,
    message: [c_char; 248],
}

unsafe extern "C" {
    fn fx402_engine_open(abi: u32, config: Span, out: *mut *mut u8, err: *mut ErrorOut) -> i32;
    fn fx402_on_request(
        e: *const u8,
        request: *const RequestIn,
        ex: *mut *mut u8,
        out: *mut VerdictOut,
        err: *mut ErrorOut,
    ) -> i32;
    fn fx402_exchange_end(ex: *mut u8, outcome: *const u8) -> i32;
}

thread_local! {
    static ENGINE: Cell<*mut u8> = const { Cell::new(null_mut()) };
}

pub fn run(data: &[u8]) {
    // Its own allocation, of exactly that size, so that a sanitizer sees one byte too many.
    let packed: Box<[u8]> = data.into();
    // SAFETY: every span lives through the call, every struct is as the header declares it.
    unsafe {
        let engine = opened();
        let request = RequestIn {
            struct_size: size_of::<RequestIn>() as u32,
            flags: 0,
            method: Span::of(b"GET"),
            target: Span::of(b"/weather"),
            scheme: Span::EMPTY,
            authority: Span::EMPTY,
            route: Span::EMPTY,
            client_ip: Span::EMPTY,
            headers: Headers { items: null(), count: 0, packed: Span::of(&packed) },
            body: Span::EMPTY,
        };
        let mut out: VerdictOut = std::mem::zeroed();
        out.struct_size = size_of::<VerdictOut>() as u32;
        let mut err: ErrorOut = std::mem::zeroed();
        err.struct_size = size_of::<ErrorOut>() as u32;
        let mut exchange = null_mut();
        let status = fx402_on_request(engine, &request, &mut exchange, &mut out, &mut err);
        match (lines(data), status) {
            (Some(count), 0) => assert!(count <= 65_536),
            (Some(count), 6) => assert!(count > 65_536),
            (None, 1 | 6) => assert!(err.message[0] != 0, "a refusal says why"),
            (lines, status) => panic!("{lines:?} lines gave status {status}"),
        }
        assert!(status == 0 || exchange.is_null());
        if !exchange.is_null() {
            assert_eq!(fx402_exchange_end(exchange, null()), 0);
        }
    }
}

/// The number of lines, counted another way; `None` where the bytes end within one.
fn lines(mut data: &[u8]) -> Option<usize> {
    let mut count = 0;
    while !data.is_empty() {
        let length = |at: usize| Some(u32::from_ne_bytes(data.get(at..at + 4)?.try_into().ok()?) as u64);
        let whole = 8 + length(0)? + length(4)?;
        if whole > data.len() as u64 {
            return None;
        }
        data = &data[whole as usize..];
        count += 1;
    }
    Some(count)
}

unsafe fn opened() -> *mut u8 {
    let known = ENGINE.get();
    if !known.is_null() {
        return known;
    }
    let mut engine = null_mut();
    // SAFETY: as above.
    let status =
        unsafe { fx402_engine_open(1 << 16, Span::of(br#"{"api_key":"ffk_fuzz_fake"}"#), &mut engine, null_mut()) };
    assert_eq!(status, 0);
    ENGINE.set(engine);
    engine
}
