//! The engine: open, look at, end.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use forge_x402::Engine;

use super::about::ABI_MAJOR;
use super::handles::fx402_engine;
use super::stats::fx402_stats;
use super::status::*;
use super::values::{fx402_buf, fx402_error, fx402_span};
use crate::guard::{Fault, guard, silence_panics};
use crate::out;
use crate::sized;

/// Makes an engine. abi: pass FX402_ABI. config_json: one UTF-8 JSON object of options, the same document for every
/// language. Starts no thread and opens no socket; reads the file that api_key_file names, if it does.
///
/// Bad options: with "strict": true FX402_E_CONFIG and the faults in err. Without it FX402_OK and an engine that lets
/// everything pass; fx402_engine_diagnostics tells why. FX402_E_ABI: made for another major version. On success
/// *out is yours until fx402_engine_free.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_engine_open(
    abi: u32,
    config_json: fx402_span,
    out: *mut *mut fx402_engine,
    err: *mut fx402_error,
) -> fx402_status {
    silence_panics();
    // SAFETY: rules R2 and R4.
    unsafe {
        out::clear(out, std::ptr::null_mut());
        guard(err, || {
            if abi >> 16 != ABI_MAJOR {
                return Err(Fault::new(
                    FX402_E_ABI,
                    format!("the caller was built for ABI {}, this library has {ABI_MAJOR}", abi >> 16),
                ));
            }
            let out = out::slot(out)?;
            let engine =
                Engine::open(config_json.bytes()?).map_err(|error| Fault::new(FX402_E_CONFIG, error.to_string()))?;
            *out = Box::into_raw(Box::new(fx402_engine { engine, closed_in: AtomicU64::new(0) }));
            Ok(())
        })
    }
}

/// Writes the counts of this process into *out, as many as out->struct_size has room for. With e NULL all are 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_engine_stats(e: *const fx402_engine, out: *mut fx402_stats) {
    // SAFETY: rules R2 and R4.
    unsafe {
        if out.is_null() || !out.is_aligned() {
            return;
        }
        let size = (*out).struct_size as usize;
        sized::write_prefix(out, &fx402_stats::default(), size);
        _ = guard(std::ptr::null_mut(), || {
            let stats = out::engine(e)?.stats();
            let shown = fx402_stats {
                worker_running: stats.worker_running.into(),
                generation: stats.generation,
                queued: stats.queued,
                sent: stats.sent,
                dropped: stats.dropped,
                failed_posts: stats.failed_posts,
                internal_errors: stats.internal_errors,
                minted: stats.minted,
                described: stats.described,
                skipped: stats.skipped,
                ..fx402_stats::default()
            };
            sized::write_prefix(out, &shown, size);
            Ok(())
        });
    }
}

/// Takes the warnings gathered since the last call, a JSON array of texts, out of their bounded ring: how a host
/// without callbacks gets them into its log. *json is yours until fx402_buf_free.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_engine_diagnostics(e: *const fx402_engine, json: *mut fx402_buf) -> fx402_status {
    // SAFETY: rules R2 and R4.
    unsafe {
        out::clear(json, fx402_buf::EMPTY);
        guard(std::ptr::null_mut(), || {
            let json = out::slot(json)?;
            *json = fx402_buf::of(out::engine(e)?.diagnostics().into_bytes());
            Ok(())
        })
    }
}

/// BLOCKING <= timeout_ms. Posts the events that are queued now. FX402_E_TIMEOUT: some are still queued, and go on being
/// tried. FX402_E_CLOSED: after fx402_engine_shutdown. With nothing queued it returns at once.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_engine_flush(e: *const fx402_engine, timeout_ms: u32) -> fx402_status {
    // SAFETY: rule R2.
    unsafe {
        guard(std::ptr::null_mut(), || {
            let engine = out::engine(e)?;
            if out::is_closed(e) {
                return Err(Fault::new(FX402_E_CLOSED, "the engine was shut down"));
            }
            engine.flush(limit(timeout_ms)).map_err(|_| Fault::new(FX402_E_TIMEOUT, "events are still queued"))
        })
    }
}

/// BLOCKING <= timeout_ms. Flushes, cancels the post in flight when the time is up, and stops the worker. Later calls
/// still transform traffic; events are dropped and counted. FX402_E_TIMEOUT: events were lost; the stats say how many.
/// A second call has nothing left to do.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_engine_shutdown(e: *const fx402_engine, timeout_ms: u32) -> fx402_status {
    // SAFETY: rule R2.
    unsafe {
        guard(std::ptr::null_mut(), || {
            let engine = out::engine(e)?;
            out::close(e);
            engine.shutdown(limit(timeout_ms)).map_err(|_| Fault::new(FX402_E_TIMEOUT, "events were lost"))
        })
    }
}

/// Gives an engine back, before or after its exchanges: they keep working. Does not block: events still queued are
/// lost unless fx402_engine_shutdown was called. NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fx402_engine_free(e: *mut fx402_engine) {
    // SAFETY: made by fx402_engine_open and not freed yet, by rule R4.
    unsafe {
        _ = guard(std::ptr::null_mut(), || {
            if !e.is_null() {
                drop(Box::from_raw(e));
            }
            Ok(())
        });
    }
}

fn limit(timeout_ms: u32) -> Duration {
    Duration::from_millis(timeout_ms.into())
}
