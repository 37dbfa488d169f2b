# Everything a newcomer can do: `make help`. What is downloaded or built goes to .cache.

SHELL := /bin/bash
.DEFAULT_GOAL := help

CACHE  := $(CURDIR)/.cache
BIN    := $(CACHE)/bin
LIB    := $(CACHE)/lib/libchdb.so
GO     ?= go
ARGS   ?=

# Nested modules: what only the demo, the tests and the measurements need is not what a user downloads.
LOCALCLUSTER := deploy/localcluster
PROMETHEUS   := deploy/prometheus
ALERTMANAGER := deploy/alertmanager
STATEMETRICS := deploy/kube-state-metrics
HELM         := deploy/helm
IMAGE        := deploy/image
DASHBOARDS   := deploy/dashboards
CHART        := deploy/charts/kubevoltracker
# Newest release that builds with this Go.
GOLANGCI_LINT_VERSION := v2.12.2
GOVULNCHECK_VERSION   := v1.9.0

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null)
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null)
BRANCH   ?= $(shell git rev-parse --abbrev-ref HEAD 2>/dev/null)
VERSION_PKG := github.com/prometheus/common/version
LDFLAGS  := -s -w -X $(VERSION_PKG).Version=$(VERSION) -X $(VERSION_PKG).Revision=$(REVISION) -X $(VERSION_PKG).Branch=$(BRANCH)

# The race detector needs a C compiler; without one the tests run without it.
RACE := $(if $(shell command -v $${CC:-gcc} 2>/dev/null),-race)

sources = $(shell find $(1) -name '*.go' -o -name go.mod -o -name '*.sql' -o -name '*.yaml' | grep -v _test.go)

.PHONY: help
help: ## Tell what can be done here
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | expand -t 20

.PHONY: demo
demo: build localcluster libchdb prometheus alertmanager ## Show all of it on a local cluster; until Ctrl-C, or for DEMO_SECONDS; DEMO_IDLE_SECONDS=20 is when a volume counts as idle
	@deploy/demo/demo.sh $(if $(DEMO_IDLE_SECONDS),--idle-seconds=$(DEMO_IDLE_SECONDS)) $(BIN) $(CACHE)/demo

.PHONY: run
run: build libchdb ## Run the tracker on the cluster of your kubeconfig, with its history in data; ARGS="--flag …"
	$(BIN)/kubevoltracker run $(ARGS)

# Without the race detector run the tests that it has nothing to find in: those in test drive programs that are built
# without it, and collector/inventory has no goroutine, and shuffles ten times slower with it.
UNRACED := ./collector/inventory ./collector/intern ./test/...
RACED    = $(shell $(GO) list ./... | grep -vE '/(test|collector/inventory|collector/intern)(/|$$)')

.PHONY: test-parts
test-parts: build localcluster libchdb promtool prometheus alertmanager helm crds clients image $(BIN)/kube-state-metrics ## Build and fetch what the tests need

# localcluster is tested by the flags that its program is built with: any others would compile Kubernetes a second time.
.PHONY: test
test: vet test-parts ## Pass all tests, on a real control plane and a real ClickHouse
	$(GO) test $(RACE) -count=1 -timeout 40m $(ARGS) $(RACED)
	$(GO) test -count=1 -timeout 40m $(ARGS) $(UNRACED)
	cd $(LOCALCLUSTER) && CGO_ENABLED=0 LOCALCLUSTER_BIN=$(BIN)/localcluster $(GO) test -trimpath -count=1 -timeout 5m $(ARGS) ./...
	cd $(IMAGE) && IMAGES=$(CACHE)/image $(GO) test -count=1 -timeout 15m $(ARGS) ./...
	cd $(DASHBOARDS) && $(GO) test -count=1 $(ARGS) ./...

.PHONY: soak
soak: build localcluster libchdb ## Trouble of all kinds at random, for SOAK_MINUTES=10; SOAK_SEED=N runs one again, SOAK_TROUBLES=pair,killed only some
	@mkdir -p $(CACHE)/soak
	SOAK_MINUTES=$(or $(SOAK_MINUTES),10) $(GO) test -count=1 -v -timeout 24h -run '^TestSoak$$' -artifacts -outputdir=$(CACHE)/soak $(ARGS) ./test/soak

