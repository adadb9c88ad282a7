// Validates every document of the given folders with @redocly/openapi-core; prints one line per failure.
//
//     node lint.mjs FOLDER...    ends with `N passed, N failed`
//
// Only rules about correctness are on; style (tags, licences, summaries) is the merchant's own business.

import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createConfig, lintFromString } from "@redocly/openapi-core";

const config = await createConfig({
  rules: {
    struct: "error",
    "no-unresolved-refs": "error",
    "no-identical-paths": "error",
    "operation-operationId-unique": "error",
    "operation-parameters-unique": "error",
    "path-parameters-defined": "error",
    "path-declaration-must-exist": "error",
    "no-schema-type-mismatch": "error",
    "no-required-schema-properties-undefined": "off",
  },
});

let passed = 0;
let failed = 0;
for (const folder of process.argv.slice(2)) {
  for (const name of readdirSync(folder).filter((name) => name.endsWith(".json")).sort()) {
    const file = resolve(join(folder, name));
    const problems = await lintFromString({ source: readFileSync(file, "utf8"), absoluteRef: file, config });
    const errors = problems.filter((problem) => problem.severity === "error");
    for (const error of errors) {
      console.log(`redocly: ${file}: ${error.location[0]?.pointer}: ${error.message} (${error.ruleId})`);
    }
    if (errors.length === 0) passed += 1;
    else failed += 1;
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
