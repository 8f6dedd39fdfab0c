"""Arguments and results of the admin client.

Called by ``client.aio.admin``; whoever shows results imports the types. It may import ``protocol`` and
``client.core``.
"""
