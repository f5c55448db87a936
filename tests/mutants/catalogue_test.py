# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How scripts/mutants.sh reads faults, puts them into sources, names them, goes on: catalogue_test.py SCRIPTS"""
import pathlib
import subprocess
import sys
import tempfile

SCRIPTS = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(SCRIPTS / "mutants"))
sys.dont_write_bytecode = True
import catalogue  # noqa: E402
import main as mutants  # noqa: E402
import trial  # noqa: E402
import verdicts  # noqa: E402
from expect import expect  # noqa: E402


def fault(name, find, replace, **more):
    return catalogue.Fault(name=name, file="f.cpp", find=find, replace=replace, why="w", tests=("t",), **more)


def refusal(action):
    try:
        action()
    except catalogue.CatalogueError as error:
        return str(error)
    sys.exit("failed: nothing was refused")


def switches_every_kind():
    text = "int f(int a) { a += 1; return a * 2; }"
    one = catalogue.apply([fault("no-two", "a * 2", "a")], text)
    expect(one == 'int f(int a) { a += 1; return (kadam_mutant::on("no-two") ? (a) : (a * 2)); }', one)
    two = catalogue.apply([fault("no-one", "a += 1;", "", kind="statement")], text)
    expect(two == 'int f(int a) { { if (kadam_mutant::on("no-one")) {  } else { a += 1; } } return a * 2; }', two)
    three = catalogue.apply([fault("at-once", "return", "return 0;", kind="insert")], text)
    expect(three == 'int f(int a) { a += 1; if (kadam_mutant::on("at-once")) { return 0; } return a * 2; }', three)


def holds_faults_inside_faults():
    text = "y = a + b; z = a;"
    both = catalogue.apply([fault("inner-b", "b", "c"), fault("no-y", "y = a + b;", "", kind="statement"),
                            fault("whole-a", "a + b", "0")], text)
    expect(both == '{ if (kadam_mutant::on("no-y")) {  } else { y = (kadam_mutant::on("whole-a") ? (0) : '
                   '(a + (kadam_mutant::on("inner-b") ? (c) : (b)))); } } z = a;', both)
    twice = catalogue.apply([fault("one-c", "b", "c"), fault("two-d", "b", "d")], text)
    expect(twice == 'y = a + (kadam_mutant::on("one-c") ? (c) : ((kadam_mutant::on("two-d") ? (d) : (b)))); z = a;',
           twice)
    both = [fault("left-one", "a + b", "0"), fault("right-one", "b, z", "0")]
    words = refusal(lambda: catalogue.apply(both, "y = f(a + b, z);"))
    expect("right-one begins inside left-one and ends outside" in words, words)


def finds_the_place():
    text = "f(a); g(a); g(b);"
    expect(catalogue.place_of(fault("x-y", "a", "b", after="g("), "f(a); g(a);") == 8, "the one behind 'after'")
    expect("places with 'a'" in refusal(lambda: catalogue.place_of(fault("x-y", "a", "b"), text)), "ambiguous")
    expect("has no 'q'" in refusal(lambda: catalogue.place_of(fault("x-y", "q", "b"), text)), "missing")
    expect("expected one" in refusal(lambda: catalogue.place_of(fault("x-y", "a", "b", after="g("), text)), "after")


def takes_whole_expressions_alone():
    text = "y = a + b * c - d - e / f; z = g ? h : i;"
    for find in ("b * c", "a + b * c", "a + b * c - d", "e / f", "g ? h : i", "g", "h"):
        expect(find in catalogue.apply([fault("x-y", find, "0")], text), find)
    for find in ("a + b", "b * c - d", "d - e / f", "d - e", "c - d"):
        words = refusal(lambda wanted=find: catalogue.apply([fault("x-y", wanted, "0")], text))
        expect("no whole expression" in words, find, words)
    for text in ("y = one.t % n;", "y = one->t % n;", "y = of::t % n;", "y = last % n;"):
        words = refusal(lambda whole=text: catalogue.apply([fault("x-y", "t % n", "0")], whole))
        expect("in the middle of a name" in words, text, words)
    for find, replace in (("f(a,", ""), ("f(a, b);", "f(a,")):
        words = refusal(lambda text=find, new=replace: catalogue.apply([fault("x-y", text, new, kind="statement")],
                                                                       "f(a, b);"))
        expect("no whole statement" in words, find, words)


def refuses_what_is_no_fault():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "some.toml"
        entry = '[[fault]]\nname = "{}"\nfile = "f"\nfind = "a"\nreplace = "b"\nwhy = "w"\ntests = ["t"]\n'
        for text, words in ((entry.format("Big_Name"), "names are words"),
                            (entry.format("a-b") + 'kind = "line"\n', "expected a kind"),
                            (entry.format("a-b") + 'where = "x"\n', "there is no 'where'"),
                            (entry.format("a-b").replace("why", "# why"), "'why' is missing"),
                            (entry.format("a-b") * 2, "two faults are named a-b"),
                            ("[[fault", "some.toml")):
            path.write_text(text)
            got = refusal(lambda: catalogue.read_faults(pathlib.Path(folder)))
            expect(words in got, words, "in", got)
        path.write_text('file = "f"\ntests = ["t"]\n[[fault]]\nname = "a-b"\nfind = "a"\nreplace = "b"\nwhy = "w"\n')
        expect(catalogue.read_faults(pathlib.Path(folder))[0].tests == ("t",), "what a file says for all its faults")
        inner = pathlib.Path(folder) / "inner"
        inner.mkdir()
        (inner / "other.toml").write_text(entry.format("c-d"))
        names = {fault.name for fault in catalogue.read_faults(pathlib.Path(folder))}
        expect(names == {"a-b", "c-d"}, "files in folders:", names)