.PHONY: loadgen-drill
loadgen-drill: build localcluster libchdb ## 100 changes a second by each profile of loadgen, for LOADGEN_DURATION=1m, and is all of it in the catalog?
	@mkdir -p $(CACHE)/loadgen
	LOADGEN_DURATION=$(or $(LOADGEN_DURATION),1m) $(GO) test -count=1 -v -timeout 1h -run '^TestDrill$$' -artifacts -outputdir=$(CACHE)/loadgen $(ARGS) ./test/loadgen

# How many mounts; 1 for those alone that the questions on one volume, claim, namespace, owner or group read; only the reports that match; an
# earlier program beside ours.
BENCH_HISTORY_MOUNTS ?= 100000000
BENCH_HISTORY_FEW    ?=
BENCH_HISTORY_ONLY   ?=
BENCH_HISTORY_BEFORE ?=

.PHONY: bench-history
bench-history: build libchdb ## Measure the reports on 100 million made-up mounts (an hour and a half); BENCH_HISTORY_FEW=1 asks what is not on the whole cluster (half an hour)
	@mkdir -p $(CACHE)/history
	BENCH_HISTORY_MOUNTS=$(BENCH_HISTORY_MOUNTS) BENCH_HISTORY_FEW=$(BENCH_HISTORY_FEW) BENCH_HISTORY_ONLY='$(BENCH_HISTORY_ONLY)' BENCH_HISTORY_BEFORE=$(BENCH_HISTORY_BEFORE) \
	  BENCH_HISTORY_DIR=$(CACHE)/history $(GO) test -count=1 -v -timeout 5h -run '^TestHistory$$' $(ARGS) ./test/scale

# How many mounts the catalog has that ClickHouse is asked about, and how many volumes the exporter that Prometheus scrapes.
BENCH_DASHBOARDS_MOUNTS  ?= 10000000
BENCH_DASHBOARDS_VOLUMES ?= 100000

.PHONY: bench-dashboards
bench-dashboards: build libchdb prometheus ## Measure the queries of the dashboards on 10 million mounts and 100,000 volumes (15 minutes); BENCH_DASHBOARDS_MOUNTS=1000000 is quicker
	@mkdir -p $(CACHE)/history
	BENCH_DASHBOARDS_MOUNTS=$(BENCH_DASHBOARDS_MOUNTS) BENCH_DASHBOARDS_VOLUMES=$(BENCH_DASHBOARDS_VOLUMES) BENCH_HISTORY_DIR=$(CACHE)/history \
	  $(GO) test -count=1 -v -timeout 2h -run '^TestDashboards' $(ARGS) ./test/scale

.PHONY: attack
attack: build libchdb ## Try to get through the fences of the built programs, in a hundred ways and more
	$(GO) test -count=1 -v $(ARGS) ./test/attack

# ClickHouse's client for JavaScript, which a test asks by.
CLIENT_VERSION := 1.23.1
CLIENTS := $(CACHE)/clients/node_modules/@clickhouse/client/package.json

# Grafana's types of the oldest and the newest version that the dashboards are for, and the compiler that reads them.
GRAFANA_OLDEST     := 11.1.4
GRAFANA_NEWEST     := 13.2.3
TYPESCRIPT_VERSION := 5.9.3
GRAFANA_TYPES := $(CACHE)/grafana/node_modules/typescript/package.json

.PHONY: clients
clients: $(CLIENTS) $(GRAFANA_TYPES) ## Fetch by npm what test/clients needs: ClickHouse's client for JavaScript, Grafana's types and TypeScript

$(GRAFANA_TYPES): Makefile
	@echo "fetching Grafana's types and TypeScript by npm"
	@mkdir -p $(CACHE)/grafana
	@npm install --silent --no-save --no-package-lock --no-audit --no-fund --ignore-scripts --prefix $(CACHE)/grafana \
	  schema-11@npm:@grafana/schema@$(GRAFANA_OLDEST) schema-13@npm:@grafana/schema@$(GRAFANA_NEWEST) typescript@$(TYPESCRIPT_VERSION)
	@touch $@

$(CLIENTS): Makefile
	@echo "fetching ClickHouse's client for JavaScript by npm"
	@mkdir -p $(CACHE)/clients
	@npm install --silent --no-save --no-package-lock --no-audit --no-fund --ignore-scripts --prefix $(CACHE)/clients @clickhouse/client@$(CLIENT_VERSION)
	@touch $@

.PHONY: vet
vet: ## Look for mistakes by go vet, as make test does
	$(GO) vet ./...

