"""Converts graphs with node attributes (GraphML as read by networkx, node-link JSON) and Matrix Market files (as read
by SciPy) to the members of mochi's .npz. train/FORMATS.md says how it converts each attribute."""

import csv
import gzip
import json
import math
import re
import sys

import numpy

from graph_npz import adjacency_members, feature_members, texts
from unpickle import Refused

CLASSES = ("class", "y", "label", "club")  # attributes that give the class, in order of preference
SUFFIXES = (".graphml", ".graphml.gz", ".json")


class Graph:
    """A graph: names of the nodes, attributes of each node and of the graph, and edges as pairs of node numbers."""

    def __init__(self, path, of_graph):
        self.path, self.of_graph = path, of_graph
        self.number, self.attributes, self.ends = {}, [], []
        self.weights = 0  # of edges, other than 1, which are dropped

    def add_node(self, name, attributes):
        if name in self.number or name == "" or "\0" in name:
            raise Refused(f"{self.path}: expected each node with an id of its own, found {name!r} "
                          f"{'twice' if name in self.number else 'as one'}")
        self.number[name] = len(self.number)
        self.attributes.append(attributes)

    def add_edge(self, *ends, weight=1):
        self.weights += weight not in (1, None)
        for end in ends:
            if end not in self.number:
                raise Refused(f"{self.path}: expected edges between nodes of the graph, found the end {end!r}")
        self.ends.append([self.number[end] for end in ends])


# ---- files ----

def name_of(node):
    """Returns an id of any type as text: a text as it is, other types as JSON."""
    return node if isinstance(node, str) else json.dumps(node, sort_keys=True)


def read_json(path):
    def once(pairs):
        if len(dict(pairs)) < len(pairs):
            raise ValueError(f"each key of an object once, found {[key for key, _ in pairs]}")
        return dict(pairs)
    try:
        data = json.loads(path.read_bytes(), object_pairs_hook=once)
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
            names = [name_of(member.pop(key)) for key in needed]
            graph.add_node(*names, member) if part == "nodes" else graph.add_edge(*names, weight=member.get("weight"))
    return [graph]


