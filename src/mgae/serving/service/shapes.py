"""Define what the service takes and gives, as JSON."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StrictInt, StrictStr

# How much one request may ask for.
MOST_K = 1000
MOST_PAIRS = 10_000
MOST_EXPLAINED = 100
MOST_NEW_NODES = 100
MOST_NEW_EDGES = 10_000
MOST_FEATURES = 100_000
MOST_SUGGESTIONS = 100
MOST_NEIGHBORS = 1000
MOST_MAP_POINTS = 100_000
MOST_ID_LENGTH = 1000
MOST_CELL_LENGTH = 10_000
MOST_BYTES = 4 * 2**20

LIMITS = {
    "k": MOST_K,
    "pairs": MOST_PAIRS,
    "explained_pairs": MOST_EXPLAINED,
    "new_nodes": MOST_NEW_NODES,
    "new_edges": MOST_NEW_EDGES,
    "request_bytes": MOST_BYTES,
}

NodeId = (
    Annotated[StrictInt, Field(ge=-(2**63), lt=2**63)]
    | Annotated[StrictStr, Field(max_length=MOST_ID_LENGTH)]
)
# An id of the graph is as long as it is: only what is asked has a limit.
KnownId = StrictInt | StrictStr
Features = Annotated[list[FiniteFloat], Field(max_length=MOST_FEATURES)]
Cell = FiniteFloat | Annotated[StrictStr, Field(max_length=MOST_CELL_LENGTH)] | None
Cells = Annotated[dict[str, Cell], Field(max_length=MOST_FEATURES)]


class Health(BaseModel):
    """The service is up."""

    status: str = "ok"


class Worth(BaseModel):
    """Whether the run's scores are worth using."""

    kind: str = Field(description="better, level, worse, chance, unclear or alone")
    text: str = Field(description="the verdict in a sentence")
    warning: bool = Field(description="whether the scores should not be used")


class Figure(BaseModel):
    """A test figure in percent, with what to compare it with."""

    metric: str
    heading: str = Field(description="the metric's name as people write it")
    meaning: str = Field(description="what it says, in a sentence")
    value: float
    interval: tuple[float, float] | None = Field(description="of 95%; null if it is not known")
    heuristics: dict[str, float] = Field(description="the same of what learns nothing, by name")


class Column(BaseModel):
    """A column of the features file."""

    name: str
    text: bool = Field(description="whether its cells are texts, else numbers")


class NewNodesTaken(BaseModel):
    """What a new node may come with."""

    columns: list[Column] = Field(description="of its features; empty if they are many or none")
    sides: list[str] = Field(description="of a bipartite graph, else empty")


class Info(BaseModel):
    """What is served."""

    run: str = Field(description="the name that requests call it by")
    graph: str
    nodes: int
    edges: int
    features: int
    directed: bool
    method: str
    task: str
    protocol: str
    embedding_width: int | None = Field(description="null if the method has no embeddings")
    exact: bool = Field(description="whether all nodes are ranked, or candidates only")
    new_nodes: NewNodesTaken | None = Field(
        description="what POST /embed takes; null if the model knows the nodes of its graph alone"
    )
    test: dict[str, float] = Field(description="the run's test figures, in percent")
    figures: list[Figure] = Field(description="those to look at, the verdict's first")
    verdict: Worth | None = Field(description="null if nothing was measured")
    notes: list[str]
    limits: dict[str, int]
    version: str


class Run(BaseModel):
    """A run that is served."""

    run: str
    graph: str
    method: str


class Served(BaseModel):
    """The runs, the one that is meant where none is named first."""

    runs: list[Run]


class Matches(BaseModel):
    """Nodes whose id or title begins with the query or contains it."""

    query: str
    nodes: list[KnownId]
    titles: list[str | None] = Field(description="of the nodes; null without one")


class Node(BaseModel):
    """A node and whom it is joined to; only the first neighbors, in their order."""

    node: KnownId
    title: str | None
    attributes: dict[str, str]
    degree: int
    neighbors: list[KnownId]
    neighbor_titles: list[str | None] = Field(description="of the neighbors; null without one")


class NamedNode(BaseModel):
    """A node with its title, if it has one."""

    node: KnownId
    title: str | None
    cosine: float | None = Field(description="of a similar node; else null")


