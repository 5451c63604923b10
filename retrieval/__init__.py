"""Looking things up on the web and in the documentation on this machine, for a prompt.

Nothing here knows of agents or companies. What is found is data: it is never run, installed, used as a file's
name or searched for. The libraries that read and rank are imported where they are used: that takes half a second,
and most runs look nothing up.
"""

from retrieval.cache import Cache, CacheMiss
from retrieval.fencing import fenced, new_nonce
from retrieval.records import Passage, Retrieval, Unavailable
from retrieval.retriever import Retriever, open_retriever

__all__ = [
    "Cache",
    "CacheMiss",
    "Passage",
    "Retrieval",
    "Retriever",
    "Unavailable",
    "fenced",
    "new_nonce",
    "open_retriever",
]
