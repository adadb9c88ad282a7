// Says whether what was made of a JSON text reads the same in JSON.parse. Protocol: fuzz/src/judges.rs.

import { isDeepStrictEqual } from 'node:util';

const OURS = { b: ['feedback_id', 'feedback_url', 'rate_this_call', 'forge_feedback'], c: ['resource', 'accepts', 'extensions'], r: ['extensions'] };
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function same(letter, original, made) {
  if (letter === 'o') return Object.keys(original).every((name) => Object.hasOwn(made, name));
  const without = (value) => Object.entries(value).filter(([name]) => !OURS[letter].includes(name));
  return isDeepStrictEqual(without(original), without(made));
}

function answer(letter, original, made) {
  try {
    return same(letter, JSON.parse(utf8.decode(original)), JSON.parse(utf8.decode(made))) ? 'y' : 'n';
  } catch (fault) {
    return fault instanceof RangeError ? 's' : 'n';
  }
}

let held = Buffer.alloc(0);
for await (const chunk of process.stdin) {
  held = Buffer.concat([held, chunk]);
  while (held.length >= 9) {
    const first = held.readUInt32LE(1);
    const end = 9 + first + held.readUInt32LE(5);
    if (held.length < end) break;
    process.stdout.write(answer(String.fromCharCode(held[0]), held.subarray(9, 9 + first), held.subarray(9 + first, end)));
    held = held.subarray(end);
  }
}
