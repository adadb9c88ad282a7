"""Checks the licences in the output of `cargo metadata` against deny.toml. Argument: the manifest's name, for messages."""

import collections
import json
import re
import sys
import tomllib

RULES = tomllib.load(open("deny.toml", "rb"))["licenses"]
ALLOWED = set(RULES["allow"])


def is_allowed(expression, allowed):
    """SPDX: AND binds closer than OR; the old spelling "MIT/Apache-2.0" means OR."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def either():
        verdict = both()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            verdict = both() or verdict
        return verdict

    def both():
        verdict = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            verdict = one() and verdict
        return verdict

    def one():
        token = tokens.pop(0)
        if token == "(":
            verdict = either()
            tokens.pop(0)
            return verdict
        if tokens[:1] == ["WITH"]:
            tokens.pop(0)
            token += " WITH " + tokens.pop(0)
        return token in allowed

    return either()


def main(manifest):
    exceptions = {rule["crate"]: set(rule["allow"]) for rule in RULES.get("exceptions", [])}
    counts, bad = collections.Counter(), []
    for package in json.load(sys.stdin)["packages"]:
        licence = package["license"] or "none"
        counts[licence] += 1
        if not is_allowed(licence, ALLOWED | exceptions.get(package["name"], set())):
            bad.append(f"{package['name']} {package['version']}: {licence}")
    print(f"{manifest}: {sum(counts.values())} packages; " + ", ".join(f"{n} {name}" for name, n in counts.most_common()))
    if bad:
        sys.exit("not allowed by deny.toml:\n  " + "\n  ".join(bad))


assert is_allowed("MIT OR GPL-3.0", {"MIT"}) and not is_allowed("MIT AND GPL-3.0", {"MIT"})
assert is_allowed("(MIT OR Apache-2.0) AND Zlib", {"MIT", "Zlib"}) and not is_allowed("none", {"MIT"})
main(sys.argv[1])
