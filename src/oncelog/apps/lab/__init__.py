"""``oncelog lab``: shows what exactly-once means on the wire, by running flows and drawing the observed messages.

Called by ``oncelog lab``. It may import ``client``, ``embedded``, ``apps.proxy`` and the raw clients of
``apps.conformance``.
"""
