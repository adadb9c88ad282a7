//! A request and a response as the host shows them.

use super::values::{fx402_headers, fx402_span};

/// body holds all of it.
pub const FX402_IN_BODY_WHOLE: u32 = 1;
/// There is none (GET, 204, HEAD), or it cannot be held. Neither bit: not read yet.
pub const FX402_IN_BODY_NONE: u32 = 2;
/// The head leaves before the body is known (nginx). Means something in a response only.
pub const FX402_IN_HEAD_FIRST: u32 = 4;

/// A request. Empty spans mean unknown; method and target should not be empty.
#[repr(C)]
pub struct fx402_request_in {
    /// sizeof(fx402_request_in).
    pub struct_size: u32,
    /// FX402_IN_*.
    pub flags: u32,
    pub method: fx402_span,
    /// Exactly as on the wire.
    pub target: fx402_span,
    pub scheme: fx402_span,
    pub authority: fx402_span,
    /// The matched route pattern.
    pub route: fx402_span,
    /// The client's address after your own proxy trust.
    pub client_ip: fx402_span,
    pub headers: fx402_headers,
    pub body: fx402_span,
}

/// A response about to be sent.
#[repr(C)]
pub struct fx402_response_in {
    /// sizeof(fx402_response_in).
    pub struct_size: u32,
    /// FX402_IN_*.
    pub flags: u32,
    /// 100 to 999.
    pub http_status: u32,
    /// 0.
    pub reserved: u32,
    /// The matched route pattern, if it is known only now.
    pub route: fx402_span,
    pub headers: fx402_headers,
    pub body: fx402_span,
}
