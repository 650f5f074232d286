"""Graphs whose nodes carry attributes, as networkx reads GraphML and writes node-link JSON, and matrices of Matrix Market as
SciPy reads them: to the members of mochi's .npz. train/FORMATS.md says what becomes of each attribute."""

import array
import csv
import gzip
import json
import math
import re

from graph_npz import Features, sorted_rows, texts
from unpickle import Refused

CLASSES = ("class", "y", "label", "club")  # attributes that say the class, the first one first
SUFFIXES = (".graphml", ".graphml.gz", ".json")


class Graph:
    """Names of the nodes, attributes of each and of the graph, and the ends of edges as node numbers."""

    def __init__(self, path, of_graph):
        self.path, self.of_graph = path, of_graph
        self.number, self.attributes, self.ends = {}, [], []

    def add_node(self, name, attributes):
        if name in self.number or name == "" or "\0" in name:
            raise Refused(f"{self.path}: expected each node with an id of its own, found {name!r} "
                          f"{'twice' if name in self.number else 'as one'}")
        self.number[name] = len(self.number)
        self.attributes.append(attributes)

    def add_edge(self, source, target):
        for end in (source, target):
            if end not in self.number:
                raise Refused(f"{self.path}: expected edges between nodes of the graph, found the end {end!r}")
        self.ends.append((self.number[source], self.number[target]))


# ---- files ----

def name_of(node):
    """An id of any type as text: itself, or as JSON writes it."""
    return node if isinstance(node, str) else json.dumps(node, sort_keys=True)


def read_json(path):
    def once(pairs):
        if len(dict(pairs)) < len(pairs):
            raise Refused(f"{path}: expected each key of an object once, found {[key for key, _ in pairs]}")
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
    for part, needed in (("nodes", {"id"}), (keys[0], {"source", "target"})):
        for i, member in enumerate(data[part]):
            if not isinstance(member, dict) or not needed <= member.keys():
                raise Refused(f"{path}: {part}[{i}]: expected an object with {' and '.join(sorted(needed))}")
            if part == "nodes":
                graph.add_node(name_of(member["id"]), {key: x for key, x in member.items() if key != "id"})
            else:
                graph.add_edge(name_of(member["source"]), name_of(member["target"]))
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
        g.graph.pop("edge_default", None)
        graph = Graph(path, g.graph)
        for node, attributes in g.nodes(data=True):
            graph.add_node(node, {**defaults, **attributes})
        for source, target in g.edges():
            graph.add_edge(source, target)
        found.append(graph)
    # networkx merges nodes of one id, adds the ends of edges as nodes and passes over graphs inside of others.
    tags = [element.tag.rpartition("}")[2] for element in reader.xml.iter() if isinstance(element.tag, str)]
    for tag, n in (("graph", len(found)), ("node", sum(len(graph.number) for graph in found))):
        if not n or tags.count(tag) != n:
            raise Refused(f"{path}: expected a <{tag}> each with an id of its own, no graph in another, and edges between nodes "
                          f"that are there: found {tags.count(tag)} elements <{tag}>, {n} as they should be")
    return found


def read_file(path):
    return read_json(path) if path.suffix == ".json" else read_graphml(path)


# ---- classes ----

def whole(text):
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,10}", text) else None


def class_members(values):
    """labels and class names of texts; "" means none, as does a negative number where all are whole numbers."""
    named = any(text and whole(text) is None for text in values)
    of = values if named else [whole(text) if text else -1 for text in values]
    kept = sorted({x for x in of if (x if named else x >= 0)}, key=str.encode if named else None)
    if not kept:
        return {}
    number = {x: i for i, x in enumerate(kept)}
    members = {"labels": array.array("q", [number.get(x, -1) for x in of])}
    return {**members, "class_names_text": texts(kept)} if named else members


def plain(value):
    """A number, or a text without blanks around; None of anything else."""
    if isinstance(value, (bool, int, float)):
        return float(value)
    return value.strip() if isinstance(value, str) else None


def class_of_nodes(graph):
    """The attribute that is the class of a graph's nodes, and its texts: the first that is fit."""
    for key in CLASSES:
        found = [plain(of_node.get(key)) for of_node in graph.attributes]
        given = [x for x in found if x is not None]
        if not given or any(isinstance(x, float) and (not x.is_integer() or abs(x) >= 1 << 24) for x in given):
            continue
        found = ["" if x is None else f"{x:.0f}" if isinstance(x, float) else x for x in found]
        distinct = {text for text in found if text}
        if key != "label" or len(given) == 1 or len(distinct) < sum(text != "" for text in found):
            return key, found
    return None, None


def class_of_graph(graph):
    for key in CLASSES:
        value = plain(graph.of_graph.get(key))
        if value is not None:
            return f"{value:.17g}" if isinstance(value, float) else value
    return ""


def is_real(text):
    """Values to regress on are no classes."""
    try:
        return whole(text) is None and math.isfinite(float(text))
    except ValueError:
        return False


# ---- columns ----

