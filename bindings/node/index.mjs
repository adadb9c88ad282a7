// The ESM face of index.js.
import forge from "./index.js";

export const { createForge, Forge } = forge;
export default createForge;
