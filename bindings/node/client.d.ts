// forge-x402/client: the agent's half. Pure functions and one small account; no network, no wallet. Nothing here blocks.
// Every function throws where the native part could not be loaded.

/** Header lines: a fetch Headers, pairs, or an object such as Node's `response.headers`. */
export type HeaderLines = Iterable<readonly [string, string]> | Record<string, string | string[] | undefined>;

/** Whole body as it came; absent counts as empty. */
export type Body = string | Uint8Array | ArrayBuffer | null;

/**
 * What a 402 asks to be paid: its `PAYMENT-REQUIRED` header, else its JSON body (x402 v2 or v1), else `WWW-Authenticate: x402`.
 * Throws where there is nothing to pay, and where two readers could take it for two prices: then nothing is to be paid.
 */
export function parseChallenge(response: { status: number; headers?: HeaderLines; body?: Body }): Challenge;

export interface Challenge {
  protocol: "x402/2" | "x402/1" | "open402";
  /** The server's reason, a machine code or free text. */
  error?: string;
  /** URL of what is sold. */
  resource?: string;
  description?: string;
  /** The ways to pay, in the server's order; never empty. */
  offers: Offer[];
  /** What a v2 client echoes in its payment. */
  extensions?: unknown;
}

export interface Offer {
  scheme: string;
  /** CAIP-2 in v2, a name in v1 and open402. */
  network: string;
  asset: string;
  /** In smallest units ("atomic", a whole number) or in the asset itself ("token", a plain decimal). */
  amount: string;
  unit: "atomic" | "token";
  payTo: string;
  maxTimeoutSeconds?: number;
}

/** What a response says about why payments fail; null where it says nothing. Never throws on what a server sent. */
export function parseDiagnostic(response: { headers?: HeaderLines; body?: Body }): Diagnostic | null;

/** Under the names of the wire. Texts are at most 512 characters and hold no control characters. */
export interface Diagnostic {
  /** One of the six codes, or what stood there. */
  code: string;
  reason?: string;
  retry_policy?: "pay" | "retry_new_payment" | "retry_same_payment" | "retry_with_backoff" | "fix_and_retry" | "do_not_retry";
  /** Seconds. */
  retry_after?: number;
  attempts?: number;
  /** RFC 3339. */
  firstAttempt?: string;
  message?: string;
  suggestion?: string;
  escalate: boolean;
  correlation_id?: string;
  facilitator_error_code?: string;
  client_error_code?: string;
  /** Unix seconds. */
  expires_at?: number;
}

/** What the client knows of this call itself. What is left out is 0, false or unknown: without `withinBudget` nothing is paid. */
export interface CallState {
  /** Payments signed and sent for this call so far. */
  paymentsSent?: number;
  /** The last of them can no longer settle, by the client's own clock and what it signed. */
  lastPaymentExpired?: boolean;
  /** How often this call has waited already. */
  waits?: number;
  /** The next payment fits the budget. */
  withinBudget?: boolean;
  /** `Retry-After` of the response, seconds. */
  retryAfterS?: number;
}

export interface Decision {
  action: "pay" | "wait" | "fix" | "stop" | "escalate";
  /** With "wait": seconds until the next request. */
  waitS: number;
  /** What the next request carries. */
  send: "nothing" | "new_payment" | "same_payment";
  /** No further request to this endpoint until a person has looked. */
  blockEndpoint: boolean;
  tellOperator: boolean;
}

/**
 * What to do after a refused call. A diagnostic can make a client stop or wait; it cannot make it pay once more. Throws on a member
 * that is unknown or of the wrong kind: then nothing is to be paid.
 */
export function decide(diagnostic: Diagnostic | null | undefined, state?: CallState): Decision;

/** A plain decimal such as "0.05". A number counts as its shortest decimal spelling. */
export type Amount = string | number;

/** The event of the diagnostic proposal, for the agent's operator. Throws on a member that is unknown or of the wrong kind. */
export function escalationEvent(
  diagnostic: Diagnostic,
  call: {
    /** The URL asked for. */
    endpoint: string;
    amount?: Amount;
    currency?: string;
    /** The wallet's, in `currency`. */
    balance?: Amount;
    /** The client's own id of the call, used where the server gives none. */
    requestId?: string;
    /** Unix milliseconds; now. */
    nowMs?: number;
  },
): EscalationEvent;

export interface EscalationEvent {
  type: "x402_escalation";
  endpoint: string;
  amount?: number;
  currency?: string;
  balance?: number;
  correlation_id?: string;
  diagnostic: Diagnostic;
  /** RFC 3339, UTC. */
  timestamp: string;
}

export interface SpendOptions {
  /** The amount is a whole number of smallest units of an asset with so many decimals, 0 to 18. */
  decimals?: number;
  /** Unix milliseconds; now. */
  nowMs?: number;
}

/** What an agent may spend, exact to 18 decimals, in a unit of account that the caller chooses. */
export class Budget {
  /** 1 a call, 2 a minute, 10 a day where nothing is said. Throws on an amount that is none and on a `perDay` above 1,000. */
  constructor(limits?: { perCall?: Amount; perMinute?: Amount; perDay?: Amount });
  /** The limit that a payment would break, or null. Throws where the amount is none. */
  check(amount: Amount, options?: SpendOptions): "call" | "minute" | "day" | null;
  /** Books a payment; call it before you sign. Throws OverBudgetError where it does not fit. An unknown outcome stays booked. */
  spend(amount: Amount, options?: SpendOptions): void;
  /** What may still be spent in the 24 hours that end at `nowMs`, a plain decimal. */
  leftToday(options?: { nowMs?: number }): string;
}

/** A payment that does not fit a budget. Nothing was booked. */
export class OverBudgetError extends Error {
  readonly limit: "call" | "minute" | "day";
}
