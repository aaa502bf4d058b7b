"""Scenario files as tests of pytest.

Files by the name *.hooke.json, or by the patterns of the ini option `hooke_files`, are tests. `--hooke-seeds N` runs each
under the scenario's own seed and N - 1 others. A failure tells the invariant, the cause and the command that repeats it."""
from __future__ import annotations

import fnmatch
import json
import pathlib
import shlex
from typing import Any, Iterator, Optional

import pytest

import hooke


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("hooke").addoption(
        "--hooke-seeds", type=int, default=1, metavar="N",
        help="run each scenario under its own seed and N - 1 others (default: 1)")
    parser.addini("hooke_files", "patterns of names of scenario files", type="args", default=["*.hooke.json"])


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--hooke-seeds") < 1:
        raise pytest.UsageError("--hooke-seeds: expected a number from 1")


def pytest_collect_file(file_path: pathlib.Path, parent: pytest.Collector) -> Optional["ScenarioFile"]:
    if any(fnmatch.fnmatch(file_path.name, pattern) for pattern in parent.config.getini("hooke_files")):
        return ScenarioFile.from_parent(parent, path=file_path)
    return None


class Broken(Exception):
    """A scenario that did not pass."""

    def __init__(self, result: hooke.Result) -> None:
        super().__init__(result.verdict)
        self.result = result


class ScenarioFile(pytest.File):
    def collect(self) -> Iterator["ScenarioItem"]:
        own = own_seed(self.path)
        seeds = [own] + [seed for seed in range(1, self.config.getoption("--hooke-seeds") + 1) if seed != own]
        for seed in seeds[:self.config.getoption("--hooke-seeds")]:
            yield ScenarioItem.from_parent(self, name="scenario" if seed is None else f"seed {seed}", seed=seed)


def own_seed(path: pathlib.Path) -> Optional[int]:
    """The scenario's own seed; None when the file has none, or is wrong, which the run then tells."""
    try:
        scenario = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None
    seed = scenario.get("seed") if isinstance(scenario, dict) else None
    return seed if isinstance(seed, int) else None


class ScenarioItem(pytest.Item):
    def __init__(self, *, seed: Optional[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seed = seed

    def runtest(self) -> None:
        result = hooke.run(self.path, self.seed)
        if not result.passed:
            raise Broken(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, hooke.Error):
            return str(excinfo.value)
        if not isinstance(excinfo.value, Broken):
            return super().repr_failure(excinfo, style)
        result = excinfo.value.result
        lines = [f"{result.name}: {result.verdict} under seed {result.seed}"]
        told = set()
        for violation in result.violations:
            if violation.unexpected:
                told.add(violation.invariant)
                lines += [f"  invariant   {violation.invariant}, at {violation.at_ns / 1e9:.3f} s",
                          f"  cause       {violation.witness}"]
        lines += [f"  unmet       {expectation}: {reason}" for expectation, reason in result.unmet
                  if expectation not in told]
        command = shlex.join(["hooke", "run", str(self.path), "--seed", str(result.seed), "--timeline"])
        return "\n".join([*lines, f"  reproducer  {command}"])

    def reportinfo(self) -> tuple[pathlib.Path, Optional[int], str]:
        return self.path, None, f"{self.path.name}: {self.name}"
