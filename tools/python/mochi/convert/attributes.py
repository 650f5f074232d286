"""Classes and columns from the attributes of nodes and graphs. train/FORMATS.md says how each attribute is converted."""

import csv
import math
import re

import numpy

from .archive import adjacency_members, feature_members, in_order, is_unknown, named, texts, weights_of
from .unpickle import Refused

CLASSES = ("class", "y", "label", "club", "value")  # attributes that give the class, in order of preference



class Graph:
    """A graph: names of the nodes, attributes of each node and of the graph, and edges: two names and a weight or None."""

    def __init__(self, path, of_graph):
        self.path, self.of_graph = path, of_graph
        self.of_node, self.edges = {}, []

    def add_node(self, name, attributes):
        """Adds a node with a name of its own."""
        if name in self.of_node or name == "" or "\0" in name:
            twice = "twice" if name in self.of_node else "as one"
            raise Refused(f"{self.path}: expected each node with an id of its own, found {name!r} {twice}")
        self.of_node[name] = attributes

    def add_edge(self, u, v, weight=None):
        """Adds an edge between two nodes of the graph."""
        for end in (u, v):
            if end not in self.of_node:
                raise Refused(f"{self.path}: expected edges between nodes of the graph, found the end {end!r}")
        self.edges.append((u, v, weight))

    def order(self):
        """Puts the nodes into the order of their names: whole numbers by value, others as they come."""
        self.of_node = {name: self.of_node[name] for name in in_order(self.of_node)}
        return self

    @property
    def attributes(self):
        """The attributes of each node, in their order."""
        return list(self.of_node.values())

    def ends(self, first):
        """The numbers of the edges' ends, the first node having the number `first`."""
        number = {name: i for i, name in enumerate(self.of_node, first)}
        return [(number[u], number[v]) for u, v, _ in self.edges]


# ---- classes ----

def plain(value):
    """Returns a number as float, or a text without surrounding blanks; "" for any other type."""
    if isinstance(value, (bool, int, float)):
        return float(value) if value == value else ""
    text = value.strip() if isinstance(value, str) else ""
    return "" if is_unknown(text) else text


def text_of(value):
    return f"{value:.17g}" if isinstance(value, float) else value


def class_members(values):
    """Returns labels and class names from texts; "" means no class. If all texts are whole numbers, a negative one
    means no class too."""
    named = not all(re.fullmatch("([+-]?[0-9]{1,10})?", text) for text in values)
    of: list = [text.encode() if named else int(text or -1) for text in values]
    kept = sorted({x for x in of if (x if named else x >= 0)})
    number = {x: i for i, x in enumerate(kept)}
    members = {"labels": numpy.array([number.get(x, -1) for x in of], "<i8"), "class_names_text": texts([str(x, "utf-8") for x in kept] if named else [])}
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
    columns: dict[str, dict] = {}
    for node, of_node in enumerate(of_node for graph in graphs for of_node in graph.attributes):
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
    shape = sum(len(graph.of_node) for graph in graphs), n
    return feature_members(shape, row.astype(int), column, value) if n else {}


# ---- whole graphs ----


def graph_members(source, graphs, files=()):
    """The members of the .npz of a graph; of several, which are a set, each of a file of its own if `files` has as many."""
    if not graphs or not all(graph.of_node for graph in graphs):
        raise Refused(f"{source}: expected one node or more in each graph, found none")
    start = numpy.cumsum([0] + [len(graph.of_node) for graph in graphs])
    ends = numpy.array([end for graph, first in zip(graphs, start) for end in graph.ends(first)], int).reshape(-1, 2)
    weights = weights_of(source, [weight for graph in graphs for *_, weight in graph.edges])
    members = adjacency_members(int(start[-1]), ends[:, 0], ends[:, 1], weights)
    if len(graphs) == 1:
        key, classes = class_of_nodes(graphs[0])
        return {**members, **class_members(classes), **named("names", graphs[0].of_node), **node_members(source, graphs, key)}
    classes = [class_of_graph(graph) for graph in graphs]
    if len(files) == len(graphs):
        names = [re.sub(r"(\.[a-z]+)(\.gz)?$", "", path.name) for path in files]
        members.update(named("names", names))
        beside = [source / name for name in ("labels.csv", "labels.tsv") if (source / name).exists()]
        classes = labels_beside(beside[0], names) if beside else classes
    if not any(map(is_real, classes)):
        members.update(class_members(classes))
    return {**members, "graph_offset": start.astype("<i8"), **node_members(source, graphs, None)}
