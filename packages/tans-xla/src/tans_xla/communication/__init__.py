"""Communication of compiled programs: what `Compiled.communication` returns."""

from tans_xla.communication.collectives import Collective, Loop, collectives_of
from tans_xla.communication.hlo_text import Source
from tans_xla.communication.report import Communication, report_of

__all__ = ["Collective", "Communication", "Loop", "Source", "collectives_of", "report_of"]
