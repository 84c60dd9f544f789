"""The suites of smbtorture that take seconds: nothing fails here that smbd passes, except what deviates for a reason."""

import torture


def test_the_quick_suites_of_smbtorture(server, share):
    assert list(torture.run(server, share.share_name, torture.QUICK)) == []