# A cache of this checkout's own: the shared one remembers other checkouts' files. The linters that need types would read all of
# Kubernetes for the local cluster, which takes 6 GB and half an hour: there, `go test` vets what they look for.
lint: export GOLANGCI_LINT_CACHE := $(CACHE)/golangci-lint

.PHONY: lint
lint: $(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION) vulncheck ## Check the code's style, and for weaknesses that are known
	$< run --allow-parallel-runners ./...
	cd $(DASHBOARDS) && $< run --allow-parallel-runners --config $(CURDIR)/.golangci.yml ./...
	cd $(IMAGE) && $< run --allow-parallel-runners --config $(CURDIR)/.golangci.yml ./...
	cd $(LOCALCLUSTER) && $< run --allow-parallel-runners --fast-only --config $(CURDIR)/.golangci.yml ./...

# The local cluster is left out, as no user runs it: it is all of Kubernetes, and takes 7 minutes. The other modules that are
# left out have no Go code of ours.
.PHONY: vulncheck
vulncheck: $(BIN)/govulncheck-$(GOVULNCHECK_VERSION) ## Check that no function with a known vulnerability is called, as make lint does; GOVULNDB=file:///a/directory is a copy of the database
	@deploy/vulncheck/vulncheck.sh $< . $(DASHBOARDS) $(IMAGE)

.PHONY: bench
bench: compare libchdb ## Run make compare, and Go's benchmarks of the parts (30 minutes)
	$(GO) test -run '^$$' -bench . -benchmem $(ARGS) ./...

# How many objects of each kind; and how many volumes without an API server.
COMPARE_OBJECTS   ?= 5000,20000
COMPARE_SYNTHETIC ?= 25000,50000,100000

.PHONY: compare
compare: build localcluster libchdb $(BIN)/kube-state-metrics ## Measure the metrics beside kube-state-metrics (20 minutes); COMPARE_OBJECTS=5000 is quicker
	COMPARE_OBJECTS=$(COMPARE_OBJECTS) COMPARE_SYNTHETIC=$(COMPARE_SYNTHETIC) \
	  $(GO) test -count=1 -v -timeout 3h -run '^(TestCompare|TestSynthetic)$$' $(ARGS) ./test/compare

# How many pods; how long they are updated; how many turns each program has; and the files of trackers to compare with.
COMPARE_UPDATES ?= 2000
COMPARE_SECONDS ?= 60
COMPARE_ROUNDS  ?= 1
COMPARE_BEFORE  ?=

.PHONY: compare-updates
compare-updates: build localcluster libchdb $(BIN)/kube-state-metrics ## Measure what an update of a pod costs, beside kube-state-metrics (4 minutes); COMPARE_BEFORE=FILE compares with another build
	COMPARE_UPDATES=$(COMPARE_UPDATES) COMPARE_SECONDS=$(COMPARE_SECONDS) COMPARE_ROUNDS=$(COMPARE_ROUNDS) \
	  COMPARE_BEFORE='$(abspath $(COMPARE_BEFORE))' \
	  $(GO) test -count=1 -v -timeout 1h -run '^TestUpdates$$' $(ARGS) ./test/compare

# How many volumes and claims; and half as many pods again.
COMPARE_LARGE ?= 100000

.PHONY: compare-large
compare-large: build localcluster libchdb ## Measure first start and restart on an API server with 100,000 volumes and 150,000 pods (15 minutes, 16 GB)
	COMPARE_LARGE=$(COMPARE_LARGE) $(GO) test -count=1 -v -timeout 1h -run '^TestCompareLarge$$' $(ARGS) ./test/compare

# How many volumes, claims and attachments; and half as many pods again.
COMPARE_FAMILIES ?= 20000

.PHONY: compare-families
compare-families: build localcluster libchdb $(BIN)/kube-state-metrics ## Measure kube-state-metrics' families beside kube-state-metrics itself (8 minutes); COMPARE_FAMILIES=2000 is quicker
	COMPARE_FAMILIES=$(COMPARE_FAMILIES) $(GO) test -count=1 -v -timeout 1h -run '^TestCompareFamilies$$' $(ARGS) ./test/compare

# How many volumes and claims the journal has; and half as many pods again.
COMPARE_RESTORE ?= 100000

.PHONY: compare-restore
compare-restore: ## Measure the restart from a journal with 100,000 volumes and 150,000 pods alone (2 minutes); COMPARE_RESTORE=20000 is quicker
	COMPARE_RESTORE=$(COMPARE_RESTORE) $(GO) test -count=1 -v -timeout 1h -run '^TestRestore$$' $(ARGS) ./test/compare

