class Box:
    def __init__(self, items):
        self.items = items
    def __iter__(self):
        return iter(self.items)
    def __len__(self):
        return len(self.items)
    def __getitem__(self, key):
        return self.items[key]
    def __setitem__(self, key, value):
        self.items[key] = value
    def __contains__(self, value):
        return value in self.items
    def __hash__(self):
        return hash(tuple(self.items))
    def __eq__(self, other):
        return list(self) == list(other)
    def __lt__(self, other):
        return len(self) < len(other)
    def __add__(self, other):
        return Box(self.items + list(other))
    def __radd__(self, other):
        return Box(list(other) + self.items)
    def __mul__(self, n):
        return Box(self.items * n)
    def __bool__(self):
        return len(self) > 0
    def __call__(self, *more, **named):
        return Box(self.items + list(more) + list(named.values()))
    def __getattr__(self, name):
        return len(name)
    def __repr__(self):
        return f"Box({self.items})"
    def __enter__(self):
        return self
    def __exit__(self, *why):
        return False
a, b = Box([1, 2, 3]), Box([3])
c = a + b * 2 + [4]
d = {a: 1, b: 2, (1, "x"): 3, frozenset([1]): 4}
e = [x for x in c if x in b] + list(a) + sorted([b, a])[0].items
f = c(1, k=2)[1:3], a == b, a < b, bool(Box([])), str(a), a.word
with a as g:
    h = sum(g) + max(g) + len(set(e))
