"""One way to say which refusal is due."""

import contextlib

import pytest
from azure.core.exceptions import HttpResponseError


@contextlib.contextmanager
def refused(status, code=None):
    with pytest.raises(HttpResponseError) as caught:
        yield caught
    error = caught.value
    assert error.status_code == status, f"{error.status_code} {error.error_code}"
    if code:
        assert error.error_code == code
