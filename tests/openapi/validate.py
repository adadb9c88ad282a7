"""Validates every document of the given folders with openapi-spec-validator; prints one line per failure.

    python3 validate.py FOLDER...    ends with `N passed, N failed`
"""

import json
import sys
from pathlib import Path

from openapi_spec_validator import validate

passed = failed = 0
for folder in sys.argv[1:]:
    for file in sorted(Path(folder).glob("*.json")):
        try:
            validate(json.loads(file.read_bytes()))
            passed += 1
        except Exception as error:  # every kind of complaint is a failure of the document
            failed += 1
            print(f"openapi-spec-validator: {file}: {type(error).__name__}: {str(error)[:300]}")
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
