"""Joins and leaves before the first use of a device, then uses one."""

from joining import join, say

import tans
from tans_fault import distributed

join()
distributed.shutdown()
say("alone", tans.numpy.ones(2).tolist())
