//! Spans in and buffers out.

use crate::abi::status::FX402_E_ARG;
use crate::abi::values::{fx402_buf, fx402_span};
use crate::guard::Fault;

impl fx402_span {
    pub(crate) const EMPTY: fx402_span = fx402_span { ptr: std::ptr::null(), len: 0 };

    /// The bytes, for the length of the call.
    ///
    /// # Safety
    /// `ptr` is NULL or readable for `len` bytes as long as `'a`.
    #[inline(always)]
    pub(crate) unsafe fn bytes<'a>(self) -> Result<&'a [u8], Fault> {
        if !self.ptr.is_null() && self.len <= isize::MAX as usize {
            // SAFETY: not NULL, a possible length, and readable by the caller's promise.
            return Ok(unsafe { std::slice::from_raw_parts(self.ptr, self.len) });
        }
        if self.len == 0 { Ok(&[]) } else { Err(bad_span()) }
    }

    /// A view of `bytes`; NULL if there are none.
    pub(crate) fn of(bytes: &[u8]) -> fx402_span {
        if bytes.is_empty() {
            return fx402_span::EMPTY;
        }
        fx402_span { ptr: bytes.as_ptr(), len: bytes.len() }
    }
}

#[cold]
#[inline(never)]
fn bad_span() -> Fault {
    Fault::new(FX402_E_ARG, "a span is NULL with a length, or longer than memory can be")
}

impl fx402_buf {
    pub(crate) const EMPTY: fx402_buf = fx402_buf { ptr: std::ptr::null_mut(), len: 0, cap: 0 };

    /// Hands a vector over to the caller.
    pub(crate) fn of(bytes: Vec<u8>) -> fx402_buf {
        if bytes.capacity() == 0 {
            return fx402_buf::EMPTY;
        }
        let mut bytes = std::mem::ManuallyDrop::new(bytes);
        fx402_buf { ptr: bytes.as_mut_ptr(), len: bytes.len(), cap: bytes.capacity() }
    }
}
