// The ESM face of index.d.ts.
export * from "./index.js";
export { createForge as default } from "./index.js";
