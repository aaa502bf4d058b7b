"""What torch is to say, before it is imported: that which hooke reads, and which changes nothing else."""
import os

os.environ['LOGLEVEL'] = 'INFO'
os.environ['TORCH_LOGS'] = 'torch.distributed.elastic.rendezvous.dynamic_rendezvous'   # at its level of information
