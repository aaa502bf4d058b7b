"""What `python -c` runs: executes the modules that come over the socket, then serves."""
import linecache
import marshal
import socket
import sys
import types

control = socket.socket(fileno=int(sys.argv[1]))
try:
    modules = []
    for received in iter(lambda: marshal.loads(control.recv(1 << 20)), None):
        modules.append(received)
    for name, source in modules:
        module = types.ModuleType(name)
        module.__file__ = '<hooke>/' + name + '.py'
        # So that stacks show the lines.
        linecache.cache[module.__file__] = (len(source), None, source.splitlines(True), module.__file__)
        sys.modules[name] = module
        exec(compile(source, module.__file__, 'exec'), module.__dict__)
    sys.modules['hooke_zygote'].serve(control, sys.modules[modules[-1][0]])
except BaseException:
    import traceback
    control.send(marshal.dumps((False, traceback.format_exc()), 2))
