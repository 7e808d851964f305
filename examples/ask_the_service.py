"""Start the service with a token, and ask it as a program of any language would."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any
from urllib.request import Request, urlopen

import networkx
import uvicorn

import mgae
from mgae.serving.service.application import create_app

TOKEN = "a long secret"
application = create_app(mgae.instant(networkx.karate_club_graph()), token=TOKEN)
listening = socket.create_server(("127.0.0.1", 0))
server = uvicorn.Server(uvicorn.Config(application, log_level="warning"))
thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
thread.start()
address = f"http://127.0.0.1:{listening.getsockname()[1]}"


def ask(path: str, body: Any = None) -> Any:
    """Return the JSON that the service answers."""
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(address + path, data, headers)) as answer:
        return json.load(answer)


print([link["node"] for link in ask("/nodes/0/recommendations?k=3")["recommendations"]])
print(ask("/score", {"pairs": [[0, 9], [0, 16]]})["scores"])
server.should_exit = True
thread.join()
