#!/usr/bin/env python3
"""`mochi label` in a pseudo-terminal, as a person uses it, and through a pipe.

Usage: test_label.py MOCHI"""
import csv
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest

MOCHI = os.path.abspath(sys.argv.pop(1))
# Two rings of ten nodes joined by one edge; nodes of a ring have its kind of attributes.
EDGES = [(f"{ring}{i}", f"{ring}{(i + step) % 10}") for ring in ("sea ", "hill ") for i in range(10) for step in (1, 2)]
NODES = [f"sea {i},{i * 7 % 13},wet\n" for i in range(10)] + [f"hill {i},{40 + i * 7 % 13},dry\n" for i in range(10)]


def rows(path):
    with open(path, newline="") as file:
        return dict(list(csv.reader(file))[1:])


class Session:
    """A run of `mochi label` in a terminal of its own."""

    def __init__(self, folder, *words):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(MOCHI, ["mochi", "label", "--data", "town", *words], dict(os.environ, TERM="xterm"))
        self.seen = ""

    def wait_for(self, text):
        """Reads until the text has come; returns what came before it."""
        end = time.monotonic() + 60
        while text not in self.seen:
            if not select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"no {text!r} within 60 seconds; found {self.seen!r}")
            try:
                self.seen += os.read(self.terminal, 65536).decode(errors="replace").replace("\r\n", "\n")
            except OSError:
                raise AssertionError(f"no {text!r} before the end; found {self.seen!r}") from None
        before, _, self.seen = self.seen.partition(text)
        return before

    def press(self, keys):
        os.write(self.terminal, keys.encode())

    def shown(self):
        """The name of the node that is asked about."""
        return re.findall(r"^((?:sea|hill) \d)$", self.wait_for("\n> "), re.M)[-1]

    def close(self):
        if self.terminal is not None:
            os.close(self.terminal)
        self.terminal = None

    def echoes(self):
        return bool(termios.tcgetattr(self.terminal)[3] & termios.ECHO)

    def end(self):
        """Waits for the end, unless the terminal is closed before; returns the exit status."""
        try:
            while self.terminal is not None and os.read(self.terminal, 65536):
                pass
        except OSError:
            pass
        self.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class Label(unittest.TestCase):
    def setUp(self):
        self.held = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.held.name)
        (self.folder / "town").mkdir()
        (self.folder / "town" / "edges.csv").write_text("from,to\nsea 0,hill 0\n" + "".join(f"{u},{v}\n" for u, v in EDGES))
        (self.folder / "town" / "nodes.csv").write_text("name,height,soil\n" + "".join(NODES))
        self.file = self.folder / "town.labels.csv"
        self.addCleanup(self.held.cleanup)

    def pipe(self, text, *words):
        return subprocess.run([MOCHI, "label", "--data", "town", *words], input=text, cwd=self.folder, capture_output=True,
                              text=True, timeout=100)

    def label(self, session, n):
        """Answers n questions by the first letter of the name; classes 1 and 2 are there. Returns the names."""
        names = []
        for _ in range(n):
            names.append(session.shown())
            session.press("1" if names[-1].startswith("sea") else "2")
        return names

    def test_a_graph_is_labelled_with_single_keys(self):
        session = Session(self.folder)
        first = session.shown()
        session.press("n")
        session.wait_for("name of the class: ")
        session.press("coast\n" if first.startswith("sea") else "inland\n")
        second = session.shown()
        session.press("n")
        session.wait_for("name of the class: ")
        session.press("inland\n" if first.startswith("sea") else "coast\n")
        third = session.shown()
        self.assertEqual(len(rows(self.file)), 2)
        self.assertEqual(len({first, second, third}), 3)
        session.press("s")
        self.assertNotIn(session.shown(), (first, second, third))
        session.press("q")
        session.wait_for("2 labels in town.labels.csv; to predict the others: mochi predict --data town --labels town.labels.csv")
        self.assertEqual(session.end(), 0)
        self.assertEqual(set(rows(self.file)), {first, second})

    def test_attributes_and_neighbours_are_in_words(self):
        session = Session(self.folder, "--classes", "coast,inland")
        text = session.wait_for("\n> ")
        name = re.findall(r"^((?:sea|hill) \d)$", text, re.M)[-1]
        self.assertRegex(text, "soil=" + ("wet" if name.startswith("sea") else "dry"))
        beside = re.search("beside (.*)", text)[1].split(", ")
        self.assertEqual(set(beside), {v if u == name else u for u, v in [*EDGES, ("sea 0", "hill 0")] if name in (u, v)})
        session.press("1")
        session.press("q")
        self.assertEqual(session.end(), 0)

    def test_the_expected_accuracy_grows_with_the_labels(self):
        session = Session(self.folder, "--classes", "coast,inland")
        self.label(session, 6)
        session.shown()
        session.press("q")
        session.wait_for("6 labels in")
        self.assertEqual(session.end(), 0)
        done = self.pipe("q\n")
        self.assertRegex(done.stdout, r"expected accuracy 100% \(95%: \d+ to 100\) from 6 labels")

    def test_enter_takes_what_is_predicted(self):
        done = self.pipe("\n" * 20, "--classes", "coast,inland")
        self.assertIn("expected one of the keys above", done.stdout)  # nothing is predicted at first
        self.assertEqual(rows(self.file), {})
        session = Session(self.folder, "--classes", "coast,inland")
        self.label(session, 4)
        name = session.shown()
        session.press("\n")
        session.shown()
        session.press("q")
        self.assertEqual(session.end(), 0)
        self.assertEqual(rows(self.file)[name], "coast" if name.startswith("sea") else "inland")

    def test_undo_takes_back_one_answer_at_a_time(self):
        session = Session(self.folder, "--classes", "coast,inland")
        names = self.label(session, 3)
        session.shown()
        session.press("u")
        self.assertEqual(session.shown(), names[2])
        session.press("u")
        self.assertEqual(session.shown(), names[1])
        self.assertEqual(set(rows(self.file)), {names[0]})
        session.press("u")
        session.shown()
        session.press("u")
        session.wait_for("nothing to undo")
        session.press("q")
        self.assertEqual(session.end(), 0)
        self.assertEqual(rows(self.file), {})

    def test_a_killed_session_loses_nothing_and_goes_on(self):
        for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
            self.file.unlink(missing_ok=True)
            session = Session(self.folder, "--classes", "coast,inland")
            names = self.label(session, 3)
            session.shown()
            os.kill(session.pid, number)
            code = session.end()
            self.assertEqual(code, -number if number == signal.SIGKILL else 128 + number)
            self.assertEqual(set(rows(self.file)), set(names))
            session = Session(self.folder)
            self.assertNotIn(session.shown(), names)
            session.press("q")
            self.assertEqual(session.end(), 0)
            self.assertEqual(set(rows(self.file)), set(names))

    def test_a_closed_terminal_loses_nothing(self):
        session = Session(self.folder, "--classes", "coast,inland")
        names = self.label(session, 2)
        session.shown()
        session.close()
        self.assertNotEqual(session.end(), 0)
        self.assertEqual(set(rows(self.file)), set(names))

    def test_ctrl_c_gives_the_terminal_back(self):
        session = Session(self.folder, "--classes", "coast,inland")
        names = self.label(session, 1)
        session.shown()
        for _ in range(200):  # until it waits for a key
            if not session.echoes():
                break
            time.sleep(0.05)
        self.assertFalse(session.echoes())
        session.press("\x03")
        session.wait_for("1 label in town.labels.csv")
        self.assertTrue(session.echoes())
        self.assertEqual(session.end(), 130)
        self.assertEqual(set(rows(self.file)), set(names))

    def test_every_node_can_be_answered(self):
        session = Session(self.folder, "--classes", "coast,inland")
        names = self.label(session, 20)
        session.wait_for("every node is labelled or skipped")
        self.assertEqual(session.end(), 0)
        self.assertEqual(len(set(names)), 20)
        predict = subprocess.run([MOCHI, "predict", "--data", "town", "--labels", "town.labels.csv"], cwd=self.folder,
                                 capture_output=True, text=True)
        self.assertIn("20 labels of 2 classes, 10 per class", predict.stderr)

    def test_a_file_of_another_form_is_not_replaced(self):
        text = "node,kind,label\nsea 0,x,coast\n"
        self.file.write_text(text)
        done = self.pipe("q\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("town.labels.csv:1: expected the header node,label", done.stderr)
        self.assertEqual(self.file.read_text(), text)

    def test_wrong_files_of_labels_are_kept(self):
        for text, says in (("node,label\nsea 99,coast\n", "sea 99"), ("node,label\nsea 0\n", "town.labels.csv:2"),
                           ("", None), ("node,label\n", None), ("node,label\nsea 0,\n", None)):
            self.file.write_text(text)
            done = self.pipe("q\n")
            self.assertEqual(done.returncode, 1 if says else 0, done.stderr)
            self.assertIn(says or "", done.stderr)
            if says:
                self.assertEqual(self.file.read_text(), text)

    def test_a_folder_that_cannot_be_written_is_refused_first(self):
        done = self.pipe("1\n", "--labels", "none/mine.csv")
        self.assertEqual(done.returncode, 1)
        self.assertIn("none/mine.csv", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_marks_of_the_unknown_are_no_classes(self):
        done = self.pipe("n NA\nn -1\nn ?\nn a\x1b[2J\nn\nzebra\nn coast, or so\nq\n")
        self.assertEqual(done.stdout.count("names no class"), 4)
        self.assertNotIn("\x1b", done.stdout)
        self.assertEqual(list(rows(self.file).values()), ["coast, or so"])

    def test_labels_of_the_data_are_kept_and_others_asked(self):
        known = {f"{ring} {i}": kind for ring, kind in (("sea", "coast"), ("hill", "inland")) for i in (1, 5)}
        lines = [line[:-1] + f",{known.get(line.split(',')[0], '')}\n" for line in NODES]
        (self.folder / "town" / "nodes.csv").write_text("name,height,soil,label\n" + "".join(lines))
        done = self.pipe("s\nq\n")
        self.assertIn("town: 20 nodes, 4 of them labelled", done.stdout)
        self.assertIn("(predicted: Enter)", done.stdout)
        self.assertEqual(rows(self.file), known)
        later = [line.replace(",coast\n", ",inland\n") if line.startswith("sea 1,") else line for line in lines]
        later = [line[:-1] + "coast\n" if line.startswith("sea 2,") else line for line in later]
        (self.folder / "town" / "nodes.csv").write_text("name,height,soil,label\n" + "".join(later))
        done = self.pipe("q\n")
        self.assertIn("1 label of town.labels.csv differs from the data's own, and counts", done.stdout)
        self.assertEqual(rows(self.file), known | {"sea 2": "coast"})

    def test_keys_stay_and_spellings_are_told_apart(self):
        done = self.pipe("n zebra\nn ape\nn Ape\nq\n")
        self.assertIn("a class of its own: Ape differs from ape in case alone", done.stdout)
        self.assertIn("1 zebra  2 ape  3 Ape", self.pipe("q\n").stdout)

    def test_a_folder_that_is_here_has_its_name(self):
        done = subprocess.run([MOCHI, "label", "--data", "."], input="q\n", cwd=self.folder / "town", capture_output=True, text=True, timeout=100)
        self.assertIn("answers go to town.labels.csv", done.stdout)

    def test_an_amount_of_one_is_told(self):
        nodes = [line.replace(",", f",{1 + i % 2},", 1) for i, line in enumerate(NODES)]
        (self.folder / "town" / "nodes.csv").write_text("name,pages,height,soil\n" + "".join(nodes))
        self.assertRegex(self.pipe("s\ns\ns\ns\nq\n").stdout, "pages 1,")

    def test_a_set_of_graphs_is_labelled_too(self):
        done = subprocess.run([MOCHI, "label", "--data", "mutag", "--classes", "a,b"], input="1\n2\nq\n", cwd=self.folder,
                              capture_output=True, text=True, timeout=200)
        self.assertIn("188 graphs, 0 of them labelled", done.stdout)
        self.assertRegex(done.stdout, r"\d+ nodes, \d+ edges")
        self.assertEqual((self.folder / "mutag.labels.csv").read_text().count("\n"), 3)


unittest.main()
