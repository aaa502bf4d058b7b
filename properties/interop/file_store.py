"""Opens, uses and leaves PyTorch's FileStore, and says after each step what the file has in it.

    file_store.py FILE
"""

import sys

from torch.distributed import FileStore

path = sys.argv[1]


def tell():
    with open(path, "rb") as file:
        print(file.read().hex())


one = FileStore(path)
tell()
print(one.num_keys())
other = FileStore(path)
other.set("k", "v")
print(one.num_keys())
tell()
del one
tell()
print(other.num_keys())
other.delete_key("k")
print(other.num_keys())
del other
tell()
print(FileStore(path).num_keys())
tell()
