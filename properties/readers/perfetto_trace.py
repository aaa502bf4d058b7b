"""Perfetto's trace processor reads the traces that `hooke run --perfetto` writes, and sees in them what the run's own
trace and results say. It also shows that this check refuses spoilt traces.
Usage: perfetto_trace.py CHROMIUM TRACE EVENTS RESULTS, of `--perfetto`, `--trace` and `--json`."""
import copy
import json
import pathlib
import sys

from trace_processor import TraceProcessorError, ask

QUERIES = {
    # What it could not read, or has dropped.
    "complaints": "select name, value from stats where severity in ('error', 'data_loss') and value > 0",
    "slices": "select count(*) as n, sum(dur < 0) as endless from slice",
    "processes": "select name from process where name is not null",
    "threads": "select process.name as process, thread.name as thread from thread join process using (upid) "
               "where thread.tid != process.pid or thread.name is not null",
    "training": "select process.name as process, ts, dur from slice join thread_track on thread_track.id = track_id "
                "join thread using (utid) join process using (upid) where slice.name = 'training' order by ts",
    "marks": "select slice.name, category, ts from slice where category in ('fault', 'violation') order by ts",
}
WORLD = "faults and violations"


def expected_of(events, result):
    """What the run's own trace and results have: names of processes, spans of training, faults and violations."""
    agents = {event["node"] for event in events if event["type"] == "agent.started"}
    begun, training = {}, []
    for event in events:
        kind = event["type"]
        if kind == "worker.started":
            begun.setdefault(event["node"], event["at_ns"])
        # A worker's death ends the training of its round everywhere; this scenario has one round that trains.
        elif kind == "fault.injected" and event["kind"] == "node_crash":
            training += [(f"node {node}", since, event["at_ns"] - since) for node, since in begun.items()]
            begun = {}
    faults = [event["at_ns"] for event in events if event["type"] == "fault.injected"]
    return {"processes": {WORLD} | {f"node {node}" for node in agents},
            "training": sorted(training, key=lambda span: span[1]), "faults": faults,
            "violations": sorted(violation["invariant"] for violation in result["violations"])}


def problems(trace, expected, chromium):
    """What is wrong with `trace`, the bytes of a file, as Perfetto sees it."""
    try:
        seen = dict(zip(QUERIES, ask(trace, list(QUERIES.values()), chromium)))
    except TraceProcessorError as refused:
        return [f"the trace processor: {refused}"]
    found = [f"{row['name']}: {row['value']}" for row in seen["complaints"]]
    try:
        written = sum(event["ph"] in "Xi" for event in json.loads(trace)["traceEvents"])
    except ValueError as broken:
        return [*found, f"no JSON: {broken}"]
    slices, = seen["slices"]
    threads = {(row["process"], row["thread"]) for row in seen["threads"]}
    marks = {kind: [row for row in seen["marks"] if row["category"] == kind] for kind in ("fault", "violation")}
    for what, is_so, should in (
            ("slices", slices["n"], written),
            ("slices without end", slices["endless"], 0),
            ("processes", sorted(row["name"] for row in seen["processes"]), sorted(expected["processes"])),
            ("tracks", threads, {(name, "events") for name in expected["processes"]} |
             {(name, "agent") for name in expected["processes"] - {WORLD}}),
            ("training", [(row["process"], row["ts"], row["dur"]) for row in seen["training"]], expected["training"]),
            ("faults", [row["ts"] for row in marks["fault"]], expected["faults"]),
            ("violations", sorted(row["name"] for row in marks["violation"]), expected["violations"])):
        if is_so != should:
            found.append(f"{what}: {is_so}, expected {should}")
    return found


def spoilt(trace):
    """Copies of `trace`, each with one break: what it is, and its bytes."""
    def broken(change):
        copied = copy.deepcopy(json.loads(trace))
        events = copied["traceEvents"]
        change(events, next(event for event in events if event["name"] == "training"))
        return json.dumps(copied).encode()

    yield "a slice without end", broken(lambda events, span: (span.update(ph="B"), span.pop("dur")))
    yield "an unknown phase", broken(lambda events, span: span.update(ph="?"))
    yield "two spans of a track that cross", broken(lambda events, span: span.update(dur=span["dur"] + 1e6))
    yield "a span that is 1 us late", broken(lambda events, span: span.update(ts=span["ts"] + 1, dur=span["dur"] - 1))
    yield "a process without a name", broken(lambda events, span: events.remove(
        next(event for event in events if event["name"] == "process_name" and event["pid"] == span["pid"])))
    yield "a file cut short", trace[:len(trace) // 2]


def main():
    chromium, trace, events, results = sys.argv[1:]
    trace = pathlib.Path(trace).read_bytes()
    events = [json.loads(line) for line in pathlib.Path(events).read_text().splitlines()]
    result, = json.loads(pathlib.Path(results).read_text())["results"]
    expected = expected_of(events, result)
    if not (expected["training"] and expected["faults"] and expected["violations"]):
        sys.exit(f"a run that shows too little: {expected}")
    found = problems(trace, expected, chromium)
    if found:
        sys.exit("Perfetto's trace processor: " + "\n".join(found))
    for what, broken in spoilt(trace):
        found = problems(broken, expected, chromium)
        if not found:
            sys.exit(f"{what}: Perfetto's trace processor has no complaint")
        print(f"{what}: {found[0]}")


main()
