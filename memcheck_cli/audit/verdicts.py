"""The verdict on each test class: what starts its server, under which environment, and which write is in force."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import PurePath

from memcheck_cli.audit.follow.classes import READ, UNRESOLVED, ClassValue
from memcheck_cli.audit.follow.environment import Env, level_of
from memcheck_cli.audit.follow.lookup import MISSING
from memcheck_cli.audit.follow.machine import STEPS, ExhaustedError, Frame, Launch
from memcheck_cli.audit.follow.modules import Library, Module
from memcheck_cli.audit.follow.statements import Statements
from memcheck_cli.audit.follow.values import (
    Bound,
    EnvField,
    Function,
    Instance,
    Named,
    Origin,
    Rest,
    Seq,
    Site,
    Unknown,
)
from memcheck_cli.audit.known import FIXTURE_OF, LEVEL_ONE_FROM, MERGING, SESSIONS
from memcheck_cli.audit.model import (
    LEVEL_VARIABLE,
    OLD_VARIABLE,
    AuditedClass,
    BaseClass,
    Reason,
    Setting,
    Speculative,
    printable,
    rank,
)
from memcheck_cli.audit.reach import Reach, mentions
from memcheck_cli.audit.speculative import options, speculative
from memcheck_cli.checker.releases import Release

OVERRIDES = "env_overrides"
_TEST_FILE = re.compile(r"test.*|.*_tests?\.py")
_BASE_NAME = re.compile(r"(?!Test).*(?:Base|Mixin|Kit)")
"""A class of such a name in a file that no test run collects is there to be inherited, with whatever tests it has."""

_SET_UP = ("setUp", "asyncSetUp", "setup_method")


class Auditor(Statements):
    """Runs the fixtures of test classes, abstractly, up to the start of the server."""

    def __init__(self, library: Library, release: Release | None = None) -> None:
        super().__init__(library, release)
        self._reach = Reach(library.modules)
        self._reaches: dict[Function, bool] = {}

    def may_start(self, function: Function) -> bool:
        """Whether following a function may lead to the start of a server."""
        if function not in self._reaches:
            self._reaches[function] = False  # where a closure leads back to the function itself
            known = not function.module.shown
            self._reaches[function] = (
                known or self._reach.among(mentions(function.node)) or any(map(self.may_start, _closed_over(function)))
            )
        return self._reaches[function]

    def classes_of(self, module: Module) -> list[ClassValue]:
        """The classes of a module that its names lead to, each once, by line."""
        self.run_module(module)
        found: list[ClassValue] = []
        for value in module.scope.values():
            for option in value.options if isinstance(value, Unknown) else (value,):
                if isinstance(option, ClassValue) and option.module is module and option not in found:
                    found.append(option)
        return sorted(found, key=lambda cls: cls.site.line)

    def is_test(self, cls: ClassValue) -> bool:
        """Whether a test run collects the class: it has test methods, its own or inherited ones."""
        if cls.find("__test__") is False:
            return False
        if _BASE_NAME.fullmatch(cls.name) and not _TEST_FILE.fullmatch(PurePath(cls.site.file).name):
            return False
        blind = any(entry.kind == UNRESOLVED for entry in cls.mro)
        if cls.tests():
            return cls.is_case or blind or cls.name.startswith("Test")
        if cls.has_tests:
            return cls.is_case or blind
        return blind and cls.name.startswith("Test")

    def audit(self, cls: ClassValue, *, always: bool = False) -> AuditedClass | None:
        """The verdict, or None for a class that is no test or surely starts no server (`always`: for these too)."""
        is_test = self.is_test(cls)
        if not is_test and not always:
            return None
        trouble: list[Unknown] = []
        launches = self.launches_of(cls, trouble)
        blind = [entry.why for entry in cls.mro if entry.kind == UNRESOLVED and entry.why is not None]
        if not launches and not always and not blind and not trouble:
            return None
        doubts = [doubt for entry in cls.mro for doubt in entry.doubts] + blind + trouble
        decisive, level, why = self._decide(cls, launches)
        if why is not None:
            doubts.append(why)
        starts = True if launches else None if doubts else False
        undecided = bool(doubts) and (starts is not False)
        notes = self._notes(cls, decisive, level if not undecided else None)
        chain = decisive.env.chains.get(LEVEL_VARIABLE, ()) if decisive else ()
        origin = chain[-1].origin if chain and chain[-1].value is not None and not undecided else None
        return AuditedClass(
            name=cls.name,
            file=cls.site.file,
            line=cls.site.line,
            level=None if undecided else level,
            set_by=origin.owner if origin else None,
            set_how=origin.how if origin else None,
            set_file=(origin.site.file or None) if origin else None,
            set_line=(origin.site.line or None) if origin and origin.site.file else None,
            verdict="undecided" if undecided else "checked" if level else "unchecked",
            starts_server=starts,
            is_test=is_test,
            launch_file=(decisive.site.file or None) if decisive else None,
            launch_line=decisive.site.line if decisive and decisive.site.file else None,
            speculative=self._speculative(cls, decisive) if launches else self._attributes_only(cls, starts),
            order=tuple(
                BaseClass(entry.name, entry.site.file or None, entry.site.line or None, entry.kind) for entry in cls.mro
            ),
            settings=_settings(decisive.env if decisive else self._declared_env(cls)),
            reasons=tuple(dict.fromkeys(_reason(doubt) for doubt in doubts)) if undecided else (),
            notes=tuple(dict.fromkeys(notes)),
        )

    # the run

    def launches_of(self, cls: ClassValue, trouble: list[Unknown]) -> list[Launch]:
        """What the class starts: in setUpClass, else in setUp, else in its test methods."""
        module = cls.module
        functions = [value for entry in cls.mro for value in entry.own.values() if isinstance(value, Function)]
        if module is None:
            return []
        if not any(self.may_start(function) for function in functions):
            return self._by_name(cls, module)
        self.running, self.overlay, self.module_overlay = True, {}, {}
        self.steps, self.launches, self.uncertain, self.owners, self.depth = STEPS, [], [], [], 0
        self.env = module.env.copy()
        frame = Frame(module, {})
        node = cls.node or ast.Pass(lineno=cls.site.line)
        try:
            set_up_module = module.scope.get("setUpModule")
            if isinstance(set_up_module, Function):
                self.call_function(set_up_module, [], {}, node, frame)
            for name in ("setUpClass", "setup_class"):
                self._call_method(cls, cls, name, node, frame)
            phases: list[list[str]] = [[*_SET_UP, *self._auto_fixtures(cls)], cls.tests()]
            for names in phases:
                if self.launches:
                    break
                env = self.env
                for name in names:
                    self.env = env.copy() if names is phases[1] else self.env
                    for wrapper in cls.test_wrappers if names is phases[1] else ():
                        self.apply(wrapper)
                    self._call_method(cls, Instance(cls), name, node, frame)
        except (ExhaustedError, RecursionError):
            trouble.append(Unknown("what its set-up does is too much to follow", cls.site))
        launches, self.launches, self.running = self.launches, None, False
        return launches or []

    def _by_name(self, cls: ClassValue, module: Module) -> list[Launch]:
        """A class without any code that starts a server, over a sketch of one of SGLang's fixtures: its name counts."""
        base = next((entry for entry in cls.mro if entry.name in FIXTURE_OF), None)
        if base is None:
            return []
        env = module.env.copy()
        if base.name in SESSIONS:
            level = "1" if self.release is None or self.release >= LEVEL_ONE_FROM else "2"
            env.write(LEVEL_VARIABLE, level, Origin(base.name, base.site, "override"))
        return [Launch("fixture", base.site, base.name, None, env, None)]

    def _call_method(self, cls: ClassValue, receiver: object, name: str, node: ast.AST, frame: Frame) -> None:
        if self.class_attribute(cls, name) is MISSING:
            return
        method = self.attribute(receiver, name, node, frame)
        if isinstance(receiver, Instance) and isinstance(method, Bound) and not self.may_start(method.function):
            return
        if isinstance(method, Function) and isinstance(receiver, ClassValue):
            method = Bound(method, receiver)
        if isinstance(method, (Function, Bound)):
            self.invoke(method, [], {}, node, frame)

    def _auto_fixtures(self, cls: ClassValue) -> list[str]:
        """Methods under `pytest.fixture(autouse=True)`."""
        names = []
        for entry in cls.mro:
            for name, value in entry.own.items():
                if isinstance(value, Function) and isinstance(value.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    marks = [ast.unparse(decorator) for decorator in value.node.decorator_list]
                    if any("fixture(" in mark and "autouse=True" in mark for mark in marks):
                        names.append(name)
        return names

    # the level

    def _decide(self, cls: ClassValue, launches: list[Launch]) -> tuple[Launch | None, int, Unknown | None]:
        """The launch that decides, its level, and why it cannot be told.

        A class may start a plain server beside the speculative one, as a reference; the speculative ones count then.
        Of several that count, the least checked decides.
        """
        for launch in launches:
            self._complete(cls, launch)
        counting = [launch for launch in launches if speculative(launch.arguments, _nothing) is not None] or launches
        told: list[tuple[int, int, Launch]] = []
        untold: list[tuple[Unknown, Launch]] = []
        for launch in counting:
            value = launch.env.value(LEVEL_VARIABLE)
            why = launch.why or (value if isinstance(value, Unknown) else None)
            if why is not None:
                untold.append((why, launch))
            else:
                level = level_of(value) if isinstance(value, str) else 0
                told.append((rank(level), level, launch))
        told.sort(key=lambda entry: entry[0])
        if told and (told[0][0] == 0 or not untold):
            return told[0][2], told[0][1], None
        if untold:
            return untold[0][1], 0, untold[0][0]
        return None, 0, None

    def _complete(self, cls: ClassValue, launch: Launch) -> None:
        """A fixture that declares `env_overrides` but nowhere reads them (its file is a sketch, or what reads them is
        elsewhere): they count as its kind of fixture merges them."""
        owner = next((entry for entry in cls.mro if entry.name == launch.owner), None)
        if owner is None or any(entry.kind == UNRESOLVED or _reads_overrides(entry) for entry in cls.mro):
            return
        if owner.name not in MERGING and not any(OVERRIDES in entry.own for entry in owner.mro):
            return
        for name, value, origin in self._declared(cls):
            launch.env.write(name, value, origin)

    def _declared(self, cls: ClassValue) -> list[tuple[str, object, Origin]]:
        """The pairs of `env_overrides`: of all classes, base first; of a list, those of the first class that has it."""
        owners = [entry for entry in reversed(cls.mro) if OVERRIDES in entry.own]
        nearest = cls.find(OVERRIDES)
        if isinstance(nearest, Seq) and (nearest.kind == "list" or _holds_names(nearest)):
            owners = owners[-1:]
        pairs: list[tuple[str, object, Origin]] = []
        for entry in owners:
            value = entry.own[OVERRIDES]
            for pair in value.items if isinstance(value, Seq) else ():
                if isinstance(pair, Seq) and len(pair.items) == 2 and isinstance(pair.items[0], (EnvField, Named)):
                    field = pair.items[0]
                    name = field.name if isinstance(field, EnvField) else str(field)
                    value_of = pair.items[1]
                    pairs.append((name, value_of.why if isinstance(value_of, Rest) else value_of, field.origin))
        return pairs

    def _declared_env(self, cls: ClassValue) -> Env:
        """For a class that starts no server: what its `env_overrides` would come to."""
        env = Env()
        for name, value, origin in self._declared(cls):
            env.write(name, value, origin)
        return env

    # what else is told

    def _speculative(self, cls: ClassValue, launch: Launch | None) -> Speculative | None:
        def attribute(name: str) -> object:
            value = self.class_attribute(cls, name)
            return None if value is MISSING else value

        return speculative(launch.arguments, attribute) if launch is not None else None

    def _attributes_only(self, cls: ClassValue, starts: bool | None) -> Speculative | None:
        """Where no start was found: the attributes speak, and a class that may start anything may speculate."""

        def attribute(name: str) -> object:
            value = self.class_attribute(cls, name)
            return None if value is MISSING else value

        found = speculative(None, attribute)
        if starts is None and (found is None or not found.certain):
            return Speculative(None, None, None, None, certain=False)
        return found

    def _notes(self, cls: ClassValue, launch: Launch | None, level: int | None) -> list[Reason]:
        notes: list[Reason] = []
        declared = [pair for pair in self._declared(cls) if pair[0] == LEVEL_VARIABLE]
        for (_, before, base), (_, after, origin) in pairwise(declared):
            verb = "restates the level of" if _same_text(before, after) else "shadows the level of"
            twice = f"{origin.owner} sets the level more than once; the last one counts"
            notes.append(
                _note(twice if origin.owner == base.owner else f"{origin.owner} {verb} {base.owner}", origin.site)
            )
        if launch is None:
            return notes
        chain = launch.env.chains.get(LEVEL_VARIABLE, ())
        if declared and not any(write.origin.how == OVERRIDES for write in chain):
            starter = launch.owner or "the code"
            text = f"{declared[-1][2].owner} declares a level that {starter}, which starts the server, does not apply"
            notes.append(_note(text, declared[-1][2].site))
        if level is None:
            return notes
        value = chain[-1].value if chain else None
        if isinstance(value, str) and level == 0 and not re.fullmatch(r"\s*[+-]?[\d_]+\s*", value):
            notes.append(_note(f"the value {value!r} is no integer: SGLang warns and uses 0", chain[-1].origin.site))
        old = launch.env.chains.get(OLD_VARIABLE)
        if old and level == 0 and isinstance(old[-1].value, str) and old[-1].value.lower() in ("true", "1", "yes", "y"):
            notes.append(_note(f"{OLD_VARIABLE} is read by 0.5.4 to 0.5.5.post3 only", old[-1].origin.site))
        if level:
            notes += self._silent(launch, self._speculative(cls, launch))
        return notes

    def _silent(self, launch: Launch, settings: Speculative | None) -> list[Reason]:
        """Servers that run no busy check whatever the level is (see the checker's event loops)."""
        given, _ = options(launch.arguments)
        notes = []
        if str(given.get("--pp-size", given.get("--pipeline-parallel-size", "1"))) not in ("1", "True"):
            notes.append(_note("no release runs the busy check with pipeline parallelism", launch.site))
        if given.get("--disaggregation-mode", "null") != "null" or launch.launcher == "popen_launch_pd_server":
            notes.append(_note("no release runs the busy check on a disaggregated server", launch.site))
        if settings is not None and settings.topk is not None and settings.topk > 1:
            notes.append(_note("releases 0.5.7 to 0.5.12.post1 skip the busy check where topk is above 1", launch.site))
        return notes


def _closed_over(function: Function) -> list[Function]:
    """The functions that one made by a decorator can call: those in the scopes it was made in."""
    found: list[Function] = []
    scope = function.closure
    while isinstance(scope, Frame):
        found += [value for value in scope.scope.values() if isinstance(value, Function)]
        scope = scope.closure
    return found


def _nothing(name: str) -> object:
    """For a look at the options alone."""
    return None


def _holds_names(pairs: Seq) -> bool:
    """Whether variables are given by name: the shape of the streaming session fixture, which merges nothing."""
    return any(isinstance(pair, Seq) and pair.items and isinstance(pair.items[0], str) for pair in pairs.items)


def _reads_overrides(cls: ClassValue) -> bool:
    """Whether any method of the class asks for `env_overrides`."""
    for value in cls.own.values():
        if isinstance(value, Function):
            for part in ast.walk(value.node):
                if isinstance(part, ast.Attribute) and part.attr == OVERRIDES:
                    return True
                if isinstance(part, ast.Constant) and part.value == OVERRIDES:
                    return True
    return False


def _same_text(left: object, right: object) -> bool:
    return not isinstance(left, Unknown) and not isinstance(right, Unknown) and str(left) == str(right)


def _settings(env: Env) -> tuple[Setting, ...]:
    return tuple(
        Setting(
            name=printable(name),
            value=printable(write.value) if isinstance(write.value, str) else None,
            decided=not isinstance(write.value, Unknown),
            set_by=write.origin.owner,
            how=write.origin.how,
            file=write.origin.site.file or None,
            line=write.origin.site.line if write.origin.site.file else None,
            in_force=at == len(chain) - 1,
        )
        for name, chain in sorted(env.chains.items(), key=lambda entry: (entry[0] != LEVEL_VARIABLE, entry[0]))
        for at, write in enumerate(chain)
    )


def _reason(why: Unknown) -> Reason:
    return _note(why.reason, why.site)


def _note(text: str, site: Site) -> Reason:
    return Reason(text, site.file or None, site.line if site.file and site.line else None)


__all__ = ["READ", "Auditor"]
