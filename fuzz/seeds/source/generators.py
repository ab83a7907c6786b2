def pairs(n):
    for i in range(n):
        yield i, i * i
x = list(pairs(5))
y = dict(pairs(4))
z = [a * b for a, b in zip(range(3), reversed(range(3)))]
w = {k: v for k, v in enumerate("abc")}
t = tuple(map(lambda v: v + 1, filter(None, [0, 1, 2])))
it = iter([1, 2, 3])
u = next(it), next(it), next(it, None), next(it, None)
s = sorted(w.items(), key=lambda p: -p[0])
m = max(x, key=lambda p: p[1]), min([3, 1], default=0)
a, *b = [1, 2, 3]
b[1:1] = [7, 8]
del b[0]
b.extend(x[0])
b.insert(0, 9)
q = "-".join(str(n) for n in b), "a b c".split(), "%d %s" % (3, "x"), "{:>4}".format(2), f"{3.5:.2f}"
