# Between etcd and its clients: passes every request on, but for those that it was told to spoil.
# Arguments: its port, etcd's, and for each kind of request to spoil "ACTION COUNT WORD...": the first COUNT requests
# with all these words in their method, target and form are "refuse"d, as etcd does while it elects a leader, or
# passed on and then "lose" their answer. Each is printed.
import http.client
import http.server
import sys

PORT, ETCD = int(sys.argv[1]), int(sys.argv[2])
LEADER_ELECTION = b'{"errorCode":301,"message":"During Leader Election","cause":"","index":0}'


class Rule:
    def __init__(self, text):
        self.action, left, *self.words = text.split()
        self.left = int(left)

    def takes(self, request):
        if self.left == 0 or not all(word in request for word in self.words):
            return False
        self.left -= 1
        return True


RULES = [Rule(text) for text in sys.argv[3:]]


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def pass_on(self):
        form = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/v2/machines":
            return self.answer(200, f"http://localhost:{PORT}".encode())
        request = f"{self.command} {self.path} {form.decode()}"
        rule = next((rule for rule in RULES if rule.takes(request)), None)
        if rule is not None:
            print(rule.action, request, flush=True)
        if rule is not None and rule.action == "refuse":
            return self.answer(500, LEADER_ELECTION, [("Content-Type", "application/json")])
        etcd = http.client.HTTPConnection("localhost", ETCD)
        kind = self.headers.get("Content-Type")
        etcd.request(self.command, self.path, form, {"Content-Type": kind} if kind else {})
        response = etcd.getresponse()
        body = response.read()
        etcd.close()
        if rule is not None:
            self.close_connection = True
            return None
        kept = [(name, value) for name, value in response.getheaders() if name.startswith("X-") or name == "Content-Type"]
        return self.answer(response.status, body, kept)

    do_GET = do_PUT = do_POST = do_DELETE = pass_on

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


Server(("localhost", PORT), Proxy).serve_forever()
