//! Which process is this? A number that changes in every forked child, and state that is replaced there.
//!
//! Fork hooks miss forks (pre-fork servers fork without their language's hooks, raw clone runs no pthread_atfork
//! handler), so the answer is a page the kernel zeroes in the child: about a nanosecond a check. Where that is
//! refused, the process id is compared instead. Nothing here waits on a lock, so a lock held at fork time cannot hang
//! the child.
//!
//! Not covered on purpose: a child that shares memory with its parent (vfork, CLONE_VM) is the same process here, and
//! with the process-id comparison a child that gets its parent's own id in a new pid namespace is not seen.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The generation of this process: never 0, the same for all its threads, different from every generation that a
/// process it was forked from has ever seen.
#[inline]
pub fn generation() -> u64 {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let page = PAGE.load(Ordering::Acquire);
        if !page.is_null() && page != refused() {
            // SAFETY: a page that was published stays mapped for the life of the process.
            let seen = unsafe { (*page).load(Ordering::Acquire) };
            if seen != 0 {
                return seen;
            }
        }
    }
    generation_slow()
}

/// State that belongs to one process: a forked child gets a value of its own.
///
/// The child never touches what it inherited, not even to free it: a lock in there may have been held at the fork, a
/// thread may have been half way through a change. The inherited value is leaked on purpose (and stays reachable, so
/// leak checkers are content).
pub struct PerProcess<T> {
    current: AtomicPtr<Slot<T>>,
    make: Box<dyn Fn() -> T + Send + Sync>,
}

struct Slot<T> {
    generation: u64,
    value: T,
    /// What this process inherited; kept only to be reachable.
    _inherited: *mut Slot<T>,
}

// SAFETY: the slots are shared by reference between threads and dropped by whichever thread drops the owner.
unsafe impl<T: Send + Sync> Send for PerProcess<T> {}
// SAFETY: as above; `current` is atomic and `make` is Sync.
unsafe impl<T: Send + Sync> Sync for PerProcess<T> {}

impl<T: Send + Sync> PerProcess<T> {
    /// State made by `make`, which runs at the first `get` of each process. Threads that race there may each run it:
    /// one value is kept, the others are dropped unused. So `make` must start nothing.
    pub fn new(make: impl Fn() -> T + Send + Sync + 'static) -> PerProcess<T> {
        PerProcess { current: AtomicPtr::new(ptr::null_mut()), make: Box::new(make) }
    }

    /// This process's value. Lock-free; about two loads when it exists.
    #[inline]
    pub fn get(&self) -> &T {
        let slot = self.current.load(Ordering::Acquire);
        if !slot.is_null() {
            // SAFETY: a published slot lives as long as `self`.
            let slot = unsafe { &*slot };
            if slot.generation == generation() {
                return &slot.value;
            }
        }
        self.replace()
    }

    /// This process's value if it has one already; makes nothing.
    pub fn get_existing(&self) -> Option<&T> {
        let slot = self.current.load(Ordering::Acquire);
        if slot.is_null() {
            return None;
        }
        // SAFETY: a published slot lives as long as `self`.
        let slot = unsafe { &*slot };
        (slot.generation == generation()).then_some(&slot.value)
    }

    #[cold]
    fn replace(&self) -> &T {
        let generation = generation();
        loop {
            let seen = self.current.load(Ordering::Acquire);
            // SAFETY: a published slot lives as long as `self`.
            if let Some(slot) = unsafe { seen.as_ref() }
                && slot.generation == generation
            {
                return &slot.value;
            }
            let made = Box::into_raw(Box::new(Slot { generation, value: (self.make)(), _inherited: seen }));
            let published = self.current.compare_exchange(seen, made, Ordering::AcqRel, Ordering::Acquire);
            if published.is_ok() {
                // SAFETY: just published, so it lives as long as `self`.
                return unsafe { &(*made).value };
            }
            // SAFETY: never published, so this thread alone knows it.
            drop(unsafe { Box::from_raw(made) });
        }
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        let slot = *self.current.get_mut();
        // SAFETY: `&mut self`: nobody else holds a reference. A slot of another generation is left alone.
        if !slot.is_null() && unsafe { (*slot).generation } == generation() {
            // SAFETY: made by Box::into_raw in `replace`, published once, dropped once.
            drop(unsafe { Box::from_raw(slot) });
        }
    }
}

#[cold]
fn generation_slow() -> u64 {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let mut page = PAGE.load(Ordering::Acquire);
        if page.is_null() {
            page = publish(wiped_page());
        }
        if page != refused() {
            return name_page(page);
        }
    }
    generation_by_pid(pid())
}

/// Gives a page that reads zero (new, or wiped by the kernel in a child) the next number.
#[cfg(all(target_os = "linux", not(miri)))]
fn name_page(page: *mut AtomicU64) -> u64 {
    // SAFETY: a published page stays mapped for the life of the process.
    let word = unsafe { &*page };
    // LAST is ordinary memory: a child inherits it, so its next number is one no ancestor has had.
    let next = LAST.fetch_add(1, Ordering::AcqRel) + 1;
    match word.compare_exchange(0, next, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => next,
        Err(other) => other,
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
fn publish(page: *mut AtomicU64) -> *mut AtomicU64 {
    match PAGE.compare_exchange(ptr::null_mut(), page, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => page,
        Err(first) => {
            if page != refused() {
                // SAFETY: mapped by `wiped_page` with this length and never published.
                unsafe { libc::munmap(page.cast(), page_size()) };
            }
            first
        }
    }
}

/// A fresh page that reads zero in every forked child, or `refused()`.
#[cfg(all(target_os = "linux", not(miri)))]
fn wiped_page() -> *mut AtomicU64 {
    let size = page_size();
    // SAFETY: an anonymous private mapping touches no memory of anybody else.
    let page = unsafe {
        libc::mmap(
            ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if page == libc::MAP_FAILED {
        return refused();
    }
    // SAFETY: the page mapped above.
    if unsafe { libc::madvise(page, size, libc::MADV_WIPEONFORK) } != 0 {
        // SAFETY: the page mapped above, known to nobody.
        unsafe { libc::munmap(page, size) };
        return refused();
    }
    page.cast()
}

#[cfg(all(target_os = "linux", not(miri)))]
fn page_size() -> usize {
    // SAFETY: sysconf has no preconditions.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4_096)
}

/// Stands in PAGE once the kernel has refused: compare process ids.
#[cfg(all(target_os = "linux", not(miri)))]
fn refused() -> *mut AtomicU64 {
    ptr::without_provenance_mut(align_of::<AtomicU64>())
}

/// Process id in the upper half, its generation in the lower: both change in one step.
fn generation_by_pid(pid: u32) -> u64 {
    let mut seen = BY_PID.load(Ordering::Acquire);
    loop {
        if (seen >> 32) as u32 == pid && seen as u32 != 0 {
            return u64::from(seen as u32);
        }
        let next = (u64::from(pid) << 32) | u64::from((seen as u32).wrapping_add(1).max(1));
        match BY_PID.compare_exchange(seen, next, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return u64::from(next as u32),
            Err(other) => seen = other,
        }
    }
}

fn pid() -> u32 {
    std::process::id()
}

#[cfg(all(target_os = "linux", not(miri)))]
static PAGE: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());
#[cfg(all(target_os = "linux", not(miri)))]
static LAST: AtomicU64 = AtomicU64::new(0);
static BY_PID: AtomicU64 = AtomicU64::new(0);

#[cfg(test)]
mod tests;
