import collections, dataclasses, enum, functools, itertools, operator
class Kind(enum.Enum):
    A = 1
    B = 2
@dataclasses.dataclass
class Config:
    width: int = 3
    kinds: list = dataclasses.field(default_factory=lambda: [Kind.A])
P = collections.namedtuple("P", "x y")
class Base:
    made = 0
    def __new__(cls, *a):
        return super().__new__(cls)
    def __init_subclass__(cls, **named):
        cls.made = 1
    @property
    def twice(self):
        return self.made * 2
    @classmethod
    def make(cls, *a):
        return cls()
    @staticmethod
    def one():
        return 1
class Left(Base): pass
class Right(Base): pass
class Both(Left, Right):
    def twice(self):
        return super().twice + 1
v = Both.make().made, Config(4), P(1, 2)._replace(x=3), Kind(1) is Kind.A, Kind.A.name
r = functools.reduce(operator.mul, itertools.chain([1, 2], itertools.repeat(3, 4)), 1)
g = list(itertools.product([1, 2], repeat=3)), list(itertools.accumulate([1, 2, 3]))
try:
    raise ValueError("x")
except (ValueError, KeyError) as e:
    n = str(e)
d = collections.defaultdict(list)
d["a"].append(1)
match P(1, 2):
    case P(x=1, y=k):
        m = k
    case _:
        m = 0
