# `make demo` and `make test` do all the set-up themselves: a virtual environment in .venv, exact versions.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

EXTRAS := test,dev,rocket,live,onnx,ray
# program:Debian package, for the tests of the live page and of MQTT, which are skipped where one is missing
TOOLS  := chromium:chromium mosquitto:mosquitto npm:npm

.PHONY: demo test check soak page tools constraints clean

demo: $(STAMP)
	$(BIN)/unmixnet demo

test: tools $(STAMP) page
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

soak: tools $(STAMP) page
	HYPOTHESIS_PROFILE=soak $(BIN)/python -m pytest -m soak

page: $(STAMP)
	@test -f src/unmixnet/live/page/vendor/uPlot.iife.min.js || $(BIN)/python hatch_build.py || \
	  echo "The live page has no plotting library yet; its tests are skipped"

tools:
	@missing=""; for tool in $(TOOLS); do \
	  PATH="$$PATH:/usr/sbin" command -v $${tool%%:*} >/dev/null || missing="$$missing $${tool##*:}"; done; \
	if [ -n "$$missing" ]; then \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    echo "Installing Debian packages:$$missing"; \
	    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; } >/dev/null \
	      || echo "That failed; tests that need them are skipped"; \
	  else echo "Tests that need$$missing are skipped; on Debian: sudo apt install$$missing"; fi; fi

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "unmixnet needs Python 3.11 or newer; try: make PYTHON=python3.12"; exit 1; }
	@echo "Setting up $(VENV) (about a minute, once)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]'
	@touch $(STAMP)

constraints:
	@{ echo "# Exact versions that CI and the README's commands install. Regenerate with: make constraints"; \
	   $(BIN)/python -m pip freeze --exclude-editable; } > constraints.txt

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis out