def numbers_and_texts(path, graphs, left_out):
    """What the nodes carry, of all graphs: {attribute: {node: number}} and {attribute: {node: text}}."""
    numbers, words, node = {}, {}, 0
    for graph in graphs:
        for of_node in graph.attributes:
            for key, value in of_node.items():
                if key == left_out:
                    continue
                listed = isinstance(value, list) and all(isinstance(x, (bool, int, float)) for x in value)
                for name, x in ((f"{key}[{i}]", x) for i, x in enumerate(value)) if listed else [(key, value)]:
                    x = plain(x)
                    if x is not None:
                        (words if isinstance(x, str) else numbers).setdefault(name, {})[node] = x
            node += 1
    mixed = numbers.keys() & words.keys()
    if mixed:
        raise Refused(f"{path}: expected attributes {min(mixed)!r} of one kind, found texts and numbers")
    return numbers, words


def feature_members(path, graphs, left_out):
    numbers, words = numbers_and_texts(path, graphs, left_out)
    for key in CLASSES if len(graphs) > 1 else ():
        if key in numbers and all(x.is_integer() for x in numbers[key].values()):
            words[key] = {node: f"{x:.0f}" for node, x in numbers.pop(key).items()}
    rows, columns = [[] for graph in graphs for _ in graph.attributes], 0
    for key in sorted(numbers.keys() | words.keys(), key=str.encode):
        if key in numbers:
            for node, x in numbers[key].items():
                if not math.isfinite(x) or abs(x) > 3.4028235e38:
                    raise Refused(f"{path}: expected {key!r} as a finite float32, found {x:g}")
                rows[node].append((columns, x))
            columns += 1
            continue
        distinct = sorted(set(words[key].values()), key=str.encode)
        if len(distinct) < len(words[key]):  # else a name of the node
            place = {text: columns + i for i, text in enumerate(distinct)}
            for node, text in words[key].items():
                rows[node].append((place[text], 1.0))
            columns += len(distinct)
    features = Features(columns)
    for row in rows:
        features.add(*zip(*row)) if row else features.add((), ())
    return features.members() if columns else {}


# ---- whole graphs ----

def labels_beside(path, names):
    """The classes of a file of lines NAME,CLASS; a first line that names no graph is a header."""
    found = {}
    with open(path, newline="", encoding="utf-8") as lines:
        for i, row in enumerate(csv.reader(lines, delimiter="\t" if path.suffix == ".tsv" else ","), 1):
            if len(row) == 2 and row[0] in names and row[0] not in found:
                found[row[0]] = row[1].strip()
            elif i > 1:
                raise Refused(f"{path}:{i}: expected a graph, each once, and its class, found {row}")
    return [found.get(name, "") for name in names]


def graph_members(source):
    """The members of the .npz of a file, or of a folder of files."""
    files = [source]
    if source.is_dir():
        files = sorted(p for p in source.iterdir() if p.name.endswith(SUFFIXES))
        if not files:
            raise Refused(f"{source}: expected files {', '.join(SUFFIXES)}, found none")
    by_file = [read_file(path) for path in files]
    graphs = [graph for of_file in by_file for graph in of_file]
    if not all(graph.number for graph in graphs):
        raise Refused(f"{source}: expected one node or more in each graph, found none")
    start = [sum(len(graph.number) for graph in graphs[:g]) for g in range(len(graphs) + 1)]
    ends = [(start[g] + u, start[g] + v) for g, graph in enumerate(graphs) for u, v in graph.ends]
    members = sorted_rows(start[-1], [u for u, _ in ends], [v for _, v in ends])
    key, names = None, list(graphs[0].number)
    if len(graphs) > 1:
        members["graph_offset"] = array.array("q", start)
        names = [re.sub(r"(\.graphml(\.gz)?|\.json)$", "", path.name) for path in files]
        classes = [class_of_graph(graph) for graph in graphs]
        beside = [source / name for name in ("labels.csv", "labels.tsv") if (source / name).exists()]
        if beside and len(files) == len(graphs):
            classes = labels_beside(beside[0], names)
        if not any(is_real(text) for text in classes):
            members.update(class_members(classes))
    else:
        key, classes = class_of_nodes(graphs[0])
        members.update(class_members(classes) if key else {})
    if len(graphs) == 1 or len(files) == len(graphs):
        members["names_text"] = texts(names)
    return {**members, **feature_members(source, graphs, key)}


# ---- matrices ----

def matrix(path):
    """A Matrix Market file, plain or gzipped, as SciPy reads it: from 1 to numbers from 0, a symmetric one whole."""
    import scipy.io
    import scipy.sparse

    try:
        return scipy.sparse.coo_matrix(scipy.io.mmread(path))
    except (ValueError, TypeError, OverflowError, EOFError) as error:
        raise Refused(f"{path}: expected a matrix of Matrix Market ({error})") from error


def adjacency_members(path):
    """The entries of a square matrix that are not 0 are edges; what else they hold is left out."""
    A = matrix(path)
    if A.shape[0] != A.shape[1] or not A.shape[0]:
        raise Refused(f"{path}: expected an adjacency, which is square, found {A.shape[0]} x {A.shape[1]} (features become .npy: "
                      "convert.py features)")
    edge = A.data != 0
    return sorted_rows(A.shape[0], A.row[edge].tolist(), A.col[edge].tolist())


def features_writer(path):
    """A matrix of Matrix Market as features.npy, float32."""
    import numpy

    A = matrix(path)
    if A.dtype.kind not in "biuf" or not numpy.isfinite(A.data.astype(numpy.float32)).all():
        raise Refused(f"{path}: expected finite float32 numbers, found others")
    X = numpy.ascontiguousarray(A.astype(numpy.float32).toarray())
    return lambda file: numpy.save(file, X, allow_pickle=False)
