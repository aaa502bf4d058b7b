# Between etcd and its clients: passes every request on, but for those that it was told to spoil.
# Arguments: its port, etcd's, and for each kind of request to spoil "ACTION COUNT WORD...": to the first COUNT requests
# with all these words in their method, target and form it does this, and prints each:
#   refuse  answers as etcd does while it elects a leader
#   drop    ends the connection, without passing the request on
#   lose    passes the request on and ends the connection
#   hold    passes the request on and keeps the connection, without an answer
#   cut     passes the request on and ends the connection after the head of the answer
#   end     passes the request on, answers, and ends the process
#   empty   answers with nothing, as etcd does to a watch that it ends
#   meddle  passes the request on, and has the key "late" written below its target before it answers
#   show    passes the request on and answers
# An argument "http://..." is the list of members that it names, in place of itself.
import http.client
import http.server
import os
import sys
import time

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


RULES = [Rule(text) for text in sys.argv[3:] if not text.startswith("http://")]
MACHINES = next((text for text in sys.argv[3:] if text.startswith("http://")), f"http://localhost:{PORT}")


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
            return self.answer(200, MACHINES.encode())
        request = f"{self.command} {self.path} {form.decode()}"
        rule = next((rule for rule in RULES if rule.takes(request)), None)
        action = rule.action if rule is not None else ""
        if action:
            sys.stdout.write(f"{action} {request}\n")  # in one piece: requests have threads of their own
            sys.stdout.flush()
        if action == "refuse":
            return self.answer(500, LEADER_ELECTION, [("Content-Type", "application/json")])
        if action == "empty":
            return self.answer(200, b"", [("Content-Type", "application/json")])
        self.close_connection = action in ("drop", "lose", "cut") or self.close_connection
        if action == "drop":
            return None
        etcd = http.client.HTTPConnection("localhost", ETCD)
        kind = self.headers.get("Content-Type")
        etcd.request(self.command, self.path, form, {"Content-Type": kind} if kind else {})
        response = etcd.getresponse()
        if action in ("", "show") and "wait=true" in self.path:
            return self.pass_on_watch(response)
        body = response.read()
        etcd.close()
        if action == "meddle":
            self.write_late()
        if action == "hold":
            time.sleep(3600)
        if action in ("lose", "hold"):
            return None
        kept = [(name, value) for name, value in response.getheaders() if name.startswith("X-") or name == "Content-Type"]
        if action == "cut":
            self.wfile.write(f"HTTP/1.1 {response.status} OK\r\nContent-Length: {len(body)}\r\n\r\n".encode())
            return None
        self.answer(response.status, body, kept)
        if action == "end":
            os._exit(0)
        return None

    # etcd sends the head at once, and its clients tell by it that it lives.
    def pass_on_watch(self, response):
        self.send_response(response.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        body = response.read()
        if body:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(body), body))
        self.wfile.write(b"0\r\n\r\n")

    def write_late(self):
        etcd = http.client.HTTPConnection("localhost", ETCD)
        path = self.path.partition("?")[0].rstrip("/") + "/bGF0ZQ=="
        etcd.request("PUT", path, "value=dg%3D%3D", {"Content-Type": "application/x-www-form-urlencoded"})
        etcd.getresponse().read()
        etcd.close()

    do_GET = do_PUT = do_POST = do_DELETE = pass_on

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


Server(("localhost", PORT), Proxy).serve_forever()
