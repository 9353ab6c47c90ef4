"""What all tests share."""

from __future__ import annotations

import signal

# A shell starts what runs in the background of a script with SIGINT ignored, and the processes that tests
# start inherit that. With a handler set here, they start as those of a terminal do.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
