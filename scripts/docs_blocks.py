"""Checks that the code in docs pages is the code of the examples, which tests build and run.

A block that begins with ```LANGUAGE PATH must stand in that file as it is, line for line. Prints a count; fails on the first
block that does not.
"""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
found = 0
for page in map(pathlib.Path, sys.argv[1:]):
    for path, block in re.findall(r"^```\w+ (\S+)\n(.*?)^```$", page.read_text(), re.M | re.S):
        if block not in (root / path).read_text():
            sys.exit(f"{page}: this is not in {path}:\n{block}")
        found += 1
if not found:
    sys.exit("no blocks")
print(f"{found} blocks")