# How many pods leave rows behind.
COMPARE_DISK ?= 1000000

.PHONY: compare-disk
compare-disk: build libchdb ## Measure what a million rows of each table take on disk (2 minutes); COMPARE_DISK=20000 is quicker
	COMPARE_DISK=$(COMPARE_DISK) $(GO) test -count=1 -v -timeout 1h -run '^TestDisk$$' $(ARGS) ./test/compare

.PHONY: kube-state-metrics
kube-state-metrics: $(BIN)/kube-state-metrics ## Build kube-state-metrics, for comparison

$(BIN)/kube-state-metrics: $(STATEMETRICS)/go.mod
	@echo "building kube-state-metrics from its module (2 minutes the first time)"
	@cd $(STATEMETRICS) && CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $@ k8s.io/kube-state-metrics/v2

.PHONY: fuzz
fuzz: ## Fuzz each target for a while; FUZZTIME=30s
	@for package in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
	    $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(or $(FUZZTIME),30s) -fuzzminimizetime 10x $$package || exit 1; \
	  done; \
	done

.PHONY: build
build: $(BIN)/kubevoltracker $(BIN)/kubevoltracker-clickhouse ## Build the two programs into .cache/bin

# deploy/krew/voltracker.yaml has the same platforms.
KREW_PLATFORMS := linux_amd64 linux_arm64 darwin_amd64 darwin_arm64

.PHONY: krew
krew: $(addprefix krew-,$(KREW_PLATFORMS)) ## Build the kubectl plugin's archives and krew's manifest into .cache/krew (10 minutes the first time); VERSION=v0.1.0
	deploy/krew/package.sh '$(VERSION)' $(CACHE)/krew

.PHONY: krew-version
krew-version: ## Check that krew takes VERSION, before ten minutes of building
	@deploy/krew/package.sh '$(VERSION)'

.PHONY: $(addprefix krew-,$(KREW_PLATFORMS))
$(addprefix krew-,$(KREW_PLATFORMS)): krew-%: krew-version
	@echo "building kubevoltracker for $*"
	@GOOS=$(word 1,$(subst _, ,$*)) GOARCH=$(word 2,$(subst _, ,$*)) CGO_ENABLED=0 \
	  $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(CACHE)/krew/$*/kubevoltracker ./cmd/kubevoltracker

# Static: no libc is needed where the tracker runs.
$(BIN)/kubevoltracker: $(call sources,cmd/kubevoltracker cmd/namedflag collector exporter catalog go.mod)
	@echo "building kubevoltracker (about a minute the first time)"
	@CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $@ ./cmd/kubevoltracker

$(BIN)/kubevoltracker-clickhouse: $(call sources,cmd/kubevoltracker-clickhouse cmd/namedflag catalog/embedded catalog/listen catalog/privatedir go.mod)
	@echo "building kubevoltracker-clickhouse"
	@CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $@ ./cmd/kubevoltracker-clickhouse

.PHONY: localcluster
localcluster: $(BIN)/localcluster ## Build the local cluster: all of Kubernetes in one program

$(BIN)/localcluster: $(call sources,$(LOCALCLUSTER))
	@echo "building the local cluster: Kubernetes from its Go modules (4 to 6 minutes the first time)"
	@cd $(LOCALCLUSTER) && CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $@ .

.PHONY: libchdb
libchdb: $(LIB) ## Fetch the embedded ClickHouse engine by npm (180 MB)

$(LIB): deploy/fetch-libchdb.sh
	@deploy/fetch-libchdb.sh

# The chart looks for images with this tag.
IMAGE_VERSION ?= $(shell sed -n 's/^appVersion: //p' $(CHART)/Chart.yaml)

.PHONY: image
image: $(BIN)/image libchdb ## Build the container images into .cache/image, without a container engine
	@VERSION='$(IMAGE_VERSION)' REVISION='$(REVISION)' $< --repository=$(CURDIR) build $(CACHE)/image

.PHONY: image-push
image-push: $(BIN)/image ## Push what `make image` has built: REPOSITORY=registry.example/team
	@$< push $(CACHE)/image $(or $(REPOSITORY),$(error name the registry: make image-push REPOSITORY=registry.example/team))

$(BIN)/image: $(call sources,$(IMAGE))
	@cd $(IMAGE) && CGO_ENABLED=0 $(GO) build -trimpath -o $@ .