def leaves_out_what_cannot_run():
    passes = trial.Outcome(True, "", 1.0)
    skipped = trial.Outcome(False, "it is skipped here", 1.0, skipped=True)
    empty = trial.Outcome(False, "its filter matches no test", 1.0, empty=True)
    fails = trial.Outcome(False, "exit code 1", 1.0)
    for outcome, left, untried, has_problem in ((passes, {"a-b": ["t", "u"], "c-d": ["t"]}, {}, False),
                                                (skipped, {"a-b": ["u"]}, {"c-d": "t is skipped here"}, False),
                                                (empty, {"a-b": ["u"], "c-d": []}, {}, True),
                                                (fails, {"a-b": ["u"], "c-d": []}, {}, True)):
        plan = {"a-b": [("t", ""), ("u", "")], "c-d": [("t", "")]}
        reasons = {}
        problem = mutants.leave_out(plan, reasons, ("t", ""), outcome)
        expect({name: [run[0] for run in runs] for name, runs in plan.items()} == left, outcome, plan)
        expect(reasons == untried, outcome, reasons)
        expect(bool(problem) == has_problem and (not problem or "c-d" in problem), outcome, problem)
    plan = {"a-b": [("t", ""), ("u", "")]}
    expect(mutants.leave_out(plan, {}, ("t", ""), empty) is None, "another test is left")
    plan = {"a-b": [("t", ""), ("u", "")]}
    expect(mutants.leave_out(plan, {}, ("t", ""), fails), "a test that fails without a fault")


def goes_on_where_it_was():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "build" / "verdicts.jsonl"
        runs = [("t", "Some*"), ("u", "")]
        verdicts.Verdicts(path, "sources").keep("a-b", runs, ["t: Some.Test"])
        with open(path, "a", encoding="utf-8") as out:
            out.write('{"sources": "sour')  # ended while it wrote
        expect(verdicts.Verdicts(path, "sources").find("a-b", runs) == ["t: Some.Test"], "kept")
        expect(verdicts.Verdicts(path, "sources").find("c-d", runs) is None, "another fault")
        expect(verdicts.Verdicts(path, "sources").find("a-b", runs[:1]) is None, "other tests")
        expect(verdicts.Verdicts(path, "others").find("a-b", runs) is None, "other sources")
        expect(verdicts.Verdicts(path, "sources", without=True).find("a-b", runs) is None, "tried again")
        expect(verdicts.Verdicts(path, "sources").find("a-b", runs) is None, "forgotten")


def names_what_it_would_try():
    def say(*arguments):
        return subprocess.run([SCRIPTS / "mutants.sh", *arguments], capture_output=True, text=True, check=False,
                              timeout=50)
    whole = say("--list")
    faults = catalogue.read_faults(SCRIPTS.parent / "tests" / "mutants")
    lines = whole.stdout.splitlines()
    expect(whole.returncode == 0 and [line.split()[0] for line in lines] == [one.name for one in faults], whole)
    expect(all(one.file in line and one.why in line for one, line in zip(faults, lines)), "a line says too little")
    some = say("--list", "--only", faults[0].name)
    expect(some.stdout.splitlines() == [line.strip() for line in some.stdout.splitlines()] and
           some.stdout.startswith(faults[0].name), some)
    today = say("--list", "--today")
    expect(today.stdout.count("\n") == 1 and today.stdout == say("--list", "--today").stdout, today)
    wrong = say("--list", "--only", faults[0].name[:-1])
    expect(wrong.returncode == 1 and faults[0].name in wrong.stderr and "there is no fault" in wrong.stderr, wrong)
    for arguments in (("--jobs", "0"), ("--only",), ("--nonsense",)):
        refused = say(*arguments)
        expect(refused.returncode == 1 and "--help" in refused.stderr or "--jobs" in refused.stderr, refused)


def leaves_no_process_behind():
    trial.adopt_orphans()
    with tempfile.TemporaryDirectory() as folder:
        # Its child is in a session of its own, as ranks of a launcher are, and outlives it.
        command = ["bash", "-c", "setsid sleep 1000 & sleep 1000"]
        runner = trial.Runner({"slow": {"command": command, "TIMEOUT": 1.0}, "fails": {"command": ["false"]},
                               "quick": {"command": ["true"]}}, pathlib.Path(folder))
        expect(runner.baseline("quick", "").passes and not runner.baseline("fails", "").passes, "exit codes")
        hangs = runner.baseline("slow", "")
        expect(not hangs.passes and "hangs" in hangs.how, hangs)
        expect(not trial.descendants(), "processes are left:", trial.descendants())


def main():
    switches_every_kind()
    holds_faults_inside_faults()
    finds_the_place()
    takes_whole_expressions_alone()
    refuses_what_is_no_fault()
    leaves_out_what_cannot_run()
    goes_on_where_it_was()
    names_what_it_would_try()
    leaves_no_process_behind()


if __name__ == "__main__":
    main()
