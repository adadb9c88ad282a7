"use strict";
// Says once if the merchant has handlers of its own on the rating paths: they would never run. Only Express shows its routes.

/** `before(req)` for connect.js: looks at the application of the first request. */
function watchOwnRoutes(basePath, report) {
  const ours = [basePath, `${basePath}/rate`, `${basePath}/summary`];
  let looked = false;
  return (req) => {
    if (looked) return;
    looked = true;
    const stack = (req.app?._router ?? (typeof req.app?.handle === "function" ? req.app.router : undefined))?.stack;
    if (!Array.isArray(stack)) return;
    const own = stack.map((layer) => layer.route?.path).filter((path) => ours.includes(path));
    if (own.length > 0) {
      report(`forge-x402: the application has handlers for ${[...new Set(own)].join(", ")}, which never run: forge-x402 answers there. Choose another base_path, or feedback: false`);
    }
  };
}

module.exports = { watchOwnRoutes };
