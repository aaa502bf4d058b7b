"""torchrun of PyTorch 1.13 on Python 3.11.

Since 3.11 iterating over a flag enumeration leaves out the member 0, which 1.13 looks for: Std.from_str("0")
returns None and the launch fails.
"""
import re

from torch.distributed.elastic.multiprocessing import api

parse = api.Std.from_str


def from_str(text):
    if re.fullmatch(r"[0-3]", text):
        return api.Std(int(text))
    return parse(text)


api.Std.from_str = from_str

from torch.distributed.run import main  # noqa: E402  (after the repair)

if __name__ == "__main__":
    main()
