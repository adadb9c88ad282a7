// A handler that answers with what it was handed: target, query, lengths, body. `/paid/seen`, whatever the method.

import express from "express";

const PARSERS = {
  none: (req, res, next) => next(),
  raw: express.raw({ type: () => true, limit: "40mb" }),
  json: express.json({ limit: "40mb" }),
};

export function viewer(parser = "raw") {
  return (req, res, next) => {
    if (req.path !== "/paid/seen") return next();
    PARSERS[parser](req, res, (error) => (error ? next(error) : res.json(view(req))));
  };
}

function view(req) {
  const raw = req.rawHeaders.filter((_, at) => at % 2 === 1 && req.rawHeaders[at - 1].toLowerCase() === "content-length");
  return {
    url: req.url,
    originalUrl: req.originalUrl,
    query: req.query,
    contentLength: req.headers["content-length"] ?? null,
    rawContentLength: raw,
    body: Buffer.isBuffer(req.body) ? req.body.toString("utf8") : (req.body ?? null),
  };
}

/** What the handler was handed, out of its answer. */
export function seenBy(answer) {
  const { feedback_id, feedback_url, rate_this_call, ...seen } = JSON.parse(answer.body);
  return seen;
}