class Contribution(BaseModel):
    """What one part adds to a score."""

    source: str = Field(description="link or rank output, column, network, or score")
    about: str
    value: float


class Why(BaseModel):
    """Why a link is recommended; the contributions add up to its score."""

    sentence: str
    common: list[NamedNode] = Field(description="neighbors in common, the rarest first")
    num_common: int
    paths: int = Field(description="of length 3")
    distance: int | None = Field(description="steps between the two; null without a path")
    attributes: dict[str, str] = Field(description="in which the two agree")
    feature: str | None = Field(description="the rarest that both have")
    similar: NamedNode | None = Field(description="the neighbor that the other is most like")
    contributions: list[Contribution]


class Link(BaseModel):
    """A node that may be joined to the one asked about."""

    node: KnownId
    title: str | None
    score: float = Field(description="the logit")
    probability: float | None = Field(
        description="of a missing edge if the graph lacks a tenth of its edges; null without "
        "validation edges"
    )
    why: Why | None = Field(None, description="with why=true, of a known node")


class Recommendations(BaseModel):
    """The likeliest links, the best first."""

    node: KnownId
    recommendations: list[Link]
    rank_precision: list[float] = Field(
        description="of all links of each rank the share that are missing edges, on the same terms"
    )


class Near(BaseModel):
    """A node whose embedding points the same way."""

    node: KnownId
    title: str | None
    cosine: float


class Similar(BaseModel):
    """The nearest first."""

    node: KnownId
    similar: list[Near]


class Pairs(BaseModel):
    """Pairs of ids to score."""

    model_config = ConfigDict(extra="forbid")

    pairs: Annotated[list[tuple[NodeId, NodeId]], Field(max_length=MOST_PAIRS)]
    why: Annotated[
        bool, Field(description=f"compare the two, of at most {MOST_EXPLAINED} pairs")
    ] = False


class Comparison(BaseModel):
    """Two nodes beside each other."""

    joined: bool = Field(description="whether the graph has this edge")
    cosine: float | None = Field(description="of their embeddings; null without any")
    why: Why = Field(description="the contributions add up to the pair's score")


class PairScore(BaseModel):
    """How likely a link is."""

    source: KnownId
    target: KnownId
    score: float
    balanced_probability: float | None = Field(
        description="of an edge where edges and other pairs are equally many"
    )
    comparison: Comparison | None = Field(None, description="with why")


class Scores(BaseModel):
    """In the order of the pairs."""

    scores: list[PairScore]


class NewNode(BaseModel):
    """A node that was not there in training."""

    model_config = ConfigDict(extra="forbid")

    node: NodeId
    features: Annotated[
        Features | Cells | None,
        Field(
            description="numbers as the model reads them, or the cells of a row by column; "
            "absent for all new nodes: those of a mean node of the graph"
        ),
    ] = None


class NewNodes(BaseModel):
    """New nodes with their features, and their edges to known nodes or among themselves."""

    model_config = ConfigDict(extra="forbid")

    nodes: Annotated[list[NewNode], Field(min_length=1, max_length=MOST_NEW_NODES)]
    edges: Annotated[list[tuple[NodeId, NodeId]], Field(max_length=MOST_NEW_EDGES)] = []
    k: Annotated[int, Field(ge=0, le=MOST_K, description="links to recommend for each")] = 0
    side: Annotated[
        str | None, Field(description="of a bipartite graph: the side of new nodes without edges")
    ] = None


class Embedded(BaseModel):
    """A new node's embedding and the links recommended for it."""

    node: KnownId
    embedding: list[float]
    recommendations: list[Link]


class EmbeddedNodes(BaseModel):
    """In the order of the nodes."""

    nodes: list[Embedded]


class Map(BaseModel):
    """Coordinates of nodes on a plane, columns of equal length."""

    nodes: list[KnownId]
    titles: list[str | None] | None = Field(description="null if no node has one")
    attributes: dict[str, list[str | None]] = Field(description="by name, of the nodes")
    x: list[int] = Field(description="0 to 65535")
    y: list[int] = Field(description="0 to 65535, upwards")
    group: list[int] = Field(description="an index into groups, or -1")
    groups: list[str]
    grouping: str
    projection: str
    total: int = Field(description="nodes of the graph; more than are shown if it is large")


def plain(value: Any) -> Any:
    """Return None for NaN, which JSON has not."""
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124
