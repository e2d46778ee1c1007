# Every target sets itself up: a virtual environment in .venv, exact versions, and no more than the target needs.
# `make demo` installs the core and the live page; docs, tests and checks are added to it when first asked for.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CORE   := $(VENV)/.core
DOCS   := $(VENV)/.docs
TESTS  := $(VENV)/.tests
CHECKS := $(VENV)/.checks

EXTRAS_docs   := docs
EXTRAS_tests  := test,docs,rocket,onnx,ray
EXTRAS_checks := dev,test,docs,rocket,onnx,ray
# byte code is made when a module is first imported: half the time to install, a sixth less on the disk
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e
# program:Debian package, for the tests of the live page and of MQTT, which are skipped where one is missing
TOOLS  := chromium:chromium mosquitto:mosquitto npm:npm

.NOTPARALLEL:
.PHONY: demo test check docs soak page wheel sbom vulnerabilities advisories tools constraints clean

demo: $(CORE)
	$(BIN)/unmixnet demo
	@echo "Here unmixnet is $(BIN)/unmixnet; after '. $(BIN)/activate' it is unmixnet, as the pages write it."

# Long tests mostly wait for XLA to compile programs that run once; without its fusion emitters it is sooner done.
# `XLA_FLAGS= make test` compiles as users do.
test: export XLA_FLAGS ?= --xla_cpu_use_fusion_emitters=false
test: tools $(TESTS) page
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: $(CHECKS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(MAKE) docs

docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "The site is in out/site; open out/site/index.html"

# its tests run `make check` and `make docs`, too
soak: tools $(TESTS) $(CHECKS) $(DOCS) page
	HYPOTHESIS_PROFILE=soak $(BIN)/python -m pytest -m soak

page: $(CORE)
	@test -f src/unmixnet/live/page/vendor/uPlot.iife.min.js || $(BIN)/python hatch_build.py || \
	  echo "The live page has no plotting library yet; its tests are skipped"

# The wheel that people install, with the models and the page; then what an installation of it contains.
wheel: $(CORE) page
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	@ls -l dist/*.whl

sbom: wheel
	$(PYTHON) -m venv --clear --without-pip out/release
	$(BIN)/python -m pip --python out/release/bin/python --quiet --disable-pip-version-check install -c constraints.txt \
	  "$$(ls -t dist/*.whl | head -1)[live,onnx]"
	$(PYTHON) -m venv --clear out/release-tools
	out/release-tools/bin/python -m pip install --quiet --disable-pip-version-check cyclonedx-bom==7.5.0 pip-audit==2.10.1
	out/release-tools/bin/cyclonedx-py environment --output-reproducible --output-format JSON \
	  --pyproject pyproject.toml --output-file dist/unmixnet.cdx.json out/release/bin/python
	@echo "What an installation contains: dist/unmixnet.cdx.json"

# Asks PyPI for advisories. --strict, since otherwise packages that nobody answers for would be skipped and called clean.
vulnerabilities: sbom
	$(BIN)/python -m pip --python out/release/bin/python freeze --exclude unmixnet > out/release/requirements.txt
	out/release-tools/bin/pip-audit --strict --no-deps --disable-pip --requirement out/release/requirements.txt

# Without the network: the newest advisories that come as a package are of July 2021, and say nothing of what came later.
advisories:
	$(PYTHON) -m venv --clear out/advisories
	out/advisories/bin/python -m pip install --quiet --disable-pip-version-check \
	  safety==1.10.3 safety-db==2021.7.17 'setuptools<81'
	out/advisories/bin/safety check --full-report -r constraints.txt --db out/advisories/lib/python*/site-packages/safety_db
	@echo "Known up to July 2021; for what is known today: make vulnerabilities"

tools:
	@missing=""; for tool in $(TOOLS); do \
	  PATH="$$PATH:/usr/sbin" command -v $${tool%%:*} >/dev/null || missing="$$missing $${tool##*:}"; done; \
	if [ -n "$$missing" ]; then \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    echo "Installing Debian packages:$$missing"; \
	    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; } >/dev/null \
	      || echo "That failed; tests that need them are skipped"; \
	  else echo "Tests that need$$missing are skipped; on Debian: sudo apt install$$missing"; fi; fi

$(CORE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "unmixnet needs Python 3.11 or newer; try: make PYTHON=python3.12"; exit 1; }
	@echo "Setting up $(VENV) (about a minute, once)"
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) '.[live]'
	@touch $@

$(DOCS) $(TESTS) $(CHECKS): $(VENV)/.%: $(CORE)
	@echo "Adding what $* need to $(VENV) (a few minutes, once)"
	$(INSTALL) '.[live,$(EXTRAS_$*)]'
	@touch $@

# To be run with the oldest Python that is supported, so that every pin can be had with it: make PYTHON=python3.11 constraints
constraints: $(TESTS) $(CHECKS)
	@{ echo "# Exact versions that CI and the README's commands install. Regenerate with: make constraints"; \
	   $(BIN)/python -m pip freeze --exclude-editable; } > constraints.txt

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis out
