"""Libraries that compute the works: ours, and those it is measured beside."""

from peers.peer import Call, Peer, Timed
from peers.table import PEERS, installed_peers, missing, peer_named

__all__ = ["PEERS", "Call", "Peer", "Timed", "installed_peers", "missing", "peer_named"]
