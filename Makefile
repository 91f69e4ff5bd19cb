# A thin front of meson and ninja: `make` builds, `make check` proves, `make help` lists the rest.

PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
export FUZZ_SECONDS

.PHONY: all
all: ## build the programs (in build/)
	@tools/build build

.PHONY: deps
deps: ## install the Debian packages that are missing, as root or with sudo
	@tools/deps

.PHONY: demo
demo: ## install what is missing, build, show berm at work
	@tools/deps build demo
	@tools/build build
	@tools/demo

.PHONY: check
check: ## install what is missing, build, run all tests (20 to 30 minutes)
	@tools/check

.PHONY: check-long
check-long: ## and the long sweeps, campaigns, mutants, compilers (hours)
	@env -u FUZZ_SECONDS tools/check --long

.PHONY: asan
asan: ## the tests under AddressSanitizer and UBSan
	@tools/build build-asan
	@meson test -C build-asan --no-suite static --no-rebuild

.PHONY: fuzz
fuzz: ## the fuzz targets, FUZZ_SECONDS=60 each
	@tools/build build-asan
	@tests/fuzz/run build-asan $(FUZZ_SECONDS)

.PHONY: bench
bench: ## compare what berm costs with what it must not cost
	@tools/build build
	@for bench in launch drain sample snapshot; do \
		if [ -x tests/bench/$$bench ]; then tests/bench/$$bench || exit 1; fi; done

.PHONY: schema
schema: ## write schema/ and the tables of docs/formats/ from the record tables
	@tools/build build
	@tools/gen-formats build/tests/contract/formats

.PHONY: format format-check
format: ## lay the source out
	@git ls-files '*.[ch]' | xargs clang-format -i
format-check:
	@git ls-files '*.[ch]' | xargs clang-format --dry-run --Werror

.PHONY: install
install: ## PREFIX=/usr/local DESTDIR=; needs no root of its own
	@if [ -e build/build.ninja ]; then meson configure build -Dprefix="$(PREFIX)"; \
	else CC=gcc meson setup build -Dprefix="$(PREFIX)"; fi
	@tools/build build
	@meson install -C build --no-rebuild

.PHONY: dist
dist: ## packages of a release, on a host that is qualified for this build (tools/dist)
	@tools/build build
	@tools/dist build

.PHONY: clean
clean: ## remove the build folders
	rm -rf build build-asan build-faults

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 20

-include tests/host/host.mk