def read_graphml(path):
    import networkx
    from networkx.readwrite.graphml import GraphMLReader

    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if b"<!ENTITY" in data:
        raise Refused(f"{path}: expected no entity of its own, found <!ENTITY")
    reader, found = GraphMLReader(), []
    try:
        graphs = list(reader(string=data.replace(b"<graphml>", b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">')))
    except (networkx.NetworkXError, SyntaxError, LookupError, ValueError) as error:
        raise Refused(f"{path}: expected GraphML ({error})") from error
    for g in graphs:
        defaults = g.graph.pop("node_default", {})
        found.append(Graph(path, g.graph))
        for node, attributes in g.nodes(data=True):
            found[-1].add_node(node, {**defaults, **attributes})
        for *ends, weight in g.edges(data="weight"):
            found[-1].add_edge(*ends, weight=weight)
    # networkx merges nodes with equal ids, adds the ends of edges as nodes and skips nested graphs.
    tags = [element.tag.rpartition("}")[2] for element in reader.xml.iter() if isinstance(element.tag, str)]
    for tag, n in (("graph", len(found)), ("node", sum(len(graph.number) for graph in found))):
        if not n or tags.count(tag) != n:
            raise Refused(f"{path}: expected a <{tag}> each with an id of its own, no graph in another, and edges between nodes "
                          f"that are there: found {tags.count(tag)} elements <{tag}>, {n} as they should be")
    return found


# ---- classes ----

def plain(value):
    """Returns a number as float, or a text without surrounding blanks; "" for any other type."""
    if isinstance(value, (bool, int, float)):
        return float(value)
    return value.strip() if isinstance(value, str) else ""


def text_of(value):
    return f"{value:.17g}" if isinstance(value, float) else value


def class_members(values):
    """Returns labels and class names from texts; "" means no class. If all texts are whole numbers, a negative one
    means no class too."""
    named = not all(re.fullmatch("([+-]?[0-9]{1,10})?", text) for text in values)
    of = [text.encode() if named else int(text or -1) for text in values]
    kept = sorted({x for x in of if (x if named else x >= 0)})
    number = {x: i for i, x in enumerate(kept)}
    members = {"labels": numpy.array([number.get(x, -1) for x in of], "<i8"), "class_names_text": texts(map(bytes.decode, kept if named else []))}
    return {name: x for name, x in members.items() if kept and (named or name == "labels")}


def class_of_nodes(graph):
    """Returns the first attribute of CLASSES that can be the nodes' classes, and its text for each node."""
    for key in CLASSES:
        found = [plain(of_node.get(key)) for of_node in graph.attributes]
        given = [x for x in found if x != ""]
        fit = given and not any(isinstance(x, float) and (not x.is_integer() or abs(x) >= 1 << 24) for x in given)
        if fit and (key != "label" or len(given) == 1 or len(set(given)) < len(given)):
            return key, [text_of(x) for x in found]
    return None, []


def class_of_graph(graph):
    return next((text_of(x) for x in (plain(graph.of_graph.get(key)) for key in CLASSES) if x != ""), "")


def is_real(text):
    """Whether a text is a number, but not a whole one: a value for regression, not a class."""
    try:
        return not re.fullmatch("[+-]?[0-9]{1,10}", text) and math.isfinite(float(text))
    except ValueError:
        return False


def labels_beside(path, names):
    """Returns the classes in a file with lines NAME,CLASS; a first line that names none of the graphs is a header."""
    found = {}
    with open(path, newline="", encoding="utf-8") as lines:
        for i, row in enumerate(csv.reader(lines, delimiter="\t" if path.suffix == ".tsv" else ","), 1):
            if len(row) == 2 and row[0] in names and row[0] not in found:
                found[row[0]] = row[1].strip()
            elif i > 1:
                raise Refused(f"{path}:{i}: expected a graph, each once, and its class, found {row}")
    return [found.get(name, "") for name in names]


# ---- columns ----

def columns_of(path, graphs, left_out):
    """The attributes of the nodes of all graphs: {attribute: {node: number or text}}."""
    columns, nodes = {}, (of_node for graph in graphs for of_node in graph.attributes)
    for node, of_node in enumerate(nodes):
        for key, value in of_node.items():
            listed = isinstance(value, list) and all(isinstance(x, (bool, int, float)) for x in value)
            for name, x in ((f"{key}[{i}]", x) for i, x in enumerate(value)) if listed else [(key, value)]:
                if key != left_out and isinstance(x, (bool, int, float, str)):
                    columns.setdefault(name, {})[node] = plain(x)
    for key, of_node in columns.items():
        if len({type(x) for x in of_node.values()}) > 1:
            raise Refused(f"{path}: expected attributes {key!r} of one kind, found texts and numbers")
        if len(graphs) > 1 and key in CLASSES and all(isinstance(x, float) and x.is_integer() for x in of_node.values()):
            columns[key] = {node: f"{x:.0f}" for node, x in of_node.items()}
    return columns


def node_members(path, graphs, left_out):
    found, n = [], 0  # (node, column, value); columns so far
    columns = columns_of(path, graphs, left_out)
    for key in sorted(columns, key=str.encode):
        of_node, distinct = columns[key], sorted(set(columns[key].values()), key=lambda x: str(x).encode())
        if isinstance(distinct[0], float):
            if any(abs(x) > 3.4028235e38 or x != x for x in distinct):
                raise Refused(f"{path}: expected {key!r} as a finite float32, found {max(distinct, key=abs):g}")
            found += [(node, n, x) for node, x in of_node.items()]
            n += 1
        elif len(distinct) < len(of_node):  # otherwise all texts differ: they are names of nodes
            found += [(node, n + distinct.index(text), 1) for node, text in of_node.items()]
            n += len(distinct)
    row, column, value = numpy.array(found, float).reshape(-1, 3).T
    shape = sum(len(graph.number) for graph in graphs), n
    return feature_members(shape, row.astype(int), column, value) if n else {}


# ---- whole graphs ----

def tell_weights(source, n):
    if n:
        print(f"convert.py: {source}: {n} weights of edges are dropped; as the column weight of edges.csv they are kept", file=sys.stderr)



def graph_members(source):
    """The members of the .npz of a file, or of a folder of files."""
    files = sorted(p for p in source.iterdir() if p.name.endswith(SUFFIXES)) if source.is_dir() else [source]
    if not files:
        raise Refused(f"{source}: expected files {', '.join(SUFFIXES)}, found none")
    graphs = [graph for path in files for graph in (read_json if path.suffix == ".json" else read_graphml)(path)]
    tell_weights(source, sum(graph.weights for graph in graphs))
    if not all(graph.number for graph in graphs):
        raise Refused(f"{source}: expected one node or more in each graph, found none")
    start = numpy.cumsum([0] + [len(graph.number) for graph in graphs])
    ends = numpy.array([(start[g] + u, start[g] + v) for g, graph in enumerate(graphs) for u, v in graph.ends], int).reshape(-1, 2)
    members = adjacency_members(start[-1], *ends.T)
    if len(graphs) == 1:
        key, classes = class_of_nodes(graphs[0])
        return {**members, **class_members(classes), "names_text": texts(graphs[0].number), **node_members(source, graphs, key)}
    classes, names = [class_of_graph(graph) for graph in graphs], [re.sub(r"(\.graphml(\.gz)?|\.json)$", "", path.name) for path in files]
    if len(files) == len(graphs):
        members["names_text"] = texts(names)
        beside = [source / name for name in ("labels.csv", "labels.tsv") if (source / name).exists()]
        classes = labels_beside(beside[0], names) if beside else classes
    if not any(map(is_real, classes)):
        members.update(class_members(classes))
    return {**members, "graph_offset": start.astype("<i8"), **node_members(source, graphs, None)}


# ---- matrices ----

def matrix(path):
    """A Matrix Market file, plain or gzipped, read by SciPy: indices become 0-based, symmetric matrices get both triangles."""
    import scipy.io
    import scipy.sparse

    try:
        return scipy.sparse.coo_matrix(scipy.io.mmread(path))
    except (ValueError, TypeError, OverflowError, EOFError) as error:
        raise Refused(f"{path}: expected a matrix of Matrix Market ({error})") from error


def matrix_members(path):
    """Converts a square matrix to a graph, with an edge for each nonzero entry; the values are dropped."""
    A = matrix(path)
    if A.shape[0] != A.shape[1] or not A.shape[0]:
        raise Refused(f"{path}: expected an adjacency, which is square, found {A.shape[0]} x {A.shape[1]} (features become .npy: "
                      "convert.py features)")
    edge = A.data != 0
    tell_weights(path, int((A.data[edge] != 1).sum()))
    return adjacency_members(A.shape[0], A.row[edge], A.col[edge])


def matrix_features(path):
    """Converts a Matrix Market file to a float32 matrix."""
    A = matrix(path)
    with numpy.errstate(over="ignore"):
        finite = A.dtype.kind in "biuf" and numpy.isfinite(A.data.astype("f4")).all()
    if not finite:
        raise Refused(f"{path}: expected finite float32 numbers, found others")
    return numpy.ascontiguousarray(A.astype("f4").toarray())
