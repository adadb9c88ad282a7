// Validates the responses of responses.json with ajv against the enriched documents.
//
//     node responses.mjs ENRICH_BINARY PLAIN_FOLDER ENRICHED_FOLDER    ends with `N passed, N failed`
//
// A response passes if the engine decides as expected whether it takes fields, if the plain body is valid against
// the enriched document and, where it takes fields, the body with fields is valid too and one with a feedback_id
// of the wrong form is not (so the field is really described).

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import addFormats from "ajv-formats";
import Ajv from "ajv";
import Ajv2020 from "ajv/dist/2020.js";

const [binary, plainFolder, enrichedFolder] = process.argv.slice(2);
const cases = JSON.parse(readFileSync(new URL("responses.json", import.meta.url), "utf8"));
const fields = {
  feedback_id: "aqQMtjN9lCJnCAn54ZS7wQ",
  feedback_url: "https://api.example.com/feedback/rate?feedback_id=aqQMtjN9lCJnCAn54ZS7wQ&outcome=",
  rate_this_call: "Please rate this service for other agents.",
};
const documents = new Map();
let passed = 0;
let failed = 0;

for (const each of cases) {
  const faults = check(each);
  for (const fault of faults) {
    console.log(`ajv: ${each.document}: ${each.method} ${each.path} ${each.status}: ${fault}`);
  }
  if (faults.length === 0) passed += 1;
  else failed += 1;
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;

function check({ document, method, path, route, status, body, fields: takesFields, described = takesFields }) {
  const faults = [];
  const asked = spawnSync(binary, ["allows", method, path, String(status)], {
    input: readFileSync(join(plainFolder, document)),
    encoding: "utf8",
  });
  if (asked.stdout.trim() !== String(takesFields)) faults.push(`the engine says ${asked.stdout.trim() || asked.stderr}`);

  const { ajv, text } = enriched(document);
  const validate = ajv.compile({ $ref: `document#${schemaPointer(text, route ?? path, method, status)}` });
  const valid = (value) => validate(value);
  if (!valid(body)) faults.push(`the plain body: ${ajv.errorsText(validate.errors)}`);
  if (takesFields && !valid({ ...body, ...fields })) faults.push(`with fields: ${ajv.errorsText(validate.errors)}`);
  if (described && valid({ ...body, ...fields, feedback_id: "?" })) faults.push("a wrong feedback_id is valid");
  return faults;
}

function enriched(name) {
  if (!documents.has(name)) {
    const text = JSON.parse(readFileSync(join(enrichedFolder, name), "utf8"));
    const Dialect = text.openapi?.startsWith("3.0") || text.swagger ? Ajv : Ajv2020;
    const ajv = new Dialect({ strict: false, validateSchema: false });
    addFormats(ajv);
    ajv.addSchema(text, "document");
    documents.set(name, { ajv, text });
  }
  return documents.get(name);
}

function schemaPointer(document, route, method, status) {
  const at = follow(document, ["paths", route]);
  const operation = method.toLowerCase() in value(document, at) ? [method.toLowerCase()] : ["additionalOperations", method];
  const responses = value(document, [...at, ...operation, "responses"]);
  const key = [String(status), "2XX", "default"].find((key) => key in responses);
  const response = follow(document, [...at, ...operation, "responses", key]);
  const content = value(document, response).content;
  const media = content && Object.keys(content).find((type) => type.startsWith("application/json") || type === "*/*");
  const schema = content ? [...response, "content", media, "schema"] : [...response, "schema"];
  return schema.map((token) => `/${encodeURIComponent(token.replaceAll("~", "~0").replaceAll("/", "~1"))}`).join("");
}

function follow(document, at) {
  const reference = value(document, at).$ref;
  if (reference === undefined) return at;
  return follow(document, reference.slice(2).split("/").map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~")));
}

function value(document, at) {
  return at.reduce((inside, token) => inside[token], document);
}
