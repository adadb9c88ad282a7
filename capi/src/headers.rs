//! Header lines in: from an array of spans or from the packed form to what the engine takes, without the heap for the
//! 64 lines that nearly every message stays below.

use std::mem::MaybeUninit;

use forge_x402::HeaderLine;

use crate::abi::status::{FX402_E_ARG, FX402_E_LIMIT};
use crate::abi::values::{fx402_header, fx402_headers};
use crate::guard::Fault;

/// Header lines of one message; borrowed from the caller for the length of the call.
pub(crate) struct Lines<'a> {
    inline: [MaybeUninit<HeaderLine<'a>>; INLINE],
    /// How many of `inline` are written; they are all there is until `spilled` holds something.
    len: usize,
    spilled: Vec<HeaderLine<'a>>,
}

impl<'a> Lines<'a> {
    #[inline]
    pub fn new() -> Lines<'a> {
        Lines { inline: [const { MaybeUninit::uninit() }; INLINE], len: 0, spilled: Vec::new() }
    }

    /// Takes the lines of `headers`.
    ///
    /// # Safety
    /// `items` is NULL or an array of `count`; every span in it and `packed` are as in [`fx402_span::bytes`].
    ///
    /// [`fx402_span::bytes`]: crate::abi::values::fx402_span
    #[inline(always)]
    pub unsafe fn fill(&mut self, headers: &fx402_headers) -> Result<&[HeaderLine<'a>], Fault> {
        if headers.count > INLINE || headers.packed.len > 0 {
            // SAFETY: the caller's promise.
            return unsafe { self.fill_slowly(headers) };
        }
        if headers.count > 0 {
            // SAFETY: the caller's promise.
            let items = unsafe { items(headers)? };
            for (slot, header) in self.inline.iter_mut().zip(items) {
                // SAFETY: the caller's promise.
                slot.write(unsafe { (header.name.bytes()?, header.value.bytes()?) });
            }
            self.len = items.len();
        }
        Ok(self.inline())
    }

    #[inline(never)]
    unsafe fn fill_slowly(&mut self, headers: &fx402_headers) -> Result<&[HeaderLine<'a>], Fault> {
        if headers.count > MOST {
            return Err(too_many());
        }
        if headers.packed.len > 0 {
            if headers.count > 0 {
                return Err(Fault::new(FX402_E_ARG, "headers: items and packed are both given; leave one empty"));
            }
            // SAFETY: the caller's promise.
            self.unpack(unsafe { headers.packed.bytes()? })?;
        } else {
            // SAFETY: the caller's promise.
            for header in unsafe { items(headers)? } {
                // SAFETY: the caller's promise.
                self.push(unsafe { (header.name.bytes()?, header.value.bytes()?) })?;
            }
        }
        Ok(self.as_slice())
    }

    fn unpack(&mut self, mut packed: &'a [u8]) -> Result<(), Fault> {
        let mut lines = 0;
        while !packed.is_empty() {
            let (line, rest) =
                first_packed(packed).ok_or_else(|| Fault::new(FX402_E_ARG, "headers: packed ends within a line"))?;
            lines += 1;
            if lines > MOST {
                return Err(too_many());
            }
            self.push(line)?;
            packed = rest;
        }
        Ok(())
    }

    #[inline]
    fn push(&mut self, line: HeaderLine<'a>) -> Result<(), Fault> {
        match self.inline.get_mut(self.len) {
            Some(slot) => {
                slot.write(line);
                self.len += 1;
                Ok(())
            }
            None => self.spill(line),
        }
    }

    #[cold]
    fn spill(&mut self, line: HeaderLine<'a>) -> Result<(), Fault> {
        if self.spilled.is_empty() {
            self.spilled.try_reserve(2 * INLINE).map_err(|_| too_many())?;
            let mut spilled = std::mem::take(&mut self.spilled);
            spilled.extend_from_slice(self.inline());
            self.spilled = spilled;
        }
        self.spilled.try_reserve(1).map_err(|_| too_many())?;
        self.spilled.push(line);
        Ok(())
    }

    #[inline]
    fn as_slice(&self) -> &[HeaderLine<'a>] {
        if self.spilled.is_empty() { self.inline() } else { &self.spilled }
    }

    #[inline]
    fn inline(&self) -> &[HeaderLine<'a>] {
        // SAFETY: the first `len` slots are written.
        unsafe { std::slice::from_raw_parts(self.inline.as_ptr().cast(), self.len) }
    }
}

/// # Safety
/// As [`Lines::fill`]; `count` is not 0.
#[inline(always)]
unsafe fn items<'a>(headers: &fx402_headers) -> Result<&'a [fx402_header], Fault> {
    if headers.items.is_null() || !headers.items.is_aligned() {
        return Err(bad_items());
    }
    // SAFETY: not NULL, aligned, a possible size; readable by the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(headers.items, headers.count) })
}

/// One line of the packed form and what follows it.
fn first_packed(packed: &[u8]) -> Option<(HeaderLine<'_>, &[u8])> {
    let (name_len, rest) = packed.split_first_chunk()?;
    let (value_len, rest) = rest.split_first_chunk()?;
    let (name, rest) = rest.split_at_checked(usize::try_from(u32::from_ne_bytes(*name_len)).ok()?)?;
    let (value, rest) = rest.split_at_checked(usize::try_from(u32::from_ne_bytes(*value_len)).ok()?)?;
    Some(((name, value), rest))
}

#[cold]
#[inline(never)]
fn bad_items() -> Fault {
    Fault::new(FX402_E_ARG, "headers: items is NULL with a count, or not aligned")
}

#[cold]
#[inline(never)]
fn too_many() -> Fault {
    Fault::new(FX402_E_LIMIT, "headers: more than 65536 lines")
}

const INLINE: usize = 64;
const MOST: usize = 65_536;
