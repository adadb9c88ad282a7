// forge-x402 for Node.js. Every name here is documented with its type, unit and what it does on failure.

import type { IncomingMessage, ServerResponse } from "node:http";

/** Opens an engine. Throws only with `strict: true` and a bad option, or for an option in two spellings. Starts no thread, opens no socket. */
export function createForge(options?: ForgeOptions): Forge;

/**
 * An engine and its adapters. Where the native part cannot be loaded, everything passes: adapters call the handler at once,
 * `stats()` is null.
 */
export class Forge {
  private constructor();

  /** Middleware for Express, Connect and node:http; goes in front of the payment middleware. Never throws, never blocks. */
  middleware(): Middleware;

  /** A node:http listener around `handler`; what it returns is a promise where the handler's turn comes later, or never. */
  listener<Result>(handler: (req: IncomingMessage, res: ServerResponse) => Result): (req: IncomingMessage, res: ServerResponse) => Result | Promise<Awaited<Result> | void>;

  /** A Fastify plugin; register it before the payment plugin: `await app.register(forge.fastify())`. */
  fastify(): FastifyPlugin;

  /** A fetch-style handler around `handler`: Hono's `app.fetch`, a Next.js route handler. */
  fetch<Req extends Request, Rest extends unknown[]>(
    handler: (request: Req, ...rest: Rest) => Response | Promise<Response>,
    options?: FetchOptions<Req, Rest>,
  ): (request: Req, ...rest: Rest) => Promise<Response>;

  /** What has happened so far in this process; null where the native part could not be loaded. */
  stats(): Stats | null;

  /** Takes the lines for your log. They are also emitted as process warnings, about once a minute; a line is told once. */
  diagnostics(): string[];

  /** Hands in an event of your own: an object with a text `type`, at most 16 KiB as JSON. Throws where it is none. */
  enqueueEvent(event: { type: string; [member: string]: unknown }): void;

  /** Resolves with true when the events handed in so far are sent, or dropped and counted; false if `limitMs` (2,000) passed first. Never rejects. */
  flush(limitMs?: number): Promise<boolean>;

  /**
   * Sends what there is and stops the library's threads, within `limitMs` (1,500); resolves with the number of events lost. Traffic
   * is transformed as before, later events are dropped and counted. Twice is once. Call it in your SIGTERM handler.
   */
  shutdown(limitMs?: number): Promise<number>;

  /** A `PAYMENT-REQUIRED` value ("header") or a JSON body ("body") with the ask; null: send the original. Sees no head: sizes are yours to watch. */
  transformChallenge(form: "header" | "body", input: Uint8Array | string): Buffer | null;

  /** A successful v2 receipt (the value of `PAYMENT-RESPONSE`) with the extension; null: send the original. */
  enrichReceipt(value: Uint8Array | string, id: string): Buffer | null;

  /** A JSON object with the rating members; null: send the original. */
  enrichBody(body: Uint8Array | string, id: string): Buffer | null;

  /** An OpenAPI document (JSON) with what agents need to know; null: serve the original. */
  enrichOpenapi(document: Uint8Array | string): Buffer | null;

  /** A fresh feedback id, 22 characters; null where the native part could not be loaded. */
  mintId(): string | null;

  /** Whether an id is ours and alive. */
  verifyId(id: string): "valid" | "malformed" | "bad_signature" | "expired";
}

/** Connect's shape, which Express takes too. */
export type Middleware = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void;

/** A plugin with a callback, as `app.register` takes it. */

export type FastifyPlugin = (app: any, options: object, done: (error?: Error) => void) => void;

export interface FetchOptions<Req extends Request = Request, Rest extends unknown[] = unknown[]> {
  /** The client's address after your own proxy trust. By default the socket's, where @hono/node-server shows it. */
  clientIp?: (request: Req, ...rest: Rest) => string | undefined;
}

/** Counters since this process began. */
export interface Stats {
  /** Which process of a line of forks this is. */
  generation: number;
  /** Ids made. */
  minted: number;
  /** Challenges that gained the ask. */
  described: number;
  /** Things left alone, in all and by reason. */
  skipped: number;
  skips: Record<string, number>;
  /** Panics contained. */
  internalErrors: number;
  /** Events that wait or are being sent. */
  queued: number;
  /** Events the backend has accepted. */
  sent: number;
  /** Events that were pushed out, refused, or not sent by the end. */
  dropped: number;
  /** Calls with events that were not answered by a 2xx. */
  failedPosts: number;
  workerRunning: boolean;
}

