//! How an answer ended.

/// All of it was handed to the network.
pub const FX402_DELIVERED: u32 = 1;
/// The client went away first.
pub const FX402_ABORTED: u32 = 2;
/// The handler threw.
pub const FX402_FAILED: u32 = 3;

/// What became of the answer.
#[repr(C)]
pub struct fx402_outcome {
    /// sizeof(fx402_outcome).
    pub struct_size: u32,
    /// FX402_DELIVERED, FX402_ABORTED or FX402_FAILED.
    pub kind: u32,
    /// As sent; 0 if nothing was.
    pub http_status: u32,
    /// 0.
    pub reserved: u32,
    /// Bytes of the body that were sent.
    pub body_bytes: u64,
}
