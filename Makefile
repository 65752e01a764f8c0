# gpu-dra: run `make` or `make help` to see what there is.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

OUT := _out
CLUSTER := $(OUT)/cluster
TOOL := go tool -modfile=$(CURDIR)/tools/go.mod
GO_FILES = $(shell git ls-files -co --exclude-standard '*.go')
VERSION = $(shell sed -n 's/^version: //p' Chart.yaml)
export CGO_ENABLED := 0

##@ See it work

# REAL_NODE=1 is another demo: the exporter as a sidecar, on a node with a real kubelet (as root).
REAL_NODE := 0
ifneq ($(filter-out 0 1,$(REAL_NODE)),)
$(error REAL_NODE is $(REAL_NODE): expected 1, or nothing for the demo that needs no root)
endif

.PHONY: demo
demo: $(CLUSTER) controller $(if $(filter 1,$(REAL_NODE)),chart observe,bundle) ## The main job on a real cluster: a pod on the smallest GPU that fits. REAL_NODE=1: metrics up to a pod's end
	@CLUSTER=$(CURDIR)/$(CLUSTER) MODULE=$(CURDIR)/$(OUT)/module CONTROLLER=$(CURDIR)/$(OUT)/gpu-dra \
	CHART=$(CURDIR)/$(OUT)/gpu-dra-$(VERSION).tgz OBSERVE=$(CURDIR)/$(OUT)/observe \
	examples/demo/$(if $(filter 1,$(REAL_NODE)),real-node,run).sh

.PHONY: demo-down
demo-down: $(CLUSTER) ## Stop the demo's cluster and remove all it left
	@$(CLUSTER) down --name demo

##@ Build

.PHONY: build
build: controller hooks ## Build the gpu-dra binary and the hooks into _out

.PHONY: controller
controller: ## Build the gpu-dra binary (CLI and controller)
	@mkdir -p $(OUT)
	@go build -ldflags "-s -w" -o $(OUT)/gpu-dra ./cmd/gpu-dra

# No -trimpath: module-sdk finds a hook's name from the path of its source file.
.PHONY: hooks
hooks: ## Build the hooks that addon-operator runs
	@mkdir -p $(OUT)
	@go build -ldflags "-s -w" -o $(OUT)/gpu-dra-hooks ./hooks

.PHONY: bundle
bundle: hooks ## The package for Deckhouse: the module, laid out as it expects it, in _out/module
	@go run ./internal/gen/bundle --out $(OUT)/module --hooks $(OUT)/gpu-dra-hooks

.PHONY: chart
chart: ## The package for plain Helm: _out/gpu-dra-<version>.tgz
	@go run ./internal/gen/chart --out $(OUT)

.PHONY: observe
observe: # what the demo, and a test, watch a pod's end with
	@mkdir -p $(OUT)
	@go build -o $(OUT)/observe ./examples/demo/observe

.PHONY: $(CLUSTER)
$(CLUSTER):
	@mkdir -p $(OUT)
	@go build -o $(CLUSTER) ./test/cluster

##@ Test

.PHONY: test
test: test-unit test-e2e ## Every test: the units, then the whole product on real clusters built from source

# What go test vets by itself is left to `make verify`, which vets everything: with cold caches it reads the source of every dependency.
TEST := go test -vet=off

.PHONY: test-unit
test-unit: ## Tests that need no cluster
	$(TEST) ./...

.PHONY: golden
golden: ## The chart's renders of examples/values as they stand in the golden files
	@$(TEST) -count=1 -run '^TestGolden' ./internal/charttest

.PHONY: golden-update
golden-update: ## Write the golden files anew, to be read with git diff
	@$(TEST) -count=1 -run '^TestGolden' ./internal/charttest -update

.PHONY: test-e2e
test-e2e: $(CLUSTER) bundle chart controller observe ## The product from its packages on real clusters and a real kubelet (as root)
	$(CLUSTER) build
	cd test/operator && $(TEST) ./...
	cd test/workload && $(TEST) ./...
	$(TEST) -tags e2e -count=1 -timeout 30m -parallel 4 ./test/e2e/...

.PHONY: e2e
e2e: test-e2e

# The newest Kubernetes whose feature gates the table knows: only what reads most of them is built of it.
NEWEST := 1.37.2

.PHONY: test-full
test-full: test ## test and what is too slow for it: planned feature gates on Kubernetes 1.37 (its first build takes long), twenty installs
	$(CLUSTER) build --kubernetes-version $(NEWEST) kube-apiserver kube-scheduler
	$(TEST) -tags e2e,full -count=1 -timeout 30m -parallel 4 -run '^(TestPlannedGatesOnNewest|TestInstallsConverge)$$' ./test/e2e

.PHONY: bench
bench: $(CLUSTER) bundle controller ## Speed and memory at 500 and 5,000 nodes, as ratios against a baseline of the same run
	$(CLUSTER) build kube-apiserver kube-controller-manager kube-scheduler kubectl etcd helm kwok addon-operator
	$(TEST) -tags bench -count=1 -timeout 120m -v ./test/bench
	$(TEST) -run '^$$' -bench '^BenchmarkRender$$' -benchtime 5x ./internal/charttest

##@ Keep it clean

.PHONY: generate
generate: ## Write every generated file: deepcopy, CRDs, values.yaml, values.schema.json, settings tables
	$(TOOL) controller-gen object paths=./api/...
	go run ./internal/gen/crds
	go run ./internal/gen/values

.PHONY: generate-gates
generate-gates: ## Write the table of feature gates anew from the sources of Kubernetes, downloaded through the Go proxy
	go run ./internal/gen/gates

.PHONY: verify
verify: ## Generated files current, gofmt, vet, staticcheck, no drift
	@unformatted=$$(gofmt -l $(GO_FILES)); if [ -n "$$unformatted" ]; then echo "not gofmt-ed: $$unformatted; run gofmt -w on them"; exit 1; fi
	go mod verify >/dev/null
	go mod tidy -diff
	cd test/operator && go mod tidy -diff && go vet ./...
	cd test/workload && go mod tidy -diff && go vet ./...
	go vet ./... && go vet -tags e2e,full ./test/e2e/... && go vet -tags bench ./test/bench/...
	$(TOOL) staticcheck ./...
	@before=$$(git status --porcelain; git diff | sha256sum); $(MAKE) --no-print-directory generate; after=$$(git status --porcelain; git diff | sha256sum); \
	if [ "$$before" != "$$after" ]; then echo "generated files were not current: they are now, look at git diff and commit them"; exit 1; fi

.PHONY: clean
clean: ## Remove what was built in the clone (the built Kubernetes stays in the user's cache)
	rm -rf $(OUT)

.PHONY: help
help: ## This list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-zA-Z0-9_-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
