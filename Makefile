# Pointsman. `make help` lists the targets.

GO       ?= go
FUZZTIME ?= 20s
BIN      := bin/pointsman
# The toolchain of releases: older standard libraries have known vulnerabilities.
# Where it cannot be had: make package RELEASE_TOOLCHAIN=local
RELEASE_TOOLCHAIN ?= go1.27.3

.DEFAULT_GOAL := help

.PHONY: help build demo test test-players deps unit fmt lint fuzz bench bench-http bench-memory bench-series docs vuln package clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

build: ## build bin/pointsman, static
	CGO_ENABLED=0 $(GO) build -trimpath -o $(BIN) ./cmd/pointsman

demo: build ## three small servers, two redirectors and a page with players
	$(BIN) demo

test: deps unit ## every test; installs the Debian and npm packages it needs
	$(GO) test -race -shuffle=on -timeout 25m ./test

test-players: deps ## hls.js, dash.js and Shaka Player in Chromium follow steering
	$(GO) test -run '^TestPlayers$$' -count=1 -v ./test

deps: ## install what the tests need beside Go
	@scripts/test-deps.sh

unit: ## the tests that need nothing but Go
	$(GO) test -race -shuffle=on $$($(GO) list ./... | grep -v '/test$$')
	$(GO) test -shuffle=on ./redirector # all its worlds: see race_test.go there

fmt: ## format
	$(GO) tool gofumpt -w $$(git ls-files '*.go')

lint: ## format, vet, staticcheck
	@out="$$($(GO) tool gofumpt -l $$(git ls-files '*.go'))"; if [ -n "$$out" ]; then echo "gofumpt would change:"; echo "$$out"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

fuzz: ## run each fuzz target for FUZZTIME (20s)
	@scripts/fuzz.sh $(FUZZTIME)

bench: ## locate, choose, warm decision, reload: ns and allocations
	$(GO) test -run '^$$' -bench . -benchmem ./farms ./farms/config ./redirector/... ./probe ./steering/...

bench-http: deps ## CPU per request beside a bare handler and nginx, in one run
	$(GO) run ./test/bench

bench-memory: ## resident memory with 100,000 prefixes, 1,000 servers, 10,000 channels
	$(GO) test -run TestMemory -count=1 -v ./test

bench-series: ## a million random channels, addresses and user agents make no metric series
	POINTSMAN_SERIES=1000000 $(GO) test -run TestMetricSeriesStayTheSame -count=1 -v ./test

docs: ## write docs/configuration.md from the code's comments
	$(GO) test ./farms/config -run TestReference -update

vuln: ## known vulnerabilities in what is called
	GOTOOLCHAIN=go1.27.3 scripts/vuln.sh

package: ## write dist/: static binaries, Debian packages, OCI image layout
	rm -rf dist
	GOTOOLCHAIN=$(RELEASE_TOOLCHAIN) $(GO) run -C deploy/package . -source '$(CURDIR)' -out '$(CURDIR)/dist'

clean: ## remove what was built
	rm -rf bin dist test/browser/node_modules test/steeringlib/node_modules
