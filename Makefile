# The commands of forge-x402. Everything real is in scripts/; this file only names it.

PREFIX ?= /usr/local

.PHONY: help demo demo-python test check-deep fuzz bench header install dist clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: ## The main job, end to end: a real agent pays a real server and rates the call (ONCE=1: end by itself)
	@scripts/need cargo node npm
	@scripts/demo.sh

demo-python: ## The same with FastAPI and the Python x402 package (ONCE=1: end by itself)
	@scripts/need cargo python3
	@scripts/demo_python.sh

test: ## The gate: everything that must hold, with progress; ends with "N passed, N failed"
	@scripts/test.sh $(ONLY)

check-deep: ## What takes longer: outages, forks, load, Miri, ThreadSanitizer; prints figures
	@scripts/check_deep.sh $(ONLY)

fuzz: ## Fuzz every target for SECONDS (60) each
	@scripts/fuzz.sh $(or $(SECONDS),60)

bench: ## Criterion benches of the engine; medians beside memcpy and serde_json's IgnoredAny
	@scripts/need cargo
	@cargo bench

install: ## Install library, headers, pkg-config and CMake files below PREFIX (/usr/local)
	@scripts/need cargo gcc
	@PREFIX="$(PREFIX)" scripts/install.sh

dist: ## What is shipped: tarball, wheel, npm package, into dist/
	@scripts/need cargo node npm python3
	@scripts/dist.sh

header: ## Generate include/forge_x402.h
	@scripts/need cargo
	@scripts/header.sh

clean: ## Remove what was built
	@rm -rf target collector/target reports
