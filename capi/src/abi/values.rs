//! The small structs that everything else is made of.

use super::status::fx402_status;

/// Borrowed bytes. ptr may be NULL only if len is 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fx402_span {
    pub ptr: *const u8,
    pub len: usize,
}

/// Bytes that belong to you: give them back with fx402_buf_free.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fx402_buf {
    pub ptr: *mut u8,
    pub len: usize,
    pub cap: usize,
}

/// One header line, bytes as on the wire without the colon and the line end.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fx402_header {
    pub name: fx402_span,
    pub value: fx402_span,
}

/// Why a call failed. It lives on your stack: set struct_size to sizeof(fx402_error) before the call. Written only
/// if the call fails. message is UTF-8, ends with NUL and is cut to fit.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fx402_error {
    pub struct_size: u32,
    pub status: fx402_status,
    pub message: [std::ffi::c_char; 248],
}

/// Header lines in order, in one of two forms; the other one stays empty (count 0, packed.len 0). packed is for runtimes
/// that must not hand out arrays of pointers (cgo): repeated { uint32_t name_len, value_len; name; value }, native
/// endian, no padding. At most 65536 lines.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fx402_headers {
    pub items: *const fx402_header,
    pub count: usize,
    pub packed: fx402_span,
}