/** Options; also taken in the engine's own spelling (`public_url`), but not in both. */
export interface ForgeOptions {
  /** The project key. Signs feedback ids and authorises calls to the backend. This or api_key_file. */
  apiKey?: string;
  /** Path of a file with the key; one trailing newline is trimmed. */
  apiKeyFile?: string;
  /** Keys in use before a rotation: their ids stay valid for their time to live. Default `[]`. */
  previousApiKeys?: string[];
  /** Where events and ratings go. Without it there is no telemetry and rating routes answer 503. */
  backendUrl?: string;
  /** Origin agents reach this server at, such as https://api.example.com; no path, at most 256 bytes. */
  publicUrl?: string;
  /** Ask agents to rate: challenge, receipt, body, header and rating routes. Default `true`. */
  feedback?: boolean;
  /** Where the rating routes stand on the merchant's origin. Default `"/feedback"`. */
  basePath?: string;
  /** Voice of the extension's ask; lifecycle names the steps of a call. Default `"default"`. */
  tone?: "default" | "lifecycle";
  /** Three members in a paid JSON body, or the same in one forge_feedback object. Default `"flat"`. */
  bodyLayout?: "flat" | "nested";
  /** Add the sentence to challenge descriptions. Default `true`. */
  describeChallenges?: boolean;
  /** Add the forge-feedback extension to v2 challenges. Default `true`. */
  challengeExtension?: boolean;
  /** Add the forge-feedback extension to successful v2 receipts. Default `true`. */
  receiptExtension?: boolean;
  /** Add the id and rating link to paid JSON object bodies. Default `true`. */
  injectBody?: boolean;
  /** Add rate_this_call beside the id and link. Default `true`. */
  rateHint?: boolean;
  /** Add the id and link behind paid text/plain bodies. Default `false`. */
  injectText?: boolean;
  /** Add an object schema beside the extension's info, as the v2 text asks. Default `false`. */
  extensionSchema?: boolean;
  /** UTF-16 units at which a v2 description ends at the latest, 0 to 500. Default `500`. */
  maxDescription?: number;
  /** Give an id only when a successful receipt is seen. Default `false`. */
  requireSettlement?: boolean;
  /** Media types whose bodies are JSON that may take members. Default `["application/json"]`. */
  jsonTypes?: string[];
  /** Read, ask for, or require what the agent says of itself; off touches nothing of the request. Default `"read"`. */
  agentContext?: "off" | "read" | "ask" | "required";
  /** Ask for (and in required mode require) the search query beside the agent type. Default `true`. */
  searchQuery?: boolean;
  /** Enrich the OpenAPI document on these paths; a document given here makes its rules hold from the first response. Default `{"paths": ["/openapi.json"]}`. */
  openapi?: OpenapiOptions | false;
  /** Serve /.well-known/forge-feedback.json and add the rating line to /.well-known/x402. Default `false`. */
  discovery?: boolean;
  /** Tell a client whose payments keep failing why, and when to stop. Default `false`. */
  diagnostics?: boolean | DiagnosticsOptions;
  /** Description whose SHA-256 is sent as X-Service-Hash on open402 answers. */
  serviceDescription?: string;
  /** Refuse an open402 nonce that has been used for a paid answer. Default `false`. */
  replayGuard?: boolean;
  /** Seconds for which a nonce is remembered and a timestamp accepted, 1 to 86400. Default `300`. */
  replayWindowS?: number;
  /** Paid open402 requests a minute for one payer; 0 is no limit. Default `0`. */
  rateLimitPerMinute?: number;
  /** Report other requests of non-browser clients, at most 120 a minute. Default `false`. */
  visits?: boolean;
  /** Send events to the backend. Default `true`. */
  telemetry?: boolean;
  /** Milliseconds for which a feedback id can be used, 1000 to 31536000000. Default `86400000`. */
  ttlMs?: number;
  /** Milliseconds between two batches of events, 100 to 60000. Default `2000`. */
  flushIntervalMs?: number;
  /** Rating and summary calls that may wait for the backend at once, 1 to 64. Default `2`. */
  maxWaits?: number;
  /** PEM file of the certificate authorities to trust for the backend, instead of the public ones. */
  tlsCaFile?: string;
  /** Proxy for calls to the backend, such as http://127.0.0.1:3128. Never read from the environment. */
  proxy?: string;
  /** Fail to open on a bad option instead of letting traffic pass with everything off. Default `false`. */
  strict?: boolean;
}

/** `openapi`: which documents are enriched. */
export interface OpenapiOptions {
  /** Paths at which you serve your OpenAPI document (JSON). Default `["/openapi.json"]`. */
  paths?: string[];
  /** The document itself: its rules hold from the first response. An object, or JSON text. */
  document?: string | object;
}

/** `diagnostics`: when a client whose payments keep failing is told to stop. */
export interface DiagnosticsOptions {
  /** Failures in a row before a client is told to stop. Default 100. */
  attempts?: number;
  /** Milliseconds since the first of them, at least. Default 60,000. */
  minAgeMs?: number;
  /** Count clients by private addresses too. Default false. */
  countPrivateIps?: boolean;
  /** Also in the PAYMENT-REQUIRED header. Default false. */
  header?: boolean;
}
