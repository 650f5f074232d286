"""Graphs that networkx reads, and node-link JSON; a folder of such files is a set."""

import gzip
import io
import json
import re

from .attributes import Graph, graph_members
from .unpickle import Refused

SUFFIXES = (".gml", ".graphml", ".gexf", ".net", ".paj", ".adjlist", ".json")
DRAWN = ("x", "y", "shape", "id", "viz", "graphics")  # how Pajek and Gephi draw a node


def suffix_of(path):
    """The ending of a path that says its form, below .gz."""
    name = path.name[:-3] if path.name.endswith(".gz") else path.name
    return next((suffix for suffix in SUFFIXES if name.endswith(suffix)), None)


def _text(path):
    data = gzip.decompress(path.read_bytes()) if path.name.endswith(".gz") else path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(f"{path}: expected text in UTF-8 ({error})") from error


def _weight_of(attributes):
    """An edge's weight: its `weight`, else its `value`, as Newman's files have it; None without."""
    return next((attributes[key] for key in ("weight", "value") if key in attributes), None)


def _labelled(g, path, drawn=()):
    """The graph of one of networkx. Nodes have their labels as names if these differ, else their ids."""
    labels = [attributes.get("label") for _, attributes in g.nodes(data=True)]
    by_label = all(isinstance(x, (str, int)) and str(x) for x in labels) and len(set(map(str, labels))) == len(labels)
    name = {node: str(attributes["label"] if by_label else node) for node, attributes in g.nodes(data=True)}
    graph = Graph(path, dict(g.graph))
    for node, attributes in g.nodes(data=True):
        graph.add_node(name[node], {k: v for k, v in attributes.items() if k not in drawn and not (by_label and k == "label")})
    for u, v, attributes in g.edges(data=True):
        graph.add_edge(name[u], name[v], _weight_of(attributes))
    return graph


