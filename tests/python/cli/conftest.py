from __future__ import annotations

import pytest

from sentencode.cli import main


@pytest.fixture
def fails(capsys):
    """Check that a command ends with a status and with a message on standard error."""

    def check(arguments, message, status=1):
        assert main(arguments) == status
        assert message in capsys.readouterr().err

    return check
