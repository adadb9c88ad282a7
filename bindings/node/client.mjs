// The ESM face of lib/client.js.
import client from "./lib/client.js";

export const { Budget, OverBudgetError, decide, escalationEvent, parseChallenge, parseDiagnostic } = client;
