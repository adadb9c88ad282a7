#!/usr/bin/env bash
# Enriches every document of tests/openapi/documents in each way it can be asked for, and lets others judge:
# openapi-spec-validator and @redocly/openapi-core the documents (and that of the rating routes), ajv the responses.
# Needs cargo, node with npm, python3 with venv. Prints `N passed, N failed`.
set -euo pipefail
cd "$(dirname "$0")/.."

room=tests/openapi
out=${OPENAPI_OUT:-target/openapi}
mkdir -p "$out"
cargo build --quiet --example enrich_openapi
binary=${CARGO_TARGET_DIR:-target}/debug/examples/enrich_openapi

if [ ! -x "$out/venv/bin/python" ]; then python3 -m venv "$out/venv"; fi
"$out/venv/bin/pip" install --quiet --disable-pip-version-check -r "$room/requirements.txt"
if [ ! -d "$room/node_modules" ]; then npm --prefix "$room" ci --silent --no-audit --no-fund; fi

passed=0 failed=0
count() { # adds up the last line of a judge's output and shows the rest
    local output last
    output=$("$@" || true)
    last=$(tail -n 1 <<<"$output")
    sed '$d' <<<"$output"
    if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
    else
        echo "$1 $2 did not finish: $last"
        failed=$((failed + 1))
    fi
}

folders=("$room/documents" "$room/rating_routes")
for way in "" "nested" "context" "nested required"; do
    folder=$out/enriched${way:+-${way// /-}}
    rm -rf "$folder" && mkdir -p "$folder"
    for document in "$room"/documents/*.json; do
        # shellcheck disable=SC2086
        if ! "$binary" $way <"$document" >"$folder/$(basename "$document")" 2>>"$out/warnings.txt"; then
            echo "not enriched: $document $way"
            failed=$((failed + 1))
        fi
    done
    folders+=("$folder")
done

count "$out/venv/bin/python" "$room/validate.py" "${folders[@]}"
count node "$room/lint.mjs" "${folders[@]}"
count node "$room/responses.mjs" "$binary" "$room/documents" "$out/enriched"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
