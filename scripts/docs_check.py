#!/usr/bin/env python3
"""Holds the pages to the code: quoted code must stand in the file it names, the options table must be that of options.json.

`<!-- code: PATH -->` in front of a fenced block: the block stands in PATH to the letter.
`<!-- options -->`: the table that follows is generated; `--write` writes it.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUOTE = re.compile(r"<!-- code: (\S+) -->\n```\w*\n(.*?)```", re.S)
TABLE = re.compile(r"(<!-- options -->\n\n)((?:\|.*\n)*)")


def options_table() -> str:
    rows = ["| option | type | default | what it does |", "|---|---|---|---|"]
    for option in json.loads((ROOT / "options.json").read_text()):
        kind = option["type"].replace("|", "\\|")
        default = "–" if option["default"] is None else f"`{json.dumps(option['default'])}`"
        rows.append(f"| `{option['name']}` | `{kind}` | {default} | {option['doc']} |")
    return "\n".join(rows) + "\n"


def main() -> int:
    write = "--write" in sys.argv
    faults = []
    quotes = 0
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text()
        for path, block in QUOTE.findall(text):
            quotes += 1
            source = ROOT / path
            if not source.is_file() or block not in source.read_text():
                faults.append(f"{page.relative_to(ROOT)}: a block said to be of {path} does not stand there")
        match = TABLE.search(text)
        if match and match[2] != options_table():
            if write:
                page.write_text(TABLE.sub(lambda found: found[1] + options_table(), text, count=1))
            else:
                faults.append(f"{page.relative_to(ROOT)}: the options table is not that of options.json (scripts/docs_check.py --write)")
    for fault in faults:
        print(fault)
    print(f"docs: {quotes} quotes, {len(faults)} faults")
    return 1 if faults else 0


sys.exit(main())
