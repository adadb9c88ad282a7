"use strict";
// Reads a property of a request or response that may be Express's.
//
// Each of those has a hidden class of its own, see hooks.js: written as usual, a first look at a property fills V8's caches for a
// class that never comes again, which costs several times the search itself. Reflect.get only searches.

/** `of[name]`, getters and all. */
const peek = (of, name) => Reflect.get(of, name);

module.exports = { peek };
