"""Prints the whole environment as JSON: what a launcher gives its workers."""
import json
import os

print(json.dumps(dict(os.environ), sort_keys=True))