def _read(path, what, read):
    """What networkx reads of a text; its errors as ours."""
    import networkx

    text = _text(path)
    try:
        return read(networkx, text)
    except (networkx.NetworkXException, SyntaxError, LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise Refused(f"{path}: expected {what} ({type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''})") from error


def read_gml(path):
    """GML. networkx refuses edges that are listed twice unless the file says that there are; they are one here."""

    def read(networkx, text):
        several = text if re.search(r"\bmultigraph\s+1\b", text) else re.sub(r"\bgraph\s*\[", "graph [ multigraph 1", text, count=1)
        return networkx.parse_gml(several, label=None)

    g = _read(path, "GML", read)
    for _, attributes in g.nodes(data=True):
        attributes.update({key: int(x) if isinstance(x, str) and re.fullmatch("[0-9]{1,9}", x) else x for key, x in attributes.items() if key == "value"})
    return [_labelled(g, path, ("graphics",))]


def read_gexf(path):
    """GEXF, as Gephi writes it."""
    return [_labelled(_read(path, "GEXF", lambda networkx, text: networkx.read_gexf(io.BytesIO(text.encode()))), path, DRAWN)]


def read_pajek(path):
    """Pajek's networks: vertices with their names, and edges or arcs with weights."""
    return [_labelled(_read(path, "Pajek's *Vertices and *Edges", lambda networkx, text: networkx.parse_pajek(text)), path, DRAWN)]


def read_adjlist(path):
    """Lists of neighbours: a node, then the nodes that it has edges to."""
    return [_labelled(_read(path, "lists of neighbours", lambda networkx, text: networkx.parse_adjlist(text.splitlines())), path)]


def read_graphml(path):
    """GraphML: one graph or several."""
    text = _text(path)
    if "<!ENTITY" in text:
        raise Refused(f"{path}: expected no entity of its own, found <!ENTITY")
    found: list[Graph] = []
    tags: list[str] = []

    def read(networkx, text):
        from networkx.readwrite.graphml import GraphMLReader

        reader = GraphMLReader()
        graphs = list(reader(string=text.replace("<graphml>", '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">').encode()))
        tags.extend(element.tag.rpartition("}")[2] for element in reader.xml.iter() if isinstance(element.tag, str))
        return graphs

    for g in _read(path, "GraphML", read):
        defaults = g.graph.pop("node_default", {})
        graph = Graph(path, g.graph)
        for node, attributes in g.nodes(data=True):
            graph.add_node(node, {**defaults, **attributes})
        for u, v, attributes in g.edges(data=True):
            graph.add_edge(u, v, _weight_of(attributes))
        found.append(graph)
    # networkx merges nodes with equal ids, adds the ends of edges as nodes and skips nested graphs.
    for tag, n in (("graph", len(found)), ("node", sum(len(graph.of_node) for graph in found))):
        if not n or tags.count(tag) != n:
            raise Refused(
                f"{path}: expected a <{tag}> each with an id of its own, no graph in another, and edges between nodes that are there: "
                f"found {tags.count(tag)} elements <{tag}>, {n} as they should be"
            )
    return found


def name_of(node):
    """An id of any type as text: a text as it is, other types as JSON."""
    return node if isinstance(node, str) else json.dumps(node, sort_keys=True)


def read_json(path):
    """Node-link JSON, as networkx.node_link_data gives it."""

    def once(pairs):
        if len(dict(pairs)) < len(pairs):
            raise ValueError(f"each key of an object once, found {[key for key, _ in pairs]}")
        return dict(pairs)

    try:
        data = json.loads(_text(path), object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise Refused(f"{path}: expected JSON ({error})") from error
    keys = [key for key in ("links", "edges") if isinstance(data, dict) and key in data]
    if len(keys) != 1 or not all(isinstance(data.get(key), list) for key in ("nodes", *keys)):
        raise Refused(f"{path}: expected the lists nodes and either links or edges, as networkx.node_link_data gives them")
    of_graph = data.get("graph")
    graph = Graph(path, of_graph if isinstance(of_graph, dict) else {})
    for part, needed in (("nodes", ["id"]), (keys[0], ["source", "target"])):
        for i, member in enumerate(data[part]):
            if not isinstance(member, dict) or not set(needed) <= member.keys():
                raise Refused(f"{path}: {part}[{i}]: expected an object with {' and '.join(needed)}")
            first, *rest = [name_of(member.pop(key)) for key in needed]
            if part == "nodes":
                graph.add_node(first, member)
            else:
                graph.add_edge(first, rest[0], _weight_of(member))
    return [graph]


READERS = {
    ".gml": read_gml, ".graphml": read_graphml, ".gexf": read_gexf, ".net": read_pajek, ".paj": read_pajek,
    ".adjlist": read_adjlist, ".json": read_json,
}  # fmt: skip


def _read_file(path):
    graphs = [graph.order() for graph in READERS[suffix_of(path)](path)]
    return graph_members(path, graphs)


def _files_of(folder):
    return sorted(path for path in folder.iterdir() if path.is_file() and suffix_of(path)) if folder.is_dir() else []


def _is_set(folder):
    """A run's folder has JSON too; it is no set of graphs."""
    return bool(_files_of(folder)) and not (folder / "run.json").exists() and not any(folder.glob("*edges.csv"))


def _read_set(folder):
    files = _files_of(folder)
    graphs = [graph.order() for path in files for graph in READERS[suffix_of(path)](path)]
    return graph_members(folder, graphs, files)


def _fits(*suffixes):
    return lambda path: path.is_file() and suffix_of(path) in suffixes


FORMS = (
    ("GML", _fits(".gml"), _read_file),
    ("GraphML", _fits(".graphml"), _read_file),
    ("GEXF", _fits(".gexf"), _read_file),
    ("Pajek", _fits(".net", ".paj"), _read_file),
    ("lists of neighbours (.adjlist)", _fits(".adjlist"), _read_file),
    ("node-link JSON", _fits(".json"), _read_file),
)
OF_FOLDERS = (("a folder of such files, a set of graphs", _is_set, _read_set),)
