#!/usr/bin/env python3
"""Real agents whose own settings name their model's address: their requests
come through the manager all the same, and go on to that address."""

import json

import agents
import st
from agents import MARK

SCRIPT = [[("read", "app.py")],
          [("run", "sed -i s/items/things/ app.py")],
          [("run", "true")]]


class Session(agents.Session):
    """Nothing is recorded in between, and no upstream is configured."""

    def __init__(self, agent, name, text):
        super().__init__(agent, SCRIPT)
        for variable in list(self.home.env):
            if variable.endswith("_UPSTREAM"):
                del self.home.env[variable]
        path = self.home.mkdir(name.rpartition("/")[0])
        with open(path + "/" + name.rpartition("/")[2], "w") as f:
            f.write(text.replace("%s", self.model.url))

    def go(self):
        r = self.home.run("run", "--", self.program,
                          *self.agent.words(agents.PROMPT, False),
                          cwd=self.cwd)
        self.code, self.out, self.err = r.returncode, r.stdout, r.stderr
        return self

    def told(self):
        """It went through the manager, and to the model."""
        assert self.code == 0 and self.over, (self.code, self.err)
        assert "bypass" not in self.err, self.err
        turns = [r for r in self.model.requests
                 if r.dialect and hasattr(r, "files")]
        assert len(turns) >= 4, [r.target for r in self.model.requests]
        assert MARK.encode() in turns[-1].text, self.err
        assert "kept from the model" in self.err and "no request" not in self.err


def claudes_settings():
    with Session(agents.Claude(), "home/.claude/settings.json",
                 json.dumps({"env": {"ANTHROPIC_BASE_URL": "%s"}})) as s:
        s.go().told()


def codexs_provider():
    with Session(agents.CodexFunctions(), "home/.codex/config.toml", """
model_provider = "gw"
[model_providers.gw]
name = "A gateway"
base_url = "%s/v1"
wire_api = "responses"
env_key = "CODEX_API_KEY"
""") as s:
        s.go().told()


def opencodes_file():
    with Session(agents.Opencode(), "xdg/c/opencode/opencode.jsonc", """
{ // mine
  "provider": {"anthropic": {"options": {"baseURL": "%s/v1"}}}
}""") as s:
        s.go().told()


agents.loopback_only()
st.main(claudes_settings, codexs_provider, opencodes_file)
