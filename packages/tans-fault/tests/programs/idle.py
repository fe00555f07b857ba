"""A program that joins and does nothing."""

import threading

from tans_fault import distributed

distributed.initialize()
threading.Event().wait()
