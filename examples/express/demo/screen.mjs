// Prints the demo: headings, wrapped sentences, and JSON with the additions of forge-x402 marked. Colour on a terminal only.

// A reader that leaves early (`| head`) ends the demo quietly.
process.stdout.on("error", () => process.exit(0));

const colourful = process.stdout.isTTY && !process.env.NO_COLOR;
const width = Math.max(70, Math.min(process.stdout.columns ?? 100, 110));
const paint = (code) => (text) => (colourful ? `\u001b[${code}m${text}\u001b[0m` : text);

export const bold = paint("1");
export const dim = paint("2");
export const green = paint("32");
const number = paint("1;36");

export function title(text) {
  console.log(`\n${bold(text)}\n${dim("─".repeat(Math.min(width, text.length)))}`);
}

export function step(count, text) {
  console.log(`\n${number(`${count}`)}  ${bold(text)}`);
}

export function say(text = "") {
  for (const line of wrap(text, width - 3)) console.log(`   ${line}`);
}

export function label(text, note = "") {
  console.log(`\n   ${bold(text)}${note && ` ${dim(note)}`}`);
}

/** Name and value pairs in two columns. */
export function facts(pairs) {
  const widest = Math.max(...pairs.map(([name]) => name.length));
  for (const [name, value, note = ""] of pairs) console.log(`   ${name.padEnd(widest)}  ${value}${note && `  ${dim(note)}`}`);
}

export function added(text) {
  for (const line of wrap(text, width - 6)) console.log(`   ${green(`+ ${line}`)}`);
}

/**
 * Prints `after` as indented JSON. What `before` does not have is marked with + (and green): new members whole, longer strings
 * from where they grew. Members named in `folded` are printed on one line.
 */
export function json(before, after, { folded = [] } = {}) {
  for (const { text, isNew } of lines(before, after, { folded, indent: 0, lead: "", tail: "" })) {
    console.log(isNew ? `   ${green(`+ ${text}`)}` : `     ${text}`);
  }
}

function lines(before, after, { folded, indent, lead, tail }) {
  const pad = " ".repeat(indent);
  const isNew = before === undefined;
  if (typeof after === "string") return text(before, after, { pad, lead, tail });
  if (after === null || typeof after !== "object" || Object.keys(after).length === 0) return [{ text: `${pad}${lead}${JSON.stringify(after)}${tail}`, isNew }];

  const inline = JSON.stringify(after).replace(/([,:])(?=["[{\d])/g, "$1 ");
  if (Array.isArray(after) && after.every((item) => typeof item !== "object")) return wrapped(`${pad}${lead}${inline}${tail}`, indent, isNew);

  const [open, close] = Array.isArray(after) ? ["[", "]"] : ["{", "}"];
  const names = Object.keys(after);
  const inner = names.flatMap((name, at) => {
    const more = at < names.length - 1 ? "," : "";
    const key = Array.isArray(after) ? "" : `${JSON.stringify(name)}: `;
    if (folded.includes(name)) return [{ text: `${pad}  ${key}{ … }${more}  ${dim("(the merchant's own, not a byte changed)")}`, isNew: before?.[name] === undefined }];
    return lines(before?.[name], after[name], { folded, indent: indent + 2, lead: key, tail: more });
  });
  return [{ text: `${pad}${lead}${open}`, isNew }, ...inner, { text: `${pad}${close}${tail}`, isNew }];
}

function text(before, after, { pad, lead, tail }) {
  const grown = typeof before === "string" && after !== before && after.startsWith(before);
  if (!grown) return wrapped(`${pad}${lead}${JSON.stringify(after)}${tail}`, pad.length, before === undefined);
  const old = { text: `${pad}${lead}"${JSON.stringify(before).slice(1, -1)}`, isNew: false };
  const rest = `${JSON.stringify(after.slice(before.length).trimStart()).slice(1)}${tail}`;
  return [old, ...wrap(rest, width - 5 - pad.length - 2).map((line) => ({ text: `${pad}  ${line}`, isNew: true }))];
}

function wrapped(line, indent, isNew) {
  // A link stays in one piece, even where it is longer than the page.
  if (line.trim().split(" ").length <= 3) return [{ text: line, isNew }];
  const [first, ...others] = wrap(line.trimStart(), width - 5 - indent - 4);
  return [{ text: " ".repeat(indent) + first, isNew }, ...others.map((other) => ({ text: " ".repeat(indent + 4) + other, isNew }))];
}

function wrap(text, room) {
  const result = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line && line.length + 1 + word.length > room) {
      result.push(line);
      line = word;
    } else {
      line = line ? `${line} ${word}` : word;
    }
  }
  return [...result, line];
}
