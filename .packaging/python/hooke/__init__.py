"""Run scenarios of hooke from Python.

    import hooke
    result = hooke.run("lost-node.json", seed=7)
    print(result.verdict)
    for violation in result.violations:
        print(violation.invariant, violation.witness)
    for event in result.trace:
        print(event["at_ns"], event["type"])

The module starts the program `hooke` of the same package and reads what it writes."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, NoReturn, Sequence, Union

__all__ = ["Error", "Result", "Trace", "Violation", "executable", "run"]

Scenario = Union[str, "os.PathLike[str]", Mapping[str, Any]]


class Error(Exception):
    """The program refused its input (exit_code 2), or the harness failed (3). The text is the program's own."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True)
class Violation:
    """An invariant that a run broke. Its meaning: `hooke list invariants NAME`."""

    invariant: str
    at_ns: int  #: nanoseconds of the world's time
    event: int  #: the number of the event in the trace
    witness: str  #: what happened, in words
    unexpected: bool  #: False for one that the scenario expects


class Trace:
    """The events of a run, in their order, as dictionaries. Each iteration reads them from the file anew."""

    def __init__(self, directory: "tempfile.TemporaryDirectory[str]") -> None:
        self._directory = directory  # the file lives as long as the trace

    @property
    def path(self) -> pathlib.Path:
        """The file of JSON Lines, there as long as this object is."""
        return pathlib.Path(self._directory.name) / "trace.jsonl"

    def __iter__(self) -> Iterator[dict[str, Any]]:
        with self.path.open(encoding="utf-8") as lines:
            for line in lines:
                event = json.loads(line)
                if event["type"] == "trace.ended":  # the last line of a whole trace, no event
                    return
                yield event
        raise Error(f"{self.path}: the trace is cut: it does not end with trace.ended", 3)


@dataclass(frozen=True)
class Result:
    """How one scenario ended under one seed."""

    name: str
    seed: int
    verdict: str  #: "passed", "failed" or "inconclusive"
    violations: Sequence[Violation]
    unmet: Sequence[tuple[str, str]]  #: (expectation, reason) of what the scenario expects in vain
    hash: str  #: of the trace: equal hashes are equal runs
    trace: Trace
    raw: Mapping[str, Any]  #: all that `hooke run --json` says of this scenario

    @property
    def passed(self) -> bool:
        return self.verdict == "passed"


def executable() -> str:
    """The program of this package."""
    return str(pathlib.Path(__file__).parent / "bin" / "hooke")


def run(scenario: Scenario, seed: int | None = None, *, once: bool = False) -> Result:
    """Runs one scenario in the simulated world: a file, or a dictionary with what a file would hold.

    `seed` replaces the scenario's own. A run is made twice and compared unless `once`. Raises Error when the
    scenario is wrong or the harness fails; a scenario that does not pass is a Result."""
    directory = tempfile.TemporaryDirectory(prefix="hooke-")
    trace = Trace(directory)
    given = json.dumps(scenario) if isinstance(scenario, Mapping) else None
    path = "-" if isinstance(scenario, Mapping) else os.fspath(scenario)
    command = [executable(), "run", "--json", "--trace", str(trace.path)]
    if seed is not None:
        command += ["--seed", str(seed)]
    if once:
        command.append("--once")
    # "--" lest a file's name be read as an option.
    done = subprocess.run([*command, "--", path], input=given, capture_output=True, text=True, encoding="utf-8")
    try:
        results = json.loads(done.stdout)["results"]
    except (ValueError, KeyError):
        raise Error(done.stderr.strip() or done.stdout.strip(), done.returncode) from None
    if len(results) != 1:
        raise Error(f"{path}: expected one scenario, found {len(results)}", 2)
    found = results[0]
    violations = [Violation(one["invariant"], one["at_ns"], one["event"], one["witness"], one["unexpected"])
                  for one in found.get("violations", [])]
    unmet = [(one["expectation"], one["reason"]) for one in found.get("unmet", [])]
    return Result(found["name"], found["seed"], found["verdict"], violations, unmet, found["hash"], trace, found)


def main() -> NoReturn:
    """The command `hooke` of the environment: the program takes this process over."""
    os.execv(executable(), [executable(), *sys.argv[1:]])
