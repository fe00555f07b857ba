"""Joins and ends; argument: seconds to wait. The error is printed as one line."""

import sys

from joining import join, say

from tans_fault import distributed

try:
    join(initialization_timeout=int(sys.argv[1]))
except Exception as error:
    say(type(error).__name__, str(error).replace("\n", " "))
    assert not distributed.is_initialized()
    sys.exit(1)
say("started")
