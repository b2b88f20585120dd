#!/bin/sh
# Holds acme to what PyTorch promises of a device, as the workflow does, with the reports in build/conformance:
#
#   sh conformance/run.sh                    # quick, a minute; or standard, or full
#   sh conformance/run.sh standard --jobs 4  # what follows the level are options of `outback conformance`
#
# With conformance/baseline.json, the report says what has broken and what has been mended since. To begin one, or to
# renew it at a release: cp build/conformance/standard.json conformance/baseline.json
set -eu
cd "$(dirname "$0")/.."
level=${1:-quick}
test $# -eq 0 || shift
reports=build/conformance
set -- --json "$reports/$level.json" --html "$reports/$level.html" --junit "$reports/$level.xml" "$@"
test ! -f conformance/baseline.json || set -- --baseline conformance/baseline.json "$@"
exec outback conformance --device acme --import torch_acme --level "$level" \
  --expectations conformance/expectations.txt "$@"
