"use strict";
// What an engine needs of the process it lives in: its log lines are pulled now and then, its events sent before the end.
// Nothing here keeps a process alive, and no signal is listened to: on SIGTERM the merchant's own handler calls shutdown().

const PULL_FIRST_MS = 5_000;
const PULL_MS = 60_000;
/** A process that would end by itself waits so long for events to be sent. */
const BEFORE_EXIT_MS = 800;
/** process.exit() is synchronous, so this blocks; long enough for a backend nearby. */
const EXIT_MS = 80;

/** Engines that have not been shut down, held weakly. */
const living = new Set();
let listening = false;
let triedBeforeExit = false;

/** Looks after an engine until `stop()`; `pull()` hands its log lines on. */
function lookAfter(engine, pull) {
  for (const known of living) if (known.deref() === undefined) living.delete(known);
  // The entry must not hold the engine: one that nobody uses any more may go.
  const entry = new WeakRef({ engine, pull });
  const alive = entry.deref();
  living.add(entry);
  listen();
  return {
    alive,
    stop: () => living.delete(entry),
  };
}

function listen() {
  if (listening || typeof process === "undefined") return;
  listening = true;
  setTimeout(() => {
    pullAll();
    setInterval(pullAll, PULL_MS).unref();
  }, PULL_FIRST_MS).unref();
  process.on("beforeExit", beforeExit);
  process.on("exit", exit);
}

function each(work) {
  for (const entry of living) {
    const alive = entry.deref();
    if (alive === undefined) living.delete(entry);
    else work(alive);
  }
}

function pullAll() {
  each(({ pull }) => pull());
}

function beforeExit() {
  // Emitted again when the flush is done.
  if (triedBeforeExit) return;
  triedBeforeExit = true;
  each(({ engine, pull }) => {
    if (engine.stats().queued > 0) engine.flush(BEFORE_EXIT_MS).then(pull, () => {});
    else pull();
  });
}

function exit() {
  if (triedBeforeExit) return;
  const deadline = Date.now() + EXIT_MS;
  each(({ engine }) => {
    const left = deadline - Date.now();
    if (left > 0 && engine.stats().queued > 0) engine.flushSync(left);
  });
}

module.exports = { lookAfter };
