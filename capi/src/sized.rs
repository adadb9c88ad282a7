//! The struct_size discipline: nothing is read or written past the size that the caller names.
//!
//! A struct may grow at its end. A caller built with an older header names a smaller size: a struct that comes in must
//! have the fields of ABI 1.0, one that goes out gets as many bytes as it has room for.

use crate::abi::messages::{fx402_request_in, fx402_response_in};
use crate::abi::outcome::fx402_outcome;
use crate::abi::status::{FX402_E_ABI, FX402_E_ARG};
use crate::abi::values::fx402_error;
use crate::abi::verdict::fx402_verdict;
use crate::guard::Fault;

/// A struct of the ABI: `repr(C)`, no padding, `struct_size: u32` first.
pub(crate) trait Versioned {
    /// Its size in ABI 1.0, the least a caller may name.
    const FIRST_SIZE: usize;
    const NAME: &'static str;
}

impl Versioned for fx402_request_in {
    const FIRST_SIZE: usize = 8 + 18 * WORD;
    const NAME: &'static str = "fx402_request_in";
}

impl Versioned for fx402_response_in {
    const FIRST_SIZE: usize = 16 + 8 * WORD;
    const NAME: &'static str = "fx402_response_in";
}

impl Versioned for fx402_outcome {
    const FIRST_SIZE: usize = 24;
    const NAME: &'static str = "fx402_outcome";
}

impl Versioned for fx402_verdict {
    const FIRST_SIZE: usize = 16 + 9 * WORD;
    const NAME: &'static str = "fx402_verdict";
}

/// A struct that came in.
///
/// # Safety
/// `from` is NULL or points to a struct of at least its own `struct_size` bytes, readable as long as `'a`.
#[inline(always)]
pub(crate) unsafe fn read<'a, T: Versioned>(from: *const T) -> Result<&'a T, Fault> {
    // All of ABI 1.0 is all there is yet. A struct that grows needs a copy into zeroed memory here.
    const { assert!(size_of::<T>() == T::FIRST_SIZE) };
    // SAFETY: the caller's promise.
    unsafe { check_size::<T>(from)? };
    // SAFETY: not NULL, aligned, and its struct_size covers T.
    Ok(unsafe { &*from })
}

/// A struct that goes out, made sure of and not yet written.
///
/// # Safety
/// As [`read`], and writable.
#[inline(always)]
pub(crate) unsafe fn room<T: Versioned>(to: *mut T) -> Result<Room<T>, Fault> {
    // SAFETY: the caller's promise.
    let size = unsafe { check_size::<T>(to)? };
    Ok(Room { to, size })
}

/// Where a struct that goes out is written.
pub(crate) struct Room<T> {
    to: *mut T,
    size: usize,
}

impl<T> Room<T> {
    /// Writes as much of `value` as there is room for; `struct_size` stays the caller's.
    #[inline(always)]
    pub fn write(&self, value: &T) {
        // SAFETY: `room` checked the pointer and its size; both are plain data without padding.
        unsafe { write_prefix(self.to, value, self.size) };
    }
}

/// # Safety
/// `to` is valid for `size` bytes, `T` is plain data that begins with a `struct_size`.
#[inline(always)]
pub(crate) unsafe fn write_prefix<T>(to: *mut T, value: &T, size: usize) {
    let from = (&raw const *value).cast::<u8>();
    if size >= size_of::<T>() {
        // The ordinary case, with a length the compiler knows.
        // SAFETY: both are at least that large.
        unsafe { std::ptr::copy_nonoverlapping(from.add(FIELD), to.cast::<u8>().add(FIELD), size_of::<T>() - FIELD) };
        return;
    }
    if let Some(bytes) = size.checked_sub(FIELD) {
        // SAFETY: `FIELD + bytes` is `size`, less than both are.
        unsafe { std::ptr::copy_nonoverlapping(from.add(FIELD), to.cast::<u8>().add(FIELD), bytes) };
    }
}

#[inline(always)]
unsafe fn check_size<T: Versioned>(at: *const T) -> Result<usize, Fault> {
    if at.is_null() || !at.is_aligned() {
        return Err(no_struct::<T>());
    }
    // SAFETY: not NULL and aligned; every struct of the ABI begins with its size.
    let size = unsafe { at.cast::<u32>().read() } as usize;
    if size < T::FIRST_SIZE {
        return Err(too_small::<T>(size));
    }
    Ok(size)
}

#[cold]
#[inline(never)]
fn no_struct<T: Versioned>() -> Fault {
    Fault::new(FX402_E_ARG, format!("{} is NULL or not aligned", T::NAME))
}

#[cold]
#[inline(never)]
fn too_small<T: Versioned>(size: usize) -> Fault {
    let (name, least) = (T::NAME, T::FIRST_SIZE);
    Fault::new(FX402_E_ABI, format!("{name}.struct_size is {size}; set it to sizeof({name}), at least {least}"))
}

/// Tells `err` of a fault, cut at a character to what `struct_size` has room for.
///
/// # Safety
/// `err` is NULL or points to an `fx402_error` of at least its own `struct_size` bytes.
#[cold]
pub(crate) unsafe fn write_error(err: *mut fx402_error, fault: &Fault) {
    if err.is_null() || !err.is_aligned() {
        return;
    }
    // SAFETY: not NULL and aligned.
    let size = unsafe { (*err).struct_size } as usize;
    if size < ERROR_HEAD {
        return;
    }
    // SAFETY: `struct_size` covers the field.
    unsafe { (*err).status = fault.status };
    let Some(room) = size.min(size_of::<fx402_error>()).checked_sub(ERROR_HEAD + 1) else { return };
    let text = &fault.message;
    let mut cut = room.min(text.len());
    while !text.is_char_boundary(cut) {
        cut -= 1;
    }
    // SAFETY: `cut + 1` bytes of the message lie within `struct_size`.
    unsafe {
        let message = (&raw mut (*err).message).cast::<u8>();
        std::ptr::copy_nonoverlapping(text.as_ptr(), message, cut);
        message.add(cut).write(0);
    }
}

const WORD: usize = size_of::<usize>();
const FIELD: usize = size_of::<u32>();
const ERROR_HEAD: usize = std::mem::offset_of!(fx402_error, message);
