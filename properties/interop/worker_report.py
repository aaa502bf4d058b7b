"""What a worker of the interop suite tells the test: one JSON object in $HOOKE_REPORTS, named by its process."""
import json
import os

import torch.distributed as dist

NAMES = [
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_RANK",
    "ROLE_NAME", "ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT",
    "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_USE_AGENT_STORE",
]


def write(kind):
    report = {name: os.environ.get(name) for name in NAMES}
    report.update(pid=os.getpid(), agent=os.getppid(), kind=kind, launched=dist.is_torchelastic_launched(),
                  rank=dist.get_rank(), world_size=dist.get_world_size())
    path = os.path.join(os.environ["HOOKE_REPORTS"], f"{os.getpid()}.json")
    with open(path + ".part", "w") as file:
        json.dump(report, file)
    os.rename(path + ".part", path)