.PHONY: promtool prometheus
promtool: $(BIN)/promtool ## Build Prometheus' promtool
prometheus: $(BIN)/prometheus ## Build Prometheus itself, which the tests let scrape the tracker

# Without service discovery, which is most of what Prometheus links, and without its web pages.
$(BIN)/promtool $(BIN)/prometheus: $(BIN)/%: $(PROMETHEUS)/go.mod
	@echo "building $* from Prometheus' module (2 minutes the first time, 1 for the second of its programs)"
	@cd $(PROMETHEUS) && CGO_ENABLED=0 $(GO) build -trimpath -tags remove_all_sd -ldflags '-s -w' -o $@ github.com/prometheus/prometheus/cmd/$*

.PHONY: alertmanager
alertmanager: $(BIN)/alertmanager $(BIN)/amtool ## Build Alertmanager and its amtool, for the demo and the tests

$(BIN)/alertmanager $(BIN)/amtool: $(BIN)/%: $(ALERTMANAGER)/go.mod
	@echo "building $* from Alertmanager's module (a minute the first time)"
	@cd $(ALERTMANAGER) && CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $@ github.com/prometheus/alertmanager/cmd/$*

.PHONY: chart
chart: $(BIN)/helm ## Check the Helm chart, and package it into .cache/chart
	@deploy/charts/package.sh $(BIN)/helm $(CHART) $(CACHE)/chart

.PHONY: helm
helm: $(BIN)/helm $(BIN)/kustomize ## Build helm and kustomize, which install the tracker

# Helm takes the version of Kubernetes that it renders for without a cluster from these variables.
HELM_LDFLAGS := $(foreach v,pkg/chartutil pkg/lint/rules,-X helm.sh/helm/v3/$(v).k8sVersionMajor=1 -X helm.sh/helm/v3/$(v).k8sVersionMinor=36)

$(BIN)/helm: $(HELM)/go.mod
	@echo "building helm from its module (2 to 3 minutes the first time)"
	@cd $(HELM) && CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w $(HELM_LDFLAGS)' -o $@ helm.sh/helm/v3/cmd/helm

$(BIN)/kustomize: $(HELM)/go.mod
	@echo "building kustomize from its module (half a minute the first time)"
	@cd $(HELM) && CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $@ sigs.k8s.io/kustomize/kustomize/v5

# The newest version that the Go module proxy has. What is in it beside the Go code is in no smaller module.
PROMETHEUS_OPERATOR := github.com/prometheus-operator/prometheus-operator@v0.85.0
CRDS := $(CACHE)/crds/servicemonitors.yaml

.PHONY: crds
crds: $(CRDS) ## Fetch the definitions of ServiceMonitor and PrometheusRule, with which the tests check the chart

$(CRDS): Makefile
	@echo "fetching the definitions of ServiceMonitor and PrometheusRule from the Prometheus Operator's module (6 MB)"
	@deploy/fetch-crds.sh $(PROMETHEUS_OPERATOR) $(CACHE)/crds
	@touch $@

$(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION):
	@echo "building golangci-lint from its module (3 minutes the first time)"
	@mkdir -p $(BIN)
	@GOBIN=$(BIN) CGO_ENABLED=0 $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	@mv $(BIN)/golangci-lint $@

$(BIN)/govulncheck-$(GOVULNCHECK_VERSION):
	@mkdir -p $(BIN)
	@GOBIN=$(BIN) CGO_ENABLED=0 $(GO) install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)
	@mv $(BIN)/govulncheck $@

.PHONY: dashboards
dashboards: ## Write dashboards/*.json from their code
	cd $(DASHBOARDS) && $(GO) run . $(CURDIR)/dashboards

.PHONY: docs
docs: dashboards ## Write the generated pages anew: docs/configure.md from the flags, docs/queries.md from the reports, docs/schema.md from the migrations, docs/metrics.md from the metrics, dashboards/README.md from the dashboards
	$(GO) test -p 1 -count=1 -run '^TestConfigurePage' ./cmd/kubevoltracker ./cmd/kubevoltracker-clickhouse -update
	$(GO) test -count=1 -run '^Test(Queries|Schema)Page' ./catalog -update
	$(GO) test -count=1 -run '^TestMetricsPage' ./test/e2e -update
	$(GO) test -count=1 -run '^TestDashboardsAnswer' ./test/e2e -update

.PHONY: fmt
fmt: ## Format the code
	gofmt -w cmd collector exporter catalog test deploy

.PHONY: clean
clean: ## Remove what was built and downloaded
	rm -rf $(CACHE)
