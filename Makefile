# The entry points for people and for CI. `make` alone lists them.
#
# Everything is built once, with the dev profile and in one target folder. Lint and test select the same packages, so
# that both see the same features and share build scripts and macros.

.DEFAULT_GOAL := help
.NOTPARALLEL:

CARGO ?= cargo
# In CI a Cargo.lock that does not fit is an error; elsewhere it is brought up to date.
LOCKED := $(if $(CI),--locked)

# Each has a script in scripts/bindings that installs what it needs into .tools/bindings.
BINDINGS := python node c go csharp jvm
# What each language has played.
REPORTS = $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)/parity

# $(call with,PROBE,WHAT,COMMAND) runs COMMAND where PROBE succeeds. Where it does not, WHAT is skipped by name; with CI
# set that is an error.
with = @if $(1) >/dev/null 2>&1; then echo '$(3)'; $(3); \
	elif [ -n "$$CI" ]; then echo 'error: $(2): `$(1)` does not work' >&2; exit 1; \
	else echo 'skipped: $(2): `$(1)` does not work'; fi

.PHONY: help
help: ## List these targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

.PHONY: demo
demo: ## Show servers called, killed and recovered, without a network
	@$(CARGO) run $(LOCKED) --quiet --package mcp-resident-cli -- demo

.PHONY: test
test: lint real-servers ## Check everything: format, lints, all tests, real servers
	$(CARGO) test $(LOCKED) --workspace --no-fail-fast
	@$(MAKE) --no-print-directory $(BINDINGS:%=test-%) parity

# The scenarios of Rust again, for the report; then whether SPEC.md says what was played.
.PHONY: parity
parity: ## Check the table of SPEC.md against what each language has played
	@mkdir -p $(REPORTS)
	$(CARGO) test $(LOCKED) --quiet --package mcp-resident --test scenarios -- --report $(REPORTS)/Rust.json
	$(CARGO) run $(LOCKED) --quiet --package mcp-resident-fixtures -- rules --check SPEC.md --reports $(REPORTS)

.PHONY: $(BINDINGS:%=test-%)
$(BINDINGS:%=test-%): test-%: ## Build a binding and test it as its users have it
	@scripts/bindings/$*

.PHONY: lint
lint: ## Check the format, and the lints and the documentation's as errors
	$(call with,$(CARGO) fmt --version,the format,$(CARGO) fmt --all --check)
	$(call with,$(CARGO) clippy --version,the lints,$(CARGO) clippy $(LOCKED) --workspace --all-targets -- --deny warnings)
	RUSTDOCFLAGS='--deny warnings' $(CARGO) doc $(LOCKED) --workspace --no-deps --quiet

.PHONY: real-servers
real-servers: ## Install the real servers that tests call, into .tools
	scripts/real-servers

.PHONY: bench
bench: ## Measure against a bare rmcp client, in release (ARGS="..." instead of all)
	$(CARGO) run $(LOCKED) --release --package mcp-resident-bench -- $(or $(ARGS),all)

.PHONY: bench-languages
bench-languages: ## Measure the Python and Node packages against the official SDKs, in release (ARGS="..." for options)
	scripts/bench-languages $(ARGS)

.PHONY: clean
clean: ## Remove what was built and installed
	$(CARGO) clean
	rm -rf .tools
